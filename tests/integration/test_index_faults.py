# SPDX-License-Identifier: ISC
# test_index_faults.py - a broken or forged index takes our users away, and nothing else.
import os
import random
import subprocess

import index_file
import lab
import pytest

DIR = os.path.dirname(lab.INDEX)
UID, GID = 10777, 10778  # of the forged index; not in the registry


def getent(database, key=None):
    """The line, None if there is none; a signal or a time-out is a failed test."""
    argv = ["getent", "--", database] + ([key] if key is not None else [])
    result = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    assert result.returncode in (0, 2), result
    return result.stdout if key is None else result.stdout.strip() or None


def publish(data, owner="atelier", mode=0o644):
    temporary = f"{DIR}/test.tmp"
    with open(temporary, "wb") as out:
        out.write(data)
    lab.command("chown", owner, temporary)
    os.chmod(temporary, mode)
    os.rename(temporary, lab.INDEX)


@pytest.fixture(autouse=True)
def index():
    """The true index, put back afterwards."""
    with open(lab.INDEX, "rb") as file:
        data = file.read()
    yield data
    if os.path.isdir(lab.INDEX) and not os.path.islink(lab.INDEX):
        os.rmdir(lab.INDEX)
    publish(data)
    assert lab.uid_of("alice") is not None


@pytest.fixture
def others(bob):
    """Root and bob resolve as before, whatever has become of the index."""
    before = [getent("passwd", "root"), getent("passwd", "bob"), getent("passwd", str(bob)),
              getent("group", "sudo"), lab.command("id", "bob").stdout]
    assert None not in before

    def check():
        assert [getent("passwd", "root"), getent("passwd", "bob"), getent("passwd", str(bob)),
                getent("group", "sudo"), lab.command("id", "bob").stdout] == before
        with open("/etc/passwd", encoding="utf-8") as file:
            local = [line.split(":")[0] for line in file]
        lines = getent("passwd").splitlines()
        assert [line.split(":")[0] for line in lines[:len(local)]] == local
        return lines[len(local):]

    yield check
    check()


def assert_ours_are_gone(others, alice):
    assert others() == []
    for database, key in (("passwd", "alice"), ("passwd", str(alice)), ("group", "alice"),
                          ("group", str(alice)), ("group", lab.ALL_USERS), ("passwd", "mallory")):
        assert getent(database, key) is None, key
    assert lab.command("id", "alice", check=False).returncode == 1


def test_a_well_formed_foreign_index_is_read(others):
    """Positive control of the writer used below."""
    publish(index_file.build([(UID, "mallory")], [(GID, "gang")], {"mallory": [GID]}))
    line = getent("passwd", "mallory")
    assert line.split(":")[2:4] == [str(UID), str(UID)]
    assert getent("passwd", str(UID)) == line
    assert lab.command("id", "-G", "mallory").stdout.split() == [str(UID), str(GID)]
    assert getent("group", "gang").split(":")[2] == str(GID)
    assert [entry.split(":")[0] for entry in others()] == ["mallory"]


def test_missing(others, alice):
    os.unlink(lab.INDEX)
    assert_ours_are_gone(others, alice)


@pytest.mark.parametrize("keep", [0, 1, 63, 64, 103, 104, 0.3, 0.5, 0.9, -8, -1])
def test_torn(others, alice, index, keep):
    size = int(keep * len(index)) if isinstance(keep, float) else keep
    publish(index[:size])
    assert_ours_are_gone(others, alice)


def test_something_appended(others, alice, index):
    publish(index + b"\0")
    assert_ours_are_gone(others, alice)


@pytest.mark.parametrize("data", [b"\0" * 8192, b"\xff" * 8192, os.urandom(8192), b"x"],
                         ids=["zeros", "ones", "random", "short"])
def test_nonsense(others, alice, data):
    publish(data)
    assert_ours_are_gone(others, alice)


@pytest.mark.parametrize("owner, mode, is_read", [
    ("atelier", 0o644, True), ("root", 0o644, True), ("bob", 0o644, False),
    ("nobody", 0o644, False), ("apiuser", 0o644, False), ("atelier", 0o666, False),
    ("root", 0o664, False),
])
def test_owner_and_mode(others, alice, index, owner, mode, is_read):
    publish(index, owner, mode)
    if is_read:
        assert lab.uid_of("alice") == alice
    else:
        assert_ours_are_gone(others, alice)


