# SPDX-License-Identifier: ISC
# test_doctor.py - atelier doctor: a host that is well, and one fault at a time, which it names.
#
# Each row of FAULTS breaks one thing by the means of an administrator; the checks that must fail
# then are named, those that cannot find out are, and no other may. What needs a program without one
# of its protections is in tests/sabotage.
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time

import doors
import lab
import pytest

DROP_IN = "/etc/ssh/sshd_config.d/00-atelier.conf"
SHELL = "/usr/lib/atelier/shell"
POLICY = "/etc/atelier/atelier.conf"
ACCOUNT = "/etc/pam.d/common-account"
SOCKET_IN_USR = "/usr/local/share/test-doctor.sock"
BARE_SESSIOND = "/run/lab/sessiond-without-groups"
ABSTRACT = "\0test-doctor"
STA_UNSYNC = 0x40  # linux/timex.h


def doctor(*args):
    """Exit code, and the lines by id."""
    result = lab.command("atelier", "doctor", "--json", *args, check=False)
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


# ---- what is broken, and given back

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@contextlib.contextmanager
def changed(path, change):
    """The file has another text, and its old mode and owner."""
    st, before = os.stat(path), read(path)
    after = change(before)
    assert after != before, path
    try:
        with doors.written(path, after, st.st_mode & 0o7777):
            os.chown(path, st.st_uid, st.st_gid)
            yield
    finally:
        assert read(path) == before


def added(path, line):
    return changed(path, lambda text: text.rstrip("\n") + f"\n{line}\n")


def replaced(path, pattern, text):
    return changed(path, lambda before: re.sub(pattern, text, before, flags=re.M))


@contextlib.contextmanager
def mode(path, bits):
    before = os.stat(path).st_mode & 0o7777
    os.chmod(path, bits)
    try:
        yield
    finally:
        os.chmod(path, before)


@contextlib.contextmanager
def owner(path, uid):
    before = os.stat(path)
    os.chown(path, uid, -1)
    try:
        yield
    finally:
        os.chown(path, before.st_uid, before.st_gid)


@contextlib.contextmanager
def away(path):
    os.rename(path, f"{path}.away")
    try:
        yield
    finally:
        os.rename(f"{path}.away", path)


@contextlib.contextmanager
def stopped(name):
    lab.service("stop", name)
    try:
        yield
    finally:
        lab.service("start", name)
        lab.bring_up()


@contextlib.contextmanager
def without_groups():
    """sessiond is started without the options that name control groups."""
    with open(BARE_SESSIOND, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexec /usr/lib/atelier/sessiond\n")
    os.chmod(BARE_SESSIOND, 0o755)
    lab.service("restart", "sessiond", "--exec", BARE_SESSIOND)
    lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
    try:
        yield
    finally:
        lab.service("restart", "sessiond")
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)


@contextlib.contextmanager
def from_the_future(path):
    before = os.stat(path)
    os.utime(path, (before.st_atime, time.time() + 86400))
    try:
        yield
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextlib.contextmanager
def full(path):
    lab.command("mount", "-t", "tmpfs", "-o", "size=1m", "small", path)
    try:
        yield
    finally:
        lab.command("umount", path)


@contextlib.contextmanager
def listener(address, bits=None):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind(address)
        sock.listen(1)
        try:
            if bits is not None:
                os.chmod(address, bits)
            yield
        finally:
            if bits is not None:
                os.unlink(address)


@contextlib.contextmanager
def sudo_of(name):
    """Something of a participant's UID that is no run and no session."""
    uid = str(lab.uid_of(name))
    with subprocess.Popen(["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "sleep",
                           "60"]) as process:
        lab.eventually(lambda: f"\nUid:\t{uid}\t" in read(f"/proc/{process.pid}/status"))
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def policy(text, bits=0o644, reload=False):
    with doors.written(POLICY, text, bits):
        if reload:
            lab.rules_restore()
        yield
    if reload:
        lab.rules_restore()


