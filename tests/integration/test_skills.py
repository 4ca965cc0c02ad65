# SPDX-License-Identifier: ISC
# test_skills.py - atelier skill: directories of scripts, kept by their hash, read-only in runs and
# sessions of the profiles that name them.
import contextlib
import hashlib
import json
import os
import shutil
import stat
import struct
import time

import lab
import pytest
from test_policy import FILE, policy, policy_goes, put, reload  # noqa: F401

STORE = f"{lab.STATE}/skills"
SOURCE = "/root/plot"
IN_BOTH = "profile a {{ base = run skills = {{{0}}} uids = {{{1}}} }}\n" \
          "profile b {{ base = login skills = {{{0}}} uids = {{{1}}} }}\n"

pytestmark = pytest.mark.skipif(os.environ.get("ATELIER_LAB") != "1", reason="not in a lab")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


@pytest.fixture(autouse=True)
def source(policy_goes):  # noqa: F811
    """A directory as somebody has it: another owner, other modes."""
    write(f"{SOURCE}/SKILL.md", "first\n", 0o600)
    write(f"{SOURCE}/scripts/say", "#!/bin/sh\necho said by $(id -un)\n", 0o750)
    os.chmod(SOURCE, 0o2775)
    os.chown(f"{SOURCE}/SKILL.md", lab.CALLER, lab.CALLER)
    yield
    shutil.rmtree(SOURCE)
    shutil.rmtree(STORE, ignore_errors=True)


def skill(*args, check=True):
    return lab.command("atelier", "skill", *args, check=check)


def add(*args):
    return skill("add", *args, SOURCE).stdout.strip()


def names():
    return sorted(name for name in os.listdir(STORE) if name != ".lock")


def give(*skills):
    policy(IN_BOTH.format(", ".join(f'"{each}"' for each in skills), lab.uid_of("alice")))


@contextlib.contextmanager
def refused(*words, code=1):
    """What the block returns is a refusal that says this, and the store is what it was."""
    before = names() if os.path.exists(STORE) else None
    said = []
    yield said
    result = said[0]
    assert result.returncode == code, result
    for word in words:
        assert word in result.stderr, result
    assert (names() if os.path.exists(STORE) else None) in (before, []), result


def own_hash(top):
    """As ctl/skill_tree.h says it, by somebody else's hands."""
    digest = hashlib.blake2b(b"atelier skill 1\n", digest_size=32)

    def take(path, below):
        for name in sorted(os.listdir(path), key=os.fsencode):
            full, rel = os.path.join(path, name), os.fsencode(below + name)
            if os.path.isdir(full):
                digest.update(b"d" + rel + b"\0")
                take(full, f"{below}{name}/")
            else:
                kind = b"x" if os.stat(full).st_mode & 0o111 else b"f"
                with open(full, "rb") as file:
                    data = file.read()
                digest.update(kind + rel + b"\0" + struct.pack("<Q", len(data)) + data)

    take(top, "")
    return digest.hexdigest()


def test_the_same_content_is_kept_once_whoever_owns_it():
    first = add()
    assert first == f"plot@{own_hash(SOURCE)}"
    assert names() == ["plot", first]
    os.chmod(f"{SOURCE}/SKILL.md", 0o444)
    os.chown(f"{SOURCE}/SKILL.md", 0, 0)
    os.utime(f"{SOURCE}/SKILL.md", (1, 1))
    assert add() == first
    assert names() == ["plot", first]
    again = skill("add", "--json", "--name", "chart", SOURCE)
    assert json.loads(again.stdout) == {"skill": f"chart@{first[5:]}", "new": True, "files": 2,
                                        "bytes": 39}
    # What counts: the bytes, the names, and whether it is executed.
    others = []
    for change in (lambda: write(f"{SOURCE}/SKILL.md", "second\n"),
                   lambda: os.chmod(f"{SOURCE}/SKILL.md", 0o755),
                   lambda: os.rename(f"{SOURCE}/SKILL.md", f"{SOURCE}/skill.md"),
                   lambda: os.mkdir(f"{SOURCE}/empty")):
        change()
        others.append(add())
    assert len({first, *others}) == 5
    assert os.readlink(f"{STORE}/plot") == others[-1]
    for path in (f"{STORE}/{first}", STORE):
        assert (os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode)) == (0, 0o755)
    modes = [stat.S_IMODE(os.stat(f"{STORE}/{first}/{name}").st_mode)
             for name in ("SKILL.md", "scripts", "scripts/say")]
    assert modes == [0o444, 0o755, 0o555]
    assert os.stat(f"{STORE}/{first}/SKILL.md").st_uid == 0


