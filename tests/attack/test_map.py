# SPDX-License-Identifier: ISC
# test_map.py - ROWS says for each threat which test shows it: is every row there, and every test?
import functools
import os
import re

import pytest
import rows

HERE = os.path.dirname(os.path.abspath(__file__))
THREATS = f"{HERE}/../../doc/threats.md"
# Tables of doc/threats.md whose rows are this ring's, and the last number that was given out.
LAST = {"N": 45, "I": 9, "P": 22, "T": 8, "R": 16, "F": 25, "K": 11, "D": 8, "B": 18}


def read_rows():
    """{id: ([test, ...], note)}"""
    found = {}
    with open(f"{HERE}/ROWS", encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            ident, tests, note = (field.strip() for field in line.split("|"))
            assert ident not in found, ident
            found[ident] = ([] if tests == "-" else tests.split(), note)
    return found


MAP = read_rows()


@functools.lru_cache(maxsize=None)
def text_of(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as file:
        return file.read()


def test_every_row_is_there():
    wanted = {f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)}
    assert set(MAP) == wanted
    with open(THREATS, encoding="utf-8") as file:
        named = set(re.findall(r"(?m)^\| ([A-Z]\d+) \|", file.read()))
    assert {ident for ident in named if ident[0] in LAST} <= wanted
    assert len(named) > 90  # positive control: the tables were read


def test_every_attack_is_named():
    assert {each.id for each in rows.ROWS} <= set(MAP)
    for each in rows.ROWS:
        assert any(test.startswith("test_rows.py::") for test in MAP[each.id][0]), each


@pytest.mark.parametrize("letter", LAST)
def test_every_test_exists_and_every_gap_has_a_reason(letter):
    for ident, (tests, note) in MAP.items():
        if ident.startswith(letter):
            assert tests or note, ident
            for test in tests:
                path, _, name = test.partition("::")
                text = text_of(path)
                found = rf"(?m)^(def |static void ){re.escape(name)}\(" if name else r"\S"
                assert re.search(found, text), (ident, test)
