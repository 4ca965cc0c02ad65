# SPDX-License-Identifier: ISC
# test_admin_ctl.py - users, groups, invitations, the index and backups by the command.
import contextlib
import grp
import json
import os
import pty
import pwd
import shutil
import sqlite3
import subprocess

import lab
import pytest
from admin import as_json, entry, groups_of, refused, write

REGISTRY = f"{lab.STATE}/registry/registry.db"


@pytest.fixture(scope="module", autouse=True)
def groups(workshop):
    for name in ("ctl-one", "ctl-two", "ctl-csv"):
        lab.atelier("group", "add", name)


# ---- users and groups

def test_a_user_is_made_with_the_letters_of_useradd(user):
    uid = user("letters", "-c", "Börse", "-e", "2099-12-31", "-G", "ctl-one,ctl-two", "-s",
               "/bin/bash", "-u", "10423")
    assert uid == 10423
    shown = as_json("user", "show", "letters")
    assert (shown["comment"], shown["shell"]) == ("Börse", "/bin/bash")
    assert shown["expires_at"] == "2099-12-31T23:59:59Z"
    assert {"ctl-one", "ctl-two", lab.ALL_USERS} <= groups_of("letters")
    # The remark and the shell are no business of NSS.
    assert entry("letters").split(":")[4:7] == ["", f"{lab.HOMES}/letters",
                                                "/usr/lib/atelier/shell"]


def test_lists_fit_a_terminal_and_are_whole_elsewhere(user):
    user("anna", "-e", "2099-12-31", "-G", "ctl-one,ctl-two", "anna@example.org")
    user("bernhard", "-G", "ctl-one", "bernhard.mueller@university-hospital.example")
    lab.mint("anna")
    whole = lab.atelier("user", "list").stdout.splitlines()
    short = lab.screen("atelier", "user", "list")
    assert short[0].split() == ["NAME", "UID", "STATE", "EMAIL", "EXPIRES", "GROUPS"]
    rows = {row.split()[0]: row.split() for row in short[1:]}
    assert rows["anna"][2:] == ["reserved", "anna@example.org", "2099-12-31", "ctl-one,ctl-two"]
    assert rows["bernhard"][3].startswith("bernhard.mueller@") and rows["bernhard"][3].endswith("...")
    assert len(short) == len(whole) and max(len(line) for line in short) <= 80, short
    assert max(len(line) for line in lab.screen("atelier", "user", "list", columns=60)) <= 60
    wide = lab.screen("atelier", "user", "list", columns=300)
    assert any("bernhard.mueller@university-hospital.example" in line for line in wide)
    row, = (line for line in whole if line.startswith("bernhard "))
    assert "bernhard.mueller@university-hospital.example" in row and f"{lab.ALL_USERS},ctl-one" in row
    assert lab.screen("atelier", "user", "list", "--long") == whole
    for noun in ("link", "caller"):
        short, whole = lab.screen("atelier", noun, "list"), lab.atelier(noun, "list").stdout.splitlines()
        assert max(len(line) for line in short) <= 80 and len(short) == len(whole) > 1, short
        assert lab.screen("atelier", noun, "list", "-l") == whole
    with lab.Session("anna") as live:
        short = lab.screen("atelier", "session", "list")
        assert short[0].split() == ["ID", "USER", "LINE", "FROM", "STARTED", "PID"]
        assert any(line.startswith(f"{live.id[:12]}  anna ") for line in short)
        assert max(len(line) for line in short) <= 80, short
    assert "one argument too many" in refused(64, "user", "list", "anna")


@pytest.mark.parametrize("words, said", [
    (("usr", "list"), "there is no command 'usr'; did you mean user?"),
    (("user", "lst"), "there is no command 'user lst'; did you mean list?"),
    (("link", "x"), "there is no command 'link x'; known: mint, list, revoke"),
    (("link",), "'link' needs a second word; known: mint, list, revoke"),
    (("x",), "there is no command 'x'; known: status, doctor, invite, user, "),
])
def test_a_command_that_is_not_known_comes_with_one_that_is(words, said):
    assert refused(64, *words).startswith(f"atelier: {said}")