@contextlib.contextmanager
def old_index():
    """The index of a moment ago, in which a user of now is missing."""
    shutil.copy2(lab.INDEX, f"{lab.INDEX}.kept")
    shutil.chown(f"{lab.INDEX}.kept", "atelier", "atelier")
    assert lab.user_add(email="nobody-of-the-index@example.org").status == 201
    os.rename(f"{lab.INDEX}.kept", lab.INDEX)
    try:
        yield
    finally:
        lab.atelier("index", "rebuild")
        lab.atelier("user", "del", "-r", "--no-scan", "nobody-o", check=False)


@contextlib.contextmanager
def rule(family, *words):
    """A change of the rules that stays: sessiond is stopped in the meantime, not ended."""
    pid = lab.service_pid("sessiond")
    os.kill(pid, signal.SIGSTOP)
    try:
        lab.command(family, "-w", "5", *words)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)
        lab.rules_restore()


@contextlib.contextmanager
def nosuid():
    """Programs of the host, unconfined, too."""
    lab.command("mount", "-o", "remount,bind,nosuid", "/")
    try:
        yield
    finally:
        lab.command("mount", "-o", "remount,bind,suid", "/")


@contextlib.contextmanager
def job(name, uid):
    """What cron(8) or atd(8) would run; on a day that no year has, and in another century."""
    path = f"/var/spool/cron/{name}"
    with doors.written(path, "0 0 31 2 * true\n", 0o600):
        os.chown(path, uid, -1)
        yield


def module():
    return glob.glob("/usr/lib/*/libnss_atelier.so.2")[0]


