# SPDX-License-Identifier: ISC
# test_transfer.py - files through ssh, sftp, scp, rsync and git; and which forwardings are refused.
import contextlib
import filecmp
import os
import shlex
import shutil
import socket
import struct
import subprocess
import time

import lab
import pytest
import test_network as runs

SIZES = {"empty": 0, "one": 1, "odd": 65537, "big": 5 << 20}
HOME = f"{lab.HOMES}/alice"


@pytest.fixture(scope="module")
def inside():
    with lab.Session("alice") as session:
        yield session


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A directory with random files: their sizes are what protocols get wrong."""
    path = tmp_path_factory.mktemp("source")
    for name, size in SIZES.items():
        (path / name).write_bytes(os.urandom(size))
    os.chmod(path / "odd", 0o750)
    os.utime(path / "odd", (1e9, 1e9))
    return path


@pytest.fixture
def place(inside):
    """A directory in alice's home, by its name below it; gone afterwards."""
    name = f"transfer-{next(lab.Session.count)}"
    inside.says(f"mkdir ~/{name}")
    yield name
    inside.says(f"rm -rf ~/{name}")


def same(one, two):
    match, mismatch, errors = filecmp.cmpfiles(one, two, SIZES, shallow=False)
    return not mismatch and not errors and len(match) == len(SIZES)


def is_quiet(result):
    """Nothing on either stream but what the program was asked for, which here is nothing."""
    return (result.returncode, result.stdout, result.stderr) == (0, "", "")


# ---- files

