# SPDX-License-Identifier: ISC
# test_watchdog.py - the daemons tell a service manager that they turn, and do not when they do not.
import array
import os
import signal
import socket
import struct
import threading
import time

import lab
import pytest

WATCHDOG_S = 0.8
BEAT_S = WATCHDOG_S / 2


class Manager:
    """The part of a service manager that the lab's has not: it listens after READY=1, too."""

    def __init__(self, name):
        self.name = f"@atelier-watchdog-{name}"
        self.labd = f"/run/lab/notify.{name}"
        self.beats, self.seen = [], []
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind("\0" + self.name[1:])
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            data, ancillary, _, _ = self.sock.recvmsg(4096, socket.CMSG_SPACE(12))
            text = data.decode()
            if text == "over":
                return
            self.seen.append(text)
            if "WATCHDOG=1" in text.split("\n"):
                self.beats.append(time.monotonic())
            if "READY=1" in text.split("\n"):
                # In the daemon's name, which root may: the lab wants to know that it is ready.
                pid = struct.unpack("3i", ancillary[0][2])[0]
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                    sock.sendmsg([data], [(socket.SOL_SOCKET, 2, array.array("i", [pid, 0, 0]))],
                                 0, self.labd)

    def beats_within(self, seconds):
        before = len(self.beats)
        time.sleep(seconds)
        return len(self.beats) - before

    def close(self):
        self.sock.sendto(b"over", "\0" + self.name[1:])
        self.thread.join(5)
        self.sock.close()


@pytest.fixture(params=["sessiond", "sessiond-api"])
def watched(request):
    """A daemon that a service manager watches."""
    name, manager = request.param, Manager(request.param)
    lab.service("stop", name)
    lab.command("lab-service", "start", name, "--env", f"NOTIFY_SOCKET={manager.name}",
                "--env", f"WATCHDOG_USEC={int(WATCHDOG_S * 1e6)}")
    lab.eventually(lab.is_connected)
    yield name, lab.service_pid(name), manager
    lab.service("stop", name)
    lab.bring_up()
    manager.close()


def test_it_beats_while_it_turns_and_never_while_it_does_not(watched):
    _, pid, manager = watched
    assert manager.beats_within(5 * BEAT_S) >= 3
    os.kill(pid, signal.SIGSTOP)
    time.sleep(BEAT_S)
    try:
        assert manager.beats_within(4 * BEAT_S) == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    assert manager.beats_within(5 * BEAT_S) >= 3


def test_the_end_is_announced(watched):
    name, _, manager = watched
    lab.service("stop", name)
    lab.eventually(lambda: "STOPPING=1" in manager.seen)


@pytest.mark.parametrize("watched", ["sessiond"], indirect=True)
def test_a_spawner_that_does_not_answer_stops_the_beat(watched):
    _, pid, manager = watched
    assert manager.beats_within(5 * BEAT_S) >= 3  # positive control
    spawner = lab.child_of(pid, "atelier-spawn")
    os.kill(spawner.pid, signal.SIGSTOP)
    time.sleep(BEAT_S)
    try:
        assert manager.beats_within(4 * BEAT_S) == 0
    finally:
        os.kill(spawner.pid, signal.SIGCONT)
    assert manager.beats_within(5 * BEAT_S) >= 3
    assert "0 runs" in manager.seen[-1]
