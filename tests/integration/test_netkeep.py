# SPDX-License-Identifier: ISC
# test_netkeep.py - what others do to the firewall is put back, and a session lives through it.
import contextlib
import itertools
import os
import shlex
import signal
import struct
import subprocess
import threading
import time

import firewall
import lab
import pytest
import test_network as runs

WITHIN_S = 5  # some milliseconds, where the machine has nothing else to do
PRIVATE4, PRIVATE6 = "10.9.0.2", "fd00:9::2"  # in none of them the canary tries
BACK = "they are back"
SETTLE_S = 0.15  # for a look that is under way

# Asks an address once for each line of its standard input, by a socket that it had before.
UDP_CLIENT = """
import socket, sys
s = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
for _ in sys.stdin:
    try:
        s.sendto(b'?', (sys.argv[1], 7778))
        print(s.recv(99).decode().strip(), flush=True)
    except OSError: print('refused', flush=True)
"""


def ours():
    """What of the host's tables is ours; a chain that is not there has no rules."""
    found = {}
    for family in lab.FAMILIES:
        lines = lab.command(family, "-w", "5", "-S").stdout.splitlines()
        for chain, most in (("OUTPUT", 2), ("ATELIER", None), ("ATELIER-NO", None)):
            found[family, chain] = [line for line in lines
                                    if line.startswith(f"-A {chain} ")][:most]
    return found


def is_there(rules):
    return ours() == rules


@pytest.fixture(scope="module")
def inside():
    with lab.Session("alice") as session:
        yield session


@pytest.fixture
def rules():
    """As they must be; others' attempts so far are forgotten."""
    lab.rules_restore()
    lab.eventually(lab.is_well, 5)
    yield ours()
    lab.rules_restore()


def end_of_start():
    end = lab.run(["/bin/true"]).end
    return end["status"], end.get("step")


def word(session, address):
    return session.json(runs.PROBE, "tcp", address)[address][0]


def ip(*argv):
    return ("iptables", "-w", "5", *argv)


def ip6(*argv):
    return ("ip6tables", "-w", "5", *argv)


