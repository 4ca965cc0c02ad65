# SPDX-License-Identifier: ISC
# test_identity_crash.py - users, their index and those who read it, while everything goes wrong.
import contextlib
import json
import os
import pwd
import random
import socket
import subprocess
import time

import lab
from test_durability import Adder, nss_users, registry_users

KILLS = 200
CLIENTS = 3
INVITATIONS_UNDER_LOCKS = 40
FIRST_LOGINS = 12


def labd(verb, name):
    """What lab-service does, without a new process for each of hundreds of requests."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect("/run/lab/control")
        with sock.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps({"verb": verb, "name": name, "args": [], "program": None,
                                     "environment": {}}) + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    assert answer["ok"], answer


def kill_and_start():
    """SIGKILL, whatever it does now; it is gone when this goes on."""
    labd("kill", "sessiond-api")
    labd("start", "sessiond-api")


def is_answered(name, uid):
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name).pw_uid == uid and pwd.getpwuid(uid).pw_name == name
    return False


def test_no_moment_of_a_kill_loses_an_acknowledged_user():
    some = random.Random(200)
    adders = [Adder(f"kill{number}x") for number in range(CLIENTS)]
    told, lost = {}, {}
    for adder in adders:
        adder.start()
    try:
        for _ in range(KILLS):
            time.sleep(some.uniform(0, 0.08))
            kill_and_start()
            fresh = {name: uid for adder in adders for name, uid in adder.acknowledged.copy().items()
                     if name not in told}
            lost |= {name: uid for name, uid in fresh.items() if not is_answered(name, uid)}
            told |= fresh
    finally:
        for adder in adders:
            adder.stopping = True
        for adder in adders:
            adder.join(30)
        lab.bring_up()
    assert lost == {}
    # The stream was one: it met kills before, within and after invitations.
    assert len(told) >= KILLS / 2
    known = registry_users()
    assert told.items() <= known.items()
    assert len(set(known.values())) == len(known)
    assert nss_users() == known
    assert os.listdir(f"{lab.STATE}/nss") == [os.path.basename(lab.INDEX)]


def test_the_first_login_follows_the_invitation_at_once():
    """sshd hides what is typed for a name that NSS does not know: it has to know it by then."""
    for number in range(FIRST_LOGINS):
        minted = lab.invite(f"first{number}@example.org")
        result = lab.ssh(minted["user"], minted["code"], "id -u")
        assert (result.returncode, result.stdout) == (0, f"{minted['uid']}\n"), result.stderr


# ---- whoever can read a file can lock it

LOCKER = """
import fcntl, glob, os, select, struct, sys
def locks_take(path):
    taken = []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None, []
    whole = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    for name, act in (("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                      ("posix", lambda: fcntl.fcntl(fd, fcntl.F_SETLK, whole)),
                      ("ofd", lambda: fcntl.fcntl(fd, 37, whole)),
                      ("lease", lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK))):
        try:
            act()
            taken.append(name)
        except OSError:
            pass
    return fd, taken
held = {}
said = False
while not select.select([0], [], [], 0.001)[0]:
    for pattern in sys.argv[1:]:
        for path in glob.glob(pattern, recursive=True):
            try:
                st = os.stat(path)
            except OSError:
                continue
            if os.path.isfile(path) and (st.st_dev, st.st_ino) not in held:
                fd, taken = locks_take(path)
                if fd is not None:
                    held[st.st_dev, st.st_ino] = fd
                    print(path, *taken, flush=True)
    if not said:
        print("all", flush=True)
        said = True
print("files", len(held), flush=True)
"""
PATTERNS = (f"{lab.STATE}/**", "/run/atelier/**", "/etc/atelier/**")


def test_locks_of_a_stranger_stop_no_invitation():
    """The index can be read by everybody, and so be locked by everybody."""
    argv = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", lab.PYTHON, "-u", "-c",
            LOCKER, *PATTERNS]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as locker:
        held = {}
        while (line := locker.stdout.readline()) != "all\n":
            assert line, "the locker ended"
            held[line.split()[0]] = line.split()[1:]
        assert {"flock", "posix", "ofd"} <= set(held[lab.INDEX])
        assert not [path for path in held if path.startswith(f"{lab.STATE}/registry")]
        # They are locks indeed: root cannot have what the stranger holds.
        with open(lab.INDEX, "rb") as index:
            refused = lab.command("flock", "--nonblock", "--exclusive", str(index.fileno()),
                                  pass_fds=[index.fileno()], check=False)
            assert refused.returncode == 1
        added = {}
        for number in range(INVITATIONS_UNDER_LOCKS):
            began_s = time.monotonic()
            answer = lab.user_add(name=f"locked{number}x")
            assert answer.status == 201
            assert time.monotonic() - began_s < 3
            added[answer.body["name"]] = answer.body["uid"]
            assert is_answered(answer.body["name"], answer.body["uid"])
        locker.stdin.close()
        rest = locker.stdout.read().splitlines()
        assert locker.wait(30) == 0
    # It went from index to index, and locked each that it saw.
    assert rest[-1].split()[0] == "files"
    assert int(rest[-1].split()[1]) > 5
    assert added.items() <= nss_users().items()
