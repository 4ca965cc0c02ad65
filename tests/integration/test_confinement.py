# SPDX-License-Identifier: ISC
# test_confinement.py - what a run can see and do, seen from inside and compared with the receipt.
import os
import shutil
import stat

import lab
import pytest

# Calls by number, so that no library stands between; prints the errno's name, or "works".
CALL = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def tell(result):
    print('works' if result >= 0 else errno.errorcode[ctypes.get_errno()])
def call(*args):
    tell(libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args]))
"""
REFUSED = {"EPERM", "ENOSYS", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT"}


def attack(code, **more):
    result = lab.python(CALL + code, **more)
    assert result.status == "ok", (result.end, result.err)
    return result.out.decode().split()


def as_plain_alice(code, alice):
    """The same by a process with alice's ids that is not in a run."""
    argv = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON, "-I",
            "-c", CALL + code]
    return lab.command(*argv).stdout.split()


def status_lines(text):
    return dict(line.split(":\t", 1) for line in text.decode().splitlines() if ":\t" in line)


def test_ids_and_groups_are_those_of_the_user(alice):
    result = lab.run(["/bin/cat", "/proc/self/status"])
    inside, receipt = status_lines(result.out), result.receipt
    assert inside["Uid"].split() == [str(alice)] * 4
    assert inside["Gid"].split() == [str(alice)] * 4
    assert receipt["uid"] == [alice] * 4
    assert receipt["gid"] == [alice] * 4
    wanted = sorted(int(gid) for gid in lab.command("id", "-G", "alice").stdout.split())
    assert sorted(int(gid) for gid in inside["Groups"].split()) == wanted
    assert sorted(receipt["groups"]) == wanted


def test_there_is_no_capability():
    result = lab.run(["/bin/cat", "/proc/self/status"])
    inside = status_lines(result.out)
    for key, field in (("CapInh", "inheritable"), ("CapPrm", "permitted"), ("CapEff", "effective"),
                       ("CapBnd", "bounding"), ("CapAmb", "ambient")):
        assert inside[key] == "0" * 16
        assert result.receipt["capabilities"][field] == inside[key]


def test_no_new_privileges_is_set():
    result = lab.run(["/bin/cat", "/proc/self/status"])
    assert status_lines(result.out)["NoNewPrivs"] == "1"
    assert result.receipt["no_new_privs"] == 1


def test_the_filter_is_loaded():
    result = lab.run(["/bin/cat", "/proc/self/status"])
    inside = status_lines(result.out)
    assert inside["Seccomp"] == "2"
    assert inside["Seccomp_filters"] == "1"
    assert (result.receipt["seccomp"], result.receipt["seccomp_filters"]) == (2, 1)


@pytest.mark.parametrize("net", ["none", "public"])
def test_namespaces_are_those_of_the_receipt(net):
    names = ("mnt", "pid", "ipc", "uts", "net", "cgroup", "user")
    code = ("import json, os\n"
            "print(json.dumps({n: os.stat('/proc/self/ns/' + n).st_ino for n in %r}))")
    result = lab.python(code % (names,), net=net)
    inside, receipt = result.json(), result.receipt
    for name in names:
        host = os.stat(f"/proc/self/ns/{name}").st_ino
        own = name != "user" and (name != "net" or net == "none")
        assert (inside[name] != host) is own, name
        assert receipt["namespaces"][name]["own"] is own, name
        if "inode" in receipt["namespaces"][name]:
            assert receipt["namespaces"][name]["inode"] == inside[name], name
    assert receipt["net"] == net


def test_limits_and_mounts_are_those_of_the_receipt():
    code = ("import json, resource as r\n"
            "n = {k: r.getrlimit(getattr(r, 'RLIMIT_' + k.upper())) for k in ('nproc', 'nofile',"
            " 'fsize', 'core')}\n"
            "print(json.dumps([n, len(open('/proc/self/mountinfo').readlines()),"
            " r.getrlimit(r.RLIMIT_CORE)]))")
    result = lab.python(code)
    limits, mounts, core = result.json()
    for key, (soft, hard) in limits.items():
        assert soft == hard == result.receipt["rlimits"][key] > 0
    assert result.receipt["mounts"] == mounts
    assert core == [1, 1]