@pytest.mark.parametrize("owner, mode, is_read", [
    ("atelier", 0o755, True), ("bob", 0o755, False), ("atelier", 0o777, False),
    ("atelier", 0o775, False),
])
def test_owner_and_mode_of_the_directory(others, alice, owner, mode, is_read):
    lab.command("chown", owner, DIR)
    os.chmod(DIR, mode)
    try:
        if is_read:
            assert lab.uid_of("alice") == alice
        else:
            assert_ours_are_gone(others, alice)
    finally:
        lab.command("chown", "atelier", DIR)
        os.chmod(DIR, 0o755)


def test_a_second_link(others, alice):
    os.link(lab.INDEX, f"{DIR}/second")
    try:
        assert_ours_are_gone(others, alice)
    finally:
        os.unlink(f"{DIR}/second")
    assert lab.uid_of("alice") == alice


def test_a_symbolic_link(others, alice):
    os.rename(lab.INDEX, f"{DIR}/elsewhere")
    os.symlink(f"{DIR}/elsewhere", lab.INDEX)
    try:
        assert_ours_are_gone(others, alice)
    finally:
        os.rename(f"{DIR}/elsewhere", lab.INDEX)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_no_regular_file(others, alice, make):
    os.unlink(lab.INDEX)
    make(lab.INDEX)
    assert_ours_are_gone(others, alice)
    if not os.path.isdir(lab.INDEX):
        os.unlink(lab.INDEX)


@pytest.mark.parametrize("number", [0, 1, 27, 33, 990, 999, 1000, 9999, 59900, 65534, 65535, 1 << 31,
                                    (1 << 32) - 1])
def test_an_id_out_of_range(others, alice, number):
    """An id is the place of its entry; a file that begins elsewhere is none."""
    before = getent("passwd", str(number)), getent("group", str(number))
    publish(index_file.build([(number, "mallory")]))
    assert (getent("passwd", str(number)), getent("group", str(number))) == before
    assert_ours_are_gone(others, alice)


def test_ids_that_begin_in_the_range_and_leave_it(others, alice):
    users = [(59898, "mallory"), (59899, "trudy")]
    publish(index_file.build(users))
    assert getent("passwd", "trudy").split(":")[2] == "59899"
    publish(index_file.build(users, id_first=59899))
    assert_ours_are_gone(others, alice)


@pytest.mark.parametrize("gid", [0, 4, 27, 999, 9999, 59900, 65001, (1 << 32) - 1])
def test_a_membership_out_of_range(gid):
    publish(index_file.build([(UID, "mallory")], [(GID, "gang")], {"mallory": [gid, GID]}))
    got = lab.command("id", "-G", "mallory", check=False).stdout.split()
    assert str(gid) not in got
    assert set(got) <= {str(UID), str(GID)}


def test_a_membership_of_somebody_elses(bob):
    """bob is the host's: an index that speaks of him is not asked, or not believed."""
    before = lab.command("id", "-G", "bob").stdout
    root = lab.command("id", "-G", "root").stdout
    publish(index_file.build([(UID, "bob"), (UID + 2, "root")], [(GID, "gang")],
                             {"bob": [GID], "root": [GID]}))
    assert lab.command("id", "-G", "bob").stdout == before
    assert lab.command("id", "-G", "root").stdout == root


@pytest.mark.parametrize("name", ["", "Root", "a:b", "../x", "a/b", "a\nb", "-x", "x" * 32, "a b",
                                  "ä"])
def test_a_name_that_cannot_be(others, name):
    publish(index_file.build([(UID, name)]))
    assert getent("passwd", str(UID)) is None
    assert getent("group", str(UID)) is None
    if name:
        assert getent("passwd", name) is None
    assert others() == []


def test_an_account_of_the_host_cannot_be_replaced(others):
    publish(index_file.build([(UID, "root"), (UID + 1, "bob")], [(UID + 2, "sudo")]))
    assert getent("passwd", "root").split(":")[2] == "0"
    assert lab.command("id", "-u", "bob").stdout.strip() != str(UID + 1)
    assert getent("group", "sudo").split(":")[2] == "27"


