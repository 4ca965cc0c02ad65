# SPDX-License-Identifier: ISC
# test_net.py - who reached what is counted, and nobody takes all of the kernel's room for connections.
import contextlib
import json
import os
import signal
import subprocess
import time

import firewall
import lab
import pytest
import test_network as runs

COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
LIMIT = 2048
BACK = "somebody changed the table inet atelier; it is back"
HELD = "connections are counted and limited by user"

# As many new connections as are wanted, each to a port of its own; tells how many went out.
FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = 0
for i in range(int(sys.argv[1])):
    try:
        sent += s.sendto(b'?', ('198.51.100.2', 10000 + i))
    except PermissionError: pass
print(sent)
"""
MAIL = """
import socket
try: socket.create_connection(('198.51.100.2', 25), 3)
except ConnectionRefusedError: print('refused')
"""


def network(name=None):
    answer = lab.api("GET", f"/v1/network/{name}" if name else "/v1/network")
    assert answer.status == 200, answer
    return answer.body


def row_of(name):
    users = network(name)["users"]
    assert len(users) <= 1
    return users[0] if users else {"let_through": 0, "refused": 0, "over_limit": 0, "not_listed": 0,
                                   "open": 0, "bytes": 0, "packets": 0}


def tries_of(name):
    return {(each["address"], each["port"], each["protocol"]): (each["reason"], each["tries"])
            for each in network(name)["refused"]}


def table_is_there():
    return lab.command("nft", "list", "table", "inet", "atelier", check=False).returncode == 0


def tracked():
    with open(COUNT, encoding="ascii") as file:
        return int(file.read())


@contextlib.contextmanager
def table_out():
    """The table is away, as long as sessiond stands still."""
    with firewall.sessiond_stands_still():
        lab.command("nft", "delete", "table", "inet", "atelier")
        yield
    lab.eventually(table_is_there)


def count_anew():
    """What was counted before is forgotten."""
    lab.eventually(table_is_there)
    before = lab.sessiond_says(BACK)
    lab.command("nft", "delete", "table", "inet", "atelier")
    lab.eventually(lambda: lab.sessiond_says(BACK) > before)
    assert table_is_there()


def test_tries_are_counted_for_who_made_them_and_for_nobody_else():
    count_anew()
    with lab.Session("carol") as carol:
        assert carol.json(runs.PROBE, "tcp", "198.51.100.2")["198.51.100.2"][0].startswith("world")
        for _ in range(3):
            assert runs.probe_in_run("tcp", "10.9.0.2")["10.9.0.2"][0] == "ECONNREFUSED"
        refused = ("127.0.0.1", "::1", "fd00:9::2")
        assert {word for word, _ in runs.probe_in_run("tcp", *refused).values()} == {"ECONNREFUSED"}
        assert runs.probe_in_run("udp", "169.254.169.254")["169.254.169.254"][0] == "EPERM"
        assert lab.python(MAIL, net="public").data(1) == b"refused\n"
        for _ in range(2):
            reached = runs.probe_in_run("tcp", *runs.ALLOWED)
            assert {word for word, _ in reached.values()} == {f"world {a}" for a in runs.ALLOWED}
        assert tries_of("alice") == {
            ("10.9.0.2", runs.TCP, "tcp"): ("rfc1918", 3),
            ("127.0.0.1", runs.TCP, "tcp"): ("local", 1),
            ("::1", runs.TCP, "tcp"): ("local", 1),
            ("fd00:9::2", runs.TCP, "tcp"): ("not-global", 1),
            ("169.254.169.254", runs.UDP, "udp"): ("link-local", 1),
            ("198.51.100.2", 25, "tcp"): ("port-25", 1),
        }
        row = row_of("alice")
        assert (row["let_through"], row["refused"], row["over_limit"], row["not_listed"]) == (4, 8, 0, 0)
        assert row["packets"] >= 4 * 4 and row["bytes"] > row["packets"] * 40
        assert (row_of("carol")["let_through"], row_of("carol")["refused"]) == (1, 0)
    everybody = network()
    assert {"alice", "carol"} <= {each["user"] for each in everybody["users"]}
    assert everybody["counted"] and everybody["complete"] and everybody["connections"] == LIMIT


def test_every_rule_has_its_name_and_its_count():
    def packets(family, reason):
        return sum(each["packets"] for each in network()["rules"]
                   if (each["family"], each["reason"]) == (family, reason))

    # The canary's tries are refused as local.
    before = packets("IPv4", "rfc1918"), packets("IPv4", "cgnat"), packets("IPv6", "not-global")
    runs.probe_in_run("tcp", "10.9.0.2", "172.16.9.2")
    after = packets("IPv4", "rfc1918"), packets("IPv4", "cgnat"), packets("IPv6", "not-global")
    assert after == (before[0] + 2, *before[1:])
    rules = network()["rules"]
    refusing = [line for family in lab.FAMILIES for line in lab.rules(family, "ATELIER")
                if line.endswith("-j ATELIER-NO")]
    assert len(rules) == len(refusing) + 1
    assert "other" not in {each["reason"] for each in rules}


def test_what_is_open_is_told():
    client = "import socket, sys; s = socket.create_connection(('198.51.100.2', 7777)); s.recv(99); " \
             "print('open', flush=True); sys.stdin.read()"
    with lab.Session("alice") as session:
        with session.popen(f"{lab.PYTHON} -I -c \"{client}\"") as process:
            assert process.stdout.readline() == "open\n"
            # The answerer has closed its side; ours is open as long as the process lives.
            assert row_of("alice")["open"] == 1
            process.stdin.close()
        lab.eventually(lambda: row_of("alice")["open"] == 0)


def test_the_command_shows_it():
    runs.probe_in_run("tcp", "10.9.0.2")
    shown = lab.atelier("net", "alice").stdout
    line = next(line.split() for line in shown.splitlines() if " 10.9.0.2 " in line)
    assert line[:2] == ["alice", "10.9.0.2"] and line[4] == "rfc1918"
    assert "2048 of one user at most" in shown and "carol" not in shown
    assert "RULE" not in shown
    everybody = lab.atelier("net").stdout
    assert "USER" in everybody and "RULE" in everybody
    lab.user_add(name="idle-one")
    assert lab.atelier("net", "idle-one").stdout.endswith("\n\nidle-one has not tried to reach anything.\n")
    assert json.loads(lab.atelier("net", "--json").stdout)["counted"]
    assert lab.atelier("net", "nobody-here", check=False).returncode == 1
    assert "2048 of one user at most" in lab.atelier("status").stdout


@pytest.mark.parametrize("argv", [("nft", "flush", "ruleset"),
                                  ("nft", "flush", "chain", "inet", "atelier", "hold"),
                                  ("nft", "delete", "table", "inet", "atelier")],
                         ids=lambda argv: " ".join(argv[1:3]))
def test_what_others_change_is_put_back_and_ends_nobody(argv):
    before = lab.sessiond_says(BACK)
    with lab.Session("alice") as session:
        with firewall.sessiond_stands_still():
            lab.command(*argv)
            listed = lab.command("nft", "list", "table", "inet", "atelier", check=False).stdout
            assert "ct count over" not in listed  # positive control
        lab.eventually(lambda: lab.sessiond_says(BACK) > before)
        lab.eventually(lab.is_well)
        assert "ct count over 2048" in lab.command("nft", "list", "table", "inet", "atelier").stdout
        assert not session.is_over()


def cpu_of_ended_children(pid):
    """Seconds of those that were waited for, and of theirs."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")  # cutime, cstime