def test_each_help_fits_a_terminal_and_no_line_of_it_is_of_blanks():
    whole = lab.atelier("--help").stdout
    table = whole.partition("Commands (")[2].partition("\n\n")[0].splitlines()[1:]
    commands = [line[2:18].split() for line in table]
    assert ["user", "add"] in commands and ["net"] in commands and len(commands) > 30, commands
    for words in ([], *commands):
        lines = lab.atelier(*words, "--help").stdout.splitlines()
        assert lines[0].startswith(" ".join(["Usage: atelier", *words])), lines
        assert [line for line in lines if len(line) > 79 or line != line.rstrip()] == [], words


def test_json_is_refused_where_there_is_none():
    table = lab.atelier("--help").stdout.partition("Commands (")[2].partition("\n\n")[0].splitlines()[1:]
    taken = {}
    for words in (line[2:18].split() for line in table):
        taken["--json" in lab.atelier(*words, "--help").stdout] = words
        before = lab.atelier("--json", *words, "--help", check=False)
        behind = lab.atelier(*words, "--json", "--help", check=False)
        assert before.returncode == behind.returncode == (0 if "--json" in before.stdout else 64), words
    assert taken.keys() == {True, False}
    assert "policy check has no --json" in lab.atelier("--json", "policy", "check", check=False).stderr


def test_groups_are_left_and_joined(user):
    user("joins", "-G", "ctl-one")
    assert "ctl-one" in groups_of("joins")
    lab.atelier("user", "mod", "-aG", "ctl-two", "joins")
    assert {"ctl-one", "ctl-two"} <= groups_of("joins")
    lab.atelier("user", "mod", "-rG", "ctl-one", "joins")
    assert "ctl-one" not in groups_of("joins")
    lab.atelier("user", "mod", "-G", "", "joins")
    assert groups_of("joins") == {"joins", lab.ALL_USERS}
    lab.atelier("group", "mod", "-aU", "joins", "ctl-two")
    assert "joins" in lab.atelier("group", "show", "ctl-two").stdout
    lab.atelier("group", "mod", "-rU", "joins", "ctl-two")
    assert groups_of("joins") == {"joins", lab.ALL_USERS}
    assert "no-such" in refused(64, "user", "mod", "-aG", "no-such", "joins")


def test_a_group_is_renamed_and_removed_and_its_names_are_used_up():
    lab.atelier("group", "add", "ctl-old")
    gid = grp.getgrnam("ctl-old").gr_gid
    lab.atelier("group", "mod", "-n", "ctl-new", "ctl-old")
    assert lab.command("getent", "group", "ctl-new").stdout.startswith(f"ctl-new:*:{gid}:")
    assert lab.command("getent", "group", "ctl-old", check=False).returncode == 2
    refused(1, "group", "add", "ctl-old")
    assert "there is no group 'ctl-old'" in refused(1, "group", "show", "ctl-old")
    lab.atelier("group", "del", "ctl-new")
    assert lab.command("getent", "group", str(gid), check=False).returncode == 2
    refused(1, "group", "add", "ctl-new")


def test_a_group_that_a_caller_may_act_for_stays():
    lab.atelier("group", "add", "ctl-called")
    lab.atelier("caller", "add", "991", "--group", "ctl-called")
    try:
        refused(1, "group", "del", "ctl-called")
    finally:
        lab.atelier("caller", "del", "991")
    lab.atelier("group", "del", "ctl-called")


def test_a_user_who_does_not_exist_is_named():
    for verb in (("user", "mod", "-c", "x"), ("user", "del"), ("user", "show"), ("user", "lock")):
        assert "there is no user 'nosuch'" in refused(1, *verb, "nosuch")


# ---- invitations

