# SPDX-License-Identifier: ISC
# test_attack.py - the attacks of tests/attack on Debian 12's own kernel, with cgroup v2 and systemd.
#
# The same files, and pytest with them: a guest reaches no mirror. What the lab has besides is made here:
# lab-service as systemctl has it, a log that can be read, the names and addresses of the network. What
# is different from the lab is what doc/vm.md says, which is compared.
import pathlib
import re
import shutil
import tempfile
import xml.etree.ElementTree as xml

import pytest
from guest import inside

pytestmark = pytest.mark.long
TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "doc/vm.md"
THERE = "/root/atelier-attack"
PACKAGES = pathlib.Path("/usr/lib/python3/dist-packages")
PYTEST = ("_pytest", "pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py",
          "pytest-*info", "pluggy-*info", "iniconfig-*info", "packaging-*info", "attrs-*info")
WITHIN_S = 2400
LEAST = 100  # that were tried and held; there are more
FACT = re.compile(r"^\| `([a-z0-9_]+)` \| ([a-z0-9.-]+) \|", re.MULTILINE)
NOT_TRIED = re.compile(r"^\| `(test_(?:rows|six)\.py::[^`]+)` \|", re.MULTILINE)
SHIM = """#!/bin/sh
case $1 in
pid) pid=$(systemctl show --value -p MainPID "$2.service"); [ "$pid" != 0 ] || exit 3; echo "$pid" ;;
kill) systemctl kill -s KILL --kill-whom=main "$2.service" ;;
status) systemctl is-active "$2.service" || exit 3 ;;
*) systemctl "$1" "$2.service" ;;
esac
"""


@inside
def lab_make(shim):
    os.makedirs("/run/lab", exist_ok=True)
    # /run is noexec there, and ssh is told to run a program of the lab.
    tools.sh("mountpoint -q /run/lab || mount -t tmpfs -o mode=755,nosuid,nodev lab /run/lab")
    tools.file_write("/usr/local/bin/lab-service", shim, 0o755)
    tools.sh("systemctl is-active -q lab-log || systemd-run -q --unit=lab-log /bin/sh -c "
             "'exec journalctl -fu sessiond -o cat >/run/lab/sessiond.log'")
    for step in ("ip link property add dev world0 altname lab0",
                 "ip addr add 10.9.0.1/24 dev world0", "ip addr add 203.0.113.5/32 dev lo",
                 "ip -n world addr add 10.9.0.2/24 dev eth0",
                 "ip -n world route add 203.0.113.5/32 via 198.51.100.1",
                 "systemd-run -q --unit=answer-private -p NetworkNamespacePath=/run/netns/world "
                 f"{tools.HERE}/answer.py world 10.9.0.2"):
        tools.sh(step, check=False)  # one that is there already is well
    lab.eventually(lambda: tools.ask("10.9.0.2"), 30)


@inside
def facts_of():
    import ctypes
    health, run = lab.health(), lab.run(["/bin/true"], net="public")
    with lab.Session("alice") as session:
        abstract = session.facts()["abstract"]
    x32 = ctypes.CDLL(None).syscall(ctypes.c_long(39 | 0x40000000))  # getpid
    return {"kernel": ".".join(os.uname().release.split(".")[:2]),
            "init": pathlib.Path("/proc/1/comm").read_text().strip(),
            "cgroup_mode": run.receipt["cgroup"]["mode"],
            "net_group": "yes" if run.receipt["net_group"] and health["net_group"] else "no",
            "landlock_abi": str(health["landlock_abi"]), "abstract_names": abstract,
            "x32_entry": "yes" if x32 > 0 else "no"}


class Said:
    """What the tests said there: {name: "passed", "failed" or why it was skipped}, and all of the text."""

    def __init__(self, report, text):
        self.verdicts, self.text = {}, text
        for case in xml.fromstring(report).iter("testcase"):
            name = f"{case.get('classname')}.py::{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.verdicts[name] = "failed"
            else:
                self.verdicts[name] = "passed" if skipped is None else skipped.get("message")

    def with_verdict(self, verdict):
        return {name for name, said in self.verdicts.items() if said == verdict}

    def table(self):
        """A line for each row: how it went in a run, in a session, and where nothing holds it."""
        places = ("test_in_a_run", "test_in_a_session", "test_where_nothing_holds_it")
        rows = {}
        for name, verdict in self.verdicts.items():
            place, _, row = name.partition("::")[2].partition("[")
            if place in places:
                rows.setdefault(row.rstrip("]"), {})[place] = (
                    verdict if verdict in ("passed", "failed") else "not here")
        return "\n".join([f"{'row':40}{'run':>10}{'session':>10}{'plain':>10}"] + [
            f"{row:40}" + "".join(f"{said.get(place, '-'):>10}" for place in places)
            for row, said in rows.items()])


@pytest.fixture(scope="module")
def said(guest):
    with tempfile.TemporaryDirectory() as tree:
        there = pathlib.Path(tree + THERE)
        for name in ("attack", "integration", "lablib"):
            shutil.copytree(TOP / "tests" / name, there / "tests" / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        for path in (path for pattern in PYTEST for path in PACKAGES.glob(pattern)):
            shutil.copytree(path, there / "packages" / path.name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        guest.machine.push(tree)
    lab_make(guest, SHIM)
    done = guest.sh(f"cd {THERE}/tests/attack && ATELIER_LAB=1 PYTHONPATH={THERE}/packages "
                    f"/usr/bin/python3 -B -m pytest -p no:cacheprovider -q -s --tb=short "
                    f"--junitxml={THERE}/said.xml -c /dev/null --rootdir . test_rows.py test_six.py",
                    check=False, within_s=WITHIN_S)
    return Said(guest.said(f"cat {THERE}/said.xml"), done.stdout + done.stderr)


def test_every_attack_is_stopped_there_too(said):
    print(said.table(), said.text[-20000:], sep="\n")
    assert not said.with_verdict("failed")
    assert len(said.with_verdict("passed")) >= LEAST, said.verdicts


def test_what_cannot_be_tried_there_is_written_down(said):
    left_out = said.verdicts.keys() - said.with_verdict("passed") - said.with_verdict("failed")
    assert left_out == set(NOT_TRIED.findall(PAGE.read_text())), {
        name: said.verdicts[name] for name in left_out}


def test_differences_are_those_that_are_written_down(guest, said):
    assert facts_of(guest) == dict(FACT.findall(PAGE.read_text()))
