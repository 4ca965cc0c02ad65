# SPDX-License-Identifier: ISC
# test_doctor_attacks.py - the doctor's throw-away participants: what they may be, and what is left.
#
# The attack program has its positive control here: as a plain account of the host it reaches what a
# run and a session are refused. Which check fails when a protection is gone is in tests/sabotage.
import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time

import firewall
import lab
import pytest

ATTACK = "/usr/lib/atelier/attack"
SOCKET = "/run/atelier/session.sock"
UIDS = range(59910, 59914)
PLACES = ("/run", "/etc", "/root", "/home", "/var/lib", "/tmp", "/dev/shm", "/var/tmp")
SHM_KEY = 0x61746C64
# Of common/session_wire.h.
OPEN, DOCTOR, PROBE, OPENED, DENIED, BEGUN, STARTED, ENDED = 1, 4, 5, 64, 66, 67, 68, 69
WORDS_SIZE = 8192
ENDED_SIZE_LEAST = 200


def checks():
    listed = json.loads(lab.command("atelier", "doctor", "--list", "--json").stdout)["checks"]
    return [check["id"] for check in listed
            if check["group"] in ("attack", "isolation") or check["id"].startswith("net-")]


def doctor(*args):
    result = lab.command("atelier", "doctor", "--json", *args, check=False)
    assert result.returncode in (0, 1), result.stderr
    return {line["id"]: line for line in json.loads(result.stdout)["checks"]}


def attack(*argv, uid):
    """What it says, as {(name, target): line}."""
    said = lab.command("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", ATTACK,
                       *argv, check=False, stdin=subprocess.DEVNULL, cwd="/tmp").stdout
    lines = [line.split(" ", 4) for line in said.splitlines()]
    return {(line[0], line[1]): line[2:] for line in lines}


# ---- the program, where nothing holds it

REACHED = [
    ("calls", name) for name in
    ("userns", "clone3", "io_uring", "add_key", "keyctl", "request_key", "ptrace", "vm_read",
     "pidfd_getfd", "personality", "handle", "lease")
] + [("entries", "high-netlink"), ("sockets", "netlink-diag"), ("sockets", "netlink-uevent"),
     ("families", "unix"), ("listen", "tcp"), ("ptys", "all"), ("links", "others"),
     ("linger", "process"), ("environment", "others")]


@pytest.fixture(scope="module")
def plain(bob):
    return attack("calls", "--", "entries", "--", "sockets", "--", "families", "--", "listen", "--",
                  "ptys", "20", "--", "links", "--", "setids", "--", "core", "--", "environment",
                  "--", "tcp", "127.0.0.1:7777", "[::1]:7777", "203.0.113.5:7777", "--",
                  "udp", "127.0.0.1:7778", "lo/255.255.255.255:9", "--", "tcp", "lo/10.255.255.77:9",
                  "--", "read", "/etc/passwd", "/etc/shadow", "--", "linger", "--",
                  "fill", "/tmp/attack-test", "3", "--", "memory", "64", "--", "forks", "20",
                  uid=bob)


@pytest.mark.parametrize("what", REACHED, ids="/".join)
def test_it_reaches_what_a_plain_account_may(plain, what):
    assert plain[what][:2] == ["reached", "-"]


def test_it_tells_who_answers_from_who_does_not(plain):
    for target in ("127.0.0.1:7777", "[::1]:7777", "203.0.113.5:7777"):
        assert plain["tcp", target][0] == "reached" and plain["tcp", target][2].startswith("host ")
    assert plain["udp", "127.0.0.1:7778"][0] == "reached"
    assert plain["udp", "lo/255.255.255.255:9"][:3] == ["reached", "-", "sent"]
    assert plain["tcp", "lo/10.255.255.77:9"][:2] == ["refused", "ETIMEDOUT"]
    assert plain["read", "/etc/passwd"][:2] == ["reached", "-"]
    assert plain["read", "/etc/shadow"][:2] == ["refused", "EACCES"]


def test_floods_come_through_where_nothing_holds_them(plain):
    assert plain["fill", "/tmp/attack-test"] == ["reached", "-", "3 MiB"]
    assert plain["memory", "all"] == ["reached", "-", "64 MiB"]
    assert plain["forks", "all"] == ["reached", "-", "20"]


def test_set_uid_programs_are_seen_to_raise(plain):
    raised = [line for (name, _), line in plain.items() if name == "setids"]
    assert raised and all(line[0] == "reached" for line in raised), raised


