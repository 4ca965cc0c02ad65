# SPDX-License-Identifier: ISC
# admin.py - what the tests of the admin's commands share: calls, and looks at the host.
import json
import os

import lab


def refused(code, *args, stdin=""):
    """What a command says that ends with this exit code."""
    result = lab.command("atelier", *args, check=False, input=stdin)
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    return result.stderr


def as_json(*args):
    return json.loads(lab.atelier(*args, "--json").stdout)


def entry(name):
    """The line of NSS, asked in a fresh process, or None."""
    result = lab.command("getent", "passwd", name, check=False)
    return result.stdout.strip() or None


def groups_of(name):
    return set(lab.command("id", "-Gn", name).stdout.split())


def passwd_has(name):
    with open("/etc/passwd", encoding="utf-8") as lines:
        return any(line.startswith(f"{name}:") for line in lines)


def owner(path):
    return os.lstat(path).st_uid


def write(path, text="text"):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
