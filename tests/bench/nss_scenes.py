#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# nss_scenes.py - the hosts that nss_rounds.c looks people up in: the same people, kept differently.
#
# Usage: nss_scenes.py states DIRECTORY PUBLISH-PROGRAM
#            makes DIRECTORY/state-N/, registries with N users
#        nss_scenes.py scenes DIRECTORY STATES
#            in a lab: DIRECTORY/people, owners-N/ with files of people, and a directory a scene. Prints
#            a line a scene, "SCENE=N", and says on stderr which peers are missing.
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys

PEOPLE = 49000
FEW = 1000
PUBLISHED = (10, FEW, 10000, PEOPLE)
COURSE_SIZE = 500
OWNERS = 1000
SYSTEM_LINES = 21
HOMES = "/home/atelier"
SHELL = "/usr/lib/atelier/shell"
FIRST_NAMES = ("ada alan anna bela carla dana dora ed eli emma finn gus hana ida ivan jan jon kai "
               "lea leo lili luca mara max mia mona nora ole otto pia rita rosa ruth sam tina tom "
               "uwe vera will yara zoe ben cleo dirk erik fay greta hugo iris karl").split()


# ---- people

def names(count):
    """Eight characters or fewer, as ours are."""
    return [f"{FIRST_NAMES[i % len(FIRST_NAMES)]}{i // len(FIRST_NAMES)}" for i in range(count)]


def insert(db, table, row):
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def registry_fill(path, count):
    """@count users like the one that is there. Returns [(name, uid)] and {course: gid}."""
    db = sqlite3.connect(path, isolation_level=None)
    db.row_factory = sqlite3.Row
    template = dict(db.execute("SELECT * FROM users").fetchone())
    all_users = dict(db.execute("SELECT * FROM groups").fetchone())
    next_id = db.execute("SELECT next_id FROM meta").fetchone()[0]
    people, courses = [], {}
    db.execute("BEGIN")
    for number, name in enumerate(names(count)):
        people.append((name, next_id + number))
        insert(db, "tombstones", {"id": people[-1][1], "kind": "user", "name": name})
        insert(db, "users", {**template, "uid": people[-1][1], "name": name,
                             "email": f"{name}@people.example"})
    next_id += count
    for number in range(0, count, COURSE_SIZE):
        course = f"course{number // COURSE_SIZE}"
        courses[course] = next_id
        insert(db, "tombstones", {"id": next_id, "kind": "group", "name": course})
        insert(db, "groups", {**all_users, "gid": next_id, "name": course})
        for _, uid in people[number:number + COURSE_SIZE]:
            for gid in (all_users["gid"], next_id):
                insert(db, "members", {"uid": uid, "gid": gid})
        next_id += 1
    # The generation tells the registry that its index is not that of these rows.
    db.execute("UPDATE meta SET next_id = ?, generation = generation + 1", (next_id,))
    db.execute("COMMIT")
    db.close()
    return people, courses


def state_make(directory, program, count):
    """A state directory with so many users, by the registry but for their rows."""
    os.makedirs(f"{directory}/registry", 0o700)
    os.makedirs(f"{directory}/nss", 0o755)
    os.makedirs(f"{directory}/ledger", 0o700)
    subprocess.run([program, "make", directory], check=True)
    people, courses = registry_fill(f"{directory}/registry/registry.db", count)
    subprocess.run([program, "open", directory], check=True)
    return people, courses


# ---- the same as files

def system_lines(path, field=2):
    with open(path, encoding="utf-8") as lines:
        rows = [line for line in lines if line.count(":") > field]
    system = [line for line in rows if int(line.split(":")[field]) < 1000]
    nobody = [line for line in rows if line.startswith(("nobody:", "nogroup:"))]
    return "".join(system[:SYSTEM_LINES - 1] + nobody)


def passwd_lines(people):
    return "".join(f"{name}:*:{uid}:{uid}::{HOMES}/{name}:{SHELL}\n" for name, uid in people)


