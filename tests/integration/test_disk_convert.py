# SPDX-License-Identifier: ISC
# test_disk_convert.py - atelier user image: a home that is a directory becomes an image, or stays.
#
# Row R1. In the lab of test_disk.py.
import contextlib
import hashlib
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import time

import lab
import pytest
import tracing
from admin import refused
from disk_programs import FILL
from test_disk import (IMAGE, IMAGES, LOOP_CONTROL, MIB, loop_devices, loops,  # noqa: F401
                       loops_of, once)
from test_policy import policy, policy_goes  # noqa: F401

PROGRAM = "/usr/lib/atelier/atelier-image"
TAR = "/usr/bin/tar"
SECRET = "/etc/shadow"
AT, WAIT = "/run/lab/tar-at", "/run/lab/tar-wait"
RENAMEAT = 264  # asm/unistd_64.h: the image gets its name
DIRECTORIES = "disk { backend = none\n idle = 300ms }\n"
IMAGES_ON = IMAGE.format(idle="300ms", disk="32M")
ACL = struct.pack("<I" + 5 * "HHI", 2, 1, 6, 2**32 - 1, 2, 4, 12345, 4, 4, 2**32 - 1, 16, 4,
                  2**32 - 1, 32, 0, 2**32 - 1)  # linux/posix_acl_xattr.h: rw, one more user reads


def home_of(name):
    return f"{lab.HOMES}/{name}"


def old_of(name):
    return f"{lab.HOMES}/.old-{name}"


def fill(name, uid):
    """All kinds of things that a participant can have, made by root for speed."""
    home = home_of(name)
    work = f"{home}/work"
    os.mkdir(f"{work}/dir")
    with open(f"{work}/dir/two \n\u00fc", "wb") as file:
        file.write(os.urandom(300000))
    os.link(f"{work}/dir/two \n\u00fc", f"{work}/other-name")
    with open(f"{work}/sparse", "wb") as file:
        file.seek(200 * MIB)
        file.write(b"end")
    with open(os.fsencode(work) + b"/" + 200 * b"\xff", "wb") as file:
        file.write(b"a name that is no text")
    os.symlink(SECRET, f"{work}/secret")
    os.symlink("/etc", f"{work}/etc")
    os.mkfifo(f"{work}/fifo", 0o640)
    with open(f"{work}/acl", "wb") as file:
        file.write(b"x")
    os.setxattr(f"{work}/acl", "system.posix_acl_access", ACL)
    with contextlib.suppress(OSError):  # a tmpfs of kernels before 6.6 has none
        os.setxattr(f"{work}/acl", "user.note", b"mine")
    for path, directories, files in os.walk(home):
        for each in directories + files:
            os.lchown(f"{path}/{each}", uid, uid)
            os.utime(f"{path}/{each}", ns=(1, 1_600_000_000_123_456_789), follow_symlinks=False)
    os.chmod(f"{work}/dir", 0o2751)
    os.chmod(f"{work}/other-name", 0o4750)
    with open(f"{work}/roots", "wb") as file:
        file.write(b"root's")
    os.chmod(home, 0o711)


def content_of(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(st.st_mode):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() if st.st_size < MIB else file.read(10)


def attributes_of(path):
    found = {}
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith(("system.posix_acl", "user.")):
            found[name] = os.getxattr(path, name, follow_symlinks=False)
    return found


def snapshot(home):
    """What there is, by path: all that has to be the same."""
    found, inodes = {}, {}
    paths = [home] + [f"{top}/{each}" for top, directories, files in os.walk(home)
                      for each in directories + files]
    for path in paths:
        st = os.lstat(path)
        name = os.path.relpath(path, home)
        inodes.setdefault(st.st_ino, []).append(name)
        is_dir = stat.S_ISDIR(st.st_mode)
        found[name] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, not is_dir and st.st_nlink,
                       not is_dir and st.st_size, content_of(path, st), attributes_of(path))
    return found, sorted(sorted(names) for names in inodes.values() if len(names) > 1)


@contextlib.contextmanager
def opened(name, uid):
    """The home as root sees it, mounted if it is an image."""
    lab.command(PROGRAM, "open", str(uid), name, check=False)
    try:
        yield home_of(name)
    finally:
        lab.command(PROGRAM, "down", str(uid), name)


