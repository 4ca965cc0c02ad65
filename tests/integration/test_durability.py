# SPDX-License-Identifier: ISC
# test_durability.py - a user that was acknowledged stays, one that was not leaves no trace.
import contextlib
import http.client
import os
import random
import shutil
import threading
import time

import lab
import pytest

MOMENTS = 20
FILLER = "filler"


def registry_users():
    return {row["name"]: row["uid"] for row in lab.api("GET", "/v1/users").body["users"]}


def nss_users():
    lines = [line.split(":") for line in lab.command("getent", "passwd").stdout.splitlines()]
    return {entry[0]: int(entry[2]) for entry in lines if lab.ID_MIN <= int(entry[2]) <= 65000}


class Adder(threading.Thread):
    """Adds users until stopped, and remembers which ones it was told to have."""

    def __init__(self, prefix):
        super().__init__(daemon=True)
        self.prefix, self.acknowledged, self.stopping = prefix, {}, False

    def run(self):
        number = 0
        while not self.stopping:
            key = f"{self.prefix}{number}"
            try:
                answer = lab.user_add(external_id=key, name=key, timeout=5)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.01)
                continue
            if answer.status in (200, 201):
                self.acknowledged[key] = answer.body["uid"]
                number += 1


@pytest.mark.parametrize("name, prefix", [("sessiond-api", "ka"), ("sessiond", "kd")])
def test_no_acknowledged_user_is_lost(name, prefix):
    some = random.Random(name)
    adder = Adder(prefix)
    adder.start()
    try:
        for _ in range(MOMENTS):
            time.sleep(some.uniform(0.02, 0.2))
            lab.service("kill", name)
            # Without any daemon: what was acknowledged is what NSS answers.
            told = dict(adder.acknowledged)
            assert told.items() <= nss_users().items()
            lab.bring_up()
    finally:
        adder.stopping = True
        adder.join(30)
    assert len(adder.acknowledged) >= MOMENTS
    known = registry_users()
    assert adder.acknowledged.items() <= known.items()
    assert nss_users() == known
    assert len(set(known.values())) == len(known)
    assert [entry for entry in os.listdir(f"{lab.STATE}/nss") if entry != "index"] == []


def test_clients_at_once_get_different_users():
    adders = [Adder(f"par{number}x") for number in range(4)]
    for adder in adders:
        adder.start()
    lab.eventually(lambda: all(len(adder.acknowledged) >= 10 for adder in adders), 30)
    for adder in adders:
        adder.stopping = True
        adder.join(30)
    uids = [uid for adder in adders for uid in adder.acknowledged.values()]
    assert len(uids) == len(set(uids))


def test_one_person_added_at_once_is_one_user():
    results = []

    def add():
        results.append(lab.user_add(email="atonce@example.org"))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in results} <= {200, 201, 503}
    good = [answer for answer in results if answer.status in (200, 201)]
    assert sum(answer.status == 201 for answer in results) == 1
    assert len({answer.body["uid"] for answer in good}) == 1


def api_off(act):
    """Do something to the state while the api is down."""
    lab.service("stop", "sessiond-api")
    try:
        act()
    finally:
        lab.service("start", "sessiond-api")
        lab.bring_up()


@contextlib.contextmanager
def small_disk(path, size):
    """@path on a file system of its own that can be filled; its content comes back afterwards."""
    copy = f"{path}.copy"

    def enter():
        shutil.copytree(path, copy)
        st = os.stat(path)
        lab.command("mount", "-t", "tmpfs", "-o", f"size={size},uid={st.st_uid},gid={st.st_gid},"
                    f"mode={st.st_mode & 0o777:o}", "tmpfs", path)
        lab.command("cp", "-a", f"{copy}/.", path)
        lab.command("chown", "-R", "atelier:atelier", path)

    def leave():
        shutil.rmtree(copy)
        lab.command("cp", "-a", path, copy)
        lab.command("umount", path)
        for entry in os.scandir(path):
            os.unlink(entry.path)
        lab.command("cp", "-a", f"{copy}/.", path)
        shutil.rmtree(copy)

    api_off(enter)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}/{FILLER}")
        api_off(leave)


def fill(path):
    with open(f"{path}/{FILLER}", "wb", buffering=0) as out:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(b"\0" * size)


@pytest.mark.parametrize("part", ["nss", "registry"])
def test_a_full_disk_fails_the_call_and_keeps_the_state(part):
    path = f"{lab.STATE}/{part}"
    with small_disk(path, "8m"):
        before, generation = registry_users(), lab.health()["generation"]
        assert lab.user_add(external_id=f"room:{part}", name=f"room{part}").status == 201
        before, generation = registry_users(), lab.health()["generation"]
        fill(path)
        failed = 0
        for i in range(40):  # the last allocated pages of the database may have room for some
            answer = lab.user_add(external_id=f"full:{part}:{i}", name=f"full{part}{i}")
            if answer.status == 201:
                before[answer.body["name"]] = answer.body["uid"]
                generation += 1
            else:
                assert answer.status in (500, 503)
                assert answer.body["status"] == "internal"
                failed += 1
        assert failed >= 1
        assert registry_users() == before
        assert nss_users() == before
        assert lab.health()["generation"] == generation
        assert [entry for entry in os.listdir(f"{lab.STATE}/nss")
                if entry not in ("index", FILLER)] == []
        os.unlink(f"{path}/{FILLER}")
        for i in range(40):
            answer = lab.user_add(external_id=f"full:{part}:{i}", name=f"full{part}{i}")
            assert answer.status in (200, 201), answer
            before[answer.body["name"]] = answer.body["uid"]
        assert registry_users() == nss_users() == before
    assert registry_users() == nss_users() == before


def test_a_restart_changes_nothing():
    before = registry_users()
    generation = lab.health()["generation"]
    lab.service("restart", "sessiond-api")
    lab.bring_up()
    assert registry_users() == nss_users() == before
    assert lab.health()["generation"] == generation


def test_nss_answers_without_any_daemon(alice):
    for name in ("sessiond-api", "sessiond"):
        lab.service("stop", name)
    try:
        assert lab.uid_of("alice") == alice
        assert lab.command("id", "-un", str(alice)).stdout.strip() == "alice"
    finally:
        lab.bring_up()


def test_ids_and_names_are_never_used_again():
    first = lab.user_add(email="seq1@example.org").body["uid"]
    lab.service("kill", "sessiond-api")
    lab.bring_up()
    second = lab.user_add(email="seq2@example.org").body["uid"]
    assert second > first


def test_the_password_lock_is_respected():
    """While somebody changes /etc/passwd, no user is made; afterwards it works."""
    holder = "import fcntl, struct, sys, time\n" \
             "f = open('/etc/.pwd.lock', 'w')\n" \
             "fcntl.lockf(f, fcntl.LOCK_EX)\nprint('held', flush=True); sys.stdin.readline()"
    with lab.subprocess.Popen([lab.PYTHON, "-c", holder], stdin=lab.subprocess.PIPE,
                              stdout=lab.subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        answer = lab.user_add(email="locked-out@example.org")
        assert (answer.status, answer.body["status"]) == (503, "busy")
        process.communicate("\n")
    assert lab.user_add(email="locked-out@example.org").status == 201
    assert lab.command("useradd", "afterwards").returncode == 0
    lab.command("userdel", "afterwards")
