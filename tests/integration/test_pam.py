# SPDX-License-Identifier: ISC
# test_pam.py - pam_atelier.so under hosts that differ: sshd with other methods and other stacks,
# pamtester, and a small program (programs/pamhost.c) that does one thing wrong.
import contextlib
import itertools
import os
import re
import subprocess

import doors
import lab
import pytest

PAM_D = "/etc/pam.d"
HOST = "/run/lab/pamhost"
NUMBERS = itertools.count()
PROMPT = "Code or link: "
NO_SESSION = "told atelier: the session could not be started; try again in a minute."
PASSWORD = "Corr3ct-of-bob"
FACTS = ("echo uid $(id -u); grep -E '^(NoNewPrivs|Seccomp|CapBnd|CapEff):' /proc/self/status; "
         "echo pid_ns $(readlink /proc/self/ns/pid); echo session $ATELIER_SESSION")

ONLY = """auth required pam_atelier.so only
account required pam_atelier.so only
session required pam_atelier.so only
password required pam_atelier.so only
"""
# Ours beside the host's own: whoever is not ours goes on as if the module was not there.
SHARED = """auth [success=done ignore=ignore default=die] pam_atelier.so
auth required pam_unix.so
account [success=done ignore=ignore default=die] pam_atelier.so
account required pam_unix.so
session required pam_permit.so
session required pam_atelier.so
"""
OTHERS = """session optional pam_motd.so
session optional pam_mkhomedir.so
session required pam_exec.so {program}
"""
MODULE = "session required pam_atelier.so only\n"
DOOR = """auth required pam_atelier.so only
account required pam_atelier.so only
session optional pam_loginuid.so
session required pam_limits.so
"""
SERVICES = {
    "lab-only": ONLY,
    "lab-shared": SHARED,
    "lab-last": DOOR + OTHERS.format(program="/run/lab/pam-exec") + MODULE,
    "lab-first": DOOR + MODULE + OTHERS.format(program="/usr/bin/touch /tmp/lab-exec"),
    "lab-late": DOOR + MODULE + "session required pam_exec.so /bin/sleep 4\n",
}


@pytest.fixture(scope="module", autouse=True)
def services(bob_with_password):
    source = os.path.join(os.path.dirname(__file__), "programs/pamhost.c")
    lab.command("gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O1", "-o", HOST,
                f"-I{os.environ['ATELIER_SRC']}", source, "-lpam", "-lpthread")
    with contextlib.ExitStack() as stack:
        for name, text in SERVICES.items():
            stack.enter_context(doors.written(f"{PAM_D}/{name}", text))
        stack.enter_context(doors.written(
            "/run/lab/pam-exec", "#!/bin/sh\necho $PAM_TYPE $PAM_USER >>/run/lab/pam-exec.seen\n",
            0o755))
        stack.enter_context(doors.written(
            "/etc/update-motd.d/99-lab", "#!/bin/sh\necho motd >>/run/lab/pam-motd.seen\n", 0o755))
        yield


@pytest.fixture(scope="module")
def bob_with_password():
    if lab.uid_of("bob") is None:
        lab.command("useradd", "bob")
    lab.command("usermod", "-s", "/bin/sh", "bob")
    lab.command("chpasswd", input=f"bob:{PASSWORD}\n")


@pytest.fixture
def user():
    return new_user()


def new_user():
    name = f"pam{next(NUMBERS)}"
    assert lab.user_add(name=name).status == 201
    return name


def facts_of(text):
    return {words[0].rstrip(":"): words[1] for words in map(str.split, text.splitlines())
            if len(words) == 2}


def assert_confined(text, user):
    facts = facts_of(text)
    assert facts["uid"] == str(lab.uid_of(user))
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    assert {facts["CapBnd"], facts["CapEff"]} == {"0" * 16}
    assert facts["pid_ns"] != os.readlink("/proc/self/ns/pid")
    return facts["session"]


