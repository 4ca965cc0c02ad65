# SPDX-License-Identifier: ISC
# test_session_death.py - whatever is killed, no process of a participant is left outside a session.
import concurrent.futures
import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

import firewall
import lab
import pytest

GONE_WITHIN_S = 2.0
DENIED_WITHIN_S = 20  # a login waits 8 s for sessiond; the rest is the machine's
SAYS_UNAVAILABLE = "atelier: logins are not possible right now; try again in a minute."
SAYS_NO_SESSION = "atelier: the session could not be started; try again in a minute."
SAYS_BUSY = "atelier: you have as many sessions as one may have."
SESSIONS_PER_USER = 16
REFUSED_S = 5  # sshd lives on for so long without a session, to say that there is none
# Three ways to outlive a shell that has no session.
JOBS = ("nohup sleep 71 >/dev/null 2>&1 & "
        "setsid sleep 72 >/dev/null 2>&1 </dev/null & "
        "( (setsid sleep 73 >/dev/null 2>&1 </dev/null &) & ) >/dev/null 2>&1")


@pytest.fixture(autouse=True)
def host_is_clean():
    """Begins and ends with nothing of a session anywhere, and with all three services."""
    lab.eventually(lambda: not lab.remains(), 5)
    yield
    for name in ("sessiond", "sessiond-api", "atelier-sshd"):
        if lab.service_pid(name) is None:
            lab.service("start", name)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    lab.eventually(lambda: not lab.remains(), 10)
    assert not lab.strays()


def assert_ends(login, within=GONE_WITHIN_S):
    """It ends soon, and at no moment is one of its processes the host's."""
    deadline = time.monotonic() + within
    while not login.is_over():
        assert not lab.strays()
        assert time.monotonic() < deadline, (login.processes(), os.listdir(lab.SESSION_RECORDS),
                                             lab.logged_in())
        time.sleep(0.01)
    assert not [each for each in lab.procs_of_uid(login.uid) if each.comm == "sleep"]


def assert_login_works(user="carol"):
    result = lab.ssh(user, lab.mint(user)["code"], "id -un")
    assert (result.returncode, result.stdout) == (0, f"{user}\n"), result.stderr


def knock(user, code):
    return lab.ssh(user, code, "echo in", options=("LogLevel=INFO",))


def refusal(result):
    """What somebody is told who got no shell, by sshd itself or where the shell's words would be."""
    assert result.returncode in (254, 255), result
    assert result.stdout in ("", f"{SAYS_NO_SESSION}\n"), result
    return result.stdout + result.stderr


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


# ---- a part of a session dies

# An init that is killed ends only when sshd has reaped its child, and sshd says goodbye before that.
@pytest.mark.parametrize("part, ends", [
    ("monitor", {"left"}), ("child", {"closed", "left"}), ("init", {"lost", "closed"}),
    ("client", {"closed", "left"}), ("shell", {"closed", "left"})])
def test_a_dead_part_takes_its_session_along_and_no_other(part, ends):
    with lab.Login("carol") as other, lab.Login("alice") as same, lab.Login("alice") as login:
        login.says(JOBS)
        lab.eventually(lambda: sum(each.comm == "sleep" for each in login.processes()) == 3)
        assert login.answers()  # positive control: they run, and nothing has ended yet
        lab.die_alone(login.client.pid if part == "client" else getattr(login, part))
        assert_ends(login)
        assert login.client.wait(10) != 0
        assert other.answers() and same.answers()
        assert [each["id"] for each in lab.sessions("alice")] == [same.id]
        assert lab.audit_of(login.id)[0] in ends
        assert other.answers() and same.answers()


def test_the_listener_of_sshd_is_not_what_holds_sessions():
    with lab.Login("alice") as login:
        lab.service("kill", "atelier-sshd")
        assert login.answers()
        link = lab.mint("alice")
        assert lab.ssh("alice", link["code"], "true").returncode == 255
        assert login.answers()
        lab.service("start", "atelier-sshd")
        assert knock("alice", link["code"]).stdout == "in\n"
        assert login.answers()
        lab.die_alone(login.monitor)
        assert_ends(login)


