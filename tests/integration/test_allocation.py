# SPDX-License-Identifier: ISC
# test_allocation.py - no id and no name is ever ours and somebody else's, whoever asks first.
import concurrent.futures
import contextlib
import glob
import os
import random
import re
import subprocess
import time

import lab
import pytest

LAST_LOCAL = 9999  # what `atelier setup` puts into login.defs as UID_MAX and GID_MAX
INVITATIONS, LOCAL_EACH = 200, 20
RACE_WITHIN_S = 60
EXTRAUSERS = glob.glob("/usr/lib/*/libnss_extrausers.so.2") + glob.glob(
    "/usr/lib/libnss_extrausers.so.2")


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split(":") for line in lines if line.count(":") >= 3]


def local_ids(path):
    """{name: id} of /etc/passwd or /etc/group."""
    return {row[0]: int(row[2]) for row in rows(path)}


def registry_ids():
    """{name: id} of all users and groups; a user's private group has the same of both."""
    users = {row["name"]: row["uid"] for row in lab.api("GET", "/v1/users").body["users"]}
    return users | {row["name"]: row["gid"] for row in lab.api("GET", "/v1/groups").body["groups"]}


def next_id():
    """What the counter gives out next, if nobody else has it. The newest id is the highest."""
    return lab.user_add(name=f"mark{os.getpid()}-{time.monotonic_ns() % 10 ** 9}").body["uid"] + 1


@contextlib.contextmanager
def local(kind, name, *options):
    """A local account or group, made by shadow; gone afterwards."""
    lab.command(f"{kind}add", *options, name)
    try:
        yield local_ids("/etc/passwd" if kind == "user" else "/etc/group")[name]
    finally:
        lab.command(f"{kind}del", name)


@contextlib.contextmanager
def maximum(value):
    """Another UID_MAX and GID_MAX; afterwards what `atelier setup` has put there."""
    path = "/etc/login.defs"
    with open(path, encoding="utf-8") as file:
        before = file.read()
    text, n = re.subn(r"(?m)^((?:UID|GID)_MAX)\s+\d+$", rf"\1 {value}", before)
    assert n == 2
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before)


# ---- one after the other

@pytest.mark.parametrize("kind, file", [("user", "/etc/passwd"), ("group", "/etc/group")])
def test_a_local_id_at_9999_sends_nobody_into_the_range(kind, file):
    option = "-u" if kind == "user" else "-g"
    with local(kind, "at-the-end", option, str(LAST_LOCAL)), local(kind, "after-the-end") as found:
        assert 1000 <= found < LAST_LOCAL
    assert "at-the-end" not in local_ids(file)


def test_without_the_maximum_useradd_would_come_into_the_range():
    """And what it takes there is not given out a second time."""
    with maximum(60000), local("user", "at-the-end", "-u", str(LAST_LOCAL)), \
            local("user", "after-the-end") as found:
        assert found >= lab.ID_MIN  # it asks for users only: the gid of a group of ours is free
        assert found not in {row["uid"] for row in lab.api("GET", "/v1/users").body["users"]}
        for _ in range(2):
            answer = lab.user_add(name=f"beside{time.monotonic_ns() % 10 ** 9}")
            assert answer.status == 201
            assert answer.body["uid"] != found


@pytest.mark.parametrize("tool", [("adduser", "--disabled-login", "--gecos", ""),
                                  ("addgroup",)])
def test_adduser_and_addgroup_stay_below_the_range(tool):
    is_user = tool[0] == "adduser"
    with local("user" if is_user else "group", "at-the-end", "-u" if is_user else "-g",
               str(LAST_LOCAL)):
        lab.command(*tool, "made-by-debian")
        try:
            assert 1000 <= local_ids("/etc/passwd" if is_user else "/etc/group")["made-by-debian"] < \
                LAST_LOCAL
        finally:
            lab.command("deluser" if is_user else "delgroup", "made-by-debian")


@pytest.mark.parametrize("kind, option", [("user", "-u"), ("group", "-g")])
def test_a_local_id_inside_the_range_is_stepped_over(kind, option):
    wanted = next_id()
    with local(kind, f"inside-{kind}", option, str(wanted)):
        for step in (1, 2):
            answer = lab.user_add(name=f"over-{kind}{step}")
            assert (answer.status, answer.body["uid"]) == (201, wanted + step)
    with local(kind, f"inside-{kind}", option, str(wanted + 3)):
        answer = lab.api("POST", "/v1/groups", {"name": f"over-{kind}s"})
        assert (answer.status, answer.body["gid"]) == (201, wanted + 4)


def test_a_uid_of_ours_is_refused_by_shadow(alice):
    for argv in (("useradd", "-u", str(alice), "thief"), ("useradd", "alice"),
                 ("groupadd", "-g", str(alice), "thieves"), ("groupadd", "alice"),
                 ("adduser", "--disabled-login", "--gecos", "", "alice"), ("addgroup", "alice"),
                 ("adduser", "--disabled-login", "--gecos", "", "--uid", str(alice), "thief"),
                 ("addgroup", "--gid", str(alice), "thieves")):
        result = lab.command(*argv, check=False)
        assert result.returncode != 0, argv
        assert re.search(r"already|not unique|exists", result.stderr + result.stdout), result
    taken = {**local_ids("/etc/passwd"), **local_ids("/etc/group")}
    assert alice not in taken.values() and not {"alice", "thief", "thieves"} & set(taken)


