# SPDX-License-Identifier: ISC
# test_policy.py - /etc/atelier/atelier.conf: what runs and sessions get, who gets it, and when.
#
# In the lab of test_cgroup.py, which has control groups where the machine has them.
import contextlib
import os
import shutil
import signal

import lab
import pytest
from test_cgroup import MODE, leaf_dirs, listening

MIB = 1 << 20
CONF = "/etc/atelier/conf.d"
FILE = f"{CONF}/90-test.conf"
IN_FORCE = "/run/atelier/policy"
LOG = "/run/lab/sessiond.log"
SHARED, SECRET = "/opt/course/data", "/opt/secret"
SMALL = ("run {\n memory = 96M\n pids = 20\n cpu = 0.5\n nofile = 100\n fsize = 2M\n tmp = 16M\n"
         " tmp_files = 32\n var_tmp = 8M\n shm = 4M\n home = 24M\n home_files = 2048\n}\n")
SHIPPED = {"nofile": 4096, "fsize": 1024 * MIB, "nproc": 512, "core": 1, "memlock": 65536,
           "msgqueue": 0, "rtprio": 0, "nice": 0, "cpu": None}

pytestmark = pytest.mark.skipif(os.environ.get("ATELIER_LAB") != "1", reason="not in a lab")


def sessiond():
    return os.readlink(f"/proc/{lab.service_pid('sessiond')}/exe").removesuffix(" (deleted)")


def log_from(offset):
    with open(LOG, encoding="utf-8", errors="replace") as log:
        log.seek(offset)
        return log.read()


def reload():
    """SIGHUP; what the log says of it, when both parts are done."""
    offset = os.path.getsize(LOG)
    os.kill(lab.service_pid("sessiond"), signal.SIGHUP)
    lab.eventually(lambda: "network rules loaded again" in log_from(offset))
    return log_from(offset)


def put(text):
    os.makedirs(CONF, mode=0o755, exist_ok=True)
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(FILE, 0o644)


def policy(text):
    put(text)
    said = reload()
    assert "policy read again" in said, said


@pytest.fixture(autouse=True)
def policy_goes():
    yield
    shutil.rmtree(CONF, ignore_errors=True)
    assert "policy read again profiles=3" in reload()


def group_of(receipt):
    return {key: receipt["cgroup"][key] for key in ("memory_max", "pids_max", "cpu_quota_us")}


def assert_group(receipt, memory_max, pids_max, cpu_quota_us):
    if MODE != "none":
        assert group_of(receipt) == {"memory_max": memory_max, "pids_max": pids_max,
                                     "cpu_quota_us": cpu_quota_us}


SIZES = """
import json, os, resource
def size(path):
    fs = os.statvfs(path)
    return [fs.f_blocks * fs.f_frsize, fs.f_files]
print(json.dumps({"nofile": resource.getrlimit(resource.RLIMIT_NOFILE),
                  "fsize": resource.getrlimit(resource.RLIMIT_FSIZE),
                  "cpu": resource.getrlimit(resource.RLIMIT_CPU),
                  **{path: size(path) for path in ("/tmp", "/var/tmp", "/dev/shm")},
                  "home": size(os.path.dirname(os.environ["HOME"]))}))
"""


# ---- values

def test_what_is_shipped_holds_where_nothing_is_said():
    result = lab.python(SIZES)
    assert result.receipt["rlimits"] == SHIPPED
    assert_group(result.receipt, 512 * MIB, 128, 100000)
    seen = result.json()
    assert seen["/tmp"] == [128 * MIB, 32768] and seen["home"] == [128 * MIB, 32768]
    assert seen["/var/tmp"] == [32 * MIB, 8192] and seen["/dev/shm"] == [64 * MIB, 4096]
    assert seen["cpu"] == [-1, -1]


def test_a_lower_limit_is_what_the_receipt_and_the_kernel_show():
    policy(SMALL)
    result = lab.python(SIZES)
    assert result.receipt["rlimits"] == dict(SHIPPED, nofile=100, fsize=2 * MIB)
    assert_group(result.receipt, 96 * MIB, 20, 50000)
    seen = result.json()
    assert (seen["nofile"], seen["fsize"]) == ([100, 100], [2 * MIB, 2 * MIB])
    assert (seen["/tmp"], seen["/var/tmp"][0]) == ([16 * MIB, 32], 8 * MIB)
    assert (seen["/dev/shm"][0], seen["home"]) == (4 * MIB, [24 * MIB, 2048])
    # Not only shown: they hold.
    assert b"No space left" in lab.sh(
        "for i in 1 2 3 4 5 6 7 8 9; do head -c 2000000 /dev/zero >/tmp/$i || exit 1; done").err
    assert lab.sh("head -c 3000000 /dev/zero >/tmp/x").end["exit"] != 0
    if MODE != "none":
        assert lab.python("print(len(bytearray(128 << 20)))").status == "oom"
        assert lab.python("print(len(bytearray(32 << 20)))").status == "ok"


