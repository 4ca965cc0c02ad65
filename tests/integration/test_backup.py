# SPDX-License-Identifier: ISC
# test_backup.py - a copy of the registry is taken while it works, and put back; nothing comes back that was used.
import os
import shutil
import sqlite3
import threading

import lab
import pytest

REGISTRY = f"{lab.STATE}/registry"
BACKUP, RESTORE = f"{REGISTRY}/backup.db", f"{REGISTRY}/restore.db"


def backup():
    answer = lab.api("POST", "/v1/backup", {})
    assert answer.status == 200, answer
    return answer.body


def restore(**more):
    return lab.api("POST", "/v1/restore", more)


def offered(path):
    """Put a file where the api looks for it, as `atelier restore` does."""
    owner = os.stat(REGISTRY)
    shutil.copyfile(path, RESTORE)
    os.chmod(RESTORE, 0o600)
    os.chown(RESTORE, owner.st_uid, owner.st_gid)


@pytest.fixture
def kept(tmp_path):
    """A copy of the registry as it is now, outside of it."""
    backup()
    path = tmp_path / "kept.db"
    shutil.copyfile(BACKUP, path)
    yield path
    for leftover in (BACKUP, RESTORE):
        if os.path.exists(leftover):
            os.unlink(leftover)


@pytest.fixture(autouse=True)
def the_others_are_still_there():
    before = {name: lab.uid_of(name) for name in ("alice", "carol", "dora")}
    yield
    assert {name: lab.uid_of(name) for name in before} == before


def test_copies_are_whole_while_users_are_made(tmp_path):
    stop, made = threading.Event(), []

    def make():
        while not stop.is_set():
            answer = lab.user_add(name=f"meanwhile{len(made)}")
            assert answer.status == 201, answer
            made.append(answer.body["name"])

    maker = threading.Thread(target=make)
    maker.start()
    try:
        for turn in range(10):
            lab.eventually(lambda: len(made) > 3 * turn)
            seen = len(made)
            facts = backup()
            assert (facts["file"], facts["bytes"]) == ("backup.db", os.stat(BACKUP).st_size)
            assert os.stat(BACKUP).st_mode & 0o777 == 0o600
            shutil.copyfile(BACKUP, tmp_path / "look.db")
            db = sqlite3.connect(tmp_path / "look.db")
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            names = {row[0] for row in db.execute("SELECT name FROM users WHERE state != 'deleted'")}
            db.close()
            assert len(names) == facts["users"]
            assert set(made[:seen]) <= names
    finally:
        stop.set()
        maker.join()
        os.unlink(BACKUP)
    assert len(made) > 27


def test_a_dry_run_says_what_would_be_and_changes_nothing(kept):
    name = lab.newcomer()
    uid, before = lab.uid_of(name), lab.health()
    offered(kept)
    answer = restore(dry_run=True)
    assert answer.status == 200, answer
    assert (answer.body["dry_run"], answer.body["kept"]) == (True, None)
    assert answer.body["gone"] == [{"name": name, "uid": uid}]
    assert answer.body["users"] == before["users"] - 1
    assert lab.uid_of(name) == uid
    assert lab.health()["generation"] == before["generation"]
    assert os.path.exists(RESTORE)


def test_who_came_after_the_copy_is_gone_and_never_comes_back(kept):
    name, group = lab.newcomer(), "after-the-copy"
    uid = lab.uid_of(name)
    gid = lab.api("POST", "/v1/groups", {"name": group}).body["gid"]
    link = lab.mint(name)
    generation = lab.health()["generation"]
    offered(kept)
    answer = restore()
    assert answer.status == 200, answer
    assert answer.body["gone"] == [{"name": name, "uid": uid}]
    assert os.path.exists(f"{REGISTRY}/{answer.body['kept']}")
    assert not os.path.exists(RESTORE)
    assert lab.health()["generation"] > generation
    assert lab.uid_of(name) is None
    assert lab.command("getent", "passwd", str(uid), check=False).returncode == 2
    assert lab.command("getent", "group", group, check=False).returncode == 2
    assert lab.ssh(name, link["code"], "true").returncode == 255
    for body, field in (({"name": name}, "name"), ({"name": group}, "name"),
                        ({"name": "newname", "uid": uid}, "uid"),
                        ({"name": "newname", "uid": gid}, "uid")):
        again = lab.user_add(**body)
        assert (again.status, again.body["field"]) == (409, field), again
    # Also with a newly started api, and for the counter.
    lab.service("restart", "sessiond-api")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert lab.user_add(name=name).status == 409
    following = lab.user_add(email=f"{name}@example.org")
    assert following.status == 201 and following.body["uid"] > max(uid, gid), following


