# SPDX-License-Identifier: ISC
# test_host.py - rows that need more of the host than one program: rules, mounts, daemons, others.
import contextlib
import fcntl
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time

import firewall
import lab
import pexpect
import pytest
import test_policy
import where

REFUSED = r"stopped (EPERM|EACCES|EHOSTUNREACH|ENETUNREACH|ECONNREFUSED)"
UNDER = "/usr/local/lib/lab-attack-under"  # below what runs and sessions see of the host
FALSE_PORT = 8098
PUBLISHED = ("203.0.113.9", "203.0.113.10")


# ---- N: network

@contextlib.contextmanager
def translated():
    """N33: ports that are published, as containers' are: to a private address, and to this host."""
    rules = [["-d", PUBLISHED[0], "-p", "tcp", "-j", "DNAT", "--to-destination", "10.9.0.2:7777"],
             ["-d", PUBLISHED[1], "-p", "tcp", "-j", "REDIRECT", "--to-ports", "7777"]]
    for rule in rules:
        lab.command("iptables", "-w", "5", "-t", "nat", "-A", "OUTPUT", *rule)
    try:
        yield
    finally:
        for rule in rules:
            lab.command("iptables", "-w", "5", "-t", "nat", "-D", "OUTPUT", *rule)


def test_n33_translation_leads_nowhere_new(inside, alice):
    with translated():
        for address in PUBLISHED:
            assert re.fullmatch(REFUSED, where.in_run("tcp", address))
            assert re.fullmatch(REFUSED, where.in_session(inside, "tcp", address))
        with firewall.rules_out(firewall.JUMP):
            got = [where.plain(alice, "tcp", address) for address in PUBLISHED]
    assert got == ["through world 10.9.0.2", "through host 127.0.0.1"]


def ask_as_root(port):
    begin = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), 1.5) as sock:
            return sock.recv(100), time.monotonic() - begin
    except OSError as error:
        return type(error).__name__, time.monotonic() - begin


def test_n38_a_false_service_in_a_session_is_heard_by_nobody(inside):
    with inside_live(inside, "serve", "127.0.0.1", str(FALSE_PORT)) as said:
        assert said == "through"
        word, seconds = ask_as_root(FALSE_PORT)
    # The answer is dropped: the client waits for as long as it has said.
    assert word == "TimeoutError" and seconds < 3
    with where.plain_live(lab.uid_of("bob"), "serve", "127.0.0.1", str(FALSE_PORT + 1)):
        assert ask_as_root(FALSE_PORT + 1)[0] == b"false service"  # positive control


@contextlib.contextmanager
def inside_live(session, name, *args):
    code = (f"import runpy, sys\nsys.argv = {[where.PROGRAMS, name, *args]!r}\n"
            f"runpy.run_path({where.PROGRAMS!r}, run_name='__main__')\n")
    child = session.popen(shlex.join([lab.PYTHON, "-I", "-u", "-c",
                                            lab.END_WITH_STDIN + code]))
    try:
        yield child.stdout.readline().strip()
    finally:
        child.communicate(timeout=30)


# ---- I, P, D: others, and the daemons

LOCKED = ["/usr/bin/python3", "/usr/bin/env", "/bin/sh", where.PROGRAMS, "/etc/passwd"]


def test_i8_locks_on_all_that_is_read_hold_up_nobody(inside):
    with where.run_live("hold_locks", *LOCKED) as (_, said):
        assert said == f"through {len(LOCKED)}"
        with open(LOCKED[0], encoding="latin-1") as file:
            with pytest.raises(BlockingIOError):  # positive control: it is the same file, and locked
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        begin = time.monotonic()
        assert lab.run(["/bin/true"], user="carol").status == "ok"
        assert lab.user_add(email="late@example.org").status == 201
        assert inside.says("echo here") == "here\n"
        assert time.monotonic() - begin < 3


SKILL = "/root/lab-skill"


def skill_write(text):
    with open(f"{SKILL}/SKILL.md", "w", encoding="ascii") as file:
        file.write(text)
    return lab.atelier("skill", "add", SKILL).stdout.strip()


@pytest.fixture
def skill(alice):
    """One that runs of alice have."""
    os.makedirs(SKILL)
    pinned = skill_write("first\n")
    test_policy.policy(f'profile a {{ base = run skills = {{"{pinned}"}} uids = {{{alice}}} }}\n')
    yield pinned
    os.unlink(test_policy.FILE)
    test_policy.reload()
    shutil.rmtree(SKILL)
    shutil.rmtree(f"{lab.STATE}/skills")