def test_sessions_have_a_section_of_their_own():
    policy("login {\n memory = 300M\n nofile = 200\n tmp = 32M\n}\n")
    with lab.Session("dora") as live:
        receipt = live.facts()["receipt"]
        assert_group(receipt, 300 * MIB, 256, 100000)
        assert receipt["rlimits"] == dict(SHIPPED, nofile=200)
        assert live.json(SIZES)["/tmp"][0] == 32 * MIB
    assert_group(lab.run(["/bin/true"]).receipt, 512 * MIB, 128, 100000)


def test_a_run_gets_the_time_and_the_output_of_its_profile_and_no_more():
    def asks(user="carol", **limits):
        with pytest.raises(lab.Refused) as refused:
            lab.run(["/bin/true"], user=user, limits=limits)
        answer = refused.value.answer
        return answer.status, answer.body["field"], answer.body["message"]

    policy("run { wall = 700ms wall_max = 5s output = 2K output_max = 4K }\n"
           "profile slow { base = run wall = 3s wall_max = 1h output = 1M output_max = 16M\n"
           f" uids = {{{lab.uid_of('alice')}}} }}\n")
    late = lab.run(["/bin/sleep", "30"], user="carol")
    assert late.status == "timeout_wall" and 600 < late.end["usage"]["wall_ms"] < 3000
    assert late.find("accepted")[0]["limits"] == {"wall_ms": 700, "cpu_ms": None,
                                                     "out_kb": 2}
    assert asks(wall_ms=5001) == (400, "limits.wall_ms", "limits.wall_ms must be from 1 to 5000.")
    assert asks(out_kb=5) == (400, "limits.out_kb", "limits.out_kb must be from 1 to 4.")
    assert lab.run(["/bin/true"], user="carol", limits={"wall_ms": 5000}).status == "ok"
    assert asks("alice", wall_ms=3600001)[:2] == (400, "limits.wall_ms")
    slow = lab.run(["/bin/sleep", "1"], limits={"wall_ms": 3600000})
    assert slow.status == "ok"
    assert slow.find("accepted")[0]["limits"] == {"wall_ms": 3600000, "cpu_ms": None,
                                                     "out_kb": 1024}
    # What is not in force yet is not believed, nor is what is wrong.
    put("run { wall_max = 2s wall = 1s }\n")
    assert lab.run(["/bin/true"], user="carol", limits={"wall_ms": 5000}).status == "ok"
    reload()
    assert asks(wall_ms=5000)[1] == "limits.wall_ms"
    put("run { wall_max = 9s \n")
    reload()
    assert asks(wall_ms=5000)[1] == "limits.wall_ms"


def test_processor_time_is_that_of_the_profile_up_to_its_maximum():
    policy("run { cpu_time = 1s cpu_time_max = 2s }\n")
    result = lab.python("while True: pass", limits={"wall_ms": 60000})
    assert result.status == "timeout_cpu", result.end
    assert MODE == "none" or 1000 <= result.end["usage"]["cpu_ms"] < 1900, result.end
    # Where somebody counts, the limit of a process comes a second later.
    counted = MODE != "none"
    assert lab.python(SIZES).json()["cpu"] == [1 + counted, 2 + counted]
    most = lab.python(SIZES, limits={"cpu_ms": 2000})
    assert most.json()["cpu"] == [2 + counted, 3 + counted]
    assert most.find("accepted")[0]["limits"]["cpu_ms"] == 2000
    with pytest.raises(lab.Refused) as refused:
        lab.run(["/bin/true"], limits={"cpu_ms": 2001})
    assert refused.value.answer.body["field"] == "limits.cpu_ms"


# ---- when