@pytest.mark.parametrize("make, words", [
    (lambda path: os.symlink("/etc/shadow", path), "a symbolic link"),
    (lambda path: os.symlink("SKILL.md", path), "a symbolic link"),
    (os.mkfifo, "no regular file"),
    (lambda path: os.mknod(path, 0o60666, 0x801), "no regular file"),
    (lambda path: write(path, "x", 0o4755), "set-user-ID"),
    (lambda path: write(path, "x", 0o2755), "set-user-ID"),
    (lambda path: write(f"{path}\n", "x"), "control character"),
    (lambda path: write(f"{path}/{'/'.join('d' * 17)}/f", "x"), "deeper than 16"),
    (lambda path: [write(f"{path}/{n}", "") for n in range(4096)], "more than 4096"),
    (lambda path: (write(path, ""), os.truncate(path, 65 << 20)), "more than 64 MiB"),
], ids=["link out", "link", "fifo", "device", "set-uid", "set-gid", "name", "depth", "count", "size"])
def test_what_is_no_plain_directory_is_no_skill(make, words):
    make(f"{SOURCE}/scripts/x")
    with refused("scripts/", words) as said:
        said.append(skill("add", SOURCE, check=False))


def test_what_is_mounted_below_is_no_part_of_it():
    os.mkdir(f"{SOURCE}/below")
    lab.command("mount", "-t", "tmpfs", "lab-skill", f"{SOURCE}/below")
    try:
        with refused("below: another file system") as said:
            said.append(skill("add", SOURCE, check=False))
    finally:
        lab.command("umount", f"{SOURCE}/below")
    assert add().startswith("plot@")  # positive control


def test_an_empty_directory_and_a_strange_name_are_refused():
    os.mkdir(f"{SOURCE}/scripts/none")
    assert "there is no file" in skill("add", f"{SOURCE}/scripts/none", check=False).stderr
    for name in ("Plot", "../plot", "plot@1", ""):
        assert skill("add", "--name", name, SOURCE, check=False).returncode == 64
    assert skill("add", "/nonexistent", check=False).returncode == 1
    assert lab.command("atelier", "skill", "add", SOURCE, check=False, user=lab.CALLER,
                       group=lab.CALLER).returncode == 77


LOOK = ("cat /skills/plot/SKILL.md; /skills/plot/scripts/say; ls /skills; "
        "echo x >/skills/plot/SKILL.md; echo x >/skills/plot/new; mkdir /skills/new; "
        "grep ' /skills' /proc/self/mountinfo | cut -d ' ' -f 5,6 | sort")