def group_lines(people, courses):
    lines = [f"{name}:*:{uid}:\n" for name, uid in people]
    for number, (course, gid) in enumerate(courses.items()):
        members = people[number * COURSE_SIZE:(number + 1) * COURSE_SIZE]
        lines.append(f"{course}:*:{gid}:{','.join(name for name, _ in members)}\n")
    return "".join(lines)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def cache_index(path, column, suffix):
    """What nsscache makes: lines of one length, sorted as bytes, each a key and where its line is."""
    entries, at = [], 0
    with open(path, "rb") as lines:
        for line in lines:
            entries.append((line.split(b":")[column], b"%d" % at))
            at += len(line)
    size = max(len(key) + len(place) for key, place in entries) + 2
    with open(f"{path}.{suffix}", "wb") as out:
        for key, place in sorted(entries):
            out.write((key + b"\0" + place + b"\0").ljust(size, b"\0") + b"\n")


class Scenes:
    def __init__(self, directory, people, courses):
        self.directory, self.people = directory, people
        self.passwd, self.group = passwd_lines(people), group_lines(people, courses)

    def make(self, name, source, count):
        """nsswitch.conf, and files with the accounts of the system alone."""
        here = f"{self.directory}/{name}"
        for database in ("passwd", "group"):
            put(f"{here}/{database}", system_lines(f"/etc/{database}"))
        put(f"{here}/nsswitch.conf", f"passwd: {source}\ngroup: {source}\n")
        print(f"{name}={count}")
        return here

    def make_files(self):
        here = self.make("files", "files", PEOPLE)
        for database, lines in (("passwd", self.passwd), ("group", self.group)):
            with open(f"{here}/{database}", "a", encoding="utf-8") as out:
                out.write(lines)

    def make_extrausers(self):
        here = self.make("extrausers", "files extrausers", PEOPLE)
        put(f"{here}/extrausers/passwd", self.passwd)
        put(f"{here}/extrausers/group", self.group)

    def make_db(self):
        here = self.make("db", "files db", PEOPLE)
        put(f"{here}/etc/passwd", self.passwd)
        put(f"{here}/etc/group", self.group)
        os.makedirs(f"{here}/misc")
        subprocess.run(["make", "-s", "-f", "/var/lib/misc/Makefile", f"ETC={here}/etc",
                        f"VAR_DB={here}/misc", "DBS=passwd group", "MAKEDB=makedb --quiet"],
                       check=True, stdout=sys.stderr)

    def make_cache(self):
        here = self.make("cache", "files cache", PEOPLE)
        put(f"{here}/passwd.cache", self.passwd)
        put(f"{here}/group.cache", self.group)
        for database, column, suffix in (("passwd", 0, "ixname"), ("passwd", 2, "ixuid"),
                                         ("group", 0, "ixname"), ("group", 2, "ixgid")):
            cache_index(f"{here}/{database}.cache", column, suffix)
            for path in (f"/etc/{database}.cache", f"/etc/{database}.cache.{suffix}"):
                put(path, "")  # in the lab: a place to mount on


def is_installed(module):
    return bool(glob.glob(f"/usr/lib/*/libnss_{module}.so.2") +
                glob.glob(f"/usr/lib/libnss_{module}.so.2"))


def owners_make(directory, people):
    os.makedirs(directory)
    for name, uid in people[::len(people) // OWNERS][:OWNERS]:
        put(f"{directory}/{name}", "")
        os.chown(f"{directory}/{name}", uid, uid)


def states_main(directory, program):
    for count in PUBLISHED:
        people, courses = state_make(f"{directory}/state-{count}", program, count)
        with open(f"{directory}/people-{count}.json", "w", encoding="ascii") as out:
            json.dump([people, courses], out)


def scenes_main(directory, states):
    with open(f"{states}/people-{PEOPLE}.json", encoding="ascii") as file:
        people, courses = json.load(file)
    put(f"{directory}/people", "".join(f"{name} {uid}\n" for name, uid in people))
    for count in (FEW, PEOPLE):
        owners_make(f"{directory}/owners-{count}", people[:count])
    scenes = Scenes(directory, people, courses)
    scenes.make("none", "files", 0)
    for name, count in (("atelier", PEOPLE), ("atelier-1000", FEW)):
        shutil.copytree(f"{states}/state-{count}/nss",
                        f"{scenes.make(name, 'files atelier', count)}/nss")
    scenes.make_files()
    for module, package in (("extrausers", "libnss-extrausers"), ("db", "libnss-db"),
                            ("cache", "libnss-cache")):
        if is_installed(module):
            getattr(scenes, f"make_{module}")()
        else:
            print(f"bench: {package} is not installed: not measured", file=sys.stderr)


if __name__ == "__main__":
    {"states": states_main, "scenes": scenes_main}[sys.argv[1]](*sys.argv[2:])
