# SPDX-License-Identifier: ISC
# test_nss_host.py - the module in set-uid programs, in other root directories, by other nsswitch lines.
import os
import shutil

import lab
import pytest

NSSWITCH = "/etc/nsswitch.conf"
LOCAL_GROUP = "audio"  # of Debian's own


# ---- a set-uid program

@pytest.fixture
def setuid_id():
    """A copy of id(1) that runs as root whoever starts it."""
    path = "/usr/local/bin/id-setuid"
    shutil.copy("/usr/bin/id", path)
    os.chmod(path, 0o4755)
    yield path
    os.unlink(path)


def test_a_set_uid_program_of_a_participant_is_answered(setuid_id, alice):
    def asked(*args, **more):
        return lab.command("setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups",
                           setuid_id, *args, **more).stdout.strip()

    assert asked("-u") == "0"  # it is set-uid, or nothing is shown here
    assert asked("-ru") == str(alice)
    assert asked("-run") == "alice"
    assert asked("-nu", "alice") == "alice"
    assert lab.ALL_USERS in asked("-Gn", "alice").split()
    # Nothing of the caller's environment changes what it is told.
    foreign = {**os.environ, "LD_LIBRARY_PATH": "/tmp", "HOME": "/tmp", "TMPDIR": "/tmp"}
    assert asked("-run", env=foreign) == "alice"


# ---- another root directory

@pytest.fixture
def jail(tmp_path):
    """A root directory with the host's programs and files, and nothing below /var."""
    root = tmp_path / "jail"
    for name in ("usr", "etc", "var/lib"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "nsswitch.conf"):
        shutil.copy(f"/etc/{name}", root / "etc")
    with open(root / "etc/passwd", "a", encoding="utf-8") as passwd:
        passwd.write("carl:x:1777:1777::/:/bin/sh\n")
    lab.command("mount", "--bind", "/usr", root / "usr")
    lab.command("mount", "-o", "remount,bind,ro", root / "usr")
    yield root
    if os.path.ismount(root / "var/lib/atelier/nss"):
        lab.command("umount", root / "var/lib/atelier/nss")
    lab.command("umount", root / "usr")


def index_bind(root):
    """As an admin who wants our users in there."""
    there = root / "var/lib/atelier/nss"
    there.mkdir(parents=True)
    lab.command("mount", "--bind", os.path.dirname(lab.INDEX), there)


def jail_getent(root, database, key):
    result = lab.command("chroot", root, "getent", database, key, check=False)
    assert result.returncode in (0, 2), result
    return result.stdout.strip() or None


def test_a_chroot_without_the_index_has_the_local_accounts(jail, alice):
    assert jail_getent(jail, "passwd", "root").startswith("root:")
    assert jail_getent(jail, "passwd", "carl") is not None
    for key in ("alice", str(alice)):
        assert jail_getent(jail, "passwd", key) is None
        assert jail_getent(jail, "group", key) is None
    index_bind(jail)
    assert jail_getent(jail, "passwd", "alice").split(":")[2] == str(alice)
    assert jail_getent(jail, "passwd", str(alice)).startswith("alice:")
    assert lab.command("chroot", jail, "id", "alice").stdout == lab.command("id", "alice").stdout
    assert jail_getent(jail, "passwd", "carl") is not None


def test_a_chroot_without_the_index_is_unavailable_and_not_a_miss(jail):
    """By what nsswitch.conf makes of the two: a local account is asked for of us first."""
    conf = jail / "etc/nsswitch.conf"
    conf.write_text("passwd: atelier [UNAVAIL=return] files\ngroup: files\n")
    assert jail_getent(jail, "passwd", "carl") is None
    conf.write_text("passwd: atelier [NOTFOUND=return] files\ngroup: files\n")
    assert jail_getent(jail, "passwd", "carl") is not None
    index_bind(jail)
    assert jail_getent(jail, "passwd", "carl") is None
    conf.write_text("passwd: atelier [UNAVAIL=return] files\ngroup: files\n")
    assert jail_getent(jail, "passwd", "carl") is not None


# ---- the lines of nsswitch.conf

@pytest.fixture
def nsswitch():
    """Give the lab another line for group, and one for initgroups or none; put back afterwards."""
    with open(NSSWITCH, encoding="utf-8") as file:
        before = file.read()

    def lines(group, initgroups=None):
        kept = [line for line in before.splitlines()
                if line.split(":")[0] not in ("group", "initgroups")]
        kept += [f"group: {group}"] + ([f"initgroups: {initgroups}"] if initgroups else [])
        with open(f"{NSSWITCH}.test", "w", encoding="utf-8") as file:
            file.write("\n".join(kept) + "\n")
        os.rename(f"{NSSWITCH}.test", NSSWITCH)

    yield lines
    with open(f"{NSSWITCH}.test", "w", encoding="utf-8") as file:
        file.write(before)
    os.rename(f"{NSSWITCH}.test", NSSWITCH)


@pytest.fixture
def dora_is_in_a_local_group():
    lab.command("usermod", "-aG", LOCAL_GROUP, "dora")
    yield
    lab.command("gpasswd", "-d", "dora", LOCAL_GROUP)


def groups_of(name):
    return set(lab.command("id", "-Gn", name).stdout.split())


@pytest.mark.parametrize("group, initgroups", [
    ("files atelier", None),
    ("files [SUCCESS=merge] atelier", None),
    ("files atelier", "files [SUCCESS=continue] atelier"),
    ("files [SUCCESS=merge] atelier", "files [SUCCESS=continue] atelier"),
    ("files atelier", "atelier [SUCCESS=continue] files"),
    ("files [SUCCESS=merge] atelier", "files [SUCCESS=merge] atelier"),
], ids=str)
def test_groups_are_whole_by_any_line_that_asks_both(nsswitch, dora_is_in_a_local_group, bob, group,
                                                     initgroups):
    local = {name: groups_of(name) for name in ("root", "bob", "daemon")}
    nsswitch(group, initgroups)
    assert groups_of("dora") == {"dora", lab.ALL_USERS, "course-a", LOCAL_GROUP}
    assert groups_of("alice") >= {"alice", lab.ALL_USERS}
    assert {name: groups_of(name) for name in local} == local


def test_groups_are_whole_by_a_plain_line_for_who_is_in_no_local_group(nsswitch, bob):
    local = {name: groups_of(name) for name in ("root", "bob", "daemon")}
    nsswitch("files atelier", "files atelier")
    assert groups_of("dora") == {"dora", lab.ALL_USERS, "course-a"}
    assert {name: groups_of(name) for name in local} == local


def test_a_plain_line_ends_at_the_first_that_knows(nsswitch, dora_is_in_a_local_group):
    """glibc's doing, and the reason why nss_atelier(8) asks for [SUCCESS=continue]; and a control:
    these lines do change something."""
    nsswitch("files atelier", "files atelier")
    assert groups_of("dora") == {"dora", LOCAL_GROUP}
    nsswitch("files atelier", "files")
    assert groups_of("alice") == {"alice"}
