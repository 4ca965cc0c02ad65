# SPDX-License-Identifier: ISC
# test_identity.py - a user is a Unix user, and the host's own accounts are as they were.
import glob
import re
import subprocess

import lab
import pytest


def local_uids():
    with open("/etc/passwd", encoding="utf-8") as lines:
        return [int(line.split(":")[2]) for line in lines if line.count(":") == 6]


def next_uid():
    """What useradd(8) takes on a host without us: one above the highest, 1000 if there is none."""
    ordinary = [uid for uid in local_uids() if 1000 <= uid <= 9999]
    return max(ordinary, default=999) + 1


def module_path():
    found = glob.glob("/usr/lib/*/libnss_atelier.so.2") + glob.glob("/usr/lib/libnss_atelier.so.2")
    assert len(found) == 1, found
    return found[0]


def test_user_add_prints_and_nss_answers():
    line = lab.atelier("user", "add", "alice@example.org").stdout.split()
    assert line[0] == "alice"
    assert line[2] in ("created", "existed")
    entry = lab.command("getent", "passwd", "alice").stdout.strip().split(":")
    assert entry[0:2] == ["alice", "*"]
    assert entry[2] == line[1]
    assert lab.ID_MIN <= int(entry[2]) <= lab.ID_ALLOC_MAX
    assert entry[2] == entry[3]
    assert entry[5] == f"{lab.HOMES}/alice"
    assert "example.org" not in entry[4]


def test_id_answers_uid_private_group_and_the_group_of_all():
    uid = lab.uid_of("alice")
    text = lab.command("id", "alice").stdout.strip()
    assert text.startswith(f"uid={uid}(alice) gid={uid}(alice) groups={uid}(alice),")
    assert re.search(rf"\(({lab.ALL_USERS})\)", text)
    assert lab.command("id", "-un", str(uid)).stdout.strip() == "alice"


def test_id_shows_the_course():
    assert "course-a" in lab.command("id", "-Gn", "dora").stdout.split()
    assert "course-a" not in lab.command("id", "-Gn", "alice").stdout.split()


def test_a_second_add_finds_the_same_user():
    first = lab.user_add(email="twice@example.org")
    second = lab.user_add(email="Twice@EXAMPLE.org")
    assert (first.status, second.status) == (201, 200)
    assert first.body["uid"] == second.body["uid"]
    assert second.body["created"] is False


def test_asking_again_with_a_group_joins_it():
    lab.atelier("group", "add", "second-course", check=False)
    assert lab.user_add(email="joiner@example.org", name="joiner").status == 201
    assert "second-course" not in lab.command("id", "-Gn", "joiner").stdout.split()
    for _ in range(2):
        answer = lab.user_add(email="joiner@example.org", group="second-course")
        assert (answer.status, answer.body["created"]) == (200, False)
        groups = lab.command("id", "-Gn", "joiner").stdout.split()
        assert sorted(groups) == ["atelier-users", "joiner", "second-course"]
    wrong = lab.user_add(email="joiner@example.org", group="no-such-course")
    assert (wrong.status, wrong.body["field"]) == (400, "group")


def test_external_id_is_idempotent_too():
    first = lab.user_add(external_id="moodle:4711", name="exter")
    second = lab.user_add(external_id="moodle:4711")
    assert (first.status, second.status) == (201, 200)
    assert second.body["name"] == "exter"
    assert second.body["uid"] == first.body["uid"]


def test_two_people_with_one_local_part_are_two_users():
    first = lab.user_add(email="same@a.example.org").body
    second = lab.user_add(email="same@b.example.org").body
    assert first["name"] != second["name"]
    assert first["uid"] != second["uid"]
    assert lab.uid_of(second["name"]) == second["uid"]


