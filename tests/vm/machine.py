# SPDX-License-Identifier: ISC
# machine.py - one emulated Debian server: its files, its QEMU, its ssh.
#
# QEMU is the child of a keeper, a process of ours that does nothing but wait: for QEMU, for the end
# of the process that wanted the machine (owner), for the end of its time. When the keeper goes, the
# kernel kills QEMU (PR_SET_PDEATHSIG). So no machine outlives its owner, however that one ends.
import ctypes
import json
import os
import pathlib
import select
import shlex
import shutil
import signal
import socket
import subprocess
import time

MEMORY_MB = 768
LIFETIME_S = 2 * 3600
BOOT_WITHIN_S = 300
SSH_WITHIN_S = 60
QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1

# Set the clock to the host's time, which is sent as late as possible; mix bytes of the host into the
# random numbers and use them at once (RNDRESEEDCRNG): every restored machine would draw the same.
REFRESH = """import fcntl, time
print(flush=True)
now, random = input().split()
time.clock_settime(time.CLOCK_REALTIME, float(now))
with open("/dev/urandom", "wb", 0) as device:
    device.write(bytes.fromhex(random))
    fcntl.ioctl(device, 0x5207)
"""


class Trouble(Exception):
    """What went wrong, for a person."""


class Machine:
    """A machine by its directory; `state` is what a start wrote there."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.file = self.directory / "state.json"

    @property
    def state(self):
        try:
            return json.loads(self.file.read_text())
        except FileNotFoundError:
            raise Trouble(f"no machine {self.directory.name} is there: start it") from None

    # ---- life -------------------------------------------------------------------------------

    def start(self, image, disk, port=0, ssh_port=0, owner=0, restore=True, lifetime_s=LIFETIME_S):
        """Start QEMU on disk (in our directory); ports of this machine: 22 at ssh_port, 2222 at port."""
        (self.directory / "serial.log").unlink(missing_ok=True)
        for attempt in range(5):
            ports = ssh_port or port_free(), port or port_free()
            pid = self._keeper_start(image, disk, ports, owner, restore, lifetime_s)
            if pid:
                break
            if attempt == 4 or (ssh_port and port):
                raise Trouble(f"QEMU does not start:\n{self.log()}")
        self.file.write_text(json.dumps({"pid": pid, "start": start_time(pid), "image": str(image),
                                         "owner": owner,
                                         "ssh": ports[0], "participants": ports[1]}))

    def _keeper_start(self, image, disk, ports, owner, restore, lifetime_s):
        """Fork the keeper; returns the pid of a QEMU that has opened its monitor, or None."""
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(out)
                os.setsid()
                if os.fork() == 0:
                    keep(self.directory, command(image, disk, ports, restore), owner, lifetime_s,
                         into)
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        os.waitpid(child, 0)
        with open(out, "rb") as pipe:
            pid = int(pipe.read() or 0)
        deadline = time.monotonic() + 30
        while pid and time.monotonic() < deadline:
            if start_time(pid) is None:
                return None
            try:
                self.monitor("info version")
                return pid
            except OSError:
                time.sleep(0.05)
        return None

    def is_running(self):
        try:
            state = self.state
        except Trouble:
            return False
        return start_time(state["pid"]) == state["start"]

    def stop(self):
        """End QEMU by its recorded pid. The directory stays, for its logs."""
        if not self.is_running():
            return
        pidfd = os.pidfd_open(self.state["pid"])
        try:
            # Between the look and the open another could have got the pid: look again.
            if not self.is_running():
                return
            for number in (signal.SIGTERM, signal.SIGKILL):
                signal.pidfd_send_signal(pidfd, number)
                if select.select([pidfd], [], [], 10)[0]:
                    return
        finally:
            os.close(pidfd)
        raise Trouble(f"QEMU {self.state['pid']} does not end")

    def remove(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        """What QEMU said, and the end of the console."""
        text = ""
        for name in ("qemu.log", "serial.log"):
            path = self.directory / name
            if path.exists():
                text += path.read_text(errors="replace")[-2000:]
        return text

    # ---- the monitor ------------------------------------------------------------------------

    def monitor(self, line, timeout_s=120):
        """One line for QEMU's monitor; returns its answer."""
        prompt = b"(qemu) "
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(timeout_s)
            # By descriptor: a path may be longer than an address.
            directory = os.open(self.directory, os.O_PATH)
            try:
                link.connect(f"/proc/self/fd/{directory}/monitor")
            finally:
                os.close(directory)
            read_until(link, prompt)
            link.sendall(line.encode() + b"\n")
            answer = read_until(link, prompt)
        return answer[:-len(prompt)].decode(errors="replace").partition("\n")[2].strip()

    # ---- ssh --------------------------------------------------------------------------------

    def ssh_command(self, *command, options=()):
        state = self.state
        image = pathlib.Path(state["image"])
        return ["ssh", "-F", "none", "-i", str(image / "key"), "-o", "BatchMode=yes",
                "-o", "IdentitiesOnly=yes", "-o", "HostKeyAlias=atelier-vm",
                "-o", f"UserKnownHostsFile={image}/known_hosts",
                "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR",
                "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15",
                *options, "-p", str(state["ssh"]), "root@127.0.0.1", *command]

    def ssh(self, *command, timeout_s=SSH_WITHIN_S, **more):
        """Run a command line (joined by spaces, as ssh does) as root; a CompletedProcess."""
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if "input" in more:
            del more["stdin"]
        return subprocess.run(self.ssh_command(*command), timeout=timeout_s, check=False, **more)

    def wait_ready(self, within_s=BOOT_WITHIN_S, not_boot=None):
        """Wait until root can log in and the boot is over; not_boot: id of a boot that is not meant."""
        deadline = time.monotonic() + within_s
        script = "cat /proc/sys/kernel/random/boot_id; systemctl is-system-running --wait"
        said = ""
        while time.monotonic() < deadline:
            if not self.is_running():
                raise Trouble(f"QEMU has ended:\n{self.log()}")
            try:
                done = self.ssh(script, timeout_s=max(1, deadline - time.monotonic()),
                                capture_output=True, text=True)
            except subprocess.TimeoutExpired:
                break
            said = done.stdout + done.stderr
            boot, _, system = done.stdout.partition("\n")
            if boot and boot != not_boot and system.strip() in ("running", "degraded"):
                return boot
            time.sleep(0.3)
        raise Trouble(f"not up within {within_s} s: {said}\n{self.log()}")

    def refresh(self):
        """After a restore: the time of now, and random numbers of its own."""
        deadline = time.monotonic() + SSH_WITHIN_S
        while True:
            with subprocess.Popen(self.ssh_command("python3 -c " + shlex.quote(REFRESH)),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as child:
                ready = child.stdout.readline() if readable(child.stdout, SSH_WITHIN_S) else b""
                now = f"{time.time()!r} {os.urandom(64).hex()}\n" if ready else ""
                try:
                    _, error = child.communicate(now.encode(), timeout=SSH_WITHIN_S)
                except subprocess.TimeoutExpired:
                    child.kill()
                    error = b"no answer"
            if ready and child.returncode == 0:
                return
            if time.monotonic() > deadline or not self.is_running():
                raise Trouble(f"no login after the restore: {error}\n{self.log()}")
            time.sleep(0.1)

    def reboot(self):
        boot = self.ssh("cat /proc/sys/kernel/random/boot_id", capture_output=True, text=True)
        if boot.returncode != 0:
            raise Trouble(f"not reached: {boot.stderr}")
        self.ssh("systemctl reboot", capture_output=True)
        return self.wait_ready(not_boot=boot.stdout.strip())

    def push(self, source):
        """Copy a tree, or a tar of one, onto /, as dpkg would: directories that are there stay."""
        source = pathlib.Path(source)
        unpack = self.ssh_command("tar -x -p -C / --numeric-owner --no-overwrite-dir "
                                  "--keep-directory-symlink -f -")
        if source.is_dir():
            with subprocess.Popen(["tar", "-c", "--numeric-owner", "-C", str(source), "-f", "-", "."],
                                  stdout=subprocess.PIPE) as pack:
                done = subprocess.run(unpack, stdin=pack.stdout, timeout=600, check=False)
                pack.stdout.close()
                code = pack.wait(timeout=10)
            if code != 0:
                raise Trouble(f"tar -c {source}: exit code {code}")
        else:
            with open(source, "rb") as tar:
                done = subprocess.run(unpack, stdin=tar, timeout=600, check=False)
        if done.returncode != 0:
            raise Trouble(f"tar in the machine: exit code {done.returncode}")


def command(image, disk, ports, restore):
    """QEMU's command line. No KVM: it works the same everywhere, and where it is not."""
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:{ours}-:{theirs}"
                       for ours, theirs in zip(ports, (22, 2222)))
    return [QEMU, "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-smp", "1",
            "-m", str(MEMORY_MB), "-nodefaults", "-no-user-config", "-display", "none",
            "-serial", "file:serial.log", "-monitor", "unix:monitor,server=on,wait=off",
            "-kernel", f"{image}/vmlinuz", "-initrd", f"{image}/initrd.img",
            "-append", "console=ttyS0 root=/dev/vda rw mitigations=off quiet",
            "-drive", f"file={disk},if=virtio,format=qcow2,cache=unsafe",
            "-netdev", f"user,id=n0,restrict=on{forwards}",
            "-device", "virtio-net-pci,netdev=n0,romfile=", "-device", "virtio-rng-pci",
            *(["-loadvm", "ready"] if restore else [])]


def keep(directory, argv, owner, lifetime_s, into):
    """The keeper: start QEMU, write its pid to `into`, wait. Does not return."""
    libc = ctypes.CDLL(None)
    keeper = os.getpid()

    def die_with_us():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)

    os.chdir(directory)
    watched = [os.pidfd_open(owner)] if owner else []
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open("qemu.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with subprocess.Popen(argv, stdin=null, stdout=log, stderr=log, preexec_fn=die_with_us) as qemu:
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.write(into, str(qemu.pid).encode())
        os.close(into)
        watched.append(os.pidfd_open(qemu.pid))
        select.select(watched, [], [], lifetime_s)
        qemu.kill()
    os._exit(0)


def start_time(pid):
    """When the process began, in ticks since the boot; None when there is none (or a zombie)."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def readable(stream, within_s):
    return bool(select.select([stream], [], [], within_s)[0])


def port_free():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_until(link, end):
    data = b""
    while not data.endswith(end):
        more = link.recv(65536)
        if not more:
            raise ConnectionError("the monitor hung up")
        data += more
    return data
