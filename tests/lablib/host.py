# SPDX-License-Identifier: ISC
# host.py - one lab: the outer process that owns it, and PID 1 inside.
#
# Everything in the lab is a process of one PID namespace, so that one kill, of PID 1, ends all of
# it, and mounts, network namespaces and the tmpfs go with the last process. Nothing is cleaned up
# by name. PID 1 dies with the outer process (PR_SET_PDEATHSIG, set before anything else, and then
# a look at a pipe whether the outer process was gone already).
#
# Signals: the outer process passes SIGINT, SIGTERM and SIGHUP on to PID 1, which passes them on to
# the command and ends the lab after a short grace; a second one kills at once. A Ctrl-C that comes
# from the terminal reaches the command by itself and is its own affair, as under a shell. The
# command stays in the outer process's group, so that Ctrl-Z and fg work as for any program.
#
# PID 1 inherits whatever outlives its parent, the inits of sessions while sessiond is stopped for
# one, and reaps it as soon as it ends: what waits for the end of such a process sees it as on a
# real host.
import argparse
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback

LIB = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, LIB)

import cgroups  # noqa: E402
import linux  # noqa: E402
import network  # noqa: E402
import root  # noqa: E402

LAB_FAILED = 125
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
SI_USER = 0  # asm-generic/siginfo.h: sent by kill() and the like; the terminal's have SI_KERNEL
COMMAND_GRACE_S = 3
SERVICES_GRACE_S = 6  # above labd's own limit for one daemon
OUTER_GRACE_S = COMMAND_GRACE_S + SERVICES_GRACE_S + 3
SERVICES = ("sessiond", "sessiond-api", "atelier-sshd")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LabError(Exception):
    """The lab could not be made; the text says what and why."""


class Stopped(Exception):
    """A signal came before the command was started."""


def parse_arguments(args):
    parser = argparse.ArgumentParser()
    parser.add_argument("--top", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--stage", default="")
    parser.add_argument("--lock-fd", type=int, default=-1)
    parser.add_argument("--relay-fd", type=int, default=-1)
    parser.add_argument("--script", action="append", default=[])
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--no-services", action="store_true")
    parser.add_argument("--cgroups", action="store_true")
    parser.add_argument("--logs", action="store_true")
    split = args.index("--")
    options = parser.parse_args(args[:split])
    options.command = args[split + 1:]
    return options


def exit_code(status):
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


# ---- the outer process

def outer(options):
    terminal = os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS | {signal.SIGCHLD})
    try:
        groups = cgroups.Cgroups() if options.cgroups else None
    except (OSError, cgroups.CgroupError) as error:
        print(f"lab: control groups: {error}", file=sys.stderr)
        return LAB_FAILED
    options.sessiond = groups.options if groups else []
    alive_read, alive_write = os.pipe()
    linux.unshare(linux.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        code = LAB_FAILED
        try:
            os.close(alive_write)
            if groups:
                groups.forget()
            code = inner(options, alive_read)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # PID 1: the kernel kills and reaps all others before it is gone
    os.close(alive_read)
    for fd in (options.lock_fd, options.relay_fd):
        if fd >= 0:
            os.close(fd)
    code = outer_wait(pid)
    if groups and groups.close() != 0:
        code = code or LAB_FAILED
    if terminal:  # a shell in the lab cannot name our process group to give the terminal back
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
    return code


def outer_wait(pid):
    """Wait for PID 1, pass signals on. Returns the exit code."""
    first, deadline = None, None
    while True:
        info = wait_signal(deadline)
        if info is None or (info.si_signo in SIGNALS and info.si_code <= SI_USER and first):
            os.kill(pid, signal.SIGKILL)
        elif info.si_signo in SIGNALS and info.si_code <= SI_USER:
            first, deadline = info.si_signo, time.monotonic() + OUTER_GRACE_S
            os.kill(pid, first)
        done, status = os.waitpid(pid, os.WNOHANG if info else 0)
        if done == pid:
            if os.WIFSIGNALED(status) and first:
                return 128 + first
            return exit_code(status)


def wait_signal(deadline):
    """The next signal, or None once the deadline (monotonic seconds, None: never) has passed."""
    signals = SIGNALS | {signal.SIGCHLD}
    if deadline is None:
        return signal.sigwaitinfo(signals)
    return signal.sigtimedwait(signals, max(0.0, deadline - time.monotonic()))


# ---- PID 1

def inner(options, alive_fd):
    labd = None
    code = LAB_FAILED
    try:
        linux.die_with_parent(signal.SIGKILL)
        if select.select([alive_fd], [], [], 0)[0]:  # readable is end of file: the other end died
            return LAB_FAILED
        for signum in SIGNALS:
            signal.signal(signum, raise_stopped)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS | {signal.SIGCHLD})
        environment = build_host(options)
        labd = start_labd(options.sessiond)
        if not options.no_services:
            start_services()
            look_short()
        if options.relay_fd >= 0:
            environment["ATELIER_RELAY_PORT"] = start_relay(options.relay_fd)
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS | {signal.SIGCHLD})
        code = run_all(options, environment)
    except Stopped as stopped:
        code = 128 + stopped.args[0]
    except subprocess.CalledProcessError as error:
        print(f"lab: {' '.join(error.cmd[:4])} ... failed ({error.returncode})", file=sys.stderr)
    except OSError as error:
        print(f"lab: {error.filename or 'failed'}: {error.strerror}", file=sys.stderr)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS | {signal.SIGCHLD})
    if labd:
        stop_labd(labd)
    if options.logs:
        show_logs()
    return code


