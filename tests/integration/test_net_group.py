# SPDX-License-Identifier: ISC
# test_net_group.py - the jump by control group: who is in a run or session is held, whatever its UID.
#
# In the lab of test_cgroup.py, where the machine has a version 2 tree.
import contextlib
import json
import os
import shlex
import signal
import subprocess

import firewall
import lab
import pytest
import test_network as runs
from test_cgroup import MODE, leaf_dirs
from test_netkeep import instead_of
from test_policy import FILE, LOG, log_from, put, reload

HAS_TREE = MODE in ("v2", "v2-lite")
pytestmark = pytest.mark.skipif(not HAS_TREE, reason="the lab has no version 2 tree of control groups")

STRANGER, SUBORDINATE = 5001, 100001  # a set-user-ID program's, and one of a user namespace
CLOSED = ("127.0.0.1", "::1", "203.0.113.5", "10.9.0.2", "fd00:9::2")
OPEN = ("198.51.100.2", "2001:db8:1::2")
GROUP = "-A OUTPUT -m cgroup --path "
WITHIN_S = 10


def group_of(receipt):
    """The leaf in the version 2 tree."""
    return next(path for path in leaf_dirs(receipt["cgroup"]["leaf"])
                if os.path.exists(f"{path}/cgroup.kill"))


def probe_in(directory, uid, *addresses):
    """By a process of this uid that was put into the group; it does not go on if it is not there."""
    script = f'echo 0 >{shlex.quote(directory)}/cgroup.procs && exec "$@"'
    argv = ["sh", "-c", script, "sh", "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
            lab.PYTHON, "-I", "-c", runs.PROBE, "tcp", *addresses]
    return {address: word for address, (word, _) in json.loads(lab.command(*argv).stdout).items()}


def group_lines(family):
    return [(number, line) for number, line in enumerate(lab.rules(family), 1) if line.startswith(GROUP)]


@contextlib.contextmanager
def public_run():
    run = lab.sleeper(net="public", limits={"wall_ms": 120000})
    try:
        yield run
    finally:
        run.close()


@pytest.fixture
def kept():
    lab.rules_restore()
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    yield
    lab.rules_restore()


@pytest.mark.parametrize("uid", [STRANGER, SUBORDINATE, 0])
def test_who_is_in_the_group_of_a_run_is_held_whatever_its_uid(uid, kept):
    with public_run() as run:
        group = group_of(run.receipt)
        got = probe_in(group, uid, *CLOSED, *OPEN)
        assert {got[address] for address in CLOSED} <= runs.REFUSALS, got
        assert [got[address] for address in OPEN] == [f"world {address}" for address in OPEN]
        # Control: it is the rule that refuses, and the group that is meant.
        outside = {address: word for address, (word, _) in runs.probe_as(uid, "tcp", *CLOSED).items()}
        assert all(runs.is_reached(word) for word in outside.values()), outside
        with firewall.sessiond_stands_still():
            for family in lab.FAMILIES:
                (number, line), = group_lines(family)
                assert number == 2
                lab.command(family, "-w", "5", "-D", "OUTPUT", "2")
            got = probe_in(group, uid, *CLOSED)
            assert all(runs.is_reached(word) for word in got.values()), got
        lab.eventually(lambda: all(group_lines(family) for family in lab.FAMILIES), WITHIN_S)


def test_who_is_in_the_group_of_a_session_is_held_too(kept):
    with lab.Session("alice") as session:
        receipt = session.facts()["receipt"]
        assert receipt["net_group"] is True
        got = probe_in(group_of(receipt), STRANGER, *CLOSED, *OPEN)
        assert {got[address] for address in CLOSED} <= runs.REFUSALS, got
        assert all(runs.is_reached(got[address]) for address in OPEN)


def test_the_receipt_and_the_status_say_that_it_is_there(kept):
    assert lab.run(["/bin/true"], net="public").receipt["net_group"] is True
    assert lab.health()["net_group"] is True
    assert "by user and control group" in lab.atelier("status").stdout


@pytest.mark.parametrize("family", lab.FAMILIES)
def test_taken_away_or_moved_it_is_put_back(family, kept):
    before = lab.rules(family)[:3]
    found = lab.sessiond_says("the jump by control group is not line 2")
    lab.command(family, "-w", "5", "-D", "OUTPUT", "2")
    lab.eventually(lambda: lab.rules(family)[:3] == before, WITHIN_S)
    lab.eventually(lambda: lab.sessiond_says("the jump by control group is not line 2") > found)
    lab.command(family, "-w", "5", "-I", "OUTPUT", "2", "-o", "lo", "-j", "ACCEPT")
    lab.eventually(lambda: lab.rules(family)[:3] == before, WITHIN_S)
    assert len(group_lines(family)) == 1
    lab.command(family, "-w", "5", "-D", "OUTPUT", "-o", "lo", "-j", "ACCEPT")


