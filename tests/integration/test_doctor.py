# SPDX-License-Identifier: ISC
# test_doctor.py - atelier doctor: a host that is well, and one fault at a time, which it names.
#
# Each row of doctor_faults.py breaks one thing by the means of an administrator; the checks that must
# fail then are named, those that cannot find out are, and no other may. What needs a program without
# one of its protections is in tests/sabotage.
import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import doctor_faults
import lab
import pytest
from doctor_faults import (CHOSEN, FAULTS, LOOKS, RULES, RULE_FAULTS, WARNINGS, covered, listener, mounted,
                           policy, read)

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ABSTRACT = "\0test-doctor"
STA_UNSYNC = 0x40  # linux/timex.h


def doctor(*args):
    """Exit code, and the lines by id."""
    result = lab.command(*doctor_faults.COMMAND, *args, check=False)
    assert result.returncode in (0, 1), result.stderr
    report = json.loads(result.stdout)
    lines = {line["id"]: line for line in report["checks"]}
    assert len(lines) == len(report["checks"])
    verdicts = [line["verdict"] for line in lines.values()]
    for word in ("pass", "warn", "fail", "unknown", "skip"):
        assert report[word] == verdicts.count(word)
    bad = report["fail"] + report["unknown"]
    assert (result.returncode, report["verdict"]) == ((1, "fail") if bad else (0, "pass"))
    return result.returncode, lines


def with_verdict(lines, verdict):
    return {name for name, line in lines.items() if line["verdict"] == verdict}


def is_unsynchronised():
    timex = ctypes.create_string_buffer(512)
    assert ctypes.CDLL(None).adjtimex(timex) >= 0
    return bool(struct.unpack_from("i", timex, 40)[0] & STA_UNSYNC)  # struct timex: status


def lacks():
    """What a lab, or the machine that it is on, really has not."""
    found = {"resolver"}
    for name in ("hardlinks", "symlinks", "fifos", "regular"):
        if read(f"/proc/sys/fs/protected_{name}") == "0\n":
            found.add("sysctls")
    if is_unsynchronised():
        found.add("clock")
    if lab.health()["cgroup_mode"] == "none":
        found |= {"cgroup-mode", "receipt"}
    if lab.health()["disk"] == "none":
        found.add("disk-limit")
    if lab.health()["landlock_abi"] < 6:
        found |= {"landlock", "abstract-sockets"}
    return found


# ---- well

def test_a_host_that_is_well_passes_every_check():
    code, lines = doctor()
    assert with_verdict(lines, "fail") == with_verdict(lines, "unknown") == set()
    assert with_verdict(lines, "warn") == lacks()
    assert code == 0
    for line in lines.values():
        assert line["evidence"]
        assert (line["mend"] is None) == (line["verdict"] in ("pass", "skip"))
    skipped = {name for name in with_verdict(lines, "skip")
               if not re.search("systemd|AppArmor|installed", lines[name]["evidence"])}
    assert skipped == set()


def test_the_short_form_was_run_when_the_services_had_started():
    """In a lab as on a host: here by the lab, there by atelier-doctor.service."""
    lines = read("/run/lab/doctor.log").splitlines()
    _, short = doctor("--short")
    assert [line.split()[2] for line in lines[:-1] if not line.startswith(" ")] == list(short)
    assert "FAIL" not in lines[-1] and "unknown" not in lines[-1], lines


def test_the_table_says_the_same_in_lines():
    shown = lab.command("atelier", "doctor", "host").stdout.splitlines()
    _, lines = doctor("host")
    rows = [line for line in shown[:-1] if not line.startswith(" ")]
    assert [row.split()[:3] for row in rows] == [
        [line["verdict"].replace("pass", "ok"), "host", name] for name, line in lines.items()]
    assert shown[-1].startswith(f"{len(rows)} checks: ")
    assert "\033" not in "".join(shown)


def test_checks_are_chosen_by_group_and_by_id():
    assert set(doctor("homes", "sockets")[1]) == {"homes", "sockets"}
    _, service = doctor("service")
    assert {line["group"] for line in service.values()} == {"service"}
    _, short = doctor("--short")
    assert {"rules-v4", "homes", "sessiond"} < set(short) < set(doctor(*LOOKS)[1])
    listed = lab.command("atelier", "doctor", "--list", "--short").stdout.splitlines()
    assert [line.split()[1] for line in listed] == list(short)
    wrong = lab.command("atelier", "doctor", "no-such-check", check=False)
    assert (wrong.returncode, wrong.stdout) == (64, "")