def raise_stopped(signum, _frame):
    raise Stopped(signum)


def build_host(options):
    """Namespaces, root, accounts, network. Returns the environment of commands."""
    cwd = os.getcwd()
    os.umask(0o022)
    os.setgroups([])
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC | linux.CLONE_NEWNET)
    socket.sethostname("lab")
    scripts = [os.path.dirname(script) for script in options.script]
    root.enter([options.top, options.build, *scripts])
    language, terminal = os.environ.get("LANG", "C.UTF-8"), os.environ.get("TERM", "dumb")
    os.environ.clear()
    os.environ.update(PATH=PATH, HOME="/root", LANG="C.UTF-8")
    # Beside the network: neither needs the other, and both take their time.
    setup = subprocess.Popen([f"{LIB}/setup.sh", LIB, options.stage,
                              "groups" if options.cgroups else ""], stdin=subprocess.DEVNULL,
                             stdout=sys.stderr)
    world = network.start_world()
    network.up(world)
    network.start_answerers(world)
    network.wait_reachable()
    if setup.wait():
        raise subprocess.CalledProcessError(setup.returncode, setup.args)
    start_logger()  # afterwards: what useradd says of the lab's own accounts is no news
    if options.lock_fd >= 0:
        os.close(options.lock_fd)
    os.chdir(cwd if os.path.isdir(cwd) else "/")
    return dict(os.environ, LANG=language, TERM=terminal, ATELIER_LAB="1",
                ATELIER_SRC=options.top, ATELIER_BUILD=options.build, ATELIER_WORLD_PID=str(world))


def start_aside(program, *args, **more):
    """A program of ours that lives as long as the lab; its log is in /run/lab."""
    with open(f"/run/lab/{program}.log", "ab") as log:
        subprocess.Popen(["/usr/bin/python3", "-IB", f"{LIB}/{program}.py", *args], cwd="/",
                         stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                         **more)


