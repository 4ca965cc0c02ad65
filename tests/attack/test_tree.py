# SPDX-License-Identifier: ISC
# test_tree.py - what of the host is in the tree of a run and a session: /proc and /etc, name by
# name, and what cannot be changed by changing the host.
import os
import re

import lab
import pytest
import where

HERE = os.path.dirname(os.path.abspath(__file__))
LINKS = {"mounts", "net", "self", "thread-self"}  # they lead to processes


def proc_table():
    """{name: is it open?}, of policy/proc.def."""
    with open(f"{HERE}/../../policy/proc.def", encoding="ascii") as file:
        rows = re.findall(r'(?m)^NAME\("([^"]+)", (OPEN|MASKED), ', file.read())
    assert len(rows) == len(dict(rows)) > 40  # positive control: it was read
    return {name: word == "OPEN" for name, word in rows}


PROC = proc_table()
OPEN = {name for name, is_open in PROC.items() if is_open}


def opened(said):
    assert said.startswith("through "), said
    return set(said.removeprefix("through ").split(",")) - {"nothing"}


@pytest.mark.parametrize("net", ["none", "public"])
def test_f21_of_proc_only_what_the_table_opens_can_be_opened_in_a_run(net, alice):
    seen = opened(where.in_run("proc_opens", "read", net=net))
    assert seen <= OPEN, seen - OPEN
    assert seen >= {"cpuinfo", "meminfo", "stat", "sys", "uptime", "loadavg", "version"}
    assert opened(where.in_run("proc_opens", "write", net=net)) == set()
    # Positive control: what is masked can be opened by the same uid outside, and written by root.
    plain = opened(where.plain(alice, "proc_opens", "read"))
    assert plain - OPEN >= {"cmdline", "keys", "key-users", "locks"} & set(os.listdir("/proc"))
    assert "sys" in opened(where.plain(0, "proc_opens", "write"))


def test_f21_of_proc_only_what_the_table_opens_can_be_opened_in_a_session(inside):
    seen = opened(where.in_session(inside, "proc_opens", "read"))
    assert seen <= OPEN, seen - OPEN
    assert seen >= {"cpuinfo", "meminfo", "stat", "sys", "uptime", "loadavg", "version"}
    assert opened(where.in_session(inside, "proc_opens", "write")) == set()


def test_f21_what_is_masked_is_there_and_says_that_it_is():
    """An empty file would be an answer; EACCES is none."""
    there = sorted(name for name, is_open in PROC.items()
                   if not is_open and os.path.exists(f"/proc/{name}"))
    assert there
    for name in there:
        result = lab.sh(f"ls -d /proc/{name}; cat /proc/{name}/ /proc/{name}")
        assert result.out.decode() == f"/proc/{name}\n"
        assert b"Permission denied" in result.err, result.err


TOOLS = (
    ("nproc", r"\d+"), ("free -b | sed -n 2p", r"Mem: +\d{8,}.*"), ("uptime", ".*load average.*"),
    ("ps -o user=,comm= -p $$", r"alice +sh"), ("top -b -n 1 | sed -n 1p", "top - .*"),
    ("python3 -c 'import os; print(os.cpu_count())'", r"\d+"),
    ("cat /proc/sys/kernel/osrelease", r"\d+\..*"), ("cat /proc/sys/kernel/random/uuid", ".{36}"),
    ("cut -d ' ' -f 2 /etc/mtab | head -n 1", "/.*"), ("df /tmp | wc -l", "2"),
    ("vmstat 2>/dev/null | wc -l", "3"), ("getconf _PHYS_PAGES", r"\d+"),
)


def test_f21_tools_have_what_they_need(inside):
    script = "".join(f"echo \"$({command})\"\n" for command, _ in TOOLS)
    run = lab.sh(script)
    lines = inside.ssh(f"sh <<'END'\n{script}END")
    for said in (run.out.decode().splitlines(), lines.stdout.splitlines()):
        assert len(said) == len(TOOLS), said
        for line, (command, pattern) in zip(said, TOOLS):
            assert re.fullmatch(pattern, line), (command, line)


# ---- R5, B17: what is memory

def has_memory_limit(receipt):
    return receipt["cgroup"]["memory_max"] is not None


def filled(said):
    assert said.startswith("through "), said
    return {line.split()[0]: [int(number) for number in line.split()[1:]]
            for line in said.removeprefix("through ").split("; ")}


def test_r5_who_fills_all_that_is_memory_is_told_and_not_killed(inside):
    """With what is shipped: each place to its last byte, then to its last name, all of it kept."""
    result = lab.run(where.argv_of("fill_all"), limits=where.LONG)
    assert (result.status, result.end["exit"]) == ("ok", 0), (result.end, result.err)
    places = filled(result.out.decode().strip())
    assert {path: mib for path, (mib, _) in places.items()} == {
        "/tmp": 128, "/var/tmp": 32, "/dev/shm": 64, "~": 128}
    assert all(4000 < names < 33000 for _, names in places.values()), places
    places = filled(where.in_session(inside, "fill_all"))
    assert {path: mib for path, (mib, _) in places.items()} == {
        "/tmp": 256, "/var/tmp": 64, "/dev/shm": 64}
    inside.ssh("rm -rf /tmp/* /var/tmp/* /dev/shm/*")
    if not has_memory_limit(result.receipt):
        pytest.skip("the lab has no control groups: that there was room for it all shows nothing")


def test_r5_what_is_in_a_place_counts_as_memory():
    """Positive control: so it is the sizes that keep the one above alive."""
    result = lab.run([lab.PYTHON, "-c", "import sys; x = bytearray(480 << 20); print(len(x))"])
    if not has_memory_limit(result.receipt):
        pytest.skip("the lab has no control groups")
    assert result.status == "ok"
    # 480 MiB of its own beside what may be in /tmp are too much: that memory counts is shown.
    code = ("f = open('/tmp/x', 'wb')\nfor _ in range(100): f.write(bytes(1 << 20))\n"
            "x = bytearray(480 << 20)\n")
    assert lab.python(code).status == "oom"
