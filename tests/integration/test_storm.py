# SPDX-License-Identifier: ISC
# test_storm.py - many runs: every one is right, and nothing is left over.
import collections
import concurrent.futures
import contextlib
import os
import re
import threading

import lab

SERIAL, CLIENTS, EACH = 500, 4, 50


def count_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def count_lines(path):
    with open(path, "rb") as lines:
        return sum(1 for _ in lines)


def family_of(pid):
    """The process and its children that live as long as it."""
    return [pid] + [process.pid for process in lab.processes() if process.ppid == pid]


def inventory():
    """Everything that a run could leave behind."""
    sessiond, api = lab.service_pid("sessiond"), lab.service_pid("sessiond-api")
    left = {f"fd {pid}": count_fds(pid) for pid in [*family_of(sessiond), api]}
    left |= {f"mounts {pid}": count_lines(f"/proc/{pid}/mountinfo")
             for pid in [*family_of(sessiond), "self"]}
    left["processes"] = collections.Counter(process.comm for process in lab.processes())
    # Not /tmp: others of the machine that is below the lab's root may use it meanwhile.
    for path in ("/run", "/run/atelier", "/run/lab", "/home", lab.HOMES, "/dev/shm",
                 f"{lab.STATE}/nss", "/var/tmp"):
        left[path] = sorted(os.listdir(path))
    left["work"] = sorted(os.listdir(lab.work_of("alice")))
    left["runs"] = lab.health()["runs"]
    return left


def warm_up():
    for user in ("alice", "carol"):
        assert lab.run(["/bin/true"], user=user).status == "ok"
    lab.eventually(lambda: not lab.run_processes(), 2)
    return inventory()


def assert_clean(before):
    try:
        lab.eventually(lambda: inventory() == before, 5, every=0.1)
    except AssertionError:
        assert inventory() == before


def check(i, user):
    result = lab.sh('echo "$1"; exit "$2"', f"line {i}", str(i % 256), user=user)
    assert result.out == f"line {i}\n".encode()
    assert result.end["exit"] == i % 256
    assert result.events[0]["user"] == user


def test_one_after_another():
    before = warm_up()
    for i in range(SERIAL):
        check(i, "alice")
    assert_clean(before)


def test_four_clients_at_once():
    before = warm_up()
    faults, done = [], []

    def client(number):
        try:
            for i in range(EACH):
                check(number * EACH + i, ("alice", "carol")[number % 2])
                done.append(i)
        except Exception as fault:  # told below, where pytest sees it
            faults.append(fault)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(done) == CLIENTS * EACH
    assert_clean(before)


def test_many_that_fail_leave_nothing_either():
    before = warm_up()
    for i in range(100):
        assert lab.run(["/no/such/program"]).end["exit"] == 127
        assert lab.api("POST", "/v1/runs", {"user": "alice"}, uid=lab.CALLER).status == 400
        live = lab.start(["/bin/sleep", "60"])
        if i % 2:
            live.until("start")
        live.close()
    lab.eventually(lambda: not lab.run_processes(), 2)
    assert_clean(before)


def begin_or_busy(user):
    """A run that sleeps, or None if there is no room for it."""
    try:
        live = lab.start(["/bin/sleep", "60"], user=user)
    except lab.Refused as refused:
        assert (refused.answer.status, refused.answer.body["status"]) == (503, "busy")
        assert refused.answer.headers["Retry-After"] == "1"
        return None
    while (event := live.next())["ev"] not in ("start", "end"):
        pass
    if event["ev"] == "start":
        return live
    live.close()
    assert event["status"] == "busy", event
    return None


def test_more_runs_than_there_is_room_for():
    """Each is either run or told that there is no room; then there is room again."""
    live = []
    try:
        while len(live) < 300 and (entry := begin_or_busy(("alice", "carol")[len(live) % 2])):
            live.append(entry)
        assert 32 <= len(live) < 300
    finally:
        for entry in live:
            entry.close()
    lab.eventually(lambda: not lab.run_processes(), 5)
    lab.eventually(lambda: lab.health()["runs"] == 0, 5)
    assert lab.run(["/bin/true"]).status == "ok"


def test_whoever_has_many_runs_leaves_room_for_others():
    """alice asks for 200, one after the other, and gets half of what there is; carol waits for none."""
    refused, live = [], []
    try:
        for _ in range(200):
            try:
                live.append(lab.start(["/bin/sleep", "60"]))
            except lab.Refused as answer:
                refused.append(answer.answer)
        assert len(live) == 128
        for answer in refused:
            assert (answer.status, answer.body["status"]) == (503, "busy")
            assert answer.body["message"] == "This user has as many runs as leave room for others."
            assert answer.headers["Retry-After"] == "1"
        # The positive control: those of alice live all the time.
        result = lab.python("print(1)", user="carol")
        assert (result.status, result.out) == ("ok", b"1\n")
        assert lab.health()["runs"] == 128
        live.pop().close()
        lab.eventually(lambda: lab.health()["runs"] == 127, 10)
        live.append(lab.start(["/bin/sleep", "60"]))
    finally:
        for entry in live:
            entry.close()
    lab.eventually(lambda: lab.health()["runs"] == 0, 10)


# ---- output

FLOODS, CAP_KB, DAEMON_KB = 10, 1024, 50 << 10


def peak_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(re.search(r"VmHWM:\s+(\d+) kB", lines.read())[1])


def test_ten_floods_of_output_at_once_take_no_memory_of_the_daemons():
    daemons = {name: lab.service_pid(name) for name in ("sessiond", "sessiond-api")}
    spawners = family_of(daemons["sessiond"])[1:]
    for pid in [*daemons.values(), *spawners]:
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak begins here: proc(5)
    with contextlib.ExitStack() as stack:
        live = []
        for number in range(FLOODS):
            live.append(lab.start(["/usr/bin/yes"], user=("alice", "carol")[number % 2],
                                  limits={"wall_ms": 60000, "out_kb": CAP_KB}))
            stack.callback(live[-1].close)
        with concurrent.futures.ThreadPoolExecutor(FLOODS) as pool:
            list(pool.map(lambda each: each.finish(), live))
    for each in live:
        assert each.status == "output_flood", each.end
        assert each.end["usage"]["out_bytes"] > 64 << 20
        assert CAP_KB << 10 >= len(each.out) > 0  # head and tail together
        assert "truncated" in [note["code"] for note in each.find("note")]
    peaks = {name: peak_kb(pid) for name, pid in daemons.items()}
    print(f"peak in KiB while ten floods ran: {peaks}")
    assert all(0 < kb < DAEMON_KB for kb in [*peaks.values(), *map(peak_kb, spawners)]), peaks
