# SPDX-License-Identifier: ISC
# test_default_deny.py - every way into the host that is not ours is closed to participants.
#
# bob, an account of the host's own, goes through each of them, so that a closed way is one that was
# open. The protections are taken away one by one, by the means of an administrator.
import contextlib
import ctypes
import os
import shutil
import stat
import subprocess
import time

import doors
import lab
import pytest

SHELL = "/usr/lib/atelier/shell"
SENTENCE = ("atelier: this account works only in a session: ssh -p 2222 NAME@HOST; root uses "
            "atelier su NAME.\n")
DROP_IN = "/etc/ssh/sshd_config.d/00-atelier.conf"
MARK = "/etc/atelier/session"
KEYS = "/etc/lab-keys"
PASSWORD = "Corr3ct-of-bob"
HOST_PORT = 22
MARKS = "/tmp/lab-marks"  # where jobs leave a file, if they run


# ---- the host's own sshd

@pytest.fixture(scope="module")
def host_sshd():
    """Debian's sshd with Debian's configuration, and our drop-in."""
    with doors.sshd("sshd", HOST_PORT, config=doors.HOST_CONFIG):
        yield


@pytest.fixture(scope="module")
def local_user():
    """bob has a home with a key, and a password."""
    if lab.uid_of("bob") is None:
        lab.command("useradd", "bob")
    lab.command("usermod", "-s", "/bin/bash", "-d", "/home/bob", "bob")
    lab.command("chpasswd", input=f"bob:{PASSWORD}\n")
    put_key("/home/bob", lab.uid_of("bob"))
    return lab.uid_of("bob")


def put_key(home, uid):
    os.makedirs(f"{home}/.ssh", exist_ok=True)
    with open(f"{home}/.ssh/authorized_keys", "w", encoding="ascii") as file:
        file.write(doors.public_key())
    for path in (home, f"{home}/.ssh", file.name):
        os.chown(path, uid, uid)


@pytest.fixture(scope="module")
def alices_key():
    """alice herself puts a key into her home, in a session."""
    result = lab.ssh("alice", lab.mint("alice")["code"],
                     "umask 077; mkdir -p ~/.ssh && cat > ~/.ssh/authorized_keys",
                     input=doors.public_key())
    assert result.returncode == 0, result.stderr
    st = os.stat(f"{lab.HOMES}/alice/.ssh/authorized_keys")
    assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (lab.uid_of("alice"), 0o600)


@contextlib.contextmanager
def without_drop_in():
    os.rename(DROP_IN, f"{DROP_IN}.away")
    try:
        yield
    finally:
        os.rename(f"{DROP_IN}.away", DROP_IN)


