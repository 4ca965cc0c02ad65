# SPDX-License-Identifier: ISC
# test_accounting.py - the host's own tools, the API and the audit know who is logged in, and was.
import contextlib
import datetime
import os
import re
import subprocess
import time

import lab
import pytest

# Holds a lock on a file until its input ends; says when it has it.
LOCKER = ("import fcntl, sys; path, kind = sys.argv[1:]; "
          "file = open(path, 'r' if kind == 'LOCK_SH' else 'r+'); "
          "fcntl.lockf(file, getattr(fcntl, kind)); print('held', flush=True); sys.stdin.read()")
# last(1) takes a time of this very second for one that is not over.
TICK_S = 1.2


@pytest.fixture(autouse=True)
def nobody_is_logged_in():
    lab.eventually(lambda: not lab.remains(), 5)
    yield
    lab.eventually(lambda: not lab.remains(), 5)


def who():
    """(user, line, address) of who(1)."""
    return re.findall(r"^(\S+) +(\S+) .*\((.*)\)$", lab.command("who").stdout, re.M)


def w():
    """(user, address) of w(1), which cuts lines off; it asks /proc for the login's process."""
    rows = [row.split() for row in lab.command("w", "-h").stdout.splitlines()]
    return [(row[0], row[2]) for row in rows]


def last():
    """(user, line, address, the rest) of last(1), the newest first."""
    rows = lab.command("last", "-w").stdout.split("\n\n")[0].splitlines()
    return [tuple(row.split(None, 3)) for row in rows if row]


def users():
    return lab.command("users").stdout.split()


# ---- the host's tools

def test_both_logins_are_seen_and_gone():
    with lab.Login("alice") as alice, lab.Login("carol") as carol:
        seen = {("alice", alice.line, "127.0.0.1"), ("carol", carol.line, "127.0.0.1")}
        assert len({alice.line, carol.line}) == 2
        assert set(who()) == seen and len(who()) == 2
        assert sorted(users()) == ["alice", "carol"]
        assert sorted(w()) == [("alice", "127.0.0.1"), ("carol", "127.0.0.1")]
        rows = [row for row in last() if "still logged in" in row[3]]
        assert {row[:3] for row in rows} == seen
        time.sleep(TICK_S)
        carol.end()
        lab.eventually(carol.is_over)
        time.sleep(TICK_S)
        assert [each[0] for each in who()] == users() == ["alice"]
        assert w() == [("alice", "127.0.0.1")]
        rows = last()
        assert re.search(r" - \d\d:\d\d  \(00:0\d\)$", rows[0][3]), rows[0]
        assert rows[0][:2] == ("carol", carol.line) and "still logged in" in rows[1][3]
    lab.eventually(alice.is_over)
    time.sleep(TICK_S)
    assert not who() and not users() and not w()
    assert not [row for row in last() if "still" in row[3] or "gone" in row[3]]


def test_two_sessions_of_one_user_are_two():
    with lab.Login("alice") as one, lab.Login("alice") as two:
        assert sorted(who()) == sorted([("alice", one.line, "127.0.0.1"),
                                        ("alice", two.line, "127.0.0.1")])
        assert users() == ["alice", "alice"]
        ids = {entry[3] for entry in lab.utmp_of() if entry[2] in (one.line, two.line)}
        assert len(ids) == 2
        one.end()
        lab.eventually(one.is_over)
        assert who() == [("alice", two.line, "127.0.0.1")] and two.answers()


def test_the_address_is_where_they_come_from():
    with lab.Login("alice", host="198.51.100.1") as login:
        assert login.view["rhost"] == "198.51.100.1"
        assert who() == [("alice", login.line, "198.51.100.1")]


def test_a_session_with_a_terminal_has_one_record_and_no_terminal_of_the_host():
    shell = lab.ssh_shell("alice", lab.mint("alice")["code"])
    try:
        line = lab.session_of("alice")["line"]
        assert who() == [("alice", line, "127.0.0.1")]
        assert lab.shell_says(shell, "tty").startswith("/dev/pts/")
        assert not os.path.exists(f"/dev/{line}")
    finally:
        shell.close(force=True)


def test_records_of_the_host_are_left_alone():
    """Also one that has a line like ours, or an id like the terminal's that a session would have."""
    foreign = [(b"tty1", b"1", b"root"), (b"pts/0", b"ts/0", b"root"), (b"pts/1", b"/1", b"bob"),
               (b"atelier/0", b"zz", b"bob")]
    data = b"".join(lab.UTMP_RECORD.pack(lab.USER_PROCESS, 1, line, ident, user, b"", 0, 0, 1,
                                         int(time.time()), 0, bytes(16))
                    for line, ident, user in foreign)
    with open(lab.UTMP, "rb") as file:
        before = file.read()
    try:
        with open(lab.UTMP, "wb") as file:
            file.write(data)
        with lab.Login("alice"), lab.Login("carol"):
            assert sorted(users()) == ["alice", "bob", "bob", "carol", "root", "root"]
            with open(lab.UTMP, "rb") as file:
                assert file.read(len(data)) == data
        lab.eventually(lambda: sorted(users()) == ["bob", "bob", "root", "root"])
        with open(lab.UTMP, "rb") as file:
            assert file.read(len(data)) == data
        assert len(lab.utmp_of()) == len(foreign) + 2
        with lab.Login("alice"):  # places are used again, the file does not grow
            assert len(lab.utmp_of()) == len(foreign) + 2
    finally:
        with open(lab.UTMP, "wb") as file:
            file.write(before)


