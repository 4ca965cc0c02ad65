# SPDX-License-Identifier: ISC
# test_lock.py - who is locked, or whose time is over, has nothing that runs and gets nothing more.
import contextlib
import datetime
import os
import signal
import time

import lab
import pytest

ENDS_WITHIN_S = 3.0  # promised is one second; the rest is for a busy machine
KEYS = "/etc/atelier/keys"
SERVICES = ("sessiond", "sessiond-api", "atelier-sshd")
SLEEP = ["/bin/sleep", "60"]


def patch(user, **change):
    answer = lab.api("PATCH", f"/v1/users/{user}", change)
    assert answer.status == 200, answer
    return answer.body


def state(user):
    return lab.api("GET", f"/v1/users/{user}").body["state"]


def in_seconds(seconds):
    """A time of the API that is so far ahead, or up to a second farther."""
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    return (now + datetime.timedelta(seconds=seconds + 1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def knock(user, code):
    return lab.ssh(user, code, "echo in")


def assert_denied(result):
    assert (result.returncode, result.stdout) == (255, ""), result
    assert "Permission denied" in result.stderr


def assert_let_in(result):
    assert (result.returncode, result.stdout) == (0, "in\n"), result


@pytest.fixture(autouse=True)
def everybody_may_come_back():
    for user in ("alice", "carol"):
        assert state(user) in ("reserved", "active")
    yield
    for user in ("alice", "carol"):
        patch(user, locked=False, expires_at=None)
    lab.eventually(lambda: not lab.remains(), 5)
    assert not lab.strays()


class Lives:
    """What two users have while one of them loses it: a session and a run each."""

    def __init__(self, stack):
        self.login = stack.enter_context(lab.Login("alice"))
        self.other = stack.enter_context(lab.Login("carol"))
        self.run, self.others_run = lab.sleeper(user="alice"), lab.sleeper(user="carol")
        stack.callback(self.run.close)
        stack.callback(self.others_run.close)
        # Positive control: all four live, and none of them is about to end.
        assert self.run.quiet_for(1) and self.others_run.quiet_for(0.1)
        assert self.login.answers() and self.other.answers()

    def alices_end(self, begin, status):
        lab.eventually(lambda: not lab.procs_of_uid(self.login.uid), ENDS_WITHIN_S)
        lab.eventually(self.login.is_over, ENDS_WITHIN_S)
        assert self.run.finish().status == status, self.run.end
        assert time.monotonic() - begin < ENDS_WITHIN_S
        assert self.login.client.wait(10) != 0
        assert self.other.answers() and self.others_run.quiet_for(0.5)
        assert [each["user"] for each in lab.sessions()] == ["carol"]


@pytest.fixture
def lives():
    with contextlib.ExitStack() as stack:
        yield Lives(stack)


# ---- lock

def test_a_lock_ends_session_and_run_and_nobody_elses(lives):
    begin = time.monotonic()
    assert patch("alice", locked=True)["state"] == "locked"
    lives.alices_end(begin, "locked")
    with pytest.raises(lab.Refused) as refused:
        lab.run(["/bin/true"], user="alice")
    assert refused.value.answer.body["status"] == "locked"
    assert_let_in(knock("carol", lab.mint("carol")["code"]))
    assert lab.audit_of(lives.login.id)[0] == "killed"


def test_a_lock_refuses_the_next_login_and_uses_no_code_up():
    link = lab.mint("alice")
    assert_let_in(knock("alice", lab.mint("alice")["code"]))  # positive control
    patch("alice", locked=True)
    for secret in (link["code"], link["link"]):
        assert_denied(knock("alice", secret))
    assert lab.link_state(link["id"]) == "open"
    answer = lab.api("POST", "/v1/links", {"user": "alice"})
    assert (answer.status, answer.body["status"]) == (403, "locked"), answer
    patch("alice", locked=False)
    assert_let_in(knock("alice", link["code"]))
    assert lab.link_state(link["id"]) == "used"
    assert lab.run(["/bin/true"], user="alice").status == "ok"


def test_locking_twice_is_locking_once():
    for _ in range(2):
        assert patch("alice", locked=True)["state"] == "locked"
    assert patch("alice", locked=False)["state"] == "active"
    assert_let_in(knock("alice", lab.mint("alice")["code"]))


@pytest.fixture
def key(tmp_path):
    """alice's and carol's keys, outside of their homes, and an sshd that takes them."""
    os.makedirs(KEYS, exist_ok=True)
    path = f"{tmp_path}/key"
    lab.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
    for user in ("alice", "carol"):
        lab.command("install", "-m", "0644", f"{path}.pub", f"{KEYS}/{user}")
    lab.service("restart", "atelier-sshd", "--", "-o", f"AuthorizedKeysFile={KEYS}/%u")
    yield path
    for user in ("alice", "carol"):
        os.unlink(f"{KEYS}/{user}")
    lab.service("restart", "atelier-sshd")


def by_key(user, key):
    return lab.with_code("", lab.ssh_argv(user, "echo in", options=lab.key_options(key)))


def test_a_lock_holds_for_keys_too(key):
    assert_let_in(by_key("alice", key))
    with lab.Login("alice", code="", options=lab.key_options(key)) as login:
        begin = time.monotonic()
        patch("alice", locked=True)
        lab.eventually(login.is_over, ENDS_WITHIN_S)
        assert time.monotonic() - begin < ENDS_WITHIN_S
    for _ in range(2):
        result = by_key("alice", key)
        assert (result.returncode, result.stdout) == (255, ""), result
    assert_let_in(by_key("carol", key))
    patch("alice", locked=False)
    assert_let_in(by_key("alice", key))


def test_an_expiry_holds_for_keys_too(key):
    assert_let_in(by_key("alice", key))
    patch("alice", expires_at=in_seconds(0))
    lab.eventually(lambda: state("alice") == "expired")
    result = by_key("alice", key)
    assert (result.returncode, result.stdout) == (255, ""), result
    patch("alice", expires_at=None)
    assert_let_in(by_key("alice", key))


# ---- a login that is on its way

@pytest.mark.parametrize("is_locked", [True, False])
def test_a_lock_while_the_code_is_asked_for(is_locked):
    import pexpect

    link = lab.mint("alice")
    argv = lab.ssh_argv("alice", "echo in")
    client = pexpect.spawn(argv[0], argv[1:], env={"PATH": os.environ["PATH"]}, timeout=30,
                           encoding="utf-8")
    try:
        client.expect_exact("Code or link: ")
        patch("alice", locked=is_locked)
        client.sendline(link["code"])
        client.expect(pexpect.EOF)
        assert ("Permission denied" in client.before) == is_locked, client.before
        assert ("in\r\n" in client.before) != is_locked
    finally:
        client.close(force=True)
    assert lab.link_state(link["id"]) == ("open" if is_locked else "used")


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_lock_while_the_session_is_opened(is_locked, alice):
    """sessiond stands still, so that the login does in open_session, until the lock is there."""
    link = lab.mint("alice")
    sessiond = lab.service_pid("sessiond")
    os.kill(sessiond, signal.SIGSTOP)
    client = lab.ssh_popen("alice", link["code"], "echo in")
    try:
        lab.eventually(lambda: lab.link_state(link["id"]) == "used", 20)
        time.sleep(1)
        patch("alice", locked=is_locked)
        os.kill(sessiond, signal.SIGCONT)
        out, _ = client.communicate(timeout=60)
        assert ("in\n" in out) != is_locked, out
        assert (client.returncode == 0) != is_locked
    finally:
        os.kill(sessiond, signal.SIGCONT)
        client.kill()
        client.communicate()
    lab.eventually(lambda: not lab.procs_of_uid(alice))


# ---- expiry

def test_an_expiry_ends_session_and_run_when_it_comes(lives):
    link = lab.mint("alice")
    patch("alice", expires_at=in_seconds(2))
    assert state("alice") == "active" and lives.login.answers()
    lab.eventually(lambda: state("alice") == "expired", 10)
    lives.alices_end(time.monotonic(), "locked")
    assert_denied(knock("alice", link["code"]))
    assert lab.link_state(link["id"]) == "open"
    answer = lab.api("POST", "/v1/links", {"user": "alice"})
    assert (answer.status, answer.body["status"]) == (403, "locked"), answer
    patch("alice", expires_at=None)
    assert_let_in(knock("alice", link["code"]))


def test_an_expiry_that_is_taken_back_ends_nothing():
    with lab.Login("alice") as login:
        patch("alice", expires_at=in_seconds(2))
        patch("alice", expires_at=None)
        time.sleep(4)
        assert login.answers()


def test_an_expiry_in_the_past_is_one():
    with lab.Login("alice") as login:
        assert patch("alice", expires_at="2001-01-01T00:00:00Z")["state"] == "expired"
        lab.eventually(login.is_over, ENDS_WITHIN_S)


# ---- restarts

def test_a_lock_outlives_everything():
    link = lab.mint("alice")
    patch("alice", locked=True)
    for verb in ("restart", "kill"):
        for name in SERVICES:
            lab.service(verb, name)
            if verb == "kill":
                lab.service("start", name)
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        assert state("alice") == "locked"
        assert_denied(knock("alice", link["code"]))
    assert_let_in(knock("carol", lab.mint("carol")["code"]))
    patch("alice", locked=False)
    assert_let_in(knock("alice", link["code"]))


def test_a_lock_that_nobody_could_be_told_is_carried_out_later():
    """Locked while sessiond is down, which a session outlives: the next one ends it."""
    with lab.Login("alice") as login, lab.Login("carol") as other:
        lab.service("kill", "sessiond")
        lab.eventually(lambda: not lab.is_connected())
        assert login.answers()
        assert patch("alice", locked=True)["state"] == "locked"
        assert login.answers()
        lab.service("start", "sessiond")
        lab.eventually(login.is_over, lab.UP_WITHIN_S)
        assert other.answers()
