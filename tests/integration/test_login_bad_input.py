# SPDX-License-Identifier: ISC
# test_login_bad_input.py - what is typed at the prompt: one text and one delay for every denial.
import concurrent.futures
import itertools
import os
import re
import statistics
import threading
import time

import doors
import lab
import pexpect
import pytest

PROMPT = "Code or link: "
DENIED = "Permission denied (publickey,keyboard-interactive)."
DELAY_LEAST_S = 1.0  # libpam varies the module's two seconds by half
# How far two medians may be from each other on a machine that does other things as well. The delay
# itself is random, but the same for all denials of one second: pairs are typed at the same time.
APART_S = 0.8
ROUNDS = 5
NUMBERS = itertools.count()
WRONG = "ABCD-EFGH-JKMN"


@pytest.fixture
def user():
    """A new user, whose tries nobody has counted."""
    return new_user()


def new_user():
    name = f"typist{next(NUMBERS)}"
    assert lab.user_add(name=name).status == 201
    return name


def at_prompt(name, *command, tries=1, flags=()):
    """The real client on a terminal of its own, at its first prompt."""
    argv = lab.ssh_argv(name, *command, flags=flags,
                        options=(f"NumberOfPasswordPrompts={tries}",))
    client = pexpect.spawn(argv[0], argv[1:], timeout=60, env={"PATH": os.environ["PATH"]},
                           encoding="utf-8", codec_errors="backslashreplace")
    client.delaybeforesend = None
    client.expect_exact(PROMPT)
    return client


def ending(client):
    """All that comes up to the end of the client, as one text; its exit code."""
    client.expect(pexpect.EOF)
    client.close()
    return client.before.replace("\r\n", "\n").strip(), client.exitstatus


def attempt(name, text, *command):
    """Type one line; (what is said then, exit code, seconds until the end)."""
    client = at_prompt(name, *command)
    start = time.monotonic()
    client.sendline(doors.typed(text))
    said, code = ending(client)
    # The client says the name as it likes: escaped, for one.
    return re.sub(r"^.*(?=@127\.0\.0\.1: )", "NAME", said), code, time.monotonic() - start


def at_once(jobs, width=5):
    """Run (function, arguments) side by side; results in their order."""
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        return [future.result() for future in [pool.submit(*job) for job in jobs]]


def is_denied(said, code):
    return said == f"NAME@127.0.0.1: {DENIED}" and code == 255


def is_let_in(name, text):
    said, code, _ = attempt(name, text, "echo in")
    return said == "in" and code == 0


def test_all_denials_have_one_text(user):
    other = new_user()
    good, web, revoked, old, used, foreign = [
        lab.mint(name, **more) for name, more in (
            (user, {}), (user, {"purpose": "web"}), (user, {}), (user, {"valid_s": 1}), (user, {}),
            (other, {}))]
    assert lab.api("DELETE", f"/v1/links/{revoked['id']}").status == 204
    assert doors.pam_ask(user, used["code"]) == doors.PAM_ALLOWED
    lab.eventually(lambda: lab.link_state(old["id"]) == "expired")
    token = doors.token_of(good)
    cases = {
        "wrong": WRONG, "empty": "", "blanks": "   ", "expired": old["code"],
        "expired link": old["link"], "used": used["code"], "used link": used["link"],
        "revoked": revoked["code"], "another's": foreign["code"],
        "another's link": foreign["link"], "web": web["code"], "600": "x" * 600,
        "10000": "y" * 10000, "twice": good["code"] + good["code"], "cut": token[:-1],
        "fragment": good["link"][:-3] + "abc", "no fragment": good["link"].split("#")[0],
    }
    results = at_once([(attempt, user, text) for text in cases.values()])
    assert {case: result[:2] for case, result in zip(cases, results)
            if not is_denied(*result[:2])} == {}
    assert min(result[2] for result in results) >= DELAY_LEAST_S
    # Nothing was used up: what is good is good, and at the right name too.
    for link, state in ((good, "open"), (web, "open"), (foreign, "open"), (old, "expired"),
                        (revoked, "revoked"), (used, "used")):
        assert lab.link_state(link["id"]) == state
    assert is_let_in(other, foreign["code"])
    assert is_let_in(user, good["link"])


@pytest.mark.parametrize("form", ["{code}", " {code}", "{code}  ", "{low}", "{plain}", "{token}",
                                  "{link}", "  {link}\r", "<{link}>", "\t{link}\t"])
