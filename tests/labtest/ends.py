# SPDX-License-Identifier: ISC
# ends.py - nothing of a lab outlives it, whatever ends it and when.
import signal
import time

from labtest.support import Running, check, expect, expect_equal, unchanged


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
