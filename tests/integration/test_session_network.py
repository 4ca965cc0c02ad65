# SPDX-License-Identifier: ISC
# test_session_network.py - what a session reaches, as a run does, and who reaches what it listens on.
import contextlib
import itertools
import json
import os
import socket
import time

import firewall
import lab
import pytest
import test_network as runs

# One for each listener: a session cannot take one again that still waits (SO_REUSEADDR is void).
PORTS = itertools.count(8100)
SECRET = "session secret"
# Of this host: in the world's network, to itself, and IPv6.
OWN = ("198.51.100.1", "127.0.0.1", "203.0.113.5", "2001:db8:1::1", "::1")
FROM_WORLD = ("198.51.100.1", "2001:db8:1::1")
JUMP, DROP = firewall.JUMP, firewall.DROP
NOBODY, ALL = [0, 0], [10, 10]

# ADDRESS PORT BACKLOG: answers everybody who gets through.
LISTENER = """
import socket
address, port, backlog = sys.argv[1:]
s = socket.create_server((address, int(port)), backlog=int(backlog),
                         family=socket.AF_INET6 if ':' in address else socket.AF_INET)
print('up')
while True:
    try:
        with s.accept()[0] as c: c.sendall(b'%s')
    except OSError: pass  # whoever it was is gone
""" % SECRET

# ADDRESS PORT COUNT: so many connections at once; prints how many came up, how many were answered.
CLIENT = """
import select, socket, sys, time
address, port, count = sys.argv[1:]
new, up, answered, end = [], [], 0, time.monotonic() + 2.5
for _ in range(int(count)):
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
    s.setblocking(False)
    s.connect_ex((address, int(port)))
    new.append(s)
came_up = 0
while (new or up) and end > time.monotonic():
    readable, writable, _ = select.select(up, new, [], end - time.monotonic())
    for s in writable:
        new.remove(s)
        if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            came_up += 1
            up.append(s)
    for s in readable:
        up.remove(s)
        try: answered += s.recv(100) == b'%s'
        except OSError: pass
print([came_up, answered])
""" % SECRET


@pytest.fixture(scope="module")
def inside():
    with lab.Session("alice") as session:
        yield session


def in_world(*argv, check=True):
    net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
    return lab.command("nsenter", net, "--", *argv, check=check)


# Each: how many of so many connections to a port came up, and how many were answered.

def from_world(address, port, count=10):
    argv = (lab.PYTHON, "-I", "-c", CLIENT, address, str(port), str(count))
    return json.loads(in_world(*argv).stdout)


def from_root(address, port, count=10):
    argv = (lab.PYTHON, "-I", "-c", CLIENT, address, str(port), str(count))
    return json.loads(lab.command(*argv).stdout)


def from_session(session, address, port, count=10):
    return session.json(CLIENT, address, str(port), str(count))


def from_run(user, address, port, count=10):
    return lab.python(CLIENT, address, str(port), str(count), user=user, net="public").json()


@contextlib.contextmanager
def listening(session, address, backlog=16):
    """The session answers whoever gets to a port of all addresses of this family; yields the port."""
    port = next(PORTS)
    everywhere = "::" if ":" in address else "0.0.0.0"
    with session.server(LISTENER, everywhere, str(port), str(backlog)):
        yield port


# ---- out

@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_session_reaches_what_a_run_reaches(inside, protocol):
    addresses = runs.REFUSED + runs.ALLOWED
    got = inside.json(runs.PROBE, protocol, *addresses)
    assert {address for address, (word, _) in got.items() if runs.is_reached(word)} \
        == set(runs.ALLOWED)
    for address in runs.REFUSED:
        word, seconds = got[address]
        assert word in runs.REFUSALS, (address, word)
        assert seconds < 1, address
    in_run = runs.probe_in_run(protocol, *addresses)
    assert {address: word for address, (word, _) in got.items()} == \
        {address: word for address, (word, _) in in_run.items()}


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_without_the_rules_a_session_reaches_all_of_it(inside, protocol):
    """Positive control: it is the rules that refuse."""
    wanted = [address for address in runs.REFUSED if address not in runs.NOT_ANSWERED]
    with firewall.rules_out(JUMP, DROP):
        got = inside.json(runs.PROBE, protocol, *wanted)
    assert {address: word for address, (word, _) in got.items() if not runs.is_reached(word)} == {}


