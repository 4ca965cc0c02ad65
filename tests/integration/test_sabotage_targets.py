# SPDX-License-Identifier: ISC
# test_sabotage_targets.py - every protection of a login in one small test of its own.
#
# tests/sabotage takes each of them away and sees the test named for it fail, so a test here asks
# for one thing, and where it can it asks the kernel from outside: a program in a login whose filter
# is missing would not even start, because the login shell looks for it too.
import contextlib
import ctypes
import os
import shlex
import socket
import struct

import lab
import pytest

PAM_SOCKET = "/run/atelier/pam.sock"
ASK = struct.Struct("=4I32s32s64s512s")  # common/pam_wire.h
ANSWER = struct.Struct("=4I")
VERSION, AUTHENTICATE, ACCOUNT = 1, 1, 2
VERDICTS = ("denied", "allowed", "expired", "busy", "unavailable")
LANDLOCK_CREATE_RULESET = 444
ABI_WITH_SCOPE = 6
ABSTRACT = "\0lab-abstract"
SHARED = ("net", "user")  # with the host, by design

CONNECT = """
import errno, socket
try:
    socket.socket(socket.AF_UNIX).connect(%r)
    print("works")
except OSError as error:
    print(errno.errorcode[error.errno])
"""
PORT, CLIENTS, WHILE_S = 8099, 40, 1.5
LISTENER = """
import signal, socket
listener = socket.create_server(('0.0.0.0', %d), backlog=0)
print('up', flush=True)
signal.pause()
""" % PORT
CLIENT = """
import select, socket, sys, time
new, end = [socket.socket() for _ in range(%d)], time.monotonic() + %f
for s in new:
    s.setblocking(False)
    s.connect_ex(('198.51.100.1', int(sys.argv[1])))
came_up = 0
while new and end > time.monotonic():
    for s in select.select([], new, [], end - time.monotonic())[1]:
        new.remove(s)
        came_up += s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
print(came_up)
""" % (CLIENTS, WHILE_S)
KEYCTL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
print("works" if libc.syscall(250, 0, -3, 0) >= 0 else errno.errorcode[ctypes.get_errno()])
"""


def ask(question, name, secret=""):
    """What a login's process asks sessiond-api, as root; a word of VERDICTS."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(10)
        sock.connect(PAM_SOCKET)
        sock.send(ASK.pack(VERSION, question, ASK.size, 0, name.encode(), b"atelier-sshd",
                           b"198.51.100.2", secret.encode()))
        version, answered, size, verdict = ANSWER.unpack(sock.recv(4096))
    assert (version, answered, size) == (VERSION, question, ANSWER.size)
    return VERDICTS[verdict]


def authenticate(name, secret):
    return ask(AUTHENTICATE, name, secret)


def mint(user="alice", **more):
    answer = lab.api("POST", "/v1/links", {"user": user, **more})
    assert answer.status == 201, answer
    return answer.body


def state_of(link):
    links = lab.api("GET", "/v1/links").body["links"]
    return next(each["state"] for each in links if each["id"] == link["id"])


def lock(user, is_locked):
    answer = lab.api("PATCH", f"/v1/users/{user}", {"locked": is_locked})
    assert answer.status == 200, answer


# ---- codes

def test_a_code_opens_one_login():
    link = mint()
    assert authenticate("alice", link["code"]) == "allowed"
    assert authenticate("alice", link["code"]) == "denied"
    assert authenticate("alice", link["link"]) == "denied"
    assert state_of(link) == "used"


def test_a_link_of_the_browser_opens_no_ssh():
    web, ssh = mint(purpose="web"), mint(purpose="ssh")
    assert authenticate("alice", web["code"]) == "denied"
    assert authenticate("alice", web["link"]) == "denied"
    assert state_of(web) == "open"
    assert authenticate("alice", ssh["code"]) == "allowed"


def test_a_code_is_bound_to_its_user():
    link = mint("carol")
    assert authenticate("alice", link["code"]) == "denied"
    assert state_of(link) == "open"
    assert authenticate("carol", link["code"]) == "allowed"


def test_a_locked_user_uses_no_code_up():
    link = mint("carol")
    lock("carol", True)
    try:
        assert authenticate("carol", link["code"]) == "denied"
        assert state_of(link) == "open"
        assert ask(ACCOUNT, "carol") == "denied"
    finally:
        lock("carol", False)
    assert ask(ACCOUNT, "carol") == "allowed"
    assert authenticate("carol", link["code"]) == "allowed"


# ---- logins

