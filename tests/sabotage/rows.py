# SPDX-License-Identifier: ISC
# rows.py - take one protection away at a time, inside a lab, and see that a test notices.
#
# Two ways for each protection of a run: alone, and then the receipt is not what was planned and the
# run is refused; or together with the check of the receipt, and then the program runs, the receipt
# shows what is missing, and every test named for it fails. Rules are taken away by an
# act from outside. Before and after, without sabotage, every named test passes.
import os
import re
import subprocess
import sys
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(os.path.dirname(HERE), "integration")
sys.path.insert(0, TESTS)

import lab  # noqa: E402

BINARY = f"{os.environ.get('ATELIER_BUILD')}/sessiond/monitor/sessiond-sabotage"
SHIPPED = "/usr/sbin/sessiond"
STALE_S = 1.1  # a proof of the canary is good for a second

# sabotage: what ATELIER_SABOTAGE names ("": the shipped binary); act: done before the tests;
# seen: what one run then shows, told of a Run; tests: those that must fail, each of them
Row = namedtuple("Row", "name sabotage act seen tests")


def refused(*steps):
    def seen(run):
        return run.status == "setup_failed" and run.end["step"] in steps
    return seen


def goes_through(what):
    """The run is all right to look at, but for its receipt."""
    def seen(run):
        return run.status == "ok" and what(run.receipt)
    return seen


def drop_jump(*families):
    def act():
        for family in families:
            lab.command(family, "-w", "5", "-D", "OUTPUT", "1")
        time.sleep(STALE_S)
    return act


def nothing():
    pass


RUNS = ("test_runs.py::test_the_events_in_order",)
# Where the probe is not confined either, the canary speaks first.
STEPS = ("verify", "canary")
FILTER = ("test_confinement.py::test_the_filter_is_loaded",
          "test_confinement.py::test_a_dangerous_call_is_refused[unix-stream]",
          "test_confinement.py::test_a_dangerous_call_is_refused[ptrace]",
          "test_confinement.py::test_a_dangerous_call_is_refused[keyctl]")
IDS = ("test_confinement.py::test_ids_and_groups_are_those_of_the_user",
       "test_confinement.py::test_there_is_no_capability")
PIDS = ("test_confinement.py::test_only_own_processes_are_seen",
        "test_confinement.py::test_namespaces_are_those_of_the_receipt[none]",
        "test_runs.py::test_daemons_of_a_run_end_with_it")
NNP = ("test_confinement.py::test_no_new_privileges_is_set",)
V4 = tuple(f"test_network.py::test_a_run_does_not_reach[{address}-{protocol}]"
           for address in ("127.0.0.1", "10.9.0.2", "169.254.169.254")
           for protocol in ("tcp", "udp"))
V6 = tuple(f"test_network.py::test_a_run_does_not_reach[{address}-{protocol}]"
           for address in ("::1", "fd00:9::2") for protocol in ("tcp", "udp"))
CANARY4 = ("test_canary.py::test_flushed_output[iptables]",)
CANARY6 = ("test_canary.py::test_flushed_output[ip6tables]",)

ROWS = (
    Row("filter, receipt checked", "seccomp", nothing, refused(*STEPS), RUNS),
    Row("filter", "seccomp,verify", nothing,
        goes_through(lambda receipt: receipt["seccomp"] == 0), FILTER),
    Row("ids, receipt checked", "setuid", nothing, refused(*STEPS), RUNS),
    Row("ids, receipt checked, no canary", "setuid,canary", nothing, refused("verify"), RUNS),
    Row("ids", "setuid,canary,verify", nothing,
        goes_through(lambda receipt: receipt["uid"] == [0] * 4), IDS),
    Row("pid namespace, receipt checked", "pidns", nothing, refused(*STEPS), RUNS),
    Row("pid namespace", "pidns,verify", nothing,
        goes_through(lambda receipt: not receipt["namespaces"]["pid"]["own"]), PIDS),
    # The kernel itself asks for it: without it no filter can be loaded.
    Row("no_new_privs, filter loaded", "nnp", nothing, refused("filter", "canary"), RUNS),
    Row("no_new_privs, receipt checked", "nnp,seccomp", nothing, refused(*STEPS), RUNS),
    Row("no_new_privs", "nnp,seccomp,verify", nothing,
        goes_through(lambda receipt: receipt["no_new_privs"] == 0), NNP),
    Row("IPv4 rules, canary there", "", drop_jump("iptables"), refused("canary"), RUNS),
    Row("IPv6 rules, canary there", "", drop_jump("ip6tables"), refused("canary"), RUNS),
    Row("IPv4 rules", "canary", drop_jump("iptables"), goes_through(bool), V4),
    Row("IPv6 rules", "canary", drop_jump("ip6tables"), goes_through(bool), V6),
    Row("canary, for IPv4", "canary", nothing, goes_through(bool), CANARY4),
    Row("canary, for IPv6", "canary", nothing, goes_through(bool), CANARY6),
)