# ---- files that are not as they should be

@contextlib.contextmanager
def locked(path, kind, user):
    with subprocess.Popen([lab.PYTHON, "-I", "-c", LOCKER, path, kind], text=True, user=user,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
        try:
            assert locker.stdout.readline() == "held\n"
            yield
        finally:
            locker.kill()


@pytest.mark.parametrize("kind, user", [("LOCK_SH", "nobody"), ("LOCK_EX", "root")])
def test_a_reader_that_holds_the_lock_stalls_nobody(kind, user):
    """Every user of the host can read utmp, and so hold a lock on it for as long as they like."""
    with locked(lab.UTMP, kind, user):
        begin = time.monotonic()
        assert lab.run(["/bin/true"]).status == "ok"
        usual_s = time.monotonic() - begin
        with lab.Login("alice") as login:
            assert login.answers()
            for _ in range(3):
                begin = time.monotonic()
                assert lab.run(["/bin/true"]).status == "ok"
                assert time.monotonic() - begin < usual_s + 2
            # Nor is a record lost by it.
            assert lab.logged_in() == [login.line]
            assert last()[0][:2] == ("alice", login.line)
        lab.eventually(login.is_over)


@pytest.mark.parametrize("path", [lab.UTMP, lab.WTMP])
def test_a_host_without_the_file_gets_none(path):
    os.rename(path, f"{path}.away")
    try:
        with lab.Login("alice") as login:
            assert login.answers() and lab.is_well()
            if path == lab.WTMP:
                assert lab.logged_in() == [login.line]
            assert lab.api("DELETE", f"/v1/sessions/{login.id}").status == 204
            lab.eventually(lambda: not lab.sessions())
        assert not os.path.exists(path)
    finally:
        os.rename(f"{path}.away", path)


@pytest.mark.parametrize("path", [lab.UTMP, lab.WTMP])
def test_a_torn_record_is_overwritten(path):
    with open(path, "rb") as file:
        before = file.read()
    try:
        with open(path, "wb") as file:
            file.write(b"x" * 100)
        with lab.Login("alice") as login:
            assert [entry[2] for entry in lab.utmp_of(path)] == [login.line]
        lab.eventually(login.is_over)
    finally:
        with open(path, "wb") as file:
            file.write(before)


# ---- API and audit

def test_sessions_are_listed_shown_and_ended_by_the_api():
    with lab.Login("alice") as alice, lab.Login("carol") as carol:
        views = {view["id"]: view for view in lab.sessions()}
        assert set(views) == {alice.id, carol.id}
        view = lab.api("GET", f"/v1/sessions/{alice.id}").body
        assert view == views[alice.id]
        assert {key: view[key] for key in ("user", "uid", "service", "rhost", "line")} == {
            "user": "alice", "uid": alice.uid, "service": "atelier-sshd", "rhost": "127.0.0.1",
            "line": alice.line}
        assert lab.Process(view["pid"]).uid == 0
        assert lab.Process(view["init_pid"]).comm == lab.SESSION_INIT
        assert lab.health()["sessions"] == 2
        shown = lab.atelier("session", "show", alice.id).stdout
        assert max(len(line) for line in shown.splitlines()) < 80, shown
        assert "\nreceipt.cgroup.mode" in shown and "\nwatch." in shown
        for method in ("GET", "DELETE"):
            for unknown in ("0" * 32, "x", alice.id[:-1], alice.id.upper() + "0"):
                assert lab.api(method, f"/v1/sessions/{unknown}").status == 404
            answer = lab.api(method, f"/v1/sessions/{alice.id}", uid=lab.CALLER)
            assert (answer.status, answer.body["status"]) == (403, "not_allowed")
        assert alice.answers()
        assert lab.api("DELETE", f"/v1/sessions/{alice.id}").status == 204
        lab.eventually(alice.is_over)
        assert lab.api("GET", f"/v1/sessions/{alice.id}").status == 404
        assert lab.api("DELETE", f"/v1/sessions/{alice.id}").status == 404
        assert carol.answers() and [view["id"] for view in lab.sessions()] == [carol.id]


def test_the_audit_has_begin_and_end():
    begin_us = time.time() * 1e6
    with lab.Login("alice") as left, lab.Login("alice") as killed:
        time.sleep(1)
        lab.api("DELETE", f"/v1/sessions/{killed.id}")
        left.client.stdin.close()
        left.client.wait(10)
    lab.eventually(lambda: not lab.sessions())
    for login, end in ((left, "closed"), (killed, "killed")):
        row = lab.audit_of(login.id)
        assert row[0] == end
        assert begin_us < row[1] and row[1] + 1e6 <= row[2] <= time.time() * 1e6


def test_a_session_that_lives_has_no_end_in_the_audit():
    with lab.Login("alice") as login:
        assert lab.audit_of(login.id)[::2] == ("", 0)
        assert login.answers()


def test_the_record_has_address_and_time():
    with lab.Login("alice") as login:
        with open(lab.UTMP, "rb") as file:
            records = [fields for fields in lab.UTMP_RECORD.iter_unpack(file.read())
                       if fields[2].rstrip(b"\0").decode() == login.line]
        assert len(records) == 1 and records[0][0] == lab.USER_PROCESS
        assert records[0][1] == login.monitor
        begun, address = records[0][9], records[0][11]
        assert address == bytes((127, 0, 0, 1)) + bytes(12)
        stamp = datetime.datetime.fromisoformat(login.view["started_at"]).timestamp()
        assert abs(begun - stamp) <= 1 and abs(begun - time.time()) < 60
