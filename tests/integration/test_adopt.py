# SPDX-License-Identifier: ISC
# test_adopt.py - local accounts become users: by hand, by the hook of useradd(8), and through crashes.
import json
import os
import shutil
import signal
import subprocess
import time

import lab
import pytest
from admin import as_json, groups_of, owner, passwd_has, refused, write

HOOKS = "/etc/shadow-maint/useradd-post.d"
HOOK = "/usr/share/atelier/useradd-post"
USERDEL = "/usr/sbin/userdel"
SEEN = "/run/lab/userdel.seen"


@pytest.fixture
def userdel():
    """In place of userdel(8): says what a home is when it is called, calls it, then runs a script."""
    shutil.copy2(USERDEL, "/run/lab/userdel")

    def place(home, script=""):
        write("/run/lab/userdel.sh", f"#!/bin/sh\nstat -c '%u %a' {home} >{SEEN}\n"
                                     f"/run/lab/userdel \"$@\" || exit\n{script}\n")
        os.chmod("/run/lab/userdel.sh", 0o755)
        lab.command("mount", "--bind", "/run/lab/userdel.sh", USERDEL)

    yield place
    lab.command("umount", USERDEL, check=False)


def seen():
    with open(SEEN, encoding="utf-8") as line:
        return line.read().strip()


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


def test_an_account_in_the_range_keeps_its_uid(account, userdel):
    # UID_MAX only warns; a group of the same number comes along.
    assert account("inrange", "-u", "10500") == 10500
    userdel(f"{lab.HOMES}/inrange")
    lab.atelier("adopt", "-y", "--no-scan", "inrange")
    assert seen() == "0 700"  # nobody is in it while it changes hands
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
        again = lab.command("atelier", "adopt", "-y", "--no-scan", name, check=False)
        assert not passwd_has(name), (delay, again.stderr)
        uid = lab.uid_of(name)
        assert lab.ID_MIN <= uid <= lab.ID_ALLOC_MAX
        found = {owner(os.path.join(top, entry)) for top, dirs, files in
                 os.walk(f"{lab.HOMES}/{name}") for entry in (".", *dirs, *files)}
        assert found == {uid}, (delay, again.stderr)
        assert os.listdir(f"{lab.STATE}/adopt") == [], delay


def test_a_userdel_that_comes_too_late_has_nothing_left_to_do(account, userdel):
    """As when that of a killed adoption went on: it fails, and what it was for is done."""
    account("latecomer")
    userdel(f"{lab.HOMES}/latecomer", "exit 6")
    lab.atelier("adopt", "-y", "--no-scan", "latecomer")
    assert not passwd_has("latecomer")
    assert owner(f"{lab.HOMES}/latecomer/.bashrc") == lab.uid_of("latecomer")
    assert os.listdir(f"{lab.STATE}/adopt") == []


def test_the_home_is_closed_before_the_uid_is_free(account, userdel):
    """Killed after userdel(8); then the UID is given to somebody else."""
    old = account("robbed", "-g", "users")
    userdel(f"{lab.HOMES}/robbed", "kill -KILL $PPID")
    assert lab.command("atelier", "adopt", "-y", "--no-scan", "robbed", check=False).returncode < 0
    lab.command("umount", USERDEL)
    assert seen() == "0 700"
    assert not passwd_has("robbed") and not os.path.exists("/home/robbed")
    account("heir", "-u", str(old), "-d", "/home/robbed")
    text = refused(1, "adopt", "-y", "--no-scan", "robbed")
    assert f"UID {old} was that of 'robbed', and is 'heir' by now" in text
    assert owner("/home/robbed/.bashrc") == old
    lab.command("usermod", "-u", "4801", "heir")
    lab.atelier("adopt", "-y", "--no-scan", "robbed")
    uid = lab.uid_of("robbed")
    assert owner(f"{lab.HOMES}/robbed") == owner(f"{lab.HOMES}/robbed/.bashrc") == uid
    assert owner("/home/robbed") == owner("/home/robbed/.bashrc") == 4801
    assert os.listdir(f"{lab.STATE}/adopt") == []


def test_a_home_on_another_file_system_is_closed_meanwhile(account, userdel):
    os.makedirs("/mnt/homes", exist_ok=True)
    lab.command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt/homes")
    try:
        old = account("distant", "-d", "/mnt/homes/distant", "-g", "users")
        os.chmod("/mnt/homes/distant", 0o755)
        write("/var/tmp/whose")
        os.chown("/var/tmp/whose", old, old)
        userdel("/mnt/homes/distant", f"useradd -M -u {old} heirtoo")
        result = lab.command("atelier", "adopt", "-y", "distant", check=False)
        assert result.returncode == 1 and "on another file system" in result.stderr
        assert "belongs to another account by now, and so may the files: heirtoo" in result.stdout
        assert "/var/tmp/whose" in result.stdout and "chown -h" not in result.stdout
        assert seen() == "0 700"
        status = os.stat("/mnt/homes/distant")
        assert (status.st_uid, status.st_mode & 0o7777) == (lab.uid_of("distant"), 0o755)
        assert owner("/mnt/homes/distant/.bashrc") == lab.uid_of("distant")
    finally:
        os.unlink("/var/tmp/whose")
        lab.command("umount", USERDEL, check=False)
        lab.command("userdel", "heirtoo", check=False)
        lab.command("umount", "/mnt/homes", check=False)


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
