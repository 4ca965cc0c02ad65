# SPDX-License-Identifier: ISC
# guest.py - the machine as the tests see it: functions that run in it, logins into it.
import functools
import inspect
import json
import os
import pathlib
import select
import subprocess
import tempfile
import textwrap
import threading
import time

import machine

HERE = pathlib.Path(__file__).resolve().parent
PUSHED = (HERE / "agent.py", HERE / "tools.py", HERE.parent / "integration/lab.py",
          HERE.parent / "lablib/answer.py")
THERE = "/root/atelier-tests"
CALL_WITHIN_S = 240
LOGIN_WITHIN_S = 60


class GuestError(AssertionError):
    """A function failed in the machine; the text is its traceback there."""


class Guest:
    """A running machine.Machine with our agent in it."""

    def __init__(self, one, participants_dir):
        self.machine, self.agent = one, None
        self.directory = pathlib.Path(participants_dir)
        self.askpass = self.directory / "askpass"
        self.askpass.write_text("#!/bin/sh\nprintf '%s\\n' \"$VM_CODE\"\n")
        self.askpass.chmod(0o755)

    # ---- functions in the machine -----------------------------------------------------------

    def tools_push(self):
        with tempfile.TemporaryDirectory() as tree:
            there = pathlib.Path(tree + THERE)
            there.mkdir(parents=True)
            for path in PUSHED:
                (there / path.name).write_bytes(path.read_bytes())
                (there / path.name).chmod(0o755)
            self.machine.push(tree)

    def agent_start(self):
        self.agent_stop()
        # By its pipes: it ends with this process.
        self.agent = subprocess.Popen(
            self.machine.ssh_command(f"exec python3 -uB {THERE}/agent.py"), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def agent_stop(self):
        if self.agent:
            self.agent.kill()
            self.agent.communicate()
            self.agent = None

    def call(self, function, *args, within_s=CALL_WITHIN_S):
        """Carry out a function of a test file in the machine, as root; arguments and value as JSON."""
        source = source_of(function)
        if self.agent is None or self.agent.poll() is not None:
            self.agent_start()
        request = {"name": function.__name__, "source": source, "args": args}
        try:
            self.agent.stdin.write(json.dumps(request).encode() + b"\n")
            self.agent.stdin.flush()
            answer = json.loads(self._line(within_s) or b'{"error": "no answer from the agent"}')
        except BaseException:
            self.agent_stop()  # a late answer would be taken for that of the next call
            raise
        if "error" in answer:
            raise GuestError(answer["error"])
        return answer["value"]

    def _line(self, within_s):
        """A line of the agent; None if it ended or, being too slow, was ended."""
        deadline, data = time.monotonic() + within_s, b""
        fd = self.agent.stdout.fileno()
        while not data.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                self.agent_stop()
                return None
            more = os.read(fd, 1 << 20)
            if not more:
                self.agent_stop()
                return None
            data += more
        return data

    def sh(self, script, check=True, within_s=CALL_WITHIN_S):
        """A shell script as root: (exit code, stdout, stderr)."""
        code, out, err = self.call(shell_script, script, within_s, within_s=within_s + 5)
        assert not check or code == 0, (script, code, out, err)
        return subprocess.CompletedProcess(script, code, out, err)

    def said(self, script):
        return self.sh(script).stdout.strip()

    def reboot(self):
        self.agent_stop()
        self.machine.reboot()

    # ---- participants -----------------------------------------------------------------------

    def code_of(self, who, *options):
        """A code that nobody has used; who: a name, or an address, which is invited."""
        verb = "invite" if "@" in who else "link mint"
        return json.loads(self.said(f"atelier {verb} --json {' '.join(options)} {who}"))["code"]

    def ssh_argv(self, user, *command, flags=(), options=(), port=None):
        words = [word for option in (*options, *SSH_OPTIONS) for word in ("-o", option)]
        return ["ssh", "-F", "none", *words, *flags, "-p",
                str(port or self.machine.state["participants"]), f"{user}@127.0.0.1", *command]

    def ssh_environment(self, code):
        return dict(os.environ, SSH_ASKPASS=str(self.askpass), SSH_ASKPASS_REQUIRE="force",
                    VM_CODE=code)

    def ssh(self, user, code, *command, within_s=LOGIN_WITHIN_S, **more):
        """One login over the network of this machine, by code; to its end."""
        return subprocess.run(self.ssh_argv(user, *command, **more), env=self.ssh_environment(code),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=within_s, check=False)

    def login(self, user, code=None, **more):
        return Login(self, user, code or self.code_of(user), **more)


# ConnectionAttempts: an emulated machine may be slow to listen again.
SSH_OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
               "GlobalKnownHostsFile=/dev/null", "PreferredAuthentications=keyboard-interactive",
               "NumberOfPasswordPrompts=1", "LogLevel=ERROR", "ConnectTimeout=30")


class Login:
    """A live login of a participant, whose shell answers line by line. A context."""

    def __init__(self, guest, user, code, **more):
        self.guest, self.user = guest, user
        self.client = subprocess.Popen(
            guest.ssh_argv(user, "echo up $ATELIER_SESSION; exec /bin/sh", **more),
            env=guest.ssh_environment(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        line = self.line(LOGIN_WITHIN_S)
        if not line.startswith("up "):
            self.end()
            raise AssertionError(f"no login: {line!r} {self.last_words}")
        self.id = line.split()[1]

    def line(self, within_s):
        """A line of the client; "" if it has ended, or had to be because it said nothing."""
        timer = threading.Timer(within_s, self.client.kill)
        timer.start()
        try:
            return self.client.stdout.readline()
        finally:
            timer.cancel()

    def says(self, script, within_s=120):
        """What the shell and its programs print, errors too, for one line of input."""
        self.client.stdin.write(f"{{ {script}\n}} 2>&1 </dev/null\necho; echo .\n")
        self.client.stdin.flush()
        said = []
        while (got := self.line(within_s)) != ".\n":
            assert got, f"the login of {self.user} is gone: {said} {self.client.poll()}"
            said.append(got)
        return "".join(said).strip()

    def python(self, code, *args, **more):
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in (code, *args))
        return self.says(f"/usr/bin/python3 -I -c {quoted}", **more)

    def answers(self):
        return self.says("id -un") == self.user

    def has_ended(self, within_s=20):
        """True once the client has been told that it is over."""
        try:
            self.client.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        self.client.kill()
        if self.client.stdin.closed:
            self.client.stdin = None
        self.last_words = self.client.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def eventually(condition, within_s=30.0, every_s=0.2):
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        time.sleep(every_s)


@functools.lru_cache(maxsize=None)
def source_of(function):
    source = textwrap.dedent(inspect.getsource(function))
    return source[source.index("def "):]  # without decorators


def inside(function):
    """For a function of a test file: called with the guest first, it is carried out in the machine."""
    source_of(function)  # now: the file may be edited while the tests run

    @functools.wraps(function)
    def carried(guest, *args, **more):
        return guest.call(function, *args, **more)

    return carried


def shell_script(script, timeout):
    # For the machine, where `tools` is known.
    done = tools.sh(script, check=False, timeout=timeout)  # noqa: F821
    return done.returncode, done.stdout, done.stderr
