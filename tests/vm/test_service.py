# SPDX-License-Identifier: ISC
# test_service.py - restarts, a new build and a reboot, with people logged in.
import os

import pytest
from guest import eventually, inside

UNITS = ("sessiond.service", "sessiond-api.service", "atelier-sshd.service")


@inside
def well():
    lab.eventually(tools.is_well, 60)
    return tools.main_pids()


@inside
def main_pid(unit):
    return int(tools.show(unit, "MainPID"))


@inside
def active():
    names = [*tools.UNITS, "atelier.target", "atelier-core.socket", "atelier-session.socket",
             "atelier-api.socket", "atelier-admin.socket", "atelier-pam.socket"]
    return {name: tools.show(name, "ActiveState") for name in names}


def test_everything_runs_and_is_started_at_boot(guest):
    assert set(active(guest).values()) == {"active"}, active(guest)
    assert guest.said("systemctl is-enabled atelier.target") == "enabled"
    assert guest.said("systemctl --failed --no-legend") == ""
    assert "ok" in guest.said("atelier status")


def exposure(guest, unit):
    """The overall figure of systemd-analyze security."""
    lines = guest.said(f"systemd-analyze security --no-pager {unit}").splitlines()
    return float(next(line for line in lines if "Overall exposure" in line).split(":")[1].split()[0])


def test_the_api_is_hardened(guest):
    assert exposure(guest, "sessiond-api.service") < 2.0
    print("sessiond.service:", exposure(guest, "sessiond.service"))
    # The control: what a unit without any of it gets.
    assert exposure(guest, "cron.service") > 8


def lives(alice, guest):
    """The session works, and the service knows it."""
    assert alice.answers()
    assert alice.id in guest.said("atelier --json session list")


@pytest.mark.long
def test_a_reload_takes_a_policy_or_says_why_not(guest):
    path = "/etc/atelier/conf.d/test.conf"

    def reload(text):
        guest.sh(f"mkdir -p /etc/atelier/conf.d && printf '{text}' >{path}")
        return guest.sh("systemctl reload sessiond", check=False).returncode

    def pids():
        eventually(lambda: "pids_max" in guest.said(
            "atelier --json run --user alice -- /bin/true || true"), 30)
        run = guest.said("atelier --json run --user alice -- /bin/true")
        return run.split('"pids_max":')[1].split(",")[0]

    try:
        assert reload("run { pids = 33 }\\n") == 0
        eventually(lambda: "pids = 33" in guest.said("cat /run/atelier/policy"), 20)
        assert pids() == "33"
        assert reload("run { pids = 34\\n") != 0
        eventually(lambda: f"The old policy stays: {path}:1: a {{ that is not closed" in
                   guest.said("systemctl show -p StatusText sessiond"), 20)
        assert guest.said("systemctl is-active sessiond") == "active"
        assert pids() == "33"
    finally:
        guest.sh("rm -r /etc/atelier/conf.d && systemctl reload sessiond")
    assert guest.said("systemctl show -p StatusText sessiond") == "StatusText="
    assert pids() == "128"


@pytest.mark.parametrize("unit", [
    UNITS[0], *(pytest.param(unit, marks=pytest.mark.long) for unit in UNITS[1:])])
def test_a_restart_ends_no_session(guest, unit):
    before = well(guest)
    with guest.login("alice") as alice:
        lives(alice, guest)
        guest.sh(f"systemctl restart {unit}")
        after = well(guest)
        assert after[unit] != before[unit]
        assert all(after[other] == before[other] for other in after if other != unit), after
        lives(alice, guest)
        # And it ends as any other.
        guest.sh(f"atelier session kill {alice.id}")
        assert alice.has_ended()
    assert guest.ssh("ben", guest.code_of("ben"), "id -un").stdout == "ben\n"


def test_the_holder_is_not_restarted_by_hand(guest):
    with guest.login("alice") as alice:
        for verb in ("stop", "restart"):
            refused = guest.sh(f"systemctl {verb} atelier-holder", check=False)
            assert refused.returncode != 0 and "refused" in refused.stderr, refused
        assert alice.answers()


