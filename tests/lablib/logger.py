#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# logger.py - writes what programs of the lab say to /dev/log, one line each, to standard output.
#
# Usage: logger.py FD, the bound datagram socket. "FACILITY.SEVERITY TEXT" as numbers and as sent,
# but with every byte that is not printable escaped.
import re
import socket
import sys

MESSAGE_BYTES_MAX = 65536


def line_of(message):
    """RFC 3164 as syslog(3) sends it: <PRIORITY>Mmm dd hh:mm:ss TAG[PID]: TEXT"""
    head = re.match(rb"<([0-9]{1,3})>", message)
    priority = int(head[1]) if head else 0
    text = message[head.end():] if head else message
    escaped = re.sub(rb"[^ -~]", lambda found: b"\\x%02x" % found[0][0], text.rstrip(b"\n\0"))
    return f"{priority >> 3}.{priority & 7} {escaped.decode('ascii')}"


def main(fd):
    with socket.socket(fileno=fd) as sock:
        while True:
            print(line_of(sock.recv(MESSAGE_BYTES_MAX)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
