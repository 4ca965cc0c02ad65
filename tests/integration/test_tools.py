# SPDX-License-Identifier: ISC
# test_tools.py - what the tools that admins know do with a participant: the table of the README.
#
# alice is a participant, course-a a group of ours, bob a local account and locals a local group.
import os
import re
import shutil
import subprocess

import lab
import pytest

SENTENCE = ("atelier: this account works only in a session: ssh -p 2222 NAME@HOST; root uses "
            "atelier su NAME.\n")
# A scene that the tables may change: on a file system that knows ACLs, which tmpfs does.
PLACE = "/dev/shm/tools"

NO_USER = "{tool}: user 'alice' does not exist in /etc/passwd"
NO_GROUP = "{tool}: group 'course-a' does not exist in /etc/group"

# Tool and arguments; exit code; what it says. Each is tried with bob or locals, too, and does it.
REFUSED = [
    (("usermod", "-s", "/bin/sh", "alice"), 6, NO_USER),
    (("usermod", "-c", "Alice", "alice"), 6, NO_USER),
    (("usermod", "-e", "2030-01-01", "alice"), 6, NO_USER),
    (("usermod", "-L", "alice"), 6, NO_USER),
    (("usermod", "-l", "alicia", "alice"), 6, NO_USER),
    (("passwd", "-l", "alice"), 1, NO_USER),
    (("chage", "-l", "alice"), 1, NO_USER),
    (("chage", "-E", "2030-01-01", "alice"), 1, NO_USER),
    (("chsh", "-s", "/bin/sh", "alice"), 1, NO_USER),
    (("chfn", "-f", "Alice", "alice"), 1, NO_USER),
    (("userdel", "alice"), 6, "userdel: user 'alice' does not exist"),
    (("userdel", "-r", "alice"), 6, "userdel: user 'alice' does not exist"),
    (("deluser", "alice"), 1, "userdel: user 'alice' does not exist"),
    (("groupdel", "course-a"), 10, "groupdel: cannot remove entry 'course-a' from /etc/group"),
    (("groupdel", "alice"), 8, "groupdel: cannot remove the primary group of user 'alice'"),
    (("delgroup", "course-a"), 1, "groupdel: cannot remove entry 'course-a' from /etc/group"),
    (("groupmod", "-n", "course-b", "course-a"), 10, NO_GROUP),
    (("groupmod", "-g", "5000", "course-a"), 10, NO_GROUP),
    (("gpasswd", "-a", "bob", "course-a"), 3, NO_GROUP),
    (("gpasswd", "-d", "dora", "course-a"), 3, NO_GROUP),
    (("groupmems", "-g", "course-a", "-l"), 9, NO_GROUP),
    (("useradd", "alice"), 9, "useradd: user 'alice' already exists"),
    (("useradd", "-u", "{uid}", "thief"), 4, "useradd: UID {uid} is not unique"),
    (("useradd", "course-a"), 9, "useradd: group course-a exists"),
    (("useradd", "-G", "course-a", "thief"), 6, "useradd: group 'course-a' does not exist"),
    (("adduser", "--disabled-login", "--gecos", "", "alice"), 1,
     "adduser: The user `alice' already exists."),
    (("adduser", "--disabled-login", "--gecos", "", "--uid", "{uid}", "thief"), 1,
     "adduser: The UID {uid} is already in use."),
    (("groupadd", "course-a"), 9, "groupadd: group 'course-a' already exists"),
    (("groupadd", "-g", "{uid}", "thieves"), 4, "groupadd: GID '{uid}' already exists"),
    (("addgroup", "course-a"), 1, "addgroup: The group `course-a' already exists."),
]


@pytest.fixture(scope="module", autouse=True)
def scene(bob):
    lab.command("groupadd", "locals")
    if os.path.isdir(PLACE):
        shutil.rmtree(PLACE)
    os.mkdir(PLACE)
    yield
    shutil.rmtree(PLACE)
    lab.command("groupdel", "locals")


