# SPDX-License-Identifier: ISC
# test_home.py - homes on the host, and what happens when they are not what they should be.
import os
import shutil

import lab
import pytest


@pytest.fixture
def home(alice_home):
    """alice's home; its work is put back afterwards."""
    yield alice_home
    kept = f"{alice_home}/work.kept"
    if os.path.lexists(kept):
        work = f"{alice_home}/work"
        if os.path.islink(work) or os.path.isfile(work):
            os.unlink(work)
        elif os.path.isdir(work):
            os.rmdir(work)
        os.rename(kept, work)
    assert lab.run(["/bin/true"]).status == "ok"


def assert_refused(marker=None):
    result = lab.sh("ls -la ~/work/ /home/atelier/; cat passwd")
    assert (result.status, result.end["step"]) == ("setup_failed", "home")
    assert result.end["message"]
    assert result.out == b""
    assert not result.find("start")


def test_the_first_run_makes_the_home():
    name = lab.user_add(email="newhome@example.org").body["name"]
    path = f"{lab.HOMES}/{name}"
    shutil.rmtree(path, ignore_errors=True)
    with open("/etc/skel/.atelier-test", "w", encoding="utf-8") as skel:
        skel.write("from skel\n")
    try:
        assert lab.run(["/bin/true"], user=name).status == "ok"
    finally:
        os.unlink("/etc/skel/.atelier-test")
    uid = lab.uid_of(name)
    for entry in (path, f"{path}/work"):
        st = os.lstat(entry)
        assert (st.st_uid, st.st_gid, st.st_mode) == (uid, uid, 0o040700)
    assert os.stat(f"{path}/.atelier-test").st_uid == uid
    assert [entry for entry in os.listdir(lab.HOMES) if entry.startswith(".")] == []


def test_homes_are_closed_to_the_host(alice, bob, alice_home):
    st = os.stat(lab.HOMES)
    assert (st.st_uid, st.st_mode & 0o777) == (0, 0o700)
    for uid in (alice, bob, lab.CALLER):
        argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "ls", alice_home]
        assert lab.command(*argv, check=False).returncode != 0


@pytest.mark.parametrize("target", ["/etc", "../carol/work", "/home/atelier/carol/work", ".",
                                    "work.kept", "/proc/self/root"])
def test_a_link_in_place_of_work_is_refused(home, target):
    assert lab.run(["/bin/true"], user="carol").status == "ok"
    os.rename(f"{home}/work", f"{home}/work.kept")
    os.symlink(target, f"{home}/work")
    assert_refused()


def test_a_file_in_place_of_work_is_refused(home, alice):
    os.rename(f"{home}/work", f"{home}/work.kept")
    with open(f"{home}/work", "w", encoding="utf-8"):
        os.chown(f"{home}/work", alice, alice)
    assert_refused()


@pytest.mark.parametrize("owner", [0, "carol", "bob"])
def test_work_of_another_owner_is_refused(home, owner, bob):
    uid = owner if owner == 0 else lab.uid_of(owner)
    os.rename(f"{home}/work", f"{home}/work.kept")
    os.mkdir(f"{home}/work")
    os.chown(f"{home}/work", uid, uid)
    assert_refused()


def test_no_work_is_refused(home):
    os.rename(f"{home}/work", f"{home}/work.kept")
    assert_refused()


def test_a_mount_in_place_of_work_is_refused(home, alice):
    """Something foreign mounted there is not the user's directory, whoever owns it."""
    os.rename(f"{home}/work", f"{home}/work.kept")
    os.mkdir(f"{home}/work")
    os.chown(f"{home}/work", alice, alice)
    lab.command("mount", "-t", "tmpfs", "-o", f"size=64k,uid={alice},gid={alice},mode=0700",
                "tmpfs", f"{home}/work")
    try:
        assert_refused()
    finally:
        lab.command("umount", f"{home}/work")


@pytest.mark.parametrize("owner", [0, "carol", "bob"])
def test_a_home_of_another_owner_is_refused(home, alice, owner, bob):
    uid = owner if owner == 0 else lab.uid_of(owner)
    os.chown(home, uid, uid)
    try:
        assert_refused()
    finally:
        os.chown(home, alice, alice)


def test_a_link_in_place_of_the_home_is_refused(home):
    os.rename(home, f"{home}.kept")
    os.symlink("carol", home)
    try:
        assert_refused()
    finally:
        os.unlink(home)
        os.rename(f"{home}.kept", home)


def test_a_run_cannot_replace_its_work(home):
    script = "mv ~/work ~/other || rmdir ~/work || ln -sfn /etc ~/work; test -L ~/work && echo link"
    result = lab.sh(script)
    assert b"link" not in result.out.split()
    assert not os.path.islink(f"{home}/work")
    assert lab.sh("echo fine").out == b"fine\n"


def test_a_link_inside_work_stays_a_link(home):
    """Root never follows it: the run may link to what it likes, it is its own tree that it sees."""
    path = f"{home}/work/link"
    assert lab.sh("ln -sfn /etc/shadow link; cat link").end["exit"] != 0
    assert os.path.islink(path)
    assert lab.run(["/bin/true"]).status == "ok"
    os.unlink(path)


def test_a_half_made_home_is_swept_at_start():
    path = f"{lab.HOMES}/.new-ghost"
    os.mkdir(path)
    with open(f"{path}/.profile", "w", encoding="utf-8"):
        pass
    lab.service("restart", "sessiond")
    lab.bring_up()
    assert not os.path.exists(path)


def test_mounts_of_the_host_do_not_follow_into_a_run(home):
    """Where the homes are on a shared mount, as systemd makes them, work is no peer of it."""
    lab.command("mount", "--bind", lab.HOMES, lab.HOMES)
    try:
        lab.command("mount", "--make-shared", lab.HOMES)
        lab.service("restart", "sessiond")
        lab.bring_up()
        with open("/proc/self/mountinfo", encoding="utf-8") as lines:  # positive control
            assert any(lab.HOMES in line and " shared:" in line for line in lines)
        seen = lab.sh("cat /proc/self/mountinfo").out.decode()
        assert f"{home}/work" in seen
        assert "shared:" not in seen and "master:" not in seen
    finally:
        lab.service("stop", "sessiond")
        lab.command("umount", "-l", lab.HOMES)
        lab.bring_up()
