# SPDX-License-Identifier: ISC
# test_receipt.py - a receipt is what the kernel says: asked again, by somebody else.
import contextlib
import hashlib
import os
import signal
import sqlite3

import lab
import pytest
from tracing import INSTRUCTION_SIZE, filter_of

LIMITS = {"nproc": "Max processes", "nofile": "Max open files", "fsize": "Max file size",
          "core": "Max core file size", "memlock": "Max locked memory",
          "msgqueue": "Max msgqueue size", "rtprio": "Max realtime priority",
          "nice": "Max nice priority", "cpu": "Max cpu time"}


@pytest.fixture(name="kernel_shows", scope="module")
def kernel_shows_fixture():
    if lab.run(["/bin/true"]).receipt["filter"]["how"] != "kernel":
        pytest.skip("this kernel gives no filter back: receipts say loaded")


def test_the_filter_of_a_run_is_the_one_that_the_kernel_has(kernel_shows):
    live = lab.sleeper()
    try:
        said = live.find("start")[0]
        program = filter_of(said["pid"])
        assert len(program) > 100 * INSTRUCTION_SIZE
        assert said["receipt"]["filter"] == {"sha256": hashlib.sha256(program).hexdigest(),
                                             "how": "kernel"}
        assert live.quiet_for(0.1)  # it goes on as if nothing had been
    finally:
        live.close()


def test_the_filter_of_a_login_is_the_one_that_the_kernel_has(kernel_shows):
    with lab.Login("alice") as login:
        said = login.view["receipt"]["filter"]
        for pid in (login.monitor, login.shell):  # and what it starts has the same
            assert hashlib.sha256(filter_of(pid)).hexdigest() == said["sha256"]
        assert said["how"] == "kernel"
        assert login.answers()
        assert said["sha256"] != lab.run(["/bin/true"]).receipt["filter"]["sha256"]


def test_nobody_is_attached_to_a_program():
    """Looked at before, let go of: a program that is traced could not be debugged, or would stop."""
    with lab.Login("alice") as login:
        assert "TracerPid:\t0\n" in login.says("cat /proc/self/status")
        with open(f"/proc/{login.monitor}/status", encoding="ascii") as text:
            assert "TracerPid:\t0\n" in text.read()
    result = lab.run(["/bin/cat", "/proc/self/status"])
    assert b"TracerPid:\t0\n" in result.out


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="ascii") as file:
        return file.read()


def number_or_none(text):
    return None if text == "unlimited" else int(text)


@pytest.mark.parametrize("net", ["none", "public"])
def test_every_field_of_a_run_is_what_the_kernel_says(net):
    live = lab.sleeper(net=net, limits={"cpu_ms": 7000})
    try:
        start = live.find("start")[0]
        pid, said = start["pid"], start["receipt"]
        status = dict(line.split(":\t", 1) for line in read(pid, "status").splitlines())
        assert status["Umask"] == said["umask"] == "0022"
        assert said["signals"] == {"ignored": status["SigIgn"], "blocked": status["SigBlk"]}
        assert int(read(pid, "oom_score_adj")) == said["oom_score_adj"] == 500
        limits = {line[:26].strip(): line[26:].split()[:2]
                  for line in read(pid, "limits").splitlines()}
        assert set(said["rlimits"]) == set(LIMITS)
        for key, name in LIMITS.items():
            soft, hard = map(number_or_none, limits[name])
            # Of processor time the hard one comes a second behind.
            assert said["rlimits"][key] == (soft if key == "cpu" else hard), key
        mounts = [line.split()[4:6] for line in read(pid, "mountinfo").splitlines()]
        flags = [set(options.split(",")) for _, options in mounts]
        assert said["mounts"] == len(mounts)
        assert said["mount_flags"] == {"nosuid": sum("nosuid" in each for each in flags),
                                       "nodev": sum("nodev" in each for each in flags), "loose": 0}
        assert said["mount_flags"]["nosuid"] == len(mounts)
        for name, space in said["namespaces"].items():
            assert os.stat(f"/proc/{pid}/ns/{name}").st_ino == space["inode"], name
        assert said["net"] == net
    finally:
        live.close()


@contextlib.contextmanager
def registry():
    lab.service("stop", "sessiond-api")
    try:
        with contextlib.closing(sqlite3.connect(f"{lab.STATE}/registry/registry.db")) as db:
            yield db
    finally:
        lab.bring_up()


def audited(session_id):
    with registry() as db:
        rows = db.execute("SELECT receipt, end FROM sessions WHERE session_id = ?",
                          (session_id,)).fetchall()
    assert len(rows) == 1, rows
    return lab.json.loads(rows[0][0]), rows[0][1]


def test_the_receipt_of_a_login_is_in_the_audit_and_stays_there():
    with lab.Login("alice") as login:
        said = login.view["receipt"]
        assert audited(login.id) == (said, "")
        # And sessiond itself remembers it, killed or not.
        os.kill(lab.service_pid("sessiond"), signal.SIGKILL)
        lab.service("kill", "sessiond", check=False)
        lab.bring_up()
        lab.eventually(lambda: lab.sessions("alice"))
        assert lab.session_of("alice")["receipt"] == said
    lab.eventually(lambda: not lab.sessions("alice"))
    receipt, end = audited(login.id)
    assert receipt == said and end
    with open("/run/lab/sessiond-api.log", encoding="utf-8", errors="replace") as log:
        line = next(line for line in log if f"session receipt session={login.id}" in line)
    for word in (f"filter={said['filter']['how']}:{said['filter']['sha256']}", "seccomp=2",
                 f"net_revision={said['net_revision']}"):
        assert word in line
