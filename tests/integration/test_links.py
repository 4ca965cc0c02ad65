# SPDX-License-Identifier: ISC
# test_links.py - links as the API gives them: rights, bounds, states, one use, no secret on disk.
import concurrent.futures
import contextlib
import datetime
import itertools
import json
import os
import random
import re
import shutil
import time

import doors
import lab
import pytest

REGISTRY = f"{lab.STATE}/registry"
KEY = f"{REGISTRY}/link.key"
KEYS = {"id", "user", "uid", "link", "code", "expires_at", "purpose"}
LISTED = {"id", "user", "uid", "purpose", "state", "created_at", "expires_at", "used_at",
          "caller_uid"}
DAY_S = 24 * 60 * 60
NUMBERS = itertools.count()


@pytest.fixture
def user():
    name = f"link{next(NUMBERS)}"
    assert lab.user_add(name=name).status == 201
    return name


def post(body, **more):
    """What may be minted is remembered."""
    answer = lab.api("POST", "/v1/links", body, **more)
    if answer.status == 201:
        lab.remember(answer.body)
    return answer


def row_of(minted):
    rows = lab.api("GET", "/v1/links").body["links"]
    return next(row for row in rows if row["id"] == minted["id"])


def seconds(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(
        tzinfo=datetime.timezone.utc).timestamp()


def opens(user, secret):
    return doors.pam_ask(user, secret) == doors.PAM_ALLOWED


# ---- mint

def test_a_link_has_two_forms_and_no_query(user):
    before = int(time.time())
    minted = lab.mint(user)
    assert set(minted) == KEYS
    assert (minted["user"], minted["uid"]) == (user, lab.uid_of(user))
    assert minted["purpose"] == "any"
    assert re.fullmatch(r"https://[^/#?]+/#atl_[A-Za-z0-9_-]{47}", minted["link"])
    assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){2}[0-9A-HJKMNP-TV-Z]{4}", minted["code"])
    assert re.fullmatch("[0-9a-f]{16}", minted["id"])
    assert before + 900 <= seconds(minted["expires_at"]) <= time.time() + 900
    assert opens(user, minted["code"])


def test_the_answer_is_not_to_be_kept_by_anybody(user):
    answer = post({"user": user})
    assert answer.headers["Cache-Control"] == "no-store"


def test_secrets_do_not_repeat(user):
    minted = [lab.mint(user) for _ in range(20)]
    for key in ("id", "code", "link"):
        assert len({each[key] for each in minted}) == 20


def test_a_qr_code_comes_on_request(user):
    answer = post({"user": user, "qr": True})
    assert answer.status == 201
    lines = answer.body["qr"].splitlines()
    assert len(lines) > 10
    assert len({len(line) for line in lines}) == 1
    assert answer.body["code"] not in answer.body["qr"]
    assert "qr" not in post({"user": user, "qr": False}).body


@pytest.mark.parametrize("body, field", [
    ({"valid_s": 0}, "valid_s"), ({"valid_s": -1}, "valid_s"),
    ({"valid_s": 14 * DAY_S + 1}, "valid_s"),
    ({"valid_s": 2**32}, "valid_s"), ({"valid_s": 2**63}, None), ({"valid_s": "60"}, "valid_s"),
    ({"valid_s": 1.5}, "valid_s"), ({"valid_s": True}, "valid_s"), ({"purpose": "run"}, "purpose"),
    ({"purpose": ""}, "purpose"), ({"purpose": "SSH"}, "purpose"), ({"purpose": 1}, "purpose"),
    ({"purpose": "any "}, "purpose"), ({"qr": 1}, "qr"), ({"qr": "yes"}, "qr"),
    ({"colour": "blue"}, "colour"), ({"code": "ABCD-EFGH-JKMN"}, "code"), ({"uid": 10001}, "uid"),
    ({"expires_at": "2030-01-01T00:00:00Z"}, "expires_at"), ({"user": None}, "user"),
    ({"user": 10001}, "user"), ({"user": ["alice"]}, "user")])
def test_what_is_wrong_is_named_and_nothing_is_minted(user, body, field):
    count = len(lab.api("GET", "/v1/links").body["links"])
    answer = post({"user": user, **body})
    assert (answer.status, answer.body["status"]) == (400, "bad_request"), answer
    assert field is None or answer.body["field"] == field
    assert len(lab.api("GET", "/v1/links").body["links"]) == count
    for good in ({"valid_s": 1}, {"valid_s": 14 * DAY_S}, {"purpose": "web"}, {"qr": True}):
        assert post({"user": user, **good}).status == 201


