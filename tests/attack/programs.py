# SPDX-License-Identifier: ISC
# programs.py - the attacks, one function a row: what somebody with a participant's uid would try.
#
# programs.py NAME [ARGUMENT...]: prints "through" and what was got, or "stopped" and the reason: the
# name of an errno, or what was got instead. It knows nothing of where it runs: rows.py starts it in
# a run, in a session, and as a plain process of the same uid.
import ctypes
import errno
import glob
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
MIB = 1 << 20
TCP, UDP = 7777, 7778
# x86-64; rows.py skips those that need one elsewhere.
SYS_IOCTL, SYS_SOCKET, SYS_PERSONALITY, SYS_GETPID, SYS_CLONE3 = 16, 41, 135, 39, 435
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
HIGH_BIT = 1 << 32
X32_BIT = 0x40000000


class Stopped(Exception):
    """It was refused by something else than an errno."""


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def call(*args):
    """By number, so that no library stands between."""
    libc.syscall.restype = ctypes.c_long
    return checked(libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args]))


def ask(address, port=TCP, kind=socket.SOCK_STREAM, before=lambda sock: None):
    """What somebody who listens there answers."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, kind) as sock:
        before(sock)
        sock.settimeout(2)
        sock.connect((address, int(port)))
        if kind == socket.SOCK_DGRAM:
            sock.send(b"?")
        return sock.recv(200).decode().strip() or "closed"


# ---- N: network

def tcp(address, port=TCP):
    return ask(address, port)


def udp(address, port=UDP):
    return ask(address, port, socket.SOCK_DGRAM)


def reach(*targets):
    """Many at once, KIND:ADDRESS, as JSON: what came back, or "sent" where nobody answers."""
    got = {}
    for target in targets:
        kind, address = target.split(":", 1)
        try:
            got[target] = tcp(address) if kind == "tcp" else send(address)
        except OSError as error:
            got[target] = "stopped " + errno.errorcode.get(error.errno, str(error))
    return json.dumps(got)


def send(address):
    """To many at once."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(b"?", socket.getaddrinfo(address, UDP, family)[0][4])
    return "sent"


def taken_over(source, address):
    """N31: the flow that root had from this port."""
    host, port = source.rsplit(":", 1)
    return ask(address, UDP, socket.SOCK_DGRAM, lambda sock: sock.bind((host, int(port))))


def bound_to_device(address, device):
    """N42 of sandbox.md: leave by a device of one's own choice."""
    return ask(address, before=lambda sock: sock.setsockopt(
        socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode()))


def foreign_source(address):
    """And from an address that is nobody's."""
    def bind(sock):
        sock.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
        sock.bind(("203.0.113.5", 0))
    return ask(address, before=bind)


def families():
    """N20: the families of which a socket can be had, all that there are."""
    got = set()
    for family in range(64):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            fd = libc.socket(family, kind, 0)
            if fd >= 0:
                got.add(family)
                os.close(fd)
    return ",".join(str(family) for family in sorted(got))


def netlink():
    """N19: the protocols of netlink that open; 0 is what getaddrinfo(3) sorts addresses by."""
    got = []
    for protocol in range(32):
        fd = libc.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        if fd >= 0:
            got.append(protocol)
            os.close(fd)
    return ",".join(str(protocol) for protocol in got)


def mapped_to_other_id(helper):
    """N23: newuidmap(1) gives a subordinate uid, which is in no rule's range, and it connects."""
    begun, go = os.pipe(), os.pipe()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        word = "!"
        try:
            checked(libc.unshare(CLONE_NEWUSER))
            os.write(begun[1], b"1")
            os.read(go[0], 1)
            os.setresuid(1, 1, 1)
            word = ask("127.0.0.1")
        except OSError as error:
            word = "!" + errno.errorcode.get(error.errno, str(error))
        os.write(write, word.encode())
        os._exit(0)
    os.close(begun[1])
    if os.read(begun[0], 1):
        if os.fork() == 0:
            os.execv(helper, [helper, "-I", sys.argv[0], "write_map", str(pid)])
        os.wait()
        os.write(go[1], b"1")
    os.close(write)
    with os.fdopen(read) as pipe:
        word = pipe.read()
    if word.startswith("!"):
        raise Stopped(word[1:])
    return word


def write_map(pid):
    """The set-uid part of it."""
    os.setresuid(0, 0, 0)
    with open(f"/proc/{pid}/uid_map", "w", encoding="ascii") as uid_map:
        uid_map.write("1 100000 1000")
    sys.exit(0)