def test_who_was_deleted_after_the_copy_is_back_as_who_they_were(kept):
    name = lab.newcomer()
    uid = lab.uid_of(name)
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.api("DELETE", f"/v1/users/{name}").status == 200
    assert lab.uid_of(name) is None
    offered(kept)
    answer = restore()
    assert (answer.status, answer.body["gone"]) == (200, []), answer
    assert lab.uid_of(name) == uid
    assert lab.user_add(name=name).status == 409


def test_sessions_and_runs_of_the_gone_end(kept):
    name = lab.newcomer()
    uid = lab.uid_of(name)
    with lab.Session(name) as session, lab.Session("carol") as other:
        run = lab.sleeper(user=name)
        assert session.says("echo in") == "in\n"
        offered(kept)
        assert restore().status == 200
        lab.eventually(lambda: not lab.procs_of_uid(uid), 5)
        assert run.finish().status == "locked"
        assert other.says("echo in") == "in\n"  # nobody else's


def test_who_was_locked_in_the_copy_loses_what_runs(kept):
    name = lab.newcomer()
    assert lab.api("PATCH", f"/v1/users/{name}", {"locked": True}).status == 200
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.api("PATCH", f"/v1/users/{name}", {"locked": False}).status == 200
    with lab.Session(name) as session:
        assert session.says("echo in") == "in\n"
        offered(kept)
        assert restore().status == 200
        lab.eventually(lambda: not lab.procs_of_uid(lab.uid_of(name)), 5)


def test_links_that_were_open_in_the_copy_stay_dead(kept):
    name = lab.newcomer()
    used, unused = lab.mint(name), lab.mint(name)
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.ssh(name, used["code"], "echo in").stdout == "in\n"
    offered(kept)
    answer = restore()
    assert (answer.status, answer.body["links_revoked"] >= 2) == (200, True), answer
    for link in (used, unused):
        assert lab.link_state(link["id"]) == "revoked"
        assert lab.ssh(name, link["code"], "echo in").returncode == 255
    assert lab.ssh(name, lab.mint(name)["code"], "echo in").stdout == "in\n"  # positive control


def damaged(path):
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


def foreign(path):
    os.unlink(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()


def newer(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 9999")
    db.commit()
    db.close()


def no_database(path):
    with open(path, "wb") as file:
        file.write(b"not a database at all" * 1000)


@pytest.mark.parametrize("spoil", [damaged, foreign, newer, no_database])
def test_a_bad_file_is_refused_and_changes_nothing(kept, spoil):
    before = lab.health()
    spoil(kept)
    offered(kept)
    for dry_run in (True, False):
        answer = restore(dry_run=dry_run)
        assert (answer.status, answer.body["field"]) == (400, "file"), answer
    after = lab.health()
    assert (after["generation"], after["users"]) == (before["generation"], before["users"])


def test_a_file_of_somebody_else_is_refused(kept):
    offered(kept)
    os.chown(RESTORE, 0, 0)
    assert restore(dry_run=True).body["field"] == "file"
    os.unlink(RESTORE)
    offered(kept)
    os.link(RESTORE, RESTORE + ".link")
    assert restore(dry_run=True).body["field"] == "file"
    os.unlink(RESTORE + ".link")
    os.unlink(RESTORE)
    os.symlink(kept, RESTORE)
    assert restore(dry_run=True).body["field"] == "file"
    os.unlink(RESTORE)
    assert restore(dry_run=True).body["field"] == "file"  # none at all
    offered(kept)
    assert restore(dry_run=True).status == 200  # positive control


@pytest.mark.parametrize("path, body, field", [
    ("/v1/backup", {"file": "/etc/passwd"}, "file"), ("/v1/restore", {"file": "x"}, "file"),
    ("/v1/restore", {"dry_run": "yes"}, "dry_run")])
def test_nothing_else_can_be_said(path, body, field):
    answer = lab.api("POST", path, body)
    assert (answer.status, answer.body["field"]) == (400, field), answer
