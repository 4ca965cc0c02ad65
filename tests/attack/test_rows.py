# SPDX-License-Identifier: ISC
# test_rows.py - each row of rows.py, in a run, in a session, and where nothing holds it.
import contextlib
import ctypes
import os
import re
import socket
import subprocess
import threading

import firewall
import lab
import pytest
import rows
import where

IPC_CREAT = 0o1000
LANDLOCK_ABI_SCOPED = 6


def landlock_abi():
    """landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)"""
    return ctypes.CDLL(None).syscall(ctypes.c_long(444), None, ctypes.c_long(0), ctypes.c_long(1))


def say_secret(listener, word):
    listener.listen(16)
    while True:
        with contextlib.suppress(OSError), listener.accept()[0] as peer:
            peer.sendall(word)


@pytest.fixture(scope="module", autouse=True)
def bait(workshop, alice):
    """What the attacks are after: root's, and open to every uid of the host."""
    for path, word in ((b"\0" + rows.ABSTRACT.encode(), b"secret"), (rows.SOCKET, b"secret"),
                       (rows.NEAR_SOCKET, b"secret"),
                       (rows.FAR_SOCKET, b"nscd")):
        if isinstance(path, str):
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        if isinstance(path, str):
            os.chmod(path, 0o666)
        threading.Thread(target=say_secret, args=(listener, word), daemon=True).start()
    libc, librt = ctypes.CDLL(None), ctypes.CDLL("librt.so.1", use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(int(rows.KEY, 16), 4096, IPC_CREAT | 0o666)
    ctypes.memmove(libc.shmat(segment, None, 0), b"secret\0", 7)
    before = os.umask(0)
    assert librt.mq_open(rows.QUEUE.encode(), os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
    os.umask(before)
    with open(rows.SHM, "w", encoding="ascii") as file:
        file.write("secret")
    where.raised_python(rows.SET_UID, 0o4755)
    where.raised_python(rows.SET_GID, 0o2755, gid=lab.uid_of("bob"))
    where.raised_python(rows.CAPABLE, capabilities="cap_net_raw+ep")
    assert where.plain(alice, "user_key", "put") == "through put"
    with subprocess.Popen([lab.PYTHON, "-c", "import sys; sys.stdin.read()", rows.SECRET],
                          stdin=subprocess.PIPE) as holder:
        yield
        holder.stdin.close()
    where.plain(alice, "user_key", "clear")  # it is the kernel's, and would outlive the lab
    librt.mq_unlink(rows.QUEUE.encode())
    libc.shmctl(segment, 0, None)
    for path in (rows.SHM, rows.FAR_SOCKET, rows.SOCKET, rows.NEAR_SOCKET,
                 *(f"/usr/local/bin/{name}" for name in (rows.SET_UID, rows.SET_GID, rows.CAPABLE))):
        os.unlink(path)


@pytest.fixture(scope="module")
def without_rules(bait, alice):
    """What the plain process is told while the network rules are away: all of those rows at once."""
    with firewall.rules_out(firewall.JUMP):
        return {each: where.plain(alice, *each.attack) for each in rows.ROWS
                if rows.RULES_OUT in each.needs}


def skip_if_not_here(each):
    if rows.AMD64 in each.needs and not rows.is_amd64():
        pytest.skip("numbers and entries of amd64")
    if "x32" in each.attack and where.plain(lab.uid_of("bob"), *each.attack) == "stopped ENOSYS":
        pytest.skip("this kernel has no x32 entry; test_filter tries it against the filter alone")


def assert_says(said, pattern):
    assert re.fullmatch(pattern, said), said


EACH = pytest.mark.parametrize("each", rows.ROWS, ids=rows.name_of)


@EACH
def test_in_a_run(each):
    skip_if_not_here(each)
    assert_says(where.in_run(*each.attack, python=rows.python_of(each)), each.run)


@EACH
def test_in_a_session(each, inside):
    skip_if_not_here(each)
    if rows.SCOPED in each.needs and landlock_abi() < LANDLOCK_ABI_SCOPED:
        pytest.skip(f"Landlock of this kernel (ABI {landlock_abi()}) scopes no abstract names")
    assert_says(where.in_session(inside, *each.attack, python=rows.python_of(each)), each.session)


@EACH
def test_where_nothing_holds_it(each, alice, without_rules):
    """The positive control: the same program, the same uid, outside of run and session."""
    skip_if_not_here(each)
    if rows.RULES_OUT in each.needs:
        said = without_rules[each]
    else:
        said = where.plain(alice, *each.attack, python=rows.python_of(each))
    assert_says(said, each.plain)
    assert not re.fullmatch(each.run, said), said
