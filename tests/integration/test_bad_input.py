# SPDX-License-Identifier: ISC
# test_bad_input.py - what is wrong with a request is said by name, and nothing runs.
import os
import socket

import lab
import pytest

MARK = f"{lab.HOMES}/alice/work/marker"
GOOD = {"user": "alice", "argv": ["/usr/bin/touch", MARK]}
MIB = 1 << 20


@pytest.fixture
def marker():
    """Nothing may have run: the program of every request here makes this file."""
    assert lab.run(GOOD["argv"]).status == "ok"  # positive control
    assert os.path.exists(MARK)
    os.unlink(MARK)
    yield
    assert not os.path.exists(MARK)
    assert lab.health()["runs"] == 0


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


def limits(**more):
    return {**GOOD, "limits": more}


BAD_RUNS = [
    ({**GOOD, "colour": "blue"}, "colour"),
    ({**GOOD, "User": "alice"}, "User"),
    (limits(cpu_ms=0), "limits.cpu_ms"),
    (limits(cpu=1), "limits.cpu"),
    (without("user"), "user"),
    (without("argv"), "argv"),
    ({**GOOD, "user": None}, "user"),
    ({**GOOD, "user": 10001.5}, "user"),
    ({**GOOD, "user": ["alice"]}, "user"),
    ({**GOOD, "user": True}, "user"),
    ({**GOOD, "argv": "/usr/bin/touch"}, "argv"),
    ({**GOOD, "argv": []}, "argv"),
    ({**GOOD, "argv": {}}, "argv"),
    ({**GOOD, "argv": ["touch", MARK]}, "argv[0]"),
    ({**GOOD, "argv": ["", MARK]}, "argv[0]"),
    ({**GOOD, "argv": ["./touch"]}, "argv[0]"),
    ({**GOOD, "argv": ["/usr/bin/touch", 7]}, "argv[1]"),
    ({**GOOD, "argv": ["/usr/bin/touch", None]}, "argv[1]"),
    ({**GOOD, "argv": ["/usr/bin/touch"] + [MARK] * 5000}, "argv"),
    ({**GOOD, "env": []}, "env"),
    ({**GOOD, "env": {"A": 1}}, "env.A"),
    ({**GOOD, "env": {"A-B": "1"}}, "env.A-B"),
    ({**GOOD, "env": {"1A": "1"}}, "env.1A"),
    ({**GOOD, "env": {"A=B": "1"}}, "env.A=B"),
    ({**GOOD, "env": {"": "1"}}, "env."),
    ({**GOOD, "env": {"HOME": "/"}}, "env.HOME"),
    ({**GOOD, "env": {"PATH": "/"}}, "env.PATH"),
    ({**GOOD, "env": {"USER": "root"}}, "env.USER"),
    ({**GOOD, "env": {"LOGNAME": "root"}}, "env.LOGNAME"),
    ({**GOOD, "env": {"SHELL": "/bin/sh"}}, "env.SHELL"),
    ({**GOOD, "stdin": 1}, "stdin"),
    ({**GOOD, "stdin": ["x"]}, "stdin"),
    ({**GOOD, "net": "private"}, "net"),
    ({**GOOD, "net": "host"}, "net"),
    ({**GOOD, "net": False}, "net"),
    ({**GOOD, "limits": 5}, "limits"),
    (limits(wall_ms=0), "limits.wall_ms"),
    (limits(wall_ms=-1), "limits.wall_ms"),
    (limits(wall_ms=600001), "limits.wall_ms"),
    (limits(wall_ms=1 << 40), "limits.wall_ms"),
    (limits(wall_ms="1000"), "limits.wall_ms"),
    (limits(wall_ms=1.5), "limits.wall_ms"),
    (limits(wall_ms=True), "limits.wall_ms"),
    (limits(out_kb=0), "limits.out_kb"),
    (limits(out_kb=16385), "limits.out_kb"),
    ({**GOOD, "lang": "cobol", "code": "x"}, "lang"),
    ({**GOOD, "lang": 3, "code": "x"}, "lang"),
    ({**GOOD, "lang": "sh"}, "code"),
    ({**GOOD, "code": "touch x"}, "lang"),
    ({**GOOD, "lang": "sh", "code": ["touch x"]}, "code"),
]


@pytest.mark.parametrize("body, field", BAD_RUNS, ids=[f"{i}-{row[1]}" for i, row in
                                                       enumerate(BAD_RUNS)])
