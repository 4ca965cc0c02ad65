# SPDX-License-Identifier: ISC
# test_egress.py - section network of the policy: what it denies, what alone it lets through.
import contextlib
import ipaddress
import os
import re
import shutil
import signal
import subprocess

import dns
import lab
import pytest
import test_network as runs
from test_policy import LOG, log_from

CONF = "/etc/atelier/conf.d"
FILE = f"{CONF}/90-egress.conf"
WORLD4, WORLD6, PRIVATE, CLOUD = "198.51.100.2", "2001:db8:1::2", "10.9.0.2", "168.63.129.16"
WITHIN_S = 15


def reload():
    """SIGHUP; where the log is before it. Names are looked up with it."""
    offset = os.path.getsize(LOG)
    os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
    lab.eventually(lambda: "network rules loaded again" in log_from(offset), WITHIN_S)
    return offset


def policy(text):
    os.makedirs(CONF, mode=0o755, exist_ok=True)
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(FILE, 0o644)
    offset = reload()
    assert "policy read again" in log_from(offset)
    return offset


@pytest.fixture(autouse=True)
def policy_goes():
    yield
    if os.path.exists(FILE):
        shutil.rmtree(CONF)
        reload()


@contextlib.contextmanager
def world_has(*addresses):
    """Public addresses that the world answers on, too; the host's default routes lead there."""
    world = ["nsenter", f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net", "--"]
    for address in addresses:
        bits = 128 if ":" in address else 32
        subprocess.run([*world, "ip", "addr", "add", f"{address}/{bits}", "dev", "lo"], check=True)
    listeners = []
    for address in addresses:
        code = ("import socket, sys\n"
                "s = socket.create_server((sys.argv[1], 7777),"
                " family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"
                "print('up', flush=True)\n"
                "while True:\n"
                "    c = s.accept()[0]\n"
                "    c.sendall(b'world ' + sys.argv[1].encode() + b'\\n')\n"
                "    c.close()\n")
        listeners.append(subprocess.Popen([*world, lab.PYTHON, "-I", "-c", code, address],
                                          stdout=subprocess.PIPE, text=True))
        assert listeners[-1].stdout.readline() == "up\n"
    try:
        yield
    finally:
        for listener in listeners:
            listener.kill()
            listener.communicate()
        for address in addresses:
            bits = 128 if ":" in address else 32
            subprocess.run([*world, "ip", "addr", "del", f"{address}/{bits}", "dev", "lo"], check=True)


def reaches(uid, address):
    """By a plain process of this uid, which the rules hold as they hold a run."""
    word, _ = runs.probe_as(uid, "tcp", address)[address]
    assert word == f"world {address}" or word in runs.REFUSALS, word
    return runs.is_reached(word)


def eventually_reaches(uid, address, wanted=True):
    lab.eventually(lambda: reaches(uid, address) == wanted, WITHIN_S, 0.1)


def why(address):
    """The reasons that alice is told to have been refused for; other tests have theirs in an hour, too."""
    answer = lab.api("GET", "/v1/network")
    return {row["reason"] for row in answer.body["refused"]
            if (row["user"], row["address"]) == ("alice", address)}


# ---- deny

def test_a_public_address_that_the_policy_denies_is_refused(alice):
    with world_has(CLOUD):
        assert reaches(alice, CLOUD)  # positive control: it looks public
        assert lab.python(runs.PROBE, "tcp", CLOUD, net="public").json()[CLOUD][0] == f"world {CLOUD}"
        before = lab.run(["/bin/true"]).receipt["net_revision"]
        policy(f'network {{ deny = {{"{CLOUD}", "2001:db8:5::/48"}} }}')
        result = lab.python(runs.PROBE, "tcp", CLOUD, WORLD4, WORLD6, net="public")
        got = {address: word for address, (word, _) in result.json().items()}
        assert got.pop(CLOUD) in runs.REFUSALS
        assert "deny" in why(CLOUD)
        assert got == {WORLD4: f"world {WORLD4}", WORLD6: f"world {WORLD6}"}
        assert result.receipt["net_revision"] != before
        assert reaches(0, CLOUD)
        shutil.rmtree(CONF)
        reload()
        assert reaches(alice, CLOUD)
        assert lab.run(["/bin/true"]).receipt["net_revision"] == before


def test_a_wrong_section_changes_nothing(alice):
    before = lab.rules("iptables", "ATELIER")
    os.makedirs(CONF, mode=0o755, exist_ok=True)
    with open(FILE, "w", encoding="utf-8") as file:
        file.write('network {\n deny = {"198.51.100.2"}\n egress = listed\n allow = {"10.9.0.2"}\n}\n')
    said = log_from(reload())
    assert f"{FILE}:4: network: allow: '10.9.0.2' is refused for everybody" in said
    assert lab.rules("iptables", "ATELIER") == before
    assert reaches(alice, WORLD4)


def test_networks_of_the_host_are_refused_if_the_policy_says_so(alice):
    """The lab's world is on the host's own link, as a neighbour of it would be."""
    assert reaches(alice, WORLD4) and reaches(alice, WORLD6)
    with world_has("192.0.2.9"):
        policy("network { deny_on_link = true }")
        assert not reaches(alice, WORLD4) and not reaches(alice, WORLD6)
        assert reaches(alice, "192.0.2.9")  # behind a gateway
        assert "on-link" in why(WORLD4) & why(WORLD6)
        assert reaches(0, WORLD4) and reaches(0, WORLD6)
        # What comes and goes is followed.
        subprocess.run(["ip", "route", "add", "192.0.2.0/24", "dev", "lab0"], check=True)
        try:
            lab.eventually(lambda: any("192.0.2.0/24" in line
                                       for line in lab.rules("iptables", "ATELIER")), WITHIN_S)
            assert not reaches(alice, "192.0.2.9")
        finally:
            subprocess.run(["ip", "route", "del", "192.0.2.0/24", "dev", "lab0"], check=True)
        eventually_reaches(alice, "192.0.2.9")
    lines = lab.rules("iptables", "ATELIER")
    assert not any("-d 10.9.0.0/24 " in line for line in lines)  # refused anyway


# ---- what is listed

def test_of_a_list_only_that_is_reached(alice):
    with world_has("192.0.2.9"):
        policy(f'network {{ egress = listed\n allow = {{"192.0.2.0/24:7777", "[{WORLD6}]:80"}} }}')
        got = lab.python(runs.PROBE, "tcp", "192.0.2.9", WORLD4, WORLD6, PRIVATE, "127.0.0.1",
                         net="public").json()
        assert got.pop("192.0.2.9")[0] == "world 192.0.2.9"
        assert {word for word, _ in got.values()} <= runs.REFUSALS
        assert reaches(0, WORLD4)
        policy(f'network {{ egress = listed\n allow = {{"{WORLD6}"}} }}')
        assert reaches(alice, WORLD6) and not reaches(alice, "192.0.2.9")
        policy("network { egress = listed }")
        assert not reaches(alice, WORLD6) and not reaches(alice, WORLD4)


# ---- the resolver

ASK = """
import errno, socket, struct, sys
question = b"".join(bytes([len(part)]) + part for part in (b"data", b"example")) + b"\\0\\0\\1\\0\\1"
query = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + question
for word in sys.argv[1:]:
    address, kind, port = word.split(",")
    try:
        with socket.socket(type=socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect((address, int(port)))
            s.sendall(query if kind == "udp" else struct.pack("!H", len(query)) + query)
            said = s.recv(512)
            print("answered" if b"ab" in said[:4] else "reached")
    except TimeoutError:
        print("ETIMEDOUT")
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
"""
OTHER = "172.16.9.2"


@pytest.fixture
def private_resolver():
    """Two servers of names in private networks; sessiond is told of the first."""
    servers = [dns.Resolver(PRIVATE), dns.Resolver(OTHER)]
    try:
        for server in servers:
            server.zone(data_example={"addresses": [WORLD4]})
            server.start()
        lab.service("restart", "sessiond", "--", "--resolver", PRIVATE)
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        yield
    finally:
        for server in servers:
            server.stop()
        lab.service("restart", "sessiond")
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        lab.eventually(lambda: lab.health()["net_connections"], lab.UP_WITHIN_S)  # after its first look


def test_of_a_private_server_of_names_port_53_is_open_and_of_another_nothing(private_resolver):
    asked = [f"{PRIVATE},udp,53", f"{PRIVATE},tcp,53", f"{OTHER},udp,53", f"{OTHER},tcp,53",
             f"{PRIVATE},tcp,7777", f"{PRIVATE},udp,7778"]
    root = lab.command(lab.PYTHON, "-c", ASK, *asked).stdout.split()
    assert root == ["answered"] * 4 + ["reached"] * 2  # positive control: all of them are there
    run = lab.python(ASK, *asked, net="public").out.decode().split()
    with lab.Session("alice") as live:
        session = live.python(ASK, *asked).stdout.split()
    for said in (run, session):
        assert said[:2] == ["answered"] * 2, said
        assert set(said[2:]) <= runs.REFUSALS and len(said) == len(asked), said
    # And it is the one that the C library asks.
    code = "import socket\nprint(socket.gethostbyname('data.example'))"
    assert lab.python(code, net="public").out.decode().split() == [WORLD4]


# ---- names

@pytest.fixture(scope="module")
def resolver():
    server = dns.Resolver()
    server.zone()
    server.start()
    lab.service("restart", "sessiond", "--", "--resolver", dns.ADDRESS)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    yield server
    server.stop()
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    lab.eventually(lambda: lab.health()["net_connections"], lab.UP_WITHIN_S)  # after its first look


def listed(*names):
    return "network { egress = listed\n allow = {" + ", ".join(f'"{name}"' for name in names) + "} }"


def shown():
    """{name: (state, set of addresses, rest)} as the admin sees it."""
    found = {}
    for line in lab.atelier("policy", "names").stdout.splitlines():
        name, rest = line.split(None, 1)
        addresses = {word for word in rest.split() if re.fullmatch(r"[0-9a-f:.]*[.:][0-9a-f:.]*", word)}
        found[name] = rest, addresses
    return found


def test_a_name_is_what_its_answer_says_and_follows_it(resolver, alice):
    with world_has("192.0.2.9", "2001:db8:77::9"):
        resolver.zone(data_example={"addresses": [WORLD4]}, other_example={"addresses": [WORLD6]})
        policy(listed("data.example:7777"))
        eventually_reaches(alice, WORLD4)
        assert not reaches(alice, WORLD6) and not reaches(alice, "192.0.2.9")
        # It moves, to the other family as well; the old one stays for connections that use it.
        resolver.zone(data_example={"addresses": ["192.0.2.9", "2001:db8:77::9"]})
        reload()
        eventually_reaches(alice, "192.0.2.9")
        assert reaches(alice, "2001:db8:77::9") and reaches(alice, WORLD4)
        assert shown()["data.example"][1] == {WORLD4, "192.0.2.9", "2001:db8:77::9"}
        # A run asks the same resolver, and reaches what it is told.
        code = ("import socket\ns = socket.create_connection(('data.example', 7777), 5)\n"
                "print(s.recv(99).decode().strip())")
        assert lab.python(code, net="public").out.decode().strip().startswith("world ")


def test_a_name_that_points_inside_opens_nothing(resolver, alice):
    resolver.zone(data_example={"addresses": [PRIVATE, "127.0.0.1", "169.254.169.254", "::1", "fd00:9::2",
                                              WORLD4]})
    offset = policy(listed("data.example"))
    eventually_reaches(alice, WORLD4)
    for address in (PRIVATE, "127.0.0.1", "169.254.169.254", "::1", "fd00:9::2"):
        word, _ = runs.probe_as(alice, "tcp", address)[address]
        assert word in runs.REFUSALS
    assert reaches(0, PRIVATE)
    assert "has an address that is refused" in log_from(offset)
    state, addresses = shown()["data.example"]
    assert addresses == {WORLD4} and "(5 refused)" in state
    lines = "\n".join(lab.rules("iptables", "ATELIER") + lab.rules("ip6tables", "ATELIER"))
    assert f"-d {PRIVATE}/32" not in lines and "-d fd00:9::2/128" not in lines
    # What the policy denies is no exception.
    policy(f'network {{ deny = {{"{WORLD4}"}}\n egress = listed\n allow = {{"data.example"}} }}')
    eventually_reaches(alice, WORLD4, False)
    lab.eventually(lambda: shown()["data.example"][1] == set(), WITHIN_S)


def lookups():
    return [process.pid for process in lab.processes() if process.comm == "resolve"]


def test_without_an_answer_the_old_one_stays(resolver, alice):
    resolver.zone(data_example={"addresses": [WORLD4]})
    policy(listed("data.example"))
    eventually_reaches(alice, WORLD4)
    resolver.zone(data_example="servfail")
    offset = reload()
    lab.eventually(lambda: "no answer" in shown()["data.example"][0], WITHIN_S)
    assert "cannot be looked up: no answer; what it was stays" in log_from(offset)
    assert reaches(alice, WORLD4)
    resolver.stop()
    reload()
    lab.eventually(lambda: not lookups(), WITHIN_S)
    assert reaches(alice, WORLD4)
    # Nor is it lost when sessiond starts again.
    lab.service("restart", "sessiond", "--", "--resolver", dns.ADDRESS)
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert reaches(alice, WORLD4)
    resolver.zone(data_example={"addresses": [WORLD4]})
    resolver.start()
    offset = reload()
    lab.eventually(lambda: "is found again" in log_from(offset), 30)


def test_a_name_that_is_gone_and_one_that_never_was(resolver, alice):
    resolver.zone(data_example={"addresses": [WORLD4]})
    policy(listed("data.example", "never.example"))
    eventually_reaches(alice, WORLD4)
    lab.eventually(lambda: "has no address" in shown()["never.example"][0], WITHIN_S)
    resolver.zone()
    reload()
    lab.eventually(lambda: "has no address" in shown()["data.example"][0], WITHIN_S)
    assert reaches(alice, WORLD4)  # for a while
    assert not reaches(alice, WORLD6)


def test_a_name_with_512_addresses_and_one_that_goes_on_by_cname(resolver, alice):
    many = [str(ipaddress.ip_address("203.0.113.0") + i % 256) if i < 256
            else str(ipaddress.ip_address("192.0.2.0") + i - 256) for i in range(512)]
    resolver.zone(wild_example={"addresses": many}, alias_example={"cname": "real.example"},
                  real_example={"addresses": [WORLD4]}, loop_example={"cname": "other.example"})
    offset = policy(listed("wild.example:7777", "alias.example:7777", "loop.example:7777"))
    eventually_reaches(alice, WORLD4)
    lab.eventually(lambda: "left out" in shown()["wild.example"][0], WITHIN_S)
    assert len(shown()["wild.example"][1]) == 32
    assert shown()["alias.example"][1] == {WORLD4}
    lab.eventually(lambda: len(lab.rules("iptables", "ATELIER")) > 64, WITHIN_S)
    assert sum("--dport 7777" in line for line in lab.rules("iptables", "ATELIER")) == 2 * 33
    assert "more addresses than there is room for" in log_from(offset)


def test_the_program_that_looks_names_up_has_no_right_and_an_end(resolver, alice):
    """It is caught while nobody answers it."""
    resolver.zone(data_example={"addresses": [WORLD4]})
    policy(listed("data.example"))
    eventually_reaches(alice, WORLD4)
    resolver.zone(data_example="silent")
    reload()
    pid = lab.eventually(lookups, WITHIN_S)[0]
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    assert status["Uid"].split() == ["59949"] * 4 and status["Gid"].split() == ["59949"] * 4
    assert status["Groups"].strip() == ""
    assert {status[key] for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert lab.command("readlink", f"/proc/{pid}/exe").stdout.strip() == "/usr/lib/atelier/resolve"
    assert set(os.listdir(f"/proc/{pid}/fd")) >= {"0", "1", "2"}
    # sessiond goes on meanwhile: it waits for nobody.
    assert lab.run(["/bin/true"]).status == "ok"
    assert lookups() == [pid]
    lab.eventually(lambda: "no answer" in shown()["data.example"][0], 30)
    assert lookups() == [] and reaches(alice, WORLD4)
