# SPDX-License-Identifier: ISC
# test_openapi.py - openapi.yaml says what the API does: each of its examples is sent, each answer is looked up.
import os

import jsonschema
import lab
import pytest
import yaml

with open(os.path.join(os.environ["ATELIER_SRC"], "sessiond/api/openapi.yaml"), encoding="utf-8") as file:
    DOC = yaml.safe_load(file)
METHODS = ("get", "post", "patch", "delete")
OPERATIONS = [(method, path) for path, item in DOC["paths"].items() for method in METHODS
              if method in item]
NDJSON = "application/x-ndjson"


def resolved(node):
    while "$ref" in node:
        target = DOC
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def json_schema(node, is_closed, in_part=False):
    """A schema of OpenAPI 3.0 as one of JSON Schema. @is_closed: what is not described is wrong."""
    node = resolved(node)
    new = {}
    for key, value in node.items():
        if key == "properties":
            new[key] = {name: json_schema(each, is_closed) for name, each in value.items()}
        elif key == "items":
            new[key] = json_schema(value, is_closed)
        elif key in ("allOf", "anyOf", "oneOf"):
            new[key] = [json_schema(each, is_closed, True) for each in value]
        elif key == "additionalProperties" and isinstance(value, dict):
            new[key] = json_schema(value, is_closed)
        elif key == "nullable":
            new["type"] = [node["type"], "null"]
        elif key not in ("description", "example", "format", "default") and key not in new:
            new[key] = value
    if is_closed and "properties" in node and not in_part:
        new.setdefault("additionalProperties", False)
    return new


def check(value, schema, is_closed=True):
    jsonschema.validate(value, json_schema(schema, is_closed), jsonschema.Draft7Validator)


def operation(method, path):
    return DOC["paths"][path][method]


def examples_of(content):
    """Of one media type, by name."""
    if "example" in content:
        yield "example", content["example"]
    for name, each in content.get("examples", {}).items():
        yield name, each["value"]


def requests():
    for method, path in OPERATIONS:
        content = operation(method, path).get("requestBody", {}).get("content", {})
        if not content:
            yield method, path, None, None
        for name, body in examples_of(content.get("application/json", {})):
            yield method, path, name, body


def answers():
    for method, path in OPERATIONS:
        for status, response in operation(method, path)["responses"].items():
            for kind, content in resolved(response).get("content", {}).items():
                for name, value in examples_of(content):
                    yield pytest.param(kind, content["schema"], value,
                                       id=f"{method}-{path}-{status}-{name}")


def check_answer(method, path, answer):
    """Is this one of the answers that are described?"""
    responses = operation(method, path)["responses"]
    assert str(answer.status) in responses, (method, path, answer)
    content = resolved(responses[str(answer.status)]).get("content")
    if content is None:
        assert answer.body is None
    elif NDJSON in content:
        for event in answer.body:
            check(event, content[NDJSON]["schema"])
    else:
        check(answer.body, content["application/json"]["schema"])


# ---- the document itself

@pytest.mark.parametrize("kind, schema, value", answers())
def test_every_example_of_an_answer_fits_its_schema(kind, schema, value):
    if kind == NDJSON:
        for line in value.splitlines():
            check(yaml.safe_load(line), schema)
    else:
        check(value, schema)


@pytest.mark.parametrize("path", DOC["paths"])
def test_every_path_takes_the_methods_that_are_described(path):
    answer = lab.api("PUT", path.replace("{", "").replace("}", ""))
    assert answer.status == 405, answer
    methods = {method.upper() for method in METHODS if method in DOC["paths"][path]}
    assert set(answer.headers["Allow"].split(", ")) == methods


def test_every_route_is_described():
    with open(os.path.join(os.environ["ATELIER_SRC"], "sessiond/api/route.c"), encoding="utf-8") as text:
        lines = [line.strip() for line in text if line.strip().startswith('{"')]
    routes = {tuple(line[2:].split('", "', 1)) for line in lines}
    routes = {(method, rest.split('"')[0]) for method, rest in routes}
    assert routes == {(method.upper(), path.split("{")[0]) for method, path in OPERATIONS}