def test_a_slot_that_points_at_another(others, alice):
    """A name is found only at an entry that bears it, and that can be."""
    publish(index_file.build([(UID, "honest")], entries={UID + 1: index_file.entry(3, "trudy")},
                             slots=[("mallory", UID), ("trudy", UID + 1), ("gang", UID + 5000),
                                    (lab.ALL_USERS, UID - 1)]))
    assert getent("passwd", "honest") is not None
    for database, key in (("passwd", "mallory"), ("group", "mallory"), ("passwd", "trudy"),
                          ("passwd", str(UID + 1)), ("group", str(UID + 1)), ("group", "gang"),
                          ("group", lab.ALL_USERS), ("passwd", "alice"), ("passwd", str(alice))):
        assert getent(database, key) is None, key
    others()


def test_a_home_and_a_shell_cannot_be_named():
    publish(index_file.build([(UID, "mallory")],
                             entries={UID: index_file.entry(index_file.USER, "mallory", shell=255)}))
    entry = getent("passwd", "mallory").split(":")
    assert entry[5:] == [f"{lab.HOMES}/mallory", "/usr/sbin/nologin"]


@pytest.mark.parametrize("header", [
    {"magic": b"ATELIDX1"}, {"version": 0}, {"version": 3}, {"size_bytes": 0},
    {"size_bytes": (1 << 32) - 1}, {"entry_count": 0}, {"entry_count": (1 << 32) - 1},
    {"slot_count": 0}, {"slot_count": 15}, {"slot_count": 1 << 31}, {"gid_count": 0},
    {"gid_count": (1 << 32) - 1},
], ids=repr)
def test_a_header_that_lies(others, alice, header):
    publish(index_file.build([(UID, "mallory")], [(GID, "gang")], **header))
    assert_ours_are_gone(others, alice)


def test_too_large(others, alice, index):
    publish(index)
    os.truncate(lab.INDEX, (64 << 20) + 4096)
    assert_ours_are_gone(others, alice)


def test_flipped_bits_never_crash_and_never_lie(index, alice, bob):
    """Whatever comes out is alice with her uid, or nothing."""
    some = random.Random(4711)
    for _ in range(150):
        data = bytearray(index)
        for _ in range(some.choice((1, 4, 64))):
            data[some.randrange(len(data))] ^= 1 << some.randrange(8)
        publish(bytes(data))
        assert getent("passwd", "bob").split(":")[2] == str(bob)
        line = getent("passwd", "alice")
        assert line is None or lab.ID_MIN <= int(line.split(":")[2]) <= 65000
        for entry in getent("passwd").splitlines():
            fields = entry.split(":")
            assert fields[5] == f"{lab.HOMES}/{fields[0]}" or int(fields[2]) not in \
                range(lab.ID_MIN, 65001)


def test_start_up_mends_the_index(index, alice):
    for damage in (lambda: os.unlink(lab.INDEX), lambda: publish(index[:-100]),
                   lambda: publish(index_file.build([(UID, "mallory")]))):
        damage()
        assert lab.uid_of("alice") is None
        lab.service("restart", "sessiond-api")
        assert lab.uid_of("alice") == alice
        assert lab.uid_of("mallory") is None
    lab.bring_up()
    with open(lab.INDEX, "rb") as file:
        assert file.read() == index


def test_a_reader_sees_no_gap_while_users_are_added(alice):
    code = ("import pwd, sys, time\n"
            "end = time.monotonic() + float(sys.argv[1]); n = 0\n"
            "while time.monotonic() < end:\n"
            "    assert pwd.getpwnam('alice').pw_uid == int(sys.argv[2]); n += 1\n"
            "print(n)")
    with subprocess.Popen([lab.PYTHON, "-I", "-c", code, "2", str(alice)], stdout=subprocess.PIPE,
                          text=True) as reader:
        added = 0
        while reader.poll() is None:
            assert lab.user_add(external_id=f"gap:{added}", name=f"gap{added}").status in (200, 201)
            added += 1
        assert reader.returncode == 0
        assert int(reader.stdout.read()) > 100
    assert added > 3
