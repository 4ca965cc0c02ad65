# SPDX-License-Identifier: ISC
# test_network.py - the owner rules of a stock server's iptables, and the canary that tries them.
import json

import pytest
from guest import inside

REFUSED = ("127.0.0.1", "::1", "10.0.2.15", "198.51.100.1", "2001:db8:1::1")
REACHED = ("198.51.100.2", "2001:db8:1::2")
CONNECT = """
import errno, json, socket, sys
def ask(address):
    try:
        with socket.create_connection((address, 7777), timeout=5) as s:
            return s.recv(100).decode().strip()
    except TimeoutError:
        return "ETIMEDOUT"
    except OSError as e:
        return errno.errorcode[e.errno]
print(json.dumps({address: ask(address) for address in sys.argv[1:]}))
"""


@inside
def as_root(addresses):
    return {address: tools.ask(address) for address in addresses}


@inside
def in_a_run(code, addresses, net):
    return lab.python(code, *addresses, user="alice", net=net).json()


@inside
def packets_refused():
    """How many packets our rules of both families have refused or dropped."""
    count = {}
    for family in lab.FAMILIES:
        listing = tools.sh(f"{family} -w 5 -nvxL").stdout
        count[family] = sum(int(line.split()[0]) for line in listing.splitlines()
                            if " REJECT " in line or " DROP " in line)
    return count


def check(guest, said):
    root = as_root(guest, REFUSED + REACHED)
    for address in REFUSED:
        assert said[address] in ("ECONNREFUSED", "EACCES", "EPERM"), (address, said)
        assert root[address] == f"host {address}", root
    for address in REACHED:
        assert said[address] == root[address] == f"world {address}", (said, root)


def test_a_run_reaches_the_world_and_not_the_host(guest):
    before = packets_refused(guest)
    check(guest, in_a_run(guest, CONNECT, REFUSED + REACHED, "public"))
    after = packets_refused(guest)
    assert all(after[family] > before[family] for family in before), (before, after)


@pytest.mark.long
def test_a_run_without_network_reaches_nothing(guest):
    said = in_a_run(guest, CONNECT, REFUSED + REACHED, "none")
    assert not any(" " in word for word in said.values()), said


def test_a_session_reaches_the_world_and_not_the_host(guest):
    with guest.login("alice") as alice:
        check(guest, json.loads(alice.python(CONNECT, *REFUSED, *REACHED)))


@inside
def rules_and_table():
    receipt = lab.run(["/bin/true"], net="public").receipt
    table = tools.sh("nft list table inet atelier").stdout
    return ({family: lab.rules(family)[:2] for family in lab.FAMILIES},
            receipt["net_group"] and lab.health()["net_group"], "chain passed" in table,
            lab.atelier("net", "alice").stdout)


@inside
def table_wait():
    # A machine that is slow may need more than one look before the table is there.
    lab.eventually(lambda: lab.health()["net_connections"], 120, every=1)


def test_the_rules_are_by_uid_and_by_group_and_a_table_counts(guest):
    table_wait(guest)
    assert in_a_run(guest, CONNECT, REACHED[:1], "public") == {REACHED[0]: f"world {REACHED[0]}"}
    rules, is_grouped, has_table, said = rules_and_table(guest)
    for family, (by_uid, by_group) in rules.items():
        assert "--uid-owner 10000-59999 -j ATELIER" in by_uid, (family, by_uid)
        assert '-m cgroup --path "atelier.slice/atelier-holder.service" -j ATELIER' in by_group, by_group
    assert is_grouped and has_table
    assert "not counted" not in said and "not limited" not in said and "\nalice " in said, said


@inside
def stranger_in_group(code, addresses):
    """What a process of another uid reaches when it is put into the group of a run, and outside of it."""
    live = lab.sleeper(net="public", limits={"wall_ms": 120000})
    try:
        group = f"/sys/fs/cgroup{tools.cgroup_of(live.find('start')[0]['pid'])}"
        argv = ["setpriv", "--reuid=5001", "--regid=5001", "--clear-groups", lab.PYTHON, "-I", "-c", code,
                *addresses]
        held = lab.command("sh", "-c", f'echo 0 >{group}/cgroup.procs && exec "$@"', "sh", *argv)
        return group, json.loads(held.stdout), json.loads(lab.command(*argv).stdout)
    finally:
        live.close()


@pytest.mark.long
def test_who_is_in_the_group_of_a_run_is_held_whatever_its_uid(guest):
    group, held, free = stranger_in_group(guest, CONNECT, REFUSED + REACHED)
    assert "/atelier-holder.service/u" in group
    check(guest, held)
    assert all(" " in word for word in free.values()), free


@inside
def flushed(family):
    """The rules come back by themselves: how a run ends then, and what the service says."""
    tools.sh(f"{family} -w 5 -F OUTPUT")
    lab.eventually(lambda: lab.jump_is_first(family), 30)
    return lab.run(["/bin/true"]).end, lab.health()


@inside
def flushed_for_good(family):
    """The same when nothing can load them."""
    program = f"/usr/sbin/{family}-restore"
    tools.sh(f"mv {program} {program}.away && {family} -w 5 -F OUTPUT")
    time.sleep(1.2)  # a proof is good for a second
    return lab.run(["/bin/true"]).end, lab.health()


@inside
def heal(family):
    program = f"/usr/sbin/{family}-restore"
    tools.sh(f"[ ! -e {program}.away ] || mv {program}.away {program}")
    lab.command("systemctl", "kill", "-s", "HUP", "--kill-who=main", "sessiond.service")
    lab.eventually(lambda: all(lab.jump_is_first(family) for family in lab.FAMILIES), 60)
    lab.eventually(lambda: lab.run(["/bin/true"]).end["status"] == "ok", 60, every=0.3)


@pytest.mark.parametrize("family", [
    "iptables", pytest.param("ip6tables", marks=pytest.mark.long)])
def test_flushed_rules_come_back_or_nothing_starts(guest, family):
    with guest.login("alice") as alice:
        try:
            end, health = flushed(guest, family)
            assert (end["status"], health["status"]) == ("ok", "ok"), (end, health)
            assert alice.answers()  # it has lived through it
            end, health = flushed_for_good(guest, family)
            assert (end["status"], end.get("step")) == ("setup_failed", "canary"), end
            assert health["status"] == "degraded"
            # It shares the host's network, so it is not left running either.
            assert alice.has_ended()
            refused = guest.ssh("ben", guest.code_of("ben"), "id")
            assert refused.returncode != 0 and "uid=" not in refused.stdout, refused
        finally:
            heal(guest, family)
    assert guest.ssh("ben", guest.code_of("ben"), "id -un").stdout == "ben\n"
