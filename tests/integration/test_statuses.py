# SPDX-License-Identifier: ISC
# test_statuses.py - runs that end for different reasons, each beside one that stays just below.
#
# Runs twice: in the lab of test_cgroup.py, with control groups, and in one without, where sessiond
# looks at the processes of a run instead.
import os

import pytest

import lab
from test_cgroup import MODE
from test_policy import FILE, LOG, log_from, policy, reload

MIB = 1 << 20
LONG = {"wall_ms": 60000}
CPU_MS, BELOW = 500, 0.7
CPU_S = CPU_MS / 1000
IS_GROUPED = MODE != "none"
# What is seen 50 ms later is longer on a busy machine; and it stays, so that it can be seen.
STAY = "" if IS_GROUPED else "\ntime.sleep(20)"

MEMORY = "taken = [bytearray(8 << 20) for _ in range(int(sys.argv[1]) // 8)]"
STAYS = f"if int(sys.argv[1]) > 500: {STAY.strip() or 'pass'}"
FORKS = """
for _ in range(int(sys.argv[1])):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        break
if int(sys.argv[1]) > 128 and int(sys.argv[2]): time.sleep(20)
os._exit(3)
"""
BURN = "while time.process_time() < float(sys.argv[1]): pass"
# As much as there is room for, but for some bytes; then it fails, as a program does that wants more.
FILL = """
place = os.path.expanduser(sys.argv[1])
with open(place + "/fill", "wb") as file:
    size = os.statvfs(place)
    os.posix_fallocate(file.fileno(), 0, size.f_bfree * size.f_bsize - int(sys.argv[2]))
os._exit(4)
"""
WRITE = """
for _ in range(int(sys.argv[1])):
    sys.stdout.buffer.write(bytes(1 << 20))
"""


def python(code, *args, **limits):
    return lab.python(f"import os, signal, sys, time\n{code}", *(str(each) for each in args),
                      limits={**LONG, **limits})


# What ends it, and the same just below the limit: code, argument, limits, status and exit code.
CASES = [
    pytest.param(f"{MEMORY}\n{STAYS}", 2048, 400, {}, ("oom", None), ("ok", 0), id="memory"),
    pytest.param(FORKS.replace("sys.argv[2]", str(int(not IS_GROUPED))), 200, 120, {},
                 ("pids", 3 if IS_GROUPED else None), ("exit", 3), id="pids"),
    pytest.param("time.sleep(float(sys.argv[1]))", 60, 0.4, {"wall_ms": 900},
                 ("timeout_wall", None), ("ok", 0), id="wall"),
    pytest.param(BURN, 60, BELOW * CPU_S, {"cpu_ms": CPU_MS}, ("timeout_cpu", None), ("ok", 0),
                 id="cpu"),
    pytest.param(f"sys.argv.insert(1, '/dev/shm')\n{FILL}", 0, 4096, {}, ("disk", 4), ("exit", 4),
                 id="disk"),
    pytest.param(WRITE, 80, 63, {}, ("output_flood", None), ("ok", 0), id="output"),
    pytest.param("os.kill(os.getpid(), int(sys.argv[1]))", 15, 0, {}, ("signal", None), ("ok", 0),
                 id="itself"),
]


def test_the_statuses_are_seven():
    assert len({case.values[4][0] for case in CASES}) == len(CASES) == 7


@pytest.mark.parametrize("code, much, less, limits, wanted, control", CASES)
def test_each_reason_has_its_status_and_just_below_there_is_none(code, much, less, limits, wanted,
                                                                 control):
    below = python(code, less, **limits)
    assert (below.status, below.end["exit"]) == control, below.end
    ended = python(code, much, **limits)
    assert (ended.status, ended.end["exit"]) == wanted, ended.end


# ---- processor time

def test_the_limit_is_told_and_the_usage_is_at_least_that():
    result = python(BURN, 60, cpu_ms=CPU_MS)
    assert result.find("accepted")[0]["limits"]["cpu_ms"] == CPU_MS
    assert result.status == "timeout_cpu"
    assert CPU_MS <= result.end["usage"]["cpu_ms"] < CPU_MS + 300, result.end
    assert result.end["signal"] is None  # that of a process would be XCPU
    assert result.end["message"] == "The run used up its processor time."


def test_milliseconds_count():
    result = python(BURN, 0.5, cpu_ms=200)
    assert result.status == "timeout_cpu", result.end
    assert 200 <= result.end["usage"]["cpu_ms"] < 400, result.end


