# SPDX-License-Identifier: ISC
# test_doctor.py - atelier doctor on a host with systemd: what is skipped in the lab is looked at here.
import json

import pytest
from guest import eventually

# All that attacks nothing.
LOOKS = ("host", "service", "rules-v4", "rules-v6", "resolver", "firewalls")
# Linux 6.1 has no scopes of Landlock; the machine has no time server and no resolver.
LACKS = {"landlock", "abstract", "abstract-sockets", "clock", "resolver", "disk", "disk-limit"}
UNIT = "atelier-doctor.service"
MANAGER = "/etc/systemd/system/user@.service.d/atelier.conf"
HOMES = "/home/atelier"


def doctor(guest, *words):
    """Exit code, and the lines by id."""
    result = guest.sh(f"atelier doctor --json {' '.join(words)}", check=False)
    assert result.returncode in (0, 1), result.stderr
    return result.returncode, {line["id"]: line for line in json.loads(result.stdout)["checks"]}


def with_verdict(lines, verdict):
    return {name: line["evidence"] for name, line in lines.items() if line["verdict"] == verdict}


def shown(guest, *names):
    lines = guest.said(f"systemctl show {UNIT} {' '.join(f'-p {name}' for name in names)}")
    return dict(line.split("=", 1) for line in lines.splitlines())


def test_a_host_that_was_set_up_is_well(guest):
    code, lines = doctor(guest, *LOOKS)
    assert (code, with_verdict(lines, "fail"), with_verdict(lines, "unknown")) == (0, {}, {})
    assert set(with_verdict(lines, "warn")) <= LACKS
    for name in ("holder", "units", "hardening", "user-manager", "host-sshd", "firewalls"):
        assert lines[name]["verdict"] == "pass", lines[name]
    assert lines["cgroup-mode"]["evidence"] == "mode v2"


def test_the_short_form_was_run_at_the_start(guest):
    found = shown(guest, "Result", "ExecMainStatus", "ExecMainExitTimestampMonotonic")
    assert (found["Result"], found["ExecMainStatus"]) == ("success", "0")
    assert int(found["ExecMainExitTimestampMonotonic"]) > 0
    journal = guest.said(f"journalctl -o cat -u {UNIT}")
    assert "rules-v4" in journal
    assert "<6>" not in journal


def test_a_fault_makes_the_unit_fail_and_stops_nothing(guest):
    guest.sh(f"chmod 0755 {HOMES}")
    try:
        assert guest.sh(f"systemctl start {UNIT}", check=False).returncode != 0
        assert guest.said(f"systemctl is-failed {UNIT}") == "failed"
        errors = guest.said(f"journalctl -o cat -p err -u {UNIT}")
        assert f"{HOMES} has owner 0:0 and mode 0755" in errors
        assert "rules-v4" not in errors
        assert guest.said("systemctl is-active sessiond sessiond-api atelier-sshd") == \
            "active\nactive\nactive"
    finally:
        guest.sh(f"chmod 0700 {HOMES}; systemctl start {UNIT}")
    assert guest.said("systemctl --failed --no-legend") == ""


def test_what_a_killed_doctor_has_left_goes_when_sessiond_starts(guest):
    left = "/etc/atelier-doctor.left /run/atelier-doctor.left /root/atelier-doctor.left"
    guest.sh(f"touch {left}")
    guest.sh("systemctl restart sessiond")
    eventually(lambda: guest.sh(f"ls {left}", check=False).stdout == "", 60)
    eventually(lambda: guest.said(f"journalctl -o cat -u {UNIT}").count("removed /") == 3, 60)
    eventually(lambda: doctor(guest, *LOOKS)[0] == 0, 60)


@pytest.mark.long
def test_every_attack_on_it_is_stopped(guest):
    code, lines = doctor(guest, "network", "isolation", "attack")
    print(json.dumps(lines, indent=1))
    assert (with_verdict(lines, "fail"), with_verdict(lines, "unknown")) == ({}, {})
    assert set(with_verdict(lines, "warn")) <= LACKS
    assert code == 0


@pytest.mark.long
@pytest.mark.parametrize("take, give, fails", [
    (f"mv {MANAGER} /root/manager && systemctl daemon-reload",
     f"mv /root/manager {MANAGER} && systemctl daemon-reload", {"user-manager"}),
    ("mkdir -p /run/systemd/system/sessiond-api.service.d && "
     "printf '[Service]\\nNoNewPrivileges=no\\nSystemCallFilter=\\nCapabilityBoundingSet=~\\n' >"
     "/run/systemd/system/sessiond-api.service.d/loose.conf && "
     "systemctl daemon-reload && systemctl restart sessiond-api",
     "rm -r /run/systemd/system/sessiond-api.service.d && systemctl daemon-reload && "
     "systemctl restart sessiond-api", {"hardening"}),
    ("mv /etc/.pwd.lock /etc/.pwd.old && touch /etc/.pwd.lock",
     "mv -f /etc/.pwd.old /etc/.pwd.lock && systemctl restart sessiond", {"account-lock"}),
    ("mv /etc/ssh/sshd_config.d/50-atelier.conf /root/drop-in",
     "mv /root/drop-in /etc/ssh/sshd_config.d/50-atelier.conf", {"host-sshd"}),
    ("systemctl disable sessiond-api.service", "systemctl enable sessiond-api.service", set()),
])
def test_what_systemd_does_is_looked_at(guest, take, give, fails):
    guest.sh(take)
    try:
        eventually(lambda: not with_verdict(doctor(guest, "sessiond-api")[1], "fail"), 60)
        code, lines = doctor(guest, *LOOKS)
        assert set(with_verdict(lines, "fail")) == fails
        assert code == bool(fails)
        assert fails or "sessiond-api.service is not enabled" in lines["units"]["evidence"]
    finally:
        guest.sh(give)
        eventually(lambda: doctor(guest, *LOOKS)[0] == 0, 60)
