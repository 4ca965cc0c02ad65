# SPDX-License-Identifier: ISC
# test_canary.py - rules that do not hold, and a canary that cannot tell, start nothing.
import contextlib
import ctypes
import os
import select
import signal
import socket
import threading
import time

import firewall
import lab
import pytest

STALE_S = 1.1  # a proof is good for one second


def end_of_run(net="none"):
    return lab.run(["/bin/true"], net=net).end


def is_stopped_by_canary(end):
    return (end["status"], end.get("step"), end["exit"]) == ("setup_failed", "canary", None)


def assert_stopped_then_heals(heal, within):
    """Runs of both kinds fail for as long as the rules are broken; healed, they start."""
    time.sleep(STALE_S)
    for net in ("none", "public", "none"):
        end = end_of_run(net)
        assert is_stopped_by_canary(end), end
        assert end["message"]
    answer = lab.api("GET", "/v1/healthz")
    assert (answer.status, answer.body["status"]) == (503, "degraded")
    assert lab.atelier("status", check=False).returncode == 1
    heal()
    lab.eventually(lambda: end_of_run()["status"] == "ok", within, every=0.2)
    assert end_of_run("public")["status"] == "ok"
    assert lab.is_well()


@pytest.fixture(autouse=True)
def rules_come_back():
    assert end_of_run()["status"] == "ok"  # positive control
    yield
    lab.rules_restore()


@pytest.mark.parametrize("family", lab.FAMILIES)
def test_rules_that_are_there_and_do_not_hold(family):
    with contextlib.ExitStack() as void:
        void.enter_context(firewall.rules_void(family))
        assert_stopped_then_heals(void.close, 2.0)


@pytest.mark.parametrize("family, change", [
    ("iptables", ("-F", "OUTPUT")), ("ip6tables", ("-F", "OUTPUT")),
    ("iptables", ("-I", "OUTPUT", "1", "-o", "lo", "-j", "ACCEPT")),
    ("ip6tables", ("-F", "ATELIER"))])
def test_rules_that_cannot_be_put_back(family, change):
    with contextlib.ExitStack() as broken:
        broken.enter_context(firewall.rules_cannot_be_loaded())
        lab.command(family, "-w", "5", *change)
        assert_stopped_then_heals(broken.close, 1.0)
        assert lab.jump_is_first(family)
    lab.command(family, "-w", "5", "-D", *change[1:2], *change[3:], check=False)


def test_a_dead_listener_proves_nothing():
    """A refusal by a listener that is not there looks like one by a rule."""
    sessiond = lab.service_pid("sessiond")
    listener = lab.child_of(sessiond, "atelier-listen")
    lab.die_alone(listener.pid)
    lab.eventually(lambda: is_stopped_by_canary(end_of_run()), 1.0)
    begin = time.monotonic()
    assert_stopped_then_heals(lambda: None, 10)
    assert time.monotonic() - begin > 1
    again = lab.child_of(sessiond, "atelier-listen")
    assert again.pid != listener.pid
    assert lab.service_pid("sessiond") == sessiond


PIDFD_GETFD = 438  # the same number everywhere


def its_descriptor(pid, number):
    pidfd = os.pidfd_open(pid)
    try:
        fd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, number, 0)
        assert fd >= 0, os.strerror(ctypes.get_errno())
        return fd
    finally:
        os.close(pidfd)


@contextlib.contextmanager
def somebody_else_answers(change):
    """On the listener's own sockets, while it stands still; @change makes ours of its answer."""
    listener = lab.child_of(lab.service_pid("sessiond"), "atelier-listen").pid
    with contextlib.ExitStack() as stack:
        doors = [stack.enter_context(socket.socket(fileno=its_descriptor(listener, number)))
                 for number in (3, 4)]  # listener_main()
        with socket.create_connection(("127.0.0.1", doors[0].getsockname()[1]), 5) as asked:
            banner = asked.recv(64, socket.MSG_WAITALL)
        assert len(banner) == 16
        os.kill(listener, signal.SIGSTOP)
        stack.callback(os.kill, listener, signal.SIGCONT)
        done = threading.Event()

        def answer():
            while not done.is_set():
                for door in select.select(doors, [], [], 0.05)[0]:
                    with contextlib.suppress(OSError), door.accept()[0] as client:
                        client.sendall(change(banner))

        thread = threading.Thread(target=answer)
        thread.start()
        stack.callback(thread.join)
        stack.callback(done.set)
        yield


def test_an_answer_of_somebody_else_proves_nothing():
    """Root has to reach the listener: any other one may be where no rule of ours counts."""
    with somebody_else_answers(lambda banner: banner):  # positive control: it is the answer that counts
        time.sleep(STALE_S)
        assert end_of_run()["status"] == "ok"
    with contextlib.ExitStack() as other:
        other.enter_context(somebody_else_answers(lambda banner: bytes(byte ^ 1 for byte in banner)))
        assert_stopped_then_heals(other.close, 3)
    with contextlib.ExitStack() as short:
        short.enter_context(somebody_else_answers(lambda banner: banner[:15]))
        time.sleep(STALE_S)
        assert is_stopped_by_canary(end_of_run())


def probe(but=None):
    """The canary's probe, or None; @but is one that does not count any more."""
    found = [process for process in lab.procs_of_uid(lab.ID_CANARY) if process.pid != but]
    return found[0] if found else None


def test_a_dead_probe_is_replaced():
    old = probe()
    lab.die_alone(old.ppid)
    new = lab.eventually(lambda: probe(but=old.pid), 5)
    assert new.comm == old.comm
    lab.eventually(lambda: end_of_run()["status"] == "ok", 2)
    assert lab.is_well()


