# SPDX-License-Identifier: ISC
# test_session_confinement.py - what a session can see and do, from inside, and what its receipt says.
import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess

import lab
import pexpect
import pytest
import test_confinement as runs

NAMESPACES = ("mnt", "pid", "ipc", "uts", "net", "cgroup", "user")
LANDLOCK_ABI_SCOPED = 6


@pytest.fixture(scope="module")
def inside():
    with lab.Session("alice") as session:
        yield session


def attack(session, code):
    result = session.python(runs.CALL + code)
    assert result.returncode == 0, result
    return result.stdout.split()


# ---- system calls

# Allowed in a session: programs such as tmux and ssh-agent talk through paths.
ALLOWED_HERE = {"unix-stream", "unix-datagram"}
ATTACKS = [row for row in runs.ATTACKS if row[0] not in ALLOWED_HERE] + [
    ("request-key", "call(249, ctypes.c_char_p(b'user'), ctypes.c_char_p(b'x'), 0, -4)"),
    ("process-vm-writev", "call(311, os.getpid(), 0, 0, 0, 0, 0)"),
    ("name-to-handle", "call(303, -100, ctypes.c_char_p(b'/'), ctypes.create_string_buffer(200),"
                       " ctypes.create_string_buffer(8), 0)"),
    ("personality", "call(135, 0x40000)"),
    ("fsopen", "call(430, ctypes.c_char_p(b'tmpfs'), 0)"),
    ("open-tree", "call(428, -100, ctypes.c_char_p(b'/'), 1)"),
    ("vhangup", "call(153)"),
    ("kernel-log", "call(103, 10, 0, 0)"),
    ("source-route", "s = libc.socket(2, 1, 0)\n"
                     "tell(libc.setsockopt(s, 0, 4, b'\\x83\\x07\\x04\\xc6\\x33\\x64\\x02', 7))"),
]
ORDINARY = (runs.ORDINARY - ALLOWED_HERE) | {"process-vm-writev", "personality"}


@pytest.mark.parametrize("name, code", ATTACKS, ids=[name for name, _ in ATTACKS])
def test_a_dangerous_call_is_refused(inside, name, code, alice):
    words = attack(inside, code)
    assert len(words) == 1
    assert words[0] in runs.REFUSED
    if name in ORDINARY:
        assert runs.as_plain_alice(code, alice) == ["works"]


TYPE_INTO_IT = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for request in (0x5412, 0x100005412):
    r = libc.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_long(request), b'x')
    print('works' if r == 0 else errno.errorcode[ctypes.get_errno()])