def test_i8_a_lock_on_a_skill_holds_up_nobody(skill):
    """It is the file of the store that is locked: the same inode, read-only as it is."""
    [stored] = [f"{path}/SKILL.md" for path, _, files in os.walk(f"{lab.STATE}/skills") if "SKILL.md" in files]
    with where.run_live("hold_locks", "/skills/lab-skill/SKILL.md") as (_, said):
        assert said == "through 1"
        with open(stored, "rb") as file:
            with pytest.raises(BlockingIOError):  # positive control
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        begin = time.monotonic()
        lab.atelier("skill", "verify")
        assert skill_write("second\n") != skill
        assert len(lab.json.loads(lab.atelier("skill", "list", "--json").stdout)["skills"]) == 2
        assert lab.sh("cat /skills/lab-skill/SKILL.md").out == b"first\n"
        test_policy.reload()
        assert time.monotonic() - begin < 10


def test_p4_the_spawner_has_one_thread():
    """A death signal is that of the thread that made the process."""
    spawner = lab.child_of(lab.service_pid("sessiond"), "atelier-spawn")
    assert len(os.listdir(f"/proc/{spawner.pid}/task")) == 1
    # Positive control: threads are seen as such.
    with threads_of_our_own():
        assert len(os.listdir("/proc/self/task")) > 1


@contextlib.contextmanager
def threads_of_our_own():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


