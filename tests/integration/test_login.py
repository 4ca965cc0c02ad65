# SPDX-License-Identifier: ISC
# test_login.py - a code opens a shell: of whom, with what terminal, with which bytes, and how often.
import concurrent.futures
import os
import re
import subprocess

import lab
import pexpect
import pytest

DENIED = "Permission denied"
PTYS = 16  # of one session, policy/plan.h
LOG = "/run/lab/logger.log"


@pytest.fixture(scope="module")
def inside():
    with lab.Session("alice") as session:
        yield session


def status_lines(text):
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def is_denied(result):
    return result.returncode == 255 and DENIED in result.stderr and not result.stdout


# ---- whose shell it is

def test_a_code_opens_a_shell_of_the_user(alice):
    result = lab.ssh("alice", lab.code_of("alice"),
                     "id -u; id -un; pwd; echo $HOME $SHELL $USER $LOGNAME; umask; id -G; id -Gn")
    assert (result.returncode, result.stderr) == (0, "")
    uid, name, cwd, words, umask, gids, groups = result.stdout.splitlines()
    home = f"{lab.HOMES}/alice"
    assert (uid, name, cwd) == (str(alice), "alice", home)
    assert words.split() == [home, "/bin/bash", "alice", "alice"]
    assert umask == "0022"
    assert sorted(gids.split()) == sorted(lab.command("id", "-G", "alice").stdout.split())
    assert sorted(groups.split()) == ["alice", lab.ALL_USERS]


def test_a_shell_has_the_ids_and_no_right_more(inside, alice):
    found = status_lines(inside.says("cat /proc/self/status"))
    assert found["Uid"].split() == found["Gid"].split() == [str(alice)] * 4
    wanted = lab.command("id", "-G", "alice").stdout.split()
    assert sorted(found["Groups"].split()) == sorted(wanted)
    for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert found[key] == "0" * 16, key
    assert (found["NoNewPrivs"], found["Seccomp"], found["Seccomp_filters"]) == ("1", "2", "1")
    # Positive control: root on the host has all of that.
    with open("/proc/self/status", encoding="ascii") as text:
        root = status_lines(text.read().rstrip())
    assert root["CapEff"] != "0" * 16
    assert (root["NoNewPrivs"], root["Seccomp"]) == ("0", "0")


def test_only_processes_of_the_session_are_seen(inside, alice):
    with lab.Session("carol") as other, lab.Session("alice") as own, \
            other.server("print('up')"), own.server("print('up')"), inside.popen("sleep 60"):
        run = lab.sleeper()
        try:
            # Positive control: the host sees what the session must not see, and its sleep.
            lab.eventually(lambda: {"sleep", "python3"} <=
                           {each.comm for each in lab.procs_of_uid(alice)})
            seen = lab.eventually(lambda: has_sleep(inside.says("ps -eo user=,comm=")), 10)
            assert sorted(seen) == [["alice", "ps"], ["alice", "sleep"]]
            code = ("import json, os\n"
                    "print(json.dumps({p: os.stat('/proc/' + p).st_uid for p in os.listdir('/proc')"
                    " if p.isdecimal()}))")
            found = inside.json(code)
            assert set(found.values()) == {alice}
            # The init is root's; 2 is sshd's part, of the same user and not to be looked into.
            assert not {"1", "2"} & set(found)
            assert inside.says("ls -d /proc/1 /proc/2 2>/dev/null || kill -0 2 && echo hidden") \
                == "hidden\n"
        finally:
            run.close()
            inside.says("pkill -x sleep")


def has_sleep(listing):
    rows = [line.split() for line in listing.splitlines()]
    return ["alice", "sleep"] in rows and rows