def assert_unconfined(text, uid):
    """What a shell without a session looks like: the same words say so."""
    facts = facts_of(text)
    assert (facts["uid"], facts["NoNewPrivs"], facts["Seccomp"]) == (str(uid), "0", "0")
    assert facts["pid_ns"] == os.readlink("/proc/self/ns/pid")


def nothing_is_left(user):
    return not lab.sessions(user) and not lab.procs_of_uid(lab.uid_of(user))


def host(service, user, *words, check=True):
    """Run pamhost to its end; its lines. A delay is one, however long (libpam varies it)."""
    for word in words:
        if word.startswith("type="):
            doors.typed(word[5:])
    result = lab.command(HOST, service, user, *words, check=False)
    assert not check or result.returncode == 0, result
    for usec in re.findall("^delay ([0-9]+)$", result.stdout, re.MULTILINE):
        assert 1000000 <= int(usec) <= 3000000
    return [re.sub("^delay [0-9]+$", "delay", line) for line in result.stdout.splitlines()]


# ---- authenticate

BAD_ANSWERS = {
    "null": ["null"], "empty": ["type="], "error": ["type=CODE", "error"],
    "error without text": ["null", "error"], "513": ["type=CODE", "pad=513"],
    "512": ["type=CODE", "pad=512"], "10000": ["type=CODE", "pad=10000"], "blanks": ["type=   "],
    "NUL": ["type=CODE", "nul=0"], "NUL in it": ["type=CODE", "nul=6"],
    "wrong": ["type=ABCD-EFGH-JKMN"], "nothing at all": [],
}


@pytest.mark.parametrize("answer", BAD_ANSWERS)
def test_a_bad_answer_is_a_denial_and_uses_nothing_up(user, answer):
    minted = lab.mint(user)
    words = [word.replace("CODE", minted["code"]) for word in BAD_ANSWERS[answer]]
    lines = host("lab-only", user, *words, "auth")
    # One question, the delay that sshd will wait, one verdict.
    assert lines == [f"asked {PROMPT}", "delay", "auth PAM_AUTH_ERR"]
    assert lab.link_state(minted["id"]) == "open"
    lines = host("lab-only", user, f"type={lab.mint(user)['code']}x", "nul=14", "auth")
    assert lines == [f"asked {PROMPT}", "auth PAM_SUCCESS"]
    # The longest answer that is taken: libpam's limit and a NUL.
    lines = host("lab-only", user, f"type={minted['code']}", "pad=511", "auth")
    assert lines == [f"asked {PROMPT}", "auth PAM_SUCCESS"]


def test_a_code_is_good_at_the_prompt_of_its_user_only(user):
    other = new_user()
    minted = lab.mint(user)
    for service in ("lab-only", "lab-shared"):
        for name in (other, "alice"):
            lines = host(service, name, f"type={minted['code']}", "auth")
            assert lines[-1] == "auth PAM_AUTH_ERR"
    assert lab.link_state(minted["id"]) == "open"
    assert host("lab-only", user, f"type={minted['code']}", "auth")[-1] == "auth PAM_SUCCESS"
    assert host("lab-only", user, f"type={minted['code']}", "auth")[-1] == "auth PAM_AUTH_ERR"


def test_with_only_everybody_else_is_asked_and_denied():
    for name, text in (("bob", PASSWORD), ("root", ""), ("nobodyhere", "x"), ("-x", "x"),
                       ("a" * 300, "x"), ("\x01", "x")):
        lines = host("lab-only", name, f"type={text}", "auth", "acct", "open")
        assert lines == [f"asked {PROMPT}", "delay", "auth PAM_AUTH_ERR", "acct PAM_PERM_DENIED",
                         "open PAM_SESSION_ERR"]