@pytest.fixture
def directory(user):
    """Make users whose homes are directories, on a host that makes images by now."""
    def make(*names):
        policy(DIRECTORIES)
        uids = [user(name, home=True) for name in names]
        assert not any(os.path.exists(f"{IMAGES}/{uid}.img") for uid in uids)
        return uids

    yield make
    lab.eventually(lambda: not loops(), 20)


def state_of(name):
    return lab.api("GET", f"/v1/users/{name}").body["state"]


def is_directory(name, uid):
    """It is what it was, and nothing is left of an attempt."""
    assert os.stat(home_of(name)).st_uid == uid and not os.path.exists(old_of(name))
    assert [each for each in os.listdir(IMAGES) if str(uid) in each] in ([], [f"{uid}.lock"])
    assert not loops_of(uid)
    return True


def test_a_directory_becomes_an_image_with_all_that_was_in_it(directory, user):
    name = once("karla")
    (uid,) = directory(name)
    fill(name, uid)
    before = snapshot(home_of(name))
    with open(SECRET, "rb") as file:
        secret = file.read()
    policy(IMAGES_ON)
    assert "is a directory" in lab.sh("true", user=name).end["message"]
    # What would be done.
    (said,) = map(json.loads, lab.atelier("user", "image", "--dry-run", "--json", name).stdout.splitlines())
    assert (said["home"], said["converted"], said["files"]) == ("directory", False, len(before[0]) - 1)
    assert (said["limit_bytes"], said["limit_files"]) == (32 * MIB, 1000)
    assert 300000 < said["bytes"] < MIB and is_directory(name, uid)
    # It is.
    assert "converted" in lab.atelier("user", "image", name).stdout
    assert not os.path.exists(old_of(name)) and sorted(os.listdir(IMAGES)) == sorted(
        {f"{uid}.img", f"{uid}.lock"} | {each for each in os.listdir(IMAGES) if str(uid) not in each})
    with opened(name, uid) as home:
        assert loops_of(uid)
        assert snapshot(home) == before
        assert os.stat(f"{home}/work/sparse").st_blocks * 512 < MIB
    with open(SECRET, "rb") as file:
        assert file.read() == secret
    assert os.stat(f"{IMAGES}/{uid}.img").st_blocks * 512 < 8 * MIB
    # And it limits.
    run = lab.python(FILL, user=name)
    assert run.status == "disk" and run.receipt["disk"] == {"mode": "image", "bytes": 32 * MIB,
                                                            "files": 1008}
    assert 20 * MIB < int(run.out.split()[0]) < 32 * MIB
    with lab.login(name, "cat work/acl; exec cat") as client:
        assert client.stdout.read(1) == "x"
        assert "(image)" in lab.atelier("user", "show", name).stdout
    assert "is an image already" in lab.atelier("user", "image", name).stdout
    archive = lab.command("atelier", "user", "del", "--archive", "--no-scan", name).stdout
    assert ".tar.gz" in archive and not os.path.exists(f"{IMAGES}/{uid}.img")


def test_who_has_something_that_lives_keeps_the_directory(directory):
    name = once("karl")
    (uid,) = directory(name)
    live = lab.sleeper(user=name)
    policy(IMAGES_ON)
    assert "runs: 1, sessions: 0" in refused(75, "user", "image", name)
    live.close()
    lab.eventually(lambda: not lab.procs_of_uid(uid))
    assert is_directory(name, uid)
    policy(DIRECTORIES)
    with lab.login(name):
        policy(IMAGES_ON)
        assert "runs: 0, sessions: 1" in refused(75, "user", "image", name)
    lab.eventually(lambda: not lab.sessions(name))
    with subprocess.Popen(["sleep", "60"], user=uid, group=uid) as process:
        assert f"{process.pid} (uid {uid}, sleep)" in refused(75, "user", "image", name)
        process.kill()
    # Who was locked stays locked, and who was not was never.
    assert is_directory(name, uid) and state_of(name) == "active"
    lab.atelier("user", "lock", name)
    lab.atelier("user", "image", name)
    assert state_of(name) == "locked"
    lab.atelier("user", "unlock", name)
    assert lab.run(["/bin/true"], user=name).receipt["disk"]["mode"] == "image"


