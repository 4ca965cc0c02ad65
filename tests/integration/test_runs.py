# SPDX-License-Identifier: ISC
# test_runs.py - what goes into a run and what comes out of it.
import json
import os
import random
import shutil
import time

import lab
import pytest

MIB = 1 << 20


def test_the_events_in_order():
    result = lab.run(["/bin/echo", "hello"])
    assert [event["ev"] for event in result.events] == ["accepted", "start", "out", "end"]
    assert [event["seq"] for event in result.events] == [0, 1, 2, 3]
    assert result.events[0]["limits"] == {"wall_ms": 30000, "cpu_ms": None, "out_kb": 1024}
    assert result.end["usage"]["out_bytes"] == 6
    assert result.end["usage"]["rss_peak_kb"] > 0
    assert result.end["usage"]["wall_ms"] >= 0


@pytest.mark.parametrize("code", [0, 1, 2, 42, 126, 127, 128, 137, 255])
def test_exit_codes(code):
    end = lab.sh(f"exit {code}").end
    assert end["status"] == ("exit" if code else "ok")
    assert (end["exit"], end["signal"]) == (code, None)


@pytest.mark.parametrize("name", ["HUP", "INT", "KILL", "SEGV", "TERM", "USR1", "PIPE", "XCPU"])
def test_signals(name):
    end = lab.sh(f"kill -{name} $$; sleep 10").end
    assert (end["status"], end["exit"], end["signal"]) == ("signal", None, name)


def test_abort_is_signal_6():
    end = lab.python("import os; os.abort()").end
    assert (end["status"], end["signal"]) == ("signal", "ABRT")


def test_a_signal_of_a_child_is_the_shells_exit_code():
    assert lab.sh("sh -c 'kill -9 $$'").end["exit"] == 137


def test_the_wall_time_ends_a_run(alice):
    begin = time.monotonic()
    result = lab.sh("echo before; sleep 60 & sleep 60", limits={"wall_ms": 500})
    assert result.status == "timeout_wall"
    assert 0.5 <= time.monotonic() - begin < 3
    assert result.out == b"before\n"
    assert not lab.procs_of_uid(alice)


@pytest.mark.parametrize("script", [
    "kill -STOP $$", "trap '' TERM INT HUP; while :; do :; done", "exec sleep 60 >&- 2>&-",
])
def test_a_run_that_does_not_want_to_end_ends_by_timeout(script, alice):
    assert lab.sh(script, limits={"wall_ms": 500}).status == "timeout_wall"
    assert not lab.procs_of_uid(alice)


def test_stdin_is_empty_by_default():
    assert lab.run(["/usr/bin/wc", "-c"]).out.strip() == b"0"
    assert lab.run(["/usr/bin/wc", "-c"], stdin="").out.strip() == b"0"


def test_stdin_comes_byte_for_byte():
    some = random.Random(4711)
    text = "".join(some.choices("abc \t\n\r\x01\x1b\x7f'\"\\$`äß€\u2028\U0001f600", k=350000))
    data = text.encode()
    assert len(data) > 400000
    result = lab.run(["/bin/cat"], stdin=text, limits={"out_kb": 16384})
    assert result.status == "ok"
    assert result.out == data


def test_stdin_is_a_file_that_can_be_read_again():
    code = "import os; a = os.read(0, 9); os.lseek(0, 0, 0); assert a == os.read(0, 9) == b'abc'"
    assert lab.python(code, stdin="abc").status == "ok"


def test_output_that_is_not_text_survives():
    data = bytes(range(256)) * 4096
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)"
    result = lab.python(code, limits={"out_kb": 4096})
    assert len(data) == MIB
    assert result.out == data
    assert any("b64" in event for event in result.find("out"))


def test_a_nul_travels_as_base64():
    event = lab.python("print('a\\0b')").find("out")[0]
    assert "b64" in event
    assert "d" not in event


def test_characters_are_not_cut_in_two():
    code = ("import os, time\n"
            "for byte in 'ä€\U0001f600x'.encode():\n"
            "    os.write(1, bytes([byte])); time.sleep(0.02)")
    result = lab.python(code)
    assert all("d" in event for event in result.find("out"))
    assert "".join(event["d"] for event in result.find("out")) == "ä€\U0001f600x"
    assert len(result.find("out")) >= 3


def test_half_a_character_at_the_end_arrives():
    result = lab.python("import os; os.write(1, b'x\\xe2\\x82')")
    assert result.out == b"x\xe2\x82"


def test_stdout_and_stderr_are_told_apart():
    result = lab.sh("echo out; echo err >&2")
    assert (result.out, result.err) == (b"out\n", b"err\n")