world_listener = runs.world_listener


@pytest.mark.parametrize("address", runs.ALLOWED)
def test_nobody_sends_mail(inside, world_listener, address):
    world_listener(address, 25)
    world_listener(address, 2525)
    code = runs.PROBE.replace("(socket.SOCK_STREAM, 7777)",
                              "(socket.SOCK_STREAM, int(sys.argv.pop()))")
    root = json.loads(lab.command(lab.PYTHON, "-c", code, "tcp", address, "25").stdout)
    assert root[address][0] == "world mail"  # positive control: it is there
    assert inside.json(code, "tcp", address, "25")[address][0] in runs.REFUSALS
    assert inside.json(code, "tcp", address, "2525")[address][0] == "world mail"


# ---- in

@pytest.mark.parametrize("address", OWN)
def test_what_a_session_listens_on_is_reached_by_nobody(inside, address):
    with listening(inside, address) as port, lab.Session("alice") as own, \
            lab.Session("carol") as other:
        assert from_root(address, port) == NOBODY
        for session in (other, own, inside):
            assert from_session(session, address, port) == NOBODY
        assert from_run("carol", address, port) == NOBODY
        if address in FROM_WORLD:
            assert from_world(address, port) == NOBODY
        with firewall.rules_out(JUMP, DROP):  # positive control: it does listen
            assert from_root(address, port) == ALL
            assert from_session(other, address, port) == ALL
            if address in FROM_WORLD:
                assert from_world(address, port) == ALL


# Half-open connections are never answered and fill the queue: then there are SYN cookies, which have
# no owner. With them the connection is there, and what the world says arrives.
@pytest.mark.parametrize("backlog, count", [(0, 40), (4, 300)])
@pytest.mark.parametrize("address", FROM_WORLD)
def test_a_full_queue_lets_nobody_in(inside, address, backlog, count):
    with listening(inside, address, backlog) as port:
        assert from_world(address, port, count) == NOBODY
        assert from_root("::1" if ":" in address else "127.0.0.1", port, count) == NOBODY
        with firewall.rules_out(DROP):  # positive control: the jump alone lets them pass
            came_up, answered = from_world(address, port, count)
            assert (came_up > 0, answered) == (True, 0)
        assert from_world(address, port, count) == NOBODY
        with firewall.rules_out(JUMP, DROP):  # and it still listens
            assert from_world(address, port)[1] > 0


def test_others_are_reached_as_before():
    """The drop is for cookies alone: a listener of the host's answers the world and itself."""
    for address in FROM_WORLD:
        assert in_world("lab-probe", "tcp", address).returncode == 0
    for address in ("127.0.0.1", "::1"):
        assert lab.command("lab-probe", "tcp", address).returncode == 0
    assert in_world("lab-probe", "tcp", "203.0.113.77", check=False).returncode != 0


# ADDRESS PORT: a service of the host's, on all addresses, or somebody who wants its datagrams.
SHARE_PORT = """
import errno, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    s.setsockopt(socket.SOL_SOCKET, option, 1)
try: s.bind((sys.argv[1], int(sys.argv[2])))
except OSError as e: print(errno.errorcode[e.errno], flush=True)
else: print('bound', flush=True)
"""


@pytest.mark.parametrize("address", ["127.0.0.1", "203.0.113.5", "0.0.0.0"])
def test_no_port_of_a_service_is_shared(inside, address, alice):
    port = next(PORTS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as service:
        service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        service.bind(("0.0.0.0", port))
        assert inside.python(SHARE_PORT, address, str(port)).stdout == "EADDRINUSE\n"
        assert lab.python(SHARE_PORT, address, str(port), net="public").out == b"EADDRINUSE\n"
        # Positive control: the same user, without the filter.
        argv = ("setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON,
                "-I", "-c", SHARE_PORT, address, str(port))
        assert lab.command(*argv).stdout == "bound\n"
    assert inside.python(SHARE_PORT, address, str(port)).stdout == "bound\n"
