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
    assert lab.user_add(email="imp-old@example.org").status == 201
    answer = imported([{"email": "imp-old@example.org", "groups": ["course-a"],
                        "expires_at": "2099-01-01T00:00:00Z", "comment": "not looked at"}])
    assert (answer.status, answer.body["existed"]) == (200, 1), answer
    name = answer.body["users"][0]["name"]
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
    ({"name": "impx", "uid": 20000}, 400, "users[2].uid"),
    ({}, 400, "users[2]"),
    ({"email": "IMP-GOOD1@example.org"}, 400, "users[2].email"),
    ({"name": "impgood2"}, 400, "users[2].name"),
])
def test_one_bad_row_stores_nothing(bob, row, status, field):
    before = lab.health()["generation"]
    for dry_run in (True, False):
        refused(imported([*GOOD, row], dry_run), status, field)
    assert lab.health()["generation"] == before
    assert lab.uid_of("impgood1") is None


def test_the_good_rows_alone_are_stored():
    """The control of the test above; last of its rows."""
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
