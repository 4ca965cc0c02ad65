# SPDX-License-Identifier: ISC
# test_naive.py - the rules of a plain recipe beside ours: which destinations get through.
#
# The recipe is that of many pages: the owner's range is refused 127/8, the private networks and
# 169.254/16. It stays here, leaks and all: should it one day hold, so much less is ours needed.
import json
import os
import subprocess
import sys

import lab
import naive
import pytest
import where

HERE = os.path.dirname(os.path.abspath(__file__))
# What the recipe is for, and does.
RECIPE_STOPS = {"tcp:127.0.0.1", "tcp:::ffff:127.0.0.1", "tcp:10.9.0.2", "tcp:172.16.9.2",
                "tcp:192.168.9.2", "tcp:169.254.169.254"}
ALL = {*naive.TARGETS, naive.SET_GID, naive.TAKEN_OVER}


def got_through(said):
    return not said.startswith("stopped")


@pytest.fixture(scope="module")
def found(workshop, tmp_path_factory):
    """{rules: {target: what was got}}, in namespaces of the test's own."""
    saved = tmp_path_factory.mktemp("rules")
    for family in lab.FAMILIES:
        text = lab.command(f"{family}-save", "-t", "filter").stdout
        assert f"--uid-owner {lab.ID_MIN}-{lab.ID_MAX}" in text
        (saved / family).write_text(text)
    python = where.raised_python("lab-naive-set-gid", 0o2755, gid=lab.uid_of("bob"))
    argv = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", lab.PYTHON, "-B",
            f"{HERE}/naive.py", str(saved / "iptables"), str(saved / "ip6tables"), python]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False,
                            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    os.unlink(python)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_print_the_table(found):
    names = list(found)
    lines = [f"{'destination':42}" + "".join(f"{name:>12}" for name in names)]
    for target in (*naive.TARGETS, naive.SET_GID, naive.TAKEN_OVER, *naive.INTERNET):
        words = ["through" if got_through(found[name][target]) else "-" for name in names]
        lines.append(f"{target:42}" + "".join(f"{word:>12}" for word in words))
    leaks = [sum(got_through(found[name][target]) for target in ALL) for name in names]
    lines.append(f"{'let through, of ' + str(len(ALL)):42}" + "".join(f"{n:>12}" for n in leaks))
    print("\n" + "\n".join(lines))
    assert leaks[-1] == 0


def test_without_rules_all_of_it_gets_through(found):
    """The positive control of the two below."""
    assert [target for target, said in found["no rules"].items() if not got_through(said)] == []


def test_the_recipe_leaks(found):
    through = {target for target in ALL if got_through(found["uid-owner"][target])}
    assert through == ALL - RECIPE_STOPS - {naive.SET_GID}


def test_by_group_it_leaks_one_way_more(found):
    """Any set-gid program of the host does: the group that the socket is of is not the user's."""
    through = {target for target in ALL if got_through(found["gid-owner"][target])}
    assert through == ALL - RECIPE_STOPS


def test_ours_let_nothing_through(found):
    through = {target: said for target, said in found["atelier"].items() if got_through(said)}
    assert set(through) == set(naive.INTERNET), through


@pytest.mark.parametrize("rules", ["uid-owner", "gid-owner", "atelier"])
def test_the_internet_is_reached_by_all_of_them(found, rules):
    for target in naive.INTERNET:
        assert found[rules][target] == f"world {target.removeprefix('tcp:')}"