def test_nobody_lowers_the_limit_at_which_a_dump_goes_to_no_program():
    """A program that wants no dump is told that it has none, and lives."""
    said = lab.python("import resource as r\n"
                      "for key in (r.RLIMIT_CORE, r.RLIMIT_NOFILE):\n"
                      "    r.setrlimit(key, (0, 0))\n"
                      "    print(*r.getrlimit(key))\n").out.splitlines()
    assert said == [b"1 1", b"0 0"]


def test_a_run_is_no_more_important_than_others():
    """Whatever sessiond was started with: a run is the first to go when memory ends, at nice 0."""
    pid = lab.service_pid("sessiond")
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        assert int(file.read()) < 500  # positive control
    assert os.getpriority(os.PRIO_PROCESS, pid) < 0
    assert lab.sh("cat /proc/self/oom_score_adj; nice").out.split() == [b"500", b"0"]


def test_only_standard_descriptors_are_open():
    code = "import os; print(*sorted(int(f) for f in os.listdir('/proc/self/fd'))[:-1])"
    assert lab.python(code).out == b"0 1 2\n"
    code = "import os; print(*[os.readlink(f'/proc/self/fd/{f}').split(':')[0] for f in range(3)])"
    assert lab.python(code).out.decode().split()[1:] == ["pipe", "pipe"]


def test_only_own_processes_are_seen():
    """One's own; the init is root's, and hidden or without any detail."""
    with_other = lab.sleeper(user="carol")
    with_own = lab.sleeper()
    try:
        result = lab.run(["/bin/ps", "-eo", "user=,comm="])
        assert result.status == "ok"
        seen = [line.split() for line in result.out.decode().splitlines()]
        assert [row for row in seen if row[1] != "atelier-init"] == [["alice", "ps"]]
        code = "import os; print(*[p for p in os.listdir('/proc') if p.isdecimal()])"
        pids = [int(pid) for pid in lab.python(code).out.split()]
        assert max(pids) <= 2
    finally:
        with_other.close()
        with_own.close()


def test_signals_do_not_leave_the_run():
    other = lab.sleeper()
    try:
        lab.python("import os, signal\ntry: os.kill(-1, signal.SIGKILL)\nexcept OSError: pass")
        assert other.quiet_for(0.3)
        assert [process.comm for process in lab.procs_of_uid(lab.uid_of("alice"))] == ["sleep"]
    finally:
        other.close()


def test_no_other_home_is_seen(alice_home):
    assert lab.run(["/bin/true"], user="carol").status == "ok"
    assert set(os.listdir(lab.HOMES)) >= {"alice", "carol"}  # positive control: on the host
    result = lab.sh("ls -A /home /home/atelier")
    assert result.out.split() == [b"/home:", b"atelier", b"/home/atelier:", b"alice"]
    for path in ("/home/atelier/carol", "/root/.bashrc", "/home/bob"):
        assert lab.run(["/bin/ls", path]).end["exit"] != 0
    code = ("import os\n"
            "print(*[os.path.join(d, f) for d, _, fs in os.walk('/') for f in fs + [d]"
            " if 'carol' in f])")
    assert lab.python(code).out.strip() == b""


def test_the_hosts_secrets_are_not_there():
    for path in ("/etc/shadow", "/etc/ssh", "/var/lib", "/var/log", "/run/atelier", "/sys/kernel",
                 "/dev/pts/ptmx", "/boot", "/srv", "/opt", "/mnt", "/proc/1/root/etc"):
        result = lab.sh('ls -A "$1" && test -n "$(ls -A "$1")"', path)
        assert result.end["exit"] != 0, path
    # /run/host is where a session's sshd finds the host's log: root's alone, and empty in a run.
    assert lab.sh("ls -A /run /sys /var; ls /run/host").out.decode().split() == [
        "/run:", "host", "/sys:", "/var:", "tmp"]
    assert lab.sh("ls /run/host 2>&1").out.decode().endswith("Permission denied\n")
    assert lab.run(["/bin/ls", "/usr/bin/env"]).status == "ok"  # positive control


def test_what_is_masked_in_proc_cannot_be_opened(alice):
    """All of it: tests/attack/test_tree.py."""
    for name in ("cmdline", "key-users", "locks"):
        assert b"Permission denied" in lab.run(["/bin/cat", f"/proc/{name}"]).err, name
    plain = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", "cat", "/proc/cmdline"]
    assert lab.command(*plain).stdout  # positive control


