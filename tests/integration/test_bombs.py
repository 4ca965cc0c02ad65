# SPDX-License-Identifier: ISC
# test_bombs.py - without control groups: a participant who takes all the processes there are.
#
# Not beside the others: the kernel counts the processes of a uid in all labs together.
import lab


def test_a_fork_bomb_ends_with_its_run():
    uid = lab.api("POST", "/v1/users", {"email": "ben@example.org"}).body["uid"]
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    live = lab.start([lab.PYTHON, "-c", code], user="ben", limits={"wall_ms": 1500})
    live.until("start")
    assert lab.run(["/bin/true"], user="carol").status == "ok"
    live.finish()
    assert live.status == "pids"
    lab.eventually(lambda: not lab.procs_of_uid(uid), 1.0)


def test_a_memory_bomb_in_a_session_ends_a_process_and_the_session_lives():
    """sessiond sees it: no control group does."""
    bomb = "taken = [bytearray(8 << 20) for _ in range(256)]; import time; time.sleep(20)"
    fine = "taken = [bytearray(8 << 20) for _ in range(90)]; import time; time.sleep(0.3)"
    with lab.Session("dora") as live:
        assert live.facts()["watch"] == {"memory_max": 1024 << 20, "pids_max": None}
        assert live.says(f"{lab.PYTHON} -I -c '{fine}'; echo $?") == "0\n"
        assert live.says(f"{lab.PYTHON} -I -c '{bomb}'; echo $?") == "137\n"
        assert live.says("echo alive") == "alive\n"


def test_memory_hides_behind_no_number_of_processes():
    """More of them than a group would allow a session, and the one that takes memory comes last."""
    hidden = """
import os, time
for _ in range(300):
    if os.fork() == 0: os.execv("/bin/sleep", ["sleep", "20"])
if os.fork() == 0:
    taken = [bytearray(8 << 20) for _ in range(%d)]
    time.sleep(%s)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    with lab.Session("dora") as live:
        assert live.says(f"{lab.PYTHON} -I -c '{hidden % (90, 0.3)}'; kill -9 $(pidof sleep)") == "0\n"
        assert live.says(f"{lab.PYTHON} -I -c '{hidden % (192, 5)}'; kill -9 $(pidof sleep)") == "-9\n"
