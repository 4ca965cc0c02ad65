# SPDX-License-Identifier: ISC
# test_disk.py - homes that are images: limits, mounts, and that every loop device comes back.
#
# Rows R1, R2, R4, R14. The quota of a file system needs a kernel that has its format: tests/vm.
import os
import re
import signal
import stat
import time

import firewall
import lab
import pytest
from disk_programs import FILL, MANY
from test_policy import policy, policy_goes, reload  # noqa: F401

MIB = 1 << 20
IMAGES = f"{lab.STATE}/disk"
CONF = "/etc/atelier/conf.d/90-test.conf"
IMAGE = "disk {{ backend = image\n idle = {idle} }}\nuser {{ disk = {disk}\n disk_files = 1000 }}\n"
LOOP_CONTROL = "/dev/loop-control"
MISC, LOOP_CONTROL_MINOR, LOOP_MAJOR, NODES = 10, 237, 7, 256
ENOSPC = 28
LACKS = ("quota: file system of the homes: not turned on; "
         f"image: {LOOP_CONTROL} is missing")


def nodes_make():
    """This machine's loop devices; the lab has a /dev of its own."""
    os.mknod(LOOP_CONTROL, stat.S_IFCHR | 0o600, os.makedev(MISC, LOOP_CONTROL_MINOR))
    for number in range(NODES):
        os.mknod(f"/dev/loop{number}", stat.S_IFBLK | 0o600, os.makedev(LOOP_MAJOR, number))


def has_loops():
    if not os.path.exists(LOOP_CONTROL):
        nodes_make()
    try:
        os.close(os.open(LOOP_CONTROL, os.O_RDWR))
        return True
    except OSError:
        return False


def loops():
    """Loop devices of our images that there are, on this machine: by the kernel's own list."""
    found = []
    for name in os.listdir("/sys/block"):
        try:
            with open(f"/sys/block/{name}/loop/backing_file", encoding="utf-8") as file:
                path = file.read().strip()
        except OSError:
            continue
        if path.startswith(IMAGES):
            found.append((name, path))
    return found


def loops_of(uid):
    return [name for name, path in loops() if path == f"{IMAGES}/{uid}.img"]


def mounted():
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return [line.split()[1] for line in mounts if line.startswith("/dev/loop")]


@pytest.fixture(scope="module", autouse=True)
def loop_devices():
    if not has_loops():
        pytest.skip("this machine has no loop devices that the lab could use")
    yield
    for name in ["loop-control", *(f"loop{n}" for n in range(NODES))]:
        os.unlink(f"/dev/{name}")
    reload()


@pytest.fixture
def images():
    """Homes made now are images of 64 MiB, and are unmounted soon after they were used."""
    policy(IMAGE.format(idle="300ms", disk="64M"))
    assert lab.health()["disk"] == "image"
    yield
    lab.eventually(lambda: not loops(), 20)
    os.unlink(CONF)
    assert "policy read again" in reload()
    assert lab.health()["disk"] == "image"  # auto: this lab has loop devices now


def once(name):
    """No name is ever given out twice, and tests/sabotage runs some of these tests again and again."""
    return f"{name}{os.getpid()}"


def disk_of(run):
    return run.receipt["disk"]


def test_a_home_that_is_an_image_is_full_at_its_size(images, user):
    name = once("imogen")
    uid = user(name)
    run = lab.run(["/bin/true"], user=name)
    assert run.status == "ok", run.end
    assert disk_of(run) == {"mode": "image", "bytes": 64 * MIB, "files": 1008}
    image = f"{IMAGES}/{uid}.img"
    assert os.stat(image).st_mode & 0o7777 == 0o600 and os.stat(image).st_uid == 0
    assert os.stat(IMAGES).st_mode & 0o7777 == 0o700
    before = os.statvfs(lab.STATE)
    run = lab.python(FILL, user=name)
    written, errno = map(int, run.out.split())
    assert run.status == "disk" and errno == ENOSPC and 50 * MIB < written < 64 * MIB
    assert run.end["message"] == "The program failed, and at its end no room was left in ~/work."
    # What the host has lost is no more than the image.
    after = os.statvfs(lab.STATE)
    assert (before.f_bfree - after.f_bfree) * before.f_frsize <= 65 * MIB
    assert os.stat(image).st_blocks * 512 <= 64 * MIB
    # It is what df shows, to the participant and to root.
    size = lab.python("import os\nfs = os.statvfs('.')\nprint(fs.f_blocks * fs.f_frsize)", user=name)
    assert 55 * MIB < int(size.out) <= 64 * MIB
    live = lab.sleeper(user=name)
    assert re.search(r"disk +[0-9]+M of [0-9]+M, [0-9]+ of 1008 files \(image\)",
                     lab.atelier("user", "show", name).stdout)
    live.close()
    # What is freed comes back to the host, at the latest when it is unmounted.
    assert lab.sh("rm big", user=name).status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    assert os.stat(image).st_blocks * 512 < 16 * MIB


