# SPDX-License-Identifier: ISC
# services.py - labd and lab-service, and which build is installed.
import json
import os
import re
import subprocess
import tempfile
import textwrap
import time

from labtest.support import (BUILD, LAB, LAB_FAILED, Skip, check, expect, expect_equal, lab,
                             lab_output)


def service_program(body):
    """Shell that writes /usr/local/sbin/probe-service: says that it is ready, then does @body."""
    return (f"cat >/usr/local/sbin/probe-service <<'END'\n{SERVICE_HEAD}{textwrap.dedent(body)}END\n"
            "chmod 0755 /usr/local/sbin/probe-service\n")


SERVICE_HEAD = textwrap.dedent("""\
    #!/usr/bin/python3 -IB
    import os, signal, socket, subprocess, sys, time
    def ready():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.connect(os.environ["NOTIFY_SOCKET"])
            notify.send(b"READY=1")
    """)


@check
def pid_1_reaps_orphans_when_the_command_has_ended_too():
    program = service_program("""
        orphan = int(subprocess.check_output(["sh", "-c", "sleep 1 >/dev/null & echo $!"]))
        def stop(signum, frame):
            print("runs" if os.path.exists(f"/proc/{orphan}") else "gone too early", flush=True)
            for _ in range(40):
                if not os.path.exists(f"/proc/{orphan}"):
                    print("reaped", flush=True)
                    sys.exit()
                time.sleep(0.1)
        signal.signal(signal.SIGTERM, stop)
        ready()
        signal.pause()
        """)
    start = "lab-service start sessiond --exec /usr/local/sbin/probe-service"
    done = lab("bash", "-euc", program + start, options=("--no-services", "--logs"))
    said = [line for line in done.stderr.splitlines() if line.startswith("sessiond: ")]
    expect_equal(said, ["sessiond: runs", "sessiond: reaped"], done.stderr)


PROBE_SERVICE = textwrap.dedent("""\
    #!/usr/bin/python3 -IB
    import json, os, socket, sys, time
    fds = sorted(fd for fd in map(int, os.listdir("/proc/self/fd"))
                 if os.path.lexists(f"/proc/self/fd/{fd}"))  # not that of the listing itself
    links = [os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in fds]
    with open("/proc/self/environ") as file:
        env = sorted(file.read().split("\\0"))
    print(json.dumps([sys.argv[1:], env, list(os.getresuid()), os.getgroups(), fds, links]),
          flush=True)
    print(os.environ["LISTEN_PID"] == str(os.getpid()), flush=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.connect(os.environ["NOTIFY_SOCKET"])
        notify.send(b"READY=1")
    listener = socket.socket(fileno=3)
    while True:
        connection, _ = listener.accept()
        connection.send(str(os.getpid()).encode())
        connection.close()
    """)