@pytest.fixture
def table(tmp_path):
    def make(text):
        path = tmp_path / "people.csv"
        path.write_bytes(text.encode())
        return str(path)

    return make


def test_a_table_of_people_is_invited_at_once(table):
    path = table("\ufeffEmail,Name,Group,Expiry\r\n"
                 "csv.ann@example.org,,ctl-csv;ctl-two,2099-01-01\r\n"
                 "\"csv.ben@example.org\",csvben,,\r\n")
    lines = lab.atelier("invite", "--json", "--csv", path).stdout.splitlines()
    people = [lab.remember(json.loads(line)) for line in lines]
    assert len(people) == 2 and people[1]["user"] == "csvben"
    assert {"ctl-csv", "ctl-two"} <= groups_of(people[0]["user"])
    assert as_json("user", "show", people[0]["user"])["expires_at"] == "2099-01-01T23:59:59Z"
    # Again: the same people, new links.
    again = lab.command("atelier", "invite", "--json", "--csv", "-",
                        input="email\ncsv.ann@example.org\n").stdout
    assert lab.remember(json.loads(again))["uid"] == people[0]["uid"]


def test_a_dry_run_changes_nothing(table):
    path = table("email,name\ndry.run@example.org,dryrun\nalice@example.org,\n")
    before = lab.health()["generation"]
    text = lab.atelier("invite", "--dry-run", "--csv", path).stdout
    assert "dryrun" in text and "created" in text and "there already" in text
    assert lab.health()["generation"] == before
    assert entry("dryrun") is None


@pytest.mark.parametrize("row, sentence", [
    ("no-address,x,,", "people.csv:3: email: 'no-address' is not an e-mail address"),
    ("c@example.org,Bad,,", "people.csv:3: name: 'Bad' is not a user name"),
    ("c@example.org,,,soon", "people.csv:3: expiry: 'soon' is neither"),
    ("c@example.org,", "people.csv:3: it has 2 values, the header has 4"),
    ("ATOM.A@example.org,,,", "people.csv:3: email: 'ATOM.A@example.org' is in line 2 already"),
    # What only the host and the registry know.
    ("c@example.org,root,,", "people.csv:3: name: 'root': "),
    ("c@example.org,alice,,", "people.csv:3: name: 'alice': "),
    ("c@example.org,,no-such-group,", "people.csv:3: group: 'no-such-group': "),
])
def test_a_bad_line_is_named_and_nobody_is_invited(table, row, sentence):
    path = table(f"email,name,group,expiry\natom.a@example.org,atoma,,\n{row}\n")
    text = refused(64 if "alice" not in row and "root" not in row else 1,
                   "invite", "--csv", path)
    assert sentence in text and "nobody was invited" in text
    assert entry("atoma") is None


def test_the_good_line_alone_is_invited(table):
    """The positive control of the test above."""
    path = table("email,name,group,expiry\natom.a@example.org,atoma,,\n")
    lab.remember(json.loads(lab.atelier("invite", "--json", "--csv", path).stdout))
    assert entry("atoma")


# ---- the index

def behind_the_back(sql, *values):
    """A row changed in registry.db while the api, which locks it, is not there."""
    lab.service("stop", "sessiond-api")
    with sqlite3.connect(REGISTRY) as db:
        db.execute(sql, values)
    db.close()
    # As root's, the files that SQLite makes would keep the api out.
    for name in os.listdir(os.path.dirname(REGISTRY)):
        shutil.chown(f"{os.path.dirname(REGISTRY)}/{name}", "atelier", "atelier")
    lab.bring_up()


@contextlib.contextmanager
def older_index():
    """Whatever happens inside, afterwards the index is as it was before."""
    with open(lab.INDEX, "rb") as index:
        before = index.read()
    yield
    with open(f"{lab.INDEX}.older", "wb") as index:
        index.write(before)
    os.chmod(f"{lab.INDEX}.older", 0o644)
    shutil.chown(f"{lab.INDEX}.older", "atelier", "atelier")
    os.rename(f"{lab.INDEX}.older", lab.INDEX)


