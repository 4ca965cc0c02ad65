# SPDX-License-Identifier: ISC
# test_others.py - the rest of the host: its own doors refuse participants, and nothing else changes.
import subprocess

import pytest
from guest import eventually, inside

HOME = "/home/atelier/alice"
KEY_OPTIONS = ("PreferredAuthentications=publickey", "IdentitiesOnly=yes", "BatchMode=yes")
UNIT = """[Unit]
Description=left behind by its owner
[Service]
ExecStart=/bin/sh -c 'id -un >%h/unit-ran; exec sleep 60'
[Install]
WantedBy=default.target
"""


@inside
def host_user_unit(unit, home, owner):
    """Enable a unit in a home, as its owner could."""
    uid = lab.uid_of(owner)
    units = pathlib.Path(home, ".config/systemd/user")
    (units / "default.target.wants").mkdir(parents=True, exist_ok=True)
    pathlib.Path(home, "unit-ran").unlink(missing_ok=True)
    tools.file_write(units / "left.service", unit)
    link = units / "default.target.wants/left.service"
    link.unlink(missing_ok=True)
    link.symlink_to("../left.service")
    tools.sh(f"chown -hR {uid} {home}/.config")


@pytest.fixture(scope="module")
def key(guest, tmp_path_factory):
    """A key that alice and hosty, a user of the host's own, have in their homes."""
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True,
                   timeout=30)
    with guest.login("alice") as alice:  # now she has a home
        public = path.with_suffix(".pub").read_text().strip()
        alice.says(f"umask 077; mkdir -p ~/.ssh; echo '{public}' >~/.ssh/authorized_keys")
    guest.sh(f"install -d -o hosty -m 0700 ~hosty/.ssh && echo '{public}' "
             ">~hosty/.ssh/authorized_keys && chown hosty ~hosty/.ssh/authorized_keys")
    return path