@pytest.mark.long
def test_a_daemon_that_is_killed_comes_back(guest):
    with guest.login("alice") as alice:
        for unit in UNITS:
            before = well(guest)[unit]
            guest.sh(f"systemctl kill -s KILL --kill-who=main {unit}")
            eventually(lambda: well(guest)[unit] not in (0, before), 60)
            lives(alice, guest)


@pytest.mark.long
def test_a_daemon_that_hangs_is_replaced(guest):
    """The watchdog, which the unit promises."""
    with guest.login("alice") as alice:
        for unit in ("sessiond.service", "sessiond-api.service"):
            before = well(guest)[unit]
            guest.sh(f"systemctl kill -s STOP --kill-who=main {unit}")
            eventually(lambda: main_pid(guest, unit) not in (0, before), 180, 1)
            well(guest)
            lives(alice, guest)


@pytest.mark.long
def test_a_new_build_ends_no_session(guest):
    before = well(guest)
    with guest.login("alice") as alice:
        inode = guest.said("stat -c %i /usr/lib/atelier/sessiond")
        guest.machine.push(os.environ["ATELIER_VM_STAGE"])
        assert guest.said("stat -c %i /usr/lib/atelier/sessiond") != inode
        lives(alice, guest)
        guest.sh("systemctl daemon-reload && systemctl restart " + " ".join(UNITS))
        after = well(guest)
        assert all(after[unit] != before[unit] for unit in UNITS)
        assert after["atelier-holder.service"] == before["atelier-holder.service"]
        lives(alice, guest)
        # A login and a run by the new ones, beside it.
        with guest.login("ben") as ben:
            lives(ben, guest)
        assert guest.said("atelier run --user ben -- id -un") == "ben"
        lives(alice, guest)


@pytest.mark.long
def test_stopping_the_target_ends_everything(guest):
    entry = guest.said("getent passwd alice")
    with guest.login("alice") as alice:
        lives(alice, guest)
        guest.sh("systemctl stop atelier.target", within_s=120)
        assert alice.has_ended()
        assert guest.sh("pgrep -u alice", check=False).returncode == 1
    try:
        assert set(active(guest).values()) == {"inactive"}, active(guest)
        # Users are known while nothing of ours runs.
        assert guest.said("getent passwd alice") == entry
        assert guest.said("ls -ld --time-style=+ /home/atelier/alice").split()[2] == "alice"
        refused = guest.sh("atelier run --user ben -- id -un", check=False)
        assert refused.returncode == 69 and refused.stdout == "", refused
    finally:
        guest.sh("systemctl start atelier.target", within_s=120)
    well(guest)
    assert guest.said("atelier run --user ben -- id -un") == "ben"


EARLY = """[Unit]
DefaultDependencies=no
Before=sysinit.target systemd-tmpfiles-setup.service
After=local-fs.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '{ getent passwd alice; getent group atelier-users; id -Gn alice; } >/etc/early 2>&1'
[Install]
WantedBy=sysinit.target
"""


@inside
def early_unit(text):
    tools.file_write("/etc/systemd/system/early.service", text)
    tools.sh("rm -f /etc/early; systemctl enable -q early.service")


@inside
def boot_times():
    return {unit: int(tools.show(unit, "ExecMainStartTimestampMonotonic"))
            for unit in ("early.service", "sessiond.service", "sessiond-api.service")}


@inside
def after_reboot():
    lab.eventually(tools.is_well, 120)
    tools.world_make()


@pytest.mark.long
def test_after_a_reboot_users_are_known_before_our_daemons(guest):
    early_unit(guest, EARLY)
    code, entry = guest.code_of("alice"), guest.said("getent passwd alice")
    guest.sh("echo kept >/home/atelier/alice/work/kept")
    guest.reboot()
    after_reboot(guest)
    passwd, group, names = guest.said("cat /etc/early").splitlines()
    assert passwd == entry
    assert group.startswith("atelier-users:") and "atelier-users" in names.split()
    times = boot_times(guest)
    assert 0 < times["early.service"] < min(times["sessiond.service"], times["sessiond-api.service"])
    # A code of before, and the home of before.
    accepted = guest.ssh("alice", code, "cat work/kept")
    assert accepted.stdout == "kept\n", accepted
    assert guest.said("atelier run --user ben -- id -un") == "ben"
    guest.sh("systemctl disable -q early.service; rm -f /etc/systemd/system/early.service")