def test_the_list_says_as_json_what_a_run_says():
    listed = json.loads(lab.command("atelier", "doctor", "--list", "--json", *LOOKS).stdout)
    assert set(listed) == {"checks"}
    _, lines = doctor(*LOOKS)
    _, short = doctor("--short")
    assert [check["id"] for check in listed["checks"]] == list(lines)
    for check in listed["checks"]:
        line = lines[check["id"]]
        assert set(check) == {"id", "group", "short", "what", "mend"}
        assert (check["group"], check["what"]) == (line["group"], line["what"])
        assert check["short"] == (check["id"] in short)
        assert check["mend"]
    rows = [line.split()[:2] for line in lab.command("atelier", "doctor", "--list", *LOOKS).stdout.splitlines()]
    assert rows == [[check["group"], check["id"]] for check in listed["checks"]]
    lines = lab.screen("atelier", "doctor", "--list")
    assert max(map(len, lines)) <= 80 and len(lines) > len(lab.command("atelier", "doctor", "--list").stdout.splitlines())


def test_it_is_for_root():
    result = lab.command("setpriv", "--reuid", str(lab.STRANGER), "--regid", str(lab.STRANGER),
                         "--clear-groups", "atelier", "doctor", check=False)
    assert (result.returncode, result.stdout) == (77, "")
    assert "doctor is for root" in result.stderr


