# SPDX-License-Identifier: ISC
# test_review.py - core dumps, and sessions that nobody watches over.
import contextlib

import pytest
from guest import eventually, inside

CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
# Whoever has 1 would have 0 for the asking.
CRASH_AT_0 = "import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); " + CRASH
HANDLER = "/run/core-handler"
SEEN = "/run/cores-seen"
MISSED_AFTER_S = 60
BROKEN = "SESSIOND_OPTIONS=--no-such-option"


@contextlib.contextmanager
def core_handler(guest):
    """The host gives core dumps to a program of root's, as systemd-coredump and apport do."""
    before = guest.said("cat /proc/sys/kernel/core_pattern")
    guest.sh(f"printf '#!/bin/sh\\necho $1 >>{SEEN}\\n' >{HANDLER}; chmod 700 {HANDLER}; >{SEEN}; "
             f"mount -o remount,exec /run; echo '|{HANDLER} %u' >/proc/sys/kernel/core_pattern")
    try:
        yield lambda: guest.said(f"cat {SEEN}").split()
    finally:
        guest.sh(f"echo '{before}' >/proc/sys/kernel/core_pattern; rm -f {HANDLER} {SEEN}")


@inside
def run_signal(code):
    end = lab.python(code, user="alice").end
    return end["status"], end["signal"]


def test_no_core_dump_of_a_participant_reaches_roots_handler(guest):
    with core_handler(guest) as seen, guest.login("alice") as alice:
        guest.sh(f"ulimit -c 0; python3 -c '{CRASH}'", check=False)
        eventually(lambda: seen() == ["0"])  # positive control: 0 keeps nobody's dump from it
        for code in (CRASH, CRASH_AT_0):
            assert run_signal(guest, code) == ["signal", "SEGV"]
            alice.python(code)
        assert alice.answers()
        # The control again: whatever came before has been seen by now.
        guest.sh(f"ulimit -c 0; python3 -c '{CRASH}'", check=False)
        eventually(lambda: seen().count("0") == 2)
        assert seen() == ["0", "0"]


@contextlib.contextmanager
def broken_sessiond(guest):
    guest.sh(f"cp -a /etc/default/atelier /run/kept 2>/dev/null; echo '{BROKEN}' >>/etc/default/atelier")
    try:
        yield
    finally:
        guest.sh("rm -f /etc/default/atelier; mv /run/kept /etc/default/atelier 2>/dev/null; "
                 "systemctl restart sessiond sessiond-api")


@inside
def well():
    lab.eventually(tools.is_well, 60)


@pytest.mark.long
def test_sessions_end_when_sessiond_has_been_missing_for_a_minute(guest):
    with guest.login("alice") as alice:
        holder = guest.said("systemctl show -P MainPID atelier-holder")
        # A failure that is over soon ends nobody, and neither does a stop.
        guest.sh("systemctl kill -s KILL --kill-who=main sessiond")
        well(guest)
        guest.sh("systemctl stop sessiond; sleep 2; systemctl start sessiond")
        well(guest)
        assert guest.said("systemctl is-active atelier-deadman.timer || true") == "inactive"
        with broken_sessiond(guest):
            guest.sh("systemctl restart sessiond", check=False)
            eventually(lambda: guest.said("systemctl is-active atelier-deadman.timer || true") ==
                       "active")
            assert not alice.has_ended(MISSED_AFTER_S * 0.6)
            assert alice.has_ended(MISSED_AFTER_S)
            assert guest.said("systemctl show -P MainPID atelier-holder") != holder
            assert guest.said("pgrep -u alice || true") == ""
            # It is tried on.
            tries = int(guest.said("systemctl show -P NRestarts sessiond"))
            eventually(lambda: int(guest.said("systemctl show -P NRestarts sessiond")) > tries)
    well(guest)
    assert guest.said("systemctl is-active atelier-deadman.timer || true") == "inactive"
    eventually(lambda: guest.said("systemctl is-active atelier-sshd || true") == "active", 60)
    assert guest.ssh("alice", guest.code_of("alice"), "id -un").stdout == "alice\n"


TREE = "/sys/fs/cgroup/atelier.slice/atelier-holder.service"
GIFT_BYTES = 64 << 20
TAKES = """import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("\\0gift"); s.listen()
kept = socket.recv_fds(s.accept()[0], 9, 9)
time.sleep(600)
"""
GIVES = f"""import os, socket
fd = os.memfd_create("gift")
for _ in range({GIFT_BYTES >> 20}): os.write(fd, bytes(1 << 20))
s = socket.socket(socket.AF_UNIX); s.connect("\\0gift")
socket.send_fds(s, [b"x"], [fd])
"""


def charged(guest, uid):
    """Bytes in the group of a user; None if it is not there."""
    said = guest.said(f"cat {TREE}/u{uid}/memory.current || true")
    return int(said) if said else None


@pytest.mark.long
def test_memory_that_was_given_away_stays_on_the_givers_account(guest):
    uid = guest.said("id -u alice")
    with guest.login("ben") as ben:
        ben.says(f"/usr/bin/python3 -I -c '{TAKES}' >/dev/null &")
        with guest.login("alice") as alice:
            eventually(lambda: alice.python(GIVES) == "")
        for _ in range(2):
            eventually(lambda: guest.said(f"ls {TREE}/u{uid} | grep -c ^session- || true") == "0")
            guest.sh("sleep 8")  # in which a group at rest goes
            assert charged(guest, uid) > GIFT_BYTES
            with guest.login("alice") as alice:
                assert alice.answers()
                assert charged(guest, uid) > GIFT_BYTES
    # Nobody has it any more: now it goes.
    eventually(lambda: charged(guest, uid) is None, 150, 5)
