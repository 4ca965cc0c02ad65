# SPDX-License-Identifier: ISC
# test_disk.py - the user quota of the homes' file system holds a user, and tells of it.
#
# Rows R1, R2, R4. conftest.py gives the homes an ext4 with quota.
import pytest
from disk_programs import FILL, MANY
from guest import inside

MIB = 1 << 20
LIMITS = "user {\n disk = 64M\n disk_files = 300\n}\n"
EDQUOT = 122


@inside
def status():
    return {name: lab.health()[name] for name in ("disk", "disk_required", "disk_what")}


@inside
def run_of(user, code):
    run = lab.python(code, user=user, limits={"wall_ms": 60000})
    begun = run.find("start")
    return (run.end["status"], run.end["message"], run.out.decode(),
            begun and begun[0]["receipt"]["disk"])


@inside
def free_bytes():
    import os
    fs = os.statvfs("/home/atelier")
    return fs.f_bfree * fs.f_frsize


@inside
def policy_put(text):
    def loads():
        return tools.sh("journalctl -q -o cat -u sessiond | grep -cE "
                        "'^network rules (loaded again|changed) '", check=False).stdout
    tools.file_write("/etc/atelier/conf.d/90-disk.conf", text)
    # One that is being started again reads it by itself.
    tools.sh("systemctl start sessiond")
    before = loads()
    tools.sh("systemctl reload sessiond")
    # It is well until it begins to load its rules; a machine that is slow may need a second try, and
    # until that has come to its end nothing starts.
    lab.eventually(lambda: loads() != before and lab.is_well(), 120, every=1)


@pytest.fixture(scope="module")
def quota(guest):
    guest.sh("mkdir -p /etc/atelier/conf.d")
    policy_put(guest, LIMITS)
    yield guest
    guest.sh("rm /etc/atelier/conf.d/90-disk.conf && rm -rf /home/atelier/alice/work/* && "
             "systemctl reload sessiond")


def test_a_user_is_stopped_at_the_limit_and_nobody_else(quota):
    assert status(quota) == {"disk": "quota", "disk_required": True, "disk_what": ""}
    assert run_of(quota, "alice", "print(1)")[0] == "ok"
    before = free_bytes(quota)
    word, message, out, limits = run_of(quota, "alice", FILL)
    assert (word, message) == ("disk", "The program failed, and at its end no room was left in ~/work.")
    written, errno = map(int, out.split())
    assert 60 * MIB < written <= 64 * MIB and errno == EDQUOT
    # The kernel charges blocks that map a file when it is written out, limit or not.
    assert before - free_bytes(quota) <= 65 * MIB
    assert limits == {"mode": "quota", "bytes": 64 * MIB, "files": 300}
    assert "64M of 64M" in quota.said("atelier user show alice")
    # Another user has room, and so has root.
    assert run_of(quota, "ben", "open('x', 'wb').write(bytes(1 << 20))")[0] == "ok"


def test_the_number_of_files_has_a_limit_of_its_own(quota):
    assert run_of(quota, "alice", "import os\nos.path.exists('big') and os.unlink('big')")[0] == "ok"
    word, _, out, _ = run_of(quota, "alice", MANY)
    made, errno = map(int, out.split())
    # Its home, what is in it, and work are of the 300.
    assert word == "disk" and errno == EDQUOT and 280 < made < 300, (word, out)


@pytest.mark.long
def test_a_limit_below_what_is_held_takes_nothing(quota):
    code = "import os\nfor n in os.listdir(): os.unlink(n)\nopen('keep', 'wb').write(bytes(40 << 20))"
    assert run_of(quota, "alice", code)[0] == "ok"
    policy_put(quota, "user { disk = 20M\n disk_files = 300 }\n")
    try:
        word, _, out, limits = run_of(quota, "alice",
                                      "import os\nprint(os.path.getsize('keep'), flush=True)\n"
                                      "open('more', 'wb').write(b'x' * 9999)")
        assert (word, out, limits["bytes"]) == ("disk", f"{40 * MIB}\n", 20 * MIB)
    finally:
        policy_put(quota, LIMITS)
    assert run_of(quota, "alice", "open('more', 'wb').write(b'x' * 9999)")[0] == "ok"