def test_signals_stay_in_the_session(alice):
    run = lab.sleeper()
    try:
        with lab.Session("alice") as own, lab.Session("alice") as other:
            with own.popen("sleep 60") as victim:
                lab.eventually(lambda: len([each for each in lab.procs_of_uid(alice)
                                            if each.comm == "sleep"]) == 2)
                own.python("import os, signal; os.kill(-1, signal.SIGKILL)")
                assert victim.wait(10) != 0  # positive control: it kills
            assert other.says("echo alive") == "alive\n"
            assert run.quiet_for(0.3)
    finally:
        run.close()


def test_tmp_is_the_sessions_and_home_is_the_users(alice):
    places = "/tmp /var/tmp /dev/shm"
    with lab.Session("alice") as one, lab.Session("alice") as two:
        one.says(f"for d in {places}; do echo one >$d/mark || exit; done; echo kept >~/mark")
        assert one.says(f"cat /tmp/mark; ls -A {places}").split().count("mark") == 3
        assert two.says(f"ls -A {places}").split() == ["/dev/shm:", "/tmp:", "/var/tmp:"]
        assert two.says("cat ~/mark") == "kept\n"
    assert not any(os.path.exists(f"{place}/mark") for place in places.split())
    with lab.Session("alice") as three:
        assert three.says(f"ls -A {places}").split() == ["/dev/shm:", "/tmp:", "/var/tmp:"]
        assert three.says("cat ~/mark; stat -c %u ~/mark; rm ~/mark").split() == ["kept", str(alice)]
    assert not os.path.exists(f"{lab.HOMES}/alice/mark")


def test_work_is_that_of_the_runs(inside):
    assert lab.sh("echo by run >by-run").status == "ok"
    assert inside.says("cat ~/work/by-run; echo by session >~/work/by-session") == "by run\n"
    assert lab.sh("cat by-session; rm by-run; pwd").out.decode() == \
        f"by session\n{lab.work_of('alice')}\n"
    assert inside.says("ls ~/work/by-run 2>/dev/null; ls ~/work/by-session; rm ~/work/by-session") \
        == f"{lab.work_of('alice')}/by-session\n"