def raised(what):
    """N25, N26: what a set-gid program, or one with file capabilities, has gained."""
    if what == "gid":
        if os.getegid() == os.getgid():
            raise Stopped("own gid")
        return f"gid {os.getegid()}"
    with open("/proc/self/status", encoding="ascii") as status:
        caps = next(line.split()[1] for line in status if line.startswith("CapEff"))
    if int(caps, 16) == 0:
        raise Stopped("no capability")
    libc.close(checked(libc.socket(socket.AF_INET, socket.SOCK_RAW, 255)))
    return f"capabilities {caps}"


def name_service():
    """N40: nscd's socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("/run/nscd/socket")
        return sock.recv(100).decode()


# ---- I: what reaches others without any network

def abstract(name):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(b"\0" + name.encode())
        return sock.recv(100).decode()


def path_socket(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        return sock.recv(100).decode()


def shared_memory(key):
    """I3: System V, by number."""
    libc.shmat.restype = ctypes.c_void_p
    segment = checked(libc.shmget(int(key, 16), 0, 0))
    address = libc.shmat(segment, None, 0)
    return ctypes.string_at(address).decode()


def message_queue(name):
    """I4: POSIX."""
    queue = checked(ctypes.CDLL("librt.so.1", use_errno=True).mq_open(name.encode(), os.O_RDONLY))
    return f"queue {queue}"


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return file.read(100).strip()


def lease():
    """I8: whoever opens the file waits for us."""
    import fcntl
    path = f"/tmp/lease-{os.getpid()}"
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        return "lease"
    finally:
        os.unlink(path)


def watched_directory():
    import fcntl
    fcntl.fcntl(os.open("/usr", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    return "watched"


def user_key(verb):
    """I6: a keyring is of the uid, not of the run."""
    if verb == "put":
        call(248, b"user", b"attack", b"hello", 5, -4)
        return "put"
    if verb == "clear":
        call(250, 7, -4)
        return "cleared"
    call(250, 8, -4, -2)  # where the session has a keyring of its own, that of the uid is not in it
    key = call(250, 10, -4, b"user", b"attack", 0)
    data = ctypes.create_string_buffer(32)
    call(250, 11, key, data, 32)
    return data.value.decode()


# ---- P, R: processes and resources

def threads():
    """K2: threads, fork and clone3, of which glibc takes the first that is not ENOSYS."""
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    thread.join()
    if os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] or not done:
        return "broken"
    try:
        call(SYS_CLONE3, 0, 0)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise Stopped("ENOSYS, and threads work") from None
        return f"clone3 was looked at: {errno.errorcode[error.errno]}"
    return "clone3"


def lock_memory():
    """K8: 64 KiB are everybody's."""
    size = MIB
    memory = mmap.mmap(-1, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    checked(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)))
    return "locked"


def fill(directory, mib):
    """R3, R5: one block after the other."""
    path = f"{directory}/fill-{os.getpid()}"
    done = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while done < int(mib):
                os.posix_fallocate(file.fileno(), done * MIB, MIB)
                done += 1
    finally:
        os.unlink(path)
    return f"{done} MiB"


def many_files(directory, count):
    """R4: inodes."""
    base = f"{directory}/many-{os.getpid()}"
    os.mkdir(base)
    made = 0
    try:
        for made in range(int(count)):
            os.close(os.open(f"{base}/{made}", os.O_CREAT | os.O_WRONLY, 0o600))
    finally:
        for number in range(made):
            os.unlink(f"{base}/{number}")
    return f"{made + 1} files"


def many_descriptors(count):
    """R13."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for _ in range(int(count)):
        os.dup(0)
    return count


def many_terminals(count):
    """T6."""
    held = [os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY) for _ in range(int(count))]
    return f"{len(held)} terminals"


def many_inotify():
    """R12: a number per uid, which others of the uid miss; then it stays for a while."""
    held = []
    try:
        while True:
            held.append(checked(libc.inotify_init()))
    except OSError:
        print(f"through {len(held)}", flush=True)
    time.sleep(60)
    return "end"


def many_children(count):
    """P9: says how many it has made, and keeps them until it is ended or its input is."""
    made = []
    try:
        while len(made) < int(count):
            pid = os.fork()
            if pid == 0:
                signal.pause()
            made.append(pid)
    except OSError:
        pass
    print("through" if len(made) == int(count) else "stopped", len(made), flush=True)
    time.sleep(0.5)
    for pid in made:
        os.kill(pid, signal.SIGKILL)
    sys.exit(0)


def serve(address, port):
    """N37, N38: a service of one's own, where another is expected."""
    with socket.create_server((address, int(port))) as server:
        print("through", flush=True)
        while True:
            server.accept()[0].sendall(b"false service")