"""


def test_nobody_types_into_a_terminal(inside):
    result = inside.ssh(f"{lab.PYTHON} -I -c \"{TYPE_INTO_IT}\"", flags=("-tt",))
    assert result.stdout.split() == ["EPERM"] * 2
    # Positive control: root on a terminal of the host.
    child = pexpect.spawn(lab.PYTHON, ["-I", "-c", TYPE_INTO_IT], encoding="ascii", timeout=30)
    child.expect(pexpect.EOF)
    assert child.before.replace("x", "").split() == ["works"] * 2


USEFUL = [
    ("threads", "import threading\n"
                "t = [threading.Thread(target=lambda: None) for _ in range(50)]\n"
                "[x.start() for x in t]; [x.join() for x in t]; print('works')"),
    ("multiprocessing", "import multiprocessing as m\n"
                        "with m.Pool(2) as p: print('works' if p.map(abs, [-1, -2]) == [1, 2]"
                        " else 'wrong')"),
    ("manager", "import multiprocessing as m\n"
                "with m.Manager() as x: d = x.dict(a=1); print('works' if d['a'] == 1 else 'no')"),
    ("subprocess", "import subprocess\n"
                   "print(subprocess.run(['echo', 'works'], capture_output=True, text=True).stdout)"),
    ("asyncio", "import asyncio\n"
                "async def f():\n"
                "    p = await asyncio.create_subprocess_exec('true'); return await p.wait()\n"
                "print('works' if asyncio.run(f()) == 0 else 'no')"),
    ("unix-path", "import os, socket, tempfile\n"
                  "p = tempfile.mkdtemp() + '/s'; s = socket.socket(socket.AF_UNIX)\n"
                  "s.bind(p); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(p)\n"
                  "a = s.accept()[0]; c.send(b'works'); print(a.recv(9).decode())"),
    ("unix-pair", "import socket\n"
                  "a, b = socket.socketpair(type=socket.SOCK_DGRAM)\n"
                  "a.send(b'works'); print(b.recv(9).decode())"),
    ("descriptor-passing", "import os, socket\n"
                           "a, b = socket.socketpair(); r, w = os.pipe()\n"
                           "socket.send_fds(a, [b'x'], [w]); f = socket.recv_fds(b, 9, 1)[1][0]\n"
                           "os.write(f, b'works'); print(os.read(r, 9).decode())"),
    ("tcp-listen", "import socket\n"
                   "s = socket.create_server(('127.0.0.1', 0)); print('works')"),
    ("shared-memory", "from multiprocessing import shared_memory as m\n"
                      "s = m.SharedMemory(create=True, size=9); s.buf[0] = 7; s.close()\n"
                      "s.unlink(); print('works')"),
]


@pytest.mark.parametrize("name, code", USEFUL, ids=[name for name, _ in USEFUL])
def test_what_people_need_works(inside, name, code):
    result = inside.python(code)
    assert (result.returncode, result.stdout.strip()) == (0, "works"), (name, result)


SCRIPTS = [
    ("git", "cd $(mktemp -d) && git init -q . && echo 1 >f && git add f &&"
            " git -c user.name=a -c user.email=a@b commit -qm first && git log --format=%s", "first"),
    ("gcc", "cd $(mktemp -d) && printf '#include <stdio.h>\\nint main(void){puts(\"built\");}' >a.c"
            " && gcc -o a a.c && ./a", "built"),
    ("tmux", "tmux -L lab new-session -d 'sleep 60' && tmux -L lab list-sessions -F '#S';"
             " tmux -L lab kill-server", "0"),
]


@pytest.mark.parametrize("program, script, wanted", SCRIPTS, ids=[row[0] for row in SCRIPTS])
def test_programs_that_people_use_work(inside, program, script, wanted):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed on this machine")
    assert inside.says(f"export TERM=xterm; {script}").strip() == wanted


# ---- abstract names

ABSTRACT_LISTEN = """
import socket
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
s.bind('\\0' + sys.argv[1])
if sys.argv[2] != 'SOCK_DGRAM': s.listen()
print('up')
held = []
while True: held.append(s.recv(9) if sys.argv[2] == 'SOCK_DGRAM' else s.accept()[0])
"""
ABSTRACT_CONNECT = """
import errno, socket, sys
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
try:
    s.connect('\\0' + sys.argv[1])
    s.send(b'x')
    print('reached')
