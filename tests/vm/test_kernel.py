# SPDX-License-Identifier: ISC
# test_kernel.py - the programs of tests/kernel on Debian 12's own kernel, and what differs there.
#
# They are static: the same files as on this kernel. What is different is a fact, and the facts are
# those of the table in doc/kernel.md.
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

pytestmark = pytest.mark.long

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ATELIER_BUILD") or TOP / "build")
THERE = "/root/atelier-kernel"
# A stock server has these not; everything else is proven there.
SKIPPED = {
    "unix.landlock_scopes_abstract_names": "ABI",
    "cgroups.sigkill_waits_in_a_frozen_group_of_version_1": "version 1",
}
ROW = re.compile(r"^\| `([a-z0-9_]+\.[a-z0-9_]+)` \|", re.MULTILINE)
FACT = re.compile(r"^\| `([a-z0-9_]+)` \| ([a-z0-9-]+) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def said(guest):
    """All that the programs print there. The machine is thrown away: settings may be changed."""
    subprocess.run(["make", "-s", "-C", BUILD, "kernel-programs"], check=True, timeout=300,
                   stdout=subprocess.DEVNULL)
    programs = [BUILD / "tests/kernel" / path.stem for path in (TOP / "tests/kernel").glob("*.c")
                if "\nint main(" in path.read_text()]
    with tempfile.TemporaryDirectory() as tree:
        there = pathlib.Path(tree + THERE)
        there.mkdir(parents=True)
        for path in programs:
            (there / path.name).write_bytes(path.read_bytes())
            (there / path.name).chmod(0o755)
        guest.machine.push(tree)
    done = guest.sh(f"cd {THERE} && for program in *; do ./$program --disposable; done",
                    check=False, within_s=400)
    print(done.stdout)
    return done.stdout.splitlines()


def test_every_behaviour_holds_on_debians_kernel(said):
    failed = [line for line in said if line.startswith("not ok")]
    assert not failed, failed
    proven = {line.split()[1] for line in said if line.startswith("ok ")}
    skipped = {line.split()[1].rstrip(":"): line for line in said if line.startswith("SKIP ")}
    assert skipped.keys() == SKIPPED.keys(), skipped
    assert all(SKIPPED[name] in line for name, line in skipped.items()), skipped
    named = set(ROW.findall((TOP / "doc/kernel.md").read_text()))
    assert proven | skipped.keys() == named


def test_differences_are_those_that_are_written_down(said):
    seen = dict(line.split()[1:3] for line in said if line.startswith("fact "))
    assert seen == dict(FACT.findall((TOP / "doc/kernel.md").read_text()))
