# SPDX-License-Identifier: ISC
# test_admin_ctl.py - users, groups, invitations, adoption, the index and backups by the command.
import contextlib
import grp
import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tarfile
import time

import lab
import pytest

ARCHIVES = f"{lab.STATE}/archive"
REGISTRY = f"{lab.STATE}/registry/registry.db"
HOOKS = "/etc/shadow-maint/useradd-post.d"
HOOK = "/usr/share/atelier/useradd-post"


def refused(code, *args, stdin=""):
    """The sentence of a command that ends with this exit code."""
    result = lab.command("atelier", *args, check=False, input=stdin)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    return result.stderr


def as_json(*args):
    return json.loads(lab.atelier(*args, "--json").stdout)


def entry(name):
    """The line of NSS, asked in a fresh process, or None."""
    result = lab.command("getent", "passwd", name, check=False)
    return result.stdout.strip() or None


def groups_of(name):
    return set(lab.command("id", "-Gn", name).stdout.split())


def passwd_has(name):
    with open("/etc/passwd", encoding="utf-8") as lines:
        return any(line.startswith(f"{name}:") for line in lines)


def owner(path):
    return os.lstat(path).st_uid


def write(path, text="text"):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


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
        if passwd_has(name):
            lab.command("userdel", "-r", name, check=False)
        lab.command("atelier", "user", "del", "-r", "--no-scan", name, check=False)
        shutil.rmtree(f"/home/{name}", ignore_errors=True)


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


# ---- removal

def test_a_removed_user_keeps_the_home_and_is_never_made_again(user):
    uid = user("kept", home=True)
    write(f"{lab.HOMES}/kept/note")
    report = as_json("user", "del", "--no-scan", "kept")
    assert (report["uid"], report["home"], report["archive"]) == (uid, f"{lab.HOMES}/kept", None)
    assert entry("kept") is None and entry(str(uid)) is None
    assert os.path.exists(f"{lab.HOMES}/kept/note")
    refused(1, "user", "add", "--name", "kept")
    # The home that was left can still be taken away.
    lab.atelier("user", "del", "-r", "--no-scan", "kept")
    assert not os.path.exists(f"{lab.HOMES}/kept")
    assert "there is no user 'kept'" in refused(1, "user", "del", "-r", "--no-scan", "kept")


def test_a_removed_users_run_ends(user):
    uid = user("running", home=True)
    live = lab.sleeper(user="running")
    lab.atelier("user", "del", "--no-scan", "running")
    assert live.finish().status != "ok"
    assert lab.procs_of_uid(uid) == []


def test_the_home_is_archived_with_numbers_as_owners(user):
    uid = user("packed", home=True)
    write(f"{lab.HOMES}/packed/a file", "inside")
    os.symlink("/etc/shadow", f"{lab.HOMES}/packed/link")
    report = as_json("user", "del", "--archive", "--no-scan", "packed")
    assert report["home"] is None and report["archive"].startswith(f"{ARCHIVES}/packed-{uid}-")
    assert not os.path.exists(f"{lab.HOMES}/packed")
    assert os.stat(report["archive"]).st_mode & 0o7777 == 0o600
    assert os.stat(ARCHIVES).st_mode & 0o7777 == 0o700
    with tarfile.open(report["archive"]) as tar:
        assert tar.extractfile("packed/a file").read() == b"inside"
        assert tar.getmember("packed/link").issym()
        top = tar.getmember("packed")
        assert (top.uid, top.uname) == (uid, "")


def test_an_archive_that_cannot_be_written_keeps_the_home(user, tmp_path):
    user("packless", home=True)
    target = tmp_path / "there"
    target.write_text("mine")
    text = refused(1, "user", "del", f"--archive={target}", "--no-scan", "packless")
    assert "File exists" in text and "the home stays" in text
    assert target.read_text() == "mine"
    assert os.path.isdir(f"{lab.HOMES}/packless")
    lab.atelier("user", "del", f"--archive={tmp_path}/new.tar.gz", "--no-scan", "packless")
    assert (tmp_path / "new.tar.gz").exists()
    assert not os.path.exists(f"{lab.HOMES}/packless")


