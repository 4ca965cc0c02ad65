# SPDX-License-Identifier: ISC
# ends.py - nothing of a lab outlives it, whatever ends it and when.
import os
import signal
import subprocess
import time

import cgroups
from labtest.support import (GONE_WITHIN_S, LAB, Running, Skip, check, expect, expect_equal,
                             unchanged)


def end_of_lab(mode, signum, code):
    def act():
        running = Running(mode)
        running.wait_ready()
        if signum:
            running.expect_alive()
            running.process.send_signal(signum)
        expect_equal(running.process.wait(30), code, "exit code")
        running.expect_gone()
    unchanged(act)


@check
def nothing_is_left_after_a_normal_end():
    end_of_lab("end", None, 0)


@check
def nothing_is_left_after_a_failure():
    end_of_lab("fail", None, 42)


@check
def nothing_is_left_after_sigint():
    end_of_lab("run", signal.SIGINT, 130)


@check
def nothing_is_left_after_sigterm():
    end_of_lab("run", signal.SIGTERM, 143)


@check
def nothing_is_left_after_sigterm_of_a_command_that_ignores_it():
    end_of_lab("deaf", signal.SIGTERM, 143)


@check
def nothing_is_left_after_sigkill():
    end_of_lab("run", signal.SIGKILL, -signal.SIGKILL)


def early_end(signum):
    """End labs at points all over their start, which takes as long as it takes on this machine."""
    def act():
        begin = time.monotonic()
        running = Running("end")
        running.wait_ready()
        start_s = time.monotonic() - begin
        running.expect_gone()
        for step in range(12):
            running = Running("run")
            time.sleep(start_s * step / 11)
            while not running.hold_namespaces() and step == 11:  # at least this one has PID 1
                expect(running.process.poll() is None, "the lab ended by itself")
            running.process.send_signal(signum)
            running.process.wait(30)
            running.expect_gone()
    unchanged(act)


@check
def nothing_is_left_after_sigkill_at_any_time_of_the_start():
    early_end(signal.SIGKILL)


@check
def nothing_is_left_after_sigterm_at_any_time_of_the_start():
    early_end(signal.SIGTERM)


@check
def nothing_is_left_after_sigint_at_any_time_of_the_start():
    early_end(signal.SIGINT)


def groups_of(pid):
    """Directories that are named after a lab's outer process: cgroups.py."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(path).startswith(f"atelier-lab-{pid}-")]


@check
def control_groups_go_with_their_lab_even_after_sigkill():
    try:
        cgroups.places()
    except cgroups.CgroupError as error:
        raise Skip(str(error)) from None
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen([LAB, "run", "--no-services", "--cgroups", "--", "sleep", "60"],
                              stdin=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + GONE_WITHIN_S
            while not groups_of(process.pid):
                expect(process.poll() is None and time.monotonic() < deadline, "no groups")
                time.sleep(0.05)
            process.send_signal(signum)
        while groups_of(process.pid):
            expect(time.monotonic() < deadline + GONE_WITHIN_S, groups_of(process.pid))
            time.sleep(0.05)


@check
def a_lab_with_control_groups_holds_up_no_other():
    """What waits to remove the groups has not kept the lock under which labs are made."""
    try:
        cgroups.places()
    except cgroups.CgroupError as error:
        raise Skip(str(error)) from None
    lab = [LAB, "run", "--no-services"]
    with subprocess.Popen([*lab, "--cgroups", "--", "sh", "-c", "echo up; exec sleep 60"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as first:
        try:
            expect_equal(first.stdout.readline(), b"up\n", "the first lab")
            second = subprocess.run([*lab, "--", "true"], timeout=30, check=False,
                                    stdin=subprocess.DEVNULL)
            expect_equal(second.returncode, 0, "exit code of the second lab")
            expect(first.poll() is None, "the first lab has ended meanwhile")
        finally:
            first.send_signal(signal.SIGTERM)
