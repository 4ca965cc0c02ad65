# SPDX-License-Identifier: ISC
# test_cgroup.py - memory, processes and processor time of runs and sessions, in control groups.
#
# In a lab with --cgroups (tests/integration/run gives it to this file), of whichever version the
# machine has.
import contextlib
import errno
import os
import re
import signal
import socket
import subprocess
import time

import lab
import pytest

MIB = 1 << 20
RUN = {"memory_max": 512 * MIB, "pids_max": 128, "cpu_quota_us": 100000, "cpu_period_us": 100000}
SESSION = dict(RUN, memory_max=1024 * MIB, pids_max=256)
GONE_WITHIN_S = 10
LONG = {"wall_ms": 120000}  # for an emulated machine
STRAY = "run-" + "0" * 32


def mode_now():
    with contextlib.suppress(AssertionError):
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
    return (lab.health() or {}).get("cgroup_mode")


MODE = mode_now()
pytestmark = pytest.mark.skipif(MODE == "none", reason="the lab has no control groups")

# Takes memory a piece at a time, so that what stood before the limit is seen.
MEMORY_BOMB = """
import sys
taken = []
for _ in range(300):
    taken.append(bytearray(8 << 20))
print(len(taken))
"""
# Every process that comes into being makes more of them; the first one stays to see it end.
FORK_BOMB = """
import os, time
end = time.monotonic() + 1
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            end = time.monotonic() + 60
    except OSError:
        time.sleep(0.05)
os._exit(3)
"""
CPU_HOG = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        break
print("up", flush=True)
while True:
    pass
"""


def groups():
    """Directory of each tree that sessiond was given."""
    with open(f"/proc/{lab.service_pid('sessiond')}/cmdline", encoding="utf-8") as file:
        return re.findall(r"--cgroup(?:-lite|-v1=\w+)?=(/[^\0]*)", file.read())


def leaves():
    """Of runs and sessions; the canary's probe has one for good."""
    return [path for top in groups() for path, _, _ in os.walk(top)
            if f"/u{lab.ID_CANARY}/" not in path and
            re.search(r"/(run|session)-[0-9a-f]{32}$", path)]


def leaf_dirs(leaf):
    """Where the leaf of a receipt is, in each tree."""
    return [f"{top}/{'/'.join(leaf.split('/')[-2:])}" for top in groups()]


def leaf_key(leaf, file, key):
    for directory in leaf_dirs(leaf):
        with contextlib.suppress(FileNotFoundError), \
                open(f"{directory}/{file}", encoding="ascii") as lines:
            for line in lines:
                if line.split()[0] == key:
                    return int(line.split()[1])
    return None


def assert_limits(group, plan, is_group_killed):
    assert group["mode"] == MODE
    assert {key: group[key] for key in plan} == plan
    assert group["swap_max"] in ((0,) if MODE == "v2" else (0, None))
    assert group["oom_group"] is (is_group_killed and MODE == "v2")


@pytest.fixture(autouse=True)
def leaves_go():
    """Nothing of a leaf is left, and whoever watches it has not died of what happened in it."""
    daemons = [lab.service_pid(name) for name in ("sessiond", "sessiond-api", "atelier-sshd")]
    yield
    lab.eventually(lambda: not leaves(), GONE_WITHIN_S)
    now = [lab.service_pid(name) for name in ("sessiond", "sessiond-api", "atelier-sshd")]
    assert now[1:] == daemons[1:] and now[0]


# ---- runs

def test_a_run_has_the_limits_of_the_plan_and_no_name_for_its_group():
    result = lab.sh("cat /proc/self/cgroup")
    group = result.receipt["cgroup"]
    assert_limits(group, RUN, True)
    assert re.search(r"/u\d+/run-[0-9a-f]{32}$", group["leaf"])
    for line in result.out.decode().splitlines():
        assert line.endswith(":/"), result.out
    assert result.end["usage"]["memory_peak"] > 0


