# SPDX-License-Identifier: ISC
# conftest.py - one machine for all tests, with the product in it and set up.
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "integration"))

import guest as guest_module  # noqa: E402
from guest import eventually, inside  # noqa: E402

SETUP_WITHIN_S = 300
# The name of a machine that is set up already, for work on the tests; it is used as it is.
READY = os.environ.get("ATELIER_VM_NAME")


def vm(*words, within_s=1500):
    """The tool beside this file; returns what it prints."""
    return subprocess.run([HERE / "vm", *words], check=True, timeout=within_s,
                          stdout=subprocess.PIPE, text=True).stdout


def machine_of(name):
    import machine

    return machine.Machine(vm("path", name).strip())


def start(name, *words):
    """A machine in its saved state, which ends with this process."""
    vm("start", name, "--fresh", "--owner", str(os.getpid()), *words)
    return machine_of(name)


@pytest.fixture(scope="session")
def release():
    """Words for start()."""
    return ()


@contextlib.contextmanager
def installed(name, *words):
    """A machine with the tree of `make install` in it, and nothing set up."""
    one = machine_of(READY) if READY else start(name, *words)
    with tempfile.TemporaryDirectory() as directory:
        guest = guest_module.Guest(one, directory)
        try:
            guest.tools_push()
            if not READY:
                one.push(os.environ["ATELIER_VM_STAGE"])
                guest.sh("ldconfig")
            yield guest
        finally:
            guest.agent_stop()
            if not READY:
                vm("stop", name)


@inside
def prepare():
    lab.eventually(tools.is_well, 60)
    tools.accounts_make()
    tools.world_make()
    for name in ("alice", "ben"):
        answer = lab.user_add(email=f"{name}@example.org")
        assert answer.status in (200, 201), repr((answer.status, answer.body))


@inside
def homes_make():
    """The homes get a file system of their own that has user quota; the machine has one disk."""
    if not os.path.ismount("/home/atelier"):
        tools.sh("truncate -s 500M /var/lib/homes.img && "
                 "mke2fs -q -F -O quota -E quotatype=usrquota /var/lib/homes.img && "
                 "mkdir -p -m 700 /home/atelier && "
                 "echo '/var/lib/homes.img /home/atelier ext4 loop,usrquota 0 0' >>/etc/fstab && "
                 "mount /home/atelier && chmod 700 /home/atelier")


def set_up(guest):
    """`atelier setup --yes`; then alice and ben, a world, and a caller."""
    homes_make(guest)
    if not READY:
        done = guest.sh("atelier setup --yes", check=False, within_s=SETUP_WITHIN_S)
        assert done.returncode == 0, (done.stdout, done.stderr)
    prepare(guest)


@pytest.fixture(scope="session")
def guest():
    """The machine of nearly all tests."""
    with installed(f"check-{os.getpid()}") as machine:
        set_up(machine)
        yield machine


@pytest.fixture(scope="session")
def trixie():
    """The same tree on Debian 13; skipped where its packages cannot be reached."""
    if READY:
        pytest.skip("a machine that is set up already was given")
    try:
        vm("build", "--release", "trixie")
    except subprocess.CalledProcessError:
        pytest.skip("no image of Debian 13 could be built: are its packages reachable?")
    with installed(f"check-13-{os.getpid()}", "--release", "trixie") as machine:
        set_up(machine)
        yield machine


@inside
def unwell():
    """What is wrong with the host between two tests; nothing, it is hoped."""
    try:
        lab.eventually(tools.is_well, 20)
        return ""
    except AssertionError:
        pass
    return tools.sh("systemctl --no-pager --failed; atelier status; "
                    "journalctl -q --no-pager -n 40 -u 'sessiond*' -u 'atelier*'", check=False).stdout


@pytest.fixture(autouse=True)
def host_is_left_well(request):
    """A daemon that died, or a host that is left degraded, is the fault of the test it shows in."""
    yield
    if "guest" in request.fixturenames:
        found = unwell(request.getfixturevalue("guest"))
        assert not found, found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.failed and "guest" in getattr(item, "funcargs", {}):
        journal = item.funcargs["guest"].machine.ssh("journalctl -q --no-pager -n 25",
                                                     capture_output=True, text=True)
        report.sections.append(("the end of the journal", journal.stdout))


def pytest_unconfigure(config):
    """The last line, as every ring has it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.collectonly:
        return
    count = {name: len(reporter.stats.get(name, ())) for name in
             ("passed", "failed", "error", "skipped")}
    sys.stdout.write(f"\n{count['passed']} passed, {count['failed'] + count['error']} failed, "
                     f"{count['skipped']} skipped\n")