def test_what_is_left_of_a_removed_user_is_named(user):
    uid = user("leaver", home=True)
    write(f"{lab.HOMES}/leaver/inside")
    for path in ("/var/tmp/left\x1bhere", "/dev/shm/left", "/tmp/not-his"):
        write(path)
    for path in ("/var/tmp/left\x1bhere", "/dev/shm/left"):
        os.chown(path, uid, uid)
    os.symlink("/etc", "/var/tmp/left-link")
    os.lchown("/var/tmp/left-link", uid, uid)
    lab.command("groupadd", "ctl-local")
    lab.command("usermod", "-aG", "ctl-local", "leaver")
    stray = subprocess.Popen(["setpriv", "--reuid", str(uid), "--clear-groups", "sleep", "60"])
    lab.eventually(lambda: lab.procs_of_uid(uid))
    try:
        text = lab.atelier("user", "del", "leaver").stdout
        assert f"{stray.pid} (uid {uid}, sleep)" in text and f"pkill -KILL -U {uid}" in text
    finally:
        stray.send_signal(signal.SIGKILL)
        stray.wait()
        lab.command("groupdel", "ctl-local")
        for path in ("/var/tmp/left\x1bhere", "/dev/shm/left", "/var/tmp/left-link",
                     "/tmp/not-his"):
            os.unlink(path)
    assert "gpasswd -d leaver ctl-local" in text
    assert "3 files elsewhere:\n" in text
    for path in ("/var/tmp/left\\x1bhere", "/dev/shm/left", "/var/tmp/left-link"):
        assert f"        {path}\n" in text
    assert "inside" not in text and "not-his" not in text and "\x1b" not in text


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


# ---- adoption

def test_an_account_gets_a_new_uid_and_its_home_with_it(account):
    old = account("adoptee", "-c", "Ada L,,,")
    home = "/home/adoptee"
    write(f"{home}/own")
    os.chown(f"{home}/own", old, old)
    os.symlink("/etc/passwd", f"{home}/link")
    os.lchown(f"{home}/link", old, old)
    os.link("/etc/hostname", f"{home}/stolen")
    write("/var/tmp/adopted-elsewhere")
    os.chown("/var/tmp/adopted-elsewhere", old, old)
    lab.command("usermod", "-aG", "users", "adoptee")
    try:
        text = lab.atelier("adopt", "-y", "adoptee").stdout
    finally:
        os.unlink("/var/tmp/adopted-elsewhere")
    uid = lab.uid_of("adoptee")
    assert not passwd_has("adoptee") and lab.ID_MIN <= uid <= lab.ID_ALLOC_MAX
    with open("/etc/group", encoding="utf-8") as groups:
        assert "adoptee" not in groups.read()
    assert not os.path.exists(home)
    home = f"{lab.HOMES}/adoptee"
    assert [owner(f"{home}/{name}") for name in ("", "own", "link", "work", ".bashrc")] == [uid] * 5
    assert owner(f"{home}/stolen") == owner("/etc/hostname") == owner("/etc/passwd") == 0
    assert f"{home}/stolen (belongs to UID 0, with other links)" in text
    assert "/var/tmp/adopted-elsewhere" in text and f"chown -h {uid}:{uid}" in text
    assert "users" in text
    assert lab.run(["/bin/sh", "-c", "echo x >new"], user="adoptee").status == "ok"
    assert as_json("user", "show", "adoptee")["comment"] == "Ada L"
    assert os.listdir(f"{lab.STATE}/adopt") == []


def test_an_account_in_the_range_keeps_its_uid(account):
    # UID_MAX only warns; a group of the same number comes along.
    assert account("inrange", "-u", "10500") == 10500
    lab.atelier("adopt", "-y", "--no-scan", "inrange")
    assert not passwd_has("inrange")
    assert lab.uid_of("inrange") == 10500
    assert owner(f"{lab.HOMES}/inrange/.bashrc") == 10500
    assert lab.run(["/usr/bin/id", "-u"], user="inrange").out == b"10500\n"


