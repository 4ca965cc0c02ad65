# SPDX-License-Identifier: ISC
# test_login_outages.py - daemons that are down, slow or talk nonsense: the login is denied with one
# sentence, others go on, and a code that was not looked at is still good.
import contextlib
import os
import signal
import socket
import time

import doors
import lab
import pytest

UNAVAILABLE = "atelier: logins are not possible right now; try again in a minute."
NO_SESSION = "atelier: the session could not be started; try again in a minute."
WITHIN_S = 12
ASK, OPEN = doors.PAM_ASK.size, 16 + 8 + 32 + 32 + 64  # bytes of the questions
HEAD = doors.struct.Struct("=4I")
SESSION_VERSION, SESSION_OPENED, SESSION_DENIED = 1, 64, 66


@pytest.fixture
def others():
    """carol has a session and a run, which do not notice anything."""
    with lab.login("carol") as session:
        sleeper = lab.sleeper(user="carol")
        pid = sleeper.find("start")[0]["pid"]

        def live(with_run=True):
            session.stdin.write("still here\n")
            session.stdin.flush()
            return (session.stdout.readline() == "still here\n"
                    and (not with_run or lab.process_or_none(pid) is not None))

        assert live()
        yield live
        sleeper.close()


def try_login(user, code, *options):
    """(all that is said, exit code, seconds)"""
    start = time.monotonic()
    result = lab.ssh(user, code, "echo in; grep -h NoNewPrivs /proc/self/status",
                     options=("LogLevel=INFO", *options))
    return result.stdout + result.stderr, result.returncode, time.monotonic() - start


def assert_denied(user, code, sentence, *options):
    said, exit_code, seconds = try_login(user, code, *options)
    assert exit_code != 0
    assert said.count(sentence) == 1, said
    assert said.count("atelier") == 1, said
    assert "in\n" not in said.split(sentence)
    assert "NoNewPrivs" not in said
    assert seconds < WITHIN_S


def assert_let_in(user, code):
    said, exit_code, _ = try_login(user, code)
    assert exit_code == 0, said
    assert "in\n" in said
    assert "NoNewPrivs:\t1" in said


@contextlib.contextmanager
def stopped(name, signum=signal.SIGSTOP):
    pid = lab.service_pid(name)
    os.kill(pid, signum)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def down(name):
    lab.service("stop", name)
    try:
        yield
    finally:
        lab.bring_up()
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)


# ---- daemons

def test_without_sessiond_nobody_gets_in_and_no_code_is_used(others):
    minted = lab.mint("alice")
    with down("sessiond"):
        assert_denied("alice", minted["code"], UNAVAILABLE)
        assert others(with_run=False)
        assert lab.link_state(minted["id"]) == "open"
    assert_let_in("alice", minted["code"])
    assert others(with_run=False)


@pytest.mark.parametrize("how", [down, stopped])
def test_without_its_api_nobody_gets_in_and_no_code_is_used(others, how):
    """A question that nobody waits for any more is not answered later, either."""
    minted = lab.mint("alice")
    with how("sessiond-api"):
        assert_denied("alice", minted["code"], UNAVAILABLE)
        assert others(with_run=how is stopped)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert lab.link_state(minted["id"]) == "open"
    assert_let_in("alice", minted["code"])
    assert others(with_run=how is stopped)


def test_a_slow_sessiond_is_not_waited_for(others):
    with stopped("sessiond"):
        assert_denied("alice", lab.mint("alice")["code"], NO_SESSION)
        assert others()
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    lab.eventually(lambda: not lab.sessions("alice"), 20)
    assert_let_in("alice", lab.mint("alice")["code"])
    assert others()


def test_a_key_does_not_help_while_the_daemons_are_away(others):
    with doors.written("/etc/lab-keys/alice", doors.public_key()), \
            doors.sshd("atelier-sshd", 2423, "AuthorizedKeysFile=/etc/lab-keys/%u"):
        def by_key():
            return doors.ssh_by_key("alice", "echo in", port=2423)

        assert by_key().stdout == "in\n"
        for name in ("sessiond-api", "sessiond"):
            with down(name):
                result = by_key()
                assert (result.returncode, result.stdout) == (255, "")
                assert others(with_run=False)
        with stopped("sessiond"):
            result = by_key()
            assert result.returncode != 0
            assert "in\n" not in result.stdout
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        assert by_key().stdout == "in\n"


# ---- nonsense on pam.sock

def says(*messages):
    def answer(connection, _message):
        for message in messages:
            connection.send(message)
    return answer


def with_descriptor(connection, _message):
    with open("/", "rb", opener=lambda path, _: os.open(path, os.O_PATH)) as root:
        socket.send_fds(connection, [doors.pam_answer(doors.PAM_UNAVAILABLE)], [root.fileno()])


ALLOWED = doors.pam_answer(doors.PAM_ALLOWED)
PAM_NONSENSE = {
    "silence": says(),
    "closed": lambda connection, _: connection.shutdown(socket.SHUT_RDWR),
    "short": says(ALLOWED[:-1]),
    "long": says(ALLOWED + b"\0"),
    "one byte": says(b"\1"),
    "too long": says(ALLOWED * 1000),
    "version": says(doors.pam_answer(doors.PAM_ALLOWED, version=2)),
    "question": says(doors.pam_answer(doors.PAM_ALLOWED, question=doors.PAM_ACCOUNT)),
    "size": says(doors.PAM_ANSWER.pack(1, 1, 17, doors.PAM_ALLOWED)),
    "verdict 77": says(doors.pam_answer(77)),
    "verdict of accounts": says(doors.pam_answer(doors.PAM_EXPIRED)),
    "verdict 2**32-1": says(doors.pam_answer(2**32 - 1)),
    "descriptor": with_descriptor,
    "echo": lambda connection, message: connection.send(message),
}


