# SPDX-License-Identifier: ISC
# rows.py - take one protection away at a time, inside a lab, and see that a test notices.
#
# A row (row.py) names what is taken away, what the host shows then, and the tests that must fail,
# each of them. Before and after all rows, without sabotage, every named test passes. The rows are
# in run_rows.py and login_rows.py, how things are taken away in switches.py.
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(os.path.dirname(HERE), "integration")
sys.path.insert(0, TESTS)

import lab  # noqa: E402
import login_rows  # noqa: E402
import run_rows  # noqa: E402
import switches  # noqa: E402

WITHIN_S = 600
START = time.monotonic()
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}


def tell(name, fault):
    COUNTS["failed" if fault else "passed"] += 1
    print(f"{'FAIL' if fault else 'PASS'}: {name}{': ' + fault if fault else ''}"
          f" [{time.monotonic() - START:.0f} s]", flush=True)


class Outcomes:
    """A plugin of pytest: the outcome of each test, in pytest's own words."""

    def __init__(self):
        self.of = {}

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.of[report.nodeid] = "failed" if report.when == "call" else "error"
        elif report.when == "call" or report.skipped:
            self.of.setdefault(report.nodeid, report.outcome)


def pytest_in_child(tests, write):
    """Never returns."""
    try:
        signal.alarm(WITHIN_S)
        os.environ["ATELIER_TESTS_HANDS_OFF"] = "1"
        with open(os.devnull, "r+b") as null:
            for fd in (0, 1, 2):
                os.dup2(null.fileno(), fd)
        outcomes = Outcomes()
        pytest.main(["-p", "no:cacheprovider", "-q", "--tb=no", "-c", "/dev/null", "--rootdir",
                     TESTS, *(f"{TESTS}/{test}" for test in tests)], plugins=[outcomes])
        os.write(write, json.dumps(outcomes.of).encode())
    finally:
        os._exit(0)


def fault_of(tests, wanted):
    """Run these tests; which of them have another outcome than @wanted, "" if none has.

    A child of ours and not a new interpreter: to load pytest takes longer than most of the tests.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        pytest_in_child(tests, write)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        outcomes = json.loads(answer.read() or b"{}")
    os.waitpid(pid, 0)
    return ", ".join(f"{test} {outcomes.get(test, 'did not run')}" for test in tests
                     if outcomes.get(test) != wanted)


def control(name, tests):
    """Without sabotage, all of them pass; a skipped one has proven nothing."""
    tell(name, fault_of(tests, "passed"))


def caller_put():
    """The row that the tests act by; pytest's fixtures take theirs with them."""
    answer = lab.api("POST", "/v1/callers", {"uid": lab.CALLER, "groups": [lab.ALL_USERS],
                                             "verbs": ["users", "runs", "net-public"]})
    assert answer.status == 200, answer


def doctor_fault(checks):
    """Whether atelier doctor fails in these checks, and in no other."""
    if checks is None:
        return ""
    result = subprocess.run(["atelier", "doctor", "--json"], capture_output=True, text=True,
                            timeout=WITHIN_S, check=False)
    found = {line["id"] for line in json.loads(result.stdout)["checks"]
             if line["verdict"] in ("fail", "unknown")}
    if found == set(checks) and result.returncode == bool(checks):
        return ""
    return (f"doctor ends with {result.returncode}; it does not find {sorted(set(checks) - found)}, "
            f"and finds {sorted(found - set(checks))}")


def row_fault(row):
    """What is wrong with this row: "" if the protection was missed as it should be."""
    with contextlib.ExitStack() as undo:
        switches.take(row.taken, undo)
        return row.seen() or doctor_fault(row.doctor) or fault_of(row.tests, "failed")


def row_run(row):
    taken = ", ".join(f"{what}: {which}" for what, which in row.taken.items())
    try:
        caller_put()
        fault = row_fault(row)
    except (AssertionError, OSError, subprocess.SubprocessError, lab.Refused) as error:
        fault = f"{type(error).__name__}: {error}"
    tell(f"{row.name} ({taken})", fault)


def chosen(names):
    """The rows with one of @names in theirs, all without names; but for what this host lacks."""
    for row in run_rows.ROWS + login_rows.ROWS:
        if names and not any(name in row.name for name in names):
            continue
        if row.lacks:
            COUNTS["skipped"] += 1
            print(f"SKIP: {row.name}: {row.lacks}", flush=True)
        else:
            yield row


def main():
    rows = list(chosen(sys.argv[1:]))
    tests = list(dict.fromkeys(test for row in rows for test in row.tests))
    for user in ("alice", "carol"):
        assert lab.user_add(email=f"{user}@example.org").status in (200, 201)
    tell("the shipped binaries cannot be sabotaged", switches.binaries_fault())
    switches.install()
    control("without sabotage every named test passes, before", tests)
    for row in rows:
        row_run(row)
    control("without sabotage every named test passes, after", tests)


if __name__ == "__main__":
    if os.environ.get("ATELIER_LAB") != "1" or os.geteuid() != 0:
        sys.exit("rows.py runs inside the lab only: tests/sabotage/run")
    try:
        main()
    except Exception as error:  # the last line is printed whatever happens
        tell("rows.py itself", f"{type(error).__name__}: {error}")
    print(", ".join(f"{number} {word}" for word, number in COUNTS.items()))
    sys.exit(3 if COUNTS["failed"] else 0)