def by_key(guest, key, user, port):
    return subprocess.run(
        guest.ssh_argv(user, "id -un", options=(*KEY_OPTIONS, f"IdentityFile={key}"), port=port),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def test_the_hosts_sshd_refuses_participants_and_nobody_else(guest, key):
    state = guest.machine.state
    refused = by_key(guest, key, "alice", state["ssh"])
    assert refused.returncode == 255 and refused.stdout == "", refused
    accepted = by_key(guest, key, "hosty", state["ssh"])
    assert accepted.stdout == "hosty\n", accepted
    root = guest.machine.ssh("id -un", capture_output=True, text=True)
    assert root.stdout == "root\n", root
    # Not because of the home, which sshd could not read anyway: by rule.
    effective = guest.said("sshd -T -C user=alice,host=x,addr=10.0.2.2")
    assert "denygroups atelier-users" in effective.lower()


def test_the_participants_sshd_refuses_keys_and_others(guest, key):
    port = guest.machine.state["participants"]
    for user in ("alice", "hosty", "root"):
        refused = by_key(guest, key, user, port)
        assert refused.returncode == 255 and refused.stdout == "", refused


@pytest.mark.parametrize("command", [
    "su - alice -c 'touch /tmp/su-was-here'",
    pytest.param("su alice -c 'touch /tmp/su-was-here'", marks=pytest.mark.long),
    pytest.param("echo 'touch /tmp/su-was-here' | su -l alice", marks=pytest.mark.long)])
def test_su_refuses_participants(guest, command):
    done = guest.sh(f"rm -f /tmp/su-was-here; {command}", check=False)
    assert done.returncode != 0
    assert guest.sh("test -e /tmp/su-was-here", check=False).returncode == 1
    guest.sh(command.replace("alice", "hosty"))
    guest.sh("rm /tmp/su-was-here")


@inside
def states(user):
    uid = lab.uid_of(user)
    return {"active": tools.show(f"user@{uid}.service", "ActiveState"),
            "ran": os.path.exists(f"{os.path.expanduser('~' + user)}/unit-ran"),
            "managers": tools.sh(f"pgrep -u {uid} -x systemd", check=False).stdout.split()}


def test_a_user_unit_does_not_start_by_a_login(guest, key):
    host_user_unit(guest, UNIT, HOME, "alice")
    with guest.login("alice") as alice:
        assert alice.answers()
        guest.sh("sleep 3")
        seen = states(guest, "alice")
    assert seen == {"active": "inactive", "ran": False, "managers": []}, seen
    # The control: a user of the host's own has it started by a login.
    host_user_unit(guest, UNIT, "/home/hosty", "hosty")
    client = subprocess.Popen(
        guest.ssh_argv("hosty", "sleep 60", options=(*KEY_OPTIONS, f"IdentityFile={key}"),
                       port=guest.machine.state["ssh"]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: states(guest, "hosty")["ran"], 60, 1)
    finally:
        client.kill()
        client.wait()


@pytest.mark.long
def test_a_user_unit_does_not_start_by_lingering(guest):
    host_user_unit(guest, UNIT, HOME, "alice")
    host_user_unit(guest, UNIT, "/home/hosty", "hosty")
    # logind starts a manager for whom it has none: the one of an earlier login has to be over.
    guest.sh("loginctl terminate-user hosty", check=False)
    eventually(lambda: guest.sh("loginctl show-user hosty", check=False).returncode, 180, 1)
    guest.sh("rm -f ~hosty/unit-ran")
    guest.sh("loginctl enable-linger alice", check=False)
    guest.sh("loginctl enable-linger hosty")
    try:
        # By hand, too, which asks for it most directly.
        guest.sh("systemctl start user@$(id -u alice).service", check=False)
        eventually(lambda: states(guest, "hosty")["ran"], 60, 1)
        seen = states(guest, "alice")
        assert not seen["ran"] and seen["managers"] == [] and seen["active"] != "active", seen
    finally:
        guest.sh("loginctl disable-linger alice; loginctl disable-linger hosty;"
                 "systemctl stop user@$(id -u hosty).service;"
                 "systemctl reset-failed 'user@*.service'", check=False)
        guest.sh(f"rm -rf {HOME}/.config/systemd ~hosty/.config/systemd {HOME}/unit-ran")


@pytest.mark.long
def test_cron_and_at_do_nothing_for_participants(guest):
    job = "touch /tmp/$(id -un)-was-here"
    guest.sh(f"for u in alice hosty; do echo '* * * * * {job}-cron' >/var/spool/cron/crontabs/$u;"
             "chown $u:crontab /var/spool/cron/crontabs/$u;"
             "chmod 600 /var/spool/cron/crontabs/$u; done; rm -f /tmp/*-was-here*")
    try:
        # at(1) has no option for another user: through the tool that is root's own act.
        guest.sh(f"for u in alice hosty; do echo '{job}-at' | setpriv --reuid=$(id -u $u) "
                 "--regid=$(id -g $u) --clear-groups env HOME=/ at now; done", check=False)
        eventually(lambda: "hosty-was-here-cron" in guest.said("ls /tmp"), 100, 2)
        seen = guest.said("sleep 5; ls /tmp")
        assert "alice-was-here" not in seen, seen
    finally:
        guest.sh("rm -f /var/spool/cron/crontabs/alice /var/spool/cron/crontabs/hosty /tmp/*-was-*")


TRY = ("import socket; "
       "print(socket.create_connection((\"127.0.0.1\", 7777), 5).recv(99).decode(), end=\"\")")


def test_services_with_dynamic_users_keep_their_network(guest):
    done = guest.sh(f"systemd-run -q --wait --pipe -p DynamicUser=yes python3 -c '{TRY}'",
                    check=False)
    assert done.stdout == "host 127.0.0.1\n", done
    uid = guest.said("systemd-run -q --wait --pipe -p DynamicUser=yes id -u")
    assert 61184 <= int(uid) <= 65519
    # A participant cannot, with the same words.
    refused = guest.sh(f"atelier run --user alice --net public -- python3 -c '{TRY}'", check=False)
    assert "ConnectionRefusedError" in refused.stderr and refused.stdout == "", refused


@inside
def ids_outside(names):
    """Passwd entries of accounts, all of whose ids must be outside our range."""
    import pwd

    return {name: (pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid) for name in names}


def assert_outside(guest, *names):
    for name, ids in ids_outside(guest, names).items():
        assert all(0 < number < 10000 for number in ids), (name, ids)


def test_accounts_of_the_host_can_be_made(guest):
    guest.sh("adduser --quiet --system --group sysy && useradd --system sysz && useradd uny && "
             "adduser --quiet --disabled-password --gecos '' usery && groupadd grouy")
    try:
        assert_outside(guest, "sysy", "sysz", "uny", "usery")
        assert int(guest.said("getent group grouy").split(":")[2]) < 10000
        # A name of ours is taken.
        refused = guest.sh("useradd alice", check=False)
        assert refused.returncode != 0
        assert guest.sh("grep -q ^alice: /etc/passwd", check=False).returncode == 1
    finally:
        guest.sh("deluser --quiet sysy; userdel sysz; userdel uny; deluser --quiet usery;"
                 "groupdel grouy", check=False)


@pytest.mark.parametrize("package, user", [
    ("systemd-coredump", "systemd-coredump"),
    pytest.param("uuid-runtime", "uuidd", marks=pytest.mark.long)])
def test_a_package_with_its_own_user_can_be_installed(guest, package, user):
    assert guest.sh(f"getent passwd {user}", check=False).returncode == 2
    guest.sh(f"DEBIAN_FRONTEND=noninteractive dpkg -i /var/cache/at-hand/{package}_*.deb")
    try:
        assert_outside(guest, user)
    finally:
        guest.sh(f"dpkg --purge {package}; deluser --quiet {user}", check=False)
    assert guest.said("atelier run --user alice -- id -un") == "alice"
