# SPDX-License-Identifier: ISC
# dns.py - somebody in the world who answers for names, with what a test wants.
#
# A and AAAA over UDP and TCP; an answer that is longer than a datagram of old is cut there, with the
# TC bit, so that it is asked for again by TCP. RFC 1035.
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading

ADDRESS = "198.51.100.2"
UDP_MOST = 512
A, CNAME, AAAA, IN = 1, 5, 28, 1
NXDOMAIN, SERVFAIL = 3, 2


def name_bytes(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def question_of(query):
    """(name, type, length of the question)."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, _ = struct.unpack_from("!HH", query, at + 1)
    return ".".join(labels).lower(), kind, at + 5 - 12


def record(name, kind, ttl, data):
    return name_bytes(name) + struct.pack("!HHIH", kind, IN, ttl, len(data)) + data


def answer(query, zone, most):
    """None: no word."""
    name, kind, length = question_of(query)
    entry = zone.get(name)
    if entry == "silent":
        return None
    code, records = NXDOMAIN, []
    if entry == "servfail":
        code = SERVFAIL
    elif entry is not None:
        code, ttl = 0, entry.get("ttl", 60)
        while "cname" in entry:
            records.append(record(name, CNAME, ttl, name_bytes(entry["cname"])))
            name, entry = entry["cname"], zone.get(entry["cname"], {})
        family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
        for text in entry.get("addresses", []):
            if family == (socket.AF_INET6 if ":" in text else socket.AF_INET):
                records.append(record(name, kind, ttl, socket.inet_pton(family, text)))
    body, cut = b"".join(records), 0
    if 12 + length + len(body) > most:
        records, body, cut = [], b"", 0x200
    head = query[:2] + struct.pack("!HHHHH", 0x8180 | cut | code, 1, len(records), 0, 0)
    return head + query[12:12 + length] + body


def serve(path, address):
    """In the world: what the file says at the moment."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    tcp = socket.create_server((address, 53))

    def zone():
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def of_stream(connection):
        with connection, contextlib.suppress(OSError, struct.error):
            connection.settimeout(5)
            size, = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))
            said = answer(connection.recv(size, socket.MSG_WAITALL), zone(), 65535)
            if said:
                connection.sendall(struct.pack("!H", len(said)) + said)

    print("up", flush=True)
    while True:
        for ready in select.select([udp, tcp], [], [])[0]:
            if ready is tcp:
                threading.Thread(target=of_stream, args=(tcp.accept()[0],), daemon=True).start()
                continue
            query, peer = udp.recvfrom(4096)
            said = answer(query, zone(), UDP_MOST)
            if said:
                udp.sendto(said, peer)


class Resolver:
    PATH = "/run/lab/dns.json"

    def __init__(self, address=ADDRESS):
        self.address = address
        self.child = None

    def zone(self, **names):
        """{name: {"addresses": [...], "ttl": n, "cname": name} or "silent" or "servfail"}; _ is a dot."""
        with open(self.PATH + ".new", "w", encoding="utf-8") as file:
            json.dump({name.replace("_", "."): entry for name, entry in names.items()}, file)
        os.rename(self.PATH + ".new", self.PATH)

    def start(self):
        net = f"--net=/proc/{os.environ['ATELIER_WORLD_PID']}/ns/net"
        self.child = subprocess.Popen(["nsenter", net, "--", sys.executable, "-IB", __file__, self.PATH,
                                       self.address], stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "up\n"

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGKILL)
            self.child.communicate()
        self.child = None


if __name__ == "__main__":
    serve(*sys.argv[1:])