def test_without_only_a_local_user_does_not_notice_us(bob):
    lines = host("lab-shared", "bob", f"type={PASSWORD}", "auth", "acct", "open", "facts",
                 f"shell={FACTS}", "env", "close")
    assert lines[:4] == ["asked Password: ", "auth PAM_SUCCESS", "acct PAM_SUCCESS",
                         "open PAM_SUCCESS"]
    assert lines[-1] == "close PAM_SUCCESS"
    assert lines[4].startswith("facts NoNewPrivs 0 Seccomp 0 pid ")
    assert_unconfined("\n".join(lines[5:]), bob)
    assert "env" not in [line.split()[0] for line in lines]
    lines = host("lab-shared", "bob", "type=wrong", "auth")
    assert lines[0] == "asked Password: "
    assert lines[-1] == "auth PAM_AUTH_ERR"


def test_without_only_our_users_come_in_by_our_stack(user):
    minted = lab.mint(user)
    lines = host("lab-shared", user, f"type={minted['code']}", "auth", "acct", "open",
                 f"shell={FACTS}", "close")
    assert lines[:4] == [f"asked {PROMPT}", "auth PAM_SUCCESS", "acct PAM_SUCCESS",
                         "open PAM_SUCCESS"]
    assert_confined("\n".join(lines[4:]), user)


# ---- the hooks of a session

def code_word(user):
    return f"type={lab.mint(user)['code']}"


def test_pamtester_goes_through_all_hooks(user):
    minted = lab.mint(user)
    operations = ("authenticate", "acct_mgmt", "setcred", "open_session", "close_session")
    result = lab.command("pamtester", "lab-only", user, *operations, input=f"{minted['code']}\n")
    said = result.stdout + result.stderr
    for words in ("successfully authenticated", "account management done", "opened a session",
                  "session has successfully been closed", "credential info has successfully"):
        assert words in said, said
    lab.eventually(lambda: nothing_is_left(user))
    again = lab.command("pamtester", "lab-only", user, *operations, input=f"{minted['code']}\n",
                        check=False)
    assert again.returncode != 0
    assert "opened a session" not in again.stdout + again.stderr


def test_a_session_is_confined_and_ends_with_close(user):
    lines = host("lab-only", user, code_word(user), "auth", "acct", "cred", "open", "facts",
                 "recred", "cred", f"shell={FACTS}", "env", "close", "uncred")
    results = [line for line in lines if re.fullmatch("[a-z]+ PAM_[A-Z]+", line)]
    assert results == [f"{word} PAM_SUCCESS" for word in ("auth", "acct", "cred", "open", "recred",
                                                          "cred", "close", "uncred")]
    assert "facts NoNewPrivs 1 Seccomp 2 pid 0" in lines
    assert_confined("\n".join(lines), user)
    env = [line for line in lines if line.startswith("env ")]
    assert len(env) == 1
    assert re.fullmatch("env ATELIER_SESSION=[0-9a-f]{32}", env[0])
    lab.eventually(lambda: nothing_is_left(user))


@pytest.mark.parametrize("children", ["ignore", "block", "reap"])
def test_a_host_that_does_not_wait_for_children(user, children):
    """The module forks nothing, so that it has nothing to wait for."""
    lines = host("lab-only", user, children, code_word(user), "auth", "acct", "open",
                 f"shell={FACTS}", f"shell={FACTS}", "close")
    assert "open PAM_SUCCESS" in lines
    assert lines[-1] == "close PAM_SUCCESS"
    assert sum(line.startswith("uid ") for line in lines) == 2
    assert_confined("\n".join(lines), user)
    lab.eventually(lambda: nothing_is_left(user))


@pytest.mark.parametrize("fault", ["thread", "directory"])
def test_a_host_that_cannot_be_confined_gets_no_session(user, fault):
    lines = host("lab-only", user, code_word(user), "auth", "acct", fault, "open")
    assert lines[1:] == ["auth PAM_SUCCESS", "acct PAM_SUCCESS", NO_SESSION, "open PAM_SESSION_ERR"]
    lab.eventually(lambda: nothing_is_left(user))
    assert host("lab-only", user, code_word(user), "auth", "open")[-1] == "open PAM_SUCCESS"