class Login:
    """A live login of alice; without a command it is sshd's own processes and nothing else."""

    def __init__(self, *command):
        known = {session["id"] for session in lab.sessions("alice")}
        self.client = lab.ssh_popen("alice", mint()["code"], *command,
                                    flags=() if command else ("-N",))
        try:
            self.session = lab.eventually(lambda: self.find(known), 10)
            self.receipt = self.session["receipt"]
            # The part of sshd that belongs to the participant, and was confined by its parent.
            self.pid = lab.eventually(self.find_part).pid
        except BaseException:
            self.close()
            raise

    def find(self, known):
        assert self.client.poll() is None, self.client.stderr.read()
        return next((each for each in lab.sessions("alice") if each["id"] not in known), None)

    def find_part(self):
        return next((each for each in lab.procs_of_uid(self.session["uid"])
                     if each.ppid == self.session["pid"]), None)

    def is_listed(self):
        return self.session["id"] in [each["id"] for each in lab.sessions("alice")]

    def status(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as text:
            return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)

    def close(self):
        self.client.kill()
        self.client.communicate()


def login(*command):
    return contextlib.closing(Login(*command))


def says(code, timeout=60):
    """What a program prints in a login of alice."""
    result = lab.ssh("alice", mint()["code"], lab.PYTHON, "-I", "-", input=code, timeout=timeout)
    assert result.returncode == 0, result
    return result.stdout.strip()


def says_outside(code, uid):
    """The same by a process with alice's ids outside of every session."""
    return lab.command("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", lab.PYTHON,
                       "-I", "-", input=code).stdout.strip()


def test_a_login_works(alice):
    result = lab.ssh("alice", mint()["code"], "id", "-u")
    assert (result.returncode, result.stdout) == (0, f"{alice}\n"), result


def test_a_live_login_is_listed():
    with login("echo up; exec cat") as live:
        assert live.client.stdout.readline() == "up\n"


def test_a_login_is_in_the_namespaces_of_its_session(alice):
    with login() as live:
        for name in ("mnt", "pid", "ipc", "uts", "cgroup", "net", "user"):
            host, own = (os.stat(f"/proc/{pid}/ns/{name}").st_ino for pid in ("self", live.pid))
            assert (own == host) is (name in SHARED), name
            assert live.receipt["namespaces"][name] == {"inode": own, "own": own != host}, name
        assert lab.Process(live.pid).uid == alice


def test_a_login_has_no_capability():
    with login() as live:
        status = live.status()
        for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert status[key] == "0" * 16, key
        for field in ("inheritable", "bounding", "ambient"):
            assert live.receipt["capabilities"][field] == "0" * 16, field


def test_a_login_gains_no_privileges():
    with login() as live:
        assert live.status()["NoNewPrivs"] == "1"
        assert live.receipt["no_new_privs"] == 1


def test_the_filter_of_a_login_is_loaded():
    with login() as live:
        assert live.status()["Seccomp"] == "2"
        assert live.receipt["seccomp"] == 2
        assert live.receipt["seccomp_filters"] == int(live.status()["Seccomp_filters"])


def test_a_login_is_refused_a_dangerous_call(alice):
    assert says(KEYCTL) in ("EPERM", "ENOSYS")
    assert says_outside(KEYCTL, alice) == "works"


def limits_of_a_run():
    return lab.run(["/bin/true"]).receipt["rlimits"]


def test_the_limits_of_a_login_are_those_of_a_run():
    """At most: the host's own limits of logins come on top."""
    with login() as live, open(f"/proc/{live.pid}/limits", encoding="ascii") as text:
        lines = {line[:26].strip(): line[26:].split()[:2] for line in text}
        wanted = limits_of_a_run()
        for key, name in (("nproc", "Max processes"), ("nofile", "Max open files")):
            limit = live.receipt["rlimits"][key]
            assert lines[name] == [str(limit)] * 2, name
            assert 0 < limit <= wanted[key], name


def landlock_abi():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)


@pytest.mark.skipif(landlock_abi() < ABI_WITH_SCOPE,
                    reason=f"Landlock of this kernel has ABI {landlock_abi()}: no scopes")
def test_an_abstract_name_of_the_host_is_out_of_reach(alice):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(ABSTRACT)
        listener.listen()
        assert says_outside(CONNECT % ABSTRACT, alice) == "works"
        assert says(CONNECT % ABSTRACT) == "EPERM"
    with login() as live:
        assert live.session["abstract"] == "scoped"


def test_a_login_ends_with_its_process():
    with login() as live:
        lab.die_alone(live.session["pid"])
        lab.eventually(lambda: lab.process_or_none(live.pid) is None, 3)
        lab.eventually(lambda: not live.is_listed(), 3)


def came_up(port):
    """How many of the world's connections to this host at once are there after a while."""
    net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
    return int(lab.command("nsenter", net, "--", lab.PYTHON, "-I", "-c", CLIENT, str(port)).stdout)


def test_a_full_queue_in_a_login_answers_nobody():
    """A queue that is full is answered with SYN cookies, and those are packets of nobody's."""
    with login(f"exec {lab.PYTHON} -I -c {shlex.quote(LISTENER)}") as live:
        assert live.client.stdout.readline() == "up\n"
        assert came_up(PORT) == 0
    assert came_up(7777) == CLIENTS  # the lab's own, of root