def test_what_is_pasted_with_something_around_it_is_good(user, form):
    minted = lab.mint(user)
    text = form.format(code=minted["code"], low=minted["code"].lower(), link=minted["link"],
                       plain=minted["code"].replace("-", ""), token=doors.token_of(minted))
    assert is_let_in(user, text)
    assert lab.link_state(minted["id"]) == "used"


def interrupt(client):
    """Ctrl-C. The client's readpassphrase(3) loses one that comes just before it reads."""
    for _ in range(20):
        client.sendintr()
        time.sleep(0.2)
        if not client.isalive():
            return


@pytest.mark.parametrize("leave", ["ctrl-c", "ctrl-d", "kill"])
def test_a_prompt_that_is_left_uses_nothing_up(user, leave):
    minted = lab.mint(user)
    client = at_prompt(user, "true")
    if leave == "ctrl-c":
        interrupt(client)
    elif leave == "ctrl-d":
        client.sendeof()
    else:
        client.send(minted["code"])  # all but the newline
        client.kill(9)
    said, code = ending(client)
    assert code != 0
    assert "closed" not in said, "sshd's own process must not have crashed"
    assert lab.link_state(minted["id"]) == "open"
    assert lab.sessions(user) == []
    assert is_let_in(user, minted["code"])


def known_and_unknown():
    """Names that get nobody in: a user without a link, two who may not log in, and no users."""
    idle, locked, expired = new_user(), new_user(), new_user()
    past = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
    for name, change in ((locked, {"locked": True}), (expired, {"expires_at": past})):
        lab.mint(name)
        assert lab.api("PATCH", f"/v1/users/{name}", change).status == 200
    return [idle, locked, expired, "nobodyhere", "root", "nobody", "sshd", "bob", "atelier"]


# As odd as the client lets through; programs/pamhost.c says worse ones in test_pam.py.
ODD_NAMES = ["Alice", "ALICE", "alice ", " alice", "al ice", "\u00e4lice", "al\\ice", "10001",
             "a" * 31, "a" * 32, "a" * 300, "alice%s%n", "*", "alice,bob", "alice@lab", "../alice"]


def test_unknown_names_and_users_who_may_not_log_in_are_asked_and_told_the_same(user, bob):
    lab.command("chpasswd", input="bob:Corr3ct-of-bob\n")
    names = [user, *known_and_unknown(), *ODD_NAMES]
    good = lab.mint(user)
    texts = [WRONG if name == user else "Corr3ct-of-bob" if name == "bob" else good["code"]
             for name in names]
    results = at_once([(attempt, name, text) for name, text in zip(names, texts)])
    assert {name: result[:2] for name, result in zip(names, results)
            if not is_denied(*result[:2])} == {}
    assert min(result[2] for result in results) >= DELAY_LEAST_S
    assert is_let_in(user, good["code"])


@pytest.mark.parametrize("name", ["known", "nobodyhere", "root"])
def test_after_three_tries_the_connection_ends(user, name):
    good = lab.mint(user)
    name = user if name == "known" else name
    client = at_prompt(name, "true", tries=9)
    for _ in range(2):
        client.sendline(WRONG)
        client.expect_exact(PROMPT)
    client.sendline(WRONG)
    said, code = ending(client)
    assert code == 255
    assert PROMPT not in said
    assert re.fullmatch(r"Received disconnect from 127\.0\.0\.1 port \d+:2: "
                        r"Too many authentication failures\n?"
                        r"(Disconnected from 127\.0\.0\.1 port \d+)?", said)
    assert lab.link_state(good["id"]) == "open"


def test_a_mistyped_code_may_be_typed_again(user):
    good = lab.mint(user)
    client = at_prompt(user, "echo in", tries=3)
    client.sendline(WRONG)
    client.expect_exact(PROMPT)
    client.sendline("")
    client.expect_exact(PROMPT)
    client.sendline(good["code"])
    assert ending(client) == ("in", 0)


def test_the_delay_tells_nobody_which_names_there_are(user):
    old = lab.mint(user, valid_s=1)
    other = new_user()
    foreign = lab.mint(other)
    lab.eventually(lambda: lab.link_state(old["id"]) == "expired")
    kinds = [(user, WRONG), (user, old["code"]), ("nobodyhere", WRONG),
             ("nobodyhere", foreign["code"]), ("root", WRONG)]
    seconds = [[] for _ in kinds]
    for _ in range(ROUNDS):
        barrier = threading.Barrier(len(kinds), timeout=60)
        for each, taken in zip(seconds, at_once([(timed, barrier, *kind) for kind in kinds],
                                                len(kinds))):
            each.append(taken)
    assert min(min(each) for each in seconds) >= DELAY_LEAST_S
    medians = [statistics.median(each) for each in seconds]
    assert max(medians) - min(medians) < APART_S, medians
    # More than a flat second: the clock of this test can see a difference of that size.
    assert max(max(each) for each in seconds) - min(min(each) for each in seconds) > 0.1