def test_p9_four_runs_of_one_user_have_their_processes(alice):
    live = [lab.start(where.argv_of("many_children", "80"), limits=where.LONG) for _ in range(4)]
    try:
        for each in live:
            each.until("out")
        assert [each.out for each in live] == [b"through 80\n"] * 4
    finally:
        for each in live:
            each.finish()
    # Positive control: what counts per uid takes from one what the other has.
    bob = lab.uid_of("bob")
    few = ["prlimit", "--nproc=100", *where.argv_of("many_children", "80")]
    with subprocess.Popen(where.plain_argv(bob, few), stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "through 80\n"
        second = lab.command(*where.plain_argv(bob, few)).stdout
        first.kill()
    assert second.startswith("stopped")
    for each in lab.procs_of_uid(bob):
        with contextlib.suppress(ProcessLookupError):  # the second one ends its own
            lab.die_alone(each.pid)


def test_p19_a_daemon_with_lower_limits_passes_on_its_own():
    """By the spawner's: what may not be raised is no reason to start nothing."""
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert lab.python(code).out == b"4096 4096\n"  # positive control
    spawner = lab.child_of(lab.service_pid("sessiond"), "atelier-spawn")
    lab.command("prlimit", f"--pid={spawner.pid}", "--nofile=200:200")
    result = lab.python(code)
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert (result.status, result.out) == ("ok", b"200 200\n"), result.events


def test_r12_a_number_per_uid_is_used_up_by_its_user_alone(alice):
    with where.run_live("many_inotify") as (_, said):
        assert re.fullmatch(r"through \d+", said)
        # Positive control: the same uid has no more, wherever it is.
        with where.plain_live(alice, "many_inotify") as (_, own):
            assert own == "through 0"
        with where.plain_live(lab.uid_of("bob"), "many_inotify") as (_, others):
            assert int(others.split()[1]) > 0
        assert lab.run(["/bin/true"], user="carol").status == "ok"
        with lab.login("alice") as client:
            assert client.poll() is None
        assert lab.is_well()


def test_d2_who_does_not_read_holds_up_nobody():
    flood = lab.start(["/usr/bin/yes"], limits={"wall_ms": 20000, "out_kb": 16384})
    try:
        flood.until("start")
        begin = time.monotonic()
        for _ in range(5):
            assert lab.python("print(1)", user="carol").out == b"1\n"
        assert time.monotonic() - begin < 5
        assert len(lab.procs_of_uid(lab.uid_of("alice"))) >= 1  # positive control: it still runs
    finally:
        flood.close()


def test_d6_no_two_runs_share_an_id():
    ids = [run_id() for _ in range(40)]
    assert len(set(ids)) == 40
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


def run_id():
    text = repr(lab.run(["/bin/true"]).events)
    return re.search(r"[0-9a-f]{32}", text).group()


# ---- T: terminals

def on_a_terminal(*argv):
    """What a program says that is started by somebody at a terminal, and what was typed there."""
    shell = pexpect.spawn("/bin/sh", env=dict(os.environ, PS1="$ ", TERM="dumb"), encoding="utf-8",
                          timeout=20)
    shell.sendline(shlex.join(argv) + "; echo en''d")
    shell.expect_exact("end")
    said = shell.before
    time.sleep(0.2)
    shell.sendline("")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    return said, "#typed" in said + shell.before


def test_t1_nobody_types_into_the_terminal_of_who_starts_a_run(alice):
    said, is_typed = on_a_terminal("atelier", "run", "--user", "alice", "--",
                                   *where.argv_of("type_into_terminal"))
    assert "stopped no terminal" in said and not is_typed
    said, is_typed = on_a_terminal(*where.plain_argv(alice, where.argv_of("type_into_terminal")))
    if "EIO" in said:
        pytest.skip("this kernel lets nobody type (dev.tty.legacy_tiocsti)")
    assert "through typed" in said and is_typed  # positive control


# ---- F: mounts

@contextlib.contextmanager
def mounted(path):
    """A file system that every uid may write to, above a file that it covers."""
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/covered", "w", encoding="ascii") as file:
        file.write("covered")
    lab.command("mount", "-t", "tmpfs", "-o", "mode=1777", "lab-attack", path)
    try:
        yield
    finally:
        lab.command("umount", "-l", path, check=False)
        shutil.rmtree(path)


def test_f1_f2_a_mount_below_another_is_read_only_and_covers_what_it_covers(alice):
    with mounted(UNDER):
        lab.service("restart", "sessiond")
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        for name, path, wanted in (("write_file", f"{UNDER}/new", "stopped EROFS"),
                                   ("read_file", f"{UNDER}/covered", "stopped ENOENT")):
            assert re.fullmatch(wanted, where.in_run(name, path)), (name, where.in_run(name, path))
            with lab.Session("alice") as session:
                assert re.fullmatch(wanted, where.in_session(session, name, path)), name
        # Positive control: both work where it is not so.
        assert where.plain(alice, "write_file", f"{UNDER}/new") == f"through {UNDER}/new"
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(UNDER)
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


def mount_and_wait(path, finish):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lab.command("mount", "-t", "tmpfs", "lab-attack", os.path.dirname(path))
    with open(path, "w", encoding="ascii"):
        pass
    try:
        return finish()
    finally:
        lab.command("umount", "-l", os.path.dirname(path))


def test_f3_what_the_host_mounts_later_is_not_seen(alice, inside):
    os.makedirs(UNDER, exist_ok=True)
    path = f"{UNDER}/late"
    live = lab.start(where.argv_of("wait_for", path), limits=where.LONG)
    live.until("out")
    assert mount_and_wait(path, live.finish).out == b"up\nstopped not found\n"
    child = inside.popen(*where.argv_of("wait_for", path))
    assert child.stdout.readline() == "up\n"
    assert mount_and_wait(path, child.communicate)[0] == "stopped not found\n"
    with where.plain_live(alice, "wait_for", path) as (child, said):
        assert said == "up"
        assert mount_and_wait(path, child.communicate)[0] == f"through {path}\n"
    os.rmdir(UNDER)


def test_f4_the_mount_table_names_nobody_else(inside):
    other = lab.sleeper(user="carol")
    try:
        # One's own name is there: the positive control.
        for word, wanted in (("carol", "stopped not found"), ("alice", "through .*alice.*")):
            assert re.fullmatch(wanted, where.in_run("mounts_with", word)), word
            assert re.fullmatch(wanted, where.in_session(inside, "mounts_with", word)), word
    finally:
        other.close()


# ---- public bugs

def mount_count():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return len(mounts.readlines())


def test_bug_9_a_stopped_daemon_leaves_no_mount_and_no_process(alice):
    mounts = mount_count()
    live = [lab.sleeper() for _ in range(5)]
    assert len(lab.procs_of_uid(alice)) >= 5  # positive control
    lab.service("stop", "sessiond")
    for each in live:
        each.close()
    lab.eventually(lambda: not [each for each in lab.procs_of_uid(alice) if each.comm == "sleep"], 1)
    assert mount_count() == mounts
    lab.service("start", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


def test_bug_3_in_a_foreign_user_namespace_nothing_starts():
    """Where the owner of a socket cannot be matched, no rule is loaded, and it says so."""
    program = os.readlink(f"/proc/{lab.service_pid('sessiond')}/exe")
    listeners = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    for each in listeners:
        each.bind("")
        each.listen()
    fds = [str(each.fileno()) for each in listeners]

    def start(*prefix):
        return subprocess.run([*prefix, "/bin/bash", "-c",
                               'LISTEN_PID=$$ exec "$0" 3<&"$1" 4<&"$2"', program, *fds],
                              capture_output=True, text=True, check=False, timeout=30,
                              pass_fds=[each.fileno() for each in listeners],
                              env=dict(os.environ, LISTEN_FDS="2", LISTEN_FDNAMES="core:session"))

    result = start("unshare", "--user", "--map-root-user", "--net", "--mount")
    for each in listeners:
        each.close()
    assert result.returncode == 69, result  # EX_UNAVAILABLE
    said = [line for line in result.stderr.splitlines() if "cannot start" in line]
    assert len(said) == 1 and "cannot start: iptables-restore: " in said[0], result
    assert lab.is_well()
