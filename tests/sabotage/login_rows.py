# SPDX-License-Identifier: ISC
# login_rows.py - the protections of a login: of its code, of its session, of its door.
#
# Where there are two layers, each protection twice. The condition of the statement that uses a link
# up is one, the trigger of the table another. The module in the login's process takes the steps,
# and sessiond reads from /proc whether it did: alone a missing step is a login that is denied, with
# "verify" the login goes through and GET /v1/sessions shows what is missing.
import time

import lab
import test_sabotage_targets as targets
from row import Row
from run_rows import NO_GROUPS

SESSIOND_LOG = "/run/lab/sessiond.log"
LEASE_S = 5  # SESSION_LEASE_MS of common/session_wire.h
SOON_S = 3
EX_CONFIG = 78


def here(name):
    return f"test_sabotage_targets.py::{name}"


# ---- codes: what pam.sock answers

def answers(ask, *wanted):
    """@ask: what pam.sock says to its questions, one after the other."""
    def seen():
        got = ask()
        return "" if got == list(wanted) else f"a login is told {got}"
    return seen


def code_twice():
    code = targets.mint()["code"]
    return [targets.authenticate("alice", code) for _ in range(2)]


def code_of_the_web():
    return [targets.authenticate("alice", targets.mint(purpose="web")["code"])]


def code_of_another():
    return [targets.authenticate("alice", targets.mint("carol")["code"])]


def code_of_a_locked_user():
    """The second question is the other layer: may she log in at all?"""
    link = targets.mint("carol")
    targets.lock("carol", True)
    try:
        return [targets.authenticate("carol", link["code"]), targets.ask(targets.ACCOUNT, "carol")]
    finally:
        targets.lock("carol", False)


# ---- logins

def log_size():
    with open(SESSIOND_LOG, "rb") as log:
        return log.seek(0, 2)


def denied(what):
    """No login, no session, and sessiond says that it was this."""
    def seen():
        start = log_size()
        result = lab.ssh("alice", targets.mint()["code"], "true")
        with open(SESSIOND_LOG, encoding="utf-8", errors="replace") as log:
            log.seek(start)
            said = log.read()
        if result.returncode != 0 and f"not confined: {what} differs" in said and \
                not lab.sessions("alice"):
            return ""
        return f"a login ends with {result.returncode}, sessiond says {said!r}"
    return seen


def goes_through(is_missing):
    """The login lives, and its session shows what is missing."""
    def seen():
        with targets.login() as live:
            return "" if is_missing(live.session) else f"a session shows {live.session}"
    return seen


def receipt(is_missing):
    return goes_through(lambda session: is_missing(session["receipt"]))


def ends_within_the_lease():
    """A login that never says that it has joined is ended by sessiond, and never is a session."""
    client = lab.ssh_popen("alice", targets.mint()["code"], "echo up; exec cat")
    try:
        if client.stdout.readline() != "up\n":
            return f"no login: {client.stderr.read()}"
        begin = time.monotonic()
        while client.poll() is None and time.monotonic() < begin + LEASE_S + SOON_S:
            if lab.sessions("alice"):
                return f"a session: {lab.sessions('alice')}"
            time.sleep(0.1)
        return "" if client.poll() is not None else "the login lives on"
    finally:
        client.kill()
        client.communicate()


def outlives_its_process():
    with targets.login() as live:
        lab.die_alone(live.session["pid"])
        time.sleep(1)
        if lab.process_or_none(live.pid) is None or not live.is_listed():
            return "the session ended with its login"
    return ""


def door_stays_closed():
    result = lab.service("start", "atelier-sshd", check=False)
    if result.returncode == 1 and f"exit {EX_CONFIG}" in result.stderr:
        return ""
    return f"atelier-sshd starts: {result.returncode} {result.stderr}"


SINGLE_USE = (here("test_a_code_opens_one_login"),)
WORKS = (here("test_a_login_works"),)
FILTER = (here("test_the_filter_of_a_login_is_loaded"),
          here("test_a_login_is_refused_a_dangerous_call"))