EMPTY = "*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT\nCOMMIT\n"
# name: (what opens, commands); a text is the standard input of the first command
CHANGES = {
    "all flushed": (PRIVATE4, ("nft", "flush", "ruleset")),
    "another set of rules": (PRIVATE4, ("iptables-restore",)),
    "OUTPUT flushed": (PRIVATE4, ip("-F", "OUTPUT")),
    "IPv6 alone flushed": (PRIVATE6, ip6("-F")),
    "jump deleted": (PRIVATE6, ip6("-D", "OUTPUT", "1")),
    "accept above": (PRIVATE4, ip("-I", "OUTPUT", "1", "-d", PRIVATE4, "-j", "ACCEPT")),
    "accept above, IPv6": (PRIVATE6, ip6("-I", "OUTPUT", "1", "-d", PRIVATE6, "-j", "ACCEPT")),
    "return in our chain": (PRIVATE4, ip("-I", "ATELIER", "1", "-d", PRIVATE4, "-j", "RETURN")),
    "rule of ours deleted": (PRIVATE4, ip("-D", "ATELIER", "-d", "10.0.0.0/8", "-j", "ATELIER-NO")),
    "chain emptied": (PRIVATE4, ip("-F", "ATELIER")),
    "refusals emptied": (PRIVATE6, ip6("-F", "ATELIER-NO")),
    "drop deleted": (None, ip("-D", "OUTPUT", "2")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_others_change_is_put_back(inside, rules, name):
    opened, argv = CHANGES[name]
    before = lab.sessiond_says(BACK)
    with firewall.sessiond_stands_still(SETTLE_S):
        subprocess.run(argv, input=EMPTY, text=True, check=True, timeout=10)
        assert not is_there(rules)
        if opened:
            assert word(inside, opened) == f"world {opened}"  # positive control: it lets pass
    lab.eventually(lambda: is_there(rules), WITHIN_S)
    if opened:
        assert word(inside, opened) in runs.REFUSALS
    lab.eventually(lambda: lab.sessiond_says(BACK) > before)
    assert not inside.is_over()
    if name.startswith("accept above"):
        lab.command(*argv[:3], "-D", "OUTPUT", *argv[6:])


@pytest.mark.parametrize("address", [PRIVATE4, PRIVATE6])
def test_a_conversation_of_the_gap_ends_with_it(inside, rules, address):
    with inside.popen(shlex.join([lab.PYTHON, "-I", "-c", UDP_CLIENT, address])) as client:
        def ask():
            client.stdin.write("\n")
            client.stdin.flush()
            return client.stdout.readline().strip()

        assert ask() == "refused"
        with firewall.sessiond_stands_still(SETTLE_S):
            lab.command("nft", "flush", "ruleset")
            assert ask() == f"world {address}"
        lab.eventually(lambda: is_there(rules), WITHIN_S)
        assert ask() == "refused"
        client.stdin.close()


def test_the_gap_is_short(inside, rules):
    """As an admin does it, with nothing standing still: sessions do not even lose a run's start."""
    for _ in range(2):
        began = time.monotonic()
        lab.command("nft", "flush", "ruleset")
        lab.eventually(lambda: is_there(rules), WITHIN_S, every=0.001)
        print(f"back after {(time.monotonic() - began) * 1000:.0f} ms")
        lab.eventually(lambda: lab.run(["/bin/true"]).status == "ok", 2)
    assert not inside.is_over()


def test_a_reload_in_many_steps_ends_nobody(inside, rules):
    """One family after the other, and again, while the canary is being asked about the last step."""
    for _ in range(3):
        for program in ("iptables-restore", "ip6tables-restore"):
            subprocess.run([program], input=EMPTY, text=True, check=True, timeout=10)
    lab.eventually(lambda: is_there(rules), WITHIN_S)
    time.sleep(1.2)  # the guard has asked
    assert word(inside, PRIVATE4) in runs.REFUSALS
    assert not inside.is_over()


def test_what_does_not_concern_the_rules_is_left_alone(rules):
    """Others' rules below ours, policies, tables: no word of ours, and they stay."""
    before = lab.sessiond_says(BACK)
    theirs = "-A OUTPUT -o lo -j ACCEPT"
    for family in lab.FAMILIES:
        lab.command(family, "-w", "5", *theirs.split())
        lab.command(family, "-w", "5", "-P", "FORWARD", "DROP")
    lab.command("nft", "add", "table", "inet", "other")
    try:
        time.sleep(0.5)
        assert is_there(rules)
        lab.command(*ip("-D", "OUTPUT", "1"))  # positive control
        lab.eventually(lambda: is_there(rules), WITHIN_S)
        lab.eventually(lambda: lab.sessiond_says(BACK) > before)
        assert lab.sessiond_says(BACK) == before + 1
        for family in lab.FAMILIES:
            saved = lab.command(f"{family}-save").stdout
            assert theirs in saved and ":FORWARD DROP" in saved
    finally:
        lab.command("nft", "delete", "table", "inet", "other")
        for family in lab.FAMILIES:
            lab.command(family, "-w", "5", "-P", "FORWARD", "ACCEPT")
            lab.command(family, "-w", "5", "-D", *theirs.split()[1:])


def unreadable():
    """iptables-nft does not show a table that has such a rule."""
    lab.command("nft", "add", "rule", "ip", "filter", "OUTPUT", "meta skuid 5 tcp dport { 80 }",
                "accept")


def test_a_table_that_cannot_be_read_ends_nobody_and_admits_nobody(inside, rules):
    unreadable()
    try:
        lab.eventually(lambda: lab.health()["status"] == "degraded", 8)
        end = lab.run(["/bin/true"]).end
        assert (end["status"], end["step"]) == ("setup_failed", "canary")
        assert "cannot be looked at" in end["message"]
        assert not inside.is_over() and word(inside, PRIVATE6) in runs.REFUSALS
    finally:
        lab.command("nft", "flush", "ruleset")
    lab.eventually(lambda: is_there(rules), WITHIN_S)
    assert not inside.is_over()


@pytest.fixture
def many_rules():
    """As many of others that a look is costly; those that find nothing have used up the credit."""
    lines = [f"-A MANY -s 198.51.100.{i % 250} -p tcp --dport {1 + i} -j DROP"
             for i in range(10000)]
    text = "\n".join(["*filter", ":MANY -", *lines, "COMMIT", ""])
    subprocess.run(["iptables-restore", "-n", "-w", "5"], input=text, text=True, check=True,
                   timeout=30)
    try:
        for verb in ("-A", "-D", "-A", "-D"):
            lab.command(*ip(verb, "FORWARD", "-p", "17", "-j", "ACCEPT"))
            time.sleep(0.4)
        yield
    finally:
        lab.command("nft", "flush", "ruleset")


def test_large_tables_of_others_do_not_stretch_the_gap(rules, many_rules):
    began = time.monotonic()
    lab.command("nft", "flush", "chain", "ip", "filter", "OUTPUT")
    assert not lab.jump_is_first("iptables")
    lab.eventually(lambda: lab.jump_is_first("iptables"), 2 + 1.5, every=0.1)
    print(f"back after {(time.monotonic() - began) * 1000:.0f} ms")


@pytest.fixture
def legacy():
    """A host whose iptables is the legacy one, of which the kernel gives no news."""
    def choose(backend):
        for family in lab.FAMILIES:
            path = f"/usr/sbin/{family}"
            lab.command("update-alternatives", "--set", family, f"{path}-{backend}")

    lab.rules_restore()
    choose("legacy")
    lab.rules_restore()
    lab.command("nft", "flush", "ruleset")
    yield ours()
    for family in lab.FAMILIES:
        for argv in (("-F",), ("-X",)):
            lab.command(f"{family}-legacy", "-w", "5", *argv, check=False)
    choose("nft")
    lab.rules_restore()
    for family in lab.FAMILIES:
        for argv in (("-F",), ("-X",)):
            lab.command(f"{family}-legacy", "-w", "5", *argv)


def test_a_table_without_news_is_looked_at(inside, legacy):
    with firewall.sessiond_stands_still(SETTLE_S):
        lab.command(*ip("-I", "OUTPUT", "1", "-d", PRIVATE4, "-j", "ACCEPT"))
        assert word(inside, PRIVATE4) == f"world {PRIVATE4}"  # positive control
    lab.eventually(lambda: is_there(legacy), WITHIN_S)
    assert word(inside, PRIVATE4) in runs.REFUSALS
    assert not inside.is_over()


def test_rules_of_the_other_kind_beside_ours_open_nothing(inside, rules):
    try:
        lab.command("iptables-legacy", "-w", "5", "-I", "OUTPUT", "1", "-j", "ACCEPT")
        assert word(inside, PRIVATE4) in runs.REFUSALS
        assert word(inside, "198.51.100.2") == "world 198.51.100.2"
        lab.command(*ip("-D", "OUTPUT", "1"))
        lab.eventually(lambda: is_there(rules), WITHIN_S)
        assert word(inside, PRIVATE4) in runs.REFUSALS
    finally:
        lab.command("iptables-legacy", "-w", "5", "-F", "OUTPUT")


def test_the_look_leaves_nothing(rules):
    sessiond = lab.service_pid("sessiond")
    files = len(os.listdir(f"/proc/{sessiond}/fd"))
    for _ in range(3):
        lab.command(*ip("-D", "OUTPUT", "1"))
        lab.eventually(lambda: is_there(rules), WITHIN_S)
    lab.eventually(lambda: not [each for each in lab.processes() if each.ppid == sessiond and
                                each.comm == "atelier-netlook"], 2)
    lab.eventually(lambda: len(os.listdir(f"/proc/{sessiond}/fd")) <= files, 2)


class Fighter(threading.Thread):
    """Wants to be the first of OUTPUT, as soon as it sees that it is not; so many times."""

    def __init__(self, times):
        super().__init__(daemon=True)
        self.times, self.done, self.is_off = times, 0, False
        self.start()

    def run(self):
        while self.done < self.times and not self.is_off:
            if lab.jump_is_first("iptables"):
                lab.command(*ip("-I", "OUTPUT", "1", "-d", PRIVATE4, "-j", "ACCEPT"))
                self.done += 1
            time.sleep(0.03)

    def end(self):
        self.is_off = True
        self.join(10)


# The last here that needs it: the session ends.
def test_who_fights_back_does_not_win(inside, rules):
    """What does not stay is no protection, though the canary sees nothing of this."""
    before = lab.sessiond_says(BACK)
    public, alone = lab.sleeper(net="public"), lab.sleeper(net="none")
    fighter = Fighter(50)
    try:
        lab.eventually(inside.is_over, 60)  # on a busy host a look is costly, and pauses are long
        assert public.finish().end["status"] == "internal"
        assert alone.quiet_for(0.5)
        end = lab.run(["/bin/true"]).end
        assert (end["status"], end["step"]) == ("setup_failed", "canary")
        assert "again and again" in end["message"]
        health = lab.health()
        assert (health["status"], health["canary"]) == ("degraded", "leak")
        assert lab.sessiond_says("cannot be kept: somebody takes the network rules away") == 1
        assert 9 <= lab.sessiond_says(BACK) - before <= 11  # and not a line for each
        assert fighter.done < 50
    finally:
        fighter.end()
        alone.close()
        lab.command("nft", "flush", "ruleset")
    lab.rules_restore()  # who has ended the fight says so
    lab.eventually(lab.is_well, 5)
    assert lab.run(["/bin/true"]).status == "ok"


def test_a_leak_behind_a_table_that_cannot_be_read_ends_what_relies_on_it(rules):
    """No look helps here, so the canary's word is all there is: it must go on to be asked."""
    public, alone = lab.sleeper(net="public"), lab.sleeper(net="none")
    try:
        with lab.Session("alice") as session:
            unreadable()
            lab.eventually(lambda: lab.health()["canary"] == "no_target", 8)
            assert public.quiet_for(1.2) and not session.is_over()  # positive control: blind only
            lab.command("nft", "insert", "rule", "ip", "filter", "OUTPUT", "accept")
            lab.eventually(session.is_over, 4)
        end = public.finish().end
        assert end["status"] == "internal" and "network rules" in end["message"], end
        assert alone.quiet_for(0.3)
        assert end_of_start() == ("setup_failed", "canary")
    finally:
        alone.close()
        lab.command("nft", "flush", "ruleset")
    lab.eventually(lab.is_well, WITHIN_S)
    assert lab.run(["/bin/true"]).status == "ok"


@pytest.fixture
def clock():
    """Makes it so many seconds later for sessiond, which is started anew for this."""
    path, library = "/run/lab/later", "/run/lab/later.so"
    source = os.path.join(os.path.dirname(__file__), "programs/later.c")
    lab.command("gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC",
                f"-DLATER=\"{path}\"", f"-I{os.environ['ATELIER_SRC']}", "-o", library, source)

    def ahead(seconds):
        with open(path, "r+b") as file:
            file.write(struct.pack("=i", seconds))

    with open(path, "wb") as file:
        file.write(bytes(4))
    lab.service("restart", "sessiond", "--env", f"LD_PRELOAD={library}")
    lab.bring_up()
    lab.eventually(lab.is_well)
    yield ahead
    lab.service("restart", "sessiond")
    lab.bring_up()


def test_who_cannot_look_for_a_minute_relies_on_nothing(clock):
    """The canary tries few addresses: that it holds is not enough for long."""
    limits = {"wall_ms": 600000}
    public = lab.sleeper(net="public", limits=limits)
    alone = lab.sleeper(net="none", limits=limits)
    try:
        unreadable()
        lab.eventually(lambda: lab.health()["canary"] == "no_target", 8)
        clock(40)
        assert public.quiet_for(1.5)  # positive control: that the clock jumps ends nobody
        assert lab.health()["canary"] == "no_target"
        clock(60)
        end = public.finish().end
        assert end["status"] == "internal" and "network rules" in end["message"], end
        assert alone.quiet_for(0.3)
        assert lab.health()["canary"] == "leak"
        assert end_of_start() == ("setup_failed", "canary")
        assert lab.sessiond_says("cannot be kept: they could not be looked at for a minute") == 1
        lab.command("nft", "flush", "ruleset")
        clock(70)  # the next look
        lab.eventually(lab.is_well, WITHIN_S)
        assert end_of_start() == ("ok", None)
    finally:
        alone.close()
        lab.command("nft", "flush", "ruleset")


@contextlib.contextmanager
def instead_of(name, script):
    """A program of the firewall is a shell script meanwhile."""
    path = f"/usr/sbin/{name}"
    os.rename(path, f"{path}.away")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{script} \"$@\"\n")
        os.fchmod(file.fileno(), 0o755)
    try:
        yield
    finally:
        os.rename(f"{path}.away", path)


SLOW = "/run/lab/slow"


@pytest.fixture
def cut_short(clock):
    """(words, hang, cut): a script with these words hangs from hang() on, until cut() has ended the look."""
    path = SLOW
    said, times = "takes too long and is ended", itertools.count(1)

    def hang():
        open(path, "w", encoding="ascii").close()

    def cut():
        def look():
            return lab.child_of(lab.service_pid("sessiond"), "atelier-netlook")

        before = lab.sessiond_says(said)
        lab.eventually(lambda: (process := look()) and lab.child_of(process.pid, "sleep"), 10)
        clock(11 * next(times))
        lab.eventually(lambda: lab.sessiond_says(said) > before, 10)
        os.unlink(path)

    yield f"[ ! -e {path} ] || exec sleep 100\nexec", hang, cut
    if os.path.exists(path):
        os.unlink(path)


def test_a_look_that_took_too_long_is_made_up_for(cut_short):
    """The next is soon, and does not begin from the beginning: on a slow machine it would never end."""
    slow, hang, cut = cut_short
    table = ("nft.away", "list", "table", "inet", "atelier")
    calls, armed = "/run/lab/restores", "/run/lab/armed"
    multi = "/usr/sbin/xtables-nft-multi"
    with instead_of("nft", f"{slow} /usr/sbin/nft.away"):
        lab.eventually(lambda: lab.command(*table, check=False).returncode == 0, 30)
        hang()
        lab.command("nft.away", "delete", "table", "inet", "atelier")
        cut()
        lab.eventually(lambda: lab.command(*table, check=False).returncode == 0, 15)
    loads = lab.sessiond_says("network rules changed")
    open(armed, "w", encoding="ascii").close()
    with (instead_of("ip6tables-save", f"{slow} {multi} ip6tables-save"),
          instead_of("iptables-restore", f"echo >>{calls}\n[ ! -e {armed} ] || mv {armed} {SLOW}\n"
                                         f"exec {multi} iptables-restore")):
        os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
        cut()
        lab.eventually(lambda: lab.sessiond_says("network rules changed") > loads, 15)
        with open(calls, encoding="ascii") as file:
            # The normal form and the load; then the load alone.
            assert len(file.readlines()) == 3
    os.unlink(calls)