def fill(name, addresses, counter=" counter packets 1 bytes 60"):
    """All that it takes."""
    for at in range(0, 8192, 4096):
        elements = ", ".join(f"{10000 + i // 800} . 6 . {1 + i} . {addresses}{i:x}{counter}" for i in range(at, at + 4096))
        subprocess.run(["nft", "-f", "-"], input=f"add element inet atelier {name} {{ {elements} }}\n", text=True,
                       check=True)


def test_what_users_fill_costs_the_watch_over_the_rules_nothing_and_is_told():
    count_anew()
    fill("known6", "fd00:9::", "")
    for name in ("no6-not-global", "no6-deny", "leaked6"):
        fill(name, "fd00:9::")
    sessiond = lab.service_pid("sessiond")
    before, used = lab.sessiond_says(BACK), cpu_of_ended_children(sessiond)
    lab.command("nft", "flush", "chain", "inet", "atelier", "hold")
    lab.eventually(lambda: lab.sessiond_says(BACK) > before)
    used = cpu_of_ended_children(sessiond) - used
    assert 0 < used < 0.4  # 0.06 s measured; where a look reads all of the sets it is not back in time
    seen = network()
    assert seen["counted"] and seen["not_counted"] is None and not seen["complete"]
    assert len(seen["refused"]) == 1024  # of 16,384, two reasons; what was tried less is not told
    count_anew()


def test_what_takes_too_long_to_read_is_said_so():
    """nft is away meanwhile: one that hangs is there."""
    nft = "/usr/sbin/nft"
    os.rename(nft, nft + ".away")
    try:
        with open(nft, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ncase $* in *'list table'*) exec sleep 60 ;; esac\nexec /usr/sbin/nft.away \"$@\"\n")
        os.chmod(nft, 0o755)
        assert network()["not_counted"] == "too-long"
        with open(nft, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ncase $* in *'list table'*) exit 2 ;; esac\nexec /usr/sbin/nft.away \"$@\"\n")
        assert network()["not_counted"] == "failed"
        assert "could not be read" in lab.atelier("net").stdout
    finally:
        os.rename(nft + ".away", nft)
    assert network()["counted"]