def test_a_probe_that_does_not_answer_starts_nothing():
    pid = probe().pid
    os.kill(pid, signal.SIGSTOP)
    assert_stopped_then_heals(lambda: os.kill(pid, signal.SIGCONT), 3)


def test_a_probe_that_answers_late_is_no_alarm():
    """A busy machine: within the time of a round nobody suffers, and nothing is logged."""
    time.sleep(STALE_S)
    pid, said = probe().pid, lab.sessiond_says("nothing is started")
    os.kill(pid, signal.SIGSTOP)
    late = threading.Timer(0.4, os.kill, (pid, signal.SIGCONT))
    late.start()
    try:
        begin = time.monotonic()
        assert end_of_run()["status"] == "ok"
        assert time.monotonic() - begin > 0.35  # it did wait for the answer
    finally:
        late.join()
        os.kill(pid, signal.SIGCONT)
    assert lab.sessiond_says("nothing is started") == said


def test_what_the_canary_costs_is_counted():
    before, begin = lab.health()["canary_cost"], time.monotonic()
    for _ in range(20):
        assert end_of_run()["status"] == "ok"
    cost, took = lab.health()["canary_cost"], time.monotonic() - begin
    asked, rounds = cost["asked"] - before["asked"], cost["rounds"] - before["rounds"]
    assert asked >= 20
    assert 0 < cost["asked_new"] <= cost["asked"]
    assert rounds <= took + 1  # one in a second, however many ask
    time.sleep(STALE_S)
    assert end_of_run()["status"] == "ok"
    after = lab.health()["canary_cost"]
    assert after["rounds"] == cost["rounds"] + 1
    assert after["wall_us"] - cost["wall_us"] == after["wall_last_us"] > 0
    for key in ("cpu_probe_us", "cpu_listener_us", "cpu_sessiond_us"):
        assert after[key] > cost[key], key
    assert 0 < after["cpu_last_us"] < 800000
    line = next(line for line in lab.atelier("status").stdout.splitlines()
                if line.startswith("canary's cost"))
    assert f"{after['rounds']} for {after['asked']} questions; " in line


def test_a_run_that_is_under_way_goes_on():
    live = lab.start(["/bin/sh", "-c", "echo up; sleep 2; echo down"])
    live.until("out")
    with firewall.rules_void("iptables"):
        time.sleep(STALE_S)
        assert is_stopped_by_canary(end_of_run())
        assert live.finish().out == b"up\ndown\n"


def test_the_age_of_the_proof_is_in_the_receipt():
    for _ in range(3):
        receipt = lab.run(["/bin/true"]).receipt
        assert receipt["canary_age_ms"] <= 1000 + 500
        assert receipt["net_revision"] == lab.health()["net_revision"] > 0
        time.sleep(0.6)


def test_sessiond_does_not_start_without_its_rules():
    """No iptables, no sessiond: not a sessiond without rules."""
    lab.service("stop", "sessiond")
    real = {path: path + ".away" for path in ("/usr/sbin/ip6tables-restore",)}
    for path, away in real.items():
        os.rename(path, away)
    try:
        assert lab.service("start", "sessiond", check=False).returncode == 1
        assert lab.service_pid("sessiond") is None
    finally:
        for path, away in real.items():
            os.rename(away, path)
    lab.bring_up()
    assert end_of_run()["status"] == "ok"


@pytest.mark.parametrize("family", lab.FAMILIES)
def test_rules_that_do_not_hold_end_the_runs_that_rely_on_them(family):
    """Not only a start needs the rules: a run that lives on the host's network loses it with them."""
    public, alone = lab.sleeper(net="public"), lab.sleeper(net="none")
    try:
        assert public.quiet_for(2.5)  # positive control: with the rules there it lives
        with firewall.rules_void(family):
            begin = time.monotonic()
            end = public.finish().end
            assert time.monotonic() - begin < 4
            assert (end["status"], end["exit"]) == ("internal", None), end
            assert "network rules" in end["message"]
            assert alone.quiet_for(1.0)  # has no network to lose
    finally:
        alone.close()


def test_the_rules_go_when_they_are_not_wanted_any_more():
    """For an uninstallation. What others have made stays; a second time there is nothing to do."""
    program = ("/usr/lib/atelier/sessiond", "--remove-network-rules")
    lab.service("stop", "sessiond")
    theirs = "-A OUTPUT -o lo -j ACCEPT"
    try:
        for family in lab.FAMILIES:
            assert lab.jump_is_first(family)  # positive control
            lab.command(family, "-w", "5", *theirs.split())
        for _ in range(2):
            done = lab.command(*program)
            assert (done.stdout, done.stderr) == ("", "")
            for family in lab.FAMILIES:
                everything = lab.command(family, "-w", "5", "-S").stdout.splitlines()
                assert theirs in everything
                assert not [line for line in everything if "ATELIER" in line or "socket" in line]
        # Only root may, and root without the right to look cannot say that there is nothing.
        bare = lab.command("setpriv", "--bounding-set=-all", "--", *program, check=False)
        assert bare.returncode == 69
        assert "the network rules cannot be removed" in bare.stderr, bare
        assert lab.command("runuser", "-u", "nobody", "--", *program, check=False).returncode == 77
    finally:
        for family in lab.FAMILIES:
            lab.command(family, "-w", "5", "-D", *theirs.split()[1:])
        lab.bring_up()
    assert all(lab.jump_is_first(family) for family in lab.FAMILIES)
    assert end_of_run()["status"] == "ok"