except OSError as e: print(errno.errorcode[e.errno])
"""
KINDS = ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET")


def landlock_abi():
    """As landlock_create_ruleset(2) says; 0 if the kernel has none."""
    code = ("import ctypes\n"
            "print(ctypes.CDLL(None).syscall(ctypes.c_long(444), None, ctypes.c_long(0), 1))")
    return max(0, int(lab.command(lab.PYTHON, "-c", code).stdout))


def plain_connect(uid, name, kind):
    return lab.command("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", lab.PYTHON,
                       "-I", "-c", ABSTRACT_CONNECT, name, kind).stdout


@pytest.mark.parametrize("kind", KINDS)
def test_abstract_names_end_at_the_session(inside, alice, kind):
    abi = landlock_abi()
    assert inside.facts()["abstract"] == ("scoped" if abi >= LANDLOCK_ABI_SCOPED else "shared")
    if abi < LANDLOCK_ABI_SCOPED:
        pytest.skip(f"this kernel's Landlock (ABI {abi}) does not scope abstract names")
    host = subprocess.Popen([lab.PYTHON, "-I", "-u", "-c", lab.END_WITH_STDIN + ABSTRACT_LISTEN,
                             "lab-host", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)
    with contextlib.ExitStack() as stack:
        stack.callback(host.communicate)
        assert host.stdout.readline() == "up\n"
        other = stack.enter_context(lab.Session("carol"))
        own = stack.enter_context(lab.Session("alice"))
        stack.enter_context(other.server(ABSTRACT_LISTEN, "lab-other", kind))
        stack.enter_context(own.server(ABSTRACT_LISTEN, "lab-own", kind))
        stack.enter_context(inside.server(ABSTRACT_LISTEN, "lab-inside", kind))
        for name in ("lab-host", "lab-other", "lab-own"):
            assert inside.python(ABSTRACT_CONNECT, name, kind).stdout == "EPERM\n", name
            # Positive control: it is there, and the same user outside of a session is let in.
            assert plain_connect(alice, name, kind) == "reached\n", name
        # Among the programs of one session the names work.
        assert inside.python(ABSTRACT_CONNECT, "lab-inside", kind).stdout == "reached\n"


# ---- files

def test_etc_is_that_of_a_run_and_the_mark_of_a_session(inside, alice):
    listing = inside.says("cd /etc && find . -maxdepth 1 | sort")
    assert listing == lab.sh("cd /etc && find . -maxdepth 1 | sort").out.decode()
    assert set(os.listdir("/etc")) >= {"shadow", "ssh", "pam.d"}  # positive control: on the host
    assert not {"shadow", "ssh", "pam.d", "sudoers", "cron.d"} & set(listing.replace("./", "").split())
    assert inside.says("ls -A /etc/atelier").split() == ["group", "passwd", "session"]
    assert inside.says("cat /etc/atelier/session") == f"{alice} /bin/bash\n"
    assert lab.sh("ls -A /etc/atelier").out.split() == [b"group", b"passwd"]
    for name in ("passwd", "group"):
        assert inside.says(f"cat /etc/{name}") == lab.sh(f"cat /etc/{name}").out.decode()


def test_what_is_not_theirs_is_not_there(inside, bob):
    assert lab.run(["/bin/true"], user="carol").status == "ok"
    assert set(os.listdir(lab.HOMES)) >= {"alice", "carol"}  # positive control: on the host
    assert inside.says("ls -A /home /home/atelier").split() == \
        ["/home:", "atelier", "/home/atelier:", "alice"]
    hidden = ["/home/atelier/carol", "/root/.bashrc", "/home/bob", "/etc/shadow", "/var/lib",
              "/var/log", "/run/atelier", "/run/lab", "/run/utmp", "/run/host/log", "/sys/kernel",
              "/boot", "/srv", "/opt", "/mnt", "/proc/1/root/etc", "/proc/1/fd", "/proc/1/environ",
              lab.INDEX, f"{lab.STATE}/registry/registry.db", "/run/atelier/session.sock"]
    code = ("import json, os, sys\n"
            "def there(p):\n"
            "    try: os.listdir(p) if os.path.isdir(p) else os.close(os.open(p, os.O_RDONLY))\n"
            "    except OSError as e: return e.errno == 6\n"
            "    return True\n"
            "print(json.dumps([p for p in sys.argv[1:] if there(p)]))")
    assert inside.json(code, *hidden) == []
    on_host = json.loads(lab.command(lab.PYTHON, "-I", "-c", code, *hidden).stdout)
    assert {lab.INDEX, "/etc/shadow", "/run/atelier", "/var/lib", "/home/atelier/carol",
            "/run/atelier/session.sock"} <= set(on_host)  # positive control
    assert inside.says("ls -A /run /sys /var; ls /run/host 2>/dev/null || echo none").split() == \
        ["/run:", "host", "/sys:", "/var:", "tmp", "none"]
    code = ("import os\n"
            "print([os.path.join(d, f) for d, _, fs in os.walk('/') for f in fs + [d] if 'carol' in f"
            " and not d.startswith('/usr')])")
    assert inside.python(code, timeout=300).stdout == "[]\n"
    assert inside.ssh("getent passwd carol || getent passwd bob").returncode == 2
    assert lab.uid_of("carol") and lab.uid_of("bob") == bob  # positive control


def test_only_the_home_and_the_temporary_places_are_writable(inside, alice):
    mounts = [line.split(" ") for line in inside.says("cat /proc/self/mounts").splitlines()]
    assert len(mounts) > 5
    for _, target, _, options, *_ in mounts:
        words = options.split(",")
        assert "nosuid" in words, target
        assert "nodev" in words or target in ("/dev", "/dev/pts"), target
        assert "ro" in words or target in ("/proc", "/tmp", "/var/tmp", "/dev/shm", "/dev/pts",
                                           "/home", f"{lab.HOMES}/alice"), target
    code = ("import json, os, sys\n"
            "print(json.dumps([p for p in sys.argv[1:] if os.access(p, os.W_OK)]))")
    places = ["/", "/usr", "/etc", "/etc/atelier", "/etc/atelier/session", "/dev", "/dev/pts",
              "/home", lab.HOMES, "/var", "/run", "/run/host", "/usr/lib/atelier/shell",
              "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern"]
    assert inside.json(code, *places) == []
    mine = [f"{lab.HOMES}/alice", f"{lab.HOMES}/alice/work", "/tmp", "/var/tmp", "/dev/shm"]
    assert inside.json(code, *mine) == mine  # positive control


set_uid_id = runs.set_uid_id


def test_a_set_uid_program_gains_nothing(inside, set_uid_id, alice):
    plain = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", set_uid_id, "-u"]
    assert lab.command(*plain).stdout.strip() == "0"  # positive control
    assert inside.says(f"{set_uid_id} -u") == f"{alice}\n"
    path = f"{lab.HOMES}/alice/set-uid"
    shutil.copy("/usr/bin/id", path)
    os.chmod(path, 0o6755)
    assert os.stat(path).st_uid == 0 and os.stat(path).st_mode & stat.S_ISUID
    assert inside.says(f"{path} -u; rm -f {path}") == f"{alice}\n"
    for program in ("su -c id", "sudo -n id", "newgrp root </dev/null"):
        assert "uid=0" not in inside.ssh(program).stdout


# ---- the receipt

def proc(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def namespace(pid, name):
    """Where its children are, which for the PID namespace is not where it is itself."""
    link = "pid_for_children" if name == "pid" else name
    return os.stat(f"/proc/{pid}/ns/{link}").st_ino


def test_namespaces_are_those_of_the_receipt(inside):
    code = ("import json, os\n"
            "print(json.dumps({n: os.stat('/proc/self/ns/' + n).st_ino for n in %r}))")
    found, facts = inside.json(code % (NAMESPACES,)), inside.facts()
    for name in NAMESPACES:
        said = facts["receipt"]["namespaces"][name]
        own = name not in ("net", "user")
        assert (found[name] != os.stat(f"/proc/self/ns/{name}").st_ino) is own is said["own"], name
        assert said["inode"] == found[name] == namespace(facts["pid"], name), name
        if name != "pid":
            assert os.stat(f"/proc/{facts['init_pid']}/ns/{name}").st_ino == found[name], name
    with lab.Session("alice") as other:  # each login has its own
        theirs = other.json(code % (NAMESPACES,))
    assert {name for name in NAMESPACES if theirs[name] == found[name]} == {"net", "user"}


def test_every_field_of_the_receipt_is_what_the_kernel_says(inside):
    facts = inside.facts()
    pid, said = facts["pid"], facts["receipt"]
    lines = runs.status_lines(proc(pid, "status").encode())
    for key, field in (("Uid", "uid"), ("Gid", "gid"), ("Groups", "groups")):
        assert [int(word) for word in lines[key].split()] == said[field], key
    for key, field in (("CapInh", "inheritable"), ("CapPrm", "permitted"), ("CapEff", "effective"),
                       ("CapBnd", "bounding"), ("CapAmb", "ambient")):
        assert lines[key] == said["capabilities"][field], key
    assert said["capabilities"]["bounding"] == "0" * 16
    for key, field in (("NoNewPrivs", "no_new_privs"), ("Seccomp", "seccomp"),
                       ("Seccomp_filters", "seccomp_filters")):
        assert int(lines[key]) == said[field] > 0, key
    limits = {line[:26].strip(): line[26:].split()[:2] for line in proc(pid, "limits").splitlines()}
    for key, field in (("Max processes", "nproc"), ("Max open files", "nofile"),
                       ("Max file size", "fsize"), ("Max core file size", "core")):
        assert limits[key] == [str(said["rlimits"][field])] * 2, key
    assert said["mounts"] == len(proc(pid, "mountinfo").splitlines())
    assert said["net"] == "public"
    assert said["cgroup"]["mode"] == "none"
    assert said["net_revision"] == lab.run(["/bin/true"]).receipt["net_revision"]
    assert 0 <= said["canary_age_ms"] <= 1500
    assert set(said) == {"uid", "gid", "groups", "capabilities", "no_new_privs", "seccomp",
                         "seccomp_filters", "filter", "namespaces", "net", "cgroup", "rlimits", "disk",
                         "mounts", "mount_flags", "umask", "oom_score_adj", "signals", "skills",
                         "net_revision", "net_group", "net_limit", "canary_age_ms"}


def test_what_the_api_says_of_a_session_is_so(inside, alice):
    facts = inside.facts()
    assert (facts["user"], facts["uid"], facts["service"]) == ("alice", alice, "atelier-sshd")
    assert facts["rhost"] == "127.0.0.1"
    assert facts["line"].startswith("atelier/")
    assert "alice [priv]" in proc(facts["pid"], "cmdline")
    assert lab.process_or_none(facts["init_pid"]).comm == "atelier-login"
    assert [each["id"] for each in lab.sessions("alice")].count(inside.id) == 1


def test_limits_are_those_of_a_run(inside):
    code = ("import json, resource as r\n"
            "print(json.dumps({k: r.getrlimit(getattr(r, k)) for k in dir(r)"
            " if k.startswith('RLIMIT_')}))")
    session, run = inside.json(code), lab.python(code).json()
    for key in ("NPROC", "NOFILE", "FSIZE", "MEMLOCK", "MSGQUEUE", "RTPRIO", "NICE", "CORE"):
        assert session[f"RLIMIT_{key}"] == run[f"RLIMIT_{key}"], key
    assert session["RLIMIT_CORE"] == [1, 1]


# ---- descriptors

def kind_of(pid, fd):
    """One word for an open descriptor."""
    status = os.stat(f"/proc/{pid}/fd/{fd}")
    if stat.S_ISSOCK(status.st_mode):
        return "socket"
    if stat.S_ISFIFO(status.st_mode):
        return "pipe"
    if stat.S_ISCHR(status.st_mode):
        major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
        if (major, minor) == (1, 3):
            return "null"
        if 136 <= major <= 143 or (major, minor) == (5, 2):
            return "pty"
    return os.readlink(f"/proc/{pid}/fd/{fd}")


def kinds_of(pid):
    kinds = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since, as that of listdir() itself
            kinds.add(kind_of(pid, fd))
    return kinds


# ADDRESS PORT: holds what is connected.
HOLD = """
import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])))
print('up', flush=True)
held = []
while True:
    held.append(s.accept()[0]); print('held', flush=True)
