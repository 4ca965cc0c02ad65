#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# login.py - a person at a terminal: logs in by the real ssh, types what it is told, tells the answer.
#
# Usage: login.py USER. Standard input: the code, then one command a line; its end ends the login.
# Standard output: first "in", or what ssh said at last; then the screen after each command. Each of
# these ends with a NUL.
import os
import sys

import pexpect

PORT = "2222"
PROMPT = "typed> "
FIRST_PROMPT = r"[$#>] $"
WITHIN_S = 30
ARGV = ["-F", "/dev/null", "-p", PORT, "-o", "StrictHostKeyChecking=no",
        "-o", "UserKnownHostsFile=/dev/null", "-o", "NumberOfPasswordPrompts=1",
        "-o", "PreferredAuthentications=keyboard-interactive", "-o", "LogLevel=ERROR"]


def tell(text):
    sys.stdout.write(text.replace("\r", "").strip("\n") + "\0")
    sys.stdout.flush()


def log_in(user, code):
    """The shell at its prompt; None if ssh ended, which was told."""
    shell = pexpect.spawn("ssh", [*ARGV, f"{user}@127.0.0.1"], encoding="utf-8",
                          codec_errors="backslashreplace", timeout=WITHIN_S, dimensions=(24, 200),
                          env=dict(os.environ, TERM="dumb"))
    shell.expect([r": $", pexpect.EOF])
    shell.sendline(code)
    if shell.expect([FIRST_PROMPT, pexpect.EOF]):
        tell(shell.before)  # after the line that was not shown while it was typed
        return None
    # In two words, so that its echo is not taken for the prompt.
    shell.sendline("PS1='typed''> '")
    shell.expect_exact(f"\n{PROMPT}")
    tell("in")
    return shell


def main(user):
    shell = log_in(user, sys.stdin.readline().rstrip("\n"))
    if not shell:
        return 1
    for line in sys.stdin:
        shell.sendline(line.rstrip("\n"))
        shell.expect_exact("\n")  # the end of its echo
        shell.expect_exact(PROMPT)
        tell(shell.before)
    shell.sendeof()
    shell.expect(pexpect.EOF)
    shell.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except pexpect.ExceptionPexpect as error:
        tell(f"no answer: {type(error).__name__}")
        sys.exit(1)
