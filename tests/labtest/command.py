# SPDX-License-Identifier: ISC
# command.py - what the command of a lab gets: streams, exit codes, scripts, a terminal.
import os
import re
import subprocess
import sys
import tempfile
import time

from labtest.support import LAB, Skip, check, expect, expect_equal, lab, lab_output


@check
def exit_codes_are_passed_on():
    for script, code in (("exit 0", 0), ("exit 1", 1), ("exit 42", 42), ("kill -KILL $$", 137),
                         ("kill -TERM $$", 143)):
        done = lab("bash", "-c", script)
        expect_equal((done.returncode, done.stdout, done.stderr), (code, "", ""), script)
    expect_equal(lab("no-such-command").returncode, 127, "unknown command")
    expect_equal(lab("/etc/passwd").returncode, 126, "command that is no program")


@check
def streams_directory_and_environment_are_as_promised():
    done = subprocess.run(
        [LAB, "run", "--no-services", "--", "bash", "-c",
         'cat; pwd; echo error >&2; id -u; hostname; env | cut -d= -f1 | sort | tr "\\n" " "; '
         'ls /proc/self/fd | tr "\\n" " "'],
        input="input\n", capture_output=True, text=True, timeout=60, check=False, cwd="/usr/share",
        env=dict(os.environ, LAB_TEST_SECRET="1", BASH_ENV="/nonexistent"))
    expect_equal(done.stderr, "error\n", "stderr")
    expect_equal(done.stdout.splitlines(), [
        "input", "/usr/share", "0", "lab",
        "ATELIER_BUILD ATELIER_LAB ATELIER_SRC ATELIER_WORLD_PID HOME LANG PATH PWD SHLVL TERM _ "
        "0 1 2 3 "], "stdout")


@check
def scripts_run_in_order_and_stop_at_the_first_failure():
    with tempfile.TemporaryDirectory() as directory:
        for name, code in (("one", 0), ("two", 5), ("three", 6)):
            with open(f"{directory}/{name}", "w", encoding="utf-8") as script:
                script.write(f"echo {name}\nexit {code}\n")
        scripts = [word for name in ("one", "two", "three")
                   for word in ("--script", f"{directory}/{name}")]
        done = lab("echo", "four", options=("--no-services", *scripts))
        expect_equal((done.returncode, done.stdout), (5, "one\ntwo\n"), "stops")
        done = lab("echo", "four", options=("--no-services", "--keep-going", *scripts))
        expect_equal((done.returncode, done.stdout), (5, "one\ntwo\nthree\nfour\n"), "goes on")


@check
def pid_1_reaps_orphans():
    out = lab_output("for i in 1 2 3; do (sleep 0.2 & echo $!); done; sleep 1; ps -eo stat=,comm=")
    pids = out.split()[:3]
    expect(all(pid.isdigit() for pid in pids), f"no orphans: {out}")
    expect(not re.search(r"^Z", out, re.M), f"zombies: {out}")


@check
def a_shell_has_job_control():
    try:
        sys.path.append("/usr/lib/python3/dist-packages")
        import pexpect
    except ImportError as error:
        raise Skip("python3-pexpect is not installed") from error
    with open(os.devnull, "w", encoding="utf-8") as sink:
        shell = pexpect.spawn("/bin/bash", ["--norc", "-i"], encoding="utf-8", timeout=30,
                              env=dict(os.environ, TERM="dumb"))
        shell.logfile = sink

        def say(text, *answers):
            shell.sendline(text)
            for answer in answers:
                shell.expect(answer)

        def type_key(key, *answers):
            time.sleep(0.7)
            shell.sendcontrol(key)
            for answer in answers:
                shell.expect(answer)

        say("PS1='out''side> '", "outside> ")
        say(f"{LAB} run --no-services", "root@lab[^#]*# ")
        say("PS1='in''side> '", "inside> ")
        say("sh -c 'echo u''p; exec sleep 1000'", "up\r")
        type_key("z", "Stopped", "inside> ")
        say("fg", "exec sleep 1000")
        type_key("c", "inside> ")
        say("cat </dev/tty")
        say("hello", "hello\r\nhello")
        type_key("d", "inside> ")
        say("exit 7", "outside> ")
        say("echo code=$?", "code=7\r", "outside> ")
        # A lab is a job itself.
        say(f"{LAB} run --no-services -- sh -c 'echo u''p; exec cat'", "up\r")
        type_key("z", "Stopped", "outside> ")
        say("fg", "exec cat")
        say("again", "again\r\nagain")
        type_key("c", "outside> ")
        say("echo code=$?", "code=130\r", "outside> ")
        # A script that started one can read the terminal afterwards.
        say(f"bash -c '{LAB} run --no-services -- bash -i; read -r x; echo got=$x'", "root@lab[^#]*# ")
        say("exit", "exit")
        time.sleep(4)
        say("word", "got=word\r", "outside> ")
        shell.close(force=True)