@pytest.mark.parametrize("name", SIZES)
def test_bytes_pass_through_a_command(place, source, name):
    data = (source / name).read_bytes()
    path = shlex.quote(f"{place}/{name}")
    result = lab.ssh("alice", lab.code_of("alice"), f"tee {path}", input=data, text=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == data
    result = lab.ssh("alice", lab.code_of("alice"), f"cat {path}", text=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == data


def test_sftp_puts_and_gets(place, source, tmp_path):
    batch = tmp_path / "batch"
    batch.write_text("".join(f"put {source}/{name} {place}/{name}\n"
                             f"get {place}/{name} {tmp_path}/{name}\n" for name in SIZES),
                     encoding="ascii")
    result = lab.with_code(lab.code_of("alice"), lab.sftp_argv("alice", str(batch)))
    assert (result.returncode, result.stderr) == (0, "")
    assert {line.split()[0] for line in result.stdout.splitlines()} <= {"sftp>"}  # its own echo
    assert same(source, f"{HOME}/{place}")
    assert same(source, tmp_path)


@pytest.mark.parametrize("flags", [(), ("-O",)], ids=["sftp", "original"])
def test_scp_copies_both_ways(place, source, tmp_path, flags):
    files = [f"{source}/{name}" for name in SIZES]
    up = lab.scp_argv(*files, f"alice@127.0.0.1:{place}", flags=("-p", *flags))
    assert is_quiet(lab.with_code(lab.code_of("alice"), up))
    assert same(source, f"{HOME}/{place}")
    down = lab.scp_argv(f"alice@127.0.0.1:{place}", str(tmp_path), flags=("-p", "-r", *flags))
    assert is_quiet(lab.with_code(lab.code_of("alice"), down))
    assert same(source, tmp_path / place)
    for path in (f"{HOME}/{place}/odd", tmp_path / place / "odd"):
        assert (os.stat(path).st_mode & 0o777, os.stat(path).st_mtime) == (0o750, 1e9)


def test_rsync_mirrors_both_ways(place, source, tmp_path):
    there = f"alice@127.0.0.1:{place}/"

    def rsync(*paths, flags=("-a",)):
        argv = lab.rsync_argv(*paths, flags=flags)
        return lab.with_code(lab.code_of("alice"), argv)

    assert is_quiet(rsync(f"{source}/", there))
    assert same(source, f"{HOME}/{place}")
    assert is_quiet(rsync(there, f"{tmp_path}/"))
    assert same(source, tmp_path)
    # By checksum nothing is left to do, in either direction; the owner is another here and there.
    check = ("-a", "--checksum", "--dry-run", "--itemize-changes", "--omit-dir-times",
             "--no-owner", "--no-group")
    assert is_quiet(rsync(f"{source}/", there, flags=check))
    assert is_quiet(rsync(there, f"{source}/", flags=check))
    # Positive control: one changed byte is seen, and nothing else.
    with open(f"{tmp_path}/big", "r+b") as file:
        byte = file.read(1)
        file.seek(0)
        file.write(bytes([byte[0] ^ 1]))
    assert rsync(f"{tmp_path}/", there, flags=check).stdout.split()[1::2] == ["big"]


def test_git_clones_and_pushes(inside, place, source, tmp_path):
    if not shutil.which("git"):
        pytest.skip("git is not installed on this machine")
    inside.says(f"git init -q --bare ~/{place}/repo.git")
    shutil.copytree(source, tmp_path / "one")
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
                   "GIT_SSH_COMMAND": shlex.join(["ssh", *lab.ssh_options(), "-p", "2222"])}

    def git(*args, cwd=tmp_path / "one"):
        more = {**lab.ssh_environment(lab.code_of("alice")), **environment}
        result = subprocess.run(["git", "-c", "user.name=lab", "-c", "user.email=lab@example.org",
                                 "-c", "init.defaultBranch=main", *args], cwd=cwd, check=False,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=120, env=more)
        assert result.returncode == 0, (args, result)
        return result

    url = f"alice@127.0.0.1:{place}/repo.git"
    for args in (("init", "-q"), ("add", "."), ("commit", "-qm", "first"),
                 ("push", "-q", url, "HEAD:refs/heads/main")):
        git(*args)
    result = git("clone", "-q", "-b", "main", url, "two", cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("", "")
    assert same(source, tmp_path / "two")
    git("fsck", "--strict", cwd=tmp_path / "two")
    inside.says(f"git -C ~/{place}/repo.git fsck --strict")


def test_a_message_of_the_day_does_not_get_into_the_data(inside, source, tmp_path):
    """A .bashrc that speaks breaks scp -O everywhere; what the host says must not."""
    for path in ("/etc/motd", "/etc/issue.net"):
        with open(path, "a", encoding="ascii") as file:
            file.write("NOISE\n")
    result = lab.ssh("alice", lab.code_of("alice"), "true")
    assert is_quiet(result)
    argv = lab.scp_argv("alice@127.0.0.1:.profile", str(tmp_path), flags=("-O",))
    assert is_quiet(lab.with_code(lab.code_of("alice"), argv))
    assert (tmp_path / ".profile").read_text(encoding="utf-8") == inside.says("cat ~/.profile")
    shell = lab.ssh_shell("alice", lab.code_of("alice"), timeout=60)
    assert "NOISE" not in shell.before
    shell.close(force=True)


# ---- one connection, several channels

def test_channels_of_a_connection_share_a_session(inside):
    assert inside.facts()["user"] == "alice"  # the api knows it
    before = {each["id"] for each in lab.sessions("alice")}
    assert inside.id in before
    ids = {inside.says("printenv ATELIER_SESSION").strip() for _ in range(3)}
    assert ids == {inside.id}
    inside.says("echo shared >/tmp/channel")
    with inside.popen("echo up; exec sleep 60") as other:
        assert other.stdout.readline() == "up\n"
        assert inside.says("cat /tmp/channel; pkill -x sleep && echo ended") == "shared\nended\n"
    assert {each["id"] for each in lab.sessions("alice")} == before
    with lab.Session("alice") as another:  # positive control: a connection of its own has its own
        assert another.id not in before
        assert another.ssh("cat /tmp/channel").returncode != 0


# ---- forwarding of connections

def is_answer(text):
    return text.startswith(("world ", "host "))


def hear(port, path=None):
    """What comes through a local forwarding, to its end."""
    with socket.socket(socket.AF_UNIX if path else socket.AF_INET) as sock:
        sock.settimeout(30)
        sock.connect(path or ("127.0.0.1", port))
        with contextlib.suppress(ConnectionResetError):
            return sock.recv(100).decode()
        return ""


def bracketed(address):
    return f"[{address}]" if ":" in address else address


def forward(session, *flags, check=True):
    """A further forwarding of a session, asked for over its control socket."""
    result = session.ssh(flags=("-O", "forward", *flags))
    assert not check or result.returncode == 0, result
    return result


LOCAL_PORT = 7200


def local_port():
    return LOCAL_PORT + next(lab.Session.count)


@pytest.mark.parametrize("address", runs.REFUSED)
def test_a_forwarding_does_not_lead_to(inside, address):
    port = local_port()
    forward(inside, "-L", f"127.0.0.1:{port}:{bracketed(address)}:{runs.TCP}")
    assert hear(port) == ""
    assert lab.command("lab-probe", "tcp", address, check=False).returncode == 0 or \
        address in runs.NOT_ANSWERED  # positive control: root is answered there


@pytest.mark.parametrize("address", runs.ALLOWED)
def test_a_forwarding_leads_to_the_internet(inside, address):
    port = local_port()
    forward(inside, "-L", f"127.0.0.1:{port}:{bracketed(address)}:{runs.TCP}")
    assert hear(port) == f"world {address}\n"


def test_a_forwarding_to_a_name_of_the_host_leads_nowhere(inside):
    for name in ("localhost", "lab", "localhost.localdomain"):
        port = local_port()
        forward(inside, "-L", f"127.0.0.1:{port}:{name}:{runs.TCP}")
        assert hear(port) == "", name


def socks_says(port, address):
    """SOCKS 5 (RFC 1928) without authentication: what comes from the address."""
    is_v6 = ":" in address
    packed = socket.inet_pton(socket.AF_INET6 if is_v6 else socket.AF_INET, address)
    with socket.create_connection(("127.0.0.1", port), 30) as sock, sock.makefile("rb") as stream:
        sock.sendall(b"\5\1\0")
        assert stream.read(2) == b"\5\0"
        sock.sendall(bytes([5, 1, 0, 4 if is_v6 else 1]) + packed + struct.pack(">H", runs.TCP))
        with contextlib.suppress(ConnectionResetError):
            head = stream.read(4)
            if len(head) == 4 and head[1] == 0:
                stream.read({1: 4, 4: 16}[head[3]] + 2)
                return stream.read().decode()
        return ""


def test_a_dynamic_forwarding_leads_to_the_internet_only(inside):
    port = local_port()
    forward(inside, "-D", f"127.0.0.1:{port}")
    got = {address: socks_says(port, address) for address in runs.REFUSED + runs.ALLOWED}
    assert got == {**dict.fromkeys(runs.REFUSED, ""),
                   **{address: f"world {address}\n" for address in runs.ALLOWED}}


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "198.51.100.1", "10.9.0.2",
                                     "169.254.169.254", "198.51.100.2", "2001:db8:1::2"])