def test_on_a_terminal_it_is_80_columns_wide_and_coloured():
    primary, replica = pty.openpty()
    fcntl.ioctl(replica, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    result = subprocess.run(["atelier", "doctor", "host", "service"], stdout=replica, timeout=60,
                            stdin=subprocess.DEVNULL, env=dict(os.environ, TERM="xterm"), check=False)
    os.close(replica)
    text = b""
    with contextlib.suppress(OSError), open(primary, "rb", buffering=0) as file:
        while data := file.read(65536):  # EIO at the end: the other side is closed
            text += data
    assert result.returncode == 0
    assert b"\033[32mok\033[0m" in text
    plain = re.sub(r"\033\[[0-9;]*m", "", text.decode()).replace("\r", "")
    words = [word for line in plain.splitlines() if len(line) > 80 for word in line.split()]
    assert not words, f"longer than the screen: {words}"


# ---- one fault at a time

@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_nothing_else(name):
    broken, fails, *unknown = FAULTS[name]
    if name == "no control groups" and lab.health()["cgroup_mode"] == "none":
        pytest.skip("this machine has no control groups that a lab could use")
    with broken():
        code, lines = doctor(*LOOKS)
        found = {"fail": with_verdict(lines, "fail"), "unknown": with_verdict(lines, "unknown")}
        assert found == {"fail": fails, "unknown": set().union(*unknown)}, lines
        assert code == 1
        assert all(lines[check]["mend"] for check in fails)
    # What else was left would show in the next row.
    code, lines = doctor(*fails, *set().union(*unknown))
    assert code == 0, lines


@pytest.mark.parametrize("name", RULE_FAULTS)
def test_a_fault_of_the_rules_is_named(name):
    broken, fails = RULE_FAULTS[name]
    with broken():
        code, lines = doctor(*RULES)
        assert (with_verdict(lines, "fail"), with_verdict(lines, "unknown")) == (fails, set())
        assert code == 1
    assert doctor(*RULES)[0] == 0


@pytest.mark.parametrize("name", WARNINGS)
def test_what_should_be_known_is_a_warning(name):
    broken, warns = WARNINGS[name]
    before = lacks()
    with broken():
        code, lines = doctor(*LOOKS)
        assert (code, with_verdict(lines, "warn")) == (0, before | warns), lines
        assert all(lines[check]["mend"] for check in warns)
    assert with_verdict(doctor(*warns)[1], "warn") == before & warns


@pytest.mark.parametrize("name", CHOSEN)
def test_a_fault_is_named_among_those_that_look(name):
    broken, asked, *wanted = CHOSEN[name]
    before = lacks() & set(asked)
    with broken():
        _, lines = doctor(*asked)
        found = [with_verdict(lines, verdict) for verdict in ("warn", "fail", "unknown")]
        assert found == [before | wanted[0], *wanted[1:]], lines
        assert all(lines[check]["mend"] for check in set().union(*wanted))


def test_a_table_of_connections_that_is_too_small_is_told_with_what_would_do(alice):
    users, each = lab.health()["users_enabled"], lab.health()["net_connections"]
    assert users > 0 and each > 0
    all_of_them = users * each
    with covered("/proc/sys/net/netfilter/nf_conntrack_max", f"{all_of_them}\n"):
        line = doctor("conntrack-room")[1]["conntrack-room"]
        assert (line["verdict"], line["mend"]) == ("pass", None)
    with covered("/proc/sys/net/netfilter/nf_conntrack_max", f"{all_of_them - 1}\n"):
        line = doctor("conntrack-room")[1]["conntrack-room"]
    assert line["verdict"] == "warn"
    assert f"{users} users may have {each} connections each, together {all_of_them}; " in line["evidence"]
    assert f"room for {all_of_them - 1}, " in line["evidence"]
    room, connections = map(int, re.search(r"nf_conntrack_max=(\d+) .* connections = (\d+) ", line["mend"]).groups())
    # Either of them is enough, and leaves a quarter for everybody else.
    assert room * 3 / 4 >= all_of_them and users * connections <= (all_of_them - 1) * 3 / 4
    with mounted("/proc/sys/net/netfilter"):
        assert doctor("conntrack-room")[1]["conntrack-room"]["verdict"] == "skip"


def test_a_limit_that_is_required_and_not_kept_is_a_fault():
    with policy("run { required = {memory, cpu} }\n", reload=True):
        line = doctor("cgroup-mode")[1]["cgroup-mode"]
        assert line["verdict"] == "pass", line  # positive control: here groups keep both
    with doctor_faults.without_groups(), doctor_faults.doors.written("/etc/default/atelier", "SESSIOND_CGROUP=\n"):
        line = doctor("cgroup-mode")[1]["cgroup-mode"]
        assert line["verdict"] == "warn", line  # likewise: who does without them is not told more
        with policy("run { required = {memory, cpu} }\n", reload=True):
            line = doctor("cgroup-mode")[1]["cgroup-mode"]
            assert line["verdict"] == "fail" and "does not keep memory,cpu, which the policy requires" in line["evidence"]


# ---- every check has its fault

def sabotaged():
    """Checks that fail when tests/sabotage takes a protection away."""
    sys.path.insert(0, f"{TESTS}/sabotage")
    run_rows = importlib.import_module("run_rows")
    names = {name for row in run_rows.ROWS for name in row.doctor or ()}
    return names | {name for row in run_rows.ROWS for test in row.tests
                    for name in re.findall(r"^test_doctor_attacks.py::test_a_check_passes\[(.*)\]$", test)}


def told():
    """Checks that fail by a single line of an attack."""
    return set(re.findall(r'^    \{"([a-z0-9-]+)", check_', read(f"{TESTS}/unit/test_ctl_doctor_attacks.c"),
                          flags=re.M))


# What no row of these breaks: which test does, or why none can.
OTHERWISE = {
    "policy-loose": "test_a_looser_policy_is_a_warning_that_names_the_key",
    "abstract": "test_listeners_with_abstract_names_are_told",
    "resolver": "test_a_host_that_is_well_passes_every_check",  # a lab has none: lacks()
    "endless-loop": "test_a_loop_that_no_limit_ends_is_a_fault",
    "landlock": "the version is the kernel's: lacks() where it is an old one",
}


def test_every_check_has_a_fault_or_a_reason():
    rows = [set().union(*row[1:]) for row in (*FAULTS.values(), *RULE_FAULTS.values(), *WARNINGS.values())]
    rows += [set().union(*row[2:]) for row in CHOSEN.values()]
    covered = set().union(*rows) | sabotaged() | told()
    listed = {check["id"] for check in
              json.loads(lab.command("atelier", "doctor", "--list", "--json").stdout)["checks"]}
    assert covered <= listed  # a name that is none would be in nobody's report
    assert listed - covered == set(OTHERWISE)
    tests = read(__file__) + read(f"{TESTS}/integration/test_doctor_attacks.py")
    assert [word for word in OTHERWISE.values() if word.startswith("test_") and f"def {word}(" not in tests] == []


def test_a_looser_policy_is_a_warning_that_names_the_key():
    with policy("run { memory = 800M }\nprofile big { base = login pids = 400 uids = {10001} }\n",
                reload=True):
        code, lines = doctor(*LOOKS)
        assert code == 0
        assert lines["policy-loose"]["verdict"] == "warn"
        assert lines["policy-loose"]["evidence"] == \
            "run: memory is 800M, shipped 512M; big: pids is 400, shipped 256"
    assert doctor("policy-loose")[1]["policy-loose"]["verdict"] == "pass"


def test_listeners_with_abstract_names_are_told():
    with listener(ABSTRACT):
        line = doctor("abstract")[1]["abstract"]
        assert "@test-doctor" in line["evidence"]
        assert line["verdict"] == ("pass" if lab.health()["landlock_abi"] >= 6 else "warn")


def test_text_of_others_does_not_reach_the_terminal():
    with listener("\0bad\033[2Jname"):
        shown = lab.command("atelier", "doctor", "abstract").stdout
        assert "\033" not in shown
        assert "bad\\x1b[2Jname" in shown


def test_the_short_form_is_short():
    began = time.monotonic()
    doctor("--short")
    assert time.monotonic() - began < 5  # a twentieth of one on a quiet machine


def test_images_that_were_promised_more_than_there_is_are_a_warning():
    assert "images" not in doctor("disk")[1]["disk"]["evidence"]
    os.makedirs(f"{lab.STATE}/disk", mode=0o700, exist_ok=True)
    image = f"{lab.STATE}/disk/59999.img"
    free = os.statvfs(lab.STATE)
    try:
        with open(image, "wb") as file:
            os.truncate(file.fileno(), free.f_bavail * free.f_frsize // 2)
        assert "images" not in doctor("disk")[1]["disk"]["evidence"]
        os.truncate(image, free.f_bavail * free.f_frsize + (64 << 30))
        line = doctor("disk")[1]["disk"]
        assert line["verdict"] == "warn" and "the images of homes may still take" in line["evidence"]
    finally:
        os.unlink(image)
