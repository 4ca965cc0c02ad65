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


def plan():
    """What would be; what is offered stays offered."""
    return lab.api("POST", "/v1/restore", {"dry_run": True})


def restore():
    """For good, what a dry run has shown."""
    shown = plan()
    if shown.status != 200:
        return shown
    done = lab.api("POST", "/v1/restore", {"digest": shown.body["digest"]})
    if done.status == 200:
        assert done.body == {**shown.body, "dry_run": False, "kept": done.body["kept"]}
    return done


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
    answer = plan()
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
    following = lab.user_add(email="following@example.org")
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
    assert answer.body["back"] == [{"name": name, "uid": uid}]
    assert lab.uid_of(name) == uid
    assert lab.api("GET", f"/v1/users/{name}").body["state"] == "locked"
    assert lab.api("PATCH", f"/v1/users/{name}", {"locked": False}).status == 200
    assert lab.ssh(name, lab.mint(name)["code"], "echo in").stdout == "in\n"
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


def test_rights_that_were_taken_away_stay_away(kept):
    name, caller = lab.newcomer(), {"uid": 4711, "groups": ["course-a"], "verbs": ["users", "runs"]}
    uid = lab.uid_of(name)
    assert lab.api("POST", "/v1/callers", caller).status == 200
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.api("DELETE", "/v1/callers/4711").status == 204
    assert lab.api("PATCH", f"/v1/users/{name}", {"locked": True}).status == 200
    callers = lab.api("GET", "/v1/callers").body
    offered(kept)
    answer = restore()
    assert answer.status == 200, answer
    assert answer.body["locked"] == [{"name": name, "uid": uid}]
    assert answer.body["callers_dropped"] == [caller]
    assert lab.api("GET", f"/v1/users/{name}").body["state"] == "locked"
    assert lab.api("GET", "/v1/callers").body == callers


@pytest.mark.parametrize("whose", ["uid", "name"])
def test_what_a_local_account_has_by_now_is_refused(kept, whose):
    name = lab.newcomer()
    uid = lab.uid_of(name)
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.api("DELETE", f"/v1/users/{name}").status == 200
    account = ("-u", str(uid), "localdave") if whose == "uid" else ("-u", "4321", name)
    lab.command("useradd", "-M", *account)
    try:
        before = lab.health()["generation"]
        offered(kept)
        shown = plan()
        assert (shown.status, shown.body["field"]) == (409, "file"), shown
        assert name in shown.body["message"] and "taken on this host" in shown.body["message"]
        assert lab.health()["generation"] == before
        assert lab.uid_of(name) == (None if whose == "uid" else 4321)
    finally:
        lab.command("userdel", account[-1])
    assert restore().status == 200
    assert lab.uid_of(name) == uid


def test_an_account_that_comes_after_the_dry_run_is_seen(kept):
    name = lab.newcomer()
    uid = lab.uid_of(name)
    backup()
    shutil.copyfile(BACKUP, kept)
    assert lab.api("DELETE", f"/v1/users/{name}").status == 200
    offered(kept)
    shown = plan()
    assert shown.status == 200, shown
    lab.command("useradd", "-M", "-u", str(uid), "localdave")
    try:
        answer = lab.api("POST", "/v1/restore", {"digest": shown.body["digest"]})
        assert (answer.status, answer.body["field"]) == (409, "file"), answer
        assert lab.uid_of(name) is None
    finally:
        lab.command("userdel", "localdave")


def test_another_file_than_the_one_shown_is_refused(kept, tmp_path):
    offered(kept)
    shown = plan()
    lab.newcomer()
    backup()
    shutil.copyfile(BACKUP, tmp_path / "other.db")
    before = lab.health()["generation"]
    offered(tmp_path / "other.db")
    answer = lab.api("POST", "/v1/restore", {"digest": shown.body["digest"]})
    assert (answer.status, answer.body["field"]) == (400, "digest"), answer
    answer = lab.api("POST", "/v1/restore", {})
    assert (answer.status, answer.body["field"]) == (400, "digest"), answer
    assert lab.health()["generation"] == before
    assert restore().status == 200  # positive control


def test_a_restore_that_could_not_be_published_ends_what_must_end(kept):
    """It is stored: the answer must not say that the file is bad, and who is gone loses what runs."""
    name = lab.newcomer()
    uid = lab.uid_of(name)
    index = f"{lab.STATE}/nss/index"
    with lab.Session(name) as session:
        assert session.says("echo in") == "in\n"
        offered(kept)
        shown = plan()
        os.rename(index, f"{index}.kept")
        os.mkdir(index, 0o700)
        try:
            answer = lab.api("POST", "/v1/restore", {"digest": shown.body["digest"]})
            assert (answer.status, answer.body["field"]) == (500, None), answer
            assert "restored" in answer.body["message"]
            lab.eventually(lambda: not lab.procs_of_uid(uid), 5)
        finally:
            os.rmdir(index)
            os.rename(f"{index}.kept", index)
    assert lab.api("POST", "/v1/index", {}).status == 200
    assert lab.uid_of(name) is None


def test_a_lock_that_could_not_be_published_ends_what_must_end():
    """Of the same kind: a lock that comes with a group is stored when the index cannot be."""
    name = lab.newcomer()
    uid, index = lab.uid_of(name), f"{lab.STATE}/nss/index"
    with lab.Session(name) as session:
        assert session.says("echo in") == "in\n"
        os.rename(index, f"{index}.kept")
        os.mkdir(index, 0o700)
        try:
            answer = lab.api("PATCH", f"/v1/users/{name}", {"locked": True, "groups": ["course-a"]})
            assert answer.status == 500 and "stored" in answer.body["message"], answer
            lab.eventually(lambda: not lab.procs_of_uid(uid), 5)
        finally:
            os.rmdir(index)
            os.rename(f"{index}.kept", index)
    assert lab.api("POST", "/v1/index", {}).status == 200
    assert lab.api("GET", f"/v1/users/{name}").body["state"] == "locked"


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
    for body in ({"dry_run": True}, {"digest": "0" * 64}):
        answer = lab.api("POST", "/v1/restore", body)
        wanted = "digest" if "digest" in body and spoil is not no_database else "file"
        assert (answer.status, answer.body["field"]) == (400, wanted), answer
    after = lab.health()
    assert (after["generation"], after["users"]) == (before["generation"], before["users"])


def test_a_file_of_somebody_else_is_refused(kept):
    offered(kept)
    os.chown(RESTORE, 0, 0)
    assert plan().body["field"] == "file"
    os.unlink(RESTORE)
    offered(kept)
    os.link(RESTORE, RESTORE + ".link")
    assert plan().body["field"] == "file"
    os.unlink(RESTORE + ".link")
    os.unlink(RESTORE)
    os.symlink(kept, RESTORE)
    assert plan().body["field"] == "file"
    os.unlink(RESTORE)
    assert plan().body["field"] == "file"  # none at all
    offered(kept)
    assert plan().status == 200  # positive control


@pytest.mark.parametrize("path, body, field", [
    ("/v1/backup", {"file": "/etc/passwd"}, "file"), ("/v1/restore", {"file": "x"}, "file"),
    ("/v1/restore", {"dry_run": "yes"}, "dry_run"), ("/v1/restore", {}, "digest"),
    ("/v1/restore", {"digest": "x" * 65}, "digest")])
def test_nothing_else_can_be_said(path, body, field):
    answer = lab.api("POST", path, body)
    assert (answer.status, answer.body["field"]) == (400, field), answer