# ---- a daemon dies

def test_a_session_outlives_sessiond_and_is_known_to_the_next():
    with lab.Login("alice") as login, lab.Login("carol") as other:
        before = lab.api("GET", f"/v1/sessions/{login.id}").body
        lab.service("kill", "sessiond")
        assert login.answers() and not lab.strays()
        lab.service("start", "sessiond")
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
        lab.eventually(lambda: len(lab.sessions()) == 2)
        assert lab.api("GET", f"/v1/sessions/{login.id}").body == before
        assert login.answers() and sorted(lab.logged_in()) == sorted((login.line, other.line))
        assert_login_works()
        assert lab.api("DELETE", f"/v1/sessions/{login.id}").status == 204
        assert_ends(login)
        end, started_us, ended_us = lab.audit_of(login.id)
        assert end == "killed" and 0 < started_us < ended_us
        assert other.answers()
        assert [each["id"] for each in lab.sessions()] == [other.id]


def test_a_session_outlives_a_sessiond_that_is_stopped_in_order():
    with lab.Login("alice") as login:
        for _ in range(3):
            lab.service("restart", "sessiond")
            assert login.answers()
            lab.eventually(lambda: [each["id"] for each in lab.sessions()] == [login.id], 10)


@pytest.mark.parametrize("part, end", [("monitor", "left"), ("init", "lost")])
def test_a_session_that_dies_without_sessiond_is_over_and_recorded_later(part, end):
    with lab.Login("alice") as login, lab.Login("carol") as other:
        login.says(JOBS)
        lab.service("kill", "sessiond")
        assert login.answers()
        own = [each.pid for each in login.processes()]
        lab.die_alone(getattr(login, part))
        lab.eventually(lambda: not any(map(lab.process_or_none, own)), GONE_WITHIN_S)
        assert not lab.strays() and not lab.procs_of_uid(login.uid)
        login.client.wait(10)
        # Nobody was there to write it: this is what the next one has to put right.
        assert login.line in lab.logged_in()
        assert other.answers()
        lab.service("start", "sessiond")
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
        lab.eventually(login.is_over)
        assert other.answers() and lab.logged_in() == [other.line]
        assert lab.audit_of(login.id)[0] in (end, "lost")


HOLDER_PID_AT, INIT_PID_AT = 8, 12  # in a record: struct session_record


@pytest.mark.parametrize("part, at", [("monitor", HOLDER_PID_AT), ("init", INIT_PID_AT)])
def test_a_number_that_is_somebody_elses_by_now_is_not_taken_for_the_session(part, at):
    """What died while no sessiond ran, and whose pid was given away: told apart by its start."""
    with lab.Login("alice") as login, subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            lab.service("kill", "sessiond")
            lab.die_alone(getattr(login, part))
            lab.eventually(lambda: not lab.inits(), GONE_WITHIN_S)
            with open(f"{lab.SESSION_RECORDS}/{login.id}", "r+b") as record:
                record.seek(at)
                assert record.read(4) == getattr(login, part).to_bytes(4, sys.byteorder)
                record.seek(at)
                record.write(stranger.pid.to_bytes(4, sys.byteorder))
            lab.bring_up()
            lab.eventually(login.is_over)
            assert not lab.sessions()
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_records_that_are_none_are_put_away():
    with lab.Login("alice") as login:
        lab.service("kill", "sessiond")
        for name in ("0" * 32, "x", ".new-" + "1" * 32):
            with open(f"{lab.SESSION_RECORDS}/{name}", "wb") as file:
                file.write(b"x" * 40)
        lab.bring_up()
        assert os.listdir(lab.SESSION_RECORDS) == [login.id]
        lab.eventually(lambda: [each["id"] for each in lab.sessions()] == [login.id], 10)
        assert login.answers()


