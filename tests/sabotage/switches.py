# SPDX-License-Identifier: ISC
# switches.py - take something away in this lab, and give it back.
#
# Each function takes one thing and leaves with the caller's ExitStack how it comes back. A program
# that can be sabotaged is told so when it starts; the module of logins by its line in the PAM
# service. The copies are installed in the lab alone: the api does not run as root and may not see
# the build directory. One of a daemon is mounted over the shipped program, which it is to look like.
import contextlib
import glob
import os
import shutil
import socket
import sqlite3
import subprocess
import time

import lab

BUILD = os.environ.get("ATELIER_BUILD")
COPIES = "/usr/local/libexec/lab"
PAM_SERVICE = "/etc/pam.d/atelier-sshd"
REGISTRY = f"{lab.STATE}/registry/registry.db"
STALE_S = 1.1  # a proof of the canary is good for a second

# name: (shipped, built to be sabotaged, what only the latter has in its text, and in its symbols)
BINARIES = {
    "sessiond": ("/usr/lib/atelier/sessiond", "sessiond/monitor/sessiond-sabotage",
                 b"ATELIER_SABOTAGE", "sabotage_enabled"),
    "sessiond-api": ("/usr/lib/atelier/sessiond-api", "sessiond/api/sessiond-api-sabotage",
                     b"ATELIER_SABOTAGE", "sabotage_sql"),
    "pam_atelier.so": (None, ".libs/pam_atelier_sabotage.so", b"sabotage=", None),
}


def shipped(name):
    return BINARIES[name][0] or glob.glob(f"/usr/lib/*/security/{name}")[0]


def install():
    for name, (_, built, *_) in BINARIES.items():
        where = COPIES if BINARIES[name][0] else os.path.dirname(shipped(name))
        shutil.copy(f"{BUILD}/{built}", f"{where}/{os.path.basename(built)}")


def copy_of(name):
    return f"{COPIES}/{os.path.basename(BINARIES[name][1])}"


def binaries_fault():
    """The shipped ones have no switches; the copies have, so that the search can find them."""
    faults = []
    for name, (_, built, text, symbol) in BINARIES.items():
        for path, has in ((f"{BUILD}/{built}", True), (shipped(name), False)):
            with open(path, "rb") as file:
                if (text in file.read()) is not has:
                    faults.append(f"the string in {path}")
            symbols = subprocess.run(["nm", path], capture_output=True, text=True,
                                     check=False).stdout
            if symbol and (symbol in symbols) is not has:
                faults.append(f"the symbol in {path}")
    return ", ".join(faults)


# ---- daemons

def bring_up():
    lab.bring_up()
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


def end_leftovers():
    """What outlives the daemon that made it."""
    for process in lab.run_processes():
        with contextlib.suppress(ProcessLookupError):  # gone with another one
            lab.die_alone(process.pid)


def start_shipped(name):
    lab.service("stop", name)
    end_leftovers()  # before there is a new probe, which looks like one until it has its uid
    bring_up()


def sabotage_daemon(name):
    def take(sabotage, undo):
        undo.callback(start_shipped, name)
        undo.callback(lab.command, "umount", "-l", shipped(name))  # it runs still
        lab.command("mount", "--bind", copy_of(name), shipped(name))
        lab.service("restart", name, "--env", f"ATELIER_SABOTAGE={sabotage}")
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
    return take


# ---- the PAM service of atelier-sshd

def pam_write(text):
    with open(f"{PAM_SERVICE}.new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(file.name, PAM_SERVICE)


def pam_read(path=PAM_SERVICE):
    with open(path, encoding="ascii") as file:
        return file.read()


def sabotage_module(step, undo):
    """The module that leaves @step out; sshd reads the service anew for each login."""
    text = pam_read()
    sabotaged = text.replace("pam_atelier.so only",
                             f"pam_atelier_sabotage.so only sabotage={step}")
    assert sabotaged != text, text
    undo.callback(end_leftovers)
    undo.callback(pam_write, text)
    pam_write(sabotaged)


def replace_service(path, undo):
    """Another service in the place of ours, as an admin could do it; atelier-sshd is down."""
    undo.callback(lab.service, "restart", "atelier-sshd")
    undo.callback(pam_write, pam_read())
    pam_write(pam_read(path))
    lab.service("stop", "atelier-sshd")


# ---- rules and registry

def drop_rule(which, undo):
    """@which: "FAMILY TARGET [MATCH]": those of OUTPUT that lead there. ATELIER has two jumps, by
    uid (owner) and by control group, of which each is enough; DROP is for SYN cookies."""
    family, target, *match = which.split()
    rules = [rule.split() for rule in lab.rules(family)
             if rule.endswith(f" -j {target}") and all(f" -m {word} " in rule for word in match)]
    assert rules, which
    undo.callback(lab.rules_restore)
    for words in rules:
        lab.command(family, "-w", "5", "-D", *(word.strip('"') for word in words[1:]))
    time.sleep(STALE_S)


def keep_name(_, undo):
    """Who has no namespace for it names the host."""
    undo.callback(socket.sethostname, socket.gethostname())


def drop_table(which, _):
    """@which: "FAMILY NAME" of nft; sessiond puts it back when it is the shipped one again."""
    lab.command("nft", "delete", "table", *which.split())


@contextlib.contextmanager
def registry_open():
    """registry.db, by root, while nobody else has it open; leaves the api stopped."""
    lab.service("stop", "sessiond-api")
    with contextlib.closing(sqlite3.connect(REGISTRY)) as database, database:
        yield database


def drop_trigger(name, undo):
    with registry_open() as database:
        text = database.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?",
                                (name,)).fetchone()[0]
        database.execute(f"DROP TRIGGER {name}")
    undo.callback(make_trigger, text)
    bring_up()


def make_trigger(text):
    with registry_open() as database:
        database.execute(text)
    bring_up()


TAKE = {
    "sessiond": sabotage_daemon("sessiond"),
    "sessiond-api": sabotage_daemon("sessiond-api"),
    "pam_atelier.so": sabotage_module,
    "pam service": replace_service,
    "rule": drop_rule,
    "table": drop_table,
    "host name": keep_name,
    "trigger": drop_trigger,
}


def take(taken, undo):
    """@taken: what of TAKE, and which; in this order, and back in the reverse one."""
    for what, which in taken.items():
        TAKE[what](which, undo)