def test_proc_is_read_only():
    """What one owns in it, too: so it is the mount that refuses, and not a mode."""
    for path in ("/proc/self/comm", "/proc/self/oom_score_adj", "/proc/sys/kernel/hostname"):
        assert b"Read-only file system" in lab.sh('echo 1 >"$1"', path).err, path
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        assert file.write("pytest\n")  # positive control


def test_passwd_shows_the_system_and_oneself(bob):
    lines = lab.run(["/bin/cat", "/etc/passwd"]).out.decode().splitlines()
    ids = {line.split(":")[0]: int(line.split(":")[2]) for line in lines}
    assert ids["root"] == 0
    assert ids.pop("alice") == lab.uid_of("alice")
    assert ids.pop("nobody", 65534) == 65534
    assert [name for name, uid in ids.items() if uid >= 1000] == []
    assert "bob" not in ids
    assert all(line.split(":")[1] == "*" for line in lines)
    assert lab.run(["/usr/bin/id", "-un"]).out == b"alice\n"
    assert lab.ALL_USERS.encode() in lab.run(["/usr/bin/id", "-Gn"]).out.split()


def test_the_system_is_read_only_and_without_set_uid():
    code = ("import errno, os\n"
            "for p in ('/', '/usr', '/etc', '/etc/atelier', '/dev', '/home', '/home/atelier',"
            " '/var', '/run', '/usr/bin/env', '/proc/sys/kernel/hostname'):\n"
            "    print(p, os.access(p, os.W_OK))")
    lines = lab.python(code).out.decode().splitlines()
    assert [line for line in lines if line.endswith("True")] == []
    mounts = [line.split(" ") for line in
              lab.run(["/bin/cat", "/proc/self/mounts"]).out.decode().splitlines()]
    assert len(mounts) > 5
    for _, target, _, options, *_ in mounts:
        assert "nosuid" in options.split(","), target
        assert "nodev" in options.split(",") or target == "/dev", target
        assert "ro" in options.split(",") or target in (
            "/proc", "/tmp", "/var/tmp", "/dev/shm", "/home", f"{lab.HOMES}/alice/work"), target


@pytest.fixture
def set_uid_id():
    """A set-uid root copy of id(1) where runs can see it."""
    path = "/usr/local/bin/lab-set-uid-id"
    shutil.copy("/usr/bin/id", path)
    os.chmod(path, 0o4755)
    yield path
    os.unlink(path)


def test_a_set_uid_program_gains_nothing(set_uid_id, alice):
    plain = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", set_uid_id, "-u"]
    assert lab.command(*plain).stdout.strip() == "0"  # positive control
    assert lab.run([set_uid_id, "-u"]).out.strip() == str(alice).encode()


def test_a_set_uid_file_in_work_gains_nothing(alice_home, alice):
    path = f"{lab.work_of('alice')}/id"
    shutil.copy("/usr/bin/id", path)
    os.chmod(path, 0o4755)
    assert os.stat(path).st_uid == 0
    assert os.stat(path).st_mode & stat.S_ISUID
    assert lab.run([path, "-u"]).out.strip() == str(alice).encode()
    os.unlink(path)


def test_tmp_is_private_and_fresh():
    assert lab.sh("echo x >/tmp/left; echo x >/var/tmp/left; echo x >/dev/shm/left").status == "ok"
    listing = lab.sh("ls -A /tmp /var/tmp /dev/shm").out.split()
    assert listing == [b"/dev/shm:", b"/tmp:", b"/var/tmp:"]
    assert not os.path.exists("/tmp/left")


def test_home_is_fresh_and_work_is_kept(alice, alice_home):
    assert lab.sh("pwd; echo x >~/left; echo kept >~/work/kept").out.decode().strip() == \
        lab.work_of("alice")
    result = lab.sh("ls -A ~; cat kept")
    assert result.out.split() == [b"work", b"kept"]
    path = f"{lab.work_of('alice')}/kept"
    assert lab.command("stat", "-c", "%U:%G", path).stdout.strip() == "alice:alice"
    assert os.stat(path).st_uid == alice
    assert not os.path.exists(f"{alice_home}/left")