def test_a_memory_bomb_ends_as_oom_and_hurts_nobody_else():
    bomb = lab.start([lab.PYTHON, "-I", "-c", MEMORY_BOMB], limits=LONG)
    assert lab.python("print(1)", user="carol").status == "ok"
    bomb.finish()
    assert (bomb.status, bomb.out) == ("oom", b"")
    assert bomb.end["signal"] == "KILL"
    assert bomb.end["message"] == "The run needed more memory than it may."
    assert RUN["memory_max"] * 0.9 < bomb.end["usage"]["memory_peak"] <= RUN["memory_max"]
    assert bomb.end["usage"]["rss_peak_kb"] < 600 * 1024


def test_a_part_that_is_killed_for_memory_is_told_although_the_program_ends_well():
    # The whole group goes: by the kernel, or when sessiond has seen it.
    result = lab.sh(f"{lab.PYTHON} -I -c '{MEMORY_BOMB}'; sleep 60; echo after", limits=LONG)
    assert (result.status, result.out, result.end["exit"]) == ("oom", b"", None)
    assert result.end["signal"] == "KILL"
    result = lab.sh(f"{lab.PYTHON} -I -c '{MEMORY_BOMB}'", limits=LONG)
    assert result.status == "oom", result.end


def test_what_a_run_left_in_memory_is_not_held_against_the_next_one_of_the_same_user():
    """Each takes files and memory near its limit; all together would be above that of the user."""
    code = ("with open('/tmp/x', 'wb') as file:\n"
            "    for _ in range(100): file.write(bytes(1 << 20))\n"
            "taken = bytearray(350 << 20)\n"
            "taken[::4096] = b'x' * len(taken[::4096])\n")
    for number in range(5):
        result = lab.python(code, limits=LONG)
        assert result.status == "ok", (number, result.end)
        assert result.end["usage"]["memory_peak"] > 430 * MIB
    # The positive control: it is counted together.
    assert lab.python(f"{code}taken = bytearray(b'x') * (500 << 20)", limits=LONG).status == "oom"


def test_a_fork_bomb_ends_as_pids_and_leaves_nothing():
    bomb = lab.start([lab.PYTHON, "-I", "-c", FORK_BOMB])
    bomb.until("start")
    assert lab.python("print(1)", user="carol").status == "ok"
    bomb.finish()
    assert (bomb.status, bomb.end["exit"]) == ("pids", 3)
    assert bomb.end["usage"]["pids_peak"] in (None, RUN["pids_max"])
    assert not lab.procs_of_uid(lab.uid_of("alice"))


def test_a_refused_fork_is_no_fault_of_a_program_that_copes():
    result = lab.python("""
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    print(made)
""")
    assert result.status == "ok"
    # PID 1 and the program itself count, too.
    assert int(result.out) == RUN["pids_max"] - 2