# ---- its examples, sent

GROUP = "openapi-group"


@pytest.fixture(scope="module")
def scene(bob):
    """What the examples are about, besides alice and course-a."""
    assert lab.api("POST", "/v1/groups", {"name": GROUP}).status == 201
    assert lab.api("POST", "/v1/groups", {"name": "openapi-gone"}).status == 201
    assert lab.user_add(name="openapi-gone-user").status == 201
    with lab.Session("carol") as session:
        yield session
    lab.api("DELETE", "/v1/callers/33")
    lab.api("DELETE", "/v1/users/bob")
    for change in ({"locked": False, "expires_at": None, "comment": "", "shell": ""},
                   {"email": "alice@example.org", "groups": []}):
        assert lab.api("PATCH", "/v1/users/alice", change).status == 200


def offer_copy():
    assert lab.api("POST", "/v1/backup", {}).status == 200
    os.rename(f"{lab.STATE}/registry/backup.db", f"{lab.STATE}/registry/restore.db")


def parameter(method, path, session):
    """What stands in the place of the {name} of a path."""
    if path == "/v1/users/{name}":
        return "openapi-gone-user" if method == "delete" else "alice"
    if path == "/v1/groups/{name}":
        return "openapi-gone" if method == "delete" else GROUP
    if path == "/v1/callers/{uid}":
        return "33"
    if path == "/v1/links/{id}":
        return lab.mint("carol")["id"]
    if path == "/v1/network/{name}":
        return "alice"
    if path == "/v1/index/{after}":
        return "0"
    assert path == "/v1/sessions/{id}"
    return session.id


# What the lab has already.
EXISTING = {("post", "/v1/groups", "example"): 409}


def test_every_request_is_answered_as_described(scene):
    """In the order of the document, which deletes what it has made last."""
    for method, path, name, body in requests():
        if path == "/v1/restore":
            offer_copy()
        where = path
        if "{" in path:
            where = path.split("{")[0] + parameter(method, path, scene)
        if body is not None:
            schema = operation(method, path)["requestBody"]["content"]["application/json"]["schema"]
            check(body, schema, is_closed=False)
        answer = lab.api(method.upper(), where, body)
        check_answer(method, path, answer)
        wanted = EXISTING.get((method, path, name))
        assert answer.status == wanted if wanted else answer.status < 300, (method, path, name, answer)
        if (path, name) == ("/v1/users/{name}", "lock"):
            assert lab.api("PATCH", where, {"locked": False}).status == 200


@pytest.mark.parametrize("method, path, where, body, status", [
    ("get", "/v1/users/{name}", "/v1/users/no-such-user", None, 404),
    ("get", "/v1/groups/{name}", "/v1/groups/no-such-group", None, 404),
    ("delete", "/v1/groups/{name}", "/v1/groups/atelier-users", None, 409),
    ("patch", "/v1/users/{name}", "/v1/users/alice", {"email": "carol@example.org"}, 409),
    ("patch", "/v1/users/{name}", "/v1/users/alice", {"groups": ["no-such"]}, 400),
    ("post", "/v1/imports", "/v1/imports", {"users": [{"name": "root"}]}, 409),
    ("post", "/v1/imports", "/v1/imports", {"users": [{"name": "No"}]}, 400),
    ("post", "/v1/imports", "/v1/imports", {"users": []}, 400),
    ("get", "/v1/index/{after}", "/v1/index/x", None, 404),
    ("post", "/v1/restore", "/v1/restore", {}, 400),
])
def test_refusals_are_as_described(method, path, where, body, status):
    answer = lab.api(method.upper(), where, body)
    assert answer.status == status, answer
    check_answer(method, path, answer)