def test_small_things():
    assert lab.run(["/bin/hostname"]).out == b"atelier\n"
    assert lab.sh("umask").out == b"0022\n"
    code = "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0), os.getpid())"
    assert lab.python(code).out == b"True 2\n"
    ignored = status_lines(lab.run(["/bin/cat", "/proc/self/status"]).out)
    assert (ignored["SigIgn"], ignored["SigBlk"]) == ("0" * 16, "0" * 16)
    assert lab.sh(": </dev/tty").end["exit"] != 0


# x86-64 and arm64 share no numbers below 424; the tests run on amd64.
ATTACKS = [
    ("mount", "tell(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))"),
    ("umount", "tell(libc.umount2(b'/tmp', 2))"),
    ("unshare-user", "tell(libc.unshare(0x10000000))"),
    ("unshare-mount", "tell(libc.unshare(0x20000))"),
    ("clone-user", "call(56, 0x10000000 | 17, 0, 0, 0, 0)"),
    ("clone3", "call(435, 0, 0)"),
    ("setns", "tell(libc.setns(os.open('/proc/self/ns/uts', 0), 0))"),
    ("chroot", "tell(libc.chroot(b'/tmp'))"),
    ("pivot-root", "call(155, ctypes.c_char_p(b'.'), ctypes.c_char_p(b'.'))"),
    ("ptrace", "call(101, 0, 0, 0, 0)"),
    ("process-vm-readv", "call(310, os.getpid(), 0, 0, 0, 0, 0)"),
    ("pidfd-getfd", "call(438, libc.syscall(434, os.getpid(), 0), 0, 0)"),
    ("io-uring", "call(425, 4, ctypes.create_string_buffer(256))"),
    ("keyctl", "call(250, 0, -4, 0)"),
    ("add-key", "call(248, ctypes.c_char_p(b'user'), ctypes.c_char_p(b'x'),"
                " ctypes.c_char_p(b'x'), 1, -4)"),
    ("bpf", "call(321, 0, 0, 0)"),
    ("perf", "call(298, 0, 0, -1, -1, 0)"),
    ("userfaultfd", "call(323, 0)"),
    ("unix-stream", "tell(libc.socket(1, 1, 0))"),
    ("unix-datagram", "tell(libc.socket(1, 2, 0))"),
    ("vsock", "tell(libc.socket(40, 1, 0))"),
    ("smc", "tell(libc.socket(43, 1, 0))"),
    ("mptcp", "tell(libc.socket(2, 1, 262))"),
    ("alg", "tell(libc.socket(38, 5, 0))"),
    ("packet", "tell(libc.socket(17, 3, 0))"),
    ("raw", "tell(libc.socket(2, 3, 255))"),
    ("sock-diag", "tell(libc.socket(16, 3, 4))"),
    ("vsock-high-bits", "call(41, (1 << 32) | 40, 1, 0)"),
    ("setuid", "tell(libc.setuid(0))"),
    ("setgroups", "tell(libc.setgroups(0, None))"),
    ("sethostname", "tell(libc.sethostname(b'x', 1))"),
    ("mknod", "tell(libc.mknod(b'/tmp/x', 0o60666, 0x801))"),
]
# These work for an ordinary process, so it is the run that refuses them.
ORDINARY = {"ptrace", "keyctl", "add-key", "unix-stream", "unix-datagram", "sock-diag",
            "process-vm-readv"}


@pytest.mark.parametrize("name, code", ATTACKS, ids=[name for name, _ in ATTACKS])
def test_a_dangerous_call_is_refused(name, code, alice):
    words = attack(code)
    assert len(words) == 1
    assert words[0] in REFUSED
    if name in ORDINARY:
        assert as_plain_alice(code, alice) == ["works"]


@pytest.mark.parametrize("code", [
    "tell(libc.socket(2, 1, 0))", "tell(libc.socket(10, 2, 0))", "tell(libc.socket(16, 3, 0))",
    "tell(libc.socketpair(1, 1, 0, (ctypes.c_int * 2)()))", "tell(libc.getpid())",
])
def test_ordinary_calls_work(code):
    assert attack(code) == ["works"]


def test_the_init_cannot_be_looked_into():
    for path in ("/proc/1/fd", "/proc/1/root", "/proc/1/mem", "/proc/1/environ"):
        result = lab.sh('ls "$1" && cat "$1"', path)
        assert result.end["exit"] != 0, path
    assert lab.sh("kill -0 1").end["exit"] != 0