def test_nothing_of_it_is_left_on_the_host(plain, bob):
    """But for a process that ends by itself; here it is ended."""
    for each in lab.procs_of_uid(bob):
        assert each.comm == "attack-linger"
        lab.die_alone(each.pid)
    assert not [name for name in os.listdir("/tmp") if name.startswith("attack")]


def test_one_that_dies_is_told(bob):
    said = lab.command("prlimit", "--cpu=1:1", "setpriv", "--reuid", str(bob), "--regid", str(bob),
                       "--clear-groups", ATTACK, "loop", "--", "see", "/etc/passwd",
                       check=False).stdout
    assert said.splitlines() == ["loop begun reached -", "loop - died SIGKILL",
                                 "see /etc/passwd reached -"]
    assert lab.command(ATTACK, "no-such-attack", check=False).returncode == 2


# ---- the whole of it

@pytest.fixture(scope="module")
def whole():
    return doctor(*checks())


def may_warn(name):
    return (name == "receipt" and lab.health()["cgroup_mode"] == "none") or \
        (name == "abstract-sockets" and lab.health()["landlock_abi"] < 6)


def test_every_attack_is_stopped(whole):
    assert len(whole) == 34
    for name, line in whole.items():
        assert line["verdict"] in (("pass", "warn") if may_warn(name) else ("pass",)), line


@pytest.fixture(scope="module")
def some(request):
    """One doctor for those that were chosen."""
    return doctor(*(item.callspec.params["name"] for item in request.session.items
                    if item.originalname == "test_a_check_passes"))


@pytest.mark.parametrize("name", ["io-uring", "net-loopback", "net-private", "net-ipv6", "receipt",
                                  "other-processes", "file-bomb", "memory-bomb", "set-uid", "mounts",
                                  "persistence", "fork-bomb"])
def test_a_check_passes(some, name):
    """Those that tests/sabotage sees fail."""
    line = some[name]
    assert line["verdict"] == "pass" or (may_warn(name) and line["verdict"] == "warn"), line


def test_evidence_has_numbers(whole):
    assert re.search(r"after 1\.\d s; another participant's run took \d+ ms", whole["endless-loop"]["evidence"])
    if lab.health()["cgroup_mode"] == "none":
        assert "ended by a look of sessiond" in whole["memory-bomb"]["evidence"]
        assert re.search(r"ended by a look of sessiond; the policy gives 128|refused after 1\d\d",
                         whole["fork-bomb"]["evidence"])
    else:
        assert re.search(r"refused after 1\d\d; the policy gives 128", whole["fork-bomb"]["evidence"])
        assert re.search(r"; 51\d of 512 MiB at most", whole["memory-bomb"]["evidence"])
    assert re.search(r"after (\d+) MiB; the policy gives \1 MiB", whole["file-bomb"]["evidence"])
    assert re.search(r"16 terminals", whole["terminals"]["evidence"])


def test_set_uid_programs_of_root_are_executed_by_each_door(whole):
    """That they give nothing shows something only where the same uid, unconfined, gets euid 0."""
    programs, gain, roots = map(int, re.search(
        r"(\d+) programs .* nothing by three doors, .* unconfined (\d+) gain, (\d+) of them euid 0",
        whole["set-uid"]["evidence"]).groups())
    assert programs >= gain >= roots > 0


def test_a_stricter_policy_is_no_fault():
    path = "/etc/atelier/conf.d/90-doctor.conf"
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write("run {\n memory = 64M\n pids = 32\n tmp = 8M\n home = 8M\n var_tmp = 8M\n shm = 8M\n"
                   " wall = 1s\n wall_max = 2s\n}\n")
    try:
        lab.rules_restore()
        names = ("file-bomb", "fork-bomb", "endless-loop", "net-loopback")
        lines = doctor(*names)
        assert all(lines[name]["verdict"] == "pass" or may_warn(name) for name in names), lines
        assert re.search(r"after (\d) MiB; the policy gives \1 MiB", lines["file-bomb"]["evidence"])
    finally:
        os.unlink(path)
        lab.rules_restore()


# ---- nothing is left

def planted():
    return [f"{place}/{name}" for place in PLACES for name in os.listdir(place)
            if name.startswith("atelier-doctor.")]


def shared():
    with open("/proc/sysvipc/shm", encoding="ascii") as table:
        return [line for line in table if line.split()[0] == str(SHM_KEY)]