def test_the_environment_has_nothing_of_the_daemon_or_the_client():
    code = lab.code_of("alice")
    argv = lab.ssh_argv("alice", "env -0", options=("SendEnv=LC_LAB LAB_* LD_PRELOAD BASH_ENV",))
    environment = {"LC_LAB": "sent", "LAB_OTHER": "sent", "BASH_ENV": "/nonexistent"}
    result = subprocess.run(argv, env={**lab.ssh_environment(code), **environment}, check=True,
                            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    found = dict(entry.split("=", 1) for entry in result.stdout.split("\0") if entry)
    # _ and SHLVL are the shell's; the session's id opens nothing.
    assert set(found) - {"_", "SHLVL", "PWD", "OLDPWD", "LANG"} == {
        "ATELIER_SESSION", "HOME", "LOGNAME", "USER", "SHELL", "PATH", "SSH_CLIENT",
        "SSH_CONNECTION", "LC_LAB"}
    assert found["LC_LAB"] == "sent"  # positive control: the client does send
    assert set(found["PATH"].split(":")) <= {"/usr/local/bin", "/usr/bin", "/bin", "/usr/games"}
    assert re.fullmatch("[0-9a-f]{32}", found["ATELIER_SESSION"])
    assert code not in result.stdout


def test_the_code_is_nowhere_in_the_session(alice):
    code = lab.code_of("alice")
    with lab.ssh_popen("alice", code, "echo up; exec cat") as client:
        assert client.stdout.readline() == "up\n"
        texts = []
        for each in lab.procs_of_uid(alice):
            for name in ("environ", "cmdline"):
                with open(f"/proc/{each.pid}/{name}", "rb") as file:
                    texts.append(file.read())
        client.kill()
    assert any(b"HOME=/home/atelier/alice" in text for text in texts)  # positive control
    for form in (code, code.replace("-", "")):
        assert not any(form.encode() in text for text in texts)


# ---- the terminal

@pytest.fixture
def shell():
    shell = lab.ssh_shell("alice", lab.code_of("alice"), timeout=60)
    yield shell
    shell.close(force=True)


def test_the_terminal_is_one_and_follows_its_window(shell):
    assert lab.shell_says(shell, "tty") == "/dev/pts/0\n"
    assert lab.shell_says(shell, "stty size") == "24 160\n"
    assert lab.shell_says(shell, "test -t 0 -a -t 1 -a -t 2; echo $?") == "0\n"
    assert lab.shell_says(shell, "stat -c '%U %G %a' $(tty)") == "alice tty 620\n"
    # SIGWINCH goes to the job in the foreground: one whose children are in its own group.
    lab.shell_says(shell, "watch_size='trap \"echo size \\$(stty size)\" WINCH; echo ready;"
                          " while :; do sleep 0.1; done'")
    shell.sendline("sh -c \"$watch_size\"")
    shell.expect_exact("ready\r\n")
    shell.setwinsize(40, 100)
    shell.expect_exact("size 40 100")
    shell.sendintr()
    shell.expect_exact(lab.SHELL_PROMPT)


def test_the_terminal_echoes_when_it_should(shell):
    shell.send("echo wo''rd")
    shell.expect_exact("echo wo''rd")
    shell.sendline()
    shell.expect_exact("\nword\r\n")
    shell.expect_exact(lab.SHELL_PROMPT)
    shell.sendline("read -rs hidden; echo got-$hidden")
    shell.expect_exact("\n")
    shell.sendline("unseen")
    shell.expect_exact("got-unseen")
    assert "unseen" not in shell.before
    shell.expect_exact(lab.SHELL_PROMPT)


def test_jobs_are_interrupted_stopped_and_continued(shell):
    # What says "start" has the terminal already, whereas an echo of the shell would come too soon.
    job = "sh -c \"echo sta''rt; exec sleep 100\""
    shell.sendline(job)
    shell.expect_exact("start\r\n")
    shell.sendintr()
    shell.expect_exact(lab.SHELL_PROMPT)
    assert lab.shell_says(shell, "echo $?") == "130\n"

    shell.sendline(job)
    shell.expect_exact("start\r\n")
    shell.sendcontrol("z")
    shell.expect_exact("Stopped")
    shell.expect_exact(lab.SHELL_PROMPT)
    assert "Stopped" in lab.shell_says(shell, "jobs")
    lab.shell_says(shell, "bg")
    assert "Running" in lab.shell_says(shell, "jobs")
    shell.sendline("fg")
    shell.expect_exact("exec sleep 100")
    # What is typed before the job has the terminal is the shell's, which does not care.
    for _ in range(20):
        shell.sendintr()
        if shell.expect_exact([lab.SHELL_PROMPT, pexpect.TIMEOUT], timeout=3) == 0:
            break
    assert lab.shell_says(shell, "jobs; pgrep -x sleep; echo gone").endswith("gone\n")
    assert lab.shell_says(shell, "jobs; pgrep -x sleep; echo gone") == "gone\n"


@pytest.mark.parametrize("line, code", [("exit 7", 7), ("\x04", 0), ("exec sh -c 'exit 3'", 3)])
def test_a_shell_ends_with_its_exit_code(shell, line, code):
    shell.send(line if line == "\x04" else f"{line}\n")
    shell.expect(pexpect.EOF)
    shell.close()
    assert (shell.exitstatus, shell.signalstatus) == (code, None)


def test_one_session_cannot_take_all_terminals():
    greedy = """
import errno, json, os
held, word = [], None
while word is None and len(held) < 5000:
    try: held.append(os.openpty())
    except OSError as e: word = errno.errorcode[e.errno]
print('up'); print(json.dumps([len(held), word]))
"""
    another = "import os; print(os.ttyname(os.openpty()[1]))"
    with lab.Session("alice") as session, lab.Session("alice") as own, \
            lab.Session("carol") as other:
        with session.server(greedy) as child:
            assert child.stdout.readline() == f'[{PTYS}, "ENOSPC"]\n'
            assert session.python(another).returncode != 0
            denied = session.ssh("tty", flags=("-tt",))
            assert "/dev/pts/" not in denied.stdout
            for one in (own, other):
                assert one.python(another).stdout == "/dev/pts/0\n"
                assert one.ssh("tty", flags=("-tt",)).stdout == "/dev/pts/0\n"
            for fd in os.openpty():
                os.close(fd)
        # Positive control: it was the session's own greed.
        lab.eventually(lambda: session.python(another).returncode == 0, 10)


def test_a_terminal_of_another_session_is_out_of_reach(shell):
    assert lab.shell_says(shell, "tty") == "/dev/pts/0\n"
    with lab.Session("alice") as other:
        assert other.says("ls /dev/pts").split() == ["ptmx"]
        assert other.ssh("echo into >/dev/pts/0").returncode != 0
    assert lab.shell_says(shell, "echo into >/dev/pts/0") == "into\n"  # positive control


# ---- what a command gives back

@pytest.mark.parametrize("command, code", [
    ("true", 0), ("false", 1), ("exit 7", 7), ("exit 255", 255), ("nonexistent-command", 127),
    ("sh -c 'kill -9 $$'; exit $?", 137), ("kill -TERM $$", 255)])
def test_a_command_ends_with_its_exit_code(inside, command, code):
    result = inside.ssh(f"echo began; {command}")
    assert (result.returncode, result.stdout) == (code, "began\n")


@pytest.mark.parametrize("command, code", [("true", 0), ("false", 1), ("exit 7", 7)])
def test_a_login_ends_with_its_exit_code(command, code):
    result = lab.ssh("alice", lab.code_of("alice"), command)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")


def test_a_signal_is_told_to_the_client(inside):
    """exit-signal of RFC 4254: the client prints it when asked to be talkative."""
    result = inside.ssh("kill -TERM $$", flags=("-v",))
    assert result.returncode == 255
    assert inside.ssh("exit 143").returncode == 143  # positive control


def test_a_closed_stdin_is_an_end_of_file():
    argv = lab.ssh_argv("alice", "cat; echo ended")
    for close in ("<&-", "</dev/null"):
        result = lab.with_code(lab.code_of("alice"), ["sh", "-c", f'exec "$@" {close}', "sh", *argv])
        assert (result.returncode, result.stdout, result.stderr) == (0, "ended\n", "")


def test_a_megabyte_passes_unchanged_both_ways():
    data = os.urandom(1 << 20)
    result = lab.ssh("alice", lab.code_of("alice"), "cat", input=data, text=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == data
    # Both streams at once, each in its place.
    command = "head -c 1048576 /dev/zero | tee /dev/stderr"
    result = lab.ssh("alice", lab.code_of("alice"), command, text=False)
    assert result.stdout == result.stderr == bytes(1 << 20)


# ---- what opens it, and how often

def whole_link(minted):
    return minted["link"]


def bare_token(minted):
    return minted["link"].split("#")[1]


def with_blanks(minted):
    return f"  {minted['link']} \t"


def plain_code(minted):
    return minted["code"]


def small_and_spaced(minted):
    return f" {minted['code'].replace('-', ' ').lower()} "


def without_hyphens(minted):
    return minted["code"].replace("-", "")


@pytest.mark.parametrize("form", [whole_link, bare_token, with_blanks, plain_code,
                                  small_and_spaced, without_hyphens])
def test_a_link_works_once_in_each_form(form):
    name = lab.newcomer()
    minted = lab.invite(name)
    result = lab.ssh(name, form(minted), "id -un")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{name}\n", "")
    # The other form died with it.
    other = whole_link if form is plain_code else plain_code
    for typed in (form(minted), other(minted)):
        assert is_denied(lab.ssh(name, typed, "id -un")), typed
    # Positive control: the name was not shut out for it.
    assert lab.ssh(name, lab.code_of(name), "id -un").stdout == f"{name}\n"


def test_the_code_is_typed_at_a_prompt_without_echo():
    code = lab.code_of("alice")
    argv = lab.ssh_argv("alice", "echo in; tty", flags=("-tt",))
    client = pexpect.spawn(argv[0], argv[1:], encoding="utf-8", timeout=60)
    client.expect_exact("Code or link: ")
    client.sendline(code)
    client.expect_exact("in\r\n")
    assert code not in client.before
    client.expect_exact("/dev/pts/0")
    client.expect(pexpect.EOF)
    client.close()
    assert client.exitstatus == 0


# Takes one line from the gate, which is a FIFO.
ASK = """#!/bin/sh
exec 3<>"$LAB_GATE"
: >"$LAB_ASKED.$$"
read -r go <&3
printf '%s\\n' "$LAB_CODE"
"""


def test_of_twenty_at_once_one_comes_in(tmp_path):
    """All are at the prompt before the first of them answers."""
    name, n = lab.newcomer(), 20
    minted = lab.invite(name)
    ask, gate, asked = tmp_path / "ask", tmp_path / "gate", tmp_path / "asked"
    ask.write_text(ASK, encoding="ascii")
    ask.chmod(0o755)
    os.mkfifo(gate)
    environment = {**lab.ssh_environment(minted["code"]), "SSH_ASKPASS": str(ask),
                   "LAB_GATE": str(gate), "LAB_ASKED": str(asked)}

    def attempt(_):
        return subprocess.run(lab.ssh_argv(name, "echo in; sleep 2"), env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        results = pool.map(attempt, range(n))
        fd = os.open(gate, os.O_RDWR)
        try:
            lab.eventually(lambda: len(list(tmp_path.glob("asked.*"))) == n, 50)
        finally:
            os.write(fd, n * b"\n")
        results = list(results)
        os.close(fd)
    won = [each for each in results if each.returncode == 0]
    assert [each.stdout for each in won] == ["in\n"]
    assert sum(is_denied(each) for each in results) == n - 1
    with open("/run/lab/sessiond-api.log", encoding="utf-8", errors="replace") as log:
        lines = [line for line in log if f"link={minted['id']} " in line]
    assert sum("login accepted" in line for line in lines) == 1


def test_a_code_is_good_for_its_owner_only():
    owner, other = lab.newcomer(), lab.newcomer()
    minted = lab.invite(owner)
    for typed in (minted["code"], minted["link"]):
        assert is_denied(lab.ssh(other, typed, "id"))
    result = lab.ssh(owner, minted["code"], "id -un")
    assert (result.returncode, result.stdout) == (0, f"{owner}\n")


# ---- the host's log

def log_lines(after=0):
    with open(LOG, encoding="ascii") as log:
        return log.read().splitlines()[after:]


SAY = """
import errno, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
    try: s.sendto(b'<38>forged by a participant', sys.argv[1])
    except OSError as e: print(errno.errorcode[e.errno])
    else: print('sent')
"""


def test_a_participant_cannot_write_the_hosts_log(inside, alice):
    before = len(log_lines())
    for path in ("/dev/log", "/run/host/log"):
        assert inside.python(SAY, path).stdout == "EACCES\n"
    inside.ssh("logger forged by a participant")
    assert not [line for line in log_lines(before) if "forged" in line]
    # Positive control: the host's socket takes it from the same user.
    lab.command("setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", lab.PYTHON,
                "-I", "-c", SAY, "/dev/log")
    lab.eventually(lambda: [line for line in log_lines(before) if "forged" in line])


def test_sshd_still_writes_it_after_the_join():
    """Of its monitor, which lives in the session's tree by then."""
    with lab.sshd_with("LogLevel=DEBUG1"):
        before = len(log_lines())
        with lab.Session("alice") as session:
            pid = session.facts()["pid"]
        wanted = (f"atelier-sshd[{pid}]: User child is on pid ",
                  f"atelier-sshd[{pid}]: debug1: PAM: closing session")

        def all_there():
            return all(any(text in line for line in log_lines(before)) for text in wanted)

        lab.eventually(all_there, 20)