def test_output_comes_while_the_program_runs():
    live = lab.start(["/bin/sh", "-c", "echo first; sleep 2; echo second"])
    begin = time.monotonic()
    assert live.until("out")["d"] == "first\n"
    assert time.monotonic() - begin < 1.5
    assert live.finish().out == b"first\nsecond\n"


def test_dev_stdout_can_be_opened():
    result = lab.sh("echo one >/dev/stdout; echo two >/dev/stderr; cat /dev/stdin", stdin="three")
    assert (result.status, result.out, result.err) == ("ok", b"one\nthree", b"two\n")


def test_too_much_output_keeps_head_and_tail():
    code = "import sys\nfor i in range(20000): sys.stdout.write(f'{i:09}\\n')\nsys.exit(3)"
    result = lab.python(code, limits={"out_kb": 16})
    full = b"".join(b"%09d\n" % i for i in range(20000))
    assert result.end["exit"] == 3
    note = result.find("note")[0]
    assert (note["code"], note["s"]) == ("truncated", 1)
    assert note["kept"] == len(result.out) <= 16 * 1024
    assert note["kept"] + note["dropped"] == len(full)
    head = b"".join(event["d"].encode() for event in result.events[:result.events.index(note)]
                    if event["ev"] == "out")
    assert full.startswith(head)
    assert len(head) >= 8 * 1024 - 4
    assert full.endswith(result.out[len(head):])
    assert result.end["usage"]["out_bytes"] == len(full)


def test_each_stream_has_its_own_limit():
    code = "import sys; sys.stdout.write('x' * 100000); sys.stderr.write('fine')"
    result = lab.python(code, limits={"out_kb": 1})
    assert result.err == b"fine"
    assert [note["s"] for note in result.find("note")] == [1]


def test_output_at_the_limit_is_not_cut():
    result = lab.python("print('x' * 2047)", limits={"out_kb": 2})
    assert result.out == b"x" * 2047 + b"\n"
    assert not result.find("note")


def test_a_slow_reader_gets_everything():
    live = lab.start([lab.PYTHON, "-c", "import sys; sys.stdout.write('x' * (4 << 20))"],
                     limits={"out_kb": 8192})
    live.until("out")
    time.sleep(1)
    live.finish()
    assert (live.status, len(live.out)) == ("ok", 4 << 20)


def test_a_flood_is_ended():
    end = lab.run(["/usr/bin/yes"], limits={"out_kb": 16}).end
    assert end["status"] == "output_flood"
    assert end["usage"]["out_bytes"] >= 64 * MIB


