# SPDX-License-Identifier: ISC
# test_death.py - a daemon that is killed takes all its runs with it, and comes back clean.
import http.client
import random
import threading
import time

import lab
import pytest

MOMENTS = 20
GONE_WITHIN_S = 0.5
NETWORK_ERRORS = (OSError, http.client.HTTPException, ValueError, lab.Refused)


class Stream(threading.Thread):
    """Runs one after another until stopped: short ones, long ones, ones with children."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopping = False
        self.started = 0

    def run(self):
        scripts = ["exit 0", "sleep 30", "(sleep 30 &) ; sleep 30", "yes >/dev/null"]
        while not self.stopping:
            for script in scripts:
                if self.stopping:
                    return
                try:
                    live = lab.start(["/bin/sh", "-c", script], limits={"wall_ms": 1000})
                    self.started += any(event["ev"] == "start" for event in live.finish().events)
                except NETWORK_ERRORS:
                    time.sleep(0.01)


@pytest.fixture
def streams():
    threads = [Stream() for _ in range(3)]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.stopping = True
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize("name", ["sessiond", "sessiond-api"])
def test_no_process_of_a_run_outlives_a_daemon(name, streams):
    some = random.Random(name)
    with_runs = 0
    for _ in range(MOMENTS):
        time.sleep(some.uniform(0, 0.3))
        with_runs += bool(lab.run_processes())
        pid = lab.service_pid(name)
        lab.die_alone(pid)
        lab.eventually(lambda: not lab.run_processes(), GONE_WITHIN_S, every=0.005)
        lab.service("kill", name, check=False)  # labd takes note of the death
        lab.bring_up()
    assert with_runs >= MOMENTS // 4  # it was not an idle daemon that was killed
    assert sum(thread.started for thread in streams) > 0


def test_a_client_is_told_when_the_root_process_dies():
    live = lab.sleeper()
    lab.service("kill", "sessiond")
    live.finish()
    assert live.status == "internal"
    answer = lab.api("POST", "/v1/runs", {"user": "alice", "argv": ["/bin/true"]}, uid=lab.CALLER)
    assert answer.status == 503
    assert lab.health()["sessiond"] is False
    lab.bring_up()
    assert lab.run(["/bin/true"]).status == "ok"


def test_a_run_ends_with_the_root_process():
    """Nobody is left who could end it: it is the kernel that does, by the init's death signal."""
    live = lab.sleeper()
    try:
        assert lab.run_processes()  # positive control: there is one
        lab.die_alone(lab.service_pid("sessiond"))
        lab.eventually(lambda: not lab.run_processes(), GONE_WITHIN_S)
    finally:
        lab.service("kill", "sessiond", check=False)  # labd takes note of the death
        live.close()
        lab.bring_up()


def test_the_api_finds_a_new_root_process_by_itself():
    api = lab.service_pid("sessiond-api")
    for _ in range(3):
        lab.service("restart", "sessiond")
        lab.eventually(lab.is_connected, 5)
    assert lab.service_pid("sessiond-api") == api
    assert lab.run(["/bin/true"]).status == "ok"


def test_a_dead_spawner_ends_the_root_process():
    """Without it nothing could be started or watched: end, and be restarted by the manager."""
    live = lab.sleeper()
    sessiond = lab.service_pid("sessiond")
    lab.die_alone(lab.child_of(sessiond, "atelier-spawn").pid)
    lab.eventually(lambda: not lab.run_processes(), GONE_WITHIN_S)
    lab.eventually(lambda: lab.service_pid("sessiond") is None, 2)
    live.finish()
    assert live.status in ("signal", "internal", "cancelled")
    lab.bring_up()


def test_a_dead_init_takes_its_run_along(alice):
    live = lab.start(["/bin/sh", "-c", "sleep 60 & echo up; sleep 60"])
    live.until("out")
    lab.die_alone(lab.Process(live.find("start")[0]["pid"]).ppid)
    live.finish()
    assert (live.status, live.end["signal"]) == ("signal", "KILL")
    assert not lab.procs_of_uid(alice)


def test_a_stopped_daemon_ends_its_runs_in_order():
    live = lab.sleeper()
    lab.service("stop", "sessiond")
    # The kernel ends them because sessiond has ended: hardly later, but later.
    lab.eventually(lambda: not lab.run_processes(), GONE_WITHIN_S)
    live.finish()
    assert live.status == "internal"
    lab.bring_up()


def test_runs_of_a_dead_api_are_closed_in_the_audit():
    live = lab.sleeper()
    lab.service("kill", "sessiond-api")
    live.close()
    lab.service("start", "sessiond-api")
    lab.bring_up()
    assert lab.health()["runs"] == 0