def test_standard_streams_are_forwarded_to_the_internet_only(address):
    target = f"{bracketed(address)}:{runs.TCP}"
    result = lab.ssh("alice", lab.code_of("alice"), flags=("-W", target))
    if address in runs.ALLOWED:
        assert (result.returncode, result.stdout) == (0, f"world {address}\n")
    else:
        assert result.returncode != 0
        assert result.stdout == ""


def remote_forward(*flags):
    """A login that asks for a forwarding from there, and has to get it."""
    return lab.ssh("alice", lab.code_of("alice"), "echo in", flags=flags,
                   options=("ExitOnForwardFailure=yes",))


@pytest.mark.parametrize("bind", ["", "127.0.0.1:", "198.51.100.1:", "[::1]:", "*:"])
def test_nothing_is_forwarded_from_there(bind):
    result = remote_forward("-R", f"{bind}7301:198.51.100.2:{runs.TCP}")
    assert (result.returncode, result.stdout) == (255, "")
    assert "remote port forwarding failed" in result.stderr


def test_the_client_could_have_forwarded_from_there():
    """Positive control. And even then the rules keep everybody from the port."""
    with lab.sshd_with("AllowTcpForwarding=yes"):
        with lab.login("alice", flags=("-R", "127.0.0.1:7302:198.51.100.2:7777"),
                       options=("ExitOnForwardFailure=yes",)):
            probe = lab.command("ss", "-Htln", "sport = :7302").stdout
            assert "127.0.0.1:7302" in probe
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", 7302), 5).close()


# ---- forwarding of sockets in files