def test_the_field_is_named_and_nothing_runs(marker, body, field):
    answer = lab.api("POST", "/v1/runs", body, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (400, "bad_request")
    assert answer.body["field"] == field
    assert answer.body["message"].endswith(".")
    assert set(answer.body) == {"status", "field", "message"}


BAD_USERS = ["nobody-there", "root", "bob", "Alice", "../alice", "alice/../alice", "alice\n", "",
             "a" * 300, "apiuser", "x; true", 0, 33, 990, 9999, 59900, 60000, 65534, 65536 + 10001,
             -1, (1 << 32) + 10001, 1 << 62]


@pytest.mark.parametrize("user", BAD_USERS, ids=repr)
def test_a_user_of_nobody_is_unknown(marker, bob, user):
    answer = lab.api("POST", "/v1/runs", {**GOOD, "user": user}, uid=lab.CALLER)
    assert answer.status in (400, 404)
    assert answer.body["status"] == ("unknown_user" if answer.status == 404 else "bad_request")
    assert answer.body["field"] == "user"


def test_a_user_is_accepted_by_name_and_by_uid(alice):
    assert lab.run(["/bin/true"], user="alice").status == "ok"
    assert lab.run(["/bin/true"], user=alice).status == "ok"


def test_a_user_outside_the_callers_groups(marker, caller):
    caller(lab.STRANGER, groups=["course-a"])
    answer = lab.api("POST", "/v1/runs", GOOD, uid=lab.STRANGER)
    assert (answer.status, answer.body["status"]) == (403, "not_allowed")
    assert answer.body["field"] == "user"


BAD_BODIES = [
    b"", b"nonsense", b"[]", b"null", b'"x"', b"{", b"{}", b'{"user":"alice",}',
    b'{"user":"alice","user":"carol","argv":["/bin/true"]}',
    b'{"user":"alice","argv":["/bin/true"]} {}',
    b'{"user":"alice","argv":["/bin/true","\\u0000"]}',
    b'{"user":"alice","argv":["/bin/true","\xff"]}',
    b'{"user":"alice","argv":["/bin/true"],"stdin":"\\ud800"}',
    b'{"user":"alice","argv":["/bin/true"],"limits":{"wall_ms":1e400}}',
    b"[" * 100000,
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: repr(body[:40]))
def test_a_body_that_is_not_one_json_object(marker, body):
    answer = lab.api("POST", "/v1/runs", body, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (400, "bad_request")
    assert answer.body["message"]


def test_an_over_long_body_is_refused(marker):
    body = {**GOOD, "stdin": "x" * (MIB + 1)}
    answer = lab.api("POST", "/v1/runs", body, uid=lab.CALLER)
    assert (answer.status, answer.body["status"]) == (413, "bad_request")


def test_an_over_long_body_is_refused_without_a_length(marker):
    """Chunked: it is not known before it comes."""
    with lab.door(lab.CALLER).connect(lab.API) as sock:
        sock.settimeout(10)
        sock.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(40):
                sock.sendall(chunk)
            sock.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sock.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_body_just_below_the_limit_is_taken():
    text = "x" * (MIB - 200)
    result = lab.run(["/usr/bin/wc", "-c"], stdin=text)
    assert result.out.split() == [str(len(text)).encode()]


def test_content_type_does_not_matter():
    connection = lab.Connection(lab.API, lab.CALLER, 30)
    connection.request("POST", "/v1/runs", lab.encode({"user": "alice", "argv": ["/bin/true"]}),
                       {"Content-Type": "text/plain"})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/", 404), ("GET", "/v1", 404), ("GET", "/v1/runs/x", 404), ("GET", "/v2/runs", 404),
    ("GET", "/v1/runs", 405), ("PUT", "/v1/users", 405), ("DELETE", "/v1/healthz", 405),
    ("GET", "/v1/users/../healthz", 404), ("GET", "/v1/users/nobody-there", 404),
])
def test_paths_and_methods(method, path, status):
    answer = lab.api(method, path)
    assert answer.status == status
    assert answer.body["status"] == ("unknown_user" if path.endswith("nobody-there")
                                     else "bad_request")
    if status == 405:
        assert method not in answer.headers["Allow"]


@pytest.mark.parametrize("spec, status, field", [
    ({}, 400, None),
    ({"email": "not an address"}, 400, "email"),
    ({"email": "x@example.org", "shell": "sh"}, 400, "shell"),
    ({"email": "x@example.org", "home": "/"}, 400, "home"),
    ({"email": "x@example.org", "uid": 60000}, 400, "uid"),
    ({"email": "x@example.org", "gid": 10500}, 400, "gid"),
    ({"email": 5}, 400, "email"),
    ({"email": ""}, 400, "email"),
    ({"email": "x@" + "y" * 300 + ".org"}, 400, "email"),
    ({"name": "Upper"}, 400, "name"),
    ({"name": "x:y"}, 400, "name"),
    ({"name": "../x"}, 400, "name"),
    ({"name": "x" * 40}, 400, "name"),
    ({"name": "x\n"}, 400, "name"),
    ({"external_id": "x" * 500}, 400, "external_id"),
    ({"name": "xavier", "group": "no-such-group"}, 400, "group"),
])
def test_users_that_cannot_be(spec, status, field):
    before = lab.health()
    answer = lab.user_add(**spec)
    assert answer.status == status, answer
    assert answer.body["field"] == field
    after = lab.health()
    assert (after["users"], after["generation"]) == (before["users"], before["generation"])


def test_slow_and_broken_clients_do_not_disturb_others():
    idle = [lab.door(lab.CALLER).connect(lab.API) for _ in range(20)]
    for sock in idle[:10]:
        sock.sendall(b"POST /v1/runs HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
    for sock in idle[10:15]:
        sock.sendall(b"\x16\x03\x01\x00\xff" + os.urandom(200))
    for sock in idle[15:]:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.sendall(b"GET /v1/healthz HTTP/1.1\r\n")
        sock.close()
    assert lab.run(["/bin/true"]).status == "ok"
    for sock in idle:
        sock.close()
