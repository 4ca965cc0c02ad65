# SPDX-License-Identifier: ISC
# test_trixie.py - the tree that was built on Debian 12, on Debian 13.
import json

import pytest
import test_confinement as confinement
import test_doors as doors
import test_network as network
import test_service as service

pytestmark = pytest.mark.long


def test_it_is_debian_13(trixie):
    assert trixie.said(". /etc/os-release; echo $VERSION_ID") == "13"
    # Its sshd is in parts, and has to be told the PAM service.
    assert "pamservicename" in trixie.said("sshd -T").lower()


def test_everything_runs(trixie):
    service.test_everything_runs_and_is_started_at_boot(trixie)


def test_doors(trixie):
    doors.test_an_invitation_lets_in_once(trixie)
    doors.test_a_run_by_the_api(trixie)
    doors.test_the_host_sees_who_does_what(trixie)
    doors.test_locking_ends_a_session_and_unlocking_lets_in(trixie)


def test_confinement_of_a_session(trixie):
    with trixie.login("alice") as alice:
        looks = json.loads(alice.python(confinement.LOOK))
    assert looks["rights"] == confinement.RIGHTS
    assert looks["tmp"] == ["mine"] and looks["homes"] == ["alice"]
    confinement.test_runs_and_sessions_are_in_groups_of_their_own(trixie)


def test_network(trixie):
    network.test_a_run_reaches_the_world_and_not_the_host(trixie)
    network.test_flushed_rules_come_back_or_nothing_starts(trixie, "iptables")


@pytest.mark.parametrize("unit", service.UNITS)
def test_a_restart_ends_no_session(trixie, unit):
    service.test_a_restart_ends_no_session(trixie, unit)


def test_undo(trixie):
    done = trixie.sh("atelier setup --undo --yes", check=False)
    assert done.returncode == 0, done
    assert trixie.sh("getent passwd alice", check=False).returncode == 2
    assert "hosty" in trixie.said("id hosty")