COUNTS = {"passed": 0, "failed": 0, "skipped": 0}


def tell(name, fault):
    COUNTS["failed" if fault else "passed"] += 1
    print(f"{'FAIL' if fault else 'PASS'}: {name}{': ' + fault if fault else ''}", flush=True)


def pytest_counts(tests):
    """{"passed": n, "failed": n, ...} of these tests, in a process of their own."""
    environment = dict(os.environ, ATELIER_TESTS_HANDS_OFF="1")
    argv = [lab.PYTHON, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=no", "-c",
            "/dev/null", "--rootdir", TESTS, *(f"{TESTS}/{test}" for test in tests)]
    result = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False,
                            timeout=600)
    line = (result.stdout.strip().splitlines() or [""])[-1]
    return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", line)
            if word in ("passed", "failed", "skipped", "error", "errors")}


def control(name, tests):
    """Without sabotage, all of them pass; a skipped one has proven nothing."""
    counts = pytest_counts(tests)
    tell(name, "" if counts == {"passed": len(tests)} else str(counts))


def caller_put():
    """The row that the tests act by; pytest's fixtures take theirs with them."""
    answer = lab.api("POST", "/v1/callers", {"uid": lab.CALLER, "groups": [lab.ALL_USERS],
                                             "verbs": ["users", "runs", "net-public"]})
    assert answer.status == 200, answer


def clean_up():
    """Back to the shipped binary and its rules; what a sabotaged run left behind is ended."""
    lab.service("restart", "sessiond")
    for process in lab.run_processes():
        lab.die_alone(process.pid)
    lab.bring_up()
    lab.eventually(lambda: all(lab.jump_is_first(family) for family in lab.FAMILIES))


def row_fault(row):
    """What is wrong with this row: "" if the protection was missed as it should be."""
    if row.sabotage:
        lab.service("restart", "sessiond", "--exec", BINARY, "--env",
                    f"ATELIER_SABOTAGE={row.sabotage}")
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
    row.act()
    one = lab.run(["/bin/true"])
    if not row.seen(one):
        return f"a run shows {one.events}"
    counts = pytest_counts(row.tests)
    return "" if counts == {"failed": len(row.tests)} else f"not all tests noticed: {counts}"


def binaries_fault():
    """The shipped binary has no switches; the other one has, so that the search can find them."""
    faults = []
    for path, has in ((BINARY, True), (SHIPPED, False)):
        with open(path, "rb") as file:
            if (b"ATELIER_SABOTAGE" in file.read()) is not has:
                faults.append(f"the string in {path}")
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=False).stdout
        if ("sabotage_enabled" in symbols) is not has:
            faults.append(f"the symbol in {path}")
    return ", ".join(faults)


def main():
    wanted = [row for row in ROWS if not sys.argv[1:] or any(arg in row.name
                                                             for arg in sys.argv[1:])]
    tests = list(dict.fromkeys(test for row in wanted for test in row.tests))
    for user in ("alice", "carol"):
        assert lab.user_add(email=f"{user}@example.org").status in (200, 201)
    tell("the shipped binary cannot be sabotaged", binaries_fault())
    control("without sabotage every named test passes, before", tests)
    for row in wanted:
        try:
            caller_put()
            fault = row_fault(row)
        except (AssertionError, OSError, subprocess.SubprocessError, lab.Refused) as error:
            fault = f"{type(error).__name__}: {error}"
        finally:
            clean_up()
        tell(f"{row.name} ({row.sabotage or 'from outside'})", fault)
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