def hold_locks(*paths):
    """I8: whoever can read a file can lock it; held until somebody ends us."""
    import fcntl
    held = []
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.append(fd)
    print("through", len(held), flush=True)
    time.sleep(60)


def type_into_terminal():
    """T1: what root is asked to type next, on whatever of ours is a terminal."""
    fds = [fd for fd in (0, 1, 2) if os.isatty(fd)]
    try:
        fds.append(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        pass
    if not fds:
        raise Stopped("no terminal")
    for char in b"#typed":
        call(SYS_IOCTL, fds[-1], 0x5412, bytes([char]))  # TIOCSTI
    return "typed"


# ---- F: files

def arguments_of_others(secret):
    """F21."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        if path == f"/proc/{os.getpid()}/cmdline":
            continue
        try:
            with open(path, "rb") as file:
                if secret[::-1].encode() in file.read():
                    return path
        except OSError:
            pass
    raise Stopped("not found")


def proc_opens(how):
    """Names of /proc, processes aside, below which something can be opened: to "read" or "write"."""
    flags = {"read": os.O_RDONLY, "write": os.O_WRONLY}[how] | os.O_NONBLOCK | os.O_NOCTTY
    opened = set()
    for top in os.listdir("/proc"):
        # Links lead to processes.
        if top.isdecimal() or os.path.islink(f"/proc/{top}"):
            continue
        found = [f"/proc/{top}"]
        for path, _, files in os.walk(f"/proc/{top}"):
            found += [os.path.join(path, name) for name in files]
            if path != f"/proc/{top}" or os.listdir(path):
                opened.update([top] if how == "read" else [])
        for path in found:
            try:
                os.close(os.open(path, flags))
            except OSError:
                continue
            opened.add(top)
    return ",".join(sorted(opened)) or "nothing"


def fill_all():
    """Every file system that can be written to and is no disk, to its last byte and name."""
    home, said = os.environ["HOME"], []
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        kinds = {path: kind for _, path, kind, *_ in map(str.split, mounts)}
    # Of a run it is a directory of the file system at /home; of a session, the user's, on a disk.
    places = [path for path, kind in kinds.items() if kind == "tmpfs"]
    for path in sorted(places + ([] if home in kinds else [home])):
        if os.access(path, os.W_OK):
            mib, names = fill_to_the_end(path)
            said.append(f"{path.replace(home, '~')} {mib} {names}")
    return "; ".join(said)


def fill_to_the_end(path):
    """How many MiB there is room for, and then how many names."""
    mib = names = 0
    try:
        with open(f"{path}/fill", "wb", buffering=0) as file:
            while True:
                mib += file.write(bytes(MIB)) / MIB
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    try:
        while True:
            os.close(os.open(f"{path}/{names}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            names += 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    return round(mib), names


def mounts_with(word):
    """F4."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            if word in line:
                return line.strip()
    raise Stopped("not found")


def wait_for(path):
    """F3: something that the host mounts later; says when it begins to look."""
    print("up", flush=True)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        if os.path.exists(path):
            return path
        time.sleep(0.01)
    raise Stopped("not found")


def write_file(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("attacked\n")
    return path


def hard_link(source, directory):
    """F11: a file of another's, under a name of one's own."""
    name = f"{directory}/link-{os.getpid()}"
    os.link(source, name)
    os.unlink(name)
    return "linked"


# ---- K: the kernel's surface

def high_bits(what):
    """K5: the kernel looks at 32 bits; who compares 64 sees another number."""
    if what == "unix":
        os.close(call(SYS_SOCKET, socket.AF_UNIX | HIGH_BIT, socket.SOCK_STREAM, 0))
    elif what == "sock-diag":
        os.close(call(SYS_SOCKET, socket.AF_NETLINK, socket.SOCK_RAW, 4 | HIGH_BIT))
    elif what == "personality":
        call(SYS_PERSONALITY, 0x40000 | HIGH_BIT)
    return what


def entry(which):
    """K3, K4: the same calls by another entry, in code of our own."""
    if which == "x32":
        return f"pid {call(SYS_GETPID | X32_BIT)}"
    # mov eax, 20 (getpid of i386); int 0x80; cdqe; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8" + struct.pack("<I", 20) + b"\xcd\x80\x48\x98\xc3")
    function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    result = function()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return f"pid {result}"


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    name, args = sys.argv[1], sys.argv[2:]
    try:
        print("through", globals()[name](*args))
    except Stopped as stopped:
        print("stopped", stopped)
    except OSError as error:
        print("stopped", errno.errorcode.get(error.errno, str(error)))


if __name__ == "__main__":
    main()