def test_a_dead_api_takes_no_session_along_and_lets_nobody_in():
    link = lab.mint("carol")
    with lab.Login("alice") as login:
        lab.service("kill", "sessiond-api")
        assert login.answers()
        begin = time.monotonic()
        said = refusal(knock("carol", link["code"]))
        assert time.monotonic() - begin < DENIED_WITHIN_S
        assert said.count(SAYS_UNAVAILABLE) == 1, said
        lab.service("start", "sessiond-api")
        lab.eventually(lambda: [each["id"] for each in lab.sessions()] == [login.id], 10)
        assert login.answers()
        # Nothing was used up.
        assert lab.link_state(link["id"]) == "open"
        assert knock("carol", link["code"]).stdout == "in\n"
        lab.api("DELETE", f"/v1/sessions/{login.id}")
        assert_ends(login)


def test_a_login_while_sessiond_is_down_uses_nothing_up():
    link = lab.mint("carol")
    lab.service("kill", "sessiond")
    lab.eventually(lambda: not lab.is_connected())
    said = refusal(knock("carol", link["code"]))
    assert said.count(SAYS_UNAVAILABLE) == 1, said
    lab.bring_up()
    assert knock("carol", link["code"]).stdout == "in\n"


def test_a_stopped_api_denies_within_seconds_and_the_others_live_on():
    link = lab.mint("carol")
    with lab.Login("alice") as login:
        with stopped(lab.service_pid("sessiond-api")):
            begin = time.monotonic()
            said = refusal(knock("carol", link["code"]))
            assert time.monotonic() - begin < DENIED_WITHIN_S
            assert SAYS_UNAVAILABLE in said
            assert login.answers()
        lab.eventually(lab.is_well)
        assert login.answers()


def test_a_dead_spawner_takes_no_session_along():
    """It is a run's parent and ends sessiond, whose next one starts runs and logins again."""
    with lab.Login("alice") as login:
        sessiond = lab.service_pid("sessiond")
        lab.die_alone(lab.child_of(sessiond, "atelier-spawn").pid)
        lab.eventually(lambda: lab.service_pid("sessiond") is None, 5)
        assert login.answers() and not lab.strays()
        lab.bring_up()
        lab.eventually(lambda: [each["id"] for each in lab.sessions()] == [login.id], 10)
        assert login.answers()
        assert_login_works()
        lab.die_alone(login.monitor)
        assert_ends(login)


def test_a_dead_probe_takes_no_session_along():
    def probe(but=None):
        return next((each for each in lab.procs_of_uid(lab.ID_CANARY) if each.pid != but), None)

    with lab.Login("alice") as login:
        old = probe()
        lab.die_alone(old.ppid)
        lab.eventually(lambda: probe(but=old.pid), 10)
        lab.eventually(lab.is_well, 10)
        assert login.answers()
        assert_login_works()


# ---- on its way to a session: somebody speaks to sessiond as pam_atelier would, and then does not

SPEAKER = r"""
import os, socket, struct, sys
HEAD, OPEN, LEASE = map(struct.Struct, ("4I", "4I2I32s32s64s", "4I2I"))
HEARD = {64: "OPENED", 65: "LEASED", 66: "DENIED"}
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.connect("/run/atelier/session.sock")
for line in sys.stdin:
    word, *args = line.split()
    if word == "hear":
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            data = b""
        print(HEARD[HEAD.unpack(data[:HEAD.size])[1]] if data else "END", flush=True)
        continue
    said = {"open": lambda uid: OPEN.pack(1, 1, OPEN.size, 0, int(uid), 0, b"test", b"", b""),
            "lease": lambda: LEASE.pack(1, 2, LEASE.size, 0, 0, 0),
            "close": lambda: HEAD.pack(1, 3, HEAD.size, 0),
            "garbage": lambda: os.urandom(96), "short": lambda: b"x",
            "version": lambda: HEAD.pack(2, 3, HEAD.size, 0),
            "answer": lambda: HEAD.pack(1, 65, HEAD.size, 0)}[word](*args)
    try:
        sock.send(said)
    except BrokenPipeError:
        pass
"""


class Speaker:
    """A root process that is to sessiond what sshd's monitor is."""

    def __init__(self):
        self.process = subprocess.Popen([lab.PYTHON, "-I", "-c", SPEAKER], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, *words):
        for word in words:
            self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def hears(self):
        self.say("hear")
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def speaker():
    with Speaker() as one:
        yield one