NAMESPACES = (here("test_a_login_is_in_the_namespaces_of_its_session"),)
CAPS = (here("test_a_login_has_no_capability"),)
NNP = (here("test_a_login_gains_no_privileges"),)
RLIMITS = (here("test_the_limits_of_a_login_are_those_of_a_run"),)
ABSTRACT = (here("test_an_abstract_name_of_the_host_is_out_of_reach"),)
NO_SCOPE = "" if targets.landlock_abi() >= targets.ABI_WITH_SCOPE else \
    f"Landlock of this kernel has ABI {targets.landlock_abi()}: no scopes"


def module(step, **daemons):
    """A daemon first, so that it comes back last: what it left behind is gone by then."""
    return {**daemons, "pam_atelier.so": step}


ROWS = (
    Row("single use, trigger there", {"sessiond-api": "link-single-use"},
        answers(code_twice, "allowed", "unavailable"), SINGLE_USE),
    Row("single use", {"trigger": "links_are_used_once", "sessiond-api": "link-single-use"},
        answers(code_twice, "allowed", "allowed"), SINGLE_USE),
    Row("purpose", {"sessiond-api": "link-purpose"}, answers(code_of_the_web, "allowed"),
        (here("test_a_link_of_the_browser_opens_no_ssh"),)),
    Row("user of a code", {"sessiond-api": "link-user"}, answers(code_of_another, "allowed"),
        (here("test_a_code_is_bound_to_its_user"),)),
    Row("lock, account there", {"sessiond-api": "link-lock"},
        answers(code_of_a_locked_user, "allowed", "denied"),
        (here("test_a_locked_user_uses_no_code_up"),)),

    Row("join, lease checked", module("join"), denied("mount namespace"), WORKS),
    Row("join", module("join", sessiond="verify"),
        receipt(lambda r: not r["namespaces"]["mnt"]["own"] and not r["namespaces"]["pid"]["own"]),
        NAMESPACES),
    # The canary's probe is in a group, too, and would speak first.
    Row("control group of a login, lease checked", {"sessiond": "cgroup,canary"}, denied("control group"),
        WORKS, NO_GROUPS),
    Row("filter of a login, lease checked", module("filter"), denied("seccomp"), WORKS),
    Row("filter of a login", module("filter", sessiond="verify"),
        receipt(lambda r: r["seccomp"] == 0), FILTER),
    # One filter that allows everything: /proc counts it as ours, and the kernel shows that it is not.
    Row("another filter of a login, lease checked", {"sessiond": "loginfilter"}, denied("filter"), WORKS),
    Row("another filter of a login", {"sessiond": "loginfilter,verify"},
        receipt(lambda r: r["seccomp"] == 2), FILTER[1:]),
    Row("no_new_privs of a login, lease checked", module("nnp"), denied("no_new_privs"), WORKS),
    Row("no_new_privs of a login", module("nnp", sessiond="verify"),
        receipt(lambda r: r["no_new_privs"] == 0), NNP),
    Row("capabilities of a login, lease checked", module("caps"), denied("capabilities"), WORKS),
    Row("capabilities of a login", module("caps", sessiond="verify"),
        receipt(lambda r: r["capabilities"]["bounding"] != "0" * 16), CAPS),
    Row("limits of a login, lease checked", module("rlimit"), denied("rlimits"), WORKS),
    Row("limits of a login", module("rlimit", sessiond="verify"),
        receipt(lambda r: r["rlimits"] != targets.limits_of_a_run()), RLIMITS),
    Row("abstract scope, lease checked", module("landlock"), denied("abstract scope"), WORKS,
        NO_SCOPE),
    Row("abstract scope", module("landlock", sessiond="verify"),
        goes_through(lambda session: session["abstract"] == "shared"), ABSTRACT, NO_SCOPE),

    Row("lease never asked for", module("lease"), ends_within_the_lease,
        (here("test_a_live_login_is_listed"),)),
    Row("lease", {"sessiond": "lease"}, outlives_its_process,
        (here("test_a_login_ends_with_its_process"),)),
    Row("drop of SYN cookies", {"sessiond": "netkeep", "rule": "iptables DROP"}, goes_through(bool),
        (here("test_a_full_queue_in_a_login_answers_nobody"),)),
    Row("PAM service of the door", {"pam service": "/etc/pam.d/sshd"}, door_stays_closed, WORKS),
)
