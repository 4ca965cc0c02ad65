# SPDX-License-Identifier: ISC
# test_imports.py - many users at once: all or nothing, and what is wrong is named by its row.
import json
import threading
import time

import lab
import pytest


def imported(rows, dry_run=False, timeout=60):
    return lab.api("POST", "/v1/imports", {"dry_run": dry_run, "users": rows}, timeout=timeout)


def refused(answer, status, field):
    assert (answer.status, answer.body["field"]) == (status, field), answer


def test_a_dry_run_says_what_would_be_and_stores_nothing():
    rows = [{"email": "imp-a@example.org", "groups": ["course-a"]},
            {"email": "imp-b@example.org", "name": "impnamed", "comment": "seat 4"},
            {"email": "alice@example.org"}]
    before = lab.health()
    plan = imported(rows, dry_run=True)
    assert plan.status == 200, plan
    assert (plan.body["dry_run"], plan.body["created"], plan.body["existed"]) == (True, 2, 1)
    assert lab.health()["generation"] == before["generation"]
    assert lab.uid_of("impnamed") is None
    done = imported(rows)
    assert done.status == 200, done
    assert done.body == {**plan.body, "dry_run": False}
    assert [row["created"] for row in done.body["users"]] == [True, True, False]
    assert done.body["users"][1]["email"] == "imp-b@example.org"
    assert lab.health()["generation"] == before["generation"] + 1
    for row in done.body["users"]:
        assert lab.uid_of(row["name"]) == row["uid"]
    assert "course-a" in lab.command("id", "-Gn", done.body["users"][0]["name"]).stdout.split()
    again = imported(rows)
    assert (again.body["created"], again.body["existed"]) == (0, 3)
    assert [row["uid"] for row in again.body["users"]] == [row["uid"] for row in done.body["users"]]


def test_who_exists_gets_groups_and_expiry():
    assert lab.api("POST", "/v1/groups", {"name": "imp-first"}).status == 201
    assert lab.user_add(email="imp-old@example.org", groups=["imp-first"]).status == 201
    rows = [{"email": "Imp-Old@example.org", "groups": ["atelier-users", "course-a", "imp-first"],
             "expires_at": "2099-01-01T00:00:00Z", "comment": "not looked at", "name": "imp-other"},
            {"email": "imp-young@example.org", "groups": ["course-a"]}]
    change = {"groups_added": ["course-a"], "expires_at": "2099-01-01T00:00:00Z",
              "expires_at_before": None, "name_ignored": "imp-other"}
    for dry_run in (True, False):
        answer = imported(rows, dry_run)
        assert (answer.status, answer.body["existed"]) == (200, 1), answer
        name = answer.body["users"][0]["name"]
        assert {**answer.body["users"][0], **change} == answer.body["users"][0]
        assert set(answer.body["users"][1]) == {"name", "uid", "email", "created"}
    again = imported([{"email": "imp-old@example.org", "name": name, "groups": ["course-a"],
                       "expires_at": "2099-01-01T00:00:00Z"}], dry_run=True).body["users"][0]
    assert (again["groups_added"], set(again)) == (
        [], {"name", "uid", "email", "created", "groups_added"})
    back = imported([{"email": "imp-old@example.org", "expires_at": None}], dry_run=True)
    assert (back.body["users"][0]["expires_at"], back.body["users"][0]["expires_at_before"]) == (
        None, "2099-01-01T00:00:00Z")
    user = lab.api("GET", f"/v1/users/{name}").body
    assert (user["expires_at"], user["comment"]) == ("2099-01-01T00:00:00Z", "")
    assert "course-a" in user["groups"]


GOOD = [{"email": "imp-good1@example.org", "name": "impgood1"}, {"name": "impgood2"}]


