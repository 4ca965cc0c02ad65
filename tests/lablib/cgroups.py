# SPDX-License-Identifier: ISC
# cgroups.py - control groups of a lab's own, below which its sessiond makes its groups.
#
# Version 2 where the root gives memory, pids and cpu to its children, as under systemd: one group at
# the root. Else version 1: one group for each controller, in the group that the lab was started in,
# and one of a version 2 tree without controllers where that is mounted.
# No group that exists is written to, and nothing is moved; new groups have a name of their own.
#
# They are removed by a process that waits for the end of a pipe, whose other end only the lab's
# outer process holds: so they go whatever happens to it. Everything that was in them has died by
# then, with the lab's PID 1, or does so at that moment.
import os
import signal
import time

CONTROLLERS = ("memory", "pids", "cpu")
COUNTER = "cpuacct"  # of version 1, of processor time
EMPTY_WITHIN_S = 15


class CgroupError(Exception):
    """There is no place for control groups; the text says why."""


def mounts():
    """(file system, options, root in it, mount point): proc_pid_mountinfo(5)."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            before, after = line.split(" - ", 1)
            fields, rest = before.split(), after.split()
            if rest[0] in ("cgroup", "cgroup2"):
                yield rest[0], rest[2].split(","), fields[3], fields[4]


def own_group(controller):
    with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            _, names, path = line.rstrip("\n").split(":", 2)
            if controller in names.split(","):
                return path
    return None


def group_path(point, top, controller):
    """The group of this process in a mounted tree."""
    return point + os.path.join("/", os.path.relpath(own_group(controller), top)).rstrip("/")


def words(path):
    try:
        with open(path, encoding="utf-8") as text:
            return text.read().split()
    except OSError:
        return []


def places():
    """{option of sessiond: existing directory} of the version that can be used."""
    found, lite = {}, {}
    for kind, options, top, point in mounts():
        if kind == "cgroup2" and set(CONTROLLERS) <= set(words(f"{point}/cgroup.subtree_control")):
            return {"--cgroup=": point}
        if kind == "cgroup2" and own_group("") is not None:
            lite = {"--cgroup-lite=": group_path(point, top, "")}
        for controller in (*CONTROLLERS, COUNTER):
            own = own_group(controller)
            if controller == COUNTER and "cpu" in options:
                continue  # one tree: cpu is enough
            if kind == "cgroup" and controller in options and own is not None:
                path = group_path(point, top, controller)
                if os.path.isdir(path):
                    found[f"--cgroup-v1={controller}="] = path
    if len(found.keys() - {f"--cgroup-v1={COUNTER}="}) != len(CONTROLLERS):
        raise CgroupError("the machine has no memory, pids and cpu controllers to use")
    return found | {option: path for option, path in lite.items() if os.path.isdir(path)}


def remove_below(path):
    """Leaves first. False while somebody is in one of them."""
    gone = True
    for directory, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            pass
        except OSError:
            gone = False
    return gone


def wait_and_remove(pipe, groups):
    """The janitor: never returns."""
    code = 0
    try:
        os.setsid()
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)
        os.read(pipe, 1)
        deadline = time.monotonic() + EMPTY_WITHIN_S
        left = list(groups)
        while left and time.monotonic() < deadline:
            left = [path for path in left if not remove_below(path)]
            time.sleep(0.02 if left else 0)
        for path in left:
            os.write(2, f"lab: {path} could not be removed\n".encode())
            code = 1
    finally:
        os._exit(code)


class Cgroups:
    """Groups of one lab. Make it before the lab has a PID namespace; close() removes them."""

    def __init__(self):
        name = f"atelier-lab-{os.getpid()}-{os.urandom(4).hex()}"
        wanted = {option: f"{place}/{name}" for option, place in places().items()}
        self.options = [option + path for option, path in wanted.items()]
        pipe, self.alive = os.pipe()
        self.janitor = os.fork()
        if self.janitor == 0:
            # Nothing of the lab's: with the lock of the stage no other lab would start meanwhile.
            os.closerange(3, pipe)
            os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
            wait_and_remove(pipe, wanted.values())
        os.close(pipe)
        for path in wanted.values():
            os.mkdir(path)

    def forget(self):
        """In the lab itself: only the outer process stands for its life."""
        os.close(self.alive)

    def close(self):
        os.close(self.alive)
        return os.waitpid(self.janitor, 0)[1]


if __name__ == "__main__":  # is there a place? Exit code 0, or 1 and why not
    try:
        places()
    except (OSError, CgroupError) as why_not:
        raise SystemExit(f"cgroups: {why_not}") from None
