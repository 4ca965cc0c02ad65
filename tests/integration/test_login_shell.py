# SPDX-License-Identifier: ISC
# test_login_shell.py - the shell of a user is what a session runs; the host's entry stays as it is.
import lab
import pytest


def patch(name, **change):
    answer = lab.api("PATCH", f"/v1/users/{name}", change)
    assert answer.status == 200, answer


def shell_of(name):
    """What the login runs, by its program and its environment."""
    with lab.Session(name) as session:
        lines = session.says("readlink /proc/$$/exe; echo $SHELL; getent passwd $(id -u)").split("\n")
    return lines[0].rsplit("/", 1)[1], lines[1], lines[2].split(":")[6]


def test_a_login_runs_the_users_shell_and_the_next_one_another():
    name = lab.newcomer()
    assert shell_of(name) == ("bash", "/bin/bash", "/bin/bash")
    patch(name, shell="/bin/dash")
    assert shell_of(name) == ("dash", "/bin/dash", "/bin/dash")
    entry = lab.command("getent", "passwd", name).stdout.strip().split(":")
    assert entry[6].endswith("/atelier/shell")  # on the host nothing has changed
    patch(name, shell="")
    assert shell_of(name) == ("bash", "/bin/bash", "/bin/bash")


def test_an_interactive_login_has_it_too():
    name = lab.newcomer()
    patch(name, shell="/bin/dash")
    argv = lab.ssh_argv(name, flags=("-tt",))
    result = lab.with_code(lab.code_of(name), argv, input="echo $0 $(readlink /proc/$$/exe)\nexit\n")
    assert "-dash /usr/bin/dash" in result.stdout, result


@pytest.fixture
def listed_shell():
    """A shell of the host that is in no session: /etc/shells says that it is one."""
    path = "/opt/only-here/shell"
    with open("/etc/shells", encoding="ascii") as file:
        before = file.read()
    with open("/etc/shells", "a", encoding="ascii") as file:
        file.write(path + "\n")
    yield path
    with open("/etc/shells", "w", encoding="ascii") as file:
        file.write(before)


def test_a_shell_that_is_not_in_the_session_gives_the_plain_one(listed_shell):
    name = lab.newcomer()
    patch(name, shell=listed_shell)
    with lab.Session(name) as session:
        assert session.says("readlink -f /proc/$$/exe").strip() == lab.command(
            "readlink", "-f", "/bin/sh").stdout.strip()