def test_an_account_in_the_range_can_get_a_new_uid(account):
    account("moves", "-u", "10501")
    lab.atelier("adopt", "-y", "--no-scan", "--new-uid", "moves")
    assert lab.uid_of("moves") not in (10501, None)
    assert owner(f"{lab.HOMES}/moves/.bashrc") == lab.uid_of("moves")


def test_a_dry_run_of_an_adoption_changes_nothing(account):
    account("dryone")
    text = lab.atelier("adopt", "--dry-run", "dryone").stdout
    assert "gets a new UID" in text
    assert passwd_has("dryone") and os.path.isdir("/home/dryone")
    assert "there is no user" in refused(1, "user", "show", "dryone")


def test_a_home_can_stay(account):
    account("stays")
    lab.atelier("adopt", "-y", "--no-scan", "--keep-home", "stays")
    assert owner("/home/stays/.bashrc") == lab.uid_of("stays")
    assert not os.path.exists(f"{lab.HOMES}/stays")


def test_who_cannot_be_adopted_is_refused(account, user):
    assert "root" in refused(1, "adopt", "-y", "root")
    assert "account of the system" in refused(1, "adopt", "-y", "daemon")
    assert "there is no account 'nosuch'" in refused(1, "adopt", "-y", "nosuch")
    user("already")
    assert "'already' is a user already" in refused(1, "adopt", "-y", "already")
    refused(64, "adopt", "-y", "Not-A-Name")
    uid = account("busyone")
    stray = subprocess.Popen(["setpriv", "--reuid", str(uid), "--clear-groups", "sleep", "60"])
    lab.eventually(lambda: lab.procs_of_uid(uid))
    try:
        assert f"{stray.pid} (uid {uid}, sleep)" in refused(1, "adopt", "-y", "busyone")
    finally:
        stray.send_signal(signal.SIGKILL)
        stray.wait()
    assert passwd_has("busyone")
    assert "nobody can be asked here" in refused(1, "adopt", "busyone")
    assert passwd_has("busyone")
    lab.atelier("adopt", "-y", "--no-scan", "busyone")
    assert not passwd_has("busyone")


def test_a_reserved_name_is_not_adopted():
    # A person's account that is called like a package's.
    lab.command("useradd", "-m", "-u", "4999", "docker")
    try:
        assert "stays a local account" in refused(1, "adopt", "-y", "docker")
        assert passwd_has("docker") and os.path.isdir("/home/docker")
        assert os.listdir(f"{lab.STATE}/adopt") == []
    finally:
        lab.command("userdel", "-r", "docker", check=False)


def test_an_adoption_that_was_interrupted_goes_on(account):
    old = account("crashed")
    # As after a kill between the api's answer and userdel(8): the user is there, the record too.
    lab.api("POST", "/v1/users", {"name": "crashed", "adopt": True})
    record = {"old_uid": old, "old_gid": old, "uid": 0, "created_s": 1, "home": "/home/crashed"}
    write(f"{lab.STATE}/adopt/crashed.json", json.dumps(record))
    lab.atelier("adopt", "-y", "--no-scan", "crashed")
    assert not passwd_has("crashed")
    uid = lab.uid_of("crashed")
    assert owner(f"{lab.HOMES}/crashed/.bashrc") == uid
    # And once more from the last step: half of the files have the old owner still.
    os.lchown(f"{lab.HOMES}/crashed/.bashrc", old, old)
    record["uid"] = uid
    write(f"{lab.STATE}/adopt/crashed.json", json.dumps(record))
    lab.atelier("adopt", "-y", "--no-scan", "crashed")
    assert owner(f"{lab.HOMES}/crashed/.bashrc") == uid
    assert os.listdir(f"{lab.STATE}/adopt") == []


