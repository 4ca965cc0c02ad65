# SPDX-License-Identifier: ISC
# test_nscd.py - where nscd runs, it forgets what the registry has changed.
import os
import subprocess
import time

import lab
import pytest

SOCKET = "/var/run/nscd/socket"
AWAY = SOCKET + ".away"
FORGETS_WITHIN_S = 1.0


@pytest.fixture(scope="module", autouse=True)
def nscd():
    os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
    os.makedirs("/var/cache/nscd", exist_ok=True)
    daemon = subprocess.Popen(["/usr/sbin/nscd", "--foreground"], stdin=subprocess.DEVNULL)
    try:
        lab.eventually(lambda: os.path.exists(SOCKET), 10)
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait(10)
        for path in (SOCKET, AWAY):
            if os.path.exists(path):
                os.unlink(path)


def groups_of(name):
    return lab.command("id", "-Gn", name).stdout.split()


class Deaf:
    """nscd cannot be reached: neither sessiond nor a look-up finds its socket."""

    def __enter__(self):
        os.rename(SOCKET, AWAY)

    def __exit__(self, *_):
        time.sleep(0.5)  # for the second order
        os.rename(AWAY, SOCKET)


def fresh(count=iter(range(1000))):
    return f"nscd{os.getpid()}-{next(count)}"


def test_a_name_that_nobody_had_is_there_within_a_second():
    name = fresh()
    assert lab.uid_of(name) is None  # and that is cached now
    answer = lab.user_add(name=name)
    assert answer.status == 201, answer
    assert lab.eventually(lambda: lab.uid_of(name), FORGETS_WITHIN_S) == answer.body["uid"]


def test_without_the_order_it_is_not():
    """The control: nscd does keep the answer that a name does not exist."""
    name = fresh()
    assert lab.uid_of(name) is None
    with Deaf():
        assert lab.user_add(name=name).status == 201
    time.sleep(FORGETS_WITHIN_S)
    assert lab.uid_of(name) is None
    assert lab.user_add(name=fresh()).status == 201  # any change will do
    lab.eventually(lambda: lab.uid_of(name), FORGETS_WITHIN_S)


def test_a_deleted_user_is_gone_within_a_second():
    name = fresh()
    uid = lab.user_add(name=name).body["uid"]
    lab.eventually(lambda: lab.uid_of(name) == uid, FORGETS_WITHIN_S)
    assert lab.api("DELETE", f"/v1/users/{name}").status == 200
    lab.eventually(lambda: lab.uid_of(name) is None, FORGETS_WITHIN_S)
    assert lab.command("getent", "passwd", str(uid), check=False).returncode == 2


def test_without_the_order_a_deleted_user_stays():
    name = fresh()
    uid = lab.user_add(name=name).body["uid"]
    lab.eventually(lambda: lab.uid_of(name) == uid, FORGETS_WITHIN_S)
    with Deaf():
        assert lab.api("DELETE", f"/v1/users/{name}").status == 200
        assert lab.uid_of(name) is None  # the index has it right
    time.sleep(FORGETS_WITHIN_S)
    assert lab.uid_of(name) == uid


def test_groups_are_those_of_now_within_a_second():
    name = fresh()
    assert lab.user_add(name=name).status == 201
    lab.eventually(lambda: lab.uid_of(name), FORGETS_WITHIN_S)
    assert "course-a" not in groups_of(name)
    answer = lab.api("PATCH", "/v1/groups/course-a", {"members_add": [name]})
    assert answer.status == 200, answer
    lab.eventually(lambda: "course-a" in groups_of(name), FORGETS_WITHIN_S)
    assert lab.api("PATCH", "/v1/groups/course-a", {"members_remove": [name]}).status == 200
    lab.eventually(lambda: "course-a" not in groups_of(name), FORGETS_WITHIN_S)


def test_a_sessiond_that_comes_back_tells_it_what_was_missed():
    name = fresh()
    assert lab.uid_of(name) is None
    with Deaf():
        assert lab.user_add(name=name).status == 201
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    lab.eventually(lambda: lab.uid_of(name), FORGETS_WITHIN_S)


def test_a_stopped_nscd_holds_nobody_up(nscd):
    os.kill(nscd.pid, 19)  # SIGSTOP
    try:
        begin = time.monotonic()
        for _ in range(20):
            assert lab.user_add(name=fresh(), timeout=2).status == 201
        assert time.monotonic() - begin < 2  # libc alone would wait for it for five seconds
        assert lab.is_connected()
    finally:
        os.kill(nscd.pid, 18)  # SIGCONT
