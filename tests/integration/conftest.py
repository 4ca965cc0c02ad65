# SPDX-License-Identifier: ISC
# conftest.py - the users and callers that the tests share, and the care for the next test.
#
# ATELIER_TESTS_HANDS_OFF=1: a broken host is left as it is (tests/sabotage breaks it on purpose).
import os
import shutil
import subprocess

import admin
import doors
import lab
import pytest

HANDS_OFF = os.environ.get("ATELIER_TESTS_HANDS_OFF") == "1"


def pytest_sessionstart():
    # Everything below changes accounts, rules and mounts: never on a machine that is not a lab.
    if os.environ.get("ATELIER_LAB") != "1" or os.geteuid() != 0:
        pytest.exit("these tests run inside the lab only: tests/integration/run", returncode=2)


@pytest.fixture(scope="session", autouse=True)
def workshop():
    """alice and carol, one course, and a caller for everybody."""
    if not HANDS_OFF:
        lab.bring_up()
    for name in ("alice", "carol"):
        assert lab.user_add(email=f"{name}@example.org").status in (200, 201)
    if lab.api("POST", "/v1/groups", {"name": "course-a"}).status not in (201, 409):
        raise AssertionError("no group course-a")
    assert lab.user_add(email="dora@example.org", group="course-a").status in (200, 201)
    put_caller(lab.CALLER)
    yield
    lab.api("DELETE", f"/v1/callers/{lab.CALLER}")


@pytest.fixture(scope="session", autouse=True)
def nothing_leaks(workshop):
    """Nothing that the whole run has minted or typed can be read in a file of the host."""
    yield
    found = doors.leaks()
    assert not found


def put_caller(uid, groups=(lab.ALL_USERS,), verbs=("users", "runs", "net-public")):
    answer = lab.api("POST", "/v1/callers", {"uid": uid, "groups": list(groups),
                                             "verbs": list(verbs)})
    assert answer.status == 200, answer


@pytest.fixture
def caller():
    """Make rows for the test's own callers; they are gone afterwards."""
    made = []

    def make(uid, **more):
        put_caller(uid, **more)
        made.append(uid)

    yield make
    for uid in made:
        lab.api("DELETE", f"/v1/callers/{uid}")


@pytest.fixture
def user():
    """Make users; what a test left of them is removed."""
    made = []

    def make(name, *options, home=False):
        lab.atelier("user", "add", "--name", name, *options)
        made.append(name)
        if home:
            assert lab.run(["/bin/true"], user=name).status == "ok"
        return lab.uid_of(name)

    yield make
    for name in made:
        lab.command("atelier", "user", "del", "-r", "--no-scan", name, check=False)


@pytest.fixture
def account():
    """Make local accounts with useradd(8)."""
    made = []

    def make(name, *options):
        lab.command("useradd", "-m", "-s", "/bin/bash", *options, name)
        made.append(name)
        return lab.uid_of(name)

    yield make
    for name in made:
        if admin.passwd_has(name):
            lab.command("userdel", "-r", name, check=False)
        lab.command("atelier", "user", "del", "-r", "--no-scan", name, check=False)
        shutil.rmtree(f"/home/{name}", ignore_errors=True)


@pytest.fixture(scope="session")
def alice():
    return lab.uid_of("alice")


@pytest.fixture(scope="session")
def bob():
    """An account of the host's own, nothing to do with us."""
    if lab.uid_of("bob") is None:
        lab.command("useradd", "bob")
    return lab.uid_of("bob")


@pytest.fixture
def alice_home():
    """alice's home exists on the host; returns its path."""
    home = f"{lab.HOMES}/alice"
    if not os.path.isdir(home):
        assert lab.run(["/bin/true"]).status == "ok"
    return home


@pytest.fixture(autouse=True)
def host_is_left_well(workshop):
    """A daemon that died, or a host that is left degraded, is the fault of the test it shows in."""
    yield
    if HANDS_OFF:
        return
    try:
        lab.eventually(lab.is_well, 3)
        return
    except AssertionError:
        found = f"{lab.health()} {lab.service('status', 'sessiond', check=False).stdout}"
    for name in ("sessiond", "sessiond-api"):
        try:
            lab.service("restart", name)
        except (AssertionError, subprocess.TimeoutExpired):
            pytest.exit(f"{name} does not come back: {found}", returncode=3)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    pytest.fail(f"the host was left unwell: {found}")