@check
def a_daemon_gets_its_sockets_and_nothing_else():
    out = lab_output(f"""
        cat >/usr/local/sbin/probe-service <<'END'\n{PROBE_SERVICE}END
        chmod 0755 /usr/local/sbin/probe-service
        lab-service start sessiond-api --exec /usr/local/sbin/probe-service --env A=1 -- x y
        cat /run/lab/sessiond-api.log; id -u atelier""", extra_groups=[4])
    argv, env, uids, groups, fds, links = json.loads(out.splitlines()[0])
    expect_equal(out.splitlines()[1], "True", "LISTEN_PID")
    expect_equal(argv, ["x", "y"], "arguments")
    expect_equal([entry.split("=")[0] for entry in env if entry],
                 ["A", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET", "PATH"], "env")
    expect("LISTEN_FDNAMES=api:admin:pam" in env and "LISTEN_FDS=3" in env, f"{env}")
    expect_equal((uids, groups), ([int(out.splitlines()[2])] * 3, []), "ids")
    expect_equal((fds, links), ([0, 1, 2, 3, 4, 5],
                                ["/dev/null", *["/run/lab/sessiond-api.log"] * 2, *["socket"] * 3]),
                 "descriptors")


@check
def a_service_without_sockets_gets_its_own_arguments_first():
    program = service_program("""
        print(sys.argv[1:], sorted(name for name in os.environ if "LISTEN" in name), flush=True)
        ready()
        signal.pause()
        """)
    out = lab_output(f"""{program}
        lab-service start atelier-sshd --exec /usr/local/sbin/probe-service -- -o X=y
        cat /run/lab/atelier-sshd.log""")
    expect_equal(out, "['-o', 'ListenAddress=127.0.0.1:2222', '-o', 'ListenAddress=198.51.100.1:2222',"
                      " '-o', 'X=y'] []\n", "arguments")


@check
def only_the_started_process_of_a_service_is_ended():
    program = service_program("""
        print(subprocess.Popen(["sleep", "100"]).pid, flush=True)
        ready()
        signal.pause()
        """)
    out = lab_output(f"""{program}
        for verb in stop kill; do
            >/run/lab/sessiond.log
            lab-service start sessiond --exec /usr/local/sbin/probe-service
            main=$(lab-service pid sessiond) child=$(cat /run/lab/sessiond.log)
            lab-service $verb sessiond
            [[ ! -e /proc/$main ]]
            echo $(ps -o ppid=,comm= -p $child)
        done""")
    expect_equal(out.splitlines(), ["1 sleep", "1 sleep"], "children of the ended service")


@check
def sockets_outlive_their_daemon():
    out = lab_output(f"""
        cat >/usr/local/sbin/probe-service <<'END'\n{PROBE_SERVICE}END
        chmod 0755 /usr/local/sbin/probe-service
        ask() {{ /usr/bin/python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("/run/atelier/core.sock")
print(s.recv(99).decode())'; }}
        lab-service start sessiond --exec /usr/local/sbin/probe-service
        [[ $(ask) == $(lab-service pid sessiond) ]]
        lab-service kill sessiond
        lab-service status sessiond || echo $?
        ask >/tmp/answer & sleep 0.5
        [[ ! -s /tmp/answer ]]
        lab-service start sessiond --exec /usr/local/sbin/probe-service
        wait; [[ $(cat /tmp/answer) == $(lab-service pid sessiond) ]]
        lab-service stop sessiond
        lab-service status sessiond || echo $?""")
    expect_equal(out.splitlines(), ["sessiond stopped (signal 9)", "3",
                                    "sessiond stopped (signal 15)", "3"], "status")


@check
def a_daemon_that_dies_before_it_is_ready_is_an_error():
    out = lab_output("""
        lab-service start sessiond --exec /bin/false 2>&1 || echo $?
        lab-service start sessiond --exec /no/such 2>&1 || echo $?""")
    expect_equal(out.splitlines(), [
        "lab-service: sessiond ended before READY=1 (exit 1), see /run/lab/sessiond.log", "1",
        "lab-service: /no/such: no such program", "1"], "errors")


@check
def the_built_services_start():
    if not os.path.exists(f"{BUILD}/Makefile"):
        raise Skip(f"{BUILD} has no Makefile")
    lab("true")  # installs what is built into the stage
    for path in ("sessiond", "sessiond-api", "atelier-sshd-start"):
        if not os.path.exists(f"{BUILD}/stage/usr/lib/atelier/{path}"):
            raise Skip(f"{path} is not among what is built")
    done = lab("sh", "-c", "lab-service status; ss -Hltnp 'sport = 2222'", options=())
    expect(re.match(r"sessiond running pid \d+\nsessiond-api running pid \d+\n"
                    r"atelier-sshd running pid \d+\n", done.stdout), done.stdout + done.stderr)
    # The program that the script became is what labd watches.
    pid = done.stdout.splitlines()[2].split()[-1]
    listeners = [line.split() for line in done.stdout.splitlines()[3:]]
    expect_equal(sorted(words[3] for words in listeners), ["127.0.0.1:2222", "198.51.100.1:2222"],
                 "listeners")
    expect(all(f"sshd\",pid={pid}," in words[5] for words in listeners), done.stdout)


@check
def services_that_are_not_built_fail_the_lab():
    with tempfile.TemporaryDirectory() as directory:
        done = lab("echo", "ran", options=(), env=dict(os.environ, ATELIER_BUILD=directory))
        expect_equal((done.returncode, done.stdout), (LAB_FAILED, ""), "nothing built")
        with open(f"{directory}/Makefile", "w", encoding="utf-8") as file:
            file.write("install:\n\tmkdir -p $(DESTDIR)/usr/sbin\n\tdate +%N >$(DESTDIR)/usr/sbin/x\n")
        done = lab("echo", "ran", options=(), env=dict(os.environ, ATELIER_BUILD=directory))
        expect_equal((done.returncode, done.stdout), (LAB_FAILED, ""), "no sessiond in the build")
        expect("sessiond did not start" in done.stderr, done.stderr)


@check
def the_stage_is_renewed_exactly_when_something_is_newer():
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, ATELIER_BUILD=directory)
        with open(f"{directory}/Makefile", "w", encoding="utf-8") as file:
            # As --libdir=/lib would do on a merged /usr: the link must stay a link.
            file.write("install:\n\tmkdir -p $(DESTDIR)/lib $(DESTDIR)/etc\n"
                       "\tcat input >$(DESTDIR)/lib/stage-test; date +%N >>$(DESTDIR)/lib/stage-test\n")

        def install(text=None):
            if text:
                time.sleep(0.05)
                with open(f"{directory}/input", "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            return lab_output("test -L /lib; cat /lib/stage-test", env=environment).split()

        first = install("one")
        expect_equal(first[0], "one", "installed")
        expect_equal(install(), first, "nothing newer")
        expect_equal(install("two")[0], "two", "newer")
        processes = [subprocess.Popen([LAB, "run", "--no-services", "--", "cat", "/lib/stage-test"],
                                      env=environment, stdout=subprocess.PIPE, text=True,
                                      stdin=subprocess.DEVNULL) for _ in range(3)]
        outputs = {process.communicate(timeout=60)[0] for process in processes}
        expect_equal(len(outputs), 1, f"labs at the same time: {outputs}")
