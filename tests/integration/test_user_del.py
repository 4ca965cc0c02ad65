# SPDX-License-Identifier: ISC
# test_user_del.py - users are removed: what becomes of the home, and what is left of them is named.
import os
import signal
import subprocess
import tarfile

import lab
from admin import as_json, entry, refused, write

ARCHIVES = f"{lab.STATE}/archive"


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
    # What was done is said before the long search.
    assert text.index("removed, open links") < text.index("looking for files elsewhere")
    for path in ("/var/tmp/left\\x1bhere", "/dev/shm/left", "/var/tmp/left-link"):
        assert f"        {path}\n" in text
    assert "inside" not in text and "not-his" not in text and "\x1b" not in text
