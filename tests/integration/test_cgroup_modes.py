# SPDX-License-Identifier: ISC
# test_cgroup_modes.py - each tree of control groups alone and missing: what limits then, and what not.
#
# In the lab of test_cgroup.py, where that has version 1: sessiond is started again with some of its
# directories. What no control group limits it watches, and says so.
import os
import re

import lab
import pytest

MIB = 1 << 20
WRAPPER = "/run/lab/sessiond-with-some-groups"
MEMORY_BOMB = "taken = [bytearray(8 << 20) for _ in range(256)]\nimport time; time.sleep(20)"
MEMORY_FINE = "taken = [bytearray(8 << 20) for _ in range(45)]"
FORKS = """
import os, time
for _ in range(%d):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        os._exit(3)
time.sleep(%d)
"""
BURN = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        while time.process_time() < %s: pass
        os._exit(0)
os.wait(); os.wait()
"""


def options():
    with open(f"/proc/{lab.service_pid('sessiond')}/cmdline", encoding="utf-8") as file:
        found = re.findall(r"--cgroup(?:-lite|-v1=(\w+))?=(/[^\0]*)", file.read())
    return {name or "lite": path for name, path in found}


lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
TREES = options()
pytestmark = pytest.mark.skipif("memory" not in TREES,
                                reason="the lab has no control groups of version 1")

# The trees that are given, what the mode is called, and what limits memory, processes and processors.
MODES = [
    pytest.param((("memory", "pids", "cpu", "cpuacct"), "v1", ("group", "group", "group")), id="v1"),
    pytest.param((("memory",), "v1", ("group", "watch", "none")), id="memory"),
    pytest.param((("pids",), "v1", ("watch", "group", "none")), id="pids"),
    pytest.param((("cpu",), "v1", ("watch", "watch", "group")), id="cpu"),
    pytest.param((("lite",), "v2-lite", ("watch", "watch", "none")), id="lite"),
]


@pytest.fixture(scope="module")
def restart():
    """sessiond with some of the trees; with all of them again afterwards."""
    def with_trees(names):
        words = [f"--cgroup-lite={TREES[name]}" if name == "lite"
                 else f"--cgroup-v1={name}={TREES[name]}" for name in names if name in TREES]
        with open(WRAPPER, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec /usr/lib/atelier/sessiond {' '.join(words)}\n")
        os.chmod(WRAPPER, 0o755)
        lab.service("restart", "sessiond", "--exec", WRAPPER)
        lab.eventually(lab.is_well, lab.UP_WITHIN_S)

    yield with_trees
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


@pytest.fixture(params=MODES, scope="module")
def mode(request, restart):
    names, name, limits = request.param
    if "lite" in names and "lite" not in TREES:
        pytest.skip("the machine has no version 2 tree beside version 1")
    restart(names)
    return names, name, dict(zip(("memory", "pids", "cpu"), limits))


def start(user, code, **limits):
    return lab.start([lab.PYTHON, "-I", "-c", code], user=user, limits={"wall_ms": 60000, **limits})


def test_status_and_receipt_say_what_limits(mode):
    names, name, limits = mode
    health = lab.health()
    assert (health["cgroup_mode"], health["limits"]) == (name, limits)
    live = lab.sleeper()
    try:
        start = live.find("start")[0]
        group, watch = start["receipt"]["cgroup"], start["watch"]
        assert group["mode"] == name
        for key, field, value in (("memory", "memory_max", 512 * MIB), ("pids", "pids_max", 128)):
            assert (group[field], watch[field]) == {"group": (value, None),
                                                    "watch": (None, value)}[limits[key]]
        assert group["cpu_quota_us"] == (100000 if limits["cpu"] == "group" else None)
        # The run is in every tree that was given, and in a group of ours in no other.
        with open(f"/proc/{start['pid']}/cgroup", encoding="ascii") as lines:
            member = dict(line.strip().split(":", 2)[1:] for line in lines)
        for tree, line in (*((each, each) for each in ("memory", "pids", "cpu", "cpuacct")),
                           ("lite", "")):
            if line in member:
                assert bool(re.search(r"/u\d+/run-[0-9a-f]{32}$", member[line])) == (tree in names)
    finally:
        live.close()


def test_memory_processes_and_processor_time_are_held_in_every_mode(mode):
    """All three at once, each beside one that stays below."""
    by = mode[2]
    below = [start("alice", MEMORY_FINE), start("carol", FORKS % (120, 0)),
             start("dora", BURN % 0.1, cpu_ms=600)]
    assert [live.finish().status for live in below] == ["ok"] * 3
    memory, forks, burn = (start("alice", MEMORY_BOMB), start("carol", FORKS % (200, 20)),
                           start("dora", BURN % 60, cpu_ms=600))
    for live in (memory, forks, burn):
        live.finish()
    assert (memory.status, memory.end["signal"]) == ("oom", "KILL"), memory.end
    assert forks.status == "pids", forks.end
    assert forks.end["exit"] == (3 if by["pids"] == "group" else None)
    assert burn.status == "timeout_cpu", burn.end
    assert 600 <= burn.end["usage"]["cpu_ms"] < 1500, burn.end
