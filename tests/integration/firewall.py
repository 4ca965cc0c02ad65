# SPDX-License-Identifier: ISC
# firewall.py - network rules that are away, or do not hold, for as long as a test wants it.
import contextlib
import os
import shlex
import signal
import time

import lab


@contextlib.contextmanager
def sessiond_stands_still(settle_s=0.5):
    """Nobody keeps the rules meanwhile, and nobody ends what relies on them."""
    pid = lab.service_pid("sessiond")
    os.kill(pid, signal.SIGSTOP)
    time.sleep(settle_s)  # what the probe was told before, and a look that was under way
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


JUMP, DROP = 1, 2


def ours_in_output(family):
    """{line: (rule, JUMP or DROP)}; where the lab has control groups there are two jumps."""
    found = {}
    for line, rule in enumerate(lab.rules(family)[:3], 1):
        if "--socket-exists" in rule:
            found[line] = rule, DROP
        elif "--uid-owner" in rule or rule.startswith("-A OUTPUT -m cgroup --path "):
            found[line] = rule, JUMP
    assert "--uid-owner" in found[1][0] and found[len(found)][1] == DROP
    return found


@contextlib.contextmanager
def rules_out(*kinds):
    """JUMP, both if there are two, or DROP, or all are away, as long as sessiond stands still."""
    with sessiond_stands_still():
        saved = {family: ours_in_output(family) for family in lab.FAMILIES}
        try:
            for family, ours in saved.items():
                for line in sorted(ours, reverse=True):
                    if ours[line][1] in kinds:
                        lab.command(family, "-w", "5", "-D", "OUTPUT", str(line))
            yield
        finally:
            for family, ours in saved.items():
                for line in sorted(ours):
                    if ours[line][1] in kinds:
                        lab.command(family, "-w", "5", "-I", "OUTPUT", str(line),
                                    *shlex.split(ours[line][0])[2:])
                assert ours_in_output(family) == ours
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


@contextlib.contextmanager
def rules_void(family):
    """The rules are there, every one of them, and hold nobody: only the canary can tell."""
    table = ("nft", "add", "table", "ip" if family == "iptables" else "ip6", "filter")
    lab.command(*table, "{ flags dormant; }")
    try:
        assert lab.jump_is_first(family)
        yield
    finally:
        lab.command(*table)
        lab.rules_restore()  # what the canary has said is forgotten with it


@contextlib.contextmanager
def rules_cannot_be_loaded():
    away = {f"/usr/sbin/{family}-restore": f"/usr/sbin/{family}-restore.away"
            for family in lab.FAMILIES}
    for path, other in away.items():
        os.rename(path, other)
    try:
        yield
    finally:
        for path, other in away.items():
            os.rename(other, path)
        lab.rules_restore()
