# SPDX-License-Identifier: ISC
# doctor_faults.py - what a host can have that is wrong, one thing at a time, and who names it.
#
# Each row of the tables breaks one thing by the means of an administrator, as long as the block. What
# needs a program without one of its protections is in tests/sabotage; what is said of an attack, line
# by line, in tests/unit/test_ctl_doctor_attacks.c.
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import doors
import firewall
import lab

DROP_IN = "/etc/ssh/sshd_config.d/00-atelier.conf"
SHELL = "/usr/lib/atelier/shell"
POLICY = "/etc/atelier/atelier.conf"
ACCOUNT = "/etc/pam.d/common-account"
SOCKET_IN_USR = "/usr/local/share/test-doctor.sock"
BARE_SESSIOND = "/run/lab/sessiond-without-groups"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


COMMAND = ["atelier", "doctor", "--json"]


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
def mounted(path):
    """It is empty, and small."""
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


@contextlib.contextmanager
def covered(path, text):
    """The kernel seems to say something else, to whoever looks in this lab."""
    cover = "/run/lab/cover"
    with doors.written(cover, text):
        lab.command("mount", "--bind", cover, path)
        try:
            yield
        finally:
            lab.command("umount", path)


@contextlib.contextmanager
def apparmor_without_rule():
    """A kernel that confines programs by AppArmor, which has not our rule."""
    with mounted("/sys/module"), away("/etc/apparmor.d/abstractions/nameservice.d/atelier"), \
            doors.written("/sys/module/apparmor/parameters/enabled", "Y\n"):
        yield


@contextlib.contextmanager
def legacy(name):
    """This one of the two is of the other kind; sessiond does not meet it."""
    pid = lab.service_pid("sessiond")
    link = f"/usr/sbin/{name}"
    before = os.readlink(link)
    os.kill(pid, signal.SIGSTOP)
    try:
        os.unlink(link)
        os.symlink("xtables-legacy-multi", link)
        yield
    finally:
        os.unlink(link)
        os.symlink(before, link)
        os.kill(pid, signal.SIGCONT)
        lab.eventually(lab.is_connected, lab.UP_WITHIN_S)


@contextlib.contextmanager
def systemd(active, inactive=()):
    """An init that says so of these units, and has done nothing else. Both: words of a shell's case."""
    says = "\n".join(f"{'|'.join(units)}) s={word} ;;" for units, word in
                     ((active, "active"), (inactive, "inactive")) if units)
    script = ('#!/bin/sh\nfor u; do case $u in -*|show) continue ;;\n'
              f'{says}\n*) continue ;;\nesac\n'
              'printf "Id=%s\\nUnitFileState=enabled\\nActiveState=%s\\n\\n" "$u" "$s"; done\n')
    os.makedirs("/run/systemd/system")
    try:
        with doors.written("/usr/bin/systemctl", script, 0o755):
            yield
    finally:
        os.removedirs("/run/systemd/system")


@contextlib.contextmanager
def with_capability(path):
    """A program that may open raw sockets. Source: linux/capability.h, struct vfs_cap_data."""
    shutil.copy("/usr/bin/true", path)
    try:
        os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
        yield
    finally:
        os.unlink(path)


@contextlib.contextmanager
def nosuid_all():
    with with_capability("/usr/local/bin/test-doctor"), nosuid():
        yield


@contextlib.contextmanager
def leak():
    """Rules that are there and do not hold; somebody has wanted a run."""
    with firewall.rules_void("iptables"):
        time.sleep(1.1)  # a proof of the canary is good for a second
        lab.python("pass")
        yield
    lab.eventually(lab.is_well, lab.UP_WITHIN_S)


