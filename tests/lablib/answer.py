#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# answer.py - answers "SIDE ADDRESS" on TCP 7777 and UDP 7778 of each address.
#
# One socket per address: a UDP reply must come from the address that was asked, and a connection
# through 0.0.0.0 would not show which address was reached.
import selectors
import socket
import sys

TCP_PORT, UDP_PORT = 7777, 7778


def answer_tcp(listener, line):
    try:
        connection, _ = listener.accept()
    except OSError:
        return  # the client has left already
    with connection:
        connection.setblocking(False)
        try:
            connection.send(line)
        except OSError:
            pass


def answer_udp(sock, line):
    try:
        _, sender = sock.recvfrom(2048)
        sock.sendto(line, sender)
    except OSError:
        pass  # an ICMP error for an earlier answer


def bind(kind, address, port):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, kind == socket.SOCK_STREAM)
    sock.bind((address, port))
    sock.setblocking(False)
    return sock


def main(side, addresses):
    selector = selectors.DefaultSelector()
    for address in addresses:
        line = f"{side} {address}\n".encode()
        listener = bind(socket.SOCK_STREAM, address, TCP_PORT)
        listener.listen(1024)
        selector.register(listener, selectors.EVENT_READ, (answer_tcp, line))
        selector.register(bind(socket.SOCK_DGRAM, address, UDP_PORT), selectors.EVENT_READ,
                          (answer_udp, line))
    while True:
        for key, _ in selector.select():
            handler, line = key.data
            handler(key.fileobj, line)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