def pam_auth_update(*how):
    lab.command("pam-auth-update", "--package", "--force", *how, "atelier",
                env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


@contextlib.contextmanager
def without_profile():
    """The account profile is not there, as after pam-auth-update --remove."""
    pam_auth_update("--remove")
    with open("/etc/pam.d/common-account", encoding="utf-8") as file:
        assert "10000" not in file.read()
    try:
        yield
    finally:
        pam_auth_update("--enable")
        with open("/etc/pam.d/common-account", encoding="utf-8") as file:
            assert "10000" in file.read()


@contextlib.contextmanager
def reachable_keys():
    """root has put alice's key where sshd reads it; yields the option for sshd."""
    with doors.written(f"{KEYS}/alice", doors.public_key()):
        yield (f"AuthorizedKeysFile={KEYS}/%u",)


def host_login(user, *command, port=HOST_PORT):
    return doors.ssh_by_key(user, *(command or ("id", "-u")), port=port)


def test_a_key_opens_the_hosts_sshd_for_root_and_for_a_local_user(host_sshd, local_user):
    with doors.written("/root/.ssh/authorized_keys", doors.public_key(), 0o600):
        result = host_login("root")
        assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    result = host_login("bob")
    assert (result.returncode, result.stdout) == (0, f"{local_user}\n"), result.stderr


def test_a_key_in_her_home_does_not_open_the_hosts_sshd(host_sshd, alices_key):
    result = host_login("alice")
    assert result.returncode == 255
    assert result.stdout == ""
    assert "Permission denied" in result.stderr


@pytest.mark.parametrize("away", ["drop-in", "home", "profile", "drop-in home", "drop-in profile",
                                  "home profile"])
def test_two_of_three_protections_may_be_missing(alices_key, away):
    """The drop-in, the closed parent of the homes, the account profile: each is enough."""
    with contextlib.ExitStack() as stack:
        options = ()
        if "drop-in" in away:
            stack.enter_context(without_drop_in())
        if "profile" in away:
            stack.enter_context(without_profile())
        if "home" in away:
            options = stack.enter_context(reachable_keys())
        stack.enter_context(doors.sshd("sshd", 2422, *options, config=doors.HOST_CONFIG))
        result = host_login("alice", port=2422)
        assert (result.returncode, result.stdout) == (255, "")


def test_without_all_three_her_key_is_taken_and_the_shell_refuses(alices_key):
    with without_drop_in(), without_profile(), reachable_keys() as options, \
            doors.sshd("sshd", 2422, *options, config=doors.HOST_CONFIG):
        result = host_login("alice", "echo in", port=2422)
        assert result.stdout == ""
        assert result.stderr.endswith(SENTENCE)
        assert result.returncode == 1
        sftp = lab.with_code("-", lab.sftp_argv("alice", "-", port=2422, options=(
            *doors.PUBLIC_KEY, f"IdentityFile={doors.key_pair()}")), input="ls /\n")
        assert sftp.returncode != 0
        assert "etc" not in sftp.stdout


def test_no_password_and_no_code_opens_the_hosts_sshd(host_sshd, local_user):
    password = ("PreferredAuthentications=password",)
    result = lab.ssh("bob", PASSWORD, "id", "-u", port=HOST_PORT, options=password)
    assert (result.returncode, result.stdout) == (0, f"{local_user}\n"), result.stderr
    minted = lab.mint("alice")
    for text in (minted["code"], minted["link"], "*", "", PASSWORD):
        result = lab.ssh("alice", text, "id", "-u", port=HOST_PORT, options=password)
        assert (result.returncode, result.stdout) == (255, "")
    assert lab.link_state(minted["id"]) == "open"
    assert lab.ssh("alice", minted["code"], "true").returncode == 0


# ---- su and its like

@pytest.mark.parametrize("argv", [["su", "NAME", "-c", "echo in"],
                                  ["su", "-", "NAME", "-c", "echo in"],
                                  ["su", "-l", "-s", "/bin/sh", "NAME", "-c", "echo in"],
                                  ["su", "-s", "/bin/sh", "NAME", "-c", "echo in"]])
def test_su_of_root_is_refused_for_participants(local_user, argv):
    bob = lab.command(*[word.replace("NAME", "bob") for word in argv])
    assert bob.stdout.endswith("in\n")
    alice = lab.command(*[word.replace("NAME", "alice") for word in argv], check=False)
    assert alice.returncode != 0
    assert "in\n" not in alice.stdout
    assert alice.stderr == "su: Authentication failure\n"


@pytest.mark.parametrize("argv", [["runuser", "-u", "NAME", "--", "SHELL", "-c", "echo in"],
                                  ["runuser", "NAME", "-c", "echo in"],
                                  ["runuser", "-l", "NAME", "-c", "echo in"]])
def test_runuser_ends_at_the_shell(local_user, argv):
    bob = lab.command(*["bob" if word == "NAME" else "/bin/sh" if word == "SHELL" else word
                        for word in argv])
    assert bob.stdout.endswith("in\n")
    alice = lab.command(*["alice" if word == "NAME" else SHELL if word == "SHELL" else word
                          for word in argv], check=False)
    assert (alice.returncode, alice.stdout) == (1, "")
    assert alice.stderr.endswith(SENTENCE)


def test_su_of_a_local_user_does_not_become_a_participant(local_user):
    """With her code as the password, too: su is no door of ours."""
    minted = lab.mint("alice")
    bob = ["setpriv", "--reuid=bob", "--regid=bob", "--init-groups"]
    result = lab.command(*bob, "su", "bob", "-c", "echo in", input=f"{PASSWORD}\n", check=False)
    assert result.stdout == "in\n", result.stderr
    for text in (minted["code"], PASSWORD, ""):
        result = lab.command(*bob, "su", "alice", "-s", "/bin/sh", "-c", "echo in",
                             input=f"{text}\n", check=False)
        assert (result.returncode, result.stdout) == (1, "")
    assert lab.link_state(minted["id"]) == "open"


@pytest.mark.skipif(not shutil.which("sudo"), reason="sudo is not installed")
def test_sudo_ends_at_the_shell():
    alice = lab.command("sudo", "-u", "alice", "-i", "echo", "in", check=False)
    assert alice.returncode != 0
    assert "in\n" not in alice.stdout


# ---- jobs

@pytest.fixture
def marks():
    shutil.rmtree(MARKS, ignore_errors=True)
    os.mkdir(MARKS)
    os.chmod(MARKS, 0o1777)
    yield
    shutil.rmtree(MARKS)


LOG = "/run/lab/logger.log"


def refusals(program, offset):
    """How often a daemon has said, since then, that PAM refuses."""
    with open(LOG, encoding="utf-8") as log:
        log.seek(offset)
        return sum(f" {program}[" in line and "Authentication failure" in line for line in log)


@contextlib.contextmanager
def daemon(*argv):
    """A daemon in the foreground, as long as the block; what it logs is kept."""
    with open("/run/lab/jobs.log", "ab") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def crontab(user):
    """Written by root, for a job that runs as soon as the daemon starts, not at a full minute."""
    lab.command("crontab", "-u", user, "-", input=f"@reboot echo $(id -u) > {MARKS}/cron-{user}\n")


@contextlib.contextmanager
def cron():
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/run/crond.reboot")
    with daemon("/usr/sbin/cron", "-f") as process:
        yield process


@pytest.fixture
def crontabs(local_user, marks):
    users = ("root", "bob", "alice")
    for user in users:
        crontab(user)
    with doors.written("/etc/cron.d/lab", f"@reboot alice echo in > {MARKS}/cron-d-alice\n"
                                          f"@reboot bob echo in > {MARKS}/cron-d-bob\n"):
        yield
    for user in users:
        lab.command("crontab", "-u", user, "-r")


def read_mark(name):
    try:
        with open(f"{MARKS}/{name}", encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return None


def test_cron_runs_nothing_of_a_participant(crontabs, local_user):
    before = os.path.getsize(LOG)
    with cron():
        for user, uid in (("root", 0), ("bob", local_user)):
            lab.eventually(lambda: read_mark(f"cron-{user}") == f"{uid}\n", 30)
        lab.eventually(lambda: read_mark("cron-d-bob"), 30)
        # Both of hers were tried, and refused by PAM.
        lab.eventually(lambda: refusals("CRON", before) == 2, 30)
        time.sleep(0.5)
        assert sorted(os.listdir(MARKS)) == ["cron-bob", "cron-d-bob", "cron-root"]


def test_cron_would_run_it_without_the_profile(crontabs, alice):
    with without_profile(), cron():
        lab.eventually(lambda: read_mark("cron-alice") == f"{alice}\n", 30)


def at(user, mark):
    """A job for now, put there by root as the user: root's own act, atd's is what follows."""
    lab.command("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "at", "now",
                input=f"touch {MARKS}/{mark}\n", cwd="/",
                env={"PATH": os.environ["PATH"], "LOGNAME": user, "USER": user, "SHELL": "/bin/sh"})


@pytest.fixture
def at_jobs():
    yield
    for line in lab.command("atq").stdout.splitlines():
        lab.command("atrm", line.split()[0])


def test_at_runs_nothing_of_a_participant(local_user, marks, at_jobs):
    before = os.path.getsize(LOG)
    with daemon("/usr/sbin/atd", "-f"):
        at("alice", "at-alice")
        at("bob", "at-bob")
        lab.eventually(lambda: os.path.exists(f"{MARKS}/at-bob"), 90)
        lab.eventually(lambda: refusals("atd", before) >= 1, 90)
        time.sleep(1)
        assert os.listdir(MARKS) == ["at-bob"]


def test_at_would_run_it_without_the_profile(marks, at_jobs):
    with without_profile(), daemon("/usr/sbin/atd", "-f"):
        at("alice", "at-alice")
        lab.eventually(lambda: os.path.exists(f"{MARKS}/at-alice"), 90)


# ---- the shell, and what a caller can pretend

def as_alice(argv, prepare=None, environment=None, program=None):
    uid = lab.uid_of("alice")

    def become():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if prepare:
            prepare()

    return subprocess.run(argv, preexec_fn=become, capture_output=True, text=True, check=False,
                          timeout=60, cwd="/", env=environment, executable=program)


def pretend():
    """no_new_privs and a filter that allows everything: all of a session but the session."""
    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    allow = ctypes.create_string_buffer(bytes.fromhex("06000000" "0000ff7f"))  # RET_ALLOW
    program = Program(1, ctypes.addressof(allow))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0  # PR_SET_SECCOMP


SAY_SESSION = {"ATELIER_SESSION": "0" * 32, "SHELL": "/bin/sh", "SSH_CONNECTION": "x"}


@pytest.mark.parametrize("argv", [[SHELL], [SHELL, "-c", "echo in"], [SHELL, "-l"], ["-shell"]])
@pytest.mark.parametrize("prepare", [None, pretend])
def test_outside_of_a_session_the_shell_says_one_sentence(argv, prepare):
    assert not os.path.lexists(MARK)
    for environment in (None, SAY_SESSION):
        result = as_alice(argv, prepare, environment, SHELL)
        assert (result.returncode, result.stdout, result.stderr) == (1, "", SENTENCE)


def test_the_pretence_would_do_with_a_mark_of_root(alice):
    """What is pretended above is all else that the shell asks for."""
    with doors.written(MARK, f"{alice} /bin/sh\n"):
        result = as_alice([SHELL, "-c", "echo in"], pretend)
        assert (result.returncode, result.stdout) == (0, "in\n"), result.stderr
        assert as_alice([SHELL, "-c", "echo in"]).stderr == SENTENCE
    with doors.written(MARK, f"{alice + 1} /bin/sh\n"):
        assert as_alice([SHELL, "-c", "echo in"], pretend).stderr == SENTENCE


def test_a_participant_cannot_make_the_mark():
    for path in (MARK, os.path.dirname(MARK), "/etc"):
        result = as_alice(["/bin/sh", "-c", f"touch {path}/x || mv {path} /tmp/ || : > {path}"])
        assert result.returncode != 0
    assert not os.path.lexists(MARK)


def test_homes_cannot_be_reached_from_the_host(alice_home):
    st = os.lstat(lab.HOMES)
    assert (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (0, 0, 0o700)
    for path in (lab.HOMES, alice_home, f"{alice_home}/.ssh", f"{alice_home}/.ssh/authorized_keys"):
        assert as_alice(["/bin/ls", path]).returncode != 0
        assert as_alice(["/usr/bin/stat", f"{path}/."]).returncode != 0
    assert lab.ssh("alice", lab.mint("alice")["code"], "ls -a ~").returncode == 0


def test_the_shell_is_no_login_shell_of_the_host():
    assert lab.command("getent", "passwd", "alice").stdout.rstrip("\n").endswith(f":{SHELL}")
    with open("/etc/shells", encoding="utf-8") as shells:
        assert SHELL not in shells.read()


# ---- from inside a session

INSIDE = {
    "crontab": "echo '* * * * * true' | crontab -",
    "crontab-list": "crontab -l",
    "at": "echo true | at now",
    "newgrp": "echo 'id -g' | newgrp users",
    "su": "echo x | su -c 'echo in'",
    "su-self": "echo x | su alice -c 'echo in'",
    "passwd": "printf 'x\\ny\\ny\\n' | passwd",
    "chsh": "echo x | chsh -s /bin/sh",
    "sudo": "sudo -n true",
}


def test_jobs_and_other_ids_are_out_of_reach_in_a_session(local_user):
    script = "; ".join(f"({words}) >/dev/null 2>&1; echo {name} $?"
                       for name, words in INSIDE.items())
    result = lab.ssh("alice", lab.mint("alice")["code"], f"{script}; echo true $(true; echo $?)")
    codes = dict(line.split() for line in result.stdout.splitlines())
    assert codes.pop("true") == "0"
    assert set(codes) == set(INSIDE)
    assert {name for name, code in codes.items() if code == "0"} == set()
    assert not os.path.exists("/var/spool/cron/crontabs/alice")
    assert "alice" not in lab.command("atq").stdout
    # The same is no trouble for a local user.
    for name in ("crontab", "crontab-list"):
        done = lab.command("setpriv", "--reuid=bob", "--regid=bob", "--init-groups", "sh", "-c",
                           INSIDE[name], check=False)
        assert done.returncode == 0, (name, done.stderr)
    lab.command("crontab", "-u", "bob", "-r")
