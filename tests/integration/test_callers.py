# SPDX-License-Identifier: ISC
# test_callers.py - who may use api.sock, and for whom.
import json
import os
import subprocess

import lab
import pytest

ONE = {"user": "alice", "argv": [lab.PYTHON, "-c", "print(1)"]}


def curl(uid, *args):
    """The command line of the documentation, as another user."""
    return ["setpriv", f"--reuid={uid}", "--regid=atelier-api", "--clear-groups", "curl", "-sSN",
            "--unix-socket", lab.API, *args]


def test_curl_gets_the_events_of_a_run():
    result = lab.command(*curl(lab.CALLER, "-d", json.dumps(ONE), "http://localhost/v1/runs"))
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["ev"] for event in events] == ["accepted", "start", "out", "end"]
    assert [event["seq"] for event in events] == [0, 1, 2, 3]
    assert events[0]["user"] == "alice"
    assert events[0]["uid"] == lab.uid_of("alice")
    assert events[0]["net"] == "none"
    assert len(events[0]["run"]) == 32
    assert events[2]["s"] == 1
    assert events[2]["d"] == "1\n"
    assert events[3]["status"] == "ok"
    assert events[3]["exit"] == 0
    assert events[3]["signal"] is None
    times = [event["t_ms"] for event in events]
    assert times == sorted(times)


def test_the_end_of_curl_is_the_end_of_the_run(alice):
    body = json.dumps({"user": "alice", "argv": ["/bin/sleep", "300"]})
    with subprocess.Popen(curl(lab.CALLER, "-d", body, "http://localhost/v1/runs"),
                          stdout=subprocess.PIPE, text=True) as client:
        while '"start"' not in client.stdout.readline():
            assert client.poll() is None
        lab.eventually(lambda: [process.comm for process in lab.procs_of_uid(alice)] == ["sleep"], 2)
        client.kill()
    lab.eventually(lambda: not lab.procs_of_uid(alice), 1.0)
    lab.eventually(lambda: not lab.run_processes(), 1.0)


def test_a_program_without_a_row_is_refused():
    for method, path, body in (("POST", "/v1/runs", ONE), ("POST", "/v1/users", {"name": "nope"}),
                               ("GET", "/v1/users", None)):
        answer = lab.api(method, path, body, uid=lab.STRANGER)
        assert (answer.status, answer.body["status"]) == (403, "not_allowed"), path
    assert lab.uid_of("nope") is None


def test_root_without_a_row_is_refused_on_the_api_socket():
    answer = lab.api("POST", "/v1/runs", ONE, uid=0)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    assert lab.run(ONE["argv"], uid=None).status == "ok"


def test_root_cannot_be_made_a_caller():
    answer = lab.api("POST", "/v1/callers", {"uid": 0, "groups": [lab.ALL_USERS],
                                             "verbs": ["runs"]})
    assert (answer.status, answer.body["field"]) == (400, "uid")


def test_a_program_outside_the_group_does_not_reach_the_socket():
    stranger = lab.Door(65534, 65534)
    for path in (lab.API, lab.ADMIN):
        with pytest.raises(PermissionError):
            stranger.connect(path)
    stranger.sock.close()
    with pytest.raises(PermissionError):
        lab.door(lab.CALLER).connect(lab.ADMIN)


def test_anybody_in_the_group_may_ask_for_health():
    answer = lab.api("GET", "/v1/healthz", uid=lab.STRANGER)
    assert answer.status == 200
    assert answer.body["status"] == "ok"
    assert answer.body["sessiond"] is True


def test_a_row_gives_and_its_removal_takes_away(caller):
    caller(lab.STRANGER)
    assert lab.run(ONE["argv"], uid=lab.STRANGER).status == "ok"
    assert lab.api("DELETE", f"/v1/callers/{lab.STRANGER}").status == 204
    assert lab.api("POST", "/v1/runs", ONE, uid=lab.STRANGER).status == 403
    assert lab.api("DELETE", f"/v1/callers/{lab.STRANGER}").status == 404


def test_the_command_adds_lists_and_removes_callers():
    lab.atelier("caller", "add", str(lab.STRANGER), "--group", "course-a", "--verb", "runs")
    rows = lab.atelier("caller", "list").stdout.splitlines()
    row = [line.split() for line in rows if line.split()[0] == str(lab.STRANGER)]
    assert row[0][1:4] == ["apiuser2", "runs", "course-a"]
    lab.atelier("caller", "del", str(lab.STRANGER))
    assert str(lab.STRANGER) not in lab.atelier("caller", "list").stdout


