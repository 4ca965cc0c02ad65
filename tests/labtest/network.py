# SPDX-License-Identifier: ISC
# network.py - the addresses of both sides, and who answers on them.
import os
import shutil
import tempfile

from labtest.support import (HOST, LAB_FAILED, TOP, WORLD, check, expect, expect_equal, lab,
                             lab_output)


def addresses(prefix=""):
    """{device: addresses} without the link-local ones that the kernel makes."""
    found = {}
    for line in lab_output(prefix + "ip -o addr show").splitlines():
        _, device, _, address = line.split()[:4]
        if not address.startswith("fe80:"):
            found.setdefault(device, set()).add(address)
    return found


@check
def the_host_has_the_addresses_and_no_other_interface():
    expect_equal(addresses(), {
        "lo": {"127.0.0.1/8", "::1/128", "203.0.113.5/32"},
        "lab0": {"198.51.100.1/24", "10.9.0.1/24", "2001:db8:1::1/64", "fd00:9::1/64"}}, "host")
    expect_equal(set(lab_output("ls /sys/class/net").split()), {"lo", "lab0"}, "interfaces")


@check
def the_world_has_the_addresses_and_no_other_interface():
    world = addresses("nsenter --net=/proc/$ATELIER_WORLD_PID/ns/net -- ")
    expect_equal(world, {
        "lo": {"127.0.0.1/8", "::1/128"},
        "world0": {"198.51.100.2/24", "10.9.0.2/24", "172.16.9.2/32", "192.168.9.2/32",
                   "169.254.169.254/32", "100.64.0.1/32", "2001:db8:1::2/64", "fd00:9::2/64"}},
                 "world")


@check
def every_address_answers_root_on_the_host():
    wanted = [f"{protocol} {side} {address}" for side, table in (("host", HOST), ("world", WORLD))
              for address in table for protocol in ("tcp", "udp")]
    script = "\n".join(f"echo {protocol} $(lab-probe {protocol} {address})"
                       for protocol, _, address in map(str.split, wanted))
    expect_equal(sorted(lab_output(script).splitlines()), sorted(wanted), "answers")


@check
def every_public_address_of_the_host_answers_the_world():
    wanted = [f"{protocol} host {address}" for address in HOST - {"127.0.0.1", "::1"}
              for protocol in ("tcp", "udp")]
    script = "\n".join("echo %s $(nsenter --net=/proc/$ATELIER_WORLD_PID/ns/net -- lab-probe %s %s)"
                       % (protocol, protocol, address)
                       for protocol, _, address in map(str.split, wanted))
    expect_equal(sorted(lab_output(script).splitlines()), sorted(wanted), "answers")


@check
def other_addresses_and_ports_do_not_answer():
    out = lab_output("""
        for target in 'tcp 198.51.100.77 0.5' 'tcp 198.51.100.2 0.5 7779' 'udp 127.0.0.2 0.5'; do
            lab-probe $target 2>&1 && echo "answered: $target"
        done; true""")
    expect_equal(out.splitlines(), ["tcp 198.51.100.77: ETIMEDOUT", "tcp 198.51.100.2: ECONNREFUSED",
                                    "udp 127.0.0.2: ECONNREFUSED"], "answers")


@check
def an_address_that_does_not_answer_fails_the_lab():
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(f"{TOP}/tests", f"{directory}/tests")
        lib = f"{directory}/tests/lablib"
        environment = dict(os.environ)
        environment.pop("ATELIER_BUILD", None)

        def run():
            return lab("echo", "ran", program=f"{directory}/tests/lab", env=environment)

        def edit(name, old, new):
            with open(f"{lib}/{name}", encoding="utf-8") as file:
                text = file.read()
            expect(old in text, f"{name} has no {old!r}")
            with open(f"{lib}/{name}", "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))

        edit("network.py", "REACHABLE_WITHIN_S = 10", "REACHABLE_WITHIN_S = 2")
        expect_equal(run().stdout, "ran\n", "positive control")
        edit("answer.py", "for address in addresses:",
             "for address in set(addresses) - {'169.254.169.254'}:")
        done = run()
        expect_equal((done.returncode, done.stdout), (LAB_FAILED, ""), "with a dead answerer")
        expect("169.254.169.254" in done.stderr and "reach" in done.stderr, done.stderr)