def test_all_processes_of_a_run_count_together():
    result = python(f"for _ in range(2):\n    if os.fork() == 0:\n        {BURN}\n"
                    "        os._exit(0)\nos.wait(); os.wait()", 0.6 * CPU_S, cpu_ms=CPU_MS)
    assert result.status == "timeout_cpu", result.end


# A chain of children of 5 ms each, one after the other, of whom the kernel drops the time, as its
# rule is where SIGCHLD is ignored: none is there when sessiond looks, and nobody is told of it.
DROPPED = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 20
for _ in range(int(sys.argv[1])):
    if time.monotonic() > end: break
    if os.fork() == 0:
        while time.process_time() < 0.005: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
print(sum(os.times()[2:4]))
"""


def test_time_of_children_that_nobody_waits_for_counts():
    below = python(DROPPED, int(BELOW * CPU_MS / 10), cpu_ms=CPU_MS)
    assert (below.status, below.out) == ("ok", b"0.0\n"), below.end  # the program's own count
    result = python(DROPPED, 100000, cpu_ms=CPU_MS)
    assert result.status == "timeout_cpu", result.end
    # A third more, and what one look is late, where no control group counts (task_clock.h).
    assert CPU_MS <= result.end["usage"]["cpu_ms"] < CPU_MS + 300, result.end
    assert result.end["usage"]["wall_ms"] < 10000, result.end


def test_a_program_that_waits_uses_nothing():
    assert python("time.sleep(0.8)", cpu_ms=300).status == "ok"


def test_the_signal_of_the_limit_is_a_signal_of_its_own_before_the_limit():
    for name in ("SIGXCPU", "SIGKILL"):
        result = python(f"{BURN}\nos.kill(os.getpid(), signal.{name})", 0.5 * CPU_S,
                        cpu_ms=CPU_MS)
        assert (result.status, result.end["signal"]) == ("signal", name[3:]), result.end


# ---- memory and processes

@pytest.mark.parametrize("names", [["memory"], ["pids"], ["cpu"], ["memory", "pids", "cpu"]])
def test_a_limit_that_is_required_and_that_no_group_keeps_refuses_the_run(names):
    result = python("print(1)", required=names)
    if IS_GROUPED:
        assert (result.status, result.out) == ("ok", b"1\n"), result.end
    else:
        assert (result.status, result.end["step"]) == ("setup_failed", "cgroup"), result.end
        assert not result.find("start") and result.out == b""
    assert python("print(1)", required=[]).status == "ok"


def test_only_limits_that_there_are_can_be_required():
    for wrong in (["disk"], ["memory", ""], "memory", ["memory"] * 4):
        with pytest.raises(lab.Refused) as refused:
            python("print(1)", required=wrong)
        assert refused.value.answer.body["field"] == "limits.required"


NO_LIMIT = ("atelier: no session can start: a limit that has to hold here cannot be kept; tell whoever runs "
            "this host.")


def by_policy(who):
    return f"no control group here limits that, and the policy requires it ({who})"


def login_of(user):
    return lab.ssh(user, lab.code_of(user), "echo in", options=("LogLevel=INFO",))


@pytest.fixture
def no_policy_stays():
    yield
    os.unlink(FILE)
    reload()


@pytest.mark.usefixtures("no_policy_stays")
def test_a_limit_that_the_policy_requires_and_that_no_group_keeps_refuses_runs_and_sessions():
    uid = lab.uid_of("alice")
    offset = os.path.getsize(LOG)
    policy("login { required = {memory, pids} }\n"
           f"profile strict {{ base = run\n required = {{cpu}}\n uids = {{{uid}}} }}\n")
    assert lab.health()["limits_required"] == ["memory", "pids", "cpu"]
    said = "nothing starts profile=login required=\"memory, pids\""
    if IS_GROUPED:
        assert login_of("alice").stdout == "in\n" and python("print(1)").status == "ok"
        assert said not in log_from(offset)
        return
    assert said in log_from(offset)
    assert "not kept by control groups: memory,pids,cpu, and" in lab.atelier("status").stdout
    login = login_of("alice")
    # One sentence, and nothing of the host in it; the rest is ssh's own.
    assert login.stdout == f"{NO_LIMIT}\n" and login.returncode != 0
    assert "memory" not in login.stderr and "group" not in login.stderr
    why = f"memory, pids: {by_policy('login')}"
    assert f"a login is denied uid={uid} " in log_from(offset) and why in log_from(offset)
    with open("/run/lab/sessiond-api.log", encoding="utf-8") as log:
        assert f"session failed: Could not make the control group: {why}" in log.read()
    run = python("print(1)")
    assert (run.status, run.end["step"]) == ("setup_failed", "cgroup"), run.end
    assert f"cpu: {by_policy('strict')}" in run.end["message"]
    assert lab.run(["/bin/true"], user="carol").status == "ok"
    # The same without the key.
    policy(f"profile strict {{ base = run\n uids = {{{uid}}} }}\n")
    assert login_of("alice").stdout == "in\n" and python("print(1)").status == "ok"
    # What is required of all of a user's together is required of each.
    policy(f"profile all {{ base = user\n required = {{memory}}\n uids = {{{uid}}} }}\n")
    assert login_of("alice").stdout == f"{NO_LIMIT}\n" and python("print(1)").status == "setup_failed"
    assert login_of("carol").stdout == "in\n"


def test_what_keeps_memory_and_processes_is_told():
    start = python("print(1)").find("start")[0]
    group, watch = start["receipt"]["cgroup"], start["watch"]
    limits = lab.health()["limits"]
    for key, field, value in (("memory", "memory_max", 512 * MIB), ("pids", "pids_max", 128)):
        by = "group" if IS_GROUPED else "watch"
        assert limits[key] == by
        assert (group[field], watch[field]) == ((value, None) if IS_GROUPED else (None, value))
    assert limits["cpu"] == ("group" if IS_GROUPED else "none")


def test_memory_of_all_processes_of_a_run_counts_together():
    code = f'''
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        taken = bytearray(64 << 20)
        taken[::4096] = b"x" * len(taken[::4096])
        time.sleep(20 if int(sys.argv[1]) > 8 else 0.4)
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
'''
    assert python(code, 6).status == "ok"
    result = python(code, 16)
    assert result.status == "oom", result.end


def test_pages_that_processes_share_count_once():
    result = python('''
taken = bytearray(256 << 20)
taken[::4096] = b"x" * len(taken[::4096])
for _ in range(6):
    if os.fork() == 0:
        time.sleep(0.5)
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
''')
    assert result.status == "ok", result.end


def test_files_in_memory_are_memory():
    room = int(python("print(os.statvfs('/tmp').f_bfree * os.statvfs('/tmp').f_bsize)").out)
    take = (f"taken = bytearray({512 * MIB - room // 2})\n"
            f"taken[::4096] = b'x' * len(taken[::4096]){STAY}")
    code = FILL.replace("os._exit(4)", take)
    assert python(code, "/tmp", 0).status == "oom"
    assert python(code.replace(STAY or "\0", ""), "/tmp", room - 8 * MIB).status == "ok"


# ---- disk

@pytest.mark.parametrize("place, name", [("/tmp", "/tmp"), ("/var/tmp", "/var/tmp"),
                                         ("/dev/shm", "/dev/shm"), ("~", "HOME")])
def test_each_file_system_of_its_own_is_named(place, name):
    full = python(FILL, place, 0)
    assert (full.status, full.end["exit"]) == ("disk", 4), full.end
    assert full.end["message"] == \
        f"The program failed, and at its end no room was left in {name}."
    assert python(FILL, place, 4096).status == "exit"


def test_files_can_be_as_many_as_there_may_be():
    make = ("for number in range(int(sys.argv[1])):\n"
            "    open(f'/dev/shm/{number}', 'x').close()\n")
    room = int(python("print(os.statvfs('/dev/shm').f_ffree)").out)
    full = python(make, room + 1)
    assert (full.status, full.end["exit"]) == ("disk", 1), full.end
    assert b"No space left on device" in full.err
    assert python(f"{make}sys.exit(1)", room - 1).status == "exit"


def test_a_full_disk_is_no_fault_of_a_program_that_copes_or_makes_room():
    assert python(FILL.replace("_exit(4)", "_exit(0)"), "/dev/shm", 0).status == "ok"
    again = FILL.replace("os._exit(4)", "os.unlink(place + '/fill'); os._exit(4)")
    assert python(again, "/dev/shm", 0).status == "exit"


def test_a_file_over_its_limit_is_disk():
    code = ("signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "with open('/tmp/x', 'wb') as file: os.ftruncate(file.fileno(), int(sys.argv[1]))")
    assert python(code, 1024 * MIB).status == "ok"
    result = python(code, 1024 * MIB + 1)
    assert (result.status, result.end["signal"]) == ("disk", "XFSZ"), result.end
    assert result.end["message"] == "A file was to become larger than a file may be."


# ---- several at once

def test_memory_is_the_reason_before_a_full_disk():
    result = python(FILL.replace("os._exit(4)", MEMORY.replace("argv[1]", "argv[3]") + STAY),
                    "/dev/shm", 0, 2048)
    assert result.status == "oom", result.end
