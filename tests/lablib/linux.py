# SPDX-License-Identifier: ISC
# linux.py - the system calls that Python 3.11 has no names for.
import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, what, *args):
    if getattr(_libc, name)(*args) < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno), what)


def _bytes(text):
    return None if text is None else os.fsencode(text)


def mount(source, target, fstype, flags=0, data=None):
    _call("mount", f"mount {fstype or 'bind'} on {target}", _bytes(source), _bytes(target),
          _bytes(fstype), ctypes.c_ulong(flags), _bytes(data))


def umount_detach(target):
    _call("umount2", f"umount {target}", _bytes(target), MNT_DETACH)


def pivot_root(new, old):
    _call("pivot_root", f"pivot_root {new}", _bytes(new), _bytes(old))


def unshare(flags):
    _call("unshare", "unshare", flags)


def enter_own_mount_namespace():
    """setns() into the namespace we are in: root and cwd become its topmost root, out of any chroot."""
    fd = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", "setns to the own mount namespace", fd, CLONE_NEWNS)
    finally:
        os.close(fd)


def die_with_parent(signum):
    _call("prctl", "prctl PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, ctypes.c_ulong(signum), 0, 0, 0)
