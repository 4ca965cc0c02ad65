# SPDX-License-Identifier: ISC
# root.py - the lab's root: an overlay over / whose upper side is a fresh tmpfs, and what hangs in it.
#
# Order, and why: (1) leave a chroot, make every mount private: only the namespace's real root covers
# all mounts, and the final umount of the old root would otherwise travel to the machine by
# propagation; (2) open the trees to be shown, because (3) the tmpfs hides what is below /mnt;
# (4) overlay and kernel file systems; (5) pivot_root at the namespace's real root, so that the old
# root is gone for setns() and for chroot escapes too.
import os
import re
import stat

import linux
from linux import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_REC

SCRATCH = "/mnt"  # exists on every Debian host (FHS), so that no directory is left behind
NEW_ROOT = SCRATCH + "/root"
# Mounts of their own on many hosts; a lab without them would not be a complete host.
HOST_TREES = ("/usr", "/var", "/home", "/opt", "/srv", "/root")
# name, major, minor: Documentation/admin-guide/devices.txt of the kernel
DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9),
           ("tty", 5, 0))
DEV_LINKS = (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
             ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2"), ("core", "/proc/kcore"))


def mount_points():
    """Every mount point below our root. Blanks are octal escapes: proc_pid_mountinfo(5)."""
    with open("/proc/self/mountinfo", "rb") as lines:
        return {os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]),
                                   line.split()[4])) for line in lines}


def mount_point_of(path, points):
    """The mount point that holds @path, "/" if it is on the root."""
    while path != "/" and path not in points:
        path = os.path.dirname(path)
    return path


def own_trees(wanted):
    """Mounts that the overlay over / does not show, but the lab needs, outer ones first."""
    points = mount_points()
    trees = {tree for tree in HOST_TREES if tree in points}
    trees |= {mount_point_of(path, points) for path in wanted} - {"/"}
    return sorted(trees)


def isolate_mounts():
    """Make all mounts of the (already unshared) namespace private; our root and cwd stay."""
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    linux.enter_own_mount_namespace()
    linux.mount(None, "/", None, MS_REC | MS_PRIVATE)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def mount_overlay(lower_fd, target, number):
    """A private, writable view of the tree behind @lower_fd (by descriptor: names need no escaping)."""
    lower = f"/proc/self/fd/{lower_fd}"
    upper, work = f"{SCRATCH}/upper{number}", f"{SCRATCH}/work{number}"
    os.mkdir(upper)
    os.mkdir(work)
    st = os.stat(lower)
    os.chown(upper, st.st_uid, st.st_gid)
    os.chmod(upper, stat.S_IMODE(st.st_mode))
    try:
        linux.mount("lab", target, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} (the kernel stacks two overlays at most: "
                      "a lab nests once)", error.filename) from error


def make_dev(dev):
    linux.mount("dev", dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=4m")
    for name, major, minor in DEVICES:
        os.mknod(f"{dev}/{name}", stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(f"{dev}/{name}", 0o666)
    for name, target in DEV_LINKS:
        os.symlink(target, f"{dev}/{name}")
    os.mkdir(f"{dev}/pts")
    os.mkdir(f"{dev}/shm")
    linux.mount("devpts", f"{dev}/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,gid=5,mode=0620,ptmxmode=0666")
    linux.mount("shm", f"{dev}/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def make_run(run):
    linux.mount("run", run, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")
    os.mkdir(f"{run}/lab", 0o755)
    os.mkdir(f"{run}/user", 0o755)
    os.mkdir(f"{run}/lock")
    os.chmod(f"{run}/lock", 0o1777)


def enter(wanted):
    """Build the lab's root and make it ours; @wanted: paths that must be visible in it."""
    isolate_mounts()
    trees = [(tree, os.open(tree, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
             for tree in ["/"] + own_trees(wanted)]
    linux.mount("lab", SCRATCH, "tmpfs", 0, "mode=0755")
    os.mkdir(NEW_ROOT)
    kernel = MS_NOSUID | MS_NODEV | MS_NOEXEC
    for number, (tree, fd) in enumerate(trees):
        target = NEW_ROOT + tree.rstrip("/")
        os.makedirs(target, exist_ok=True)
        mount_overlay(fd, target, number)
        os.close(fd)
        if tree == "/":
            linux.mount("proc", NEW_ROOT + "/proc", "proc", kernel)
            linux.mount("sysfs", NEW_ROOT + "/sys", "sysfs", kernel)
            make_dev(NEW_ROOT + "/dev")
            make_run(NEW_ROOT + "/run")
    if os.path.ismount("/sys/fs/cgroup"):
        linux.mount("/sys/fs/cgroup", NEW_ROOT + "/sys/fs/cgroup", None, MS_BIND | MS_REC)

    new = os.open(NEW_ROOT, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    linux.enter_own_mount_namespace()
    os.fchdir(new)
    os.close(new)
    linux.pivot_root(".", ".")
    linux.umount_detach(".")
    os.chdir("/")
