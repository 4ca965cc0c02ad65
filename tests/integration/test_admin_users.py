# SPDX-License-Identifier: ISC
# test_admin_users.py - what the administrator does with one user: make, adopt, change, delete.
import pwd
import time

import lab
import pytest


def get(name):
    answer = lab.api("GET", f"/v1/users/{name}")
    assert answer.status == 200, answer
    return answer.body


def patch(user, /, **change):
    return lab.api("PATCH", f"/v1/users/{user}", change)


def delete(name, within=10):
    """As a client does it that comes again while it is busy."""
    def answer():
        found = lab.api("DELETE", f"/v1/users/{name}")
        if found.status != 503:
            return found
        assert (found.body["status"], found.headers["Retry-After"]) == ("busy", "1"), found
        return None

    return lab.eventually(answer, within, every=0.1)


def refused(answer, status, field):
    assert (answer.status, answer.body["field"]) == (status, field), answer


def groups_of(name):
    return sorted(lab.command("id", "-Gn", name).stdout.split())


@pytest.fixture(scope="module", autouse=True)
def courses():
    for name in ("spring", "autumn", "winter"):
        assert lab.api("POST", "/v1/groups", {"name": name}).status in (201, 409)


@pytest.fixture
def local_account():
    """An account of the host with a group of its own."""
    name = "adoptee"
    lab.command("useradd", "--user-group", name)
    yield pwd.getpwnam(name)
    lab.command("userdel", name, check=False)


# ---- make

def test_everything_about_a_user_is_stored_at_once():
    answer = lab.user_add(email="full@example.org", groups=["spring", "autumn"], comment="Zoë, seat 3",
                          shell="/bin/dash", expires_at="2099-12-31T23:59:59Z", uid=30000)
    assert (answer.status, answer.body["uid"]) == (201, 30000), answer
    user = get("full")
    assert (user["comment"], user["shell"]) == ("Zoë, seat 3", "/bin/dash")
    assert user["expires_at"] == "2099-12-31T23:59:59Z"
    assert user["groups"] == ["atelier-users", "spring", "autumn"]
    assert lab.uid_of("full") == 30000
    assert groups_of("full") == ["atelier-users", "autumn", "full", "spring"]
    assert "seat" not in lab.command("getent", "passwd", "full").stdout
    with open("/run/lab/sessiond-api.log", encoding="utf-8") as log:
        text = log.read()
    assert "name=full" in text  # positive control
    assert "seat" not in text and "full@" not in text


def test_who_exists_gets_the_groups_and_the_expiry():
    assert lab.user_add(email="again@example.org", comment="first").status == 201
    answer = lab.user_add(email="Again@example.org", groups=["winter"], comment="second",
                          expires_at="2099-01-01T00:00:00Z")
    assert (answer.status, answer.body["created"]) == (200, False), answer
    user = get("again")
    assert user["groups"] == ["atelier-users", "winter"]
    assert (user["comment"], user["expires_at"]) == ("first", "2099-01-01T00:00:00Z")
    refused(lab.user_add(email="again@example.org", groups=["winter", "no-such"]), 400, "groups")


@pytest.mark.parametrize("body, status, field", [
    ({"name": "w1", "shell": "/bin/no-such-shell"}, 400, "shell"),
    ({"name": "w1", "shell": "/usr/lib/atelier/shell"}, 400, "shell"),
    ({"name": "w1", "comment": "a:b"}, 400, "comment"),
    ({"name": "w1", "comment": "a\nb"}, 400, "comment"),
    ({"name": "w1", "groups": ["no-such"]}, 400, "groups"),
    ({"name": "w1", "group": "no-such"}, 400, "group"),
    ({"name": "w1", "groups": ["spring"], "group": "autumn"}, 400, "group"),
    ({"name": "w1", "uid": 9999}, 400, "uid"),
    ({"name": "w1", "uid": 59900}, 400, "uid"),
    ({"name": "w1", "uid": 10000}, 409, "uid"),
    ({"name": "w1", "home": "/"}, 400, "home"),
    ({"name": "w1", "expires_at": "2026-01-01T00:00:00Z"}, 400, "expires_at"),
])
def test_what_is_wrong_is_named_and_stores_nothing(body, status, field):
    refused(lab.user_add(**body), status, field)
    assert lab.uid_of("w1") is None


@pytest.mark.parametrize("key, value", [("groups", ["spring"]), ("comment", "x"), ("uid", 20000),
                                        ("shell", "/bin/sh"), ("expires_at", None), ("adopt", True)])
