# SPDX-License-Identifier: ISC
# support.py - runs labs, and looks at what they leave on the machine.
#
# What is left behind is found by facts that only the lab under test can produce (its PID namespace,
# held open, a mark in the command line or environment), so that other work on the machine, other
# labs too, does not matter; and each search is shown to find the lab while it runs.
import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import tempfile
import textwrap
import time
import uuid

import linux
import root

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LAB = f"{TOP}/tests/lab"
BUILD = os.path.realpath(os.environ.get("ATELIER_BUILD", f"{TOP}/build"))
GONE_WITHIN_S = 15
# Not taken from the lab's own table: a line lost there must be noticed here.
HOST = {"127.0.0.1", "::1", "203.0.113.5", "198.51.100.1", "10.9.0.1", "2001:db8:1::1", "fd00:9::1"}
WORLD = {"198.51.100.2", "10.9.0.2", "172.16.9.2", "192.168.9.2", "169.254.169.254", "100.64.0.1",
         "2001:db8:1::2", "fd00:9::2"}
LAB_FAILED = 125
WATCHED = ("/tmp", "/var/tmp")
CHECKS = []


class Skip(Exception):
    """The check cannot be made here; the text says why."""


def check(function):
    CHECKS.append(function)
    return function


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_equal(got, wanted, what):
    expect(got == wanted, f"{what}: {got!r}, not {wanted!r}")


