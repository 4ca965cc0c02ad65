# SPDX-License-Identifier: ISC
# test_network.py - which addresses a run reaches, and that it is the rules that stop it.
import json
import os
import signal
import subprocess

import firewall
import lab
import pytest

TCP, UDP = 7777, 7778
REFUSED = ("127.0.0.1", "127.9.9.9", "0.0.0.0", "203.0.113.5", "198.51.100.1", "10.9.0.1",
           "10.9.0.2", "172.16.9.2", "192.168.9.2", "100.64.0.1", "169.254.169.254", "::1", "::",
           "::ffff:127.0.0.1", "::ffff:10.9.0.2", "2001:db8:1::1", "fd00:9::1", "fd00:9::2")
ALLOWED = ("198.51.100.2", "2001:db8:1::2")
# Where nobody listens by that very address.
NOT_ANSWERED = {"127.9.9.9"}

PROBE = """
import errno, json, socket, sys, time
def probe(kind, address, port):
    begin = time.monotonic()
    try:
        with socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, kind) as s:
            s.settimeout(3)
            s.connect((address, port))
            if kind == socket.SOCK_DGRAM:
                s.send(b'?')
            word = s.recv(200).decode().strip() or 'closed'
    except TimeoutError:
        word = 'ETIMEDOUT'
    except OSError as e:
        word = errno.errorcode.get(e.errno, str(e))
    return [word, time.monotonic() - begin]
kinds = {'tcp': (socket.SOCK_STREAM, %d), 'udp': (socket.SOCK_DGRAM, %d)}
kind, port = kinds[sys.argv[1]]
print(json.dumps({a: probe(kind, a, port) for a in sys.argv[2:]}))
""" % (TCP, UDP)
REFUSALS = {"ECONNREFUSED", "EHOSTUNREACH", "EACCES", "EPERM", "ENETUNREACH"}


def probe_in_run(protocol, *addresses, net="public"):
    return lab.python(PROBE, protocol, *addresses, net=net, limits={"wall_ms": 120000}).json()


def probe_as(uid, protocol, *addresses):
    """By a plain process of this uid on the host."""
    argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", lab.PYTHON, "-I", "-c",
            PROBE, protocol, *addresses]
    return json.loads(lab.command(*argv).stdout)


def is_reached(word):
    return word.startswith(("world ", "host "))


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("address", REFUSED)
def test_a_run_does_not_reach(protocol, address):
    word, seconds = probe_in_run(protocol, address)[address]
    assert word in REFUSALS
    assert seconds < 1


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_run_reaches_the_internet(protocol):
    for address, (word, _) in probe_in_run(protocol, *ALLOWED).items():
        assert word == f"world {address}"


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_run_without_network_reaches_nothing(protocol):
    got = probe_in_run(protocol, *REFUSED, *ALLOWED, net="none")
    assert {word for word, _ in got.values()} <= REFUSALS | {"EADDRNOTAVAIL"}
    assert max(seconds for _, seconds in got.values()) < 1


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_the_rules_hold_for_the_uid_not_for_the_run(protocol, alice):
    got = probe_as(alice, protocol, *REFUSED, *ALLOWED)
    assert {address for address, (word, _) in got.items() if is_reached(word)} == set(ALLOWED)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_without_the_rules_the_same_probes_arrive(protocol, alice):
    """Positive control of all of the above: it is the rules that refuse."""
    wanted = [address for address in REFUSED + ALLOWED if address not in NOT_ANSWERED]
    with firewall.rules_out(firewall.JUMP):
        got = probe_as(alice, protocol, *wanted)
    assert {address: word for address, (word, _) in got.items() if not is_reached(word)} == {}


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_others_are_not_held_back(protocol, bob):
    for uid in (0, bob, lab.CALLER, 9999, 60000):
        got = probe_as(uid, protocol, "127.0.0.1", "10.9.0.2", "::1", "fd00:9::2")
        assert all(is_reached(word) for word, _ in got.values()), (uid, got)


def test_the_whole_range_is_held_back():
    for uid in (lab.ID_MIN, 30000, lab.ID_ALLOC_MAX, lab.ID_CANARY, lab.ID_MAX):
        got = probe_as(uid, "tcp", "127.0.0.1", "::1", "10.9.0.2", *ALLOWED)
        assert [is_reached(word) for word, _ in got.values()] == [False] * 3 + [True] * 2, uid


@pytest.fixture
def world_listener():
    """Somebody in the world answers on a port."""
    code = ("import socket, sys\n"
            "s = socket.create_server((sys.argv[1], int(sys.argv[2])),"
            " family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"
            "print('up', flush=True)\n"
            "while True: s.accept()[0].sendall(b'world mail\\n')")
    children = []

    def listen(address, port):
        net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
        child = subprocess.Popen(["nsenter", net, "--", lab.PYTHON, "-I", "-c", code, address,
                                  str(port)], stdout=subprocess.PIPE, text=True)
        children.append(child)
        assert child.stdout.readline() == "up\n"

    yield listen
    for child in children:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("address", ALLOWED)
def test_nobody_sends_mail(world_listener, address):
    world_listener(address, 25)
    world_listener(address, 2525)
    code = PROBE.replace("(socket.SOCK_STREAM, 7777)", "(socket.SOCK_STREAM, int(sys.argv.pop()))")
    root = json.loads(lab.command(lab.PYTHON, "-c", code, "tcp", address, "25").stdout)
    assert root[address][0] == "world mail"  # positive control: it is there
    word, seconds = lab.python(code, "tcp", address, "25", net="public").json()[address]
    assert word in REFUSALS
    assert seconds < 1
    assert lab.python(code, "tcp", address, "2525", net="public").json()[address][0] == "world mail"


