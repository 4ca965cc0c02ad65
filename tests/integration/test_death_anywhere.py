# SPDX-License-Identifier: ISC
# test_death_anywhere.py - SIGKILL at any step and any moment: nothing of a participant is left.
import collections
import contextlib
import http.client
import os
import random
import threading
import time

import lab
import pytest
import tracing

GONE_S = 0.5  # what is promised of runs
# What is asserted: a machine that runs other tests as well takes its time.
GONE_WITHIN_S = 5 * GONE_S
REFUSED_S = 5  # a login without a session may say so for so long, in a cage
SEED = int(os.environ.get("ATELIER_TESTS_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 32)
NETWORK_ERRORS = (OSError, http.client.HTTPException, ValueError, lab.Refused, AssertionError)
SSHD = ("sshd", "atelier-sshd")  # its own name, and what it is started as
HOST = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "mnt", "ipc", "uts")}


@pytest.fixture
def some(capsys):
    with capsys.disabled():
        print(f" seed {SEED}", end="", flush=True)
    return random.Random(SEED)


def bring_up(*names):
    for name in names:
        lab.service("kill", name, check=False)  # labd takes note of the death
    lab.bring_up()


# ---- what may never be

SHOWN = ("Name", "Pid", "PPid", "Uid", "CapEff", "Seccomp", "NoNewPrivs", "voluntary_ctxt_switches")


def unconfined(pid):
    """Why a participant's process is one that may never be; "" if it is not, or is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as text:
            said = dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)
        own = {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in HOST}
    except OSError:
        return ""
    if not lab.ID_MIN <= int(said["Uid"].split()[0]) <= lab.ID_ALLOC_MAX or said["State"][0] in "ZX":
        return ""
    held = (said["Seccomp"], said["NoNewPrivs"]) == ("2", "1")
    shown = {key: said[key] for key in SHOWN}
    if own["pid"] == HOST["pid"]:  # a login that got no session, in its cage (cage.c)
        return "" if held and said["Name"].startswith(SSHD) else f"on the host: {shown}"
    if any(own[name] == HOST[name] for name in HOST):
        return f"in a namespace of the host {own}: {shown}"
    bare = all(int(said[key], 16) == 0 for key in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"))
    # Ours takes its last steps as the user, and has not begun the program.
    return "" if bare and (held or said["Name"] == "atelier-init") else f"too free: {shown}"


class Watch(threading.Thread):
    """Looks at every process of the host, again and again."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopping, self.found, self.looks, self.seen = False, [], 0, 0

    def run(self):
        while not self.stopping:
            for name in os.listdir("/proc"):
                if not name.isdecimal():
                    continue
                with contextlib.suppress(OSError):
                    if lab.ID_MIN <= os.stat(f"/proc/{name}").st_uid <= lab.ID_ALLOC_MAX:
                        self.seen += 1
                if why := unconfined(int(name)):
                    self.found.append(why)
            self.looks += 1
            time.sleep(0.002)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.join(10)
        assert self.looks > 10
        assert self.found == [], self.found[:3]


def test_the_watch_would_see_one(alice):
    """Positive control: alice's UID outside of everything."""
    argv = ["setpriv", f"--reuid={alice}", f"--regid={alice}", "--clear-groups", "sleep", "30"]
    child = lab.subprocess.Popen(argv)
    try:
        lab.eventually(lambda: "on the host" in unconfined(child.pid))
    finally:
        child.kill()
        child.wait()


def living():
    """Of runs. One that is dead is gone, though nobody may have waited for it yet."""
    return [process for process in lab.run_processes() if process.state not in "ZX"]


def gone_after(begin):
    """Seconds from @begin until no process of a run was there any more."""
    with contextlib.suppress(AssertionError):
        lab.eventually(lambda: not living(), GONE_WITHIN_S, every=0.002)
    took, left = time.monotonic() - begin, living()
    assert not left, left
    lab.eventually(lambda: not lab.run_processes(), 20)
    return took


# ---- at each step: the init, and the process that becomes the program, at a system call

class Starter(threading.Thread):
    """One run that is asked for, whatever becomes of it."""

    def run(self):
        with contextlib.suppress(*NETWORK_ERRORS):
            lab.run(["/bin/true"])


@contextlib.contextmanager
def held_at(part, step):
    """A run that is being made, its init or payload at the @step-th stop.

    Yields what is traced, the init, and how many stops there were.
    """
    assert lab.run(["/bin/true"]).status == "ok"
    traced = tracing.Traced(lab.child_of(lab.service_pid("sessiond"), "atelier-spawn").pid)
    starter = Starter()
    starter.start()
    try:
        pid = traced.forked(traced.pids[0])
        init = pid
        if part == "payload":
            tracing.ptrace(tracing.CONT, init)
            pid = traced.forked(init)
        yield traced, init, traced.steps(pid, step)
    finally:
        traced.let_go()
        starter.join(20)
        assert not starter.is_alive()


# How many stops there are, entries and exits of system calls, depends on the tree of the host.
STEPS_MAX = 400
VICTIMS = ("sessiond", "atelier-spawn", "init")
POINTS = 3  # of each part and victim