def leaves():
    """Control groups of the doctor's participants that hold a run or a session."""
    with open(f"/proc/{lab.service_pid('sessiond')}/cmdline", encoding="utf-8") as file:
        tops = re.findall(r"--cgroup(?:-lite|-v1=\w+)?=(/[^\0]*)", file.read())
    return [path for top in tops for uid in UIDS for path, _, _ in os.walk(f"{top}/u{uid}")
            if path != f"{top}/u{uid}"]


def left():
    return [*leaves(), *(each for uid in UIDS for each in lab.procs_of_uid(uid)), *planted(), *shared(),
            *(each for each in lab.processes() if each.comm in ("atelier-bait", lab.SESSION_INIT)),
            *os.listdir(lab.SESSION_RECORDS)]


def traces():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return (sorted(os.listdir(lab.HOMES)), lab.utmp_of(), lab.utmp_of(lab.WTMP),
                mounts.read(), lab.sessions(), lab.health()["status"])


def test_nothing_is_left(alice_home):
    before = traces()
    lines = doctor("net-loopback", "terminals", "fake-credentials")
    assert {line["verdict"] for line in lines.values()} == {"pass"}
    lab.eventually(lambda: not left(), 5)
    assert traces() == before


def ipc_of(uid):
    """Memory with the doctor's key, of this uid; it outlives its maker."""
    code = (f"import ctypes, os\nos.setuid({uid})\n"
            f"raise SystemExit(ctypes.CDLL(None).shmget({SHM_KEY}, 4096, 0o1666) < 0)")
    lab.command("/usr/bin/python3", "-c", code)


@pytest.mark.parametrize("uid, stays", [(lab.STRANGER, True), (0, False)])
def test_of_what_has_its_key_the_doctor_removes_but_roots(uid, stays):
    ipc_of(uid)
    try:
        line = doctor("shared-memory")["shared-memory"]
        assert bool(shared()) == stays
        assert line["verdict"] == ("unknown" if stays else "pass"), line
        assert ("somebody but root" in line["evidence"]) == stays
    finally:
        lab.command("ipcrm", "-M", str(SHM_KEY), check=False)
    assert not shared()


@contextlib.contextmanager
def at_work(*names):
    with subprocess.Popen(["atelier", "doctor", "--json", *names], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def sudo_sleep(uid):
    """Somebody else's process outside of everything."""
    with subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "sleep", "60"]) \
            as process:
        lab.eventually(lambda: lab.procs_of_uid(uid))
        yield process
        process.kill()


@contextlib.contextmanager
def foreign_file():
    """It has our prefix, and is not root's."""
    path = "/tmp/atelier-doctor.somebody"
    with open(path, "w", encoding="ascii"):
        os.chown(path, lab.STRANGER, -1)
    try:
        yield path
    finally:
        os.unlink(path)


def is_attacked(uid):
    return [each for each in lab.procs_of_uid(uid) if each.comm == "attack"]


@pytest.mark.parametrize("name, uid", [("endless-loop", 59911), ("terminals", 59910)])
def test_a_doctor_that_is_killed_leaves_nothing(name, uid):
    with at_work(name) as process:
        lab.eventually(lambda: is_attacked(uid), 20)
        if name == "terminals":
            lab.eventually(planted, 20)  # positive control of left()
        process.kill()
        lab.eventually(lambda: not left(), 5)
    assert doctor("net-ipv6")["net-ipv6"]["verdict"] == "pass"  # and the next one is let in


def test_a_loop_that_no_limit_ends_is_a_fault():
    with at_work("endless-loop") as process:
        loop = lab.eventually(lambda: is_attacked(59911), 20, every=0.002)
        lab.die_alone(loop[0].pid)
        line, = json.loads(process.stdout.read())["checks"]
    assert line["verdict"] == "fail" and "otherwise than by a limit" in line["evidence"], line


def keeper():
    return [each for each in lab.processes() if each.comm == "atelier-bait"]


def sweep():
    return lab.command("atelier", "doctor", "--sweep").stdout


@pytest.fixture
def orphans():
    """The doctor and its keeper are killed, and something of its participants' runs on: what it cannot see itself."""
    with at_work("terminals") as process:
        lab.eventually(lambda: keeper() and len(planted()) > len(PLACES) and shared(), 20)
        process.send_signal(signal.SIGSTOP)  # the order of their ends is ours
        assert "at work" in sweep() and len(planted()) > len(PLACES)  # while it lives, it stays
        lab.die_alone(keeper()[0].pid)
        process.kill()
    with subprocess.Popen(["setpriv", "--reuid", "59912", "--regid", "59912", "--clear-groups", "sleep", "60"]) \
            as participant:
        lab.eventually(lambda: lab.procs_of_uid(59912))
        yield participant
        participant.kill()