def test_other_protocols_do_not_leave():
    """SCTP and UDP-Lite are neither TCP nor UDP."""
    code = """
import errno, socket
for family, kind, protocol, address in ((socket.AF_INET, socket.SOCK_DGRAM, 136, '198.51.100.2'),
        (socket.AF_INET, socket.SOCK_STREAM, 132, '198.51.100.2'),
        (socket.AF_INET, socket.SOCK_DGRAM, 1, '198.51.100.2')):
    try:
        with socket.socket(family, kind, protocol) as s:
            s.settimeout(2)
            s.connect((address, 7778)); s.send(b'?'); s.recv(10)
        print('works')
    except OSError as e:
        print('refused', e)
"""
    result = lab.python(code, net="public")
    assert result.status == "ok"
    assert b"works" not in result.out
    assert result.out.count(b"refused") == 3


LISTENER = """
import socket
try:
    s = socket.create_server(('0.0.0.0', 8099))
except OSError as e:
    print(type(e).__name__, flush=True)
else:
    print('up', flush=True)
    s.settimeout(20)
    while True: s.accept()[0].sendall(b'world secret')
"""


def listener_as(uid):
    """A plain process of this uid on the host, which no filter keeps from listening."""
    child = subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                              lab.PYTHON, "-I", "-c", LISTENER], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    return child


@pytest.mark.parametrize("net", ["public", "none"])
def test_a_run_cannot_listen(net, alice):
    result = lab.python(LISTENER, net=net)
    assert result.status == "ok"
    assert result.out == b"PermissionError\n"
    # Positive control: without the filter the same user can.
    child = listener_as(alice)
    child.kill()
    child.communicate()


RECEIVER = """
import errno, socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(('0.0.0.0', 8099))
    s.settimeout(20)
    print('up', flush=True)
    word, peer = s.recvfrom(99)
    print('heard', word.decode(), flush=True)
    try:
        s.sendto(b'secret', peer)
        print('answered')
    except OSError as e:
        print(errno.errorcode[e.errno])
"""
SENDER = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(1.5)
    s.sendto(b'knock', ('198.51.100.1', 8099))
    try: print(s.recv(99).decode())
    except OSError as e: print(type(e).__name__)
"""


def test_a_run_hears_a_datagram_from_outside_and_cannot_answer(alice):
    """Decision 7: towards a socket that is bound UDP is one-way input; answers are refused."""
    net = ["nsenter", f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net", "--"]
    live = lab.start([lab.PYTHON, "-Iuc", RECEIVER], net="public")
    live.until("out")
    assert lab.command(*net, lab.PYTHON, "-c", SENDER).stdout == "TimeoutError\n"
    words = live.finish().out.decode().split()
    assert words[:3] == ["up", "heard", "knock"] and words[3] in REFUSALS | {"answered"}, words
    # Positive control: it is the rules that keep the answer.
    with firewall.rules_out(firewall.JUMP):
        argv = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON, "-Iuc",
                RECEIVER]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "up\n"
            assert lab.command(*net, lab.PYTHON, "-c", SENDER).stdout == "secret\n"
            child.communicate()


def test_a_run_without_network_hears_nothing():
    net = ["nsenter", f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net", "--"]
    live = lab.start([lab.PYTHON, "-Iuc", RECEIVER.replace("(20)", "(2)")], net="none")
    live.until("out")
    assert lab.command(*net, lab.PYTHON, "-c", SENDER).stdout in ("TimeoutError\n",
                                                                  "ConnectionRefusedError\n")
    assert b"heard" not in live.finish().out


def test_a_listener_of_the_range_cannot_be_reached(alice):
    child = listener_as(alice)
    try:
        client = "import socket; s = socket.create_connection(('198.51.100.1', 8099), 1.5); " \
                 "print(s.recv(100))"
        net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
        result = lab.command("nsenter", net, "--", lab.PYTHON, "-c", client, check=False)
        assert result.returncode != 0
        assert "secret" not in result.stdout
    finally:
        child.kill()
        child.communicate()
    # Positive control: the host's own answerer on that address is reached from there.
    assert lab.command("nsenter", net, "--", "lab-probe", "tcp", "198.51.100.1").returncode == 0


def test_a_connection_from_before_the_rules_is_cut(alice):
    code = ("import os, socket, sys\n"
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('10.9.0.2', 7778))\n"
            "s.settimeout(1.5)\n"
            "def ask():\n"
            "    try: s.send(b'?'); return s.recv(99).decode().strip()\n"
            "    except OSError as e: return 'refused'\n"
            "for _ in sys.stdin: print(ask(), flush=True)")
    argv = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON, "-I",
            "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        with firewall.rules_out(firewall.JUMP):
            client.stdin.write("\n")
            client.stdin.flush()
            assert client.stdout.readline() == "world 10.9.0.2\n"
        assert client.communicate("\n")[0] == "refused\n"


def test_reloading_never_opens_a_gap(alice):
    """Connect in a loop while the rules are loaded again and again: not one attempt arrives."""
    code = ("import json, socket, time\n"
            "end, tries, reached = time.monotonic() + 4, 0, 0\n"
            "while time.monotonic() < end:\n"
            "    tries += 1\n"
            "    try:\n"
            "        socket.create_connection(('10.9.0.2', 7777), 1).close(); reached += 1\n"
            "    except OSError: pass\n"
            "print(json.dumps([tries, reached]))")
    argv = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON, "-I",
            "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as client:
        while client.poll() is None:
            os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
            lab.eventually(lambda: all(lab.jump_is_first(family) for family in lab.FAMILIES))
        tries, reached = json.loads(client.stdout.read())
    assert tries > 100
    assert reached == 0
    for family in lab.FAMILIES:
        assert len([line for line in lab.rules(family) if "--uid-owner" in line]) == 1