def gone(top):
    """All that is in it is killed, the canary's probe, too, as when a service ends, and it is away."""
    with contextlib.suppress(OSError), open(f"{top}/cgroup.kill", "w", encoding="ascii") as file:
        file.write("1")
    for path, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)
    return not os.path.exists(top)


def probe_is_back():
    """It died with its group, and is started again a second later."""
    lab.eventually(lambda: lab.run(["/bin/true"]).status == "ok", WITHIN_S)


CALLS, PASS = "/run/lab/restores", "/run/lab/restores.pass"
# A load waits until as many as it is the how manieth are let pass.
IN_TURN = f"""echo >>{CALLS}
mine=$(wc -l <{CALLS})
while [ "$(cat {PASS})" -lt "$mine" ]; do sleep 0.05; done
exec /usr/sbin/xtables-nft-multi iptables-restore"""

NO_OWN_GROUP = pytest.mark.skipif(MODE != "v2-lite", reason="a version 2 group of its own has controllers, "
                                                            "which whoever made it gave it")


def let_pass(count):
    with open(f"{PASS}.new", "w", encoding="ascii") as file:
        file.write(f"{count}\n")
    os.rename(f"{PASS}.new", PASS)


def loads_begun():
    with contextlib.suppress(FileNotFoundError), open(CALLS, encoding="ascii") as file:
        return len(file.readlines())
    return 0


@NO_OWN_GROUP
def test_the_revision_is_that_of_the_rules_which_are_loaded_and_not_of_a_policy_that_is_read(kept):
    with public_run() as run:
        top = os.path.dirname(os.path.dirname(group_of(run.receipt)))
    before, none = lab.health()["net_revision"], lab.sessiond_says("there is no rule by control group now")
    let_pass(0)
    with instead_of("iptables-restore", IN_TURN):
        try:
            lab.eventually(lambda: gone(top), WITHIN_S)
            lab.eventually(lambda: loads_begun() == 1, WITHIN_S)  # a look sees it, and is about to load
            offset = os.path.getsize(LOG)
            put('network { deny = {"203.0.113.77"} }\n')
            os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
            lab.eventually(lambda: "policy read again" in log_from(offset))
            assert lab.health()["net_revision"] == before
            let_pass(2)  # its normal form, and the load; the next look's are not
            lab.eventually(lambda: lab.sessiond_says("there is no rule by control group now") > none)
            lab.eventually(lambda: loads_begun() == 3)
            between = lab.health()["net_revision"]
            assert not [line for line in lab.rules("iptables", "ATELIER") if "203.0.113.77" in line]
        finally:
            let_pass(1000)
            os.makedirs(top, exist_ok=True)
    lab.eventually(lambda: "network rules loaded again revision=" in log_from(offset))
    assert [line for line in lab.rules("iptables", "ATELIER") if "203.0.113.77" in line]
    assert between != before and f"loaded again revision={between}\n" not in log_from(offset)
    lab.eventually(lambda: lab.health()["net_group"], WITHIN_S)
    assert lab.health()["net_revision"] not in (before, between)
    probe_is_back()
    os.unlink(CALLS)
    os.unlink(FILE)
    reload()


@NO_OWN_GROUP
def test_a_group_that_is_made_anew_is_held_again(kept):
    """The rule is about a group, not about its path: sessiond notices that it is another one."""
    def noticed():
        return (lab.sessiond_says("is about another group than before") +
                lab.sessiond_says("there is no rule by control group now"))

    with public_run() as run:
        top = os.path.dirname(os.path.dirname(group_of(run.receipt)))
    before = noticed()
    lab.eventually(lambda: gone(top), WITHIN_S)
    os.mkdir(top)
    lab.eventually(lambda: noticed() > before, WITHIN_S)
    lab.eventually(lambda: lab.health()["net_group"], WITHIN_S)
    probe_is_back()
    with public_run() as run:
        assert os.path.dirname(os.path.dirname(group_of(run.receipt))) == top
        got = probe_in(group_of(run.receipt), STRANGER, *CLOSED)
        assert set(got.values()) <= runs.REFUSALS, got
    assert all(len(group_lines(family)) == 1 for family in lab.FAMILIES)