def test_a_home_that_is_not_the_accounts_is_not_touched():
    os.makedirs("/srv/ctl-app", mode=0o755, exist_ok=True)
    write("/srv/ctl-app/file")
    lab.command("useradd", "-d", "/srv/ctl-app", "appuser")
    try:
        assert "belongs to UID 0" in refused(1, "adopt", "-y", "--no-scan", "appuser")
        assert not passwd_has("appuser") and lab.uid_of("appuser") >= lab.ID_MIN
        assert owner("/srv/ctl-app") == owner("/srv/ctl-app/file") == 0
        assert os.listdir(f"{lab.STATE}/adopt") == []
    finally:
        shutil.rmtree("/srv/ctl-app")
        lab.atelier("user", "del", "--no-scan", "appuser", check=False)


def test_an_adoption_that_is_killed_anywhere_is_finished_by_the_next(account):
    for number, delay in enumerate((0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12)):
        name = f"killed{number}"
        account(name)
        first = subprocess.Popen(["atelier", "adopt", "-y", "--no-scan", name],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        first.send_signal(signal.SIGKILL)
        first.wait()
        # userdel(8), if it was under way, is not killed with it.
        lab.eventually(lambda: not [p for p in lab.processes() if p.comm == "userdel"])
        lab.command("atelier", "adopt", "-y", "--no-scan", name, check=False)
        assert not passwd_has(name), delay
        uid = lab.uid_of(name)
        assert lab.ID_MIN <= uid <= lab.ID_ALLOC_MAX
        found = {owner(os.path.join(top, entry)) for top, dirs, files in
                 os.walk(f"{lab.HOMES}/{name}") for entry in (".", *dirs, *files)}
        assert found == {uid}, delay
        assert os.listdir(f"{lab.STATE}/adopt") == [], delay


@pytest.fixture
def hook():
    """The hook of useradd(8), placed as the manual says."""
    os.makedirs(HOOKS, exist_ok=True)
    shutil.copy(HOOK, HOOKS)
    yield
    os.unlink(f"{HOOKS}/useradd-post")


def test_useradd_with_the_group_makes_a_user(hook, account):
    lab.command("useradd", "-m", "-g", lab.ALL_USERS, "hooked")
    try:
        assert not passwd_has("hooked")
        uid = lab.uid_of("hooked")
        assert lab.ID_MIN <= uid <= lab.ID_ALLOC_MAX
        assert owner(f"{lab.HOMES}/hooked/.bashrc") == uid
        assert os.lstat(f"{lab.HOMES}/hooked/.bashrc").st_gid == uid
        assert groups_of("hooked") == {"hooked", lab.ALL_USERS}
    finally:
        lab.command("atelier", "user", "del", "-r", "--no-scan", "hooked", check=False)


def test_useradd_without_the_group_makes_an_account(hook, account):
    """The positive control: other accounts are not touched by the hook."""
    account("unhooked")
    assert passwd_has("unhooked")


def test_useradd_says_that_an_adoption_failed(hook):
    """A name that is reserved: useradd(8) takes it, the registry does not."""
    lab.command("groupdel", "docker", check=False)
    result = lab.command("useradd", "-m", "-g", lab.ALL_USERS, "docker", check=False)
    try:
        assert result.returncode == 1 and "docker stays a local account" in result.stderr
        assert passwd_has("docker") and os.path.isdir("/home/docker")
    finally:
        lab.command("userdel", "-r", "docker", check=False)


def test_useradd_itself_takes_no_group_of_ours_with_the_capital_letter():
    """What the manual says; a useradd that takes it would need another hook."""
    result = lab.command("useradd", "-G", lab.ALL_USERS, "capital", check=False)
    assert result.returncode != 0 and "does not exist" in result.stderr


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
    assert f"later {later}" in text
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


def test_what_is_no_backup_is_refused(tmp_path):
    file = tmp_path / "no-backup"
    file.write_text("this is no database, " * 100)
    refused(64, "restore", "-y", str(file))
    assert pwd.getpwnam("root").pw_uid == 0
    lab.atelier("index", "verify")