def test_runs_and_sessions_of_the_profile_have_it_read_only_and_others_see_nothing():
    pinned = add()
    give("plot")
    mine, other = lab.sh(LOOK), lab.sh("ls -A /skills", user="carol")
    with lab.Session("alice") as live:
        session, facts = live.ssh(LOOK), live.facts()
    wanted = ["first", "said by alice", "plot", "/skills ro,nosuid,nodev,noexec,noatime",
              "/skills/plot ro,nosuid,nodev"]
    for out, err in ((mine.out.decode(), mine.err.decode()), (session.stdout, session.stderr)):
        lines = out.splitlines()
        assert lines[:4] == wanted[:4] and lines[4].startswith(wanted[4]), out
        assert err.count("Read-only file system") + err.count("Permission denied") == 3, err
    assert (other.status, other.out) == ("ok", b"")
    # What it is, is said: here by name, in receipts and in force by hash.
    assert mine.receipt["skills"] == [pinned] and other.receipt["skills"] == []
    assert facts["receipt"]["skills"] == [pinned]
    explained = lab.atelier("policy", "explain", "alice").stdout.splitlines()
    assert [line.split() for line in explained if "skill" in line] == [
        ["run", "skill", pinned], ["login", "skill", pinned]]
    with open("/run/atelier/policy", encoding="utf-8") as shown:
        assert shown.read().count(f'skills = {{"{pinned}"}}') == 2
    listed = json.loads(skill("list", "--json").stdout)["skills"]
    assert [(each["skill"], each["newest"], each["profiles"]) for each in listed] == [
        (pinned, True, ["a", "b"])]


def test_a_version_is_that_of_the_last_reload():
    first = add()
    give("plot")
    write(f"{SOURCE}/SKILL.md", "second\n")
    second = add()
    assert lab.sh("cat /skills/plot/SKILL.md").out == b"first\n"
    assert "policy read again" in reload()
    assert lab.sh("cat /skills/plot/SKILL.md").out == b"second\n"
    give(first)
    assert lab.sh("cat /skills/plot/SKILL.md").out == b"first\n"
    assert second != first


@pytest.mark.parametrize("skills, words", [
    ('"none"', ":1: profile a: skills: none: there is no such skill"),
    ('"plot@' + 64 * "0" + '"', "there is no such skill"),
    ('"Plot"', ":1: profile a: skills: Plot: this is not NAME or NAME@HASH"),
    ('"../registry"', "this is not NAME or NAME@HASH"),
    ('"plot", "plot"', "is named twice"),
])
def test_a_policy_with_another_skill_is_none(skills, words):
    add()
    put(f"profile a {{ base = run skills = {{{skills}}} }}\n")
    check = lab.atelier("policy", "check", check=False)
    assert check.returncode == 78 and FILE in check.stderr and words in check.stderr, check
    assert words in reload()
    assert lab.run(["/bin/true"]).status == "ok"


@pytest.mark.parametrize("spoil", ["owner", "mode", "store", "link", "gone"])
def test_a_store_that_is_not_roots_alone_starts_nothing(spoil):
    pinned = add()
    give("plot")
    assert lab.run(["/bin/true"]).status == "ok"  # positive control
    path = f"{STORE}/{pinned}"
    if spoil == "owner":
        os.chown(path, lab.uid_of("alice"), 0)
    elif spoil == "mode":
        os.chmod(path, 0o777)
    elif spoil == "store":
        os.chmod(STORE, 0o777)
    elif spoil == "link":
        os.rename(path, f"{STORE}/away")
        os.symlink("/etc", path)
    else:
        os.rename(path, f"{STORE}/away")
    refusal, other = lab.run(["/bin/true"]), lab.run(["/bin/true"], user="carol")
    os.chmod(STORE, 0o755)
    assert (refusal.status, refusal.end["step"]) == ("setup_failed", "mount"), refusal.end
    assert pinned in refusal.end["message"]
    assert other.status == "ok"


def test_verify_finds_what_was_changed():
    first = add()
    assert skill("verify").stdout == "fine, versions: 1\n"
    path = f"{STORE}/{first}/SKILL.md"
    for spoil, undo, words in (
            (lambda: write(path, "FIRST\n", 0o444), lambda: write(path, "first\n", 0o444),
             "is not what was added"),
            (lambda: os.chmod(path, 0o666), lambda: os.chmod(path, 0o444), "owner or mode"),
            (lambda: os.chown(path, 1, 1), lambda: os.chown(path, 0, 0), "owner or mode"),
            (lambda: write(f"{STORE}/{first}/more", "", 0o444),
             lambda: os.unlink(f"{STORE}/{first}/more"), "is not what was added")):
        spoil()
        result = skill("verify", "--json", "plot", check=False)
        assert result.returncode == 1 and words in result.stderr, result
        assert json.loads(result.stdout) == {"verified": 1, "wrong": [first]}
        undo()
        assert skill("verify", first).returncode == 0
    assert skill("verify", "other", check=False).returncode == 1