@pytest.mark.parametrize("name", ["nobodyhere", "root", "", "../alice", "a" * 300, "Alice", "bob"])
def test_a_link_for_nobody_is_unknown_user(name):
    answer = post({"user": name})
    assert (answer.status, answer.body["status"]) == (404, "unknown_user")
    assert answer.body["field"] == "user"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"user": "alice"', b"\xff"])
def test_a_body_that_is_no_object_mints_nothing(body):
    answer = post(body)
    assert (answer.status, answer.body["status"]) == (400, "bad_request")


# ---- rights

def test_only_a_caller_with_the_verb_mints(user, caller):
    assert post({"user": user}, uid=lab.CALLER).status == 403
    caller(lab.STRANGER, verbs=["users", "runs", "net-public"])
    answer = post({"user": user}, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    caller(lab.STRANGER, verbs=["links"])
    answer = post({"user": user}, uid=lab.STRANGER)
    assert answer.status == 201
    assert row_of(answer.body)["caller_uid"] == lab.STRANGER
    assert row_of(lab.mint(user))["caller_uid"] == 0
    assert opens(user, answer.body["code"])
    # And nothing else came with it.
    assert lab.api("POST", "/v1/runs", {"user": user, "argv": ["/bin/true"]},
                   uid=lab.STRANGER).status == 403


def test_root_and_strangers_are_no_callers(user):
    for uid in (0, lab.STRANGER):
        answer = post({"user": user}, uid=uid)
        assert (answer.status, answer.body["status"]) == (403, "not_allowed")


def test_a_caller_mints_for_its_groups_only(caller):
    caller(lab.STRANGER, groups=["course-a"], verbs=["links"])
    answer = post({"user": "alice"}, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"], answer.body["field"]) == (403, "not_allowed",
                                                                            "user")
    assert post({"user": "dora"}, uid=lab.STRANGER).status == 201


def test_lists_and_revocation_are_the_administrators(caller):
    minted = lab.mint("dora")
    caller(lab.STRANGER, verbs=["links"])
    for method, path in (("GET", "/v1/links"), ("DELETE", f"/v1/links/{minted['id']}")):
        answer = lab.api(method, path, uid=lab.STRANGER)
        assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    assert lab.link_state(minted["id"]) == "open"


def test_users_who_may_not_log_in_get_no_link_and_lose_those_they_have(user):
    for change in ({"locked": True}, {"locked": False, "expires_at": "2020-01-01T00:00:00Z"}):
        minted = lab.mint(user)
        assert lab.api("PATCH", f"/v1/users/{user}", change).status == 200
        answer = post({"user": user})
        assert (answer.status, answer.body["status"]) == (403, "locked")
        assert not opens(user, minted["code"])
        assert lab.api("PATCH", f"/v1/users/{user}",
                       {"locked": False, "expires_at": None}).status == 200
        # The denial has not used it up.
        assert opens(user, minted["code"])


# ---- states

def test_the_list_tells_the_state_and_never_a_secret(user):
    minted = {state: lab.mint(user, valid_s=1 if state == "expired" else 900)
              for state in ("open", "used", "revoked", "expired")}
    assert opens(user, minted["used"]["link"])
    assert lab.api("DELETE", f"/v1/links/{minted['revoked']['id']}").status == 204
    lab.eventually(lambda: lab.link_state(minted["expired"]["id"]) == "expired")
    answer = lab.api("GET", "/v1/links")
    for state, link in minted.items():
        row = row_of(link)
        assert set(row) == LISTED
        assert (row["state"], row["user"], row["uid"]) == (state, user, lab.uid_of(user))
        assert (row["used_at"] is not None) == (state == "used")
        assert row["expires_at"] == link["expires_at"]
    text = json.dumps(answer.body)
    for secret in lab.SECRETS:
        assert secret not in text
    assert opens(user, minted["open"]["code"])
    for state in ("used", "revoked", "expired"):
        for form in ("code", "link"):
            assert not opens(user, minted[state][form])


def test_revocation_is_final_and_says_what_it_finds(user):
    minted = lab.mint(user)
    assert lab.api("DELETE", f"/v1/links/{minted['id']}").status == 204
    assert not opens(user, minted["code"])
    for link_id in ("0" * 16, "x", "a" * 300, "%00", minted["code"], minted["id"].upper()):
        assert lab.api("DELETE", f"/v1/links/{link_id}").status == 404
    used = lab.mint(user)
    assert opens(user, used["code"])
    lab.api("DELETE", f"/v1/links/{used['id']}")
    assert lab.link_state(used["id"]) == "used"


def test_a_link_expires_in_the_second_that_it_names(user):
    for _ in range(3):
        early, late = lab.mint(user, valid_s=2), lab.mint(user, valid_s=2)
        end = min(seconds(each["expires_at"]) for each in (early, late))
        while time.time() < end - 0.4:
            time.sleep(0.01)
        verdict, at = opens(user, early["code"]), time.time()
        if at >= end:
            continue  # this machine was too busy: once more
        assert verdict
        end = seconds(late["expires_at"])
        time.sleep(max(0, end - time.time()) + 0.01)
        assert not opens(user, late["code"])
        assert lab.link_state(late["id"]) == "expired"
        assert lab.link_state(early["id"]) == "used"
        return
    pytest.skip("this machine is too busy to be there in time")


@pytest.mark.parametrize("first, second", [("code", "link"), ("link", "code"), ("code", "code"),
                                           ("link", "link")])
def test_one_use_of_either_form_uses_up_both(user, first, second):
    minted = lab.mint(user)
    assert opens(user, minted[first])
    assert not opens(user, minted[second])
    assert not opens(user, doors.token_of(minted))


def test_a_web_link_opens_no_ssh_and_is_not_used_up(user):
    web, ssh, other = [lab.mint(user, purpose=purpose) for purpose in ("web", "ssh", "any")]
    for form in ("code", "link"):
        assert not opens(user, web[form])
    assert lab.link_state(web["id"]) == "open"
    assert opens(user, ssh["code"])
    assert opens(user, other["link"])


def test_no_request_uses_a_link_up(user):
    """Programs that look at links in mails open them; nothing here answers to that."""
    minted = lab.mint(user)
    token = doors.token_of(minted)
    for method in ("GET", "HEAD", "POST"):
        for path in ("/", f"/v1/links/{token}", f"/v1/links/{minted['id']}"):
            lab.api(method, path)
    assert lab.link_state(minted["id"]) == "open"
    assert opens(user, minted["link"])


# ---- at once

def ask_quietly(user, secret):
    return doors.pam_ask(user, secret, timeout=5)


def test_of_many_at_once_one_gets_in(user):
    minted = lab.mint(user)
    forms = [minted["code"], minted["link"]] * 10
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        verdicts = list(pool.map(lambda secret: ask_quietly(user, secret), forms))
    assert verdicts.count(doors.PAM_ALLOWED) == 1
    assert verdicts.count(doors.PAM_DENIED) == 19


ROUNDS = 12


def test_of_many_at_once_one_gets_in_though_the_api_dies(user):
    """Killed before, while and after a code is used up: an answer may be lost, not given twice."""
    some = random.Random(3)
    total = 0
    for _ in range(ROUNDS):
        minted = lab.mint(user)
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            asked = [pool.submit(ask_quietly, user, minted["code"]) for _ in range(50)]
            time.sleep(some.uniform(0, 0.03))
            lab.service("kill", "sessiond-api")
            lab.bring_up()
            allowed = [future.result() for future in asked].count(doors.PAM_ALLOWED)
        state = lab.link_state(minted["id"])
        allowed += opens(user, minted["link"])
        assert allowed <= 1
        assert allowed == 1 or state == "used"  # used up, and the answer was lost
        assert lab.link_state(minted["id"]) == "used"
        assert not opens(user, minted["code"])
        total += allowed
    assert total > 0


def test_fifty_logins_with_one_code_and_a_death_in_between_open_one_session(user):
    minted = lab.mint(user)
    def login():
        return lab.ssh(user, minted["code"], "echo in $ATELIER_SESSION", timeout=300)

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        asked = [pool.submit(login) for _ in range(50)]
        # When the first of them has got somewhere.
        lab.eventually(lambda: lab.link_state(minted["id"]) == "used" or
                       any(future.done() for future in asked), 120)
        lab.service("kill", "sessiond-api")
        lab.bring_up()
        results = [future.result() for future in asked]
    inside = [result for result in results if result.stdout.startswith("in ")]
    assert len(inside) <= 1
    assert lab.link_state(minted["id"]) == "used"
    assert lab.ssh(user, minted["code"], "echo in").stdout == ""
    # A token: those that came after the death were wrong codes, and codes have a limit a minute.
    assert lab.ssh(user, lab.mint(user)["link"], "echo in").stdout == "in\n"


# ---- the key, the clock, and what is on disk

@contextlib.contextmanager
def api_stopped():
    lab.service("stop", "sessiond-api")
    try:
        yield
    finally:
        lab.bring_up()


def as_owner(program, *args):
    """Python as the registry's owner: root's files in there would shut the api out."""
    return lab.command("setpriv", "--reuid=atelier", "--regid=atelier", "--clear-groups",
                       lab.PYTHON, "-I", "-c", program, *args)


# The registry's own triggers forbid exactly this; they are there again afterwards.
SHIFT = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' "
                      "AND tbl_name = 'links'").fetchall()
