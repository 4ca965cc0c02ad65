# SPDX-License-Identifier: ISC
# test_tree.py - what of the host is in the tree of a run and a session: /proc and /etc, name by
# name, and what cannot be changed by changing the host.
import os
import re
import shutil

import lab
import pytest
import test_policy
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


# ---- /etc

# What of the host's /etc there may be, and why. Directories with all that is in them.
ETC = {
    # made for each run and session, or for all of them
    "atelier", "group", "hosts", "mtab", "nsswitch.conf", "passwd", "resolv.conf",
    # programs by their names, libraries, certificates, fonts, interpreters
    "alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "perl", "python3",
    "python3.11", "python3.13", "ssl", "ca-certificates.conf",
    # shells and terminals
    "bash.bashrc", "inputrc", "profile", "profile.d", "shells", "terminfo",
    # kinds of files, names of numbers, time
    "ethertypes", "gai.conf", "host.conf", "localtime", "magic", "magic.mime", "mime.types",
    "networks", "protocols", "rpc", "services", "timezone",
    # which system it is
    "debian_version", "os-release",
}
MUST = {"group", "hosts", "nsswitch.conf", "passwd", "resolv.conf", "ld.so.cache", "mtab"}
LIST_ETC = "cd /etc && find . -mindepth 1 -maxdepth 1 -printf '%f\\n'; echo; find ssl atelier -mindepth 1 -maxdepth 1"
FIND_WORD = "grep -rlsw \"$1\" /etc; true"
BAIT = "/etc/lab-attack-secret"


def test_of_etc_only_what_is_listed_is_there(inside):
    with open(BAIT, "w", encoding="ascii") as file:
        file.write("carol\n")
    try:
        for said in (lab.sh(LIST_ETC).out.decode(), inside.ssh(LIST_ETC).stdout):
            names, deeper = (set(part.split("\n")) - {""} for part in said.split("\n\n"))
            assert names <= ETC, names - ETC
            assert names >= MUST, MUST - names
            assert deeper <= {"ssl/certs", "ssl/openssl.cnf", "atelier/passwd", "atelier/group",
                              "atelier/session"}, deeper
        # Nobody else is named there; oneself is, and the other where it is, as a control.
        assert lab.sh(FIND_WORD, "carol").out == b""
        assert inside.ssh("grep -rlsw carol /etc; true").stdout == ""
        assert lab.sh(FIND_WORD, "alice").out.split()
        assert lab.command("grep", "-rlsw", "carol", BAIT).stdout.strip() == BAIT
    finally:
        os.unlink(BAIT)


WORKS = (
    ("python3 -c 'import ssl; print(ssl.create_default_context().cert_store_stats()[\"x509_ca\"])'",
     r"[1-9]\d*", "/etc/ssl/certs/ca-certificates.crt"),
    ("touch /tmp/mine; ls -l /tmp/mine | cut -d ' ' -f 3,4", "alice alice", None),
    ("ls -ld / | cut -d ' ' -f 3,4", "root root", None),
    ("date +%Z", "CES?T", "/usr/share/zoneinfo/Europe/Berlin"),
    ("echo a b | awk '{print $2}'", "b", None),
    ("echo 'int main(void){return 0;}' | gcc -x c - -o /tmp/a && /tmp/a && echo made", "made",
     "/usr/bin/gcc"),
    ("tput -T xterm cols", r"\d+", "/usr/bin/tput"),
    ("LC_ALL=C.UTF-8 locale charmap", "UTF-8", None),
    ("python3 -c 'import socket; print(socket.getservbyname(\"https\"))'", "443", "/etc/services"),
    ("perl -e 'print 6*7, \"\\n\"'", "42", "/usr/bin/perl"),
)


def test_with_that_etc_programs_work(inside):
    before = os.readlink("/etc/localtime") if os.path.islink("/etc/localtime") else None
    lab.command("ln", "-sf", "/usr/share/zoneinfo/Europe/Berlin", "/etc/localtime")
    lab.service("restart", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    wanted = [row for row in WORKS if row[2] is None or os.path.exists(row[2])]
    try:
        for command, pattern, _ in wanted:
            said = lab.sh(command)
            assert re.fullmatch(pattern, said.out.decode().strip()), (command, said.out, said.err)
        with lab.Session("alice") as session:
            for command, pattern, _ in wanted:
                said = session.ssh(command)
                assert re.fullmatch(pattern, said.stdout.strip()), (command, said)
    finally:
        if before:
            lab.command("ln", "-sf", before, "/etc/localtime")
    assert len(wanted) > 4


# ---- F3, F25: what was bound when it began stays

TREE = "/opt/lab-attack-tree"


def put_word(path, word):
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/say", "w", encoding="ascii") as file:
        file.write(word)


def swap(path):
    """Another directory, with another word, in the place of this one."""
    os.rename(path, f"{path}-old")
    put_word(path, "second")


WAIT_LINE = "cat {0}/say; echo; head -n 1 >/dev/null; cat {0}/say; ls {0}"


def test_f25_a_tree_or_a_home_that_is_swapped_stays_what_it_was(alice):
    work = lab.work_of("alice")
    put_word(TREE, "first")
    os.chmod(TREE, 0o755)
    assert lab.sh("echo -n first >~/work/say").status == "ok"
    test_policy.policy(f'login {{ trees = {{"{TREE}"}} }}\nrun {{ trees = {{"{TREE}"}} }}\n')
    try:
        with lab.Session("alice") as session:
            children = {path: session.popen("sh", "-c", f"'{WAIT_LINE.format(path)}'")
                        for path in (TREE, work)}
            for child in children.values():
                assert child.stdout.readline() == "first\n"
            live = lab.start(["/bin/sh", "-c", f"cat {TREE}/say say; echo; "
                              f"until [ -e go ]; do sleep 0.05; done; cat {TREE}/say say"],
                             limits=where.LONG)
            live.until("out")
            swap(TREE)
            swap(work)
            os.chown(work, alice, alice)
            # Positive control: who begins now has the other ones.
            assert lab.sh(f"cat {TREE}/say say").out == b"secondsecond"
            with open(f"{work}-old/go", "w", encoding="ascii"):
                pass
            said = live.finish()
            assert said.out == b"firstfirst\nfirstfirst", said.out
            assert children[TREE].communicate("go\n", timeout=60)[0] == "firstsay\n"
            # A home is mounted as a whole: what is renamed in it is another name for its user, too.
            assert children[work].communicate("go\n", timeout=60)[0] == "secondsay\n"
    finally:
        for path in (work, TREE):
            shutil.rmtree(path)
            os.rename(f"{path}-old", path)
        shutil.rmtree(TREE)
        os.unlink(f"{work}/go")
        test_policy.put("")
        assert "policy read again" in test_policy.reload()