def test_del_takes_away_what_nobody_uses_and_the_newest_last():
    first = add()
    give("plot")
    write(f"{SOURCE}/SKILL.md", "second\n")
    second = add()
    with refused("in force, in a,b") as said:
        said.append(skill("del", first, check=False))
    with refused("is what plot stands for") as said:
        said.append(skill("del", second, check=False))
    assert skill("del", "plot", check=False).returncode == 64
    shutil.rmtree(os.path.dirname(FILE))
    assert "policy read again" in reload()
    skill("del", first)
    assert names() == ["plot", second]
    # By the first digits of its hash, as a list at a terminal shows it.
    assert skill("show", second[:9]).stdout == skill("show", second).stdout
    assert skill("verify", second[:17]).stdout == "fine, versions: 1\n"
    assert skill("show", second[:8], check=False).returncode == 64
    assert skill("del", "plot@" + "0" * 12, check=False).returncode == 1
    skill("del", second[:17])
    assert names() == []
    assert skill("del", second, check=False).returncode == 1


def test_the_list_fits_a_terminal():
    write("/root/spreadsheet-tools/SKILL.md", "x" * 300000)
    try:
        known = [add(), skill("add", "/root/spreadsheet-tools").stdout.strip()]
    finally:
        shutil.rmtree("/root/spreadsheet-tools")
    give(*known)
    short = lab.screen("atelier", "skill", "list")
    assert max(len(line) for line in short) <= 80, short
    assert [line.split()[0] for line in short] == ["SKILL", *(each[:each.index("@") + 13] for each in known)]
    assert short[1].split()[4:] == [time.strftime("%Y-%m-%d", time.gmtime(os.stat(f"{STORE}/{known[0]}").st_mtime)),
                                    "a,b"]
    # Whole where it is asked for, and where it is no terminal.
    assert lab.screen("atelier", "skill", "list", "-l") == skill("list").stdout.splitlines()
    assert [line.split()[0] for line in skill("list").stdout.splitlines()[1:]] == known


def test_by_force_a_skill_in_force_goes_and_nothing_starts_with_it():
    first = add()
    give(first)
    skill("del", "--force", first)
    assert lab.run(["/bin/true"]).end["step"] == "mount"


def test_an_add_that_was_stopped_leaves_nothing():
    add()
    os.makedirs(f"{STORE}/.new/half")
    os.makedirs(f"{STORE}/.old/half")
    os.symlink("x", f"{STORE}/.new-link")
    pinned = add()
    assert names() == ["plot", pinned]


WAIT = ("cat /skills/plot/SKILL.md; until [ -e ~/work/go ]; do sleep 0.05; done; "
        "cat /skills/plot/SKILL.md; ls /skills/plot/scripts")


def test_what_was_bound_at_the_start_stays():
    """F25: another directory in the place of the skill, and NAME for another version."""
    first = add()
    give("plot")
    with lab.Session("alice") as session:
        child = session.popen("/bin/sh", "-c", f"'{WAIT}'")
        assert child.stdout.readline() == "first\n"
        live = lab.start(["/bin/sh", "-c", WAIT], limits={"wall_ms": 120000})
        live.until("out")
        write(f"{SOURCE}/SKILL.md", "second\n")
        second = add()
        os.rename(f"{STORE}/{first}", f"{STORE}/away")
        shutil.copytree(f"{STORE}/{second}", f"{STORE}/{first}")
        assert lab.sh("cat /skills/plot/SKILL.md").out == b"second\n"  # positive control
        lab.sh(": >~/work/go")
        assert child.communicate(timeout=60)[0] == "first\nsay\n"
        assert live.finish().out == b"first\nfirst\nsay\n"
        lab.sh("rm ~/work/go")