def test_what_a_doctor_and_its_keeper_leave_is_swept(orphans, alice):
    """By the command that atelier-doctor.service gives before its look, whenever sessiond starts (tst_units)."""
    lab.eventually(lambda: not keeper() and not leaves(), 5)
    left_behind = planted()
    assert len(left_behind) == len(PLACES) + 1 and shared()  # positive control; one is a socket
    with sudo_sleep(alice) as other, foreign_file() as foreign:
        said = sweep()
        assert orphans.wait(5) == -signal.SIGKILL
        assert other.poll() is None and os.path.exists(foreign)  # neither is a doctor's
        assert planted() == [foreign]
    assert not left()
    assert sorted(line.split()[-1] for line in said.splitlines() if " /" in line and "queue" not in line) == \
        sorted(left_behind)
    for word in ("shared memory", "semaphores", "a message queue", "the queue /atelier-doctor", "uid 59912"):
        assert word in said
    assert sweep() == ""


def test_the_sweep_is_for_root():
    result = lab.command("setpriv", "--reuid", str(lab.STRANGER), "--regid", str(lab.STRANGER),
                         "--clear-groups", "atelier", "doctor", "--sweep", check=False)
    assert (result.returncode, result.stdout) == (77, "")


def test_a_doctor_that_is_killed_during_a_session_leaves_nothing():
    with at_work("terminals") as process:
        lab.eventually(lab.inits, 20, every=0.002)
        process.kill()
        lab.eventually(lambda: not left(), 5)


@pytest.mark.parametrize("name, is_begun", [
    ("endless-loop", lambda: is_attacked(59911)), ("terminals", lab.inits)], ids=["run", "session"])
def test_the_end_of_sessiond_ends_it(name, is_begun):
    with at_work(name) as process:
        lab.eventually(is_begun, 20, every=0.002)
        lab.service("kill", "sessiond")
        lines = {line["id"]: line for line in json.loads(process.stdout.read())["checks"]}
    lab.bring_up()
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    # A session may have been over by then.
    assert lines[name]["verdict"] in ("unknown", "fail") + (("pass",) if name == "terminals" else ())
    lab.eventually(lambda: not left(), 10)


def test_rules_that_do_not_hold_are_found():
    with contextlib.ExitStack() as void:
        void.enter_context(firewall.rules_void("iptables"))
        time.sleep(1.1)  # a proof of the canary is good for a second
        line = doctor("net-loopback")["net-loopback"]
        assert line["verdict"] == "unknown" and "network rules hold" in line["evidence"], line
    lab.rules_restore()


# ---- the door