def test_the_index_agrees():
    text = lab.atelier("index", "verify").stdout
    assert "agree" in text
    report = as_json("index", "verify")
    assert report["differences"] == [] and report["users"] == lab.health()["users"]


def test_an_index_that_is_not_the_registrys_is_found_and_mended(user):
    uid = user("changed", "-G", "ctl-one")
    with older_index():
        lab.atelier("user", "mod", "-rG", "ctl-one", "changed")
        later = user("addlater")
        lab.atelier("group", "add", "ctl-later")
    result = lab.atelier("index", "verify", check=False)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("groups of changed: the registry has ")]
    assert (f"passwd addlater: the registry has addlater:*:{later}:{later}::{lab.HOMES}/addlater:"
            "/usr/lib/atelier/shell, NSS says nobody") in lines
    for question in (f"passwd {later}", "group addlater", f"group {later}", "group ctl-later",
                     "listing of passwd", "listing of group"):
        assert [line for line in lines if line.startswith(f"{question}: ")], question
    assert "'atelier index rebuild'" in result.stderr
    report = json.loads(lab.atelier("index", "verify", "--json", check=False).stdout)
    assert {"question", "registry", "nss"} == set(report["differences"][0])
    lab.atelier("index", "rebuild")
    lab.atelier("index", "verify")
    assert lab.uid_of("addlater") == later and lab.uid_of("changed") == uid


def test_who_is_only_in_the_index_is_found(user):
    with older_index():
        # The other way round: the index has somebody whom the registry has no more.
        lab.atelier("index", "verify")
    uid = user("ghost")
    with older_index():
        lab.atelier("user", "del", "--no-scan", "ghost")
    result = lab.atelier("index", "verify", check=False)
    assert result.returncode == 1
    assert f"passwd {uid}: the registry has nobody, NSS says ghost:*:{uid}:" in result.stdout
    lab.atelier("index", "rebuild")
    lab.atelier("index", "verify")
    assert entry("ghost") is None


def test_a_row_changed_behind_the_back_is_found_at_the_next_start(user):
    uid = user("rowgone", "-G", "ctl-one")
    assert "ctl-one" in groups_of("rowgone")
    behind_the_back("DELETE FROM members WHERE uid = ? AND gid = ?", uid,
                    grp.getgrnam("ctl-one").gr_gid)
    assert "ctl-one" not in groups_of("rowgone")
    lab.atelier("index", "verify")


def test_a_local_account_in_the_way_is_named(user):
    uid = user("inway")
    with open("/etc/passwd", encoding="utf-8") as passwd:
        before = passwd.read()
    # By hand: useradd refuses.
    write("/etc/passwd", before + "inway:x:4321:4321::/:/bin/sh\n")
    try:
        result = lab.atelier("index", "verify", check=False)
    finally:
        write("/etc/passwd", before)
    assert result.returncode == 1
    assert f"host: passwd inway: the registry has inway:*:{uid}:" in result.stdout
    assert "NSS says inway:x:4321:" in result.stdout
    assert "another source of this host is in the way" in result.stderr
    assert "index rebuild" not in result.stderr
    lab.atelier("index", "verify")


# ---- backup

def test_a_backup_is_restored_and_nothing_is_issued_twice(user, tmp_path):
    file = str(tmp_path / "registry.backup")
    user("before")
    lab.atelier("user", "mod", "-c", "as it was", "before")
    lab.atelier("backup", file)
    status = os.stat(file)
    assert (status.st_mode & 0o7777, status.st_uid) == (0o600, 0)
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert "does not overwrite" in refused(1, "backup", file)
    assert sorted(os.listdir(os.path.dirname(REGISTRY)))[0] != "backup.db"

    later = user("later")
    lab.atelier("user", "mod", "-c", "changed", "before")
    text = lab.atelier("restore", "--dry-run", file).stdout
    assert f"gone, as they came after the backup: 1\n    later    {later}\n" in text
    assert entry("later")
    assert "nobody can be asked here" in refused(1, "restore", file)
    text = lab.atelier("restore", "-y", file).stdout
    assert "the state before is kept" in text
    assert entry("later") is None
    assert as_json("user", "show", "before")["comment"] == "as it was"
    lab.atelier("index", "verify")
    # Neither the name nor the UID of who came after the backup.
    refused(1, "user", "add", "--name", "later")
    assert user("newer") > later
    assert not os.path.exists(f"{os.path.dirname(REGISTRY)}/restore.db")


