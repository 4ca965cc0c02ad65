# SPDX-License-Identifier: ISC
# rows.py - the rows of doc/threats.md that one program can try by itself, as a table.
#
# Three patterns for what the program says (programs.py): in a run, in a session, and as a plain
# process of the same uid, which is the positive control: without it "stopped" proves nothing. What
# integration tests show with their own control is not here again: ROWS says where every row is.
import collections
import platform

import where

Row = collections.namedtuple("Row", "id attack run session plain python needs")
REFUSED = r"stopped (EPERM|EACCES|ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|ENETUNREACH|ECONNREFUSED)"
ABSENT = r"stopped (ENOENT|EAFNOSUPPORT|EPERM)"
THROUGH = r"through .+"
SET_UID, SET_GID, CAPABLE = "lab-set-uid", "lab-set-gid", "lab-capable"
RULES_OUT = "rules out"  # the plain process is tried while the rules are away
AMD64 = "amd64"
SCOPED = "scoped"  # Landlock from ABI 6 on
ABSTRACT, SOCKET, FAR_SOCKET = "lab-attack", "/var/lib/lab-attack/socket", "/run/nscd/socket"
NEAR_SOCKET = "/usr/local/lib/lab-attack-socket"  # in what runs and sessions see of the host
KEY, QUEUE, SHM = "0x4c414221", "/lab-attack", "/dev/shm/lab-attack"
SECRET = "correct-horse-battery"


def row(ident, *attack, run=REFUSED, session=None, plain=THROUGH, python=None, needs=()):
    """@session: None if it is to say the same as the run."""
    return Row(ident, attack, run, run if session is None else session, plain, python, needs)


ROWS = [
    # ---- network
    row("N19", "netlink", run="through 0", plain=r"through 0,(\d+,)*4(,\d+)*"),
    row("N20", "families", run="through 2,10,16", session="through 1,2,10,16",
        plain=r"through 1,2,10,16,.*\d+"),
    row("N23", "mapped_to_other_id", f"/usr/local/bin/{SET_UID}", plain="through host 127.0.0.1"),
    row("N25", "raised", "gid", run="stopped own gid", python=SET_GID),
    row("N26", "raised", "capabilities", run="stopped no capability", python=CAPABLE),
    row("N40", "name_service", run=ABSENT, plain="through nscd"),
    row("N43", "bound_to_device", "10.9.0.2", "lab0", plain="through world 10.9.0.2",
        needs=(RULES_OUT,)),
    row("N43", "foreign_source", "10.9.0.2", plain="through world 10.9.0.2", needs=(RULES_OUT,)),
    row("N43", "bound_to_device", "127.0.0.1", "lo", plain="through host 127.0.0.1",
        needs=(RULES_OUT,)),

    # ---- what reaches others without a network
    row("I1", "abstract", ABSTRACT, plain="through secret", needs=(SCOPED,)),
    row("I2", "path_socket", SOCKET, run=ABSENT, plain="through secret"),
    # Said in doc/threats.md, N28: a session reaches it.
    row("I2", "path_socket", NEAR_SOCKET, session="through secret", plain="through secret"),
    row("I3", "shared_memory", KEY, run=ABSENT, plain="through secret"),
    row("I4", "message_queue", QUEUE, run=ABSENT),
    row("I5", "read_file", SHM, run=ABSENT, plain="through secret"),
    row("I6", "user_key", "put"),
    row("I6", "user_key", "get", plain="through hello"),
    row("I8", "lease"),
    row("I8", "watched_directory"),

    # ---- processes, terminals, resources
    row("T6", "many_terminals", "20", run="stopped ENOENT", session="stopped (ENOSPC|ENOENT|EIO)",
        plain="through 20 terminals"),
    row("R3", "fill", "/var/tmp", "70", run="stopped ENOSPC", plain="through 70 MiB"),
    row("R3", "fill", "/dev/shm", "70", run="stopped ENOSPC", plain="through 70 MiB"),
    row("R3", "fill", "/tmp", "300", run="stopped ENOSPC", plain="through 300 MiB"),
    row("R4", "many_files", "/var/tmp", "17000", run="stopped ENOSPC", plain="through 17000 files"),
    row("R4", "many_files", "/dev/shm", "5000", run="stopped ENOSPC", plain="through 5000 files"),
    row("R13", "many_descriptors", "4200", run="stopped EMFILE", plain="through 4200"),

    # ---- files
    row("F21", "arguments_of_others", SECRET[::-1], run="stopped not found", plain="through /proc/.*"),

    # ---- the kernel's surface
    row("K2", "threads", run="stopped ENOSYS, and threads work", plain="through clone3 .*EINVAL"),
    row("K3", "entry", "i386", plain=r"through pid \d+", needs=(AMD64,)),
    row("K4", "entry", "x32", plain=r"through pid \d+", needs=(AMD64,)),
    row("K5", "high_bits", "unix", session=THROUGH, needs=(AMD64,)),
    row("K5", "high_bits", "sock-diag", needs=(AMD64,)),
    row("K5", "high_bits", "personality", needs=(AMD64,)),
    row("K8", "lock_memory", run="stopped (ENOMEM|EPERM|EAGAIN)"),
]


def name_of(each):
    words = [word.rsplit("/", 1)[-1] for word in each.attack if word not in (SECRET[::-1], KEY)]
    return "-".join((each.id, *words))


def python_of(each):
    return f"/usr/local/bin/{each.python}" if each.python else where.lab.PYTHON


def is_amd64():
    return platform.machine() == "x86_64"