@inside
def enforcement(on):
    # By the call that quotaon(8) makes; that program is not here.
    import ctypes
    import os
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/home/atelier", os.O_RDONLY)
    flags = ctypes.c_uint(2)  # FS_QUOTA_UDQ_ENFD
    cmd = ((ord("X") << 8) + (1 if on else 2)) << 8  # Q_XQUOTAON, Q_XQUOTAOFF; USRQUOTA
    r = libc.syscall(443, fd, cmd, 0, ctypes.byref(flags))
    os.close(fd)
    return r


@pytest.mark.long
def test_limits_that_are_counted_and_not_enforced_are_no_limits(quota):
    # Not auto: without quota that would go on to images.
    policy_put(quota, LIMITS + "disk { backend = quota }\n")
    assert enforcement(quota, False) == 0
    try:
        assert run_of(quota, "alice", "print(1)")[0] == "setup_failed"
        quota.sh("systemctl reload sessiond")
        assert status(quota)["disk"] == "none"
        word, message, *_ = run_of(quota, "alice", "print(1)")
        assert word == "setup_failed" and "the policy requires it" in message, message
        policy_put(quota, "user { disk = 64M }\ndisk { backend = quota\n required = false }\n")
        word, _, _, limits = run_of(quota, "alice", "print(1)")
        assert (word, limits) == ("ok", {"mode": "none", "bytes": None, "files": None})
    finally:
        assert enforcement(quota, True) == 0
        policy_put(quota, LIMITS)
    assert run_of(quota, "alice", "print(1)")[0] == "ok"


@inside
def write_direct():
    run = lab.sh("dd if=/dev/zero of=x bs=1M count=6 oflag=direct; rm -f x", user="alice",
                 limits={"wall_ms": 60000})
    limits = {key: run.receipt["cgroup"][key] for key in ("io_weight", "io_read", "io_write")}
    return run.end["status"], run.end["usage"]["wall_ms"], limits


@pytest.mark.long
def test_what_a_user_reads_and_writes_has_a_rate(quota):
    policy_put(quota, LIMITS.replace("disk =", "io_weight = 300\n io_read = 4M\n io_write = 1M\n disk ="))
    try:
        word, took_ms, limits = write_direct(quota)
        assert word == "ok" and took_ms > 4000, (word, took_ms)
        assert limits == {"io_weight": 300, "io_read": 4 * MIB, "io_write": MIB}
    finally:
        policy_put(quota, LIMITS)
    _, _, limits = write_direct(quota)
    assert (limits["io_read"], limits["io_write"]) == (None, None)


IMAGE = ("disk {{\n backend = image\n idle = {idle}\n}}\n"
         "user {{\n disk = 64M\n disk_files = 1000\n}}\n")


@inside
def image_user():
    import os
    # A slow machine may be busy with its rules for longer than the lock of a new user is lent.
    lab.eventually(lambda: lab.user_add(email="ivy@example.org").status in (200, 201), 60)
    run = lab.python("open('kept', 'w').write('kept')", user="ivy", limits={"wall_ms": 60000})
    uid = lab.uid_of("ivy")
    # In the host's mount namespace, which is not sessiond's.
    apart = os.readlink("/proc/self/ns/mnt") != os.readlink(
        f"/proc/{tools.main_pids()['sessiond.service']}/ns/mnt")
    seen = os.path.exists("/home/atelier/ivy/work/kept")
    return run.end["status"], run.end["message"], run.find("start") and run.receipt["disk"], uid, apart, seen


@inside
def image_gone(uid):
    import os
    def loops():
        return tools.sh(f"losetup -nO NAME -j /var/lib/atelier/disk/{uid}.img").stdout.split()
    lab.eventually(lambda: not loops(), 30)
    return os.path.ismount("/home/atelier/ivy"), os.stat("/home/atelier/ivy").st_uid


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_an_image_gets_out_of_the_units_namespace_to_the_host(quota, killed):
    policy_put(quota, IMAGE.format(idle="1h"))
    try:
        word, message, limits, uid, apart, seen = image_user(quota)
        assert word == "ok", message
        assert apart and limits == {"mode": "image", "bytes": 64 * MIB, "files": 1008}
        assert seen
        # The next sessiond finds what one that was killed has left mounted.
        if killed:
            quota.sh("systemctl kill -s KILL --kill-whom=main sessiond")
        policy_put(quota, IMAGE.format(idle="100ms"))
        assert image_gone(quota, uid) == [False, 0]
        word, _, out, _ = run_of(quota, "ivy", "print(open('kept').read())")
        assert (word, out) == ("ok", "kept\n")
        assert image_gone(quota, uid) == [False, 0]
    finally:
        policy_put(quota, LIMITS)
