# SPDX-License-Identifier: ISC
# test_doors.py - invitations, logins by code over the network, runs, and what admins see of them.
from guest import eventually, inside


@inside
def sessions():
    return lab.sessions()


@inside
def view(user):
    """What the tools of the host say about a user, who is logged in and has a run."""
    live = lab.sleeper(user=user)
    try:
        return {"who": [line.split()[:2] for line in tools.sh("who").stdout.splitlines()],
                "ps": sorted(tools.own_processes(user).values()),
                "top": tools.sh(f"ps -o user= -p {live.find('start')[0]['pid']}").stdout.strip(),
                "sessions": tools.sh("atelier session list").stdout,
                "loginctl": tools.sh("loginctl list-sessions --no-legend").stdout}
    finally:
        live.close()


def test_an_invitation_lets_in_once(guest):
    code = guest.code_of("carol@example.org")
    first = guest.ssh("carol", code, "id -un; id -u; pwd")
    assert first.returncode == 0, first
    name, uid, home = first.stdout.split()
    assert (name, home) == ("carol", "/home/atelier/carol")
    assert guest.said("getent passwd carol").split(":")[2] == uid
    again = guest.ssh("carol", code, "id")
    assert again.returncode == 255 and "uid=" not in again.stdout, again


def test_a_wrong_code_does_not_let_in(guest):
    wrong = guest.ssh("alice", "0000-0000-0000", "id")
    assert wrong.returncode == 255 and wrong.stdout == "", wrong


@inside
def run_print(user):
    run = lab.python("import os; print(os.getuid(), os.getcwd())", user=user)
    return run.end, run.out.decode().split(), lab.uid_of(user)


def test_a_run_by_the_api(guest):
    end, (uid, where), known = run_print(guest, "alice")
    assert end["status"] == "ok" and int(uid) == known and where == "/home/atelier/alice/work"


def test_the_host_sees_who_does_what(guest):
    assert "alice" not in guest.said("who")  # the control of what follows
    with guest.login("alice") as login:
        seen = view(guest, "alice")
        listed = [each["id"] for each in sessions(guest)]
    # Debian 13 has no utmp any more, and its who(1) shows sessions of logind alone.
    is_shown = any(user == "alice" and line.startswith("atelier/") for user, line in seen["who"])
    assert is_shown == (guest.sh("test -e /run/utmp", check=False).returncode == 0), seen
    # Her shell, sshd's part for her, and the run.
    assert {"sh", "sleep"} <= set(seen["ps"]), seen
    assert seen["top"] == "alice"
    assert login.id in listed and "alice" in seen["sessions"]
    # pam_systemd had nothing to do with it.
    assert "alice" not in seen["loginctl"], seen
    eventually(lambda: "alice" not in guest.said("who"))
    eventually(lambda: guest.sh("pgrep -u alice", check=False).returncode == 1)


def test_locking_ends_a_session_and_unlocking_lets_in(guest):
    later = guest.code_of("alice")
    with guest.login("alice") as alice, guest.login("ben") as ben:
        guest.sh("atelier user lock alice")
        try:
            assert alice.has_ended()
            assert guest.sh("pgrep -u alice", check=False).returncode == 1
            assert ben.answers()
            refused = guest.ssh("alice", later, "id")
            assert refused.returncode == 255 and refused.stdout == "", refused
        finally:
            guest.sh("atelier user unlock alice")
    accepted = guest.ssh("alice", later, "id -un")
    assert accepted.stdout == "alice\n", accepted


def test_root_becomes_a_participant(guest):
    assert guest.said("atelier su alice -- id -un") == "alice"
