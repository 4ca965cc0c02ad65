# SPDX-License-Identifier: ISC
# tools.py - in the machine: what the tests know of a host with systemd and cgroup v2.
import os
import pathlib
import pwd
import socket
import subprocess

import lab

HOLDER = pathlib.Path("/sys/fs/cgroup/atelier.slice/atelier-holder.service")
HERE = pathlib.Path(__file__).resolve().parent
# The world is a network namespace, which has the role of the Internet: a guest reaches nothing else.
HOST, WORLD = ("198.51.100.1", "2001:db8:1::1"), ("198.51.100.2", "2001:db8:1::2")
UNITS = ("atelier-holder.service", "sessiond.service", "sessiond-api.service",
         "atelier-sshd.service")


def sh(script, check=True, timeout=120):
    """A shell script, as root."""
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    assert not check or done.returncode == 0, (script, done.returncode, done.stdout, done.stderr)
    return done


def show(unit, name):
    """A property of a unit."""
    return sh(f"systemctl show --value -p {name} {unit}").stdout.strip()


def main_pids():
    # A block for each unit, an empty line between them; in their order.
    blocks = sh(f"systemctl show -p MainPID {' '.join(UNITS)}").stdout.split()
    return {unit: int(line.partition("=")[2]) for unit, line in zip(UNITS, blocks)}


def is_well():
    """Everything runs and knows each other. (A unit is active when its daemon has said so.)"""
    # Not by is-active, which is content with one of several.
    return lab.is_well() and all(show(unit, "ActiveState") == "active" for unit in UNITS)


def accounts_make():
    """A caller of the API, as `lab` names it, and a user of the host's own, who has a shell."""
    for name, uid in (("apiuser", lab.CALLER), ("apiuser2", lab.STRANGER)):
        try:
            assert pwd.getpwnam(name).pw_uid == uid
        except KeyError:
            sh(f"useradd --system --uid {uid} --groups atelier-api --home-dir /nonexistent "
               f"--shell /usr/sbin/nologin {name}")
    sh("id -u hosty >/dev/null 2>&1 || useradd -m -s /bin/bash hosty")
    answer = lab.api("POST", "/v1/callers", {
        "uid": lab.CALLER, "groups": [lab.ALL_USERS], "verbs": ["users", "runs", "net-public"]})
    assert answer.status == 200, answer


def world_make():
    """A veth to a world of our own, with an answerer (TCP 7777, UDP 7778) on each side."""
    if os.path.exists("/run/netns/world"):
        return
    sh("ip netns add world && ip link add world0 type veth peer name eth0 netns world && "
       "ip link set lo up && ip link set world0 up && "
       "ip addr add 198.51.100.1/24 dev world0 && "
       "ip addr add 2001:db8:1::1/64 dev world0 nodad && "
       "ip -n world link set lo up && ip -n world link set eth0 up && "
       "ip -n world addr add 198.51.100.2/24 dev eth0 && "
       "ip -n world addr add 2001:db8:1::2/64 dev eth0 nodad")
    listen = " ".join(("127.0.0.1", "::1", "10.0.2.15", *HOST))
    sh(f"systemd-run -q --unit=answer-host {HERE}/answer.py host {listen}")
    sh(f"systemd-run -q --unit=answer-world -p NetworkNamespacePath=/run/netns/world "
       f"{HERE}/answer.py world {' '.join(WORLD)}")
    lab.eventually(lambda: ask(HOST[0]) and ask(WORLD[1]), 30)


def ask(address, port=7777):
    """What root gets from an answerer; None if it does not answer."""
    try:
        with socket.create_connection((address, port), 5) as link:
            return link.recv(100).decode().strip()
    except OSError:
        return None


def own_processes(user):
    """What the host sees of a user, by the host's own ps(1)."""
    lines = sh(f"ps -u {user} -o pid=,comm=", check=False).stdout.splitlines()
    return {int(line.split()[0]): line.split()[1] for line in lines}


def cgroup_of(pid):
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::")


def groups_below():
    """Every cgroup of a user, run or session that there is; not that of the canary's probe."""
    # os.walk() passes over what goes meanwhile; pathlib's glob() of Python 3.11 fails there.
    found = (os.path.relpath(path, HOLDER) for path, _, _ in os.walk(HOLDER))
    return sorted(path for path in found if path.startswith("u")
                  and int(path.split("/")[0][1:]) <= lab.ID_ALLOC_MAX)


def status_of(pid):
    """What /proc/PID/status says of rights."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {name: fields[name].strip() for name in (
        "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")}


def file_write(path, text, mode=0o644, owner=0):
    path = pathlib.Path(path)
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, owner, owner)