# What is broken, which checks fail, which cannot find out.
NO_LOOKUP = {"nss-lookup", "nss-registry"}
FAULTS = {
    "UID_MAX raised": (lambda: replaced("/etc/login.defs", r"^UID_MAX\s.*", "UID_MAX 60000"),
                       {"id-ranges"}),
    "sub-ids of useradd begin with ours": (lambda: added("/etc/login.defs", "SUB_UID_MIN 20000"),
                                           {"id-ranges"}),
    "no LAST_UID": (lambda: replaced("/etc/adduser.conf", r"^LAST_UID=.*\n", ""), {"id-ranges"}),
    "a range of sub-ids": (lambda: added("/etc/subuid", "daemon:9000:2000"), {"subids"}),
    "a local account": (lambda: added("/etc/passwd", "zoe:x:20000:20000::/:/bin/sh"),
                        {"accounts"}),
    "a local group": (lambda: added("/etc/group", "zoes:x:59999:"), {"accounts"}),
    "a process outside": (lambda: sudo_of("alice"), {"processes"}),
    "nsswitch without passwd": (lambda: replaced("/etc/nsswitch.conf", r"^passwd:.*",
                                                 "passwd: files"), {"nsswitch"} | NO_LOOKUP),
    "atelier first": (lambda: replaced("/etc/nsswitch.conf", r"^group:.*", "group: atelier files"),
                      {"nsswitch"}),
    "a module for all to write": (lambda: mode(module(), 0o777), {"nss-module"}),
    "an index of a stranger": (lambda: owner(lab.INDEX, lab.STRANGER), {"index-file"} | NO_LOOKUP),
    "an index for all to write": (lambda: mode(lab.INDEX, 0o666),
                                  {"index-file"} | NO_LOOKUP),
    "an index of yesterday": (old_index, {"nss-registry"}),
    "no DenyGroups": (lambda: away(DROP_IN), {"host-sshd"}),
    "no profile of PAM": (lambda: replaced(ACCOUNT, r"^.*uid >= 10000.*\n", ""), {"pam"}),
    "a shell among the shells": (lambda: added("/etc/shells", SHELL), {"shells"}),
    "a shell for all to write": (lambda: mode(SHELL, 0o757), {"shells"}),
    "homes that are open": (lambda: mode(lab.HOMES, 0o755), {"homes"}),
    "homes of somebody": (lambda: owner(lab.HOMES, lab.STRANGER), {"homes"}),
    "a registry that is open": (lambda: mode(f"{lab.STATE}/registry", 0o755), {"registry-files"}),
    "a database for all to read": (lambda: mode(f"{lab.STATE}/registry/registry.db", 0o644),
                                   {"registry-files"}),
    "a key for all to read": (lambda: mode(f"{lab.STATE}/registry/link.key", 0o640),
                              {"registry-files"}),
    "a host key for all to read": (lambda: mode("/etc/atelier/ssh_host_ed25519_key", 0o644),
                                   {"host-keys"}),
    "a crontab of a participant": (lambda: job("crontabs/alice", lab.uid_of("alice")), {"jobs"}),
    # cron takes one of root's for whoever the file is named after.
    "a crontab for a participant": (lambda: job("crontabs/alice", 0), {"jobs"}),
    "a job of at": (lambda: job("atjobs/a0000101c2d3e4", 10077), {"jobs"}),
    "a cron that asks nobody": (lambda: replaced("/etc/pam.d/cron", "^@include common-account.*\n", ""),
                                {"jobs"}),
    "a clock that was set back": (lambda: from_the_future(f"{lab.STATE}/ledger/issued"), {"clock"}),
    "no room for logs": (lambda: full("/var/log"), {"disk"}),
    "no log": (lambda: away("/dev/log"), {"log"}),
    "a socket in /usr": (lambda: listener(SOCKET_IN_USR, 0o777), {"usr-sockets"}),
    "admin.sock for all": (lambda: mode(lab.ADMIN, 0o666), {"sockets"}),
    "no lock of accounts": (lambda: away("/etc/.pwd.lock"), {"account-lock"}),
    "no sessiond": (lambda: stopped("sessiond"), {"sessiond", "sessiond-api"},
                    {"cgroup-mode", "canary", "disk-limit"}),
    "no sessiond-api": (lambda: stopped("sessiond-api"), {"sessiond-api"},
                        {"nss-registry", "cgroup-mode", "canary", "disk-limit"}),
    "no atelier-sshd": (lambda: stopped("atelier-sshd"), {"atelier-sshd"}),
    "no control groups": (without_groups, {"cgroup-mode"}),
    "a policy for the group to write": (lambda: policy("run { pids = 64 }\n", 0o664),
                                        {"policy-files"}, {"policy-in-force"}),
    "a policy with a mistake": (lambda: policy("run { pidz = 64 }\n"), {"policy-files"},
                                {"policy-in-force"}),
    "a policy that nobody reloaded": (lambda: policy("run { memory = 800M }\n"),
                                      {"policy-in-force"}),
}
# Of each only these checks are made: attacks take seconds.
ATTACK_FAULTS = {
    "no program of the host that is set-uid works": (
        nosuid, ("set-uid", "mounts", "other-processes"), set(), {"set-uid"}),
    "crontab is not set-gid": (lambda: mode("/usr/bin/crontab", 0o755),
                               ("job-programs", "set-uid", "persistence"), set(), {"job-programs"}),
}
# Only these checks are made: sessiond is stopped, so that it puts nothing back.
RULES = ("rules-v4", "rules-v6", "resolver")
# All that attacks nothing; test_doctor_attacks.py has the others.
LOOKS = ("host", "service", "firewalls", *RULES)
RULE_FAULTS = {
    "OUTPUT flushed": (lambda: rule("iptables", "-F", "OUTPUT"), {"rules-v4"}),
    "IPv6 rules gone": (lambda: rule("ip6tables", "-F", "OUTPUT"), {"rules-v6"}),
    "ACCEPT before ours": (lambda: rule("iptables", "-I", "OUTPUT", "1", "-o", "lo", "-j",
                                        "ACCEPT"), {"rules-v4"}),
    "RETURN in the chain": (lambda: rule("ip6tables", "-I", "ATELIER", "1", "-j", "RETURN"),
                            {"rules-v6"}),
    "no refusal at the end": (lambda: rule("iptables", "-D", "ATELIER", "-j", "ATELIER-NO"),
                              {"rules-v4"}),
}


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


@pytest.mark.parametrize("name", ATTACK_FAULTS)
def test_a_fault_of_an_attack_is_named_and_nothing_else(name):
    broken, asked, fails, unknown = ATTACK_FAULTS[name]
    with broken():
        _, lines = doctor(*asked)
        found = (with_verdict(lines, "fail"), with_verdict(lines, "unknown"))
        assert found == (fails, unknown), lines
        assert all(lines[check]["mend"] for check in fails | unknown)
    assert doctor(*asked)[0] == 0


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