@pytest.fixture
def opened(speaker, alice):
    """A speaker for whom namespaces stand and wait."""
    assert not lab.inits()
    speaker.say(f"open {alice}")
    assert speaker.hears() == "OPENED"
    assert len(lab.inits()) == 1  # positive control of all that looks for none afterwards
    assert not lab.logged_in() and not lab.sessions() and not os.listdir(lab.SESSION_RECORDS)
    return speaker


def assert_nothing_came_of_it(login):
    lab.eventually(lambda: [each.pid for each in lab.inits()] == [login.init], GONE_WITHIN_S)
    assert [each["id"] for each in lab.sessions()] == [login.id]
    assert login.answers()
    assert_login_works()


@pytest.fixture
def bystander():
    with lab.Login("carol") as login:
        yield login


@pytest.mark.parametrize("word", ["garbage", "short", "version", "answer", "lease", "close"])
def test_who_does_not_begin_with_open_is_left(word, bystander, speaker):
    speaker.say(word)
    assert speaker.hears() == "END"
    assert_nothing_came_of_it(bystander)


@pytest.mark.parametrize("word, heard", [
    ("lease", "DENIED"), ("open 10001", "END"), ("garbage", "END"), ("short", "END"),
    ("version", "END"), ("answer", "END"), ("close", "END")])
def test_who_does_not_join_gets_no_session(word, heard, opened):
    opened.say(word)
    assert opened.hears() == heard
    lab.eventually(lambda: not lab.inits(), GONE_WITHIN_S)
    assert opened.hears() == "END"
    with lab.Login("carol") as login:
        assert_nothing_came_of_it(login)


@pytest.mark.parametrize("uid", [0, 999, lab.ID_MIN - 1, lab.ID_CANARY, 65000, 2**32 - 1, 59000])
def test_nobody_but_a_user_gets_namespaces(uid, speaker):
    speaker.say(f"open {uid}")
    assert speaker.hears() == "DENIED"
    assert speaker.hears() == "END"
    assert not lab.inits()


def test_only_root_may_ask_for_a_session():
    """Told apart from a socket that nobody could reach: root fails later, over the socket's type."""
    for uid, error in ((0, errno.EPROTOTYPE), (lab.CALLER, errno.EACCES)):
        with pytest.raises(OSError) as raised:
            lab.door(uid).connect("/run/atelier/session.sock")
        assert raised.value.errno == error


def test_silence_ends_what_was_begun(bystander, speaker, alice):
    with Speaker() as mute:
        speaker.say(f"open {alice}")
        assert speaker.hears() == "OPENED"
        begin = time.monotonic()
        assert (mute.hears(), speaker.hears(), speaker.hears()) == ("END", "DENIED", "END")
        assert time.monotonic() - begin < 10
    assert_nothing_came_of_it(bystander)


def test_a_login_that_dies_before_it_joins_leaves_nothing(opened):
    opened.process.kill()
    lab.eventually(lambda: not lab.inits(), GONE_WITHIN_S)


def test_a_sessiond_that_dies_before_the_lease_leaves_nothing(opened):
    lab.service("kill", "sessiond")
    lab.eventually(lambda: not lab.inits(), GONE_WITHIN_S)
    assert opened.hears() == "END"
    lab.bring_up()
    assert not lab.sessions() and not lab.logged_in()
    assert_login_works()


def test_a_lock_denies_who_has_not_joined_yet(opened):
    try:
        assert lab.api("PATCH", "/v1/users/alice", {"locked": True}).status == 200
        assert opened.hears() == "DENIED"
        lab.eventually(lambda: not lab.inits(), GONE_WITHIN_S)
    finally:
        assert lab.api("PATCH", "/v1/users/alice", {"locked": False}).status == 200