def accounts():
    """All that these tools could have changed."""
    texts = []
    for name in ("passwd", "group", "shadow", "gshadow", "subuid", "subgid"):
        with open(f"/etc/{name}", encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def answers():
    """What everybody is told of alice and her course, apart from our own verbs."""
    return [lab.command("getent", *what).stdout for what in
            (("passwd", "alice"), ("group", "alice"), ("group", "course-a"))] + [
                lab.command("id", name).stdout for name in ("alice", "dora", "bob")]


# ---- what refuses

@pytest.mark.parametrize("argv, code, sentence", REFUSED, ids=lambda value: " ".join(value)
                         if isinstance(value, tuple) else "")
def test_the_tool_refuses_and_says_why(argv, code, sentence, alice):
    argv = [word.replace("{uid}", str(alice)) for word in argv]
    before = accounts(), answers()
    result = lab.command(*argv, check=False, stdin=subprocess.DEVNULL)
    assert result.returncode == code
    assert sentence.format(tool=argv[0], uid=alice) in result.stderr + result.stdout
    assert (accounts(), answers()) == before


def test_the_same_tools_work_for_a_local_account(bob):
    """The control of all that is refused above."""
    lab.command("useradd", "-G", "locals", "local-one")
    try:
        for argv in (("usermod", "-s", "/bin/sh"), ("usermod", "-c", "Local"),
                     ("usermod", "-e", "2030-01-01"), ("usermod", "-L"), ("passwd", "-l"),
                     ("chage", "-l"), ("chage", "-E", "2031-01-01"), ("chsh", "-s", "/bin/bash"),
                     ("chfn", "-f", "One")):
            lab.command(*argv, "local-one")
        entry = lab.command("getent", "passwd", "local-one").stdout.strip().split(":")
        assert (entry[4].split(",")[0], entry[6]) == ("One", "/bin/bash")
        lab.command("groupmod", "-n", "locals-too", "locals")
        lab.command("gpasswd", "-a", "bob", "locals-too")
        assert "locals-too" in lab.command("id", "-Gn", "bob").stdout.split()
        lab.command("gpasswd", "-d", "bob", "locals-too")
        lab.command("groupmod", "-n", "locals", "locals-too")
    finally:
        lab.command("userdel", "local-one")


def test_no_password_can_be_set():
    for argv, text in ((("passwd", "alice"), "Xx1y2z3ab\nXx1y2z3ab\n"),
                       (("chpasswd",), "alice:Xx1y2z3ab\n")):
        result = lab.command(*argv, input=text, check=False)
        assert result.returncode != 0
        assert "Authentication token manipulation error" in result.stderr + result.stdout
    lab.command("chpasswd", input="bob:Xx1y2z3ab\n")
    assert lab.command("passwd", "-S", "alice").stdout == "alice L\n"
    assert lab.command("getent", "shadow", "alice", check=False).returncode == 2


# ---- what says yes and does nothing, or less than it seems

@pytest.mark.parametrize("argv", [("usermod", "-aG", "course-a", "bob"),
                                  ("usermod", "-aG", lab.ALL_USERS, "bob"),
                                  ("adduser", "bob", "course-a")])
def test_a_group_of_ours_takes_no_local_account_whatever_the_tool_says(argv):
    before = accounts(), answers()
    assert lab.command(*argv).returncode == 0
    assert (accounts(), answers()) == before


def test_a_group_of_ours_can_be_the_primary_group_of_a_local_account():
    """The one way in for a local account: it is root's own act, and gives the rights of the gid."""
    gid = int(lab.command("getent", "group", "course-a").stdout.split(":")[2])
    lab.command("useradd", "-N", "-g", "course-a", "lodger")
    try:
        assert lab.command("id", "-G", "lodger").stdout.split() == [str(gid)]
        assert "lodger" not in {row["name"] for row in lab.api("GET", "/v1/users").body["users"]}
    finally:
        lab.command("userdel", "lodger")


# ---- what works

def test_usermod_and_gpasswd_put_a_participant_into_a_local_group():
    for add, remove in ((("usermod", "-aG", "locals", "alice"), ("gpasswd", "-d", "alice", "locals")),
                        (("gpasswd", "-a", "alice", "locals"), ("deluser", "alice", "locals")),
                        (("adduser", "alice", "locals"), ("gpasswd", "-d", "alice", "locals"))):
        lab.command(*add)
        assert lab.command("getent", "group", "locals").stdout.rstrip("\n").endswith(":alice")
        assert {"locals", lab.ALL_USERS} <= set(lab.command("id", "-Gn", "alice").stdout.split())
        lab.command(*remove)
        assert "locals" not in lab.command("id", "-Gn", "alice").stdout.split()


def test_id_getent_and_groups_name_the_participant(alice):
    assert lab.command("id", "-un", str(alice)).stdout == "alice\n"
    assert lab.command("getent", "passwd", str(alice)).stdout.startswith(f"alice:*:{alice}:{alice}:")
    assert lab.command("getent", "group", str(alice)).stdout == f"alice:*:{alice}:\n"
    assert lab.command("groups", "dora").stdout == f"dora : dora {lab.ALL_USERS} course-a\n"


def test_files_are_given_listed_and_found_by_name(alice):
    path = f"{PLACE}/file"
    lab.command("install", "-o", "alice", "-g", "course-a", "-m", "0640", "/etc/hostname", path)
    assert lab.command("ls", "-l", path).stdout.split()[2:4] == ["alice", "course-a"]
    lab.command("chown", "root:root", path)
    lab.command("chown", "alice:", path)  # her own group, by the name alone
    assert lab.command("stat", "-c", "%U:%G %u:%g", path).stdout == f"alice:alice {alice}:{alice}\n"
    lab.command("chgrp", "course-a", path)
    assert lab.command("stat", "-c", "%G", path).stdout == "course-a\n"
    assert lab.command("find", PLACE, "-user", "alice", "-group", "course-a").stdout == f"{path}\n"
    assert lab.command("find", PLACE, "-nouser", "-o", "-nogroup").stdout == ""
    archive = f"{PLACE}/archive.tar"
    lab.command("tar", "-C", "/etc", "--owner=alice", "--group=course-a", "-cf", archive, "hostname")
    assert "alice/course-a" in lab.command("tar", "-tvf", archive).stdout
    lab.command("tar", "-C", PLACE, "-xpf", archive)
    assert os.stat(f"{PLACE}/hostname").st_uid == alice


@pytest.mark.skipif(not shutil.which("setfacl"), reason="acl is not installed")
def test_access_lists_name_the_participant():
    path = f"{PLACE}/listed"
    lab.command("touch", path)
    lab.command("setfacl", "-m", "u:alice:r,g:course-a:rw", path)
    text = lab.command("getfacl", "-c", "-p", path).stdout.splitlines()
    assert {"user:alice:r--", "group:course-a:rw-"} <= set(text)


def test_root_becomes_the_participant_outside_of_every_session(alice):
    """sudo -u, runuser -u and setpriv start a program as her: root's own act, without our doors."""
    programs = [("runuser", "-u", "alice", "--"),
                ("setpriv", "--reuid=alice", "--regid=alice", "--init-groups")]
    if shutil.which("sudo"):
        programs.append(("sudo", "-u", "alice"))
    for argv in programs:
        assert lab.command(*argv, "id", "-u").stdout == f"{alice}\n"
        groups = lab.command(*argv, "id", "-Gn").stdout.split()
        assert groups == ["alice", lab.ALL_USERS]


@pytest.mark.parametrize("argv", [("runuser", "alice", "-c", "echo in"),
                                  ("runuser", "-l", "alice", "-c", "echo in"),
                                  ("sudo", "-u", "alice", "-i", "echo", "in")])
def test_a_login_shell_of_hers_says_one_sentence(argv):
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed")
    result = lab.command(*argv, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.endswith(SENTENCE)


def test_su_is_refused_with_and_without_a_shell_of_its_own():
    for argv in (("su", "alice", "-c", "echo in"), ("su", "-", "alice", "-c", "echo in"),
                 ("su", "-s", "/bin/sh", "alice", "-c", "echo in")):
        result = lab.command(*argv, check=False)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr == "su: Authentication failure\n"
    assert lab.command("su", "-s", "/bin/sh", "bob", "-c", "echo in").stdout == "in\n"


@pytest.mark.skipif(not shutil.which("sudo"), reason="sudo is not installed")
def test_sudo_gives_a_participant_nothing():
    assert lab.command("sudo", "-l", "-U", "alice").stdout.startswith(
        "User alice is not allowed to run sudo on ")


def test_newgrp_and_sg_know_the_group():
    """For root, who may have any group."""
    gid = lab.command("getent", "group", "course-a").stdout.split(":")[2]
    assert lab.command("sg", "course-a", "id -g").stdout == f"{gid}\n"
    assert lab.command("newgrp", "course-a", input="id -g\n").stdout == f"{gid}\n"


def test_a_crontab_is_taken_and_never_run():
    """That cron does not run it: test_default_deny.py."""
    lab.command("crontab", "-u", "alice", "-", input="@reboot true\n")
    try:
        assert lab.command("crontab", "-u", "alice", "-l").stdout == "@reboot true\n"
    finally:
        lab.command("crontab", "-u", "alice", "-r")
    assert lab.command("crontab", "-u", "alice", "-l", check=False).stderr == \
        "no crontab for alice\n"


# ---- with a session

def test_a_session_is_seen_by_the_tools(alice):
    with lab.Login("alice") as login:
        login.says("sleep 1000 &")
        lab.eventually(lambda: lab.command("pgrep", "-u", "alice", "-x", "sleep",
                                           check=False).stdout)
        pid = lab.command("pgrep", "-u", "alice", "-x", "sleep").stdout.strip()
        assert re.search(rf"^alice +{pid} ", lab.command("ps", "-u", "alice", "-o", "user,pid,comm")
                         .stdout, re.M)
        assert lab.command("ps", "-o", "user:32=", "-p", pid).stdout == "alice\n"
        assert lab.command("kill", "-0", pid).returncode == 0
        assert login.line in lab.command("who").stdout
        assert "alice" in lab.command("w", "-h", "alice").stdout
        assert re.search(rf"^alice +{login.line} .*still logged in", lab.command("last", "-w", "alice")
                         .stdout, re.M)
        lab.command("pkill", "-KILL", "-u", "alice", "-x", "sleep")
        login.says("wait")  # its shell, for its end
        assert lab.command("pgrep", "-u", "alice", "-x", "sleep", check=False).returncode == 1
    lab.eventually(lambda: login.line not in lab.command("who").stdout)
    # last(1) takes a time of this very second for one that is not over.
    lab.eventually(lambda: re.search(rf"^alice +{login.line} .*- \d\d:\d\d",
                                     lab.command("last", "-w", "alice").stdout, re.M))


def test_lastlog_is_not_kept():
    """It is a file with a place for each uid, which atelier-sshd does not write; last(1) tells."""
    lab.command("touch", "/var/log/lastlog")
    assert "**Never logged in**" in lab.command("lastlog", "-u", "alice").stdout


def test_no_stranger_reads_an_address():
    """Names and numbers are for everybody; addresses are in files that only the api and root read."""
    assert lab.user_add(email="address-of-tools@example.org").status in (200, 201)
    search = ("grep", "-rlas", "address-of-tools", lab.STATE, "/run/atelier", "/etc/atelier", "/run/lab")
    stranger = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    assert lab.command(*stranger, *search, check=False).stdout == ""
    assert f"{lab.STATE}/registry/registry.db" in lab.command(*search, check=False).stdout
    for what in (("getent", "passwd"), ("getent", "group"), ("ps", "-eo", "args")):
        assert "address-of-tools" not in lab.command(*stranger, *what).stdout
