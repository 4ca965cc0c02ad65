# SPDX-License-Identifier: ISC
# doors.py - the ways in as the tests need them: links, the daemons' sockets, sshds of all kinds.
import contextlib
import functools
import os
import shutil
import socket
import struct
import subprocess
import threading

import lab

LEAKS_IN = ("/run/lab", "/var/log/btmp", "/var/log/wtmp", "/var/log/lastlog", "/run/utmp",
            f"{lab.STATE}/registry", f"{lab.STATE}/ledger", f"{lab.STATE}/nss")


def typed(text):
    """Note what is typed at a prompt; returns it. Short texts are everywhere."""
    if len(text) >= 10:
        lab.SECRETS.add(text)
    return text


def token_of(minted):
    return minted["link"].split("#")[1]


def files_below(path):
    if not os.path.isdir(path):
        return [path] if os.path.isfile(path) else []
    return [os.path.join(where, name) for where, _, names in os.walk(path) for name in names]


def leaks(only=None):
    """(file, secret) for every secret that can be read in what the host has written; any case."""
    found = []
    for path in (path for root in LEAKS_IN for path in files_below(root)):
        if os.path.islink(path) or not os.path.isfile(path) or path.startswith(lab.ASKPASS):
            continue
        with open(path, "rb") as file:
            data = file.read().lower()
        found += [(path, secret) for secret in only or lab.SECRETS
                  if secret.lower().encode() in data]
    return found


# ---- what a login asks sessiond-api, without a login

PAM_SOCK = "/run/atelier/pam.sock"
SESSION_SOCK = "/run/atelier/session.sock"
PAM_VERSION, PAM_AUTHENTICATE, PAM_ACCOUNT = 1, 1, 2
PAM_DENIED, PAM_ALLOWED, PAM_EXPIRED, PAM_BUSY, PAM_UNAVAILABLE = range(5)
PAM_ASK = struct.Struct("=4I32s32s64s512s")  # common/pam_wire.h
PAM_ANSWER = struct.Struct("=4I")


def pam_answer(verdict, question=PAM_AUTHENTICATE, version=PAM_VERSION):
    return PAM_ANSWER.pack(version, question, PAM_ANSWER.size, verdict)


def pam_ask(name, secret="", question=PAM_AUTHENTICATE, timeout=10, rhost="192.0.2.1"):
    """The verdict on one question; None if there was no answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(timeout)
        try:
            sock.connect(PAM_SOCK)
            sock.send(PAM_ASK.pack(PAM_VERSION, question, PAM_ASK.size, 0, name.encode(), b"lab",
                                   rhost.encode(), secret.encode()))
            answer = sock.recv(4096)
        except OSError:
            return None
    if len(answer) != PAM_ANSWER.size:
        return None
    version, asked, size, verdict = PAM_ANSWER.unpack(answer)
    assert (version, asked, size) == (PAM_VERSION, question, PAM_ANSWER.size)
    return verdict


@contextlib.contextmanager
def in_place_of(path, answer):
    """Another program sits at a daemon's socket: answer(connection, message) for each message.

    Yields the list of the messages. The daemon keeps its own socket, which comes back at the end.
    """
    kept, asked = f"{path}.kept", []

    def talk(connection):
        with connection:
            try:
                while message := connection.recv(65536):
                    asked.append(message)
                    answer(connection, message)
            except OSError:
                pass  # the login has left

    def serve(listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    os.rename(path, kept)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            os.chmod(path, 0o600)
            listener.listen(64)
            threading.Thread(target=serve, args=(listener,), daemon=True).start()
            try:
                yield asked
            finally:
                listener.shutdown(socket.SHUT_RDWR)
    finally:
        os.rename(kept, path)


# ---- more sshds: the host's own, and ours with other options

OUR_CONFIG, HOST_CONFIG = "/etc/atelier/sshd_config", "/etc/ssh/sshd_config"
PUBLIC_KEY = ("PreferredAuthentications=publickey", "IdentitiesOnly=yes")


def greets(port):
    """Does an sshd answer at this port?"""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as sock:
            return sock.recv(4) == b"SSH-"
    except OSError:
        return False


@contextlib.contextmanager
def sshd(service, port, *options, config=OUR_CONFIG):
    """An sshd with the PAM service @service, as long as the block. @options: "Name=value"."""
    home = "/run/lab/sshd"
    os.makedirs(home, 0o755, exist_ok=True)
    program, key = f"{home}/{service}", f"{home}/host_key"
    # OpenSSH before 9.8 names the PAM service after the program.
    if not os.path.lexists(program):
        os.symlink("/usr/sbin/sshd", program)
    if not os.path.exists(key):
        lab.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    argv = [program, "-D", "-e", "-f", config, "-h", key]
    for option in (f"ListenAddress=127.0.0.1:{port}", "PidFile=none", *options):
        argv += ["-o", option]
    assert not greets(port)
    with open(f"/run/lab/sshd-{port}.log", "ab") as log:
        daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
    try:
        lab.eventually(lambda: greets(port) or daemon.poll() is not None, 20)
        assert daemon.poll() is None, f"see /run/lab/sshd-{port}.log"
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait(20)


@functools.lru_cache(maxsize=None)
def key_pair():
    """A key of somebody's own; the path of the secret half, ".pub" is the other one."""
    path = f"/run/lab/key-{os.getpid()}"
    lab.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", path)
    return path


def public_key():
    with open(f"{key_pair()}.pub", encoding="ascii") as file:
        return file.read()


def ssh_by_key(user, *command, port=lab.SSH_PORT, options=(), **more):
    return lab.ssh(user, "no code", *command, port=port, **more,
                   options=(*options, *PUBLIC_KEY, f"IdentityFile={key_pair()}"))


def authority():
    """The public half of the key that signs certificates, for TrustedUserCAKeys."""
    path = f"/run/lab/authority-{os.getpid()}"
    if not os.path.exists(path):
        lab.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", path)
    return f"{path}.pub"


def certificate(user):
    """A certificate for @user of the key of key_pair(); its path, for CertificateFile."""
    signed = f"/run/lab/{user}"
    shutil.copy(f"{key_pair()}.pub", f"{signed}.pub")
    lab.command("ssh-keygen", "-q", "-s", authority().removesuffix(".pub"), "-I", user, "-n", user,
                f"{signed}.pub")
    return f"{signed}-cert.pub"


@contextlib.contextmanager
def written(path, text, mode=0o644):
    """A file of the host has this text, as long as the block; then it is as before."""
    before = None
    if os.path.lexists(path):
        before = f"{path}.before"
        os.rename(path, before)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        yield path
    finally:
        os.unlink(path)
        if before:
            os.rename(before, path)
