# SPDX-License-Identifier: ISC
# test_admin_groups.py - groups are looked at, renamed, filled, emptied and deleted; and the index is read.
import lab
import pytest


def refused(answer, status, field):
    assert (answer.status, answer.body["field"]) == (status, field), answer


def get(name):
    answer = lab.api("GET", f"/v1/groups/{name}")
    assert answer.status == 200, answer
    return answer.body


def patch(group, /, **change):
    return lab.api("PATCH", f"/v1/groups/{group}", change)


def is_in(user, group):
    return group in lab.command("id", "-Gn", user).stdout.split()


@pytest.fixture
def group(request):
    """A group of this test alone."""
    name = "g-" + request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:24].rstrip("-")
    answer = lab.api("POST", "/v1/groups", {"name": name})
    assert answer.status == 201, answer
    yield answer.body
    lab.api("DELETE", f"/v1/groups/{name}")


def test_members_are_set_added_and_removed(group):
    name = group["name"]
    assert get(name) == {**group, "members": []}
    assert patch(name, members=["alice", "carol"]).body == {**group, "members": ["alice", "carol"]}
    assert is_in("alice", name) and is_in("carol", name)
    assert patch(name, members_remove=["alice", "dora"]).body["members"] == ["carol"]
    assert not is_in("alice", name) and is_in("carol", name)
    assert patch(name, members_add=["dora", "carol"]).body["members"] == ["carol", "dora"]
    assert patch(name, members=[]).body["members"] == []
    assert not is_in("carol", name)


def test_a_group_gets_another_name_and_its_old_one_stays_used(group):
    old, new = group["name"], group["name"] + "x"
    assert patch(old, members=["alice"]).status == 200
    answer = patch(old, name=new, members_add=["carol"])
    assert answer.body == {"name": new, "gid": group["gid"], "members": ["alice", "carol"]}, answer
    assert is_in("alice", new) and is_in("carol", new) and not is_in("alice", old)
    assert lab.command("getent", "group", new).stdout.split(":")[2] == str(group["gid"])
    assert lab.command("getent", "group", old, check=False).returncode == 2
    refused(lab.api("GET", f"/v1/groups/{old}"), 404, "group")
    refused(lab.api("POST", "/v1/groups", {"name": old}), 409, "name")
    refused(patch(new, name=old), 409, "name")
    refused(patch(new, name="root"), 409, "name")
    refused(patch(new, name="No Name"), 400, "name")
    assert lab.api("DELETE", f"/v1/groups/{new}").status == 200


def test_a_deleted_group_is_gone_and_its_name_stays_used(group):
    name = group["name"]
    assert patch(name, members=["alice"]).status == 200
    answer = lab.api("DELETE", f"/v1/groups/{name}")
    assert (answer.status, answer.body) == (200, group)
    assert not is_in("alice", name)
    assert lab.command("getent", "group", name, check=False).returncode == 2
    refused(lab.api("POST", "/v1/groups", {"name": name}), 409, "name")
    refused(lab.api("DELETE", f"/v1/groups/{name}"), 404, "group")


def test_a_group_that_a_caller_acts_for_stays(group, caller):
    caller(lab.STRANGER, groups=(group["name"],))
    answer = lab.api("DELETE", f"/v1/groups/{group['name']}")
    assert answer.status == 409
    assert str(lab.STRANGER) in answer.body["message"]
    assert get(group["name"])["gid"] == group["gid"]
    assert lab.api("DELETE", f"/v1/callers/{lab.STRANGER}").status == 204
    assert lab.api("DELETE", f"/v1/groups/{group['name']}").status == 200


def test_the_group_of_everybody_stays_as_it_is():
    assert "alice" in get(lab.ALL_USERS)["members"]
    assert patch(lab.ALL_USERS, members=[]).status == 409
    assert patch(lab.ALL_USERS, name="everybody").status == 409
    assert lab.api("DELETE", f"/v1/groups/{lab.ALL_USERS}").status == 409
    assert is_in("alice", lab.ALL_USERS)


@pytest.mark.parametrize("change, field", [
    ({"members": ["no-such-user"]}, "members"), ({"members_add": ["alice", "Alice"]}, "members_add"),
    ({"members": "alice"}, "members"), ({"members": [], "members_add": []}, "members_add"),
    ({"gid": 1}, "gid"), ({}, None)])
def test_what_is_wrong_is_named_and_changes_nothing(change, field):
    before = get("course-a")
    refused(patch("course-a", **change), 400, field)
    assert get("course-a") == before


def test_name_and_members_change_together_or_not_at_all(group):
    """Somebody cannot come into one more group: then the name stays, too."""
    group, others = group["name"], [f"together-{i}" for i in range(30)]
    name = lab.newcomer()
    for other in others:
        assert lab.api("POST", "/v1/groups", {"name": other}).status == 201
    assert lab.api("PATCH", f"/v1/users/{name}", {"groups": others}).status == 200
    before, generation = get(group), lab.health()["generation"]
    refused(patch(group, name="newname", members_add=[name]), 400, "members_add")
    assert (get(group), lab.health()["generation"]) == (before, generation)
    assert lab.api("GET", "/v1/groups/newname").status == 404
    assert lab.api("DELETE", f"/v1/users/{name}").status == 200
    # The control; and it is one change.
    answer = patch(group, name="newname", members_add=["carol"])
    assert (answer.status, answer.body["name"], answer.body["members"]) == (200, "newname", ["carol"])
    assert lab.health()["generation"] == generation + 2
    assert is_in("carol", "newname")
    assert lab.api("DELETE", "/v1/groups/newname").status == 200


# ---- the index

def test_the_pages_are_what_nss_says():
    page = lab.api("GET", "/v1/index/0").body
    assert page["more"] is False
    users = {row["name"]: row for row in page["users"]}
    assert {row["name"] for row in lab.api("GET", "/v1/users").body["users"]} == set(users)
    for row in list(users.values())[:20]:
        assert lab.uid_of(row["name"]) == row["uid"]
        gids = lab.command("id", "-G", row["name"]).stdout.split()
        assert sorted(map(int, gids)) == sorted([row["uid"], *row["gids"]])
        assert row["gids"] == sorted(row["gids"])
    groups = {row["name"]: row["gid"] for row in page["groups"]}
    assert groups == {row["name"]: row["gid"] for row in lab.api("GET", "/v1/groups").body["groups"]}
    last = max(row["uid"] for row in users.values())
    rest = lab.api("GET", f"/v1/index/{last}").body
    assert (rest["users"], rest["groups"], rest["more"]) == ([], [], False)
    assert lab.api("GET", f"/v1/index/{last - 1}").body["users"] == [
        row for row in page["users"] if row["uid"] == last]


@pytest.mark.parametrize("page", ["x", "-1", "4294967296", "1.0"])
def test_a_page_is_a_number(page):
    assert lab.api("GET", f"/v1/index/{page}").status == 404


def test_the_index_is_made_anew():
    before = lab.health()["generation"]
    answer = lab.api("POST", "/v1/index", {})
    assert answer.status == 200, answer
    assert answer.body["generation"] == before + 1 == lab.health()["generation"]
    assert answer.body["users"] == lab.health()["users"]
    assert lab.uid_of("alice") is not None
    refused(lab.api("POST", "/v1/index", {"force": True}), 400, "force")
