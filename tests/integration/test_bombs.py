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
    assert live.status == "timeout_wall"
    lab.eventually(lambda: not lab.procs_of_uid(uid), 1.0)