def test_who_asks_on_and_on_is_answered_after_a_pause():
    network()
    begun = time.monotonic()
    for _ in range(8):
        network()
    assert time.monotonic() - begun > 7 * 0.25


def test_a_reload_counts_on():
    runs.probe_in_run("tcp", "10.9.0.2")
    before, loaded = row_of("alice"), lab.sessiond_says("network rules loaded again")
    os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
    lab.eventually(lambda: lab.sessiond_says("network rules loaded again") > loaded)
    assert row_of("alice")["refused"] == before["refused"] > 0


@pytest.fixture
def policy():
    """Another section network; gone afterwards."""
    path = "/etc/atelier/conf.d/91-net.conf"

    def reload():
        loaded = lab.sessiond_says("network rules loaded again")
        os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
        lab.eventually(lambda: lab.sessiond_says("network rules loaded again") > loaded)

    def put(text):
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"network {{ {text} }}\n")
        os.chmod(path, 0o644)
        reload()

    yield put
    os.unlink(path)
    reload()


def test_other_rules_leave_the_counts_and_are_counted_themselves(policy):
    count_anew()
    runs.probe_in_run("tcp", "10.9.0.2", "198.51.100.2")
    policy('deny = {"198.51.100.2"}')
    got = runs.probe_in_run("tcp", "198.51.100.2")["198.51.100.2"][0]
    assert got == "ECONNREFUSED"
    assert tries_of("alice") == {("10.9.0.2", runs.TCP, "tcp"): ("rfc1918", 1),
                                 ("198.51.100.2", runs.TCP, "tcp"): ("deny", 1)}
    assert (row_of("alice")["let_through"], row_of("alice")["refused"]) == (1, 2)
    policy("connections = 16")
    assert network()["connections"] == 16
    with lab.Session("alice") as session:
        assert int(session.python(FLOOD, "100").stdout) == 16


def reached_by_root_and_carol():
    assert runs.probe_as(0, "tcp", "198.51.100.2")["198.51.100.2"][0].startswith("world")
    got = lab.python(runs.PROBE, "tcp", "198.51.100.2", user="carol", net="public").json()
    assert got["198.51.100.2"][0].startswith("world"), got


def test_one_user_does_not_take_all_connections():
    count_anew()
    before = tracked()
    with lab.Session("alice") as session:
        assert session.facts()["receipt"]["net_limit"] == LIMIT
        assert lab.run(["/bin/true"]).receipt["net_limit"] == LIMIT
        assert int(session.python(FLOOD, str(3 * LIMIT)).stdout) == LIMIT
        # Others' come and go meanwhile.
        assert tracked() <= before + LIMIT + 200
        assert session.json(runs.PROBE, "tcp", "198.51.100.2")["198.51.100.2"][0] == "ECONNREFUSED"
        reached_by_root_and_carol()
        assert row_of("alice")["over_limit"] >= 2 * LIMIT + 1
        assert network()["rules"][-1]["packets"] >= 2 * LIMIT + 1
        with table_out():
            assert int(session.python(FLOOD, str(3 * LIMIT)).stdout) == 3 * LIMIT  # positive control
            assert tracked() > before + 2 * LIMIT


@contextlib.contextmanager
def no_nft():
    os.rename("/usr/sbin/nft", "/usr/sbin/nft.away")
    try:
        yield
    finally:
        os.rename("/usr/sbin/nft.away", "/usr/sbin/nft")


def test_a_host_without_nft_says_so_and_goes_on():
    with no_nft():
        lab.service("restart", "sessiond")
        lab.bring_up()
        lab.eventually(lambda: lab.sessiond_says("there is no nft (package nftables)") > 0)
        lab.command("nft.away", "delete", "table", "inet", "atelier")
        told = network()
        assert not told["counted"] and told["connections"] is None
        assert len(told["rules"]) > 20  # those of iptables are counted all the same
        assert "neither counted nor limited by user" in lab.atelier("status").stdout
        run = lab.run(["/bin/true"], net="public")
        assert (run.status, run.receipt["net_limit"]) == ("ok", None)
        assert runs.probe_in_run("tcp", "10.9.0.2")["10.9.0.2"][0] == "ECONNREFUSED"
    lab.service("restart", "sessiond")
    lab.bring_up()
    lab.eventually(lambda: lab.sessiond_says(HELD) > 0)
    lab.eventually(table_is_there)