def test_files_are_counted_too_and_another_user_does_not_notice(images, user):
    user("ida")
    user("igor")
    assert lab.run(["/bin/true"], user="igor").status == "ok"
    before = os.statvfs(lab.STATE).f_ffree
    run = lab.python(MANY, user="ida")
    made, errno = map(int, run.out.split())
    assert run.status == "disk" and errno == ENOSPC and 950 < made < 1008
    assert before - os.statvfs(lab.STATE).f_ffree < 20
    assert lab.sh("echo x >mine", user="igor").status == "ok"


def test_what_a_user_has_is_there_again_in_runs_and_in_sessions(images, user):
    uid = user("iris")
    assert lab.sh("echo kept >file", user="iris").status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    assert os.listdir(f"{lab.HOMES}/iris") == []  # the place, and nobody's
    assert os.stat(f"{lab.HOMES}/iris").st_uid == 0
    with lab.login("iris", "cat work/file; exec cat") as client:
        assert client.stdout.readline() == "kept\n"
        time.sleep(1)  # longer than idle
        assert len(loops_of(uid)) == 1
        # On the host root sees what there is, as for any other home.
        with open(f"{lab.work_of('iris')}/file", encoding="utf-8") as file:
            assert file.read() == "kept\n"
        flags = os.statvfs(f"{lab.HOMES}/iris").f_flag
        assert flags & os.ST_NOSUID and flags & os.ST_NODEV
    lab.eventually(lambda: not loops_of(uid), 20)


def test_the_participant_never_has_the_image_or_its_device(images, user):
    user("ivan")
    script = f"ls {IMAGES} /dev/loop* /dev/loop-control; cat {IMAGES}/*; mount; true"
    run = lab.sh(script, user="ivan")
    said = run.err.decode() + run.out.decode()
    assert "backing" not in said and said.count("No such file") >= 3, said
    code = "import os\nprint(os.stat('.').st_dev >> 8)\ntry: os.mknod('x', 0o60600, os.stat('.').st_dev)\nexcept OSError as e: print(e.errno)"
    run = lab.python(code, user="ivan")
    assert run.out.decode().split() == [str(LOOP_MAJOR), "1"]


def test_loop_devices_come_back_after_200_openings(images, user):
    uids = [user(f"ivy{n}") for n in range(4)]
    assert not loops()
    most = 0
    for n in range(200):
        assert lab.run(["/bin/true"], user=f"ivy{n % 4}").status == "ok"
        most = max(most, len(loops()))
    assert 0 < most <= 4 and all(len(loops_of(uid)) <= 1 for uid in uids)
    lab.eventually(lambda: not loops(), 20)
    assert not mounted()


