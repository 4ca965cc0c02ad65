#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# relay.py - the one way from this machine into a lab: a port on its loopback, to the lab's sshd.
#
# Usage: relay.py listen PORT COMMAND...  bind, then become COMMAND; LAB_RELAY_FD is the descriptor
#        relay.py serve FD                in the lab: pass each connection on to TARGET
#
# The listening socket belongs to the network of the machine, where it was made; what serves it, to
# the lab. So nothing else of the lab is reachable, and the port is free when the lab has ended. It
# is bound before anything is built: a port that is taken is no news to wait for.
import asyncio
import errno
import os
import signal
import socket
import sys

TARGET = ("127.0.0.1", 2222)
CONNECTIONS_MAX = 64  # more wait in the backlog
CHUNK_BYTES = 65536
LAB_FAILED = 125


def listen(port, command):
    """Bind to the loopback alone, then become @command. Returns the exit code if that failed."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Connections that ended a moment ago do not count; a listener that lives does.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen(CONNECTIONS_MAX)
    except OSError as error:
        why = ("the port is taken by another program of this machine; end that, or choose another"
               if error.errno == errno.EADDRINUSE else error.strerror)
        print(f"lab: 127.0.0.1:{port}: {why}", file=sys.stderr, flush=True)
        return LAB_FAILED
    sock.set_inheritable(True)
    for signum in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # Python's own ways would stay
        signal.signal(signum, signal.SIG_DFL)
    os.execve(command[0], command, dict(os.environ, LAB_RELAY_FD=str(sock.fileno())))
    return LAB_FAILED


async def copy(reader, writer):
    """One direction, to its end: what was half closed on one side is half closed on the other."""
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def relay(client):
    """Both directions. An error of one, a reset for example, ends both by a reset."""
    writers = []
    try:
        reader, writer = await asyncio.open_connection(sock=client)
        writers.append(writer)
        far_reader, far_writer = await asyncio.open_connection(*TARGET)
        writers.append(far_writer)
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        for each in writers:
            each.close()
            await each.wait_closed()
    except OSError:
        pass  # sshd is stopped, or one of the two has left
    finally:
        for each in writers:
            each.transport.abort()
        client.close()


async def serve(sock):
    loop = asyncio.get_running_loop()
    room = asyncio.Semaphore(CONNECTIONS_MAX)
    tasks = set()  # the loop itself keeps weak references only

    def ended(task):
        tasks.discard(task)
        room.release()

    while True:
        await room.acquire()
        try:
            client, _ = await loop.sock_accept(sock)
        except OSError:  # it has left already, or no descriptor is free
            room.release()
            await asyncio.sleep(0.1)
            continue
        task = loop.create_task(relay(client))
        tasks.add(task)
        task.add_done_callback(ended)


def main(args):
    if len(args) > 2 and args[0] == "listen":
        return listen(int(args[1]), args[2:])
    if len(args) == 2 and args[0] == "serve":
        sock = socket.socket(fileno=int(args[1]))
        sock.setblocking(False)
        asyncio.run(serve(sock))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