@pytest.fixture(scope="module")
def steps():
    """How many stops each part has until the program would begin."""
    counted = {}
    for part in ("init", "payload"):
        with held_at(part, STEPS_MAX) as (_, _, count):
            counted[part] = count
        lab.eventually(lambda: not lab.run_processes(), GONE_WITHIN_S)
    assert 40 < counted["payload"] < STEPS_MAX and 40 < counted["init"] < STEPS_MAX, counted
    return counted


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("part", ["init", "payload"])
def test_nothing_is_left_of_a_run_that_was_being_made(part, victim, steps, some, capsys):
    """@part stands at a system call, one after the other of the whole way, when @victim dies."""
    longest = 0
    with Watch():
        for i in range(POINTS):
            step = int((i + some.random()) * steps[part] / POINTS)
            with held_at(part, step) as (traced, init, done):
                assert done == step
                sessiond = lab.service_pid("sessiond")
                pid = {"sessiond": sessiond, "init": init}.get(victim) or \
                    lab.child_of(sessiond, victim).pid
                tracing.kill(pid)
                begin = time.monotonic()
                traced.let_go()
                longest = max(longest, gone_after(begin))
            if victim != "init":
                lab.eventually(lambda: lab.service_pid("sessiond") is None, 5)
                bring_up("sessiond")
    with capsys.disabled():
        print(f" gone in {longest * 1000:.0f} ms", end="", flush=True)


# ---- at any moment: runs and logins come and go, and somebody dies

class Stream(threading.Thread):
    def __init__(self, once):
        super().__init__(daemon=True)
        self.once, self.stopping, self.count = once, False, 0

    def run(self):
        while not self.stopping:
            try:
                self.once()
                self.count += 1
            except NETWORK_ERRORS:
                time.sleep(0.02)


def one_run():
    lab.sh("(sleep 30 &) ; yes >/dev/null & sleep 0.2", limits={"wall_ms": 1000})


def one_login(user):
    def once():
        result = lab.ssh(user, lab.mint(user)["code"], "sleep 31 & sleep 0.3; echo in", timeout=40)
        assert result.stdout == "in\n"
    return once


@contextlib.contextmanager
def streams(*all_once):
    threads = [Stream(once) for once in all_once]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        for thread in threads:
            thread.stopping = True
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def victims():
    """Who could die now: name and pid."""
    sessiond, api = lab.service_pid("sessiond"), lab.service_pid("sessiond-api")
    listener = lab.service_pid("atelier-sshd")
    found = {"sessiond": [sessiond], "sessiond-api": [api]}
    for process in lab.processes():
        if process.ppid == sessiond and process.comm == "atelier-spawn":
            found["atelier-spawn"] = [process.pid]
        elif process.comm in ("atelier-init", lab.SESSION_INIT) and process.uid == 0:
            found.setdefault(process.comm, []).append(process.pid)
        elif process.ppid == listener and process.comm.startswith(SSHD):
            found.setdefault("monitor of sshd", []).append(process.pid)
    return {name: pids for name, pids in found.items() if all(pids)}


def runs_left():
    """Inits of runs, with whom all of a run goes; those of logins live on, and the probe's."""
    everything = lab.processes()
    probes = {each.pid_ns for each in everything if each.uid == lab.ID_CANARY}
    return [each for each in everything
            if (each.comm, each.uid) == ("atelier-init", 0) and each.pid_ns not in probes]


def left_behind():
    """Whatever could be left on the host: processes by name, mounts, files of ours, utmp."""
    files = [os.path.join(directory, name) for top in ("/run/atelier", "/run/lab")
             for directory, _, names in os.walk(top) for name in names]
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        count = len(mounts.readlines())
    return {"processes": collections.Counter(each.comm for each in lab.processes()),
            "mounts": count, "files": sorted(files), "utmp": lab.logged_in(),
            "homes": sorted(os.listdir(lab.HOMES)), "tmp": sorted(os.listdir("/var/tmp")),
            "nss": sorted(os.listdir(f"{lab.STATE}/nss"))}


KILLS, STORM_S = 60, 12
KINDS = ("sessiond", "sessiond-api", "atelier-spawn", "atelier-init", lab.SESSION_INIT,
         "monitor of sshd")


def test_nothing_is_left_whoever_dies_whenever(some, capsys):
    for once in (one_run, one_login("alice"), one_login("carol")):
        once()
    lab.eventually(lambda: not lab.remains(), 10)
    before, killed, longest, order = left_behind(), collections.Counter(), 0, []
    end = time.monotonic() + STORM_S
    with Watch() as watch, streams(one_run, one_run, one_login("alice"), one_login("carol")) as all_:
        while sum(killed.values()) < KILLS and time.monotonic() < end:
            time.sleep(some.uniform(0, 0.3))
            choice = victims()
            order = order or some.sample(KINDS, len(KINDS))
            name = order.pop()
            if name not in choice:
                continue
            tracing.kill(some.choice(choice[name]))
            begin = time.monotonic()
            killed[name] += 1
            if name in ("sessiond", "atelier-spawn", "sessiond-api"):
                lab.eventually(lambda: not runs_left(), GONE_WITHIN_S, every=0.002)
                longest = max(longest, time.monotonic() - begin)
                if name == "atelier-spawn":
                    lab.eventually(lambda: lab.service_pid("sessiond") is None, 5)
                bring_up("sessiond-api" if name == "sessiond-api" else "sessiond")
    assert watch.seen > 0 and sum(stream.count for stream in all_) > 0
    lab.eventually(lambda: not lab.remains() and not lab.strays(), REFUSED_S + 10)
    lab.eventually(lab.is_well)
    with contextlib.suppress(AssertionError):
        lab.eventually(lambda: left_behind() == before, 5)
    assert left_behind() == before
    for name in KINDS[:3]:
        assert killed[name] > 0, killed
    with capsys.disabled():
        print(f" {dict(killed)}, runs gone in {longest * 1000:.0f} ms", end="", flush=True)
