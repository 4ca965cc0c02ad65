# SPDX-License-Identifier: ISC
# host.py - accounts, files, mounts and terminals of the lab; labs beside, inside and below others.
import os
import signal
import subprocess
import tempfile
import textwrap

from labtest.support import (BUILD, LAB, LAB_FAILED, Running, Skip, check, expect, expect_equal,
                             lab, lab_output)


@check
def accounts_and_directories_are_there():
    out = lab_output("""
        grep -E '^(passwd|group):' /etc/nsswitch.conf | tr -s ' '
        grep -E '^(UID_MAX|GID_MAX)' /etc/login.defs | tr -s ' \\t' ' '
        id -u apiuser; id -u apiuser2; id -Gn apiuser; id -Gn apiuser2; id -Gn atelier
        getent passwd atelier | cut -d: -f6,7
        (($(id -u atelier) < 1000)) && (($(getent group atelier-api | cut -d: -f3) < 1000))
        stat -c '%n %U %G %a' /run/atelier /var/lib/atelier /var/lib/atelier/* /home/atelier \\
            /run/atelier/*.sock /run/lab/control /tmp /dev/null /dev/shm
        """)
    expect_equal(out, textwrap.dedent("""\
        passwd: files atelier
        group: files atelier
        UID_MAX 9999
        GID_MAX 9999
        990
        991
        atelier-api
        atelier-api
        atelier
        /nonexistent:/usr/sbin/nologin
        /run/atelier root root 755
        /var/lib/atelier root root 755
        /var/lib/atelier/ledger atelier atelier 700
        /var/lib/atelier/nss atelier atelier 755
        /var/lib/atelier/registry atelier atelier 700
        /home/atelier root root 700
        /run/atelier/admin.sock root root 600
        /run/atelier/api.sock root atelier-api 660
        /run/atelier/core.sock root atelier 660
        /run/atelier/pam.sock root root 600
        /run/atelier/session.sock root root 600
        /run/lab/control root root 600
        /tmp root root 1777
        /dev/null root root 666
        /dev/shm root root 1777
        """), "accounts")


@check
def logins_find_their_files():
    out = lab_output("""
        stat -c '%n %U %G %a %s' /run/utmp /var/log/wtmp /var/log/btmp
        stat -c '%n %U %G %a' /run/sshd /dev/log
        logger -t lab-test -p auth.notice "$(printf 'a\\tb')"
        for i in {1..50}; do ! grep -q lab-test /run/lab/logger.log || break; sleep 0.1; done
        cut -d ' ' -f 1,5- /run/lab/logger.log
        """)
    expect_equal(out, textwrap.dedent("""\
        /run/utmp root utmp 664 0
        /var/log/wtmp root utmp 664 0
        /var/log/btmp root utmp 660 0
        /run/sshd root root 755
        /dev/log root root 777
        4.5 lab-test: a\\x09b
        """), "files of logins")


@check
def the_other_doors_are_closed_as_by_setup():
    lab("true")
    for path in ("pam-configs/atelier", "atelier/host-sshd.conf"):
        if not os.path.exists(f"{BUILD}/stage/usr/share/{path}"):
            raise Skip(f"{path} is not among what is built")
    out = lab_output("""
        grep -c 10000 /etc/pam.d/common-account
        ssh-keygen -A >/dev/null
        /usr/sbin/sshd -T | grep -i ^denygroups""")
    expect_equal(out.splitlines()[1:], ["denygroups atelier-users"], "the host's own sshd")


@check
def mounts_are_the_labs_own():
    points = [line.split()[4] for line in lab_output("cat /proc/self/mountinfo").splitlines()]
    own = [point for point in points if not point.startswith("/sys/fs/cgroup")]
    expect({"/", "/proc", "/sys", "/dev", "/dev/pts", "/dev/shm", "/run"} <= set(own), f"{own}")
    expect_equal(len(own), len(set(own)), f"mounts on top of each other: {own}")
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        theirs = {line.split()[4] for line in lines}
    expect_equal({point for point in points if point.startswith("/sys/fs/cgroup")},
                 {point for point in theirs if point.startswith("/sys/fs/cgroup")}, "cgroup mounts")


@check
def a_pty_in_the_lab_is_of_its_own_devpts():
    out = lab_output("""script -qec 'tty; ls /dev/pts' /dev/null </dev/null | tr -d '\\r'""")
    expect_equal(out.split(), ["/dev/pts/0", "0", "ptmx"], "tty and /dev/pts")


@check
def two_labs_side_by_side_do_not_see_each_other():
    first, second = Running("run"), Running("run")
    try:
        first.wait_ready()
        second.wait_ready()
        expect(not first.links & second.links, "a namespace is shared")
        expect_equal(lab_output("lab-probe tcp 198.51.100.2; ls -d /home/left 2>&1 || pgrep -c sleep"),
                     "world 198.51.100.2\nls: cannot access '/home/left': No such file or directory\n"
                     "1\n", "third lab beside two (its own sleep is the world)")
        first.process.send_signal(signal.SIGKILL)
        first.expect_gone()
        second.expect_alive()
    finally:
        for running in (first, second):
            running.process.kill()
            running.expect_gone()


@check
def a_lab_nests_once():
    script = (f"{LAB} run --no-services -- sh -c 'hostname; lab-probe udp fd00:9::2; "
              f"id -u apiuser; {LAB} run --no-services -- true 2>&1 || echo code=$?'; "
              "lab-probe udp fd00:9::2; lab-service status | head -n 1")
    lines = lab_output(script).splitlines()
    expect("nests once" in lines[3], f"third level: {lines}")
    del lines[3]
    expect_equal(lines, ["lab", "world fd00:9::2", "990", f"code={LAB_FAILED}", "world fd00:9::2",
                         "sessiond stopped"], "nested")


@check
def a_lab_in_a_chroot_leaves_shared_mounts_alone():
    """A chroot (bind-mounted on itself) on a machine whose mounts are all shared, as systemd does."""
    with tempfile.TemporaryDirectory() as directory:
        script = textwrap.dedent(f"""\
            mount --make-rshared /
            mount --bind / {directory}
            mount -t proc proc {directory}/proc
            mount -t sysfs sysfs {directory}/sys
            mount --rbind /dev {directory}/dev
            unshare --mount --propagation unchanged sleep 100 &
            peer=$!
            trap 'kill $peer' EXIT
            sleep 0.3
            points() {{ cut -d ' ' -f 5 /proc/self/mountinfo /proc/$peer/mountinfo; }}
            before=$(points)
            [[ $before == *{directory}/proc*{directory}/proc* ]] # the peer sees what is mounted
            chroot {directory} {LAB} run --no-services -- bash -c \\
                'lab-probe tcp 10.9.0.2; nsenter --mount=/proc/self/ns/mnt -- cat /etc/hostname'
            [[ $(points) == "$before" ]] && echo same""")
        done = subprocess.run(["unshare", "--mount", "bash", "-euc", script], capture_output=True,
                              text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        expect_equal((done.stdout, done.returncode), ("world 10.9.0.2\nlab\nsame\n", 0), done.stderr)