def test_a_killed_sessiond_leaves_nothing_that_the_next_does_not_find(images, user):
    uid = user("ilse")
    live = lab.sleeper(user="ilse")
    assert loops_of(uid)
    os.kill(lab.service_pid("sessiond"), signal.SIGKILL)
    live.close()
    lab.service("start", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    lab.eventually(lambda: not loops(), 20)
    assert not mounted()
    assert lab.run(["/bin/true"], user="ilse").status == "ok"


def test_a_session_that_lives_through_a_restart_keeps_its_home(images, user):
    uid = user("inga")
    with lab.Login("inga") as login:
        assert login.says("echo before >f; cat f") == "before\n"
        lab.service("restart", "sessiond")
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        time.sleep(1)
        assert len(loops_of(uid)) == 1
        # The same file system, whichever door: never two devices of one file.
        assert lab.sh("echo run >r", user="inga").status == "ok"
        assert login.says("cat f work/r") == "before\nrun\n"
        assert len(loops_of(uid)) == 1
    lab.eventually(lambda: not loops(), 20)


def test_a_larger_limit_makes_it_grow_and_a_smaller_one_takes_nothing(images, user):
    uid = user("ingo")
    assert lab.sh("head -c 40000000 /dev/zero >keep", user="ingo").status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    policy(IMAGE.format(idle="300ms", disk="96M"))
    run = lab.sh("head -c 70000000 /dev/zero >more", user="ingo")
    assert (run.status, disk_of(run)["bytes"]) == ("disk" if run.end["exit"] else "ok", 96 * MIB)
    live = lab.sleeper(user="ingo")
    assert set(os.listdir(f"{lab.HOMES}/ingo")) & {"work", "lost+found"} == {"work"}
    live.close()
    run = lab.sh("stat -c %s keep; rm more; head -c 30000000 /dev/zero >more", user="ingo")
    assert (run.status, run.out) == ("ok", b"40000000\n")
    policy(IMAGE.format(idle="300ms", disk="32M"))
    lab.eventually(lambda: not loops_of(uid), 20)
    run = lab.sh("stat -c %s keep more", user="ingo")
    assert (run.status, run.out) == ("ok", b"40000000\n30000000\n")
    assert disk_of(run)["bytes"] == 96 * MIB  # and the receipt says so


def test_a_home_that_is_a_directory_stays_one_and_is_not_passed_off_as_limited(user):
    policy("disk { backend = none }\n")
    user("irma")
    run = lab.sh("echo old >file", user="irma")
    assert disk_of(run) == {"mode": "none", "bytes": None, "files": None}
    policy(IMAGE.format(idle="300ms", disk="64M"))
    run = lab.sh("cat file", user="irma")
    assert run.status == "setup_failed" and "is a directory" in run.end["message"], run.end
    policy("disk { backend = image\n required = false }\n")
    run = lab.sh("cat file", user="irma")
    assert (run.status, run.out, disk_of(run)["mode"]) == ("ok", b"old\n", "none")


def test_an_image_is_used_whatever_the_policy_says_by_now(images, user):
    uid = user("irina")
    assert lab.sh("echo kept >file", user="irina").status == "ok"
    policy("disk { backend = none\n idle = 300ms }\n")
    lab.eventually(lambda: not loops_of(uid), 20)
    run = lab.sh("cat file", user="irina")
    assert (run.status, run.out, disk_of(run)["mode"]) == ("ok", b"kept\n", "image")
    lab.eventually(lambda: not loops_of(uid), 20)


@pytest.fixture
def slow_image():
    """To mount a home takes seconds, as where a large file system is looked after first."""
    program = "/usr/lib/atelier/atelier-image"
    os.rename(program, f"{program}.real")
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$1" != up ] || sleep 3\nexec {program}.real "$@"\n')
    os.chmod(program, 0o755)
    yield
    os.rename(f"{program}.real", program)


def test_who_waits_for_a_home_starts_by_rules_that_hold_then(images, slow_image, user):
    """Not by what the canary found before: its word is good for a second."""
    user("isa")
    user("isak")
    assert lab.run(["/bin/true"], user="isa").status == "ok"
    run = lab.start(["/bin/true"], user="isak")
    run.until("accepted")
    with firewall.rules_void("iptables"):
        run.finish()
    assert (run.status, run.end["step"]) == ("setup_failed", "canary"), run.end
    assert lab.run(["/bin/true"], user="isak").status == "ok"


def test_a_broken_image_is_nobodys_run(images, user):
    uid = user("ilja")
    assert lab.run(["/bin/true"], user="ilja").status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    with open(f"{IMAGES}/{uid}.img", "r+b") as image:
        image.seek(1024)
        image.write(bytes(1024))
    run = lab.run(["/bin/true"], user="ilja")
    assert run.status == "setup_failed" and "disk" in str(run.end), run.end
    assert not loops_of(uid)


def test_nothing_starts_where_the_limits_are_required_and_nothing_can(user):
    name = once("ilka")
    user(name)
    os.rename(LOOP_CONTROL, f"{LOOP_CONTROL}.away")
    try:
        policy("user { disk = 64M }\n")
        health = lab.health()
        assert (health["disk"], health["disk_required"]) == ("none", True)
        assert health["disk_what"] == LACKS
        assert LACKS in lab.atelier("policy", "check").stderr
        run = lab.run(["/bin/true"], user=name)
        assert run.status == "setup_failed" and "requires" in run.end["message"], run.end
        policy("user { disk = 64M }\ndisk { required = false }\n")
        run = lab.run(["/bin/true"], user=name)
        assert (run.status, disk_of(run)["mode"]) == ("ok", "none")
        assert re.search(rf"^disk limits +none: {LACKS}$", lab.atelier("status").stdout, re.M)
    finally:
        os.rename(f"{LOOP_CONTROL}.away", LOOP_CONTROL)
    policy("user { disk = 64M }\n")
    assert lab.health()["disk"] == "image" and not lab.atelier("policy", "check").stderr


@pytest.mark.parametrize("name, option, kept", [("ilona", "-r", False), ("ilva", "--archive", True)])
def test_a_user_who_is_removed_takes_the_image_along(images, user, name, option, kept):
    uid = user(name)
    assert lab.sh("echo kept >file", user=name).status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)  # it is not even mounted
    done = lab.atelier("user", "del", option, "--no-scan", name)
    assert not os.path.exists(f"{IMAGES}/{uid}.img") and not os.path.exists(f"{lab.HOMES}/{name}")
    assert not loops_of(uid)
    if kept:
        archive = re.search(r"\S+\.tar\S*", done.stdout + done.stderr).group()
        assert "work/file" in lab.command("tar", "-tf", archive).stdout


