# SPDX-License-Identifier: ISC
# lab.py - what the integration tests know of the host: its API, daemons, processes and rules.
import base64
import contextlib
import functools
import grp
import http.client
import itertools
import json
import os
import select
import shlex
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time

API = "/run/atelier/api.sock"
ADMIN = "/run/atelier/admin.sock"
HOMES = "/home/atelier"
STATE = "/var/lib/atelier"
INDEX = f"{STATE}/nss/index"
ALL_USERS = "atelier-users"
CALLER = 990  # apiuser, a caller for ALL_USERS
STRANGER = 991  # apiuser2, in the group of api.sock, a caller only where a test says so
ID_MIN, ID_ALLOC_MAX, ID_MAX = 10000, 59899, 59999
ID_CANARY = 59900
PYTHON = "/usr/bin/python3"
UP_WITHIN_S = 30  # in an emulated machine, too


def eventually(condition, within=5.0, every=0.02):
    """The first true value of @condition, looked at until @within seconds have passed."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {within} s: {condition}"
        time.sleep(every)


def command(*argv, check=True, **more):
    """Run a program to its end; text in and out."""
    result = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **more)
    assert not check or result.returncode == 0, f"{argv}: {result.returncode} {result.stderr}"
    return result


def atelier(*args, check=True):
    return command("atelier", *args, check=check)


# ---- doors: a connection belongs to whoever called connect(2)

class Door:
    """A child that lives as another user, connects, and passes the sockets back."""

    def __init__(self, uid, gid):
        self.lock = threading.Lock()
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            try:
                os.dup2(theirs.fileno(), 3)
                os.closerange(4, 4096)
                os.setgroups([])
                os.setresgid(gid, gid, gid)
                os.setresuid(uid, uid, uid)
                self.serve(socket.socket(fileno=3))
            finally:
                os._exit(0)
        theirs.close()

    @staticmethod
    def serve(sock):
        while path := sock.recv(4096):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                try:
                    client.connect(path)
                    socket.send_fds(sock, [b"ok"], [client.fileno()])
                except OSError as error:
                    sock.send(str(error.errno).encode())

    def connect(self, path):
        with self.lock:
            self.sock.send(path.encode())
            word, fds, _, _ = socket.recv_fds(self.sock, 64, 1)
        if not fds:
            raise OSError(int(word), os.strerror(int(word)), path)
        return socket.socket(fileno=fds[0])


@functools.lru_cache(maxsize=None)
def door(uid):
    return Door(uid, grp.getgrnam("atelier-api").gr_gid if uid else 0)


class Connection(http.client.HTTPConnection):
    def __init__(self, path, uid, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path, self.uid = path, uid

    def connect(self):
        self.sock = door(self.uid).connect(self.path)
        self.sock.settimeout(self.timeout)


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        data = response.read()
        if self.headers.get_content_type() == "application/x-ndjson":
            self.body = [json.loads(line) for line in data.splitlines()]
        else:
            self.body = json.loads(data) if data else None

    def __repr__(self):
        return f"<{self.status} {self.body}>"


def encode(body):
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body, ensure_ascii=False).encode()


def api(method, path, body=None, uid=None, timeout=30):
    """One request: by root on admin.sock, or by @uid on api.sock."""
    connection = Connection(ADMIN if uid is None else API, uid or 0, timeout)
    try:
        try:
            connection.request(method, path, encode(body))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may answer before it has read all, and does not read the rest
        return Answer(connection.getresponse())
    finally:
        connection.close()


def health():
    """healthz, or None if nobody answers."""
    try:
        return api("GET", "/v1/healthz", timeout=3).body
    except (OSError, http.client.HTTPException):
        return None


def user_add(timeout=30, **spec):
    return api("POST", "/v1/users", spec, timeout=timeout)


def uid_of(name):
    """By NSS in a fresh process, so that no table of this one answers."""
    result = command("getent", "passwd", name, check=False)
    return int(result.stdout.split(":")[2]) if result.returncode == 0 else None


# ---- runs

class Refused(Exception):
    """No run was accepted; .answer says why."""

    def __init__(self, answer):
        super().__init__(repr(answer))
        self.answer = answer


class Run:
    """One POST /v1/runs, read event by event."""

    def __init__(self, body, uid=CALLER, timeout=60):
        self.connection = Connection(ADMIN if uid is None else API, uid or 0, timeout)
        self.connection.request("POST", "/v1/runs", encode(body))
        self.sock = self.connection.sock
        self.response = self.connection.getresponse()
        self.events = []
        if self.response.status != 200:
            answer = Answer(self.response)
            self.close()
            raise Refused(answer)

    def next(self):
        line = self.response.readline()
        if not line:
            return None
        self.events.append(json.loads(line))
        return self.events[-1]

    def until(self, name):
        """Read on up to the next event of this name."""
        while event := self.next():
            if event["ev"] == name:
                return event
        raise AssertionError(f"no event {name}: {self.events}")

    def finish(self):
        try:
            while self.next():
                pass
        finally:
            self.close()
        return self

    def quiet_for(self, seconds):
        """True if nothing more can be read for so long."""
        return not select.select([self.sock], [], [], seconds)[0]

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.response.close()
        self.connection.close()

    def find(self, name):
        return [event for event in self.events if event["ev"] == name]

    def data(self, stream):
        return b"".join(base64.b64decode(event["b64"]) if "b64" in event else event["d"].encode()
                        for event in self.find("out") if event["s"] == stream)

    out = property(lambda self: self.data(1))
    err = property(lambda self: self.data(2))
    receipt = property(lambda self: self.find("start")[0]["receipt"])
    end = property(lambda self: self.find("end")[0])
    status = property(lambda self: self.end["status"])

    def json(self):
        """What the program printed, checked to be all right."""
        assert self.status == "ok", (self.end, self.err)
        return json.loads(self.out)


def start(argv, user="alice", uid=CALLER, **more):
    return Run({"user": user, "argv": argv, **more}, uid)


def run(argv, user="alice", uid=CALLER, **more):
    return start(argv, user, uid, **more).finish()


def python(code, *args, **more):
    return run([PYTHON, "-I", "-c", code, *args], **more)


def sh(script, *args, **more):
    return run(["/bin/sh", "-c", script, "sh", *args], **more)


def sleeper(seconds=60, **more):
    """A run that has said that it runs, and sleeps."""
    live = start(["/bin/sh", "-c", f"echo up; exec sleep {seconds}"], **more)
    live.until("out")
    eventually(lambda: Process(live.find("start")[0]["pid"]).comm == "sleep", 2)
    return live


def work_of(name):
    return f"{HOMES}/{name}/work"


# ---- processes

class Process:
    def __init__(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as text:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)
        self.pid, self.ppid = pid, int(fields["PPid"])
        self.comm, self.state = fields["Name"], fields["State"][0]
        self.uid = int(fields["Uid"].split()[0])
        self.pid_ns = os.readlink(f"/proc/{pid}/ns/pid")

    def __repr__(self):
        return f"<{self.pid} {self.comm} uid={self.uid} {self.state} of {self.ppid}>"


def process_or_none(pid):
    """None if it is gone. A process that is dying refuses its namespaces for a moment: ask again."""
    deadline = time.monotonic() + 1
    while True:
        try:
            return Process(pid)
        except (FileNotFoundError, ProcessLookupError):
            return None
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def processes():
    found = (process_or_none(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return [process for process in found if process]


def procs_of_uid(uid):
    return [process for process in processes() if process.uid == uid]


def run_processes():
    """Everything that belongs to a run: participants', and in PID namespaces but the probe's."""
    everything = processes()
    known = {os.readlink("/proc/self/ns/pid")}
    known |= {process.pid_ns for process in everything if process.uid == ID_CANARY}
    return [process for process in everything
            if ID_MIN <= process.uid <= ID_ALLOC_MAX or process.pid_ns not in known]


def child_of(pid, comm):
    for process in processes():
        if process.ppid == pid and process.comm == comm:
            return process
    return None


def die_alone(pid):
    """SIGKILL without a race against the reuse of the number."""
    fd = os.pidfd_open(pid)
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    os.close(fd)


# ---- daemons

def service(verb, name, *args, check=True):
    return command("lab-service", verb, name, *args, check=check)


def service_pid(name):
    result = service("pid", name, check=False)
    return int(result.stdout) if result.returncode == 0 else None


def is_well():
    answer = health()
    return answer and answer["status"] == "ok"


def is_connected():
    answer = health()
    return answer and answer["sessiond"]


def bring_up():
    """Start what does not run, and wait until both daemons know each other."""
    for name in ("sessiond", "sessiond-api"):
        if service_pid(name) is None:
            service("start", name)
    eventually(is_connected, UP_WITHIN_S)


# ---- network rules

FAMILIES = ("iptables", "ip6tables")


def rules(family, chain="OUTPUT"):
    listing = command(family, "-w", "5", "-S", chain).stdout
    return [line for line in listing.splitlines() if line.startswith("-A")]


def jump_is_first(family):
    lines = rules(family)
    return bool(lines) and f"--uid-owner {ID_MIN}-{ID_MAX}" in lines[0]


def rules_flush(family):
    command(family, "-w", "5", "-F", "OUTPUT")


def sessiond_says(words):
    """How often, so far."""
    with open("/run/lab/sessiond.log", encoding="utf-8", errors="replace") as log:
        return log.read().count(words)


def rules_restore():
    """By the product itself: it loads its rules again on SIGHUP, and says when it has."""
    def loads():  # "changed" of one that had to be tried again
        return sessiond_says("network rules loaded again") + sessiond_says("network rules changed")

    before = loads()
    os.kill(service_pid("sessiond"), signal.SIGHUP)
    eventually(lambda: loads() > before, 60)
    assert all(jump_is_first(family) for family in FAMILIES)


# ---- logins: the real ssh, which gets the code from a program as a person's desktop would ask

SSH_PORT = 2222
ASKPASS = "/run/lab/askpass"  # prints LAB_CODE
SHELL_PROMPT = "lab> "
SSH_OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
               "GlobalKnownHostsFile=/dev/null", "PreferredAuthentications=keyboard-interactive",
               "NumberOfPasswordPrompts=1", "LogLevel=ERROR")


def invite(who, *options):
    """A new link for a user's name, or for an e-mail address, whose user is made if need be.

    Returns the command's own answer: user, uid, link, code, expires_at.
    """
    verb = ("invite",) if "@" in who else ("link", "mint")
    return remember(json.loads(atelier(*verb, "--json", *options, who).stdout))


def code_of(who):
    return invite(who)["code"]


def ssh_options(options=()):
    """As ssh, sftp and scp take them. @options: "Name=value" to come first, which wins."""
    return ["-F", "/dev/null", *(word for option in (*options, *SSH_OPTIONS)
                                 for word in ("-o", option))]


def ssh_argv(user, *command, options=(), flags=(), port=SSH_PORT, host="127.0.0.1"):
    return ["ssh", *ssh_options(options), *flags, "-p", str(port), f"{user}@{host}", *command]


def sftp_argv(user, batch, options=(), port=SSH_PORT, host="127.0.0.1"):
    """@batch: a file of commands, "-" for standard input."""
    # -b would switch questions off, the one for the code too; the first value wins.
    return ["sftp", "-q", *ssh_options(("BatchMode=no", *options)), "-b", batch, "-P", str(port),
            f"{user}@{host}"]


def scp_argv(*paths, options=(), flags=(), port=SSH_PORT):
    """@paths: "USER@127.0.0.1:PATH" is over there."""
    return ["scp", "-q", *ssh_options(options), *flags, "-P", str(port), *paths]


def rsync_argv(*paths, options=(), flags=("-a",), port=SSH_PORT):
    shell = ["ssh", *ssh_options(options), "-p", str(port)]
    return ["rsync", *flags, "-e", " ".join(shell), *paths]


def ssh_environment(code):
    """For a client that may ask once: it is answered with @code."""
    if not os.path.exists(ASKPASS):
        with open(f"{ASKPASS}.{os.getpid()}.{threading.get_ident()}", "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nprintf '%s\\n' \"$LAB_CODE\"\n")
            os.fchmod(file.fileno(), 0o755)
        os.rename(file.name, ASKPASS)
    return dict(os.environ, SSH_ASKPASS=ASKPASS, SSH_ASKPASS_REQUIRE="force", LAB_CODE=code)


def with_code(code, argv, input=None, timeout=60, text=True, **more):
    """Run a client to its end, whatever that is. With text=False bytes go in and out."""
    source = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
    return subprocess.run(argv, env=ssh_environment(code), capture_output=True, text=text,
                          timeout=timeout, check=False, **source, **more)


def ssh(user, code, *command, options=(), flags=(), port=SSH_PORT, host="127.0.0.1", input=None,
        timeout=60, text=True):
    argv = ssh_argv(user, *command, options=options, flags=flags, port=port, host=host)
    return with_code(code, argv, input=input, timeout=timeout, text=text)


def ssh_popen(user, code, *command, options=(), flags=(), port=SSH_PORT, host="127.0.0.1"):
    """A client that lives, with three pipes. Whoever gets it ends it."""
    argv = ssh_argv(user, *command, options=options, flags=flags, port=port, host=host)
    return subprocess.Popen(argv, env=ssh_environment(code), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def login(user, *command, **more):
    """A live login of @user with a fresh code, whose first line "up" has been read.

    Yields the Popen of the client; its program, by default, gives back what it is told.
    """
    client = ssh_popen(user, code_of(user), f"echo up; {' '.join(command) or 'exec cat'}", **more)
    try:
        line = client.stdout.readline()
        assert line == "up\n", f"{line!r} {client.stderr.read() if not line else ''}"
        yield client
    finally:
        client.kill()
        client.communicate()


def ssh_shell(user, code, options=(), flags=(), port=SSH_PORT, host="127.0.0.1", timeout=20):
    """An interactive shell on a terminal, at its prompt SHELL_PROMPT: a pexpect.spawn of text."""
    import pexpect

    argv = ssh_argv(user, options=options, flags=("-tt", *flags), port=port, host=host)
    shell = pexpect.spawn(argv[0], argv[1:], env=dict(ssh_environment(code), TERM="dumb"),
                          encoding="utf-8", timeout=timeout, dimensions=(24, 160))
    # In two words, so that its echo is not taken for the prompt.
    shell.sendline("PS1='lab''> '")
    shell.expect_exact(f"\n{SHELL_PROMPT}")
    return shell


def screen(*argv, columns=80):
    """The lines that a command writes to a terminal of this width."""
    import pexpect

    child = pexpect.spawn(argv[0], list(argv[1:]), encoding="utf-8", timeout=20, dimensions=(24, columns))
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    return child.before.replace("\r\n", "\n").splitlines()


def shell_says(shell, line):
    """Type one line; what it prints up to the next prompt."""
    shell.sendline(line)
    shell.expect_exact("\n")  # the echo of the line
    shell.expect_exact(SHELL_PROMPT)
    return shell.before.replace("\r\n", "\n")


def sessions(user=None):
    answer = api("GET", "/v1/sessions")
    assert answer.status == 200, answer
    return [each for each in answer.body["sessions"] if user in (None, each["user"])]


def session_of(user):
    """The first session of a user, once the api knows it: a shell may answer before it does."""
    return eventually(lambda: sessions(user), 30)[0]


# ---- secrets: minted here, and never to be read anywhere again (doors.leaks looks for them)

SECRETS = set()


def remember(minted):
    """Note both secrets of a link; returns @minted, the answer that has them."""
    SECRETS.update((minted["code"], minted["code"].replace("-", ""), minted["link"].split("#")[1]))
    return minted


# ---- what logins are made of, and what they must not leave

SESSION_INIT = "atelier-login"  # what PID 1 of a session calls itself
SESSION_RECORDS = "/run/atelier/sessions"
UTMP, WTMP = "/run/utmp", "/var/log/wtmp"
# utmp(5) on this architecture: type, pid, line, id, user, host, exit, session, time, address
UTMP_RECORD = struct.Struct("=h2xi32s4s32s256s2hiii16s20x")
USER_PROCESS, DEAD_PROCESS = 7, 8


def mint(user, **more):
    """A fresh login link of a user by the API: id, link, code and all."""
    answer = api("POST", "/v1/links", {"user": user, **more})
    assert answer.status == 201, answer
    return remember(answer.body)


def link_state(link_id):
    links = api("GET", "/v1/links").body["links"]
    return next((link["state"] for link in links if link["id"] == link_id), None)


def key_options(key):
    """For a client that has this key and no code."""
    return ("PreferredAuthentications=publickey", f"IdentityFile={key}", "IdentitiesOnly=yes")


def utmp_of(path=UTMP):
    """The records of a file: (type, pid, line, id, user, host), texts without NULs."""
    with open(path, "rb") as file:
        data = file.read()
    assert len(data) % UTMP_RECORD.size == 0, f"{path} is torn"
    return [(kind, pid, *(text.rstrip(b"\0").decode() for text in texts))
            for kind, pid, *texts in (fields[:6] for fields in UTMP_RECORD.iter_unpack(data))]


def logged_in():
    """Lines of our logins that live, as utmp has them."""
    return [line for kind, _, line, *_ in utmp_of()
            if kind == USER_PROCESS and line.startswith("atelier/")]


def inits():
    return [process for process in processes() if process.comm == SESSION_INIT]


def strays():
    """Participants' processes among the host's own: there is no moment at which one may be."""
    host = os.readlink("/proc/self/ns/pid")
    return [process for process in processes()
            if ID_MIN <= process.uid <= ID_ALLOC_MAX and process.pid_ns == host]


def remains():
    """Whatever is left of sessions and runs, wherever it could be; nothing once all are over."""
    return [*run_processes(), *inits(), *os.listdir(SESSION_RECORDS), *logged_in()]


def audit_of(session_id):
    """The row of a session as (end, started_us, ended_us). The api is restarted for it."""
    service("stop", "sessiond-api")
    with contextlib.closing(sqlite3.connect(f"{STATE}/registry/registry.db")) as db:
        rows = db.execute("SELECT end, started_us, ended_us FROM sessions WHERE session_id = ?",
                          (session_id,)).fetchall()
    bring_up()
    assert len(rows) == 1, rows
    return rows[0]


class Login:
    """A login of @user by code, whose shell answers line by line, and the processes it is made of.

    Needs no api once it is there. A context manager: whatever happened, the client is ended.
    """

    def __init__(self, user, code=None, **more):
        self.user = user
        self.client = ssh_popen(user, mint(user)["code"] if code is None else code,
                                "echo up $ATELIER_SESSION; exec /bin/sh", **more)
        line = self.read_line()
        if not line.startswith("up "):
            self.end()
            raise AssertionError(f"no login: {line!r} {self.said}")
        self.id = line.split()[1]
        # The first word of the shell may be faster than the one to the api.
        self.view = eventually(lambda: next((each for each in sessions(user)
                                             if each["id"] == self.id), None))
        self.uid, self.line = self.view["uid"], self.view["line"]
        self.monitor, self.init = self.view["pid"], self.view["init_pid"]
        self.child = self.below(self.monitor)  # sshd's part that belongs to the participant
        self.shell = self.below(self.child)

    def below(self, parent):
        return eventually(lambda: next((process.pid for process in procs_of_uid(self.uid)
                                        if process.ppid == parent), None))

    def read_line(self, within=30):
        """A line of the client; "" if it has ended, or had to be because it said nothing."""
        timer = threading.Timer(within, self.client.kill)
        timer.start()
        try:
            return self.client.stdout.readline()
        finally:
            timer.cancel()

    def says(self, line):
        """What the shell prints for one line of input."""
        self.client.stdin.write(f"{line}\necho .\n")
        self.client.stdin.flush()
        said = []
        while (got := self.read_line()) != ".\n":
            assert got, f"the login of {self.user} is gone: {said}"
            said.append(got)
        return "".join(said)

    def answers(self):
        return self.says("id -u") == f"{self.uid}\n"

    def processes(self):
        """All there is on the host of this session, its init included."""
        mine = process_or_none(self.init)
        return [process for process in processes() if mine and process.pid_ns == mine.pid_ns]

    def is_over(self):
        """Nothing is left of it: no process, no record, no line of who(1)."""
        return (process_or_none(self.init) is None and process_or_none(self.child) is None and
                process_or_none(self.shell) is None and self.line not in logged_in() and
                self.id not in os.listdir(SESSION_RECORDS))

    def end(self):
        self.client.kill()
        if self.client.stdin.closed:
            self.client.stdin = None
        self.said = self.client.communicate()

    __enter__ = lambda self: self  # noqa: E731

    def __exit__(self, *_):
        self.end()


# ---- one login for several commands, and logins of people whom no other test knows

END_WITH_STDIN = ("import os, sys, threading\n"
                  "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()\n")


class Session:
    """A login that is held open by ssh itself; each command is one more channel of it.

    A context: the login ends with it.
    """

    count = itertools.count()

    def __init__(self, user, options=(), flags=(), port=SSH_PORT, host="127.0.0.1"):
        self.target, self.init_pid = ("-p", str(port), f"{user}@{host}"), None
        self.path = f"/run/lab/mux.{os.getpid()}.{next(self.count)}"
        self.master = ssh_popen(user, code_of(user), options=options, port=port, host=host,
                                flags=("-M", "-N", "-S", self.path, *flags))
        try:
            eventually(self.is_up, 60)
            self.id = self.says("printenv ATELIER_SESSION").strip()
            self.init_pid = self.facts()["init_pid"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def is_up(self):
        assert self.master.poll() is None, self.master.stderr.read()
        return os.path.exists(self.path)

    def argv(self, *command, flags=()):
        return ["ssh", "-F", "/dev/null", "-S", self.path, "-o", "BatchMode=yes", "-o",
                "LogLevel=ERROR", *flags, *self.target, *command]

    def ssh(self, *command, flags=(), input=None, timeout=60, text=True):
        source = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return subprocess.run(self.argv(*command, flags=flags), capture_output=True, text=text,
                              timeout=timeout, check=False, **source)

    def says(self, script):
        """What a shell command prints that has to succeed."""
        result = self.ssh(script)
        assert result.returncode == 0, (script, result)
        return result.stdout

    def python(self, code, *args, **more):
        return self.ssh(shlex.join([PYTHON, "-I", "-c", code, *args]), **more)

    def json(self, code, *args):
        """What Python code prints that has to succeed."""
        result = self.python(code, *args, timeout=120)
        assert result.returncode == 0, result
        return json.loads(result.stdout)

    def popen(self, *command, flags=()):
        """A channel that lives, with three pipes. Whoever gets it ends it."""
        return subprocess.Popen(self.argv(*command, flags=flags), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @contextlib.contextmanager
    def server(self, code, *args):
        """Python code that lives in the session, has said "up", and ends with the context."""
        child = self.popen(shlex.join([PYTHON, "-I", "-u", "-c", END_WITH_STDIN + code, *args]))
        try:
            line = child.stdout.readline()
            assert line == "up\n", (line, child.stderr.read())
            yield child
        finally:
            try:
                child.communicate(timeout=30)  # closes its stdin, and it is gone when this returns
            finally:
                child.kill()

    def facts(self):
        """What the API says of this session; its first word may come later than the shell's."""
        def known():
            answer = api("GET", f"/v1/sessions/{self.id}")
            return answer.status == 200 and answer.body

        return eventually(known)

    def close(self):
        self.master.kill()  # SIGTERM may come just before it waits, and then it goes on waiting
        self.master.communicate()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        if self.init_pid:  # the next test finds no process of this one
            eventually(self.is_over, 30)

    def is_over(self):
        init = process_or_none(self.init_pid)
        return not init or init.state == "Z"


def newcomer():
    """A user of this test alone: by name, with all tries of a minute. Returns the name."""
    name = f"n{os.getpid()}-{next(Session.count)}"
    answer = user_add(email=f"{name}@example.org", name=name)
    assert answer.status == 201, answer
    return name


@contextlib.contextmanager
def sshd_with(*options):
    """atelier-sshd with other options ("Name=value"); afterwards it is as it was."""
    service("restart", "atelier-sshd", "--", *(word for each in options for word in ("-o", each)))
    try:
        yield
    finally:
        service("restart", "atelier-sshd")