def start_logger():
    """/dev/log is bound here, so that it is there when the first daemon speaks.

    A link, as systemd-journald has it.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind("/run/lab/dev-log")
        os.chmod("/run/lab/dev-log", 0o666)
        os.symlink("/run/lab/dev-log", "/dev/log")
        start_aside("logger", str(sock.fileno()), pass_fds=[sock.fileno()])


def start_relay(fd):
    """Connections to the descriptor's port of the machine go to the lab's sshd. Returns the port."""
    with socket.socket(fileno=fd) as sock:
        start_aside("relay", "serve", str(fd), pass_fds=[fd])
        return str(sock.getsockname()[1])


def start_labd(sessiond_options):
    """labd with its sockets bound, but no daemon started."""
    ready_read, ready_write = os.pipe()
    with open("/run/lab/labd.log", "ab") as log:
        labd = subprocess.Popen(["/usr/local/libexec/lab/labd", str(ready_write), *sessiond_options],
                                cwd="/",
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                pass_fds=[ready_write], start_new_session=True)
    os.close(ready_write)
    ready = os.read(ready_read, 1)
    os.close(ready_read)
    if not ready:
        show_logs()
        raise LabError("labd did not start")
    return labd


def start_services():
    for name in SERVICES:
        if subprocess.run(["lab-service", "start", name], check=False, stdin=subprocess.DEVNULL,
                          stdout=sys.stderr).returncode != 0:
            show_logs()
            raise LabError(f"{name} did not start")


def look_short():
    """As atelier-doctor.service does after a start. What it finds stops nothing; a test reads it."""
    with open("/run/lab/doctor.log", "wb") as log:
        for option in ("--sweep", "--short"):
            subprocess.run(["atelier", "doctor", option], check=False, stdin=subprocess.DEVNULL,
                           stdout=log, stderr=log)


def stop_labd(labd):
    """Daemons get their chance to leave nothing behind; the kernel kills what does not use it."""
    if labd.poll() is not None:
        return
    labd.terminate()
    deadline = time.monotonic() + SERVICES_GRACE_S
    while reap(labd.pid) is None and wait_signal(deadline):
        pass


def show_logs():
    for name in sorted(os.listdir("/run/lab")):
        if name.endswith(".log"):
            with open(f"/run/lab/{name}", "rb") as log:
                for line in log:
                    sys.stderr.write(f"{name[:-4]}: {line.decode('utf-8', 'backslashreplace')}")
    sys.stderr.flush()


def run_all(options, environment):
    """Scripts, then the command. Returns the exit code of the first that failed, or 0."""
    commands = [[script] if os.access(script, os.X_OK) else ["/bin/bash", script]
                for script in options.script]
    if options.command:
        commands.append(options.command)
    first = 0
    for command in commands or [["/bin/bash", "-i"]]:
        code, stopped = run(command, environment)
        first = first or code
        if stopped or (code and not options.keep_going):
            break
    return first


def run(command, environment):
    """Run one command and reap everything that becomes ours meanwhile. Returns (code, stopped)."""
    pid = os.fork()
    if pid == 0:
        execute(command, environment)
    deadline, last = None, None
    while (status := reap(pid)) is None:  # first what ended before SIGCHLD was blocked
        info = wait_signal(deadline)
        if info is None:  # deaf; it dies with the namespace
            return 128 + last, True
        if info.si_signo in SIGNALS and (info.si_code <= SI_USER or
                                         info.si_signo == signal.SIGHUP):
            last = info.si_signo
            os.kill(pid, last)
            deadline = time.monotonic() + COMMAND_GRACE_S
    return exit_code(status), deadline is not None


def reap(wanted):
    """Reap all that have ended, orphans too. The status of @wanted if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == wanted:
            found = status


def execute(command, environment):
    """In the child: become the command; never returns."""
    try:
        for signum in (*SIGNALS, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"lab: {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
    os._exit(LAB_FAILED)


def main():
    options = parse_arguments(sys.argv[1:])
    below = 3
    for fd in sorted(fd for fd in (options.lock_fd, options.relay_fd) if fd >= 0):
        os.closerange(below, fd)
        os.set_inheritable(fd, False)
        below = fd + 1
    os.closerange(below, os.sysconf("SC_OPEN_MAX"))
    return outer(options)


if __name__ == "__main__":
    sys.exit(main())