class Door:
    """A connection to session.sock that speaks as the doctor does."""

    def __init__(self, greet=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(10)
        self.sock.connect(SOCKET)
        self.begun = greet and self.ask(DOCTOR)

    def ask(self, kind, body=b"", tag=0, fds=()):
        head = struct.pack("<4I", 1, kind, 16 + len(body), tag)
        socket.send_fds(self.sock, [head + body], list(fds))
        return self.hear()

    def hear(self):
        """(type, tag, body), or None at the end of the connection."""
        try:
            data = self.sock.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        return (*struct.unpack_from("<4xI4xI", data), data[16:]) if data else None

    def probe(self, uid=59910, net=0, wall_ms=2000, words=("nap", "1"), tag=7, count=None, rest=b""):
        text = b"".join(word.encode("latin-1") + b"\0" for word in words) + rest
        body = struct.pack("<4I", uid, net, wall_ms, len(words) if count is None else count)
        read, write = os.pipe()
        try:
            return self.ask(PROBE, body + text.ljust(WORDS_SIZE, b"\0"), tag, [write])
        finally:
            os.close(write)
            os.close(read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def is_refusal(answer):
    """ENDED, which says that it never started."""
    return answer and answer[0] == ENDED and struct.unpack_from("<I", answer[2])[0] == 1


def test_what_a_doctor_asks_for_is_given():
    """Positive control of all that is refused below."""
    with Door() as door:
        assert door.begun[0] == BEGUN
        kind, tag, body = door.probe()
        assert (kind, tag) == (STARTED, 7) and len(body) > ENDED_SIZE_LEAST
        kind, tag, body = door.hear()
        assert (kind, tag, struct.unpack_from("<I", body)[0]) == (ENDED, 7, 0)


@pytest.mark.parametrize("asked", [
    {"uid": 0}, {"uid": 10000}, {"uid": 59899}, {"uid": 59900}, {"uid": 59909}, {"uid": 59914},
    {"uid": 59950}, {"wall_ms": 0}, {"wall_ms": 20001}, {"net": 2}, {"words": ()},
    {"words": ("nap", "1\n")}, {"words": ("n\xe4p",)}, {"count": 161}, {"count": 1},
    {"words": ("nap",), "count": 2, "rest": b"x" * (WORDS_SIZE - 4)}],
                         ids=lambda asked: str(asked)[:40])
def test_what_it_may_not_ask_for_is_refused(asked):
    with Door() as door:
        assert is_refusal(door.probe(**asked))
        assert door.probe()[0] == STARTED  # and the connection lives


def test_a_participant_cannot_be_asked_for(alice):
    with Door() as door:
        assert is_refusal(door.probe(uid=alice))


def test_a_tag_is_used_once_at_a_time():
    with Door() as door:
        assert door.probe(words=("nap", "1500"))[0] == STARTED
        assert is_refusal(door.probe())


def test_what_is_no_probe_ends_the_connection():
    for kind, body, fds in ((PROBE, b"short", 1), (OPEN, bytes(136), 0), (99, b"", 0)):
        with Door() as door:
            read, write = os.pipe()
            assert door.ask(kind, body, fds=[write][:fds]) is None
            os.close(read)
            os.close(write)
    assert lab.is_well()


def test_a_probe_needs_a_doctor():
    with Door(greet=False) as door:
        assert door.probe() is None


def login_of(uid):
    """The type of the answer to a login of this uid: by a process of its own, which is moved into the
    session's control group, and ends with it."""
    code = (f"import socket, struct\nsock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            f"sock.settimeout(10)\nsock.connect({SOCKET!r})\n"
            f"sock.send(struct.pack('<6I', 1, {OPEN}, 152, 0, {uid}, 0) + bytes(128))\n"
            "print(struct.unpack_from('<4xI', sock.recv(1 << 16))[0])\n")
    return int(lab.command(lab.PYTHON, "-I", "-c", code).stdout)


def test_a_session_of_its_uids_needs_a_doctor_at_work():
    assert login_of(59910) == DENIED
    with Door():
        assert login_of(59910) == OPENED  # positive control
        assert login_of(59900) == DENIED
    assert login_of(59910) == DENIED
    lab.eventually(lambda: not left(), 10)


def test_one_at_a_time():
    with Door() as first:
        assert first.begun[0] == BEGUN
        with Door() as second:
            assert second.begun[0] == DENIED
        line = doctor("net-ipv6")["net-ipv6"]
        assert line["verdict"] == "unknown" and "another doctor is at work" in line["evidence"]
    lab.eventually(lambda: doctor("net-ipv6")["net-ipv6"]["verdict"] == "pass", 5)


def test_only_root_is_a_doctor():
    """By the peer: the mode of the socket is not all that there is."""
    code = (f"import socket, struct\nsock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            f"sock.connect({SOCKET!r})\n"
            f"try:\n sock.send(struct.pack('<4I', 1, {DOCTOR}, 16, 0)); print(len(sock.recv(9999)))\n"
            "except OSError: print(0)\n")
    mode = os.stat(SOCKET).st_mode & 0o7777
    os.chmod(SOCKET, 0o666)
    try:
        said = [lab.command("setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", lab.PYTHON,
                            "-I", "-c", code).stdout for uid in (str(lab.STRANGER), "0")]
    finally:
        os.chmod(SOCKET, mode)
    assert said[0] == "0\n" and int(said[1]) > ENDED_SIZE_LEAST


def test_the_log_says_that_it_was_the_doctor():
    begun, told = (lab.sessiond_says(words) for words in ("doctor: it begins", "doctor: a run of"))
    with Door() as door:
        door.probe()
    assert lab.sessiond_says("doctor: it begins") == begun + 1
    assert lab.sessiond_says("doctor: a run of") == told + 1


def test_its_end_by_a_signal_is_its_end():
    with at_work("endless-loop") as process:
        lab.eventually(lambda: is_attacked(59911), 20)
        process.send_signal(signal.SIGINT)
        process.wait(10)
        lab.eventually(lambda: not left(), 5)
