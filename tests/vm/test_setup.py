# SPDX-License-Identifier: ISC
# test_setup.py - atelier setup on a stock server: the plan, refusals, crashes, and the way back.
#
# On a machine of its own, from what `make install` leaves. The tests build on each other, in order.
import contextlib
import os
import pathlib
import shlex
import tempfile

import conftest
import guest as guest_module
import pytest

pytestmark = pytest.mark.long
WITHIN_S = 600
STAGE = os.environ.get("ATELIER_VM_STAGE", "")

# What must not change: every file of /etc and PAM's memory (kind, mode, owner, link, bytes, time),
# accounts, firewall, units. Sessions of the test's own ssh come and go.
SNAPSHOT = r"""
find /etc /var/lib/pam -printf '%y %m %U:%G %p %l\n' | sort
find /etc /var/lib/pam -type f -print0 | sort -z | xargs -0 sha256sum
find /etc /var/lib/pam -type f -printf '%p %T@\n' | sort
getent passwd; getent group
for save in iptables-save ip6tables-save; do $save | grep -v '^#' | sed 's/\[.*//'; done
SYSTEMD_BUS_TIMEOUT=300s systemctl list-unit-files --no-legend --no-pager >/run/units || exit 1
grep -v '^session-' /run/units
"""


@contextlib.contextmanager
def machine(name):
    """A machine with the tree of `make install` in it, apart from that of the other tests."""
    name = f"{name}-{os.getpid()}"
    one = conftest.start(name)
    with tempfile.TemporaryDirectory() as directory:
        guest = guest_module.Guest(one, directory)
        try:
            guest.tools_push()
            guest.bare = snapshot(guest)
            one.push(STAGE)
            guest.sh("ldconfig")
            yield guest
        finally:
            guest.agent_stop()
            conftest.vm("stop", name)


@pytest.fixture(scope="module")
def host():
    with machine("setup") as guest:
        yield guest


def snapshot(host):
    # On a busy machine systemd may not answer within the usual 25 s: no list is no difference.
    return host.sh(SNAPSHOT, within_s=WITHIN_S).stdout.splitlines()


def differences(before, after):
    return [line for line in set(before) ^ set(after)]


@pytest.fixture(scope="module")
def before(host):
    return snapshot(host)