def test_a_caller_may_not_say_what_is_the_administrators(key, value):
    answer = lab.api("POST", "/v1/users", {"name": "bycaller", key: value}, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed"), answer
    assert answer.body["field"] == key


def test_a_caller_may_make_users_as_ever():
    answer = lab.api("POST", "/v1/users", {"email": "bycaller@example.org"}, uid=lab.CALLER)
    assert answer.status == 201, answer


@pytest.mark.parametrize("method, path, body", [
    ("PATCH", "/v1/users/alice", {"comment": "x"}), ("DELETE", "/v1/users/alice", None),
    ("POST", "/v1/imports", {"users": [{"name": "zz"}]}), ("GET", "/v1/groups/course-a", None),
    ("PATCH", "/v1/groups/course-a", {"members": []}), ("DELETE", "/v1/groups/course-a", None),
    ("GET", "/v1/index/0", None), ("POST", "/v1/index", {}), ("POST", "/v1/backup", {}),
    ("POST", "/v1/restore", {"dry_run": True})])
def test_the_rest_is_for_the_admin_socket_alone(method, path, body):
    answer = lab.api(method, path, body, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed"), answer


# ---- adopt

def test_a_local_account_is_taken_unless_it_is_adopted(local_account):
    refused(lab.user_add(name=local_account.pw_name), 409, "name")
    answer = lab.user_add(name=local_account.pw_name, adopt=True)
    assert answer.status == 201, answer
    assert answer.body["uid"] >= lab.ID_MIN
    lab.command("userdel", local_account.pw_name)
    assert lab.uid_of(local_account.pw_name) == answer.body["uid"]
    assert delete(local_account.pw_name).status == 200


def test_adoption_is_of_that_account_alone(local_account):
    name = local_account.pw_name
    refused(lab.user_add(name="no-such-account", adopt=True), 409, "name")
    refused(lab.user_add(name="daemon", adopt=True), 409, "name")
    refused(lab.user_add(name="root", adopt=True), 409, "name")
    refused(lab.user_add(name=name, adopt=True, uid=20001), 409, "uid")
    # Its own uid is not one that is given out.
    refused(lab.user_add(name=name, adopt=True, uid=local_account.pw_uid), 400, "uid")
    refused(lab.user_add(email="a@example.org", adopt=True), 400, "name")
    # A group of its name that is not its own belongs to somebody.
    lab.command("usermod", "--gid", "nogroup", name)
    refused(lab.user_add(name=name, adopt=True), 409, "name")


def test_an_account_keeps_a_uid_of_our_range():
    lab.command("useradd", "--user-group", "--uid", "41000", "keeper")
    try:
        refused(lab.user_add(name="other", uid=41000), 409, "uid")
        lab.command("useradd", "--non-unique", "--uid", "41000", "--gid", "nogroup", "shadow-of")
        refused(lab.user_add(name="keeper", adopt=True, uid=41000), 409, "uid")
        lab.command("userdel", "shadow-of")
        answer = lab.user_add(name="keeper", adopt=True, uid=41000)
        assert (answer.status, answer.body["uid"]) == (201, 41000), answer
    finally:
        lab.command("userdel", "shadow-of", check=False)
        lab.command("userdel", "keeper")
    assert lab.uid_of("keeper") == 41000


# ---- change

def test_each_field_is_changed_and_taken_away():
    assert lab.user_add(email="mod@example.org", groups=["spring"]).status == 201
    answer = patch("mod", comment="later", shell="/bin/dash", email="new@example.org",
                   groups=["autumn", "winter"], expires_at="2099-01-01T00:00:00Z", locked=True)
    assert answer.status == 200, answer
    user = get("mod")
    assert user.pop("live") == {"runs": 0, "sessions": 0}  # of this answer alone
    assert answer.body == user
    assert (user["comment"], user["shell"], user["email"]) == ("later", "/bin/dash",
                                                                "new@example.org")
    assert (user["state"], user["expires_at"]) == ("locked", "2099-01-01T00:00:00Z")
    assert groups_of("mod") == ["atelier-users", "autumn", "mod", "winter"]
    answer = patch("mod", comment="", shell="", email=None, expires_at=None, locked=False)
    user = answer.body
    assert (user["comment"], user["shell"], user["email"], user["expires_at"]) == ("", "", None, None)
    assert user["state"] == "reserved"
    # The address is free again, and leads to a new person.
    assert lab.user_add(email="new@example.org").body["name"] == "new"


def test_groups_are_added_removed_and_set():
    assert lab.user_add(name="grouped", groups=["spring"]).status == 201
    assert patch("grouped", groups_add=["autumn", "spring"]).body["groups"] == [
        "atelier-users", "spring", "autumn"]
    assert groups_of("grouped") == ["atelier-users", "autumn", "grouped", "spring"]
    assert patch("grouped", groups_remove=["spring", "winter"]).status == 200
    assert groups_of("grouped") == ["atelier-users", "autumn", "grouped"]
    assert patch("grouped", groups=["atelier-users"]).status == 200
    assert groups_of("grouped") == ["atelier-users", "grouped"]


@pytest.mark.parametrize("change, status, field", [
    ({"groups_remove": ["atelier-users"]}, 400, "groups_remove"),
    ({"groups_add": ["no-such"]}, 400, "groups_add"),
    ({"groups": ["autumn", "No Group"]}, 400, "groups"),
    ({"groups": [], "groups_add": []}, 400, "groups_add"),
    ({"shell": "/bin/no-such-shell"}, 400, "shell"),
    ({"email": "not an address"}, 400, "email"),
    ({"email": "dora@example.org"}, 409, "email"),
    ({"comment": "a:b"}, 400, "comment"),
    ({"name": "other"}, 400, "name"),
    ({}, 400, None),
])
def test_a_change_is_all_or_nothing(change, status, field):
    before = get("alice")
    refused(patch("alice", **{**change, **({"locked": False} if change else {})}), status, field)
    assert get("alice") == before


def test_who_exists_is_not_found_with_a_time_that_is_over():
    answer = lab.user_add(email="alice@example.org", expires_at="2026-01-01T00:00:00Z")
    refused(answer, 400, "expires_at")
    assert answer.body["message"] == (
        "expires_at is over: 2026-01-01T00:00:00Z is in the past, and the user would be expired at once.")
    # A change may: that is how a user's time is ended.
    assert lab.user_add(name="overdue").status == 201
    assert patch("overdue", expires_at="2026-01-01T00:00:00Z").body["state"] == "expired"


def message(method, path, body=None, uid=None):
    answer = lab.api(method, path, body, **({} if uid is None else {"uid": uid}))
    assert answer.status >= 400, answer
    return answer.body["message"]


@pytest.mark.parametrize("method, path, body, sentence", [
    ("GET", "/v1/users/noah", None, "There is no user noah."),
    ("GET", "/v1/users/No%01", None, 'There is no user "No\\u0001".'),
    ("GET", "/v1/groups/kurs-x", None, "There is no group kurs-x."),
    ("DELETE", "/v1/callers/77", None, "There is no caller with the uid 77."),
    ("DELETE", "/v1/links/0123", None, "There is no link 0123."),
    ("POST", "/v1/links", {"user": "noah"}, "There is no user noah."),
    ("POST", "/v1/links", {"user": "alice", "purpose": "all"},
     "purpose must be any, ssh or web, not all."),
    ("POST", "/v1/links", {"user": "alice", "valid_s": 0},
     "valid_s must be from 1 to 1209600, not 0."),
    ("POST", "/v1/callers", {"uid": 77, "groups": ["kurs-x"], "verbs": ["runs"]},
     "There is no group kurs-x."),
    ("POST", "/v1/callers", {"uid": 77, "groups": ["spring"], "verbs": ["root"]},
     "verbs may hold users, runs, net-public and links, not root."),
    ("POST", "/v1/groups", {"name": "docker"}, "The name docker is reserved for the system."),
    ("POST", "/v1/groups", {"name": "spring"}, "The name spring is that of a group."),
    ("POST", "/v1/groups", {"name": "alice"}, "The name alice is that of a user."),
    ("POST", "/v1/groups", {"name": "Kurs X"},
     '"Kurs X" cannot be a name: a name is a lower-case letter and up to 30 of a-z, 0-9 and -.'),
    ("PATCH", "/v1/groups/spring", {"name": "alice"}, "The name alice is that of a user."),
    ("PATCH", "/v1/users/alice", {"groups_add": ["kurs-x"]}, "There is no group kurs-x."),
    ("PATCH", "/v1/users/alice", {"email": "alice"}, "alice is no e-mail address (NAME@DOMAIN)."),
    ("PATCH", "/v1/users/alice", {"email": "dora@example.org"},
     "The user dora has the e-mail address dora@example.org."),
    ("PATCH", "/v1/users/alice", {"shell": "/bin/no-such-shell"},
     "The shell /bin/no-such-shell is not in /etc/shells."),
    ("POST", "/v1/users", {"name": "alice"}, "The name alice is that of a user."),
    ("POST", "/v1/users", {"name": "w1", "uid": 9999},
     "The uid 9999 is outside of what this host gives out: 10000-59899."),
    ("POST", "/v1/users", {"name": "noah", "adopt": True}, "There is no account noah in /etc/passwd."),
])
def test_a_refusal_names_what_was_given(method, path, body, sentence):
    assert message(method, path, body) == sentence


def test_a_caller_learns_no_name_from_a_refusal(caller):
    caller(lab.STRANGER, groups=("spring",))
    assert lab.user_add(email="hidden@example.org", name="hiddenname").status == 201
    uid = lab.uid_of("hiddenname")
    assert message("POST", "/v1/users", {"email": "hidden@example.org"}, uid=lab.STRANGER) == (
        "This caller may not act for the user of hidden@example.org.")
    assert message("POST", "/v1/runs", {"user": uid, "argv": ["/bin/true"]}, uid=lab.STRANGER) == (
        f"This caller may not act for the user with the uid {uid}.")
    assert message("POST", "/v1/users", {"name": "w1", "group": "autumn"}, uid=lab.STRANGER) == (
        "This caller may not act for the group autumn.")


def test_nobody_is_changed_who_is_not_there():
    refused(patch("no-such-user", comment="x"), 404, "user")
    refused(lab.api("DELETE", "/v1/users/no-such-user"), 404, "user")


# ---- delete

def test_a_deleted_user_is_gone_and_never_comes_back():
    answer = lab.user_add(email="leaver@example.org", groups=["spring"])
    name, uid = answer.body["name"], answer.body["uid"]
    lab.mint(name)
    answer = delete(name)
    assert (answer.status, answer.body) == (200, {"name": name, "uid": uid, "links_revoked": 1})
    assert lab.uid_of(name) is None
    assert lab.command("getent", "passwd", str(uid), check=False).returncode == 2
    assert lab.command("getent", "group", name, check=False).returncode == 2
    refused(lab.api("GET", f"/v1/users/{name}"), 404, "user")
    said = lab.user_add(name=name)
    refused(said, 409, "name")
    assert said.body["message"] == f"The name {name} was once given out, and is not used again."
    said = lab.user_add(name="successor", uid=uid)
    refused(said, 409, "uid")
    assert said.body["message"] == f"The uid {uid} was once given out, and is not used again."
    again = lab.user_add(email="leaver@example.org")
    assert again.status == 201
    assert again.body["name"] != name and again.body["uid"] != uid


def test_what_runs_is_ended_before_the_user_goes():
    name = lab.newcomer()
    uid = lab.uid_of(name)
    with lab.Session(name) as session:
        sleeping = lab.sleeper(user=name)
        assert session.says("id -un") == f"{name}\n"
        answer = lab.api("DELETE", f"/v1/users/{name}")
        assert (answer.status, answer.body["status"]) == (503, "busy"), answer
        assert get(name)["state"] == "locked"
        assert delete(name).status == 200
        assert lab.procs_of_uid(uid) == []
        assert sleeping.finish().status == "locked"
    assert lab.uid_of(name) is None


def test_nobody_is_deleted_while_sessiond_cannot_say_what_runs():
    name = lab.newcomer()
    lab.service("stop", "sessiond")
    try:
        lab.eventually(lambda: not lab.is_connected(), 5)
        answer = lab.api("DELETE", f"/v1/users/{name}")
        assert (answer.status, answer.body["status"]) == (503, "busy"), answer
        assert lab.uid_of(name) is not None
    finally:
        lab.service("start", "sessiond")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    assert get(name)["state"] == "locked"
    assert delete(name).status == 200


def test_a_login_of_a_deleted_user_is_refused():
    name = lab.newcomer()
    code = lab.mint(name)["code"]
    assert delete(name).status == 200
    begin = time.monotonic()
    assert lab.ssh(name, code, "true").returncode == 255
    assert time.monotonic() - begin < 10


# ---- the range of ids

@pytest.fixture
def three_ids():
    lab.service("restart", "sessiond-api", "--", "--id-range=12000-12002")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)
    yield
    lab.service("restart", "sessiond-api")
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


def test_ids_are_given_out_in_the_range_alone(three_ids):
    assert lab.uid_of("alice") < 12000  # who is there stays
    assert [lab.user_add(name=f"ranged{i}").body["uid"] for i in range(3)] == [12000, 12001, 12002]
    full = lab.user_add(name="ranged3")
    assert (full.status, full.body["status"]) == (500, "internal"), full
    assert lab.uid_of("ranged3") is None
    refused(lab.user_add(name="ranged3", uid=12003), 400, "uid")


def test_after_that_all_of_them_are_again():
    assert lab.user_add(name="ranged3").body["uid"] > 12002


@pytest.mark.parametrize("text", ["9999-20000", "10000-59900", "20000-10000", "10000", "10000-", "-",
                                  "a-b", "10000-20000-30000", "+10000-20000"])
def test_a_range_that_is_none_ends_the_start(text):
    result = lab.command("/usr/lib/atelier/sessiond-api", f"--id-range={text}", check=False)
    assert result.returncode == 64
    assert text in result.stderr