@pytest.mark.parametrize("nonsense", PAM_NONSENSE)
def test_nonsense_on_pam_sock_lets_nobody_in(others, nonsense):
    minted = lab.mint("alice")
    with doors.in_place_of(doors.PAM_SOCK, PAM_NONSENSE[nonsense]) as asked:
        assert_denied("alice", minted["code"], UNAVAILABLE)
        assert [len(message) for message in asked] == [ASK]
        assert others()
    assert lab.link_state(minted["id"]) == "open"
    assert_let_in("alice", minted["code"])


def as_asked(connection, message):
    question = doors.PAM_ASK.unpack(message)[1]
    connection.send(doors.pam_answer(doors.PAM_ALLOWED, question))


def test_the_answer_on_pam_sock_is_what_counts():
    """With a right answer in the same place, anything that is typed opens a session."""
    with doors.in_place_of(doors.PAM_SOCK, as_asked) as asked:
        assert_let_in("alice", "anything at all")
        assert [doors.PAM_ASK.unpack(message)[1] for message in asked] == [1, 2]
        # But only for whom it is one: a name that is not ours has no session to go into.
        for name in ("root", "nobodyhere"):
            said, exit_code, _ = try_login(name, "anything at all")
            assert exit_code == 255
            assert "NoNewPrivs" not in said
        assert all(doors.PAM_ASK.unpack(message)[4].strip(b"\0") in (b"alice", b"")
                   for message in asked)


def test_an_account_that_cannot_be_found_out_about_is_denied(others):
    """The code is good, and the answer about the account does not come."""
    def only_the_first(connection, message):
        if doors.PAM_ASK.unpack(message)[1] == doors.PAM_AUTHENTICATE:
            connection.send(ALLOWED)

    with doors.in_place_of(doors.PAM_SOCK, only_the_first) as asked:
        said, exit_code, seconds = try_login("alice", "anything at all")
        assert exit_code == 255
        assert "NoNewPrivs" not in said
        assert seconds < WITHIN_S
        assert len(asked) == 2
        assert others()


# ---- nonsense on session.sock

def head(kind, size=HEAD.size, version=SESSION_VERSION):
    return HEAD.pack(version, kind, size, 0)


def opened(size=None, flags=0x20020000 | 0x08000000, filter_count=1, version=SESSION_VERSION):
    """struct session_opened of common/session_wire.h, all right but for what is said."""
    body = doors.struct.pack("=4I", flags, 0, 0, filter_count)
    body += bytes(16 * 16) + b"0" * 32 + bytes(4) + bytes(32)
    body += doors.struct.pack("=HBBI", 6, 0, 0, 0x7fff0000) + bytes(8 * 2047)
    whole = HEAD.size + len(body)
    return HEAD.pack(version, SESSION_OPENED, size or whole, 0) + body


def opens_with(message, *paths):
    """OPENED with descriptors: "pid" is a real pidfd, "dir" a directory of /proc, else a path."""
    def answer(connection, _message):
        fds = [os.pidfd_open(os.getpid()) if path == "pid" else
               os.open(f"/proc/{os.getpid()}" if path == "dir" else path, os.O_RDONLY)
               for path in paths]
        socket.send_fds(connection, [message], fds)
        for fd in fds:
            os.close(fd)
    return answer


SESSION_NONSENSE = {
    "silence": says(),
    "closed": lambda connection, _: connection.shutdown(socket.SHUT_RDWR),
    "denied": says(head(SESSION_DENIED)),
    "a byte": says(b"\1"),
    "a head": says(head(SESSION_OPENED)),
    "kind 77": says(head(77)),
    "version": opens_with(opened(version=2), "pid"),
    "size": opens_with(opened(size=16), "pid"),
    "no descriptor": says(opened()),
    "a file": opens_with(opened(), "/etc/passwd"),
    "a directory": opens_with(opened(), "dir"),
    "two descriptors": opens_with(opened(), "pid", "/etc/passwd"),
    "no filter": opens_with(opened(filter_count=0), "pid"),
    "filter too long": opens_with(opened(filter_count=2049), "pid"),
    "no namespaces": opens_with(opened(flags=0), "pid"),
    "user namespace": opens_with(opened(flags=0x10000000 | 0x20020000), "pid"),
    "too long": says(opened() + b"\0"),
    # All right, but the namespaces are the host's own: nothing is entered, and nobody says LEASED.
    "the host": opens_with(opened(), "pid"),
}


@pytest.mark.parametrize("nonsense", SESSION_NONSENSE)
def test_nonsense_on_session_sock_opens_no_shell(others, nonsense):
    minted = lab.mint("alice")
    with doors.in_place_of(doors.SESSION_SOCK, SESSION_NONSENSE[nonsense]) as asked:
        said, exit_code, seconds = try_login("alice", minted["code"])
        assert exit_code == 254
        assert said.count(NO_SESSION) == 1, said
        assert "NoNewPrivs" not in said
        assert seconds < WITHIN_S
        assert len(asked[0]) == OPEN
        assert others()
    assert lab.sessions("alice") == []
    assert_let_in("alice", lab.mint("alice")["code"])