for name, sql in triggers:
    db.execute(f"DROP TRIGGER {name}")
db.execute("UPDATE links SET created_s = created_s + 3600, expires_s = expires_s + 3600, "
           "used_s = used_s + 3600 * (used_s > 0)")
for name, sql in triggers:
    db.execute(sql)
db.execute("COMMIT")
"""


def test_a_clock_that_is_set_back_opens_no_used_link(user):
    """An hour back, and an hour on for all times on record: the same to whoever compares them."""
    used, unused = lab.mint(user), lab.mint(user)
    assert opens(user, used["code"])
    with api_stopped():
        as_owner(SHIFT, f"{REGISTRY}/registry.db")
    assert seconds(row_of(used)["used_at"]) > time.time() + 3000
    assert lab.link_state(used["id"]) == "used"
    for form in ("code", "link"):
        assert not opens(user, used[form])
    assert opens(user, unused["code"])
    assert not opens(user, unused["code"])


def test_no_secret_is_in_the_registry(user):
    minted = lab.mint(user)
    assert opens(user, minted["code"])
    lab.mint(user)
    files = os.listdir(REGISTRY)
    assert {"registry.db", "registry.db-wal", "link.key"} <= set(files)
    with open(f"{REGISTRY}/registry.db-wal", "rb") as wal:
        data = wal.read()
    assert minted["id"].encode() in data  # here it would be
    assert doors.leaks({minted["code"], minted["code"].replace("-", ""), minted["link"],
                        doors.token_of(minted), doors.token_of(minted)[4:-4]}) == []
    for name in files:
        st = os.lstat(f"{REGISTRY}/{name}")
        assert st.st_mode & 0o077 == 0, name


def test_a_lost_key_kills_old_links_and_makes_a_new_one(user):
    minted = lab.mint(user)
    with api_stopped():
        os.rename(KEY, f"{KEY}.away")
    try:
        assert not opens(user, minted["code"])
        assert not opens(user, minted["link"])
        assert lab.link_state(minted["id"]) == "open"
        with open(KEY, "rb") as new, open(f"{KEY}.away", "rb") as old:
            assert new.read() != old.read()
        assert os.stat(KEY).st_mode & 0o777 == 0o600
        assert opens(user, lab.mint(user)["code"])
    finally:
        with api_stopped():
            os.rename(f"{KEY}.away", KEY)
    assert opens(user, minted["code"])  # it was the key


def damage(how):
    if how == "readable":
        os.chmod(KEY, 0o640)
    elif how == "root's":
        os.chown(KEY, 0, 0)
    elif how == "short":
        os.truncate(KEY, 31)
    elif how == "long":
        with open(KEY, "ab") as file:
            file.write(b"x")
    elif how == "empty":
        os.truncate(KEY, 0)
    else:
        os.rename(KEY, f"{KEY}.real")
        if how == "link":
            os.symlink(f"{KEY}.real", KEY)
        elif how == "directory":
            os.mkdir(KEY, 0o700)
            shutil.chown(KEY, "atelier", "atelier")
        else:
            os.mkfifo(KEY, 0o600)
            shutil.chown(KEY, "atelier", "atelier")


@pytest.mark.parametrize("how", ["readable", "root's", "short", "long", "empty", "link",
                                 "directory", "fifo"])
def test_with_a_key_that_cannot_be_trusted_the_api_does_not_start(user, how):
    minted = lab.mint(user)
    with api_stopped():
        shutil.copy2(KEY, f"{KEY}.good")
        log = os.path.getsize("/run/lab/sessiond-api.log")
        try:
            damage(how)
            started = lab.service("start", "sessiond-api", check=False)
            with open("/run/lab/sessiond-api.log", encoding="utf-8") as file:
                file.seek(log)
                said = file.read()
        finally:
            if os.path.isdir(KEY) and not os.path.islink(KEY):
                os.rmdir(KEY)
            else:
                os.unlink(KEY)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{KEY}.real")
            os.rename(f"{KEY}.good", KEY)
            shutil.chown(KEY, "atelier", "atelier")
    assert started.returncode == 1
    # What, which file, why, and what to do.
    assert KEY in said
    assert "atelier" in said
    assert len([line for line in said.splitlines() if "link.key" in line]) == 1
    assert opens(user, minted["code"])