@pytest.mark.parametrize("dies", ["sessiond", "sessiond-api", None])
def test_who_waits_for_the_api_is_denied_whatever_dies(dies, bystander, speaker, alice):
    api = lab.service_pid("sessiond-api")
    with stopped(api):
        speaker.say(f"open {alice}")
        begin = time.monotonic()
        time.sleep(0.5)
        if dies:
            lab.service("kill", dies)
        assert speaker.hears() == ("END" if dies == "sessiond" else "DENIED")
        assert time.monotonic() - begin < 5  # the question waits for 2 s
        assert [each.pid for each in lab.inits()] == [bystander.init]
        assert bystander.answers()
    lab.bring_up()
    lab.eventually(lambda: len(lab.sessions()) == 1)
    time.sleep(0.5)  # an answer that comes too late is nobody's
    assert_nothing_came_of_it(bystander)


# ---- the same with the real sshd, which is held in open_session by a sessiond that stands still

@contextlib.contextmanager
def held_in_open_session(user):
    """A client whose code was taken, and whose monitor waits for sessiond. Yields both."""
    link = lab.mint(user)
    listener, sessiond = lab.service_pid("atelier-sshd"), lab.service_pid("sessiond")
    with stopped(sessiond):
        client = lab.ssh_popen(user, link["code"], "echo in; exec cat")
        try:
            lab.eventually(lambda: lab.link_state(link["id"]) == "used", 20)
            time.sleep(1)
            yield client, lab.child_of(listener, "atelier-sshd").pid
        finally:
            client.kill()
            client.communicate()


def test_a_login_waits_for_a_slow_sessiond(alice):
    with held_in_open_session("alice") as (client, monitor):
        assert not lab.procs_of_uid(alice)
        os.kill(lab.service_pid("sessiond"), signal.SIGCONT)
        assert client.stdout.readline() == "in\n"
        assert lab.session_of("alice")["pid"] == monitor


def test_a_login_whose_sessiond_dies_gets_no_shell(alice):
    with held_in_open_session("alice") as (client, _):
        begin = time.monotonic()
        lab.service("kill", "sessiond")
        out, _ = client.communicate(timeout=60)
        assert (client.returncode, out) == (254, f"{SAYS_NO_SESSION}\n")
        assert time.monotonic() - begin < DENIED_WITHIN_S
        # Whoever has no session still has an sshd that says so, as long as the client stays.
        lab.eventually(lambda: not lab.procs_of_uid(alice))
    lab.bring_up()
    assert_login_works("alice")


def test_a_login_that_dies_in_open_session_leaves_nothing(alice):
    with held_in_open_session("alice") as (client, monitor):
        lab.die_alone(monitor)
        assert client.wait(20) == 255
        os.kill(lab.service_pid("sessiond"), signal.SIGCONT)
        lab.eventually(lab.is_well)
        assert not lab.inits() and not lab.sessions() and not lab.procs_of_uid(alice)


@contextlib.contextmanager
def idle_client(user):
    """A client that wants no shell, only a forwarding to where a participant may go."""
    client = lab.ssh_popen(user, lab.mint(user)["code"],
                           flags=("-N", "-L", "127.0.0.1:9001:198.51.100.2:7777"))
    try:
        yield client
    finally:
        client.kill()
        client.communicate()


def test_a_login_without_a_session_does_not_stay(alice):
    """sshd goes on without one, as the user and in the host's namespaces; it opens nothing for it."""
    with idle_client("alice") as client:
        # Positive control: in a session such a client stays, and gets through.
        lab.eventually(lambda: lab.sessions("alice"), 20)
        time.sleep(REFUSED_S + 3)
        assert client.poll() is None and lab.procs_of_uid(alice)
        probed = lab.command("lab-probe", "tcp", "127.0.0.1", "10", "9001")
        assert probed.stdout == "world 198.51.100.2\n"
    lab.eventually(lambda: not lab.procs_of_uid(alice))
    with firewall.rules_void("iptables"):
        time.sleep(1.1)
        with idle_client("alice") as client:
            lab.eventually(lab.strays, 20)
            assert not lab.inits()
            lab.eventually(lambda: not lab.strays(), REFUSED_S + 3)
            assert client.wait(20) == 255


# ---- the length of a session

def test_background_jobs_end_with_the_login():
    with lab.Login("alice") as login:
        login.says(JOBS)
        jobs = lab.eventually(
            lambda: (found := [each for each in login.processes() if each.comm == "sleep"]) and
            len(found) == 3 and found)
        # Positive control: they have left the shell, one of them for the init.
        assert login.init in [each.ppid for each in jobs]
        assert login.answers()
        login.client.stdin.close()
        assert login.client.wait(10) == 0
        assert_ends(login)