@contextlib.contextmanager
def older_kernel():
    """The doctor, and what it starts, are told another version. Source: personality(2), UNAME26."""
    COMMAND[:0] = ["setarch", "--uname-2.6"]
    try:
        yield
    finally:
        del COMMAND[:2]


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
    "no room for logs": (lambda: mounted("/var/log"), {"disk"}),
    "AppArmor without our rule": (apparmor_without_rule, {"apparmor"}),
    "a systemd that has done nothing": (lambda: systemd(["*.*"]), {"user-manager", "hardening", "holder"}),
    "a unit that is not active": (
        lambda: systemd(["*.target", "*.socket", "atelier-*", "sessiond-api.*"], ["*.*"]),
        {"user-manager", "hardening", "holder", "units"}),
    "no log": (lambda: away("/dev/log"), {"log"}),
    "a socket in /usr": (lambda: listener(SOCKET_IN_USR, 0o777), {"usr-sockets"}),
    "admin.sock for all": (lambda: mode(lab.ADMIN, 0o666), {"sockets"}),
    "no lock of accounts": (lambda: away("/etc/.pwd.lock"), {"account-lock"}),
    "no sessiond": (lambda: stopped("sessiond"), {"sessiond", "sessiond-api"},
                    {"cgroup-mode", "canary", "disk-limit", "conntrack-room"}),
    "no sessiond-api": (lambda: stopped("sessiond-api"), {"sessiond-api"},
                        {"nss-registry", "cgroup-mode", "canary", "disk-limit", "conntrack-room"}),
    "no atelier-sshd": (lambda: stopped("atelier-sshd"), {"atelier-sshd"}),
    "no control groups": (without_groups, {"cgroup-mode"}),
    "a policy for the group to write": (lambda: policy("run { pids = 64 }\n", 0o664),
                                        {"policy-files"}, {"policy-in-force"}),
    "a policy with a mistake": (lambda: policy("run { pidz = 64 }\n"), {"policy-files"},
                                {"policy-in-force"}),
    "a policy that nobody reloaded": (lambda: policy("run { memory = 800M }\n"),
                                      {"policy-in-force"}),
}
# What should be known, and is no failure: who warns then, beside those that do on this host anyway.
WARNINGS = {
    "FIFOs that lead root astray": (lambda: covered("/proc/sys/fs/protected_fifos", "0\n"), {"sysctls"}),
    "core dumps of programs that change their user": (lambda: covered("/proc/sys/fs/suid_dumpable", "1\n"),
                                                      {"cores"}),
    "a door of PAM of its own": (lambda: doors.written("/etc/pam.d/test-doctor", "auth required pam_permit.so\n"),
                                 {"pam-services"}),
    "a table of connections that is too small": (
        lambda: covered("/proc/sys/net/netfilter/nf_conntrack_max", "64\n"), {"conntrack-room"}),
}
# Only the checks in parentheses are made. What warns, fails, and cannot find out.
CHOSEN = {
    "another kernel": (older_kernel, ("kernel", "landlock", "sysctls"), set(), {"kernel"}, set()),
    "two kinds of iptables": (lambda: legacy("ip6tables"), ("iptables", "rules-v4"), {"iptables"}, set(), set()),
    "nftables.service": (lambda: systemd(["*.*"]), ("firewalls", "units"), {"firewalls"}, set(), set()),
    "a canary that is not refused": (leak, ("canary", "rules-v6"), set(), {"canary"}, set()),
    "nothing of the host that is set-uid works": (
        nosuid_all, ("set-uid", "file-capabilities", "mounts"), set(), set(), {"set-uid", "file-capabilities"}),
    "crontab is not set-gid": (lambda: mode("/usr/bin/crontab", 0o755), ("job-programs", "set-uid", "jobs"),
                               set(), set(), {"job-programs"}),
}
# Only these checks are made: sessiond is stopped, so that it puts nothing back.
RULES = ("rules-v4", "rules-v6", "resolver")
# All that attacks nothing; test_doctor_attacks.py has the others.
LOOKS = ("host", "service", "firewalls", "iptables", "conntrack-room", *RULES)
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