"""


@contextlib.contextmanager
def busy_session():
    """A login with a shell on a terminal, a command, sftp, and a forwarded connection, all alive."""
    net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
    with contextlib.ExitStack() as stack:
        world = subprocess.Popen(["nsenter", net, "--", lab.PYTHON, "-I", "-c", HOLD, "198.51.100.2",
                                  "7101"], stdout=subprocess.PIPE, text=True)
        stack.callback(world.communicate)
        stack.callback(world.kill)
        assert world.stdout.readline() == "up\n"
        session = stack.enter_context(
            lab.Session("alice", flags=("-L", "127.0.0.1:7102:198.51.100.2:7101")))
        for argv, flags in ((("echo up; exec cat",), ()), (("echo up; exec cat",), ("-tt",))):
            client = session.popen(*argv, flags=flags)
            stack.callback(client.communicate)
            stack.callback(client.kill)
            assert client.stdout.readline().strip() == "up"
        sftp = subprocess.Popen(["sftp", "-q", "-o", f"ControlPath={session.path}", "-P", "2222",
                                 "alice@127.0.0.1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        stack.callback(sftp.communicate)
        sftp.stdin.write("pwd\n")
        sftp.stdin.flush()
        while "Remote working directory" not in sftp.stdout.readline():
            assert sftp.poll() is None
        stack.enter_context(socket.create_connection(("127.0.0.1", 7102), 20))
        assert world.stdout.readline() == "held\n"
        yield session


def test_sshd_holds_nothing_of_the_host(alice):
    """A directory there would be a way out, for forwarding and for the participant's own code."""
    with busy_session() as session:
        facts = session.facts()
        mine = [each for each in lab.procs_of_uid(alice)
                if os.readlink(f"/proc/{each.pid}/ns/mnt") ==
                os.readlink(f"/proc/{facts['pid']}/ns/mnt")]
        assert {"atelier-sshd", "cat", "sftp-server"} <= {each.comm for each in mine}
        [sshd] = [each for each in mine if each.comm == "atelier-sshd"]
        assert "alice@" in proc(sshd.pid, "cmdline")
        assert kinds_of(sshd.pid) == {"socket", "pipe", "pty", "null"}
        assert kinds_of(facts["pid"]) <= {"socket", "pipe", "pty", "null"}
        for each in mine:
            assert kinds_of(each.pid) <= {"socket", "pipe", "pty", "null"}, each
        # And it is as confined as the shell.
        lines = runs.status_lines(proc(sshd.pid, "status").encode())
        assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")
        assert {lines[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        for name in NAMESPACES:
            assert os.stat(f"/proc/{sshd.pid}/ns/{name}").st_ino == \
                facts["receipt"]["namespaces"][name]["inode"], name
        assert os.readlink(f"/proc/{sshd.pid}/root") == "/"
        assert not os.path.exists(f"/proc/{sshd.pid}/root/var/lib")
    # Positive control: an open directory, and a file, are seen.
    with open("/etc/passwd", encoding="ascii"):
        fd = os.open("/", os.O_RDONLY)
        assert {"/", "/etc/passwd"} <= kinds_of(os.getpid())
        os.close(fd)


def test_the_init_holds_nothing_of_the_host(inside):
    """What it waits for, children and the login's end; nothing with a name."""
    fds = f"/proc/{inside.facts()['init_pid']}/fd"
    links = sorted(os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds))
    assert links == ["anon_inode:[pidfd]", "anon_inode:[signalfd]"]
    assert inside.says("ls /proc/1/fd 2>/dev/null || echo hidden") == "hidden\n"