def test_a_host_with_threads_is_left_as_it_was(user):
    lines = host("lab-only", user, code_word(user), "auth", "facts", "thread", "open", "facts",
                 "open")
    facts = [line for line in lines if line.startswith("facts ")]
    assert len(facts) == 2
    # Nothing was entered; but a host that got no session is caged.
    before, after = (line.split(" pid ") for line in facts)
    assert before[0] == "facts NoNewPrivs 0 Seccomp 0"
    assert after[0] == "facts NoNewPrivs 1 Seccomp 2"
    assert after[1] == before[1]
    assert lines[-1] == "open PAM_SESSION_ERR"


def test_a_second_session_in_one_process_is_refused_and_the_first_one_lives(user):
    words = [code_word(user), "auth", "open", "open", f"shell={FACTS}", "close", "open"]
    with subprocess.Popen([HOST, "lab-only", user, *words, "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        lines = until_waiting(process)
        # It ends by the close, not by the end of the process.
        lab.eventually(lambda: nothing_is_left(user))
        process.communicate("x", timeout=60)
    opens = [line for line in lines if line.startswith("open ")]
    assert opens == ["open PAM_SUCCESS", "open PAM_SESSION_ERR", "open PAM_SESSION_ERR"]
    assert_confined("\n".join(lines), user)


def until_waiting(process):
    lines = []
    while (line := process.stdout.readline()) != "waiting\n":
        assert line, lines
        lines.append(line.rstrip("\n"))
    return lines


def test_a_close_without_a_session(user):
    assert host("lab-only", user, "close", "close") == ["close PAM_SUCCESS"] * 2
    assert host("lab-shared", user, "close") == ["close PAM_SUCCESS"]  # pam_permit's


def test_a_host_that_ends_without_close_leaves_nothing(user):
    with subprocess.Popen([HOST, "lab-only", user, code_word(user), "auth", "open", "wait"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        until_waiting(process)
        init = lab.session_of(user)["init_pid"]
        assert lab.process_or_none(init)
        process.kill()
    lab.eventually(lambda: nothing_is_left(user) and not lab.process_or_none(init))


def test_the_init_dies_under_a_host(user):
    """Nothing can be forked in the session any more: that is told, and the next one is fresh."""
    with subprocess.Popen([HOST, "lab-only", user, code_word(user), "auth", "open", "wait",
                           f"shell={FACTS}", "close"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        until_waiting(process)
        lab.die_alone(lab.session_of(user)["init_pid"])
        lab.eventually(lambda: not lab.sessions(user))
        out, _ = process.communicate("x", timeout=60)
    assert out.splitlines() == ["shell: Cannot allocate memory", "close PAM_SUCCESS"]
    lines = host("lab-only", user, code_word(user), "auth", "open", f"shell={FACTS}")
    assert_confined("\n".join(lines), user)


# ---- the real sshd, with other methods

BY_PASSWORD = ("PreferredAuthentications=password",)


@pytest.fixture(scope="module")
def many_methods():
    """Our sshd with all that an admin might switch on; yields its port."""
    with doors.sshd("atelier-sshd", 2424, "PasswordAuthentication=yes",
                    "AuthorizedKeysFile=/etc/lab-keys/%u",
                    f"TrustedUserCAKeys={doors.authority()}"):
        yield 2424


@pytest.mark.parametrize("form", ["code", "link"])
def test_the_password_method_takes_a_code_too(many_methods, user, form):
    minted = lab.mint(user)
    result = lab.ssh(user, minted[form], FACTS, port=many_methods, options=BY_PASSWORD)
    assert result.returncode == 0, result.stderr
    assert_confined(result.stdout, user)
    again = lab.ssh(user, minted[form], FACTS, port=many_methods, options=BY_PASSWORD)
    assert (again.returncode, again.stdout) == (255, "")


@pytest.mark.parametrize("options", [(), BY_PASSWORD])
def test_the_code_of_one_at_the_prompt_of_another(many_methods, user, options):
    other = new_user()
    minted = lab.mint(user)
    for name in (other, "root", "bob", "nobodyhere"):
        result = lab.ssh(name, minted["code"], FACTS, port=many_methods, options=options)
        assert (result.returncode, result.stdout) == (255, "")
    assert lab.link_state(minted["id"]) == "open"
    assert_confined(lab.ssh(user, minted["code"], FACTS, port=many_methods, options=options).stdout,
                    user)


@pytest.mark.parametrize("text", ["", "   ", "ABCD-EFGH-JKMN", "x" * 600, "x" * 1023])
def test_the_password_method_denies_alike(many_methods, user, text):
    minted = lab.mint(user)
    result = lab.ssh(user, doors.typed(text), "true", port=many_methods, options=BY_PASSWORD)
    assert (result.returncode, result.stdout) == (255, "")
    assert result.stderr == (f"{user}@127.0.0.1: Permission denied "
                             "(publickey,password,keyboard-interactive).\n")
    assert lab.link_state(minted["id"]) == "open"


def test_every_way_in_has_a_session_of_its_own_and_no_secret(many_methods, user):
    everything = (f"{FACTS}; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' "
                  "'\\n' | sed 's/^/> /'; env | sed 's/^/> /'")
    minted = [lab.mint(user) for _ in range(2)]
    certified = (f"CertificateFile={doors.certificate(user)}",)
    results = [lab.ssh(user, minted[0]["code"], everything, port=many_methods),
               lab.ssh(user, minted[1]["code"], everything, port=many_methods, options=BY_PASSWORD),
               doors.ssh_by_key(user, everything, port=many_methods, options=certified)]
    refused = doors.ssh_by_key(user, everything, port=many_methods)
    assert refused.returncode == 255  # it was the certificate
    with doors.written(f"/etc/lab-keys/{user}", doors.public_key()):
        results.append(doors.ssh_by_key(user, everything, port=many_methods))
    seen = set()
    for result in results:
        assert result.returncode == 0, result.stderr
        session = assert_confined(result.stdout, user)
        assert re.fullmatch("[0-9a-f]{32}", session)
        assert f"> ATELIER_SESSION={session}" in result.stdout
        seen.add(session)
        for each in minted:
            for secret in (each["code"], each["code"].replace("-", ""), doors.token_of(each)):
                assert secret not in result.stdout
    assert len(seen) == 4


def test_a_key_does_not_help_who_may_not_log_in(many_methods, user):
    with doors.written(f"/etc/lab-keys/{user}", doors.public_key()):
        assert doors.ssh_by_key(user, "echo in", port=many_methods).stdout == "in\n"
        for change in ({"locked": True}, {"locked": False, "expires_at": "2020-01-01T00:00:00Z"}):
            assert lab.api("PATCH", f"/v1/users/{user}", change).status == 200
            result = doors.ssh_by_key(user, "echo in", port=many_methods)
            assert (result.returncode, result.stdout) == (255, "")
        assert lab.api("PATCH", f"/v1/users/{user}", {"expires_at": None}).status == 200
        assert doors.ssh_by_key(user, "echo in", port=many_methods).stdout == "in\n"


# ---- the real sshd, with other stacks

def read_and_forget(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        os.unlink(path)
        return text
    except FileNotFoundError:
        return ""


def test_other_modules_before_ours_run_on_the_host(user):
    for seen in ("exec", "motd"):
        read_and_forget(f"/run/lab/pam-{seen}.seen")
    with doors.sshd("lab-last", 2425):
        for _ in range(2):  # the first one makes the home
            result = lab.ssh(user, lab.mint(user)["code"], FACTS, port=2425)
            assert result.returncode == 0, result.stderr
            assert_confined(result.stdout, user)
    assert read_and_forget("/run/lab/pam-exec.seen").startswith(f"open_session {user}\n")
    assert read_and_forget("/run/lab/pam-motd.seen") == "motd\n" * 2


def test_other_modules_after_ours_run_in_the_session(user):
    """They fork in sshd's monitor, which is in the session's namespaces by then."""
    read_and_forget("/run/lab/pam-motd.seen")
    with doors.sshd("lab-first", 2426):
        for _ in range(2):
            result = lab.ssh(user, lab.mint(user)["code"],
                             f"{FACTS}; stat -c '%U %n' /tmp/lab-exec", port=2426)
            assert result.returncode == 0, result.stderr
            assert_confined(result.stdout, user)
            assert "root /tmp/lab-exec" in result.stdout
        shell = lab.ssh_shell(user, lab.mint(user)["code"], port=2426)
        assert lab.shell_says(shell, "ls /tmp/lab-exec") == "/tmp/lab-exec\n"
        shell.close()
    assert not os.path.exists("/tmp/lab-exec")
    assert read_and_forget("/run/lab/pam-motd.seen") == ""


def test_the_init_dies_while_a_login_is_on_its_way(user):
    """Between our module and the first process of the user: there is no shell then."""
    with doors.sshd("lab-late", 2427):
        client = lab.ssh_popen(user, lab.mint(user)["code"], FACTS, port=2427)
        init = lab.session_of(user)["init_pid"]
        lab.die_alone(init)
        out, _ = client.communicate(timeout=60)
        assert client.returncode != 0
        assert "uid" not in out
        lab.eventually(lambda: nothing_is_left(user))
        result = lab.ssh(user, lab.mint(user)["code"], FACTS, port=2427)
        assert_confined(result.stdout, user)


def test_the_init_dies_in_a_session_and_the_next_one_is_a_new_one(user):
    with lab.login(user) as client:
        first = lab.session_of(user)
        lab.die_alone(first["init_pid"])
        assert client.wait(30) != 0
    result = lab.ssh(user, lab.mint(user)["code"], FACTS)
    assert assert_confined(result.stdout, user) != first["id"]
    lab.eventually(lambda: nothing_is_left(user))


def test_a_new_user_gets_in_at_once():
    """No cache of sshd or of NSS has to find out about them first."""
    for _ in range(10):
        name = new_user()
        result = lab.ssh(name, lab.mint(name)["code"], "id -un")
        assert (result.returncode, result.stdout) == (0, f"{name}\n"), result.stderr


def test_what_is_told_at_a_login_is_not_in_what_is_copied(user, tmp_path):
    """A message of the day, and modules that talk: bytes arrive as they are."""
    data = os.urandom(100000) + b"\0\r\n~.\n"
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(data)
    with doors.written("/etc/motd", "message of the lab\n"), doors.sshd("lab-last", 2425):
        def code():
            return lab.mint(user)["code"]

        result = lab.ssh(user, code(), "cat", port=2425, input=data, text=False)
        assert (result.returncode, result.stdout, result.stderr) == (0, data, b"")
        for flags in ((), ("-O",)):  # by sftp, and by the old protocol
            for paths in ((str(sent), f"{user}@127.0.0.1:copy"),
                          (f"{user}@127.0.0.1:copy", str(back))):
                result = lab.with_code(code(), lab.scp_argv(*paths, flags=flags, port=2425))
                assert (result.returncode, result.stdout) == (0, ""), result.stderr
            assert back.read_bytes() == data
            back.unlink()
        argv = lab.rsync_argv(f"{user}@127.0.0.1:copy", str(back), port=2425)
        result = lab.with_code(code(), argv)
        assert (result.returncode, result.stdout) == (0, ""), result.stderr
        assert back.read_bytes() == data
        # On a terminal it is told.
        assert "message of the lab" in lab.ssh(user, code(), flags=("-tt",), port=2425,
                                               input="exit\n").stdout
