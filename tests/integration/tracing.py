# SPDX-License-Identifier: ISC
# tracing.py - ptrace(2) for tests: what a process has, and a process that stands at a system call.
import contextlib
import ctypes
import os
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
# linux/ptrace.h
CONT, DETACH, SYSCALL = 7, 17, 24
GETEVENTMSG, SEIZE, INTERRUPT, SECCOMP_GET_FILTER = 0x4201, 0x4206, 0x4207, 0x420c
GET_SYSCALL_INFO, INFO_ENTRY, INFO_SIZE = 0x420e, 1, 88
O_SYSGOOD, O_FORKS = 0x1, 0x2 | 0x4 | 0x8
EVENTS_OF_FORKS = (1, 2, 3)
WALL = 0x40000000
INSTRUCTIONS_MAX, INSTRUCTION_SIZE = 4096, 8


def ptrace(request, pid, address=0, data=0):
    result = libc.ptrace(request, pid, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def filter_of(pid):
    """The program that the kernel has of a process, as bytes."""
    ptrace(SEIZE, pid)
    try:
        ptrace(INTERRUPT, pid)
        os.waitpid(pid, WALL)
        room = ctypes.create_string_buffer(INSTRUCTIONS_MAX * INSTRUCTION_SIZE)
        count = ptrace(SECCOMP_GET_FILTER, pid, 0, ctypes.addressof(room))
        return room.raw[:count * INSTRUCTION_SIZE]
    finally:
        ptrace(DETACH, pid)


def enters(pid):
    """The number of the system call that a process is held at the entry to, or None."""
    info = ctypes.create_string_buffer(INFO_SIZE)
    ptrace(GET_SYSCALL_INFO, pid, INFO_SIZE, ctypes.addressof(info))
    return int.from_bytes(info.raw[24:32], sys.byteorder) if info.raw[0] == INFO_ENTRY else None


class Traced:
    """A process and all that it forks, held at what they do. Belongs to the thread that made it."""

    def __init__(self, pid):
        self.pids = [pid]
        ptrace(SEIZE, pid, 0, O_SYSGOOD | O_FORKS)

    def wait(self, pid, within):
        """The status of its next stop; None if it has ended, or does not stop within @within s."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            try:
                found, status = os.waitpid(pid, os.WNOHANG | WALL)
            except ChildProcessError:
                return None
            if found:
                if os.WIFSTOPPED(status):
                    return status
                self.pids.remove(pid)
                return None
            time.sleep(0.0002)
        return None

    def forked(self, pid, within=5):
        """Let it go on until it forks; the child, which stands still, or None."""
        while status := self.wait(pid, within):
            if status >> 16 in EVENTS_OF_FORKS:
                child = ctypes.c_ulong()
                ptrace(GETEVENTMSG, pid, 0, ctypes.addressof(child))
                self.pids.append(child.value)
                ptrace(CONT, pid)
                assert self.wait(child.value, within)
                return child.value
            ptrace(CONT, pid)
        return None

    def steps(self, pid, count, within=5, call=None):
        """On to its @count-th next entry to or exit from a system call, or to the entry to @call.

        How many there were.
        """
        for done in range(count):
            ptrace(SYSCALL, pid)
            status = self.wait(pid, within)
            if status is None:
                return done
            if status >> 16 in EVENTS_OF_FORKS:  # what it forks goes its own way
                child = ctypes.c_ulong()
                ptrace(GETEVENTMSG, pid, 0, ctypes.addressof(child))
                if self.wait_for_child(child.value, within):
                    ptrace(DETACH, child.value)
            elif call is not None and enters(pid) == call:
                return done + 1
        return count

    def wait_for_child(self, pid, within):
        self.pids.append(pid)
        status = self.wait(pid, within)
        if status:
            self.pids.remove(pid)
        return status

    def let_go(self):
        """All that still live go on by themselves; those that have ended can be reaped.

        The last one first, and again: an init ends only when what it has forked was reaped.
        """
        for pid in self.pids:
            with contextlib.suppress(OSError):
                ptrace(INTERRUPT, pid)
        deadline = time.monotonic() + 5
        while self.pids and time.monotonic() < deadline:
            for pid in reversed(self.pids):
                self.release(pid)
        assert not self.pids

    def release(self, pid):
        """Detach, if it stands still, or reap it, if it has ended."""
        with contextlib.suppress(OSError):
            ptrace(DETACH, pid)
            self.pids.remove(pid)
            return
        with contextlib.suppress(ChildProcessError):
            self.wait(pid, 0.001)
        if pid in self.pids and not os.path.exists(f"/proc/{pid}"):
            self.pids.remove(pid)


def kill(pid):
    """SIGKILL without a race against the reuse of the number."""
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        finally:
            os.close(fd)