def timed(barrier, name, text):
    client = at_prompt(name, "true")
    barrier.wait()
    start = time.monotonic()
    client.sendline(doors.typed(text))
    said, code = ending(client)
    assert code == 255, said
    return time.monotonic() - start


class Guesser(threading.Thread):
    """Guesses codes of a name all the time, so that it has no tries left from this address."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name_tried, self.stopping, self.ready = name, False, threading.Event()
        self.verdicts = set()

    def run(self):
        done = 0
        while not self.stopping:
            self.verdicts.add(doors.pam_ask(self.name_tried, WRONG, rhost="127.0.0.1"))
            done += 1
            if done == 30:
                self.ready.set()
            time.sleep(0.005 if done > 30 else 0)

    def __enter__(self):
        self.start()
        assert self.ready.wait(30)
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.join(30)


def test_too_many_tries_refuse_the_right_code_until_later(user):
    good, other = lab.mint(user), new_user()
    with Guesser(user) as guesser:
        said, code, taken = attempt(user, good["code"], "echo in")
        assert is_denied(said, code)
        assert taken >= DELAY_LEAST_S
        assert is_let_in(other, lab.mint(other)["code"])  # nobody else pays for it
        # Nor does whoever is elsewhere, or has the whole link.
        elsewhere, whole = lab.mint(user), lab.mint(user)
        assert doors.pam_ask(user, elsewhere["code"], rhost="192.0.2.7") == doors.PAM_ALLOWED
        assert is_let_in(user, whole["link"])
    assert guesser.verdicts == {doors.PAM_DENIED}
    assert lab.link_state(good["id"]) == "open"
    time.sleep(3.5)  # a try comes back every three seconds
    assert is_let_in(user, good["code"])


def test_twenty_tries_a_minute_and_the_next_is_not_looked_at(user):
    good = lab.mint(user)
    start = time.monotonic()
    for _ in range(19):
        assert doors.pam_ask(user, WRONG) == doors.PAM_DENIED
    assert doors.pam_ask(user, good["code"]) == doors.PAM_ALLOWED  # the twentieth, given back
    second = lab.mint(user)
    assert doors.pam_ask(user, WRONG) == doors.PAM_DENIED
    late = doors.pam_ask(user, second["code"])
    if time.monotonic() - start > 2.5:
        pytest.skip("this machine is too busy: a try has come back meanwhile")
    assert late == doors.PAM_DENIED
    assert lab.link_state(second["id"]) == "open"
    lab.eventually(lambda: doors.pam_ask(user, second["code"]) == doors.PAM_ALLOWED, 10, 0.5)


def test_names_that_nobody_has_are_throttled_alike(user):
    good = lab.mint(user)
    with Guesser("") as unknown, Guesser(user) as known:
        results = at_once([(attempt, name, text) for name, text in (
            (user, good["code"]), ("nobodyhere", good["code"]), ("root", WRONG))])
    assert unknown.verdicts == known.verdicts == {doors.PAM_DENIED}
    assert [is_denied(said, code) for said, code, _ in results] == [True] * 3
    assert min(taken for _, _, taken in results) >= DELAY_LEAST_S
    assert lab.link_state(good["id"]) == "open"
    time.sleep(3.5)
    assert is_let_in(user, good["code"])


def test_nothing_that_was_typed_or_minted_can_be_read_on_the_host(user):
    # Something was typed and minted, here too, and every kind of file was there to be written to.
    good = lab.mint(user)
    attempt(user, "never-seen-by-any-log")
    assert is_let_in(user, good["code"])
    for path in ("/run/lab/sessiond.log", "/run/lab/sessiond-api.log", "/run/lab/logger.log",
                 "/run/lab/atelier-sshd.log", "/var/log/btmp", "/var/log/wtmp",
                 f"{lab.STATE}/registry/registry.db"):
        assert os.path.exists(path), path
    for log in ("sessiond-api", "logger"):
        with open(f"/run/lab/{log}.log", "rb") as file:
            assert user.encode() in file.read()
    assert doors.leaks() == []
    # It would be seen.
    with doors.written("/run/lab/leak.log", f"password={good['code'].lower()}\n"):
        assert doors.leaks() == [("/run/lab/leak.log", good["code"])]