@pytest.mark.parametrize("name, option, kept", [("ilko", "-r", False), ("ilmar", "--archive", True)])
def test_an_image_that_was_kept_is_found_when_its_user_is_gone(images, user, name, option, kept):
    uid = user(name)
    assert lab.sh("echo kept >file", user=name).status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    lab.atelier("user", "del", "--no-scan", name)
    assert os.path.exists(f"{IMAGES}/{uid}.img")
    done = lab.atelier("user", "del", option, "--no-scan", name)
    assert str(uid) in done.stdout
    assert not os.path.exists(f"{IMAGES}/{uid}.img") and not os.path.exists(f"{lab.HOMES}/{name}")
    assert not loops_of(uid)
    if kept:
        archive = re.search(r"\S+\.tar\S*", done.stdout + done.stderr).group()
        assert "work/file" in lab.command("tar", "-tf", archive).stdout
    # Then there is nothing more to be found.
    again = lab.atelier("user", "del", option, "--no-scan", name, check=False)
    assert again.returncode != 0 and "no user" in again.stderr, again


@pytest.mark.parametrize("name, option", [("ilmo", "-r"), ("ilsa", "--archive")])
def test_a_removal_that_was_interrupted_after_the_image_is_finished(images, user, name, option):
    uid = user(name)
    assert lab.run(["/bin/true"], user=name).status == "ok"
    lab.eventually(lambda: not loops_of(uid), 20)
    lab.atelier("user", "del", "--no-scan", name)
    os.unlink(f"{IMAGES}/{uid}.img")
    lab.atelier("user", "del", option, "--no-scan", name)
    assert not os.path.exists(f"{lab.HOMES}/{name}")


def test_of_a_directory_of_roots_nothing_is_removed(images):
    os.mkdir(f"{lab.HOMES}/ilse-root", 0o700)
    done = lab.atelier("user", "del", "-r", "--no-scan", "ilse-root", check=False)
    assert done.returncode != 0 and os.path.isdir(f"{lab.HOMES}/ilse-root")
    os.rmdir(f"{lab.HOMES}/ilse-root")