def test_every_user_is_listed_by_getent_once():
    known = {row["name"]: row["uid"] for row in lab.api("GET", "/v1/users").body["users"]}
    lines = lab.command("getent", "passwd").stdout.splitlines()
    listed = [line.split(":") for line in lines]
    ours = [(entry[0], int(entry[2])) for entry in listed if int(entry[2]) in range(10000, 65001)]
    assert sorted(ours) == sorted(known.items())
    assert "alice" in known


def test_the_groups_are_listed_and_empty():
    gids = {row["name"]: row["gid"] for row in lab.api("GET", "/v1/groups").body["groups"]}
    for name in (lab.ALL_USERS, "course-a"):
        entry = lab.command("getent", "group", name).stdout.strip().split(":")
        assert entry[0::2] == [name, str(gids[name])]
        assert entry[3] == ""


def test_useradd_takes_the_uid_that_it_takes_without_us():
    assert lab.uid_of("alice") is not None
    wanted = next_uid()
    lab.command("useradd", "eve-local")
    try:
        assert lab.uid_of("eve-local") == wanted
        assert wanted < lab.ID_MIN
    finally:
        lab.command("userdel", "eve-local")


def test_useradd_bob(bob):
    assert 1000 <= bob < lab.ID_MIN
    assert bob in local_uids()


def test_a_name_of_the_host_is_taken(bob):
    answer = lab.user_add(name="bob", email="bob@example.org")
    assert answer.status == 409
    assert answer.body["field"] == "name"
    assert lab.uid_of("bob") == bob


@pytest.mark.parametrize("name", ["root", "docker", "sudo", "www-data", "postgres"])
def test_a_name_of_the_system_is_refused(name):
    answer = lab.user_add(name=name)
    assert answer.status == 409
    assert answer.body["field"] == "name"


def test_useradd_refuses_the_name_of_a_participant():
    result = lab.command("useradd", "alice", check=False)
    assert result.returncode != 0
    with open("/etc/passwd", encoding="utf-8") as lines:
        assert [line for line in lines if line.startswith("alice:")] == []


def test_chown_and_stat_know_the_name(tmp_path, alice):
    path = tmp_path / "file"
    path.write_text("x")
    lab.command("chown", "alice:alice", str(path))
    assert path.stat().st_uid == alice
    assert lab.command("stat", "-c", "%U:%G", str(path)).stdout.strip() == "alice:alice"


def test_the_module_links_libc_alone():
    path = module_path()
    dynamic = lab.command("readelf", "-dW", path).stdout
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"]
    names = [line.split()[0] for line in lab.command("ldd", path).stdout.splitlines()]
    others = [name for name in names if not re.match(r"linux-vdso|.*/ld-linux|libc\.so\.6$", name)]
    assert others == []
    assert "libc.so.6" in names


def test_the_module_exports_its_nss_functions_only():
    symbols = [line.split()[-1].split("@")[0] for line in
               lab.command("nm", "-D", "--defined-only", module_path()).stdout.splitlines()]
    assert {"_nss_atelier_getpwnam_r", "_nss_atelier_getpwuid_r", "_nss_atelier_getgrgid_r",
            "_nss_atelier_getgrnam_r", "_nss_atelier_initgroups_dyn"} <= set(symbols)
    assert [name for name in symbols if not name.startswith("_nss_atelier_")] == []


def test_the_module_leaves_no_descriptor_behind():
    code = ("import os, pwd\n"
            "before = os.listdir('/proc/self/fd')\n"
            "pwd.getpwnam('alice'); pwd.getpwall()\n"
            "assert os.listdir('/proc/self/fd') == before")
    subprocess.run([lab.PYTHON, "-I", "-c", code], check=True)


def test_the_names_of_the_outside_stay_inside():
    """E-mail addresses are in the registry alone."""
    with open(lab.INDEX, "rb") as index:
        data = index.read()
    assert b"example.org" not in data
    assert b"alice" in data
    for log in ("sessiond", "sessiond-api"):
        with open(f"/run/lab/{log}.log", "rb") as text:
            assert b"example.org" not in text.read()