@pytest.fixture
def other_source():
    """One more source in nsswitch.conf, between the files and us, with one user and one group."""
    if not EXTRAUSERS:
        pytest.skip("libnss-extrausers is not installed")
    wanted = next_id()
    with open("/etc/nsswitch.conf", encoding="utf-8") as file:
        before = file.read()
    os.makedirs("/var/lib/extrausers", exist_ok=True)
    for name, text in (("passwd", f"hermine:*:{wanted}:100::/:/bin/sh\n"),
                       ("group", f"hermines:*:{wanted + 1}:\n"), ("shadow", "")):
        with open(f"/var/lib/extrausers/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    text = before.replace("files atelier", "files extrausers atelier")
    assert text != before
    with open("/etc/nsswitch.conf", "w", encoding="utf-8") as file:
        file.write(text)
    yield wanted
    with open("/etc/nsswitch.conf", "w", encoding="utf-8") as file:
        file.write(before)


def test_what_another_source_has_is_not_given_out(other_source):
    assert lab.uid_of("hermine") == other_source
    for name in ("hermine", "hermines"):
        answer = lab.user_add(name=name)
        assert (answer.status, answer.body["field"]) == (409, "name")
    answer = lab.user_add(email="hermine@example.org")
    assert answer.status == 201
    assert answer.body["name"] != "hermine"
    assert answer.body["uid"] == other_source + 2
    assert local_ids("/etc/passwd").get("hermine") is None


# ---- names

@pytest.mark.parametrize("name", ["docker", "admin", "postgres", "root", "mail"])
def test_an_address_does_not_make_a_name_of_the_system(name):
    answer = lab.user_add(email=f"{name}@names.example.org")
    assert answer.status == 201
    assert answer.body["name"] != name
    assert lab.uid_of(answer.body["name"]) == answer.body["uid"]
    refused = lab.atelier("user", "add", "--name", name, check=False)
    assert refused.returncode != 0
    assert name not in registry_ids()


# ---- at once

def test_a_short_lock_is_waited_for_and_a_long_one_is_busy():
    holder = ("import fcntl, sys, time\n"
              "f = open('/etc/.pwd.lock', 'w')\n"
              "fcntl.lockf(f, fcntl.LOCK_EX)\nprint('held', flush=True)\n"
              "time.sleep(float(sys.argv[1]))")
    for held_s, wanted in ((0.5, [201]), (5, [503, 201])):
        with subprocess.Popen([lab.PYTHON, "-c", holder, str(held_s)], text=True,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == "held\n"
            statuses = []
            while statuses[-1:] != [201] and len(statuses) < 2:
                answer = lab.user_add(name=f"lock{len(wanted)}")
                statuses.append(answer.status)
                if answer.status == 503:
                    assert answer.body["status"] == "busy"
                    process.kill()
                    process.wait()
        assert statuses == wanted


def insist(act):
    """Until it is done: a busy lock is no answer, for shadow's tools as for ours."""
    deadline = time.monotonic() + RACE_WITHIN_S
    while not act():
        assert time.monotonic() < deadline


def invite(number):
    def act():
        answer = lab.user_add(email=f"race{number}@example.org", name=f"race{number}")
        assert answer.status in (200, 201, 503), answer
        return answer.status != 503
    insist(act)


def shadow_add(argv):
    def act():
        result = lab.command(*argv, check=False)
        # useradd(8), groupadd(8): 1 and 10, the file could not be locked or changed
        assert result.returncode in (0, 1, 10), result
        return result.returncode == 0
    insist(act)


def test_invitations_race_useradd_and_groupadd():
    accounts = [f"local{number}" for number in range(LOCAL_EACH)]
    groups = [f"locals{number}" for number in range(LOCAL_EACH)]
    began_s = time.monotonic()
    try:
        with local("user", "at-the-end", "-u", str(LAST_LOCAL)), \
                concurrent.futures.ThreadPoolExecutor(16) as pool:
            acts = [(shadow_add, ("useradd", name)) for name in accounts]
            acts += [(shadow_add, ("groupadd", name)) for name in groups]
            acts += [(invite, number) for number in range(INVITATIONS)]
            # So that neither side is through before the other begins.
            random.Random(LAST_LOCAL).shuffle(acts)
            for each in [pool.submit(*act) for act in acts]:
                each.result()
            took_s = time.monotonic() - began_s
            passwd, group = local_ids("/etc/passwd"), local_ids("/etc/group")
            ours = registry_ids()
    finally:
        for name in accounts:
            lab.command("userdel", name, check=False)
        for name in groups:
            lab.command("groupdel", name, check=False)
    assert {f"race{number}" for number in range(INVITATIONS)} <= set(ours)
    assert len(set(ours.values())) == len(ours)
    assert len({passwd[name] for name in accounts}) == LOCAL_EACH
    assert len({group[name] for name in (*accounts, *groups)}) == 2 * LOCAL_EACH
    for locals_ in (passwd, group):
        assert not set(locals_) & set(ours)
        assert not set(locals_.values()) & set(ours.values())
    assert max(passwd[name] for name in accounts) < lab.ID_MIN
    assert max(group[name] for name in (*accounts, *groups)) < lab.ID_MIN
    assert took_s < RACE_WITHIN_S