@pytest.mark.parametrize("row, status, field", [
    ({"email": "no address"}, 400, "users[2].email"),
    ({"email": 7}, 400, "users[2].email"),
    ({"name": "root"}, 409, "users[2].name"),
    ({"name": "bob"}, 409, "users[2].name"),
    ({"name": "Not A Name"}, 400, "users[2].name"),
    ({"name": "alice"}, 409, "users[2].name"),
    ({"name": "impx", "groups": ["no-such"]}, 400, "users[2].groups"),
    ({"name": "impx", "comment": "a:b"}, 400, "users[2].comment"),
    ({"name": "impx", "expires_at": "soon"}, 400, "users[2].expires_at"),
    ({"name": "impx", "expires_at": "2026-01-01T00:00:00Z"}, 400, "users[2].expires_at"),
    ({"email": "alice@example.org", "expires_at": "2026-01-01T00:00:00Z"}, 400,
     "users[2].expires_at"),
    ({"email": "alice@example.org", "groups": ["no-such"]}, 400, "users[2].groups"),
    ({"name": "impx", "uid": 20000}, 400, "users[2].uid"),
    ({}, 400, "users[2]"),
    ({"email": "IMP-GOOD1@example.org"}, 400, "users[2].email"),
    ({"name": "impgood2"}, 400, "users[2].name"),
])
def test_one_bad_row_stores_nothing(bob, row, status, field):
    before = lab.health()["generation"]
    for dry_run in (True, False):
        answer = imported([*GOOD, row], dry_run)
        refused(answer, status, field)
        assert [error["field"] for error in answer.body["errors"]] == [field]
    assert lab.health()["generation"] == before
    assert lab.uid_of("impgood1") is None


@pytest.fixture
def local():
    """An account of the host's own whose name nobody of ours ever had."""
    lab.command("useradd", "imp-local")
    yield "imp-local"
    lab.command("userdel", "imp-local")


def test_all_bad_rows_are_named_in_one_answer(local):
    """Those of syntax, those of the registry and those of the host, in the order of the rows."""
    assert lab.api("POST", "/v1/groups", {"name": "imp-gone"}).status == 201
    assert lab.api("DELETE", "/v1/groups/imp-gone").status == 200
    rows = [{"name": "docker"}, GOOD[0], {"email": "anna"}, {"name": local},
            {"email": "alice@example.org", "groups": ["course-a", "kurs-x"]}, {"email": 7},
            {"name": "imp-gone"}, {"email": "IMP-GOOD1@example.org"}, GOOD[1], {"name": "Z\u00fcrich Ost"}]
    wanted = [
        ("users[0].name", "The name docker is reserved for the system."),
        ("users[2].email", "anna is no e-mail address (NAME@DOMAIN)."),
        ("users[3].name", f"The name {local} is that of an account or a group of this host."),
        ("users[4].groups", "There is no group kurs-x."),
        ("users[5].email", "users[5].email must be a string, not 7."),
        ("users[6].name", "The name imp-gone was once given out, and is not used again."),
        ("users[7].email",
         "The e-mail address IMP-GOOD1@example.org is that of users[1], too."),
        ("users[9].name", '"Z\u00fcrich Ost" cannot be a name: a name is a lower-case letter and up '
                          "to 30 of a-z, 0-9 and -."),
    ]
    before = lab.health()["generation"]
    for dry_run in (True, False):
        answer = imported(rows, dry_run)
        refused(answer, 409, "users[0].name")
        assert [(error["field"], error["message"]) for error in answer.body["errors"]] == wanted
        assert answer.body["message"] == wanted[0][1]
        # Without those of syntax the registry is the first to find one.
        rest = imported([row for row in rows if row.get("email") not in (7, "IMP-GOOD1@example.org")],
                        dry_run)
        assert [error["message"] for error in rest.body["errors"]] == [
            message for field, message in wanted if field not in ("users[5].email", "users[7].email")]
    assert lab.health()["generation"] == before
    with open("/run/lab/sessiond-api.log", encoding="utf-8") as log:
        text = log.read()
    assert "sessiond-api" in text  # positive control
    assert "example.org" not in text