def test_the_environment_is_built_from_nothing():
    got = lab.python("import json, os; print(json.dumps(dict(os.environ)))").json()
    got.pop("LC_CTYPE", None)  # Python's own (PEP 538)
    assert got == {"HOME": f"{lab.HOMES}/alice", "USER": "alice", "LOGNAME": "alice",
                   "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}


def test_the_callers_variables_are_added():
    env = {"A": "1 2\n'\"$x", "LANG": "C", "_b": "ü", "LD_PRELOAD": ""}
    lines = lab.run(["/usr/bin/env", "-0"], env=env).out.decode().split("\0")
    got = dict(line.split("=", 1) for line in lines if line)
    assert {key: got[key] for key in env} == env
    assert got["HOME"] == f"{lab.HOMES}/alice"


def test_arguments_are_passed_verbatim():
    args = ["", " ", "a b", "'", '"', "\\", "$(id)", "`id`", "*", "-x", "--", "a\nb", "ü€", ";",
            "\t"]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    assert lab.python(code, *args).json() == args


@pytest.mark.parametrize("lang, code", [
    ("python3", "import sys; print('ü', sys.argv[1:], __file__)"),
    ("sh", "echo ü [\"'$1', '$2'\"] \"$0\""),
    ("bash", "[[ a == a ]] && echo ü [\"'$1', '$2'\"] \"$0\""),
])
def test_source_text_is_run(lang, code):
    suffix = {"python3": "py", "sh": "sh", "bash": "bash"}[lang]
    result = lab.Run({"user": "alice", "lang": lang, "code": code, "argv": ["x y", "z"]}).finish()
    wanted = f"ü ['x y', 'z'] {lab.HOMES}/alice/main.{suffix}\n"
    assert (result.status, result.out.decode()) == ("ok", wanted)


def test_source_text_of_node():
    if not shutil.which("node", path="/usr/bin"):
        pytest.skip("no /usr/bin/node on this host")
    body = {"user": "alice", "lang": "node", "code": "console.log(1 + 1)"}
    assert lab.Run(body).finish().out == b"2\n"


@pytest.mark.parametrize("program, code", [
    ("/usr/bin/no-such-program", 127), ("/etc/hosts/x", 127), ("/etc/hosts", 126), ("/usr", 126),
])
def test_a_program_that_cannot_be_started(program, code):
    end = lab.run([program]).end
    assert (end["status"], end["exit"]) == ("exit", code)
    assert end["message"].startswith(f"{program}: ")


def test_a_grandchild_that_holds_stdout_does_not_delay_the_end(alice):
    begin = time.monotonic()
    result = lab.sh("sleep 60 & echo done")
    assert (result.status, result.out) == ("ok", b"done\n")
    assert time.monotonic() - begin < 2
    assert not lab.procs_of_uid(alice)


def test_daemons_of_a_run_end_with_it(alice):
    code = ("import os, time\n"
            "for _ in range(20):\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        if os.fork() == 0: time.sleep(60)\n"
            "        os._exit(0)\n"
            "print(len([p for p in os.listdir('/proc') if p.isdecimal()]))")
    result = lab.python(code)
    assert int(result.out) >= 20
    assert not lab.procs_of_uid(alice)
    assert not lab.run_processes()


def test_orphans_are_reaped_while_the_program_runs():
    code = """
import os, time
def zombies():
    found = 0
    for pid in filter(str.isdecimal, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat') as stat: found += ' Z ' in stat.read()
        except (FileNotFoundError, ProcessLookupError): pass
    return found
for _ in range(100):
    if os.fork() == 0:
        os.fork(); os._exit(0)
for _ in range(100): os.wait()
end = time.monotonic() + 10
while zombies() and time.monotonic() < end: time.sleep(0.01)
print(zombies())
if os.fork() == 0: os._exit(0)
while not zombies(): pass
print(zombies())
"""
    result = lab.python(code)
    assert (result.status, result.out) == ("ok", b"0\n1\n"), result.err


def test_a_half_closed_connection_cancels(alice):
    live = lab.sleeper()
    assert lab.procs_of_uid(alice)
    live.half_close()
    live.finish()
    assert not live.find("end") or live.status == "cancelled"
    lab.eventually(lambda: not lab.procs_of_uid(alice), 1.0)


def test_a_closed_connection_cancels_a_silent_run(alice):
    live = lab.start(["/bin/sleep", "60"])
    live.until("start")
    assert live.quiet_for(0.5)
    assert lab.procs_of_uid(alice)
    live.close()
    lab.eventually(lambda: not lab.procs_of_uid(alice), 1.0)
    lab.eventually(lambda: lab.health()["runs"] == 0, 1.0)


def test_a_reader_that_stopped_reading_can_still_cancel(alice):
    live = lab.start(["/usr/bin/yes"], limits={"out_kb": 16384})
    live.until("out")
    live.close()
    lab.eventually(lambda: not lab.procs_of_uid(alice), 1.0)


def test_cancelled_before_the_start(alice):
    """Close at once, many times: whatever stage it is in, nothing stays."""
    body = json.dumps({"user": "alice", "argv": ["/bin/sleep", "60"]}).encode()
    request = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    for i in range(40):
        with lab.door(lab.CALLER).connect(lab.API) as sock:
            sock.sendall(request)
            time.sleep(i * 0.0005)
    lab.eventually(lambda: not lab.procs_of_uid(alice), 2.0)
    lab.eventually(lambda: not lab.run_processes(), 1.0)
    lab.eventually(lambda: lab.health()["runs"] == 0, 1.0)
    assert lab.run(["/bin/true"]).status == "ok"


def test_a_long_run_is_found_by_ps_and_pgrep(alice):
    live = lab.sleeper(77)
    try:
        pid = str(live.find("start")[0]["pid"])
        assert lab.command("pgrep", "-u", "alice").stdout.split() == [pid]
        assert pid in lab.command("ps", "-u", "alice", "-o", "pid=").stdout.split()
        assert lab.command("ps", "-o", "user=,args=", "-p", pid).stdout.split() == \
            ["alice", "sleep", "77"]
    finally:
        live.close()
    lab.eventually(lambda: lab.command("pgrep", "-u", "alice", check=False).returncode == 1, 1.0)


def test_an_admins_kill_ends_the_run():
    live = lab.sleeper()
    os.kill(live.find("start")[0]["pid"], 9)
    live.finish()
    assert (live.status, live.end["signal"]) == ("signal", "KILL")


def test_the_commands_run_passes_on_output_and_exit_code():
    result = lab.command("atelier", "run", "--user", "alice", "--", "/bin/sh", "-c",
                         "echo out; echo err >&2; exit 7", check=False)
    assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")
