# SPDX-License-Identifier: ISC
# relay.py - the port of this machine that leads to the lab's sshd.
import contextlib
import hashlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import textwrap
import threading
import time

from labtest.support import GONE_WITHIN_S, LAB, LAB_FAILED, check, expect, expect_equal, lab


# What stands for sshd. Says the port of the machine, then serves one connection after the other.
ECHO = textwrap.dedent("""\
    import hashlib, os, socket, threading
    listener = socket.create_server(("127.0.0.1", 2222), backlog=128)
    print(os.environ["ATELIER_RELAY_PORT"], flush=True)
    def serve(connection):
        with connection:
            connection.sendall(b"+")
            digest = hashlib.sha256()
            while data := connection.recv(65536):
                digest.update(data)
                connection.sendall(data)
            connection.sendall(digest.digest())
    def serve_first(connection):
        with connection:
            connection.sendall(b"x" * 300000)
            connection.shutdown(socket.SHUT_WR)
            digest = hashlib.sha256()
            while data := connection.recv(65536):
                digest.update(data)
            print(digest.hexdigest(), flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=FUNCTION, args=(connection,), daemon=True).start()
    """)


@contextlib.contextmanager
def relayed(function="serve", port=0):
    """A lab with a relay and ECHO behind it. Yields (process, port)."""
    process = subprocess.Popen(
        [LAB, "run", "--no-services", "--relay", str(port), "--", "/usr/bin/python3", "-IBc",
         ECHO.replace("FUNCTION", function)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"the lab did not start: {process.stderr.read()}")
        yield process, int(line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def connect(port, host="127.0.0.1"):
    return socket.create_connection((host, port), timeout=20)


def listeners_of(port):
    """Local addresses, as the kernel writes them, of listeners of this machine on @port."""
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
        found += [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]
    return found


def read_all(sock):
    parts = []
    while data := sock.recv(65536):
        parts.append(data)
    return b"".join(parts)


@check
def the_relay_passes_on_every_byte_and_half_closed_ends():
    payload = os.urandom(5000017)
    with relayed() as (_, port):
        def exchange():
            with connect(port) as sock:
                sender = threading.Thread(target=lambda: (sock.sendall(payload),
                                                          sock.shutdown(socket.SHUT_WR)))
                sender.start()
                got = read_all(sock)
                sender.join()
            expect(got == b"+" + payload + hashlib.sha256(payload).digest(),
                   f"{len(got)} bytes came back, other ones")
        exchange()
        exchange()
    with relayed("serve_first") as (process, port), connect(port) as sock:
        expect_equal(read_all(sock), b"x" * 300000, "from a server that closes its half first")
        sock.sendall(payload)
        sock.shutdown(socket.SHUT_WR)
        expect_equal(process.stdout.readline().strip(), hashlib.sha256(payload).hexdigest(),
                     "what arrived after that")


@check
def the_relay_listens_on_the_loopback_alone_and_ends_with_the_lab():
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with relayed() as (process, port):
            expect_equal(listeners_of(port), [f"0100007F:{port:04X}"], "listeners on the port")
            with connect(port) as sock:
                expect_equal(sock.recv(1), b"+", "positive control")
                for host in ("127.0.0.2", "::1"):
                    try:
                        connect(port, host).close()
                    except ConnectionRefusedError:
                        continue
                    raise AssertionError(f"{host} is connected")
                process.send_signal(signum)
                with contextlib.suppress(ConnectionResetError):
                    expect_equal(sock.recv(1), b"", "of a lab that has ended")
            process.wait(30)
            deadline = time.monotonic() + GONE_WITHIN_S
            while listeners_of(port):
                expect(time.monotonic() < deadline, f"after signal {signum} it listens still")
                time.sleep(0.05)


@check
def a_port_that_is_taken_is_an_error_before_anything_is_built():
    with tempfile.TemporaryDirectory() as directory, \
            socket.create_server(("127.0.0.1", 0)) as taken:
        with open(f"{directory}/Makefile", "w", encoding="utf-8") as file:
            file.write(f"install:\n\ttouch {directory}/was-built\n")
        port = taken.getsockname()[1]

        def run():
            return lab("sh", "-c", "echo $ATELIER_RELAY_PORT",
                       options=("--no-services", "--relay", str(port)),
                       env=dict(os.environ, ATELIER_BUILD=directory))

        done = run()
        expect_equal((done.returncode, done.stdout), (LAB_FAILED, ""), "taken")
        expect(f"127.0.0.1:{port}: the port is taken" in done.stderr, done.stderr)
        expect(not os.path.exists(f"{directory}/was-built"), "it was built")
        taken.close()
        done = run()
        expect_equal((done.returncode, done.stdout, done.stderr), (0, f"{port}\n", ""),
                     "positive control")
        expect(os.path.exists(f"{directory}/was-built"), "positive control: it was not built")


@check
def the_relay_holds_a_bounded_number_of_connections():
    with relayed() as (_, port), contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(70)]

        def served():
            return {sock for sock in socks if select.select([sock], [], [], 0)[0]}

        deadline = time.monotonic() + GONE_WITHIN_S
        while len(served()) < 64:
            expect(time.monotonic() < deadline, f"only {len(served())} are served")
            time.sleep(0.05)
        time.sleep(0.5)
        first = served()
        expect_equal(len(first), 64, "served at the same time")
        gone = first.pop()
        socks.remove(gone)
        gone.close()
        while len(served()) < 64:
            expect(time.monotonic() < deadline, "nobody follows the one who left")
            time.sleep(0.05)


@check
def without_sshd_the_relay_hangs_up():
    command = ("echo $ATELIER_RELAY_PORT; sleep 2; exec /usr/bin/python3 -IBc "
               "'import socket; socket.create_server((\"127.0.0.1\", 2222)).accept()[0].send(b\"+\")'")
    with subprocess.Popen([LAB, "run", "--no-services", "--relay", "0", "--", "sh", "-c", command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        answers = []
        while b"+" not in answers and process.poll() is None:
            with connect(port) as sock:
                try:
                    answers.append(sock.recv(1))
                except ConnectionResetError:
                    answers.append(b"")
            time.sleep(0.1)
    expect_equal((answers[0], answers[-1]), (b"", b"+"), "before and after it listens")
