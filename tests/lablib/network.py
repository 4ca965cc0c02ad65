# SPDX-License-Identifier: ISC
# network.py - the lab's two network namespaces, their addresses and what answers on them.
import os
import signal
import subprocess
import sys
import time

import linux
import probe

LIB = os.path.dirname(os.path.abspath(__file__))
HOST_DEV, WORLD_DEV = "lab0", "world0"
# RFC 5737 and RFC 3849 documentation networks play the Internet.
HOST = (("lo", "127.0.0.1/8"), ("lo", "::1/128"), ("lo", "203.0.113.5/32"),
        (HOST_DEV, "198.51.100.1/24"), (HOST_DEV, "10.9.0.1/24"),
        (HOST_DEV, "2001:db8:1::1/64"), (HOST_DEV, "fd00:9::1/64"))
WORLD = ((WORLD_DEV, "198.51.100.2/24"), (WORLD_DEV, "10.9.0.2/24"), (WORLD_DEV, "172.16.9.2/32"),
         (WORLD_DEV, "192.168.9.2/32"), (WORLD_DEV, "169.254.169.254/32"),
         (WORLD_DEV, "100.64.0.1/32"), (WORLD_DEV, "2001:db8:1::2/64"), (WORLD_DEV, "fd00:9::2/64"))
REACHABLE_WITHIN_S = 10


def plain(table):
    return [address.split("/")[0] for _, address in table]


def start_world():
    """A process that only holds the "world" network namespace. Returns its pid."""
    ready_read, ready_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            linux.unshare(linux.CLONE_NEWNET)
            os.write(ready_write, b"1")
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.execv("/bin/sleep", ["lab-world", "infinity"])
        except OSError as error:
            print(f"lab: world: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os.close(ready_write)
    if os.read(ready_read, 1) != b"1":
        raise OSError(5, "no network namespace for the world")
    os.close(ready_read)
    return pid


def in_world(world):
    return ["nsenter", f"--net=/proc/{world}/ns/net", "--"]


def ip_batch(prefix, lines):
    subprocess.run(prefix + ["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                   check=True, stdout=subprocess.DEVNULL)


def side_lines(table, device):
    lines = ["link set lo up", f"link set {device} up"]
    for dev, address in table:
        lines.append(f"addr replace {address} dev {dev}{' nodad' if ':' in address else ''}")
    return lines


def sysctls(prefix):
    """The machine's defaults may be inherited: IPv6 on, no router discovery, no forwarding."""
    script = """cd /proc/sys/net
test -d ipv6/conf || { echo "lab: this kernel has no IPv6, which the lab needs" >&2; exit 1; }
for dir in ipv6/conf/*; do
    echo 0 >"$dir/disable_ipv6"
    echo 0 >"$dir/accept_ra"
    echo 0 >"$dir/forwarding"
done
echo 0 >ipv4/ip_forward
for dir in ipv4/conf/*; do echo 0 >"$dir/rp_filter"; done"""
    subprocess.run(prefix + ["sh", "-euc", script], check=True)


def up(world):
    """Links, addresses and routes of both sides."""
    ip_batch([], [f"link add name {HOST_DEV} type veth peer name {WORLD_DEV} netns {world}"])
    sysctls([])
    sysctls(in_world(world))
    ip_batch([], side_lines(HOST, HOST_DEV))
    ip_batch(in_world(world), side_lines(WORLD, WORLD_DEV) + [
        "route add 203.0.113.5/32 via 198.51.100.1"])
    ip_batch([], ["route add default via 198.51.100.2", "route add default via 2001:db8:1::2"])


def start_answerers(world):
    for prefix, side, table in (([], "host", HOST), (in_world(world), "world", WORLD)):
        with open(f"/run/lab/answer-{side}.log", "ab") as log:
            subprocess.Popen(prefix + ["/usr/bin/python3", "-IB", f"{LIB}/answer.py", side] +
                             plain(table), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             start_new_session=True)


def wait_reachable():
    """Positive control: root reaches every address, or the lab does not start."""
    deadline = time.monotonic() + REACHABLE_WITHIN_S
    for side, table in (("host", HOST), ("world", WORLD)):
        for address in plain(table):
            for protocol in ("tcp", "udp"):
                while True:
                    try:
                        line = probe.ask(protocol, address, 0.5)
                    except OSError as error:
                        line = error.strerror or str(error)
                    if line == f"{side} {address}":
                        break
                    if time.monotonic() > deadline:
                        raise OSError(113, f"root does not reach it ({line})",
                                      f"{protocol} {address}")
                    time.sleep(0.01)
