# SPDX-License-Identifier: ISC
# test_confinement.py - what a session and a run of a participant can see and do on a stock server.
import json

import pytest
from guest import inside

LOOK = """
import glob, json, os, pathlib
uids = {}
for path in glob.glob("/proc/[0-9]*"):
    try:
        uids[path.split("/")[2]] = os.stat(path).st_uid
    except FileNotFoundError:
        pass
fields = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines()
              if ":\\t" in line)
names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
pathlib.Path("/tmp/mine").write_text("x")
print(json.dumps({"uids": sorted(set(uids.values())), "me": os.getuid(), "count": len(uids),
                  "rights": {name: fields[name].strip() for name in names},
                  "tmp": os.listdir("/tmp"), "homes": os.listdir("/home/atelier"),
                  "cgroup": open("/proc/self/cgroup").read().strip(),
                  "root": os.path.exists("/root/.ssh"), "run": os.path.exists("/run/systemd")}))
"""
RIGHTS = {"CapInh": "0" * 16, "CapPrm": "0" * 16, "CapEff": "0" * 16, "CapBnd": "0" * 16,
          "CapAmb": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}


@inside
def as_root(code):
    """The control: root of the host, who has all that participants must not have."""
    return json.loads(subprocess.run([lab.PYTHON, "-I", "-c", code], check=True, text=True,
                                     capture_output=True).stdout)


@inside
def in_a_run(code, user):
    return lab.python(code, user=user, net="public").json()


@pytest.fixture(params=["run", "session"])
def looks(request, guest):
    """What alice sees while ben is logged in, too; and in her own other session."""
    with guest.login("ben") as ben:
        ben.says("echo secret >/tmp/bens; echo secret >~/bens")
        if request.param == "run":
            return in_a_run(guest, LOOK, "alice")
        with guest.login("alice") as alice:
            return json.loads(alice.python(LOOK))


def test_a_participant_has_no_rights_and_sees_no_others(guest, looks):
    assert looks["rights"] == RIGHTS
    assert set(looks["uids"]) == {looks["me"]} or set(looks["uids"]) == {0, looks["me"]}, looks
    assert looks["count"] < 8
    assert looks["tmp"] == ["mine"] and looks["homes"] == ["alice"]
    assert not looks["root"] and not looks["run"]
    # In a cgroup namespace of its own: its place on the host is not told.
    assert looks["cgroup"].endswith(":/") or "atelier.slice" not in looks["cgroup"], looks
    control = as_root(guest, LOOK)
    assert control["rights"]["CapEff"] != "0" * 16 and control["rights"]["Seccomp"] == "0"
    assert control["count"] > 30 and control["root"] and control["run"]
    assert {"alice", "ben"} <= set(control["homes"])
    guest.sh("rm -f /tmp/mine")


@inside
def groups_of(user):
    """Where the host has the processes of a session and a run, and what limits them."""
    live = lab.sleeper(user=user)
    try:
        facts = lab.session_of(user)
        run_pid, shell = live.find("start")[0]["pid"], facts["init_pid"]
        found = {"run": live.find("accepted")[0]["run"], "session": facts["id"],
                 "uid": lab.uid_of(user)}
        for name, pid in (("run", run_pid), ("session", shell), ("monitor", facts["pid"])):
            path = tools.cgroup_of(pid)
            top = pathlib.Path("/sys/fs/cgroup" + path)
            found[f"{name}_path"] = path
            found[f"{name}_limits"] = {
                file: (top / file).read_text().strip() for file in
                ("memory.max", "memory.swap.max", "pids.max", "cpu.max", "memory.oom.group")}
        user_group = tools.HOLDER / f"u{found['uid']}"
        found["user_limits"] = {file: (user_group / file).read_text().strip()
                                for file in ("memory.max", "pids.max", "cpu.weight")}
        found["receipt"] = live.receipt.get("cgroup")
        return found
    finally:
        live.close()


def test_runs_and_sessions_are_in_groups_of_their_own(guest):
    with guest.login("alice"):
        found = groups_of(guest, "alice")
    top = f"/atelier.slice/atelier-holder.service/u{found['uid']}"
    assert found["run_path"] == f"{top}/run-{found['run']}"
    assert found["session_path"] == found["monitor_path"] == f"{top}/session-{found['session']}"
    for name, oom_group in (("run", "1"), ("session", "0")):
        limits = found[f"{name}_limits"]
        assert limits["memory.oom.group"] == oom_group
        assert limits["pids.max"] != "max", limits
    assert found["run_limits"]["memory.max"] != "max"
    assert found["run_limits"]["memory.swap.max"] == "0"
    assert found["user_limits"]["memory.max"] != "max"
    assert found["user_limits"]["pids.max"] != "max"
    assert found["receipt"]["mode"] == "v2", found
    # Root's own shell is in none of them.
    assert "atelier" not in guest.said("cat /proc/self/cgroup")


@inside
def groups_left():
    return lab.eventually(lambda: not tools.groups_below(), 20)


def test_groups_go_with_their_last_process(guest):
    with guest.login("alice"):
        assert "session-" in guest.said("ls /sys/fs/cgroup/atelier.slice/atelier-holder.service/u*")
    assert groups_left(guest)