def test_a_hundred_errors_are_named_and_no_more():
    answer = imported([{"name": f"No {i}"} for i in range(150)])
    assert [error["field"] for error in answer.body["errors"]] == [
        f"users[{i}].name" for i in range(100)]


def test_a_name_that_another_row_makes_is_found_when_the_rest_is_good():
    rows = [{"email": "impmade@example.org"}, {"name": "impmade"}]
    answer = imported(rows, dry_run=True)
    refused(answer, 409, "users[1].name")
    assert answer.body["message"] == (
        "The name impmade is made for an entry before this one: name both.")
    assert len(answer.body["errors"]) == 1
    assert lab.uid_of("impmade") is None


def test_the_good_rows_alone_are_stored():
    """The control of the tests above; last of their rows."""
    answer = imported(GOOD)
    assert (answer.status, answer.body["created"]) == (200, 2), answer


@pytest.mark.parametrize("body, field", [
    ({}, "users"), ({"users": []}, "users"), ({"users": {}}, "users"), ({"users": [1]}, "users[0]"),
    ({"users": [{"name": "z"}], "group": "x"}, "group"),
    ({"users": [{"name": "z"}] * 5001}, "users")])
def test_the_whole_is_checked(body, field):
    refused(lab.api("POST", "/v1/imports", body), 400, field)


def test_a_body_of_four_mebibytes_is_read_and_no_larger_one():
    rows = json.dumps({"users": [{"name": "no name"}]}).encode()
    room = 4 << 20
    fits = rows + b" " * (room - len(rows))
    refused(lab.api("POST", "/v1/imports", fits), 400, "users[0].name")
    assert lab.api("POST", "/v1/imports", fits + b" ").status == 413
    # Everywhere else, and on the other socket, it is as it was.
    assert lab.api("POST", "/v1/groups", b" " * ((1 << 20) + 1)).status == 413
    assert lab.api("POST", "/v1/imports", fits, uid=lab.CALLER).status == 403


def served_meanwhile(rows, dry_run=False):
    """Import them; how long others waited for an answer meanwhile."""
    stop, waits = threading.Event(), []

    def knock():
        while not stop.is_set():
            begin = time.monotonic()
            assert lab.health()
            waits.append(time.monotonic() - begin)
            time.sleep(0.005)

    other = threading.Thread(target=knock)
    other.start()
    try:
        answer = imported(rows, dry_run)
    finally:
        stop.set()
        other.join()
    return answer, waits


def test_addresses_that_begin_alike_come_at_once():
    """info@ and kontakt@ of many domains: the name of each is the next free number."""
    rows = [{"email": f"{('info', 'kontakt')[i % 2]}@h{i}.example.org"} for i in range(5000)]
    for dry_run in (True, False):
        answer, waits = served_meanwhile(rows, dry_run)
        assert (answer.status, answer.body["created"]) == (200, 5000), answer.body
        assert max(waits) < 2, sorted(waits)[-3:]
    names = [row["name"] for row in answer.body["users"]]
    assert len(set(names)) == 5000
    assert (names[:2], names[-2:]) == (["info2", "kontakt"], ["info2501", "kont2500"])  # info: reserved


def test_thousands_come_at_once_and_the_others_are_served_meanwhile():
    rows = [{"email": f"mass{i}@example.org", "name": f"mass{i}", "groups": ["course-a"]}
            for i in range(5000)]
    answer, waits = served_meanwhile(rows)
    assert (answer.status, answer.body["created"]) == (200, 5000), answer.body
    # Nobody is kept from logging in: sessiond waits two seconds for an answer.
    assert len(waits) > 2 and max(waits) < 2, sorted(waits)[-3:]
    last = answer.body["users"][-1]
    assert lab.uid_of(last["name"]) == last["uid"]
    page = lab.api("GET", "/v1/index/0").body
    assert page["more"] is True and len(page["users"]) == 1000