def test_a_session_lives_as_long_as_one_of_its_channels(tmp_path):
    control = f"ControlPath={tmp_path}/mux"
    with lab.Login("alice", options=("ControlMaster=yes", control)) as first:
        with lab.ssh_popen("alice", "", "echo up $ATELIER_SESSION; exec cat",
                           options=("ControlMaster=no", control)) as second:
            try:
                assert second.stdout.readline() == f"up {first.id}\n"
                first.client.stdin.write("exit\n")
                first.client.stdin.flush()
                lab.eventually(lambda: lab.process_or_none(first.shell) is None)
                time.sleep(1)
                second.stdin.write("still here\n")
                second.stdin.flush()
                assert second.stdout.readline() == "still here\n"
                assert [each["id"] for each in lab.sessions("alice")] == [first.id]
            finally:
                second.stdin.close()
            assert second.wait(10) == 0
        first.client.wait(10)
        assert_ends(first)


def test_a_user_has_sixteen_sessions_at_most():
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(lab.Login("carol"))
        mine = [stack.enter_context(lab.Login("alice")) for _ in range(SESSIONS_PER_USER)]
        said = refusal(knock("alice", lab.mint("alice")["code"]))
        assert said.count(SAYS_BUSY) == 1, said
        assert len(lab.sessions("alice")) == SESSIONS_PER_USER
        assert other.answers()
        assert_login_works("carol")
        assert len({login.line for login in mine}) == SESSIONS_PER_USER
        mine[7].end()
        lab.eventually(lambda: len(lab.sessions("alice")) == SESSIONS_PER_USER - 1)
        again = stack.enter_context(lab.Login("alice"))
        assert again.line == mine[7].line  # its place in utmp has come back as well
        assert all(login.answers() for login in (*mine[:7], *mine[8:], again))


# ---- the network rules

@pytest.mark.parametrize("family", lab.FAMILIES)
def test_rules_that_do_not_hold_end_sessions_and_admit_none(family):
    with lab.Login("alice") as login:
        time.sleep(2.5)
        assert login.answers()  # positive control: with rules that hold it lives
        with firewall.rules_void(family):
            lab.eventually(login.is_over, 4)
            assert not lab.strays()
            said = refusal(knock("carol", lab.mint("carol")["code"]))
            assert said.count(SAYS_NO_SESSION) == 1, said
        lab.eventually(lab.is_well, 5)
        assert_login_works()
        assert lab.audit_of(login.id)[0] == "unsafe"


@pytest.mark.parametrize("family", lab.FAMILIES)
def test_rules_that_went_away_while_nobody_watched_end_sessions(family):
    with lab.Login("alice") as login:
        lab.service("stop", "sessiond")
        lab.service("start", "sessiond")
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        assert login.answers()  # positive control: a restart ends nobody
        lab.service("stop", "sessiond")
        lab.rules_flush(family)
        assert login.answers()
        lab.service("start", "sessiond")
        lab.eventually(login.is_over, 4)
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        assert not lab.strays()
        with open("/run/lab/sessiond.log", encoding="utf-8", errors="replace") as log:
            assert f"rules were gone: a session is ended session={login.id}" in log.read()
    assert_login_works()


# ---- nothing is left of many

def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("VmRSS:"))


def test_fifty_sessions_leave_nothing():
    def once(number):
        user = ("alice", "carol")[number % 2]
        return knock(user, lab.mint(user)["code"]).stdout

    def some(count):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert list(pool.map(once, range(count))) == ["in\n"] * count
        lab.eventually(lambda: not lab.remains(), 5)

    some(8)
    before = {pid: (open_files(pid), memory_kib(pid))
              for pid in map(lab.service_pid, ("sessiond", "sessiond-api"))}
    some(50)
    for pid, (files, memory) in before.items():
        lab.eventually(lambda: open_files(pid) <= files)
        assert memory_kib(pid) - memory < 1024