def test_a_caller_acts_for_its_groups_only(caller):
    caller(lab.STRANGER, groups=["course-a"])
    assert lab.run(["/bin/true"], user="dora", uid=lab.STRANGER).status == "ok"
    answer = lab.api("POST", "/v1/runs", ONE, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    assert answer.body["field"] == "user"


def test_a_caller_cannot_find_users_outside_its_groups(caller):
    caller(lab.STRANGER, groups=["course-a"])
    answer = lab.api("POST", "/v1/users", {"email": "alice@example.org"}, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    # The address is the caller's own word; the name that it leads to is not.
    assert "alice" not in answer.body["message"].replace("alice@example.org", "")
    again = lab.api("POST", "/v1/users", {"email": "dora@example.org"}, uid=lab.STRANGER)
    assert (again.status, again.body["name"]) == (200, "dora")


def keys_of(name):
    """Caller and key, of the admin's view of one user."""
    answer = lab.api("GET", f"/v1/users/{name}")
    return [(row["caller"], row["external_id"]) for row in answer.body["external_ids"]]


def test_one_address_is_not_two_people_of_a_caller():
    first = lab.api("POST", "/v1/users", {"email": "hal@example.org", "external_id": "hal-1"},
                    uid=lab.CALLER)
    assert first.status == 201
    other = lab.api("POST", "/v1/users", {"email": "hal@example.org", "external_id": "hal-2"},
                    uid=lab.CALLER)
    assert (other.status, other.body["field"]) == (409, "external_id")
    assert "uid" not in other.body
    again = lab.api("POST", "/v1/users", {"email": "hal@example.org", "external_id": "hal-1"},
                    uid=lab.CALLER)
    assert (again.status, again.body["uid"]) == (200, first.body["uid"])
    assert keys_of("hal") == [(lab.CALLER, "hal-1")]


def test_the_same_key_of_two_callers_is_two_people(caller):
    caller(lab.STRANGER)
    made = [lab.api("POST", "/v1/users", {"external_id": "42"}, uid=uid)
            for uid in (lab.CALLER, lab.STRANGER, None)]
    assert [answer.status for answer in made] == [201, 201, 201]
    assert len({answer.body["uid"] for answer in made}) == 3
    for uid, answer in zip((lab.CALLER, lab.STRANGER, None), made):
        again = lab.api("POST", "/v1/users", {"external_id": "42"}, uid=uid)
        assert (again.status, again.body["uid"]) == (200, answer.body["uid"])
        assert keys_of(answer.body["name"]) == [(uid or 0, "42")]


def test_a_key_is_bound_for_those_only_who_may_act_for_the_user(caller):
    ida = lab.user_add(email="ida@example.org").body
    spec = {"email": "ida@example.org", "external_id": "ida-1"}
    caller(lab.STRANGER, groups=["course-a"])
    assert lab.api("POST", "/v1/users", spec, uid=lab.STRANGER).status == 403
    assert keys_of("ida") == []
    caller(lab.STRANGER)
    bound = lab.api("POST", "/v1/users", spec, uid=lab.STRANGER)
    assert (bound.status, bound.body["uid"], bound.body["created"]) == (200, ida["uid"], False)
    assert keys_of("ida") == [(lab.STRANGER, "ida-1")]
    found = lab.api("POST", "/v1/users", {"external_id": "ida-1"}, uid=lab.STRANGER)
    assert (found.status, found.body["uid"]) == (200, ida["uid"])
    shown = lab.atelier("user", "show", "ida").stdout
    assert f"{lab.STRANGER}:ida-1" in shown


def test_new_users_of_a_caller_are_in_its_group(caller):
    caller(lab.STRANGER, groups=["course-a"])
    made = lab.api("POST", "/v1/users", {"email": "erin@example.org"}, uid=lab.STRANGER)
    assert made.status == 201
    assert "course-a" in lab.command("id", "-Gn", made.body["name"]).stdout.split()
    other = lab.api("POST", "/v1/users", {"email": "fay@example.org", "group": lab.ALL_USERS},
                    uid=lab.STRANGER)
    assert (other.status, other.body["field"]) == (403, "group")


@pytest.mark.parametrize("verbs, method, path, body", [
    (["users"], "POST", "/v1/runs", ONE),
    (["runs"], "POST", "/v1/users", {"email": "gus@example.org"}),
    (["users", "runs"], "POST", "/v1/runs", {**ONE, "net": "public"}),
])
def test_a_verb_that_is_not_given_is_refused(caller, verbs, method, path, body):
    caller(lab.STRANGER, verbs=verbs)
    answer = lab.api(method, path, body, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    caller(lab.STRANGER)
    assert lab.api(method, path, body, uid=lab.STRANGER).status in (200, 201)


@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/users", None), ("GET", "/v1/users/alice", None), ("GET", "/v1/groups", None),
    ("POST", "/v1/groups", {"name": "course-b"}), ("GET", "/v1/callers", None),
    ("POST", "/v1/callers", {"uid": 991, "groups": [lab.ALL_USERS], "verbs": ["runs"]}),
    ("DELETE", "/v1/callers/990", None),
])
def test_administration_is_not_for_callers(method, path, body):
    answer = lab.api(method, path, body, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    groups = [row["name"] for row in lab.api("GET", "/v1/groups").body["groups"]]
    assert "course-b" not in groups


def test_the_peer_is_who_connected_not_who_writes():
    """A socket that root opened is root's, whoever it is handed to."""
    sock = lab.door(0).connect(lab.API)
    body = json.dumps(ONE).encode()
    request = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    code = "import os, sys; os.write(int(sys.argv[1]), sys.stdin.buffer.read())"
    with sock:
        sock.settimeout(10)
        subprocess.run(["setpriv", f"--reuid={lab.CALLER}", "--regid=atelier-api",
                        "--clear-groups", lab.PYTHON, "-c", code, str(sock.fileno())],
                       input=request, pass_fds=[sock.fileno()], check=True)
        assert sock.recv(4096).startswith(b"HTTP/1.1 403 ")


def test_sockets_have_the_right_owners():
    for path, group, mode in ((lab.API, "atelier-api", 0o660), (lab.ADMIN, "root", 0o600),
                              ("/run/atelier/core.sock", "atelier", 0o660)):
        st = os.stat(path)
        assert (st.st_uid, st.st_mode & 0o777) == (0, mode)
        assert lab.command("stat", "-c", "%G", path).stdout.strip() == group


def test_only_the_api_may_talk_to_the_root_process():
    """core.sock is for the owner of the registry: root and other callers are turned away."""
    sock = lab.socket.socket(lab.socket.AF_UNIX, lab.socket.SOCK_SEQPACKET)
    with sock:
        sock.settimeout(5)
        sock.connect("/run/atelier/core.sock")
        assert sock.recv(64) == b""
    assert lab.run(["/bin/true"]).status == "ok"