def test_a_backup_can_go_down_a_pipe():
    result = subprocess.run(["atelier", "backup", "-"], capture_output=True, check=True)
    assert result.stdout.startswith(b"SQLite format 3\0")
    again = subprocess.run(["atelier", "restore", "--dry-run", "-"], input=result.stdout,
                           capture_output=True, check=True)
    assert b"gone" not in again.stdout and b"homes are in no backup" in again.stdout


def test_a_restore_gives_no_rights_back(user, tmp_path):
    file = str(tmp_path / "registry.backup")
    user("comesback")
    user("islocked")
    lab.atelier("caller", "add", "4811", "--verb", "users")
    lab.atelier("backup", file)
    lab.atelier("user", "lock", "islocked")
    lab.atelier("user", "del", "--no-scan", "comesback")
    lab.atelier("caller", "del", "4811")
    lab.command("useradd", "-u", "4811", "mallory")
    try:
        text = lab.atelier("restore", "-y", file).stdout
    finally:
        lab.command("userdel", "mallory")
    back = lab.uid_of("comesback")
    assert f"lets them in): 1\n    comesback {back}\n" in text
    assert f"stay locked, as they are now: 1\n    islocked {lab.uid_of('islocked')}\n" in text
    assert (f"    atelier caller add 4811 --group {lab.ALL_USERS} --verb users"
            "    (now: mallory)\n") in text
    for name in ("comesback", "islocked"):
        assert as_json("user", "show", name)["state"] == "locked"
    assert "4811" not in lab.atelier("caller", "list").stdout


@pytest.fixture
def asked(tmp_path):
    """A restore that waits for an answer; its terminal."""
    file = str(tmp_path / "asked.backup")
    lab.atelier("backup", file)
    main, terminal = pty.openpty()
    with subprocess.Popen(["atelier", "restore", file], stdin=terminal, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        line = ""
        while "homes are in no backup" not in line:
            line = process.stdout.readline()
            assert line
        yield process, main, file
        process.kill()
    os.close(main)
    os.close(terminal)


def test_what_was_not_shown_is_not_restored(asked, user):
    process, terminal, file = asked
    refused(75, "restore", "-y", file)  # one at a time
    user("sneaked")
    lab.atelier("user", "lock", "alice")
    lab.atelier("user", "unlock", "alice")
    place = f"{os.path.dirname(REGISTRY)}/restore.db"
    with sqlite3.connect(place) as db:
        db.execute("UPDATE users SET comment = 'changed' WHERE name = 'alice'")
    db.close()
    shutil.chown(place, "atelier", "atelier")
    os.write(terminal, b"y\n")
    said = process.stdout.read()
    assert process.wait() == 64, said
    assert "digest" in said or "another" in said
    assert lab.uid_of("sneaked")


def test_what_was_shown_is_restored(asked):
    """The positive control of the test above."""
    process, terminal, _ = asked
    os.write(terminal, b"y\n")
    assert "restored; the state before is kept" in process.stdout.read()
    assert process.wait() == 0


def test_what_is_no_backup_is_refused(tmp_path):
    file = tmp_path / "no-backup"
    file.write_text("this is no database, " * 100)
    refused(64, "restore", "-y", str(file))
    assert pwd.getpwnam("root").pw_uid == 0
    lab.atelier("index", "verify")
