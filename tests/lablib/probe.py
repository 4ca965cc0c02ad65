#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# probe.py - asks one of the lab's answerers (lab-probe in the lab).
import errno
import socket
import sys

PORTS = {"tcp": 7777, "udp": 7778}
USAGE = """usage: lab-probe tcp|udp ADDRESS [TIMEOUT_S [PORT]]
Prints the answerer's line. Exit code 1 and the error's name on stderr if there is no answer."""


def ask(protocol, address, timeout_s, port=None):
    """The line that the answerer sends, or OSError (ETIMEDOUT if nothing comes)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(family, kind) as sock:
        sock.settimeout(timeout_s)
        try:
            sock.connect((address, port or PORTS[protocol]))
            if protocol == "udp":
                sock.send(b"?")
            line = sock.recv(256)
        except TimeoutError as error:
            raise OSError(errno.ETIMEDOUT, "no answer") from error
    if not line:
        raise OSError(errno.ENODATA, "closed without an answer")
    return line.decode("ascii", "replace").rstrip("\n")


def main(args):
    if not 2 <= len(args) <= 4 or args[0] not in PORTS:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        print(ask(args[0], args[1], float(args[2]) if len(args) > 2 else 2.0,
                  int(args[3]) if len(args) > 3 else None))
    except OSError as error:
        print(f"{args[0]} {args[1]}: {errno.errorcode.get(error.errno, error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