@pytest.fixture
def host_socket():
    """A listener of the host's that everybody may reach: path, and one that answers."""
    path = "/run/lab/answers"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    code = ("import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666)\n"
            "s.listen(); print('up', flush=True)\n"
            "while True:\n"
            "    with s.accept()[0] as c: c.sendall(b'host secret')")
    child = subprocess.Popen([lab.PYTHON, "-I", "-c", code, path], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    yield path
    child.kill()
    child.communicate()
    os.unlink(path)


ANSWER = """
import socket
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('up')
while True:
    with s.accept()[0] as c: c.sendall(b'session says')
"""


def test_socket_files_are_not_forwarded(inside, host_socket):
    with inside.server(ANSWER, "/tmp/answers"):
        for target in ("/tmp/answers", host_socket, "/run/atelier/api.sock", "/run/host/log"):
            path = f"/run/lab/forward.{next(lab.Session.count)}"
            forward(inside, "-L", f"{path}:{target}")
            assert hear(0, path) == "", target
    result = remote_forward("-R", "/tmp/back:198.51.100.2:7777")
    assert (result.returncode, result.stdout) == (255, "")


def test_allowed_socket_files_would_be_those_of_the_session(host_socket):
    """Positive control of the client. And even then no path of the host leads anywhere."""
    assert hear(0, host_socket) == "host secret"
    # From there it needs both.
    with lab.sshd_with("AllowStreamLocalForwarding=yes", "AllowTcpForwarding=yes"), \
            lab.Session("alice") as session:
        paths = {}
        with session.server(ANSWER, "/tmp/answers"):
            for target in ("/tmp/answers", host_socket, "/run/atelier/api.sock",
                           "/run/atelier/session.sock", "/run/host/log", "/proc/1/root/run/lab"):
                paths[target] = f"/run/lab/forward.{next(lab.Session.count)}"
                forward(session, "-L", f"{paths[target]}:{target}")
            got = {target: hear(0, path) for target, path in paths.items()}
        assert got.pop("/tmp/answers") == "session says"
        assert set(got.values()) == {""}
        forward(session, "-R", f"/tmp/back:198.51.100.2:{runs.TCP}")
        assert session.says("stat -c %U:%F /tmp/back") == "alice:socket\n"
        assert not os.path.exists("/tmp/back")
        assert forward(session, "-R", "/run/atelier/x:198.51.100.2:7777",
                       check=False).returncode != 0


# ---- the others

@pytest.fixture
def agent():
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/run/lab/agent")
    child = subprocess.Popen(["ssh-agent", "-D", "-a", "/run/lab/agent"], stdout=subprocess.DEVNULL)
    lab.eventually(lambda: os.path.exists("/run/lab/agent"))
    yield {"SSH_AUTH_SOCK": "/run/lab/agent"}
    child.kill()
    child.wait()


def ssh_with(environment, command, *flags):
    return subprocess.run(lab.ssh_argv("alice", command, flags=flags), check=False, text=True,
                          env={**lab.ssh_environment(lab.code_of("alice")), **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def test_no_agent_is_forwarded(agent):
    command = "echo in $SSH_AUTH_SOCK; ssh-add -l"
    assert ssh_with(agent, command, "-A").stdout == "in\n"
    with lab.sshd_with("AllowAgentForwarding=yes"):  # positive control
        result = ssh_with(agent, command, "-A")
    assert result.stdout.splitlines()[0].startswith("in /tmp/ssh-")
    assert "no identities" in result.stdout


def test_no_display_is_forwarded():
    display = {"DISPLAY": "127.0.0.1:7"}
    assert ssh_with(display, "echo in $DISPLAY", "-Y").stdout == "in\n"
    # Positive control: any program that is there will do for one that keeps cookies.
    with lab.sshd_with("X11Forwarding=yes", "XAuthLocation=/bin/true"):
        assert ssh_with(display, "echo in $DISPLAY", "-Y").stdout == "in localhost:10.0\n"


def test_no_tunnel_is_made(tmp_path):
    """The client makes its own end first; the lab's kernel has the device or it has not."""
    if not os.path.exists("/dev/net/tun"):
        os.makedirs("/dev/net", exist_ok=True)
        os.mknod("/dev/net/tun", 0o20600, os.makedev(10, 200))
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"this kernel has no tunnel device: {error.strerror}")

    def tunnel():
        log = tmp_path / f"log.{time.monotonic_ns()}"
        lab.ssh("alice", lab.code_of("alice"), "sleep 1; echo in", flags=("-w", "any:any", "-v",
                                                                          "-E", str(log)))
        return log.read_text(encoding="utf-8")

    refused = "Server has rejected tunnel device forwarding"
    assert refused in tunnel()
    # Positive control: where sshd allows it, it fails for another reason, a session has no device.
    with lab.sshd_with("PermitTunnel=yes"):
        text = tunnel()
    assert refused not in text
    assert "Remote: Failed to open the tunnel device" in text
