# SPDX-License-Identifier: ISC
# conftest.py - the participants who attack, and the host they are on.
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{HERE}/../integration", f"{HERE}/../lablib"]

import lab  # noqa: E402
import pytest  # noqa: E402
import where  # noqa: E402


def pytest_sessionstart():
    # Everything below changes accounts, rules and mounts: never on a machine that is not a lab.
    if os.environ.get("ATELIER_LAB") != "1" or os.geteuid() != 0:
        pytest.exit("these tests run inside the lab only: tests/attack/run", returncode=2)


@pytest.fixture(scope="session", autouse=True)
def workshop():
    """alice attacks, carol is at work beside her; bob is an account of the host's own."""
    lab.bring_up()
    for name in ("alice", "carol"):
        assert lab.user_add(email=f"{name}@example.org").status in (200, 201)
    answer = lab.api("POST", "/v1/callers", {"uid": lab.CALLER, "groups": [lab.ALL_USERS],
                                             "verbs": ["users", "runs", "net-public"]})
    assert answer.status == 200, answer
    if lab.uid_of("bob") is None:
        lab.command("useradd", "bob")
    where.install()
    yield
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


@pytest.fixture(scope="session")
def alice():
    return lab.uid_of("alice")


@pytest.fixture(scope="session")
def inside():
    """One login of alice, for all that is tried in a session."""
    with lab.Session("alice") as session:
        yield session