def atelier_setup(host, *options, code=0):
    """Its output and errors."""
    done = host.sh(f"atelier setup {' '.join(options)}", check=False, within_s=WITHIN_S)
    assert done.returncode == code, (options, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_a_plan_changes_nothing(host, before):
    plan = atelier_setup(host, "--dry-run")
    # su-l has it from su; runuser is root's.
    assert "common-account: participants" not in plan
    assert "+UID_MAX\t\t\t9999" in plan
    assert "files systemd atelier" in plan
    assert "+DenyGroups atelier-users" in plan
    assert "pam_succeed_if.so quiet uid >= 10000" in plan
    # The host's own resolver is proposed, unless that is not wanted.
    host.sh("echo nameserver 127.0.0.53 >/run/names; mount --bind /run/names /etc/resolv.conf")
    try:
        assert '+SESSIOND_OPTIONS="--resolver 127.0.0.53"' in atelier_setup(host, "--dry-run")
        assert "SESSIOND_OPTIONS" not in atelier_setup(host, "--dry-run", "--resolver", "none")
    finally:
        host.sh("umount /etc/resolv.conf")
    # Nobody can be asked here.
    assert "--yes" in atelier_setup(host, code=1)
    assert differences(before, snapshot(host)) == []
    assert host.sh("test -e /var/lib/atelier", check=False).returncode != 0


# Faults of a host, and what the refusal has to name.
FAULTS = (
    ("sed -i 's/^group:.*/group: files [NOTFOUND=return] systemd/' /etc/nsswitch.conf",
     "/etc/nsswitch.conf:8:"),
    ("echo 'eve:x:12345:12345::/:/bin/sh' >>/etc/passwd", "the account eve has the id 12345"),
    ("echo 'folks:x:20000:' >>/etc/group", "the group folks has the id 20000"),
    ("echo 'eve:50000:65536' >>/etc/subuid", "/etc/subuid:1:"),
    ("sed -i 's/^UID_MIN.*/UID_MIN 20000/' /etc/login.defs", "UID_MIN is 20000"),
    ("sed -i '/^Include/d' /etc/ssh/sshd_config", "/etc/ssh/sshd_config:1:"),
    ("sed -i '/pam_unix/a account required pam_permit.so # mine' /etc/pam.d/common-account",
     "Local modifications"),
    ("sed -i 's/^UsePAM.*/UsePAM no/' /etc/ssh/sshd_config; "
     "printf 'Match User eve\\nDenyGroups folks\\n' >>/etc/ssh/sshd_config", "set UsePAM yes"),
    ("true", "DenyGroups in a Match block replaces our list"),
    ("mv /etc/adduser.conf /etc/a; ln -s a /etc/adduser.conf", "/etc/adduser.conf is a symbolic link"),
    ("sed -i 's/^ID=.*/ID=other/' /usr/lib/os-release", "ID=other"),
    ("mv /usr/lib/atelier/shell /usr/lib/atelier/s", "/usr/lib/atelier/shell is missing"),
    ("systemd-run -q --unit=busy python3 -c 'import socket, time; "
     "s = socket.create_server((\"\", 2222)); time.sleep(600)'; sleep 3", "port 2222 is taken"),
)
SAVED = "/etc /usr/lib/os-release /usr/lib/atelier"


def test_a_host_that_is_not_understood_is_refused_before_anything_is_changed(host, before):
    host.sh(f"tar --format=posix -cpf /root/saved.tar {SAVED}")
    try:
        for fault, _ in FAULTS:
            host.sh(fault)
        planted = snapshot(host)
        said = atelier_setup(host, "--yes", code=1)
        for _, name in FAULTS:
            assert name in said, (name, said)
        assert differences(planted, snapshot(host)) == []
    finally:
        host.sh("systemctl stop busy; rm -f /etc/adduser.conf /etc/a /usr/lib/atelier/s; "
                "tar -C / -xpf /root/saved.tar")
    # The control: without the faults nothing stands in the way.
    atelier_setup(host, "--dry-run")
    assert differences(before, snapshot(host)) == []


# Killed as soon as its record names this.
CRASHES = ("/etc/ssh/sshd_config.d/50-atelier.conf", "/etc/shadow", "sessiond.service")
CRASH = r"""
atelier setup --yes >/root/crash.log 2>&1 &
for i in $(seq 3000); do
    if grep -q '%s' /var/lib/atelier/setup/journal.json 2>/dev/null; then break; fi
    sleep 0.05
done
kill -KILL $!
wait
grep -q '%s' /var/lib/atelier/setup/journal.json
"""


@pytest.mark.long
@pytest.mark.parametrize("where", CRASHES)
def test_a_crash_can_be_undone(host, before, where):
    host.sh(CRASH % (where, where), within_s=WITHIN_S)
    atelier_setup(host, "--undo", "--yes")
    assert differences(before, snapshot(host)) == []


# A resolver that knows one answer for every name.
RESOLVER = r"""
cat >/run/resolver <<'END'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.53", 53))
while True:
    asked, who = s.recvfrom(512)
    end = asked.index(b"\0", 12) + 5
    answer = b""
    if asked[end - 4:end - 2] == b"\0\1":
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc0\0\2\7"
    s.sendto(asked[:2] + b"\x81\x80\0\1\0" + bytes([bool(answer)]) + b"\0\0\0\0" + asked[12:end]
             + answer, who)
END
systemd-run -q --unit=resolver python3 /run/resolver
"""


def test_it_is_set_up_once(host, before):
    # Goes on where a crash was.
    host.sh(CRASH % (CRASHES[0], CRASHES[0]), within_s=WITHIN_S)
    said = atelier_setup(host, "--yes", "--link-base", "https://workshop.example/w/",
                         "--resolver", "127.0.0.53")
    assert "Done." in said
    now = snapshot(host)
    assert "Nothing to do" in atelier_setup(host, "--yes")
    assert "Nothing to do" in atelier_setup(host, "--dry-run")
    assert differences(now, snapshot(host)) == []
    # Root's own way in is as it was; the host's sshd refuses participants.
    assert host.machine.ssh("true").returncode == 0
    assert "denygroups atelier-users" in host.said("sshd -T")
    code = host.code_of("alice@example.org")
    host.sh(RESOLVER)
    done = host.ssh("alice", code, "id -un; getent ahostsv4 name.example | cut -d ' ' -f 1 | uniq")
    host.sh("systemctl stop resolver")
    assert (done.returncode, done.stdout) == (0, "alice\n192.0.2.7\n"), done.stderr
    assert "https://workshop.example/w/" in host.said("atelier link mint alice")
    # New accounts of the host's own stay below.
    host.sh("useradd -u 9999 last && useradd next")
    assert int(host.said("id -u next")) < 9999
    host.sh("userdel next; userdel last")


def test_what_is_missing_is_mended(host):
    host.sh("sed -i 's/ atelier//' /etc/nsswitch.conf; echo '# theirs' >>/etc/nsswitch.conf; "
            "rm /etc/ssh/sshd_config.d/50-atelier.conf; systemctl stop sessiond-api.service; "
            "systemctl disable atelier-sshd.service; rm -f /etc/.pwd.lock")
    assert "its journal says which" in host.sh("systemctl start sessiond-api.service; sleep 3; "
                                               "atelier invite ben@example.org",
                                               check=False).stderr
    host.sh("systemctl stop sessiond-api.service")
    said = atelier_setup(host, "--yes", "--resolver", "192.0.2.53", "--resolver", "2001:db8::53")
    assert "/etc/nsswitch.conf" in said and "50-atelier.conf" in said
    # sessiond runs with it.
    rules = host.said("iptables-save; ip6tables-save")
    assert "192.0.2.53/32" in rules and "2001:db8::53/128" in rules
    assert "127.0.0.53" not in rules
    # It has the lock of accounts again, and would have it if the file had not been there.
    assert "systemctl restart sessiond" in said
    host.said("atelier invite ben@example.org")
    host.sh("rm /etc/.pwd.lock; systemd-tmpfiles --create /usr/lib/tmpfiles.d/atelier.conf; "
            "test -f /etc/.pwd.lock; systemctl restart sessiond")
    assert "Nothing to do" in atelier_setup(host, "--yes")
    assert "alice" in host.said("getent passwd alice")


DOORS = ("sshd -T | grep -c 'denygroups.* *atelier-users'; grep -c 'uid >= 10000' "
         "/etc/pam.d/common-account; getent passwd atelier | wc -l; "
         "ls /etc/systemd/system/user@.service.d/atelier.conf | wc -l")

# What is in the way of an undo, how it goes again, and what has to be said.
OBSTACLES = (
    # systemd that does not answer: nothing may be taken for ended.
    ("mount --bind /bin/false /usr/bin/systemctl", "umount /usr/bin/systemctl",
     "systemd does not say"),
    # Of root's own making.
    ("systemd-run -q --unit=own setpriv --reuid 10007 --regid 10007 --clear-groups "
     "sleep 900; sleep 3", "systemctl stop own", "(uid 10007, sleep)"),
    ("mount --bind /bin/false /usr/sbin/xtables-nft-multi", "umount /usr/sbin/xtables-nft-multi",
     "the step firewall is not undone"),
    ("chattr +i /etc/nsswitch.conf", "chattr -i /etc/nsswitch.conf",
     "the step nsswitch is not undone"),
)


def test_an_undo_that_fails_leaves_the_doors_closed(host):
    for number, (obstacle, away, said) in enumerate(OBSTACLES):
        host.sh(obstacle)
        try:
            assert said in atelier_setup(host, "--undo", "--yes", code=1), obstacle
            assert host.said(DOORS) == "1\n1\n1\n1", obstacle
            if number == 0:
                assert host.said("pgrep -x sessiond && pgrep -x sessiond-api")
        finally:
            host.sh(away)
    assert "Done." in atelier_setup(host, "--yes")


def test_a_record_that_was_lost_is_noticed(host):
    host.sh("mv /var/lib/atelier/setup /root/lost")
    try:
        for options in ((), ("--purge",)):
            said = atelier_setup(host, "--undo", "--yes", *options, code=1)
            for trace in ("/etc/nsswitch.conf names", "50-atelier.conf is there", "user@.service.d",
                          "/var/lib/pam/account has", "sessiond.service runs",
                          "atelier.target is enabled"):
                assert trace in said, (trace, said)
        assert host.said("ls -d /home/atelier /var/lib/atelier/registry | wc -l") == "2"
        assert host.said(DOORS) == "1\n1\n1\n1"
    finally:
        host.sh("mv /root/lost /var/lib/atelier/setup")


def test_a_purge_does_not_stop_at_a_symbolic_link(host):
    host.sh("mv /home/atelier /home/elsewhere; ln -s elsewhere /home/atelier")
    try:
        said = atelier_setup(host, "--undo", "--purge", "--yes", code=1)
        assert "/home/atelier is a symbolic link" in said
        # Before anything was undone.
        assert host.said(DOORS) == "1\n1\n1\n1"
        assert host.said("systemctl is-active sessiond") == "active"
    finally:
        host.sh("rm /home/atelier; mv /home/elsewhere /home/atelier")


def test_undoing_takes_out_no_more_than_ours(host):
    # What others changed since stays.
    host.sh("useradd bob; sed -i 's/9999/7000/' /etc/adduser.conf; "
            "echo 'DenyUsers eve' >>/etc/ssh/sshd_config.d/50-atelier.conf")
    said = atelier_setup(host, "--undo", "--yes")
    assert "LAST_UID" in said and "50-atelier.conf" in said
    assert host.said("cat /etc/ssh/sshd_config.d/50-atelier.conf") == "DenyUsers eve"
    assert host.said("grep ^LAST_UID /etc/adduser.conf") == "LAST_UID=7000"
    nsswitch = host.said("cat /etc/nsswitch.conf")
    assert "# theirs" in nsswitch and "atelier" not in nsswitch
    assert "bob" in host.said("getent passwd bob")
    assert host.sh("getent passwd atelier alice", check=False).returncode == 2
    assert "ATELIER" not in host.said("iptables-save; ip6tables-save")
    # Whoever gets the uid next owns nothing of the registry.
    assert host.said("find /var/lib/atelier ! -user root") == ""
    host.sh("userdel bob; rm /etc/ssh/sshd_config.d/50-atelier.conf; "
            "sed -i '/^LAST_[UG]ID=7000/d' /etc/adduser.conf; sed -i '/# theirs/d' /etc/nsswitch.conf")


def test_undoing_leaves_no_trace(host):
    key = "cut -d ' ' -f 2 %s/ssh_host_ed25519_key.pub"
    old_key = host.said(key % "/var/lib/atelier/kept")
    before = snapshot(host)
    atelier_setup(host, "--yes")
    assert host.said(key % "/etc/atelier") == old_key
    # The registry is found again.
    assert "alice" in host.said("getent passwd alice")
    with host.login("alice") as alice:
        assert alice.answers()
        atelier_setup(host, "--undo", "--yes")
        assert alice.has_ended()
    assert differences(before, snapshot(host)) == []
    assert "Nothing to undo" in atelier_setup(host, "--undo", "--yes")
    assert host.machine.ssh("true").returncode == 0


def test_a_purge_leaves_no_data(host):
    atelier_setup(host, "--yes")
    atelier_setup(host, "--undo", "--purge", "--yes")
    assert host.said("ls -d /var/lib/atelier /home/atelier /run/atelier 2>/dev/null || true") == ""


def uninstall(host):
    """What `make uninstall` does; that it takes away all that was installed, the unit tests show."""
    stage = pathlib.Path(STAGE)
    files = ["/" + str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir()]
    host.sh(f"rm {shlex.join(files)}; ldconfig; systemctl daemon-reload")


def test_without_it_the_host_is_as_before_it_came():
    with machine("gone") as host:
        atelier_setup(host, "--yes")
        host.sh("atelier invite alice@example.org")
        with host.login("alice") as alice:
            assert alice.answers()
        atelier_setup(host, "--undo", "--purge", "--yes")
        uninstall(host)
        host.sh("rmdir /etc/atelier; rmdir -p --ignore-fail-on-non-empty "
                "/etc/apparmor.d/abstractions/nameservice.d")
        # The linker's cache was made again, with the same content.
        assert [line for line in differences(host.bare, snapshot(host))
                if not line.startswith("/etc/ld.so.cache ")] == []