@contextlib.contextmanager
def tar_is(*script):
    """tar(1) that does something first. No shell: the directory that it works in has no path."""
    lines = ("#!/usr/bin/python3 -I", "import os, sys, time", *script,
             f"os.execv('{TAR}.real', sys.argv)")
    os.rename(TAR, f"{TAR}.real")
    try:
        with open(TAR, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.chmod(TAR, 0o755)
        yield
    finally:
        os.rename(f"{TAR}.real", TAR)


@contextlib.contextmanager
def tar_waits():
    """tar(1) says in AT that it was started, and waits until what is yielded is called."""
    def go():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(WAIT)

    with open(WAIT, "w", encoding="utf-8"), \
         tar_is(f"open('{AT}', 'w').close()", f"while os.path.exists('{WAIT}'): time.sleep(0.02)"):
        try:
            yield go
        finally:
            go()
            os.unlink(AT)


@contextlib.contextmanager
def spawned(*argv):
    """The command at work; what it has begun goes on if the test fails."""
    process = subprocess.Popen(["atelier", *argv], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    finally:
        process.communicate()


@pytest.mark.parametrize("name, then", [("kira", IMAGES_ON), ("kosta", DIRECTORIES)],
                         ids=["images", "directories"])
def test_what_starts_meanwhile_waits_for_the_image(directory, name, then):
    """Also where the policy has become one that would not ask for an image."""
    name = once(name)
    directory(name)
    lab.sh("echo kept >file", user=name)
    policy(IMAGES_ON + "disk { required = false }\n")
    with tar_waits() as go, spawned("user", "image", name) as image:
        lab.eventually(lambda: os.path.exists(AT))
        policy(then)
        run = lab.start(["/bin/cat", "file"], user=name)
        run.until("accepted")
        assert run.quiet_for(0.5)
        go()
        assert "converted" in image.stdout.read()
    run.finish()
    assert (run.status, run.out, run.receipt["disk"]["mode"]) == ("ok", b"kept\n", "image")


def test_what_does_not_fit_stays_a_directory(directory):
    name = once("konrad")
    (uid,) = directory(name)
    work = lab.work_of(name)
    policy(IMAGES_ON)
    with open(f"{work}/big", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 33 * MIB)
    assert "the policy gives 32M (disk)" in refused(1, "user", "image", name)
    assert "the policy gives 32M (disk)" in refused(1, "user", "image", "--dry-run", name)
    # Less than that, and more than the file system has room for.
    os.truncate(f"{work}/big", 31 * MIB)
    assert "image is too small for what is there" in refused(1, "user", "image", name)
    # No room is needed for more holes than can be compared.
    for n in range(2):
        with open(f"{work}/big", "wb") as file:
            file.truncate((65 << 30) - n * (2 << 30))
        dry = lab.command("atelier", "user", "image", "--dry-run", name, check=False)
        assert ("65G of the files in the home are holes" in dry.stderr, dry.returncode) == (n == 0, 1 - n)
    os.unlink(f"{work}/big")
    for n in range(1000):
        os.mknod(f"{work}/{n}")
    assert "the policy gives 1000 (disk_files)" in refused(1, "user", "image", name)
    for n in range(0, 1000, 5):
        os.unlink(f"{work}/{n}")
    # Something is mounted below.
    os.mkdir(f"{work}/mnt")
    lab.command("mount", "-t", "tmpfs", "none", f"{work}/mnt")
    assert "work/mnt: a file system is mounted there" in refused(1, "user", "image", name)
    lab.command("umount", f"{work}/mnt")
    # The host has no room.
    lab.command("mount", "-t", "tmpfs", "-o", "size=1m", "none", IMAGES)
    os.chmod(IMAGES, 0o700)
    try:
        assert f"{IMAGES} has room for 1020K" in refused(1, "user", "image", name)
    finally:
        lab.command("umount", IMAGES)
    # What tar only warns of: more than a block of ext4 has room for.
    many = b"".join(struct.pack("<HHI", 2, 4, 20000 + n) for n in range(4000))
    os.setxattr(f"{work}/1", "system.posix_acl_access", ACL[:12] + many + ACL[20:])
    assert "for file './work/1': No space left on device" in refused(1, "user", "image", name)
    os.removexattr(f"{work}/1", "system.posix_acl_access")
    # The reason is seen behind a name of any length.
    at = os.open(work, os.O_RDONLY)
    for _ in range(21):
        os.mkdir(200 * "\n", dir_fd=at)
        below = os.open(200 * "\n", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    assert "Cannot mkdir: File name too long" in refused(1, "user", "image", name)
    lab.command("rm", "-r", f"{work}/{200 * chr(10)}")
    # A copy that is not the same is none.
    with tar_is("if sys.argv[1] == '--compare': open('work/1', 'w').write('x')"):
        assert "the copy is not the same: ./work/1: " in refused(1, "user", "image", name)
    assert is_directory(name, uid)
    assert "converted" in lab.atelier("user", "image", name).stdout


def test_where_new_homes_are_no_images_old_ones_stay(directory):
    name = once("koen")
    (uid,) = directory(name)
    assert "new homes are no images here" in refused(1, "user", "image", name)
    os.rename(LOOP_CONTROL, f"{LOOP_CONTROL}.away")
    try:
        policy(IMAGES_ON)
        assert f"{LOOP_CONTROL} is missing" in refused(1, "user", "image", name)
    finally:
        os.rename(f"{LOOP_CONTROL}.away", LOOP_CONTROL)
    assert is_directory(name, uid)


# ---- killed

class Convert:
    """atelier-image, held before the first step that changes anything, and what it was told."""

    def __init__(self, name, uid):
        self.ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([PROGRAM, "convert", str(uid), name, str(32 * MIB), "1000"],
                                        stdin=theirs, stdout=theirs)
        theirs.close()
        assert self.ours.recv(16) == b"held\n"
        self.traced = tracing.Traced(self.process.pid)
        tracing.ptrace(tracing.INTERRUPT, self.process.pid)
        assert self.traced.wait(self.process.pid, 5)
        self.ours.send(b"go\n")

    def steps(self, count, is_moving=False):
        """On to a system call, and no further; of the part that moves, or from here on. How many."""
        if is_moving:
            self.traced.steps(self.process.pid, 1 << 20, call=RENAMEAT)
        done = self.traced.steps(self.process.pid, count)
        tracing.kill(self.process.pid)
        self.traced.let_go()
        self.ours.close()
        self.process.returncode = -signal.SIGKILL  # reaped by the tracer
        return done


def test_whoever_is_killed_leaves_a_directory_or_an_image(directory):
    """At each system call of the part that moves, and here and there before it."""
    name = once("kurt")
    (uid,) = directory(name)
    home, image = home_of(name), f"{IMAGES}/{uid}.img"
    lab.sh("echo kept >file", user=name)
    before = snapshot(home)
    count, outcomes, between = Convert(name, uid).steps(1 << 20), [], {}
    assert os.path.exists(image)
    # How many come before that part is another number each time: they wait for the copy.
    points = [(at, False) for at in range(1, count // 2, count // 12)]

    def back():
        """The directory again."""
        lab.command(PROGRAM, "remove", str(uid), name)
        os.rename(old_of(name), home)

    back()
    points += [(at, True) for at in range(0, Convert(name, uid).steps(1 << 20, True), 2)]
    back()
    for at in points:
        Convert(name, uid).steps(*at)
        between[tuple(map(os.path.exists, (f"{IMAGES}/{uid}.move", image, home, old_of(name))))] = at
        with opened(name, uid):
            outcomes.append(os.path.exists(image))
            assert snapshot(home) == before, at
            assert os.path.exists(old_of(name)) == os.path.exists(image), at
            assert not os.path.exists(f"{IMAGES}/{uid}.move") and not os.path.exists(f"{IMAGES}/.{uid}.new")
        if outcomes[-1]:
            back()
        else:
            assert is_directory(name, uid)
    assert True in outcomes and False in outcomes and outcomes == sorted(outcomes), outcomes
    # Nothing yet, the image has its name, the directory is beside, its place is made, all is done.
    copied, moved = (True, False, True, False), (True, True, False, True)
    assert between.keys() == {copied, (True, True, True, False), moved, (True, True, True, True),
                              (False, True, True, True)}, between
    # What starts next does the same, and has a home.
    policy(IMAGES_ON + "disk { required = false }\n")
    for at, mode in ((between[copied], "none"), (between[moved], "image")):
        Convert(name, uid).steps(*at)
        assert os.path.exists(f"{IMAGES}/{uid}.move")
        run = lab.sh("cat file", user=name)
        assert (run.status, run.out, run.receipt["disk"]["mode"]) == ("ok", b"kept\n", mode)
    # The next call removes what is beside.
    lab.eventually(lambda: not loops_of(uid), 20)
    assert os.path.exists(old_of(name))
    assert "is an image already" in lab.atelier("user", "image", name).stdout
    assert not os.path.exists(old_of(name))
    with opened(name, uid):
        assert snapshot(home) == before


def test_what_was_begun_goes_on_without_the_command_and_another_one_waits(directory):
    name = once("kolja")
    (uid,) = directory(name)
    policy(IMAGES_ON)
    with tar_waits() as go, spawned("user", "image", name) as first:
        lab.eventually(lambda: os.path.exists(AT))
        first.kill()
        with spawned("user", "image", name) as second:
            time.sleep(0.2)
            assert second.poll() is None
            go()
            assert "is an image already" in second.stdout.read()
    assert os.path.exists(f"{IMAGES}/{uid}.img") and not os.path.exists(old_of(name))
    assert lab.run(["/bin/true"], user=name).receipt["disk"]["mode"] == "image"


def test_what_is_put_beside_the_home_meanwhile_is_not_taken_for_the_old_one(directory):
    name = once("klaas")
    (uid,) = directory(name)
    lab.sh("echo kept >file", user=name)
    policy(IMAGES_ON + "disk { required = false }\n")
    with tar_waits() as go, spawned("user", "image", name) as image:
        lab.eventually(lambda: os.path.exists(AT))
        os.mkdir(old_of(name))
        go()
        assert image.wait(20) == 1
    # There are two of the home by now, and neither is used until it is known which is the right one.
    assert os.path.exists(f"{IMAGES}/{uid}.img") and os.stat(home_of(name)).st_uid == uid
    assert lab.sh("cat file", user=name).status == "setup_failed"
    os.rmdir(old_of(name))
    assert "is an image already" in lab.atelier("user", "image", name).stdout
    run = lab.sh("cat file", user=name)
    assert (run.out, run.receipt["disk"]["mode"]) == (b"kept\n", "image")


def test_the_copy_ends_with_the_program_that_makes_it(directory):
    name = once("knud")
    (uid,) = directory(name)

    def tars():
        return [each for each in lab.processes() if each.comm == "tar"]

    with tar_is("while sys.argv[1] == '--create':", "    os.write(1, b'x')", "    time.sleep(0.01)",
                "while sys.stdin.buffer.read(1):", "    pass", "sys.exit(1)"):
        with subprocess.Popen([PROGRAM, "convert", str(uid), name, str(32 * MIB), "1000"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as image:
            image.stdin.write(b"go\n")
            image.stdin.flush()
            lab.eventually(lambda: len(tars()) == 2)
            image.kill()
        lab.eventually(lambda: not tars())
    lab.eventually(lambda: not loops())
    lab.command(PROGRAM, "settle", str(uid), name)
    assert is_directory(name, uid)


@pytest.mark.parametrize("late", [False, True])
def test_a_user_who_is_removed_takes_along_what_an_interrupted_conversion_has_left(directory, late):
    name = once("kuno" if late else "knut")
    (uid,) = directory(name)
    policy(IMAGES_ON)
    Convert(name, uid).steps(1 << 20 if late else 200)
    assert os.path.exists(old_of(name)) == late
    lab.atelier("user", "del", "-r", "--no-scan", name)
    assert not [each for each in os.listdir(IMAGES) if str(uid) in each and not each.endswith(".lock")]
    assert not [each for each in os.listdir(lab.HOMES) if name in each]


def test_all_are_converted_and_who_cannot_be_is_named(directory):
    names = [once("kaja"), once("kata"), once("kim")]
    uids = directory(*names[:2])
    lab.atelier("user", "add", "--name", names[2])
    policy(IMAGES_ON)
    lab.command("mount", "-t", "tmpfs", "none", lab.work_of(names[0]))
    try:
        done = lab.command("atelier", "user", "image", "--all", check=False)
    finally:
        lab.command("umount", lab.work_of(names[0]))
    assert done.returncode == 1 and f"{names[0]}: " in done.stderr, done
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "converted" in said[names[1]] and "no home yet" in said[names[2]]
    assert [os.path.exists(f"{IMAGES}/{uid}.img") for uid in uids] == [False, True]
    lab.command("atelier", "user", "del", "-r", "--no-scan", names[2])