def test_a_change_is_for_the_next_and_not_for_who_lives():
    with lab.Session("dora") as live:
        run = lab.sleeper()
        before = {"run": run.receipt, "session": live.facts()["receipt"]}
        policy(SMALL + "login { pids = 77 }\nuser { memory = 1G pids = 100 }\n")
        if MODE != "none":
            for kind, memory in (("run", 512), ("session", 1024)):
                files = [f"{each}/{name}" for each in leaf_dirs(before[kind]["cgroup"]["leaf"])
                         for name in ("memory.max", "memory.limit_in_bytes")]
                said = [open(each, encoding="ascii").read() for each in files
                        if os.path.exists(each)]
                assert said == [f"{memory * MIB}\n"]
        assert live.json(SIZES)["/tmp"][0] == 256 * MIB
        assert_group(lab.run(["/bin/true"], user="dora").receipt, 96 * MIB, 20, 50000)
        assert_group(lab.run(["/bin/true"]).receipt, 96 * MIB, 20, 50000)
        run.close()
    with lab.Session("dora") as live:
        assert_group(live.facts()["receipt"], 1024 * MIB, 77, 100000)


@pytest.mark.parametrize("text, message", [
    ("run {\n memory = 1K\n}\n", ":2: run: memory: less than 16M is not possible"),
    ("run {\n pids = 50\n}\nrun {\n tmp = 1G\n}\n",
     ":5: run: tmp: 1G is more than memory, which is 512M"),
    ("run {\n pids = 50\n", ":1: a { that is not closed"),
])
def test_a_broken_file_leaves_the_old_policy_and_says_where(text, message):
    policy(SMALL)
    with open(IN_FORCE, encoding="ascii") as file:
        in_force = file.read()
    put(text)
    said = reload()
    assert f"the policy was not read again, the old one stays: {FILE}{message}" in said
    with open(IN_FORCE, encoding="ascii") as file:
        assert file.read() == in_force
    assert_group(lab.run(["/bin/true"]).receipt, 96 * MIB, 20, 50000)
    checked = lab.command(sessiond(), "--check-policy", check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (78, "", f"{FILE}{message}\n")


def test_who_else_could_write_it_makes_it_no_policy():
    policy(SMALL)
    os.chmod(FILE, 0o666)
    assert f"{FILE}: group or others may write to it" in reload()
    os.chmod(FILE, 0o644)
    os.chown(FILE, lab.CALLER, 0)
    assert f"{FILE}: it must belong to root" in reload()
    assert_group(lab.run(["/bin/true"]).receipt, 96 * MIB, 20, 50000)


def test_sessiond_does_not_start_with_a_broken_file():
    put("nonsense\n")
    with listening() as one, listening() as two:
        result = lab.command(
            "/bin/bash", "-c", 'LISTEN_PID=$$ exec "$0" 3<&"$1" 4<&"$2"', sessiond(),
            str(one.fileno()), str(two.fileno()), check=False,
            pass_fds=(one.fileno(), two.fileno()),
            env=dict(os.environ, LISTEN_FDS="2", LISTEN_FDNAMES="core:session"))
    assert result.returncode == 78
    assert f"cannot start: the policy is wrong: {FILE}:1: " in result.stderr


# ---- who

def test_a_profile_is_for_the_uids_and_groups_that_it_names():
    course = next(group["gid"] for group in lab.api("GET", "/v1/groups").body["groups"]
                  if group["name"] == "course-a")
    policy(f"profile one {{ base = run nofile = 101 uids = {{{lab.uid_of('alice')}}} }}\n"
           f"profile course {{ base = one pids = 33 gids = {{{course}}} }}\n"
           f"profile course-login {{ base = login nofile = 202 gids = {{{course}}} }}\n")
    found = {name: lab.run(["/bin/true"], user=name).receipt for name in ("alice", "carol", "dora")}
    assert {name: each["rlimits"]["nofile"] for name, each in found.items()} == \
        {"alice": 101, "carol": 4096, "dora": 101}
    assert_group(found["alice"], 512 * MIB, 128, 100000)
    assert_group(found["dora"], 512 * MIB, 33, 100000)
    with lab.Session("dora") as live:
        assert live.facts()["receipt"]["rlimits"]["nofile"] == 202
    said = lab.command(sessiond(), "--explain-policy", f"{lab.uid_of('dora')}:{course}").stdout
    assert f"run     profile        course (gid {course})\n" in said
    assert "run     nofile         101\n" in said and "login   nofile         202\n" in said


def test_the_command_takes_names():
    course = next(group["gid"] for group in lab.api("GET", "/v1/groups").body["groups"]
                  if group["name"] == "course-a")
    put(f"profile course {{ base = login pids = 44 required = {{cpu, pids}} gids = {{{course}}} }}\n"
        "network { deny = {203.0.113.0/24, \"2001:db8:5::/48\"} deny_on_link = true\n"
        " egress = listed allow = {\"[2001:db8:1::2]:443\", data.example} connections = 99 }\n")
    assert lab.atelier("policy", "check").stdout == "/etc/atelier: fine, profiles: 4\n"
    mine = lab.atelier("policy", "explain", "dora").stdout.splitlines()
    other = lab.atelier("policy", "explain", "carol").stdout.splitlines()
    assert f"login   profile        course (gid {course})" in mine and "login   pids           44" in mine
    assert "login   profile        login" in other and "login   pids           256" in other
    assert [line.split()[2] for line in mine if line.startswith("login   required ")] == ["pids", "cpu"]
    assert not [line for line in other if line.startswith("login   required ")]
    # And what is the same for everybody.
    assert mine[-9:] == other[-9:] == [
        "network deny           203.0.113.0/24", "network deny           2001:db8:5::/48",
        "network deny_on_link   true", "network egress         listed",
        "network allow          [2001:db8:1::2]:443", "network allow          data.example",
        "network connections    99", "disk    backend        auto", "disk    required       false"]
    # What is shown can be read again, and so can what is in force: not what was put down just now.
    for argv, count in (([sessiond(), "--show-policy"], 4), (["cat", IN_FORCE], 3)):
        shown = lab.command(*argv).stdout
        with open("/run/shown.conf", "w", encoding="ascii") as file:
            file.write(shown)
        assert lab.atelier("policy", "check", "/run/shown.conf").stdout == \
            f"/run/shown.conf: fine, profiles: {count}\n"
        assert lab.atelier("policy", "show", "/run/shown.conf").stdout == shown
    for argv, code, says in ((("explain", "nobody-here"), 1, "there is no user 'nobody-here'"),
                             (("explain", "root"), 1, "root is no participant"),
                             (("explain",), 64, "NAME is missing"),
                             (("explain", "No!"), 64, "is no name of a user"),
                             (("check", "/nowhere"), 78, "/nowhere: No such file or directory"),
                             (("check", "a", "b"), 64, "one argument too many")):
        result = lab.atelier("policy", *argv, check=False)
        assert (result.returncode, result.stdout) == (code, "") and says in result.stderr, result
    # Nobody needs to be root for it.
    result = lab.command("atelier", "policy", "explain", "dora", user=lab.CALLER, group=lab.CALLER)
    assert result.stdout.splitlines() == mine


QUOTA_LACKS = "warning: disk: quota: file system of the homes: not turned on"
NO_NAMES = "warning: network: egress: listed, and allow is empty: "


@pytest.mark.parametrize("text, words", [
    ("user { disk = 3G }", (QUOTA_LACKS, "; image: ", "nothing starts", "required = false")),
    ("disk { backend = quota }", (QUOTA_LACKS, "nothing starts", "turn user quota on")),
    ("disk { backend = quota\n required = false }", (QUOTA_LACKS, "nobody is held")),
    ("user { disk = 3G }\ndisk { required = false }", ()),
    ("disk { backend = none }", ()),
    ("network { egress = listed }", (NO_NAMES,)),
    ("network { egress = listed\n allow = {198.51.100.2} }", ()),
])
def test_check_says_what_nothing_can_hold_or_reach(text, words):
    """That a host which has the back end gets no such warning is in test_disk.py."""
    put(f"{text}\n")
    result = lab.atelier("policy", "check")
    assert all(word in result.stderr for word in words), result
    assert result.stderr.count("\n") == (1 if words else 0), result
    assert result.stdout.endswith(", warnings: 1\n" if words else "profiles: 3\n"), result


@pytest.mark.parametrize("profile, code, words", [
    ("trees = {\"/opt/course/none\"}", 0, "warning: a: trees: /opt/course/none: No such file or directory"),
    ("trees = {\"/opt/course/link\"}", 0, "warning: a: trees: /opt/course/link: there is a symbolic link"),
    (f"trees = {{\"{SECRET}\"}}", 0, f"warning: a: trees: {SECRET}: mode 0700: participants cannot"),
    (f"trees = {{\"{SHARED}/below\"}}", 78, f"error: a: trees: {SHARED}/below: a file system of the"),
    ("gids = {10007} memory = 600M pids = 64", 0, "warning: a: gids: more than run has, of memory: "),
    ("gids = {10007} pids = 64 wall_max = 1min", 0, ""),
    ("uids = {10007} memory = 600M", 0, ""),
])
def test_check_says_what_does_not_fit_this_host(profile, code, words):
    """A tree of a server is refused in tests/unit/test_hosttree.c: here nobody can mount one."""
    with shared():
        os.chmod(SECRET, 0o700)
        os.symlink(SHARED, "/opt/course/link")
        put(f"profile a {{ base = run {profile} }}\n")
        result = lab.atelier("policy", "check", check=False)
    assert result.returncode == code and words in result.stderr, result
    if code == 0:
        warned = ", warnings: 1" if words else ""
        assert result.stdout == f"/etc/atelier: fine, profiles: 4{warned}\n"
        assert result.stderr.count("\n") == (1 if words else 0), result


# ---- trees

@contextlib.contextmanager
def shared():
    for path in (SHARED, SECRET):
        os.makedirs(path)
    try:
        for path in (f"{SHARED}/notes", f"{SECRET}/key", "/opt/course/outside"):
            with open(path, "w", encoding="ascii") as file:
                file.write("read me\n")
        os.makedirs(f"{SHARED}/below")
        lab.command("mount", "-t", "proc", "proc", f"{SHARED}/below")
        shutil.copy("/bin/id", f"{SHARED}/id")
        os.chmod(f"{SHARED}/id", 0o4755)
        yield
    finally:
        lab.command("umount", "-l", f"{SHARED}/below", check=False)
        shutil.rmtree("/opt/course", ignore_errors=True)
        shutil.rmtree(SECRET)


LOOK = f"cat {SHARED}/notes; ls /opt /opt/course {SHARED}/below; {SHARED}/id -u; " \
       f"echo x >{SHARED}/new; mkdir /opt/new; mkdir /opt/course/new; chmod 700 {SHARED}"


def test_a_tree_is_there_read_only_and_not_for_others():
    tree = f'trees = {{"{SHARED}"}} uids = {{{lab.uid_of("alice")}}}'
    with shared():
        policy(f"profile a {{ base = run {tree} }}\nprofile b {{ base = login {tree} }}\n")
        mine, other = lab.sh(LOOK), lab.sh(LOOK, user="carol")
        with lab.Session("alice") as live:
            session = live.ssh(LOOK)
    wanted = (f"read me\n/opt:\ncourse\n\n/opt/course:\ndata\n\n{SHARED}/below:\n"
              f"{lab.uid_of('alice')}\n")
    assert mine.out.decode() == wanted
    assert mine.err.count(b"Read-only file system") == 4, mine.err
    assert session.stdout == wanted
    assert session.stderr.count("Read-only file system") == 4, session.stderr
    assert other.out == b"", other.out  # not even a name
    assert b"No such file or directory" in other.err


def test_a_fifo_in_a_tree_is_written_to_as_its_permissions_say():
    """Not refused: SECURITY.md and atelier.conf(5) say so, and a read-only mount does not help."""
    tree = f'trees = {{"{SHARED}"}} uids = {{{lab.uid_of("alice")}}}'
    with shared():
        for name, mode in (("open", 0o666), ("closed", 0o600)):
            os.mkfifo(f"{SHARED}/{name}")
            os.chmod(f"{SHARED}/{name}", mode)
        with contextlib.ExitStack() as stack:
            fds = [os.open(f"{SHARED}/{name}", os.O_RDONLY | os.O_NONBLOCK) for name in ("open", "closed")]
            for fd in fds:
                stack.callback(os.close, fd)
            policy(f"profile a {{ base = run {tree} }}\nprofile b {{ base = login {tree} }}\n")
            write = f"echo heard >{SHARED}/open; echo heard >{SHARED}/closed"
            run = lab.sh(write)
            assert (os.read(fds[0], 64), os.read(fds[1], 64)) == (b"heard\n", b""), run.err
            with lab.Session("alice") as live:
                session = live.ssh(write)
            assert (os.read(fds[0], 64), os.read(fds[1], 64)) == (b"heard\n", b""), session.stderr
    assert b"Permission denied" in run.err


@pytest.mark.parametrize("make", ["nothing", "link", "link above", "proc", "file"])
def test_a_tree_that_is_not_what_it_was_said_to_be_starts_nothing(make):
    path = f"{SHARED}/x"
    with shared():
        if make == "link":
            os.symlink(SECRET, path)
        elif make == "link above":
            os.symlink(SECRET, "/opt/course/up")
            os.makedirs(f"{SECRET}/x")
            path = "/opt/course/up/x"
        elif make == "proc":
            path = f"{SHARED}/below"
        elif make == "file":
            path = f"{SHARED}/notes"
        policy(f'profile a {{ base = run trees = {{"{path}"}} uids = {{{lab.uid_of("alice")}}} }}')
        refused, other = lab.run(["/bin/true"]), lab.run(["/bin/true"], user="carol")
    assert (refused.status, refused.end["step"]) == ("setup_failed", "mount"), refused.end
    assert path in refused.end["message"]
    assert other.status == "ok"