def lab(*command, options=("--no-services",), program=LAB, **kwargs):
    """Run a lab to its end."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([program, "run", *options, "--", *command], capture_output=True,
                          text=True, timeout=120, check=False, **kwargs)


def lab_output(script, **kwargs):
    """The stdout of a shell script in a lab, which must succeed."""
    done = lab("bash", "-euc", script, **kwargs)
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


# ---- what there is on the machine

def pid_namespace(pid):
    """A descriptor of the PID namespace of @pid, None if the process is gone.

    The kernel gives the inode number of a dead namespace to the next one at once, which may be that
    of a stranger's lab. An open descriptor keeps the number taken.
    """
    try:
        return os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def processes_of(mark, namespaces=()):
    """Pids with @mark in environment or command line, or in one of the PID @namespaces (open)."""
    inodes = {os.fstat(fd).st_ino for fd in namespaces}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, \
                    open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                text = environ.read() + cmdline.read()
            inode = os.stat(f"/proc/{pid}/ns/pid").st_ino
        except OSError:
            continue
        if mark.encode() in text or inode in inodes:
            found.add(int(pid))
    return found - {os.getpid()}


def tree(path):
    return sorted(os.path.join(where, name) for where, directories, files in os.walk(path)
                  for name in directories + files)


def machine():
    """What a lab must leave as it was."""
    facts = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        facts["mounts"] = lines.read()
    for path in ("/", "/mnt", "/run", "/var/lib", "/home", "/dev", "/etc"):
        facts[path] = sorted(os.listdir(path))
    for name in ("passwd", "group", "shadow", "gshadow", "nsswitch.conf", "login.defs", "hosts",
                 "hostname", "resolv.conf", "adduser.conf"):
        if os.path.exists(f"/etc/{name}"):
            with open(f"/etc/{name}", "rb") as file:
                facts[f"/etc/{name}"] = hashlib.sha256(file.read()).hexdigest()
    for directory in ("/etc/pam.d", "/var/lib/pam", "/etc/ssh"):  # setup.sh writes there
        for path in filter(os.path.isfile, tree(directory)):
            with open(path, "rb") as file:
                facts[path] = hashlib.sha256(file.read()).hexdigest()
    facts["cgroups"] = [path for path in tree("/sys/fs/cgroup") if os.path.isdir(path)]
    facts["interfaces"] = sorted(os.listdir("/sys/class/net"))
    facts["hostname"] = socket.gethostname()
    return facts


def changes(before, after):
    return "; ".join(f"{name} differs" if isinstance(before[name], str) else
                     f"{name}: {sorted(set(before[name]) ^ set(after[name]))}"
                     for name in before if before[name] != after[name])


def written(number):
    """What was written to a directory of WATCHED; the build directory may be below it."""
    upper = f"/mnt/upper{number}"
    paths = [WATCHED[number] + path[len(upper):] for path in tree(upper)]
    return [path for path in paths if not f"{BUILD}/".startswith(f"{path}/") and
            not path.startswith(f"{BUILD}/")]


def unchanged(act):
    """@act must leave the machine as it was.

    Others write to /tmp all the time. So it happens under overlays, in a mount namespace of a child
    of ours, and what is in their upper directories was written by us. For the rest of the machine
    a change three times in a row counts.
    """
    reason_read, reason_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            linux.unshare(linux.CLONE_NEWNS)
            root.isolate_mounts()
            lower = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in WATCHED]
            linux.mount("watch", "/mnt", "tmpfs", 0, "mode=0755")
            for number, path in enumerate(WATCHED):
                root.mount_overlay(lower[number], path, number)
                os.close(lower[number])
            with tempfile.NamedTemporaryFile(dir=WATCHED[0]):
                expect_equal(len(written(0)), 1, "positive control: our own file in /tmp")
            for _ in range(3):
                before = machine()
                act()
                expect_equal(written(0) + written(1), [], "written to /tmp and /var/tmp")
                left = changes(before, machine())
                if not left:
                    break
            expect(not left, left)
            os.write(reason_write, b"nothing")
        except BaseException as error:
            os.write(reason_write, (str(error) or repr(error)).encode()[:4096])
        os._exit(0)
    os.close(reason_write)
    with open(reason_read, encoding="utf-8") as reason:
        left = reason.read()
    os.waitpid(pid, 0)
    expect(left == "nothing", left or "the test's own process died")


class Running:
    """A lab with a busy, unruly command, for the checks of its end."""

    COMMAND = textwrap.dedent("""\
        export LAB_TEST_MARK=$1
        mkdir /mnt/left /tmp/left.$$ /home/left /var/tmp/left; echo x >>/etc/passwd
        mount -t tmpfs left /mnt/left
        sh -c 'trap "" INT TERM HUP; while :; do sleep 1; done' &
        setsid sleep 1000 &
        nsenter --net=/proc/$ATELIER_WORLD_PID/ns/net -- setsid sleep 1000 &
        unshare --mount --net --pid --fork setsid sleep 1000 &
        sleep 0.3
        readlink /proc/[0-9]*/ns/{mnt,pid,net,ipc,uts} | sort -u
        echo READY
        case $2 in end) exit 0 ;; fail) exit 42 ;; deaf) trap '' INT TERM HUP ;; esac
        while :; do sleep 1; done""")

    def __init__(self, mode):
        self.mark = f"lab-test-{uuid.uuid4()}"
        self.process = subprocess.Popen(
            [LAB, "run", "--no-services", "--", "bash", "-c", self.COMMAND, "-", self.mark, mode],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.links = set()  # namespaces as the lab sees them: unique while it runs
        self.namespaces = []  # its PID namespaces, open

    def hold_namespaces(self):
        """Find and keep the lab's PID namespaces. False if it has none yet."""
        own = os.stat("/proc/self/ns/pid").st_ino
        opened = {pid: pid_namespace(pid) for pid in processes_of(self.mark)}
        still = processes_of(self.mark)  # else a number may have gone to a stranger meanwhile
        for pid, fd in opened.items():
            known = {own} | {os.fstat(held).st_ino for held in self.namespaces}
            if fd is not None and pid in still and os.fstat(fd).st_ino not in known:
                self.namespaces.append(fd)
            elif fd is not None:
                os.close(fd)
        return bool(self.namespaces)

    def wait_ready(self):
        for line in self.process.stdout:
            if line == "READY\n":
                break
            self.links.add(line.strip())
        self.hold_namespaces()
        own = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "pid", "net", "ipc", "uts")}
        expect(not own & self.links, "the lab shares a namespace with the machine")
        if not self.links:
            raise AssertionError(f"the lab did not start: {self.process.stderr.read()}")
        expect(len(self.links) >= 6, f"too few namespaces: {self.links}")

    def expect_alive(self):
        """Positive control of the searches."""
        expect(len(processes_of(self.mark)) >= 5, "the mark is not found in a running lab")
        expect(len(processes_of(self.mark, self.namespaces)) > len(processes_of(self.mark)),
               "labd and the answerers are not found by their namespace")

    def expect_gone(self):
        deadline = time.monotonic() + GONE_WITHIN_S
        while left := processes_of(self.mark, self.namespaces):
            if time.monotonic() > deadline:
                for pid in left:  # at least not after us
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"processes left: {sorted(left)}")
            time.sleep(0.05)
        self.process.communicate()
        while self.namespaces:
            os.close(self.namespaces.pop())
