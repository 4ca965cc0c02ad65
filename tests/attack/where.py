# SPDX-License-Identifier: ISC
# where.py - the three places an attack is started in: a run, a session, and a plain process.
import contextlib
import os
import shutil
import stat
import subprocess

import lab

PROGRAMS = "/usr/local/lib/lab-attack/programs.py"  # where runs and sessions see it, too
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs.py")
LONG = {"wall_ms": 120000}  # for an emulated machine


def install():
    os.makedirs(os.path.dirname(PROGRAMS), exist_ok=True)
    shutil.copy(SOURCE, PROGRAMS)
    os.chmod(PROGRAMS, 0o644)


def raised_python(name, mode=0o755, gid=0, capabilities=None):
    """A copy of the interpreter that raises whoever starts it."""
    path = f"/usr/local/bin/{name}"
    shutil.copy(os.path.realpath(lab.PYTHON), path)
    os.chown(path, 0, gid)
    os.chmod(path, mode)
    assert stat.S_IMODE(os.stat(path).st_mode) == mode
    if capabilities:
        lab.command("setcap", capabilities, path)
    return path


def argv_of(name, *args, python=lab.PYTHON):
    return [python, "-I", PROGRAMS, name, *args]


def in_run(name, *args, python=lab.PYTHON, net="public", **more):
    result = lab.run(argv_of(name, *args, python=python), net=net, limits=LONG, **more)
    assert result.status == "ok", (result.end, result.err)
    return result.out.decode().strip()


def in_session(session, name, *args, python=lab.PYTHON):
    result = session.ssh(*argv_of(name, *args, python=python))
    assert result.returncode == 0, result
    return result.stdout.strip()


def plain_argv(uid, argv, *options):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *options, *argv]


def plain(uid, name, *args, python=lab.PYTHON, **more):
    """A process of the same uid that is not confined: not even by the limits of this one."""
    result = subprocess.run(plain_argv(uid, argv_of(name, *args, python=python)),
                            capture_output=True, text=True, timeout=120, check=False, **more)
    assert result.returncode == 0, result
    return result.stdout.strip()


@contextlib.contextmanager
def plain_live(uid, name, *args):
    """A plain process that has said its first line."""
    with subprocess.Popen(plain_argv(uid, argv_of(name, *args)), stdout=subprocess.PIPE,
                          text=True) as child:
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


@contextlib.contextmanager
def run_live(name, *args, **more):
    """A run that has said its first line."""
    live = lab.start(argv_of(name, *args), **{"net": "public", "limits": LONG, **more})
    try:
        live.until("out")
        yield live, live.out.decode().strip()
    finally:
        live.close()