@contextlib.contextmanager
def restore_says_no(pattern, once=None):
    """As an iptables without the match would: a text that has it is refused. once: a file; it goes with the first."""
    paths = [f"/usr/sbin/{family}-restore" for family in lab.FAMILIES]
    for path in paths:
        os.rename(path, path + ".away")
        with open(path, "w", encoding="utf-8") as file:
            if once:
                file.write(f"#!/bin/sh\nrm {once} 2>/dev/null ||"
                           f" exec /usr/sbin/xtables-nft-multi {os.path.basename(path)} \"$@\"\n")
            file.write("#!/bin/sh\ntext=$(cat)\ncase $text in *" + shlex.quote(pattern) + "*)\n"
                       "    echo \"Couldn't load match\" >&2\n    exit 2 ;;\nesac\n"
                       f"printf '%s\\n' \"$text\" | exec /usr/sbin/xtables-nft-multi {os.path.basename(path)} \"$@\"\n")
        os.chmod(path, 0o755)
    try:
        yield
    finally:
        for path in paths:
            os.rename(path + ".away", path)


@pytest.mark.skipif(MODE != "v2-lite", reason="as above")
def test_a_group_whose_rule_cannot_be_loaded_is_not_told_as_held(kept):
    with public_run() as run:
        top = os.path.dirname(os.path.dirname(group_of(run.receipt)))
    before = lab.sessiond_says("the network rules cannot be")
    with restore_says_no("-I OUTPUT 2 -m cgroup"):
        lab.eventually(lambda: gone(top), WITHIN_S)
        os.mkdir(top)
        lab.eventually(lambda: lab.sessiond_says("the network rules cannot be") > before, WITHIN_S)
        assert lab.health()["net_group"] is False
    lab.eventually(lambda: lab.health()["net_group"], WITHIN_S)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert all(len(group_lines(family)) == 1 for family in lab.FAMILIES)


def test_a_host_without_the_match_says_so_and_goes_on(kept):
    before = lab.sessiond_says("has no match by control group")
    with restore_says_no("-I OUTPUT 2 -m cgroup"):
        lab.service("restart", "sessiond")
        lab.bring_up()
        assert lab.sessiond_says("has no match by control group") == before + 1
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        result = lab.run(["/bin/true"], net="public")
        assert (result.status, result.receipt["net_group"]) == ("ok", False)
        assert lab.health()["net_group"] is False
        assert not group_lines("iptables") and not group_lines("ip6tables")
        # The rest of the rules is there, and stays.
        assert {word for word, _ in runs.probe_in_run("tcp", "127.0.0.1", "::1").values()} <= runs.REFUSALS
        lab.rules_restore()
    lab.service("restart", "sessiond")
    lab.bring_up()
    assert len(group_lines("iptables")) == 1
    lab.eventually(lambda: lab.health()["net_connections"], lab.UP_WITHIN_S)  # after its first look


def test_a_load_that_fails_once_is_no_reason_to_go_without(kept):
    once = "/run/lab/once"
    with open(once, "w", encoding="ascii"), restore_says_no("-I OUTPUT 2 -m cgroup", once):
        lab.service("restart", "sessiond")
        lab.bring_up()
    assert not os.path.exists(once)  # positive control: it did fail
    assert len(group_lines("iptables")) == len(group_lines("ip6tables")) == 1
    lab.eventually(lambda: lab.health()["net_connections"], lab.UP_WITHIN_S)  # after its first look


def test_a_host_without_the_owner_match_is_refused(kept):
    """Exit code and sentence; no rule is half there, and those of before stay."""
    rules = {family: lab.rules(family) for family in lab.FAMILIES}
    with restore_says_no("--uid-owner"):
        lab.service("stop", "sessiond")
        size = os.path.getsize("/run/lab/sessiond.log")
        assert lab.service("start", "sessiond", check=False).returncode == 1
        with open("/run/lab/sessiond.log", encoding="utf-8", errors="replace") as log:
            log.seek(size)
            said = log.read()
        assert "cannot start: iptables-restore:" in said, said
        assert lab.service_pid("sessiond") is None
        assert {family: lab.rules(family) for family in lab.FAMILIES} == rules
    lab.bring_up()
    assert lab.run(["/bin/true"], net="public").status == "ok"


def test_a_removal_takes_it_too(kept):
    lab.service("stop", "sessiond")
    subprocess.run(["/usr/lib/atelier/sessiond", "--remove-network-rules"], check=True, timeout=60)
    for family in lab.FAMILIES:
        assert not any("ATELIER" in line or "--socket-exists" in line for line in lab.rules(family))
    lab.bring_up()
    assert len(group_lines("iptables")) == 1