def cpu_s(pids):
    """Processor time of processes that live: proc(5), stat, fields 14 and 15."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            ticks += sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def test_a_processor_hog_gets_one_processor_at_most():
    hog = lab.start([lab.PYTHON, "-I", "-c", CPU_HOG], limits=LONG)
    main = hog.until("start")["pid"]
    hog.until("out")
    pids = lab.eventually(lambda: [each.pid for each in lab.procs_of_uid(lab.uid_of("alice"))
                                   if each.comm.startswith("python")][3:] and
                          [each.pid for each in lab.procs_of_uid(lab.uid_of("alice"))])
    began, before = time.monotonic(), cpu_s(pids)
    assert lab.python("print(1)", user="carol").status == "ok"
    time.sleep(max(0.0, began + 1.2 - time.monotonic()))
    used, wall = cpu_s(pids) - before, time.monotonic() - began
    # A period's quota may fall on either side of a look.
    assert used < wall + 0.15, (used, wall)
    lab.die_alone(main)
    hog.finish()
    assert (hog.status, hog.end["signal"]) == ("signal", "KILL")
    # The processes that nobody waited for are counted, too.
    assert hog.end["usage"]["cpu_ms"] >= used * 1000, (hog.end, used)


# ---- sessions

def test_bombs_in_a_session_end_a_process_and_the_session_lives():
    with lab.Session("dora") as live:
        facts = live.facts()
        group = facts["receipt"]["cgroup"]
        assert_limits(group, SESSION, False)
        assert re.search(rf"/u\d+/session-{live.id}$", group["leaf"])
        for line in live.says("cat /proc/self/cgroup").splitlines():
            assert line.endswith(":/"), line
        for directory in leaf_dirs(group["leaf"]):
            with open(f"{directory}/cgroup.procs", encoding="ascii") as procs:
                inside = {int(pid) for pid in procs}
            assert {facts["pid"], facts["init_pid"]} <= inside
            mine = {each.pid for each in lab.procs_of_uid(lab.uid_of("dora"))}
            assert mine and mine <= inside, (mine, inside)

        shell = lab.process_or_none(facts["init_pid"])
        assert live.says(f"{lab.PYTHON} -I -c '{MEMORY_BOMB}'; echo $?") == "137\n"
        assert lab.process_or_none(facts["init_pid"]).pid_ns == shell.pid_ns
        bomb = live.popen(f"{lab.PYTHON} -I -c '{FORK_BOMB}'")
        lab.eventually(lambda: leaf_key(group["leaf"], "pids.events", "max"), 20)
        assert lab.python("print(1)", user="carol").status == "ok"
        # It cannot take so many that its own owner could not end it.
        assert lab.atelier("session", "kill", live.id).returncode == 0
        lab.eventually(live.is_over, 10)
        bomb.communicate(timeout=20)
    assert not lab.procs_of_uid(lab.uid_of("dora"))
    lab.eventually(lambda: f"session={live.id}" in closed_lines() and
                   re.search(rf"session={live.id} .*oom_kills=1", closed_lines()), 10)


def closed_lines():
    with open("/run/lab/sessiond-api.log", encoding="utf-8", errors="replace") as log:
        return "".join(line for line in log if "session closed" in line)


def test_a_login_ends_as_ever_and_its_code_comes_through():
    minted = lab.mint("dora")
    result = lab.ssh("dora", minted["code"], "exit 7")
    assert result.returncode == 7, result


# ---- a restart

def test_a_session_keeps_its_leaf_over_a_restart_and_what_is_left_of_others_goes():
    with lab.Session("dora") as live:
        leaf = live.facts()["receipt"]["cgroup"]["leaf"]
        run = lab.sleeper()
        assert len(leaves()) == 2 * len(groups())
        lab.service("kill", "sessiond")
        for top in groups_of_stopped(leaf):
            os.makedirs(f"{top}/u10009/{STRAY}", exist_ok=True)
        lab.service("start", "sessiond")
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)
        run.close()
        lab.eventually(lambda: leaves() == leaf_dirs(leaf), GONE_WITHIN_S)
        assert live.says("echo alive") == "alive\n"
        assert lab.sessions("dora")[0]["receipt"]["cgroup"]["leaf"] == leaf


def groups_of_stopped(leaf):
    """The directories, of the lab itself: a sessiond that is dead does not say."""
    base = leaf.rsplit("/", 2)[0].rsplit("/", 1)[1]
    found = subprocess.run(["find", "/sys/fs/cgroup", "-name", base, "-type", "d"], check=True,
                           capture_output=True, text=True).stdout.split()
    assert len(found) in (1, 3, 4, 5)
    return found


# ---- nothing weaker starts

def test_without_its_directory_nothing_starts_and_with_a_new_one_it_does():
    tops = groups()
    assert lab.python("print(1)").status == "ok"
    # Users' groups go some seconds after their last leaf; the canary's probe has its own.
    probes = f"u{lab.ID_CANARY}"
    lab.eventually(lambda: not [each for top in tops for each in os.scandir(top)
                                if each.is_dir() and each.name != probes], 15)
    assert os.path.isdir(f"{tops[0]}/{probes}")
    sessiond = lab.service_pid("sessiond")
    os.kill(sessiond, signal.SIGSTOP)  # or it would have a new probe before the tree is gone
    try:
        for process in lab.procs_of_uid(lab.ID_CANARY):
            lab.die_alone(process.ppid)
        lab.eventually(lambda: not lab.procs_of_uid(lab.ID_CANARY))
        lab.eventually(lambda: all(map(tree_is_removed, tops)))
    finally:
        os.kill(sessiond, signal.SIGCONT)
    try:
        refused = lab.python("print(1)")
        minted = lab.mint("carol")
        login = lab.ssh("carol", minted["code"], "echo in")
    finally:
        for top in tops:
            os.mkdir(top)
    # The probe cannot come back either.
    assert refused.status == "setup_failed", refused.end
    assert refused.end["step"] in ("cgroup", "canary"), refused.end
    assert not refused.find("start")
    assert login.returncode == 255 or "in\n" not in login.stdout
    # A probe is tried again after a second, and found out to be back by who asks next.
    lab.eventually(lambda: lab.python("print(1)").status == "ok", 10)
    assert lab.is_well()
    assert_limits(lab.python("print(1)").receipt["cgroup"], RUN, True)


def tree_is_removed(top):
    """With all directories in it, from below; False while there is somebody in one."""
    try:
        for directory, _, _ in os.walk(top, topdown=False):
            os.rmdir(directory)
    except OSError as error:
        assert error.errno == errno.EBUSY, error
        return False
    return True


def test_the_probe_of_the_canary_is_in_a_group_like_a_run():
    """What is done to our groups is done to it as well: a rule by path, a firewall of a unit."""
    def groups_of(pid):
        with open(f"/proc/{pid}/cgroup", encoding="ascii") as text:
            return {line.split(":")[1]: line.rstrip().split(":", 2)[2] for line in text}

    probe = next(iter(lab.procs_of_uid(lab.ID_CANARY)))
    live = lab.sleeper()
    try:
        mine, its = groups_of(live.find("start")[0]["pid"]), groups_of(probe.pid)
        leaves = [name for name, path in mine.items() if "/run-" in path]
        assert leaves
        for name in leaves:
            base, user, leaf = its[name].rsplit("/", 2)
            assert (base, user) == (mine[name].rsplit("/", 2)[0], f"u{lab.ID_CANARY}"), its
            assert leaf.startswith("run-")
    finally:
        live.close()


def listening():
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.bind("")  # autobind
    sock.listen()
    return sock


@pytest.mark.parametrize("option, code, says", [
    ("--cgroup=/tmp", 69, "it is no directory of a version 2 tree"),
    ("--cgroup=/nowhere", 69, "/nowhere: No such file or directory"),
    ("--cgroup=relative", 64, "absolute path"),
    ("--cgroup-v1=memory=/tmp", 69, "it is no directory of a version 1 tree"),
    ("--cgroup-lite=/tmp", 69, "it is no directory of a version 2 tree"),
    ("--cgroup-v1=disk=/tmp", 64, "memory=DIR, pids=DIR, cpu=DIR or cpuacct=DIR"),
])
def test_a_directory_that_will_not_do_is_refused_at_start(option, code, says):
    program = os.readlink(f"/proc/{lab.service_pid('sessiond')}/exe")
    with listening() as one, listening() as two:
        result = lab.command(
            "/bin/bash", "-c", 'LISTEN_PID=$$ exec "$0" "$1" 3<&"$2" 4<&"$3"', program, option,
            str(one.fileno()), str(two.fileno()), check=False,
            pass_fds=(one.fileno(), two.fileno()),
            env=dict(os.environ, LISTEN_FDS="2", LISTEN_FDNAMES="core:session"))
    assert result.returncode == code, result
    assert says in result.stderr
