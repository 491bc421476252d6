"""Virtual machines that execute commands while they run, and whose power can be cut."""

import fcntl
import hashlib
import os
import selectors
import socket
import subprocess
import tempfile
import time

# ioctl(2) numbers of linux/kvm.h.
KVM_GET_API_VERSION, KVM_CREATE_VM, KVM_API = 0xAE00, 0xAE01, 12
# Seconds beyond those that a script has, until its machine counts as hung.
GRACE_SECONDS = 30
CONSOLE_LINES = 40


class MachineError(Exception):
    """A machine did not execute a command; the message has the command and the last lines of its console."""


def has_virtualisation():
    """Whether this processor and this user can run machines directly."""
    # Where the processor itself is a guest's without these, /dev/kvm may be there for kernels of one kind only.
    with open("/proc/cpuinfo") as file:
        if not {"vmx", "svm"}.intersection(file.read().split()):
            return False
    try:
        with open("/dev/kvm", "r+b", buffering=0) as kvm:
            if fcntl.ioctl(kvm, KVM_GET_API_VERSION) != KVM_API:
                return False
            os.close(fcntl.ioctl(kvm, KVM_CREATE_VM, 0))
            return True
    except OSError:
        return False


def free_port():
    """A TCP port of this host that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Machine:
    """One virtual machine, with a directory that it shares with the host.

    `share` is a directory of the host, /share in the machine. `disk` is a file that is made at the first start and outlives the
    machine; without it, what the machine writes to its own disk is forgotten. `forwards` are pairs of ports, the host's
    (127.0.0.1) and the machine's. `environment` holds settings of the devices (see README.md).
    """

    BOOT_SECONDS = 60 if has_virtualisation() else 180

    def __init__(self, image, share, name="machine", disk=None, memory=1536, processors=2, forwards=(), append="",
                 environment=None):
        self.image, self.share, self.name, self.disk = image, os.path.abspath(share), name, disk
        self.memory, self.processors, self.forwards, self.append = memory, processors, forwards, append
        self.process, self.control, self.pending, self.count = None, None, b"", 0
        self.console = f"{self.share}/console.log"
        os.makedirs(f"{self.share}/scripts", exist_ok=True)
        open(self.console, "wb").close()
        if environment:
            with open(f"{self.share}/machine.env", "w") as file:
                file.writelines(f"{key}='{value}'\n" for key, value in environment.items())

    # Power.

    def start(self, patience=None, clock=None):
        """Switches it on and waits until it listens; the seconds that took.

        `clock` is what its battery-backed clock shows, in seconds since 1970; that of the host without it.
        """
        if self.disk and not os.path.exists(self.disk):
            subprocess.run(["cp", "--sparse=always", "--reflink=auto", self.image.disk, self.disk], check=True)
        began = time.monotonic()
        self.pending = b""
        self.control, its_end = socket.socketpair()
        with its_end, open(f"{self.share}/qemu.log", "ab") as log:
            # However its owner ends, so does the machine. What it writes to a disk that is forgotten is a file, not memory.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.words(its_end.fileno(), clock)],
                env=dict(os.environ, TMPDIR=self.share), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[its_end.fileno()])
        patience = patience or self.BOOT_SECONDS
        answer = self.answer(patience, f"has not booted within {patience} s")
        if not answer.startswith("ready "):
            raise MachineError(f"{self.name} began with '{answer}'")
        return time.monotonic() - began

    def words(self, control, clock):
        """The emulator's command line."""
        direct = has_virtualisation()
        append = ["console=ttyS0", "quiet", "loglevel=4", "panic=1", "mitigations=off", "nokaslr", "audit=0",
                  "selinux=0", "apparmor=0", "nowatchdog", "net.ifnames=0", "random.trust_cpu=on",
                  "systemd.show_status=true", f"systemd.hostname={self.name}",
                  f"systemd.machine_id={hashlib.md5(self.share.encode()).hexdigest()}"]
        if not direct:
            # The emulated processor's counter is the host's clock; its other timers cost more.
            append += ["tsc=reliable", "clocksource=tsc"]
        rtc = "utc" if clock is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(clock))
        network = "user,id=network,ipv6=off" + "".join(
            f",hostfwd=tcp:127.0.0.1:{outside}-:{inside}" for outside, inside in self.forwards)
        disk = (f"file={self.disk},cache=writeback" if self.disk else f"file={self.image.disk},snapshot=on,cache=unsafe")
        return [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "pc,usb=off,vmport=off,hpet=off", "-rtc", f"base={rtc}",
            "-accel", "kvm" if direct else "tcg,thread=multi,tb-size=512", "-cpu", "host" if direct else "max",
            "-smp", str(self.processors), "-m", str(self.memory),
            "-kernel", self.image.kernel, "-initrd", self.image.start, "-append", " ".join([*append, self.append]),
            "-drive", f"{disk},format=raw,if=virtio",
            "-fsdev", f"local,id=share,path={self.share},security_model=none,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
            "-netdev", network, "-device", "virtio-net-pci,netdev=network,romfile=",
            "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=control,fd={control}", "-device", "virtserialport,chardev=control,name=control",
            "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
        ]

    def cut(self):
        """Pulls its plug: the emulator is killed, and what the machine had not written to its disk is gone."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.control.close()
            self.process = None

    def stop(self, patience=60):
        """Lets it write everything and switch itself off."""
        try:
            self.control.sendall(b"off 0\n")
            self.process.wait(patience)
        except (subprocess.TimeoutExpired, OSError):
            raise self.error(f"has not switched itself off within {patience} s") from None
        finally:
            self.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    # Scripts.

    def do(self, script, patience=60, accept=(0,)):
        """Has it run a script as root, in /share; what that said. After `patience` seconds the script is ended."""
        if not self.process:
            raise MachineError(f"{self.name} is switched off")
        self.count += 1
        name, first = f"{self.count:04}", script.strip().splitlines()[0]
        with open(f"{self.share}/scripts/{name}", "w") as file:
            file.write(script + "\n")
        try:
            self.control.sendall(f"{name} {patience}\n".encode())
        except OSError:
            raise self.error("ended by itself") from None
        answer = self.answer(patience + GRACE_SECONDS, f"has not done within {patience} s: {first}")
        if not answer.startswith(f"done {name} "):
            raise MachineError(f"{self.name} answered '{answer}' to {name}")
        status = int(answer.split()[2])
        with open(f"{self.share}/scripts/{name}.log", errors="replace") as file:
            said = file.read()
        if status not in accept:
            reason = f"was ended after {patience} s" if status == 124 else f"status {status}"
            raise MachineError(f"{self.name}: '{first}': {reason}: {said.strip()[-600:]}")
        return said

    def until(self, what, script, is_so, patience=90):
        """Asks again and again until the answer is as it should be; the answer."""
        deadline = time.monotonic() + patience
        while True:
            answer = self.do(script, accept=range(256))
            if is_so(answer):
                return answer
            if time.monotonic() > deadline:
                raise MachineError(f"{self.name}: waited too long until {what}; last: {answer.strip()[-400:]}")
            time.sleep(0.5)

    def answer(self, patience, otherwise):
        """The machine's next line, or an error with the output of its console."""
        deadline = time.monotonic() + patience
        with selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise self.error(otherwise)
                try:
                    received = self.control.recv(4096)
                except OSError:
                    received = b""
                if not received:
                    raise self.error("ended by itself")
                self.pending += received
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace")

    def error(self, what):
        """Ends the machine; the error has the last lines of its console and its emulator."""
        self.cut()
        last = []
        for path in (f"{self.share}/qemu.log", self.console):
            with open(path, errors="replace") as file:
                last += [line.rstrip() for line in file if line.strip()][-CONSOLE_LINES:]
        return MachineError("\n".join([f"{self.name} {what}; its console ({self.console}) ends with", *(last or ["nothing"])]))


class Load:
    """The load of the host, which explains losses of an emulated processor."""

    def __init__(self):
        self.began, self.before = time.monotonic(), self.seconds()

    @staticmethod
    def seconds():
        """Processor seconds of all processes of this host."""
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")

    def of(self, machine):
        """The processor time of a machine and of everything else since then, in one line."""
        elapsed = time.monotonic() - self.began
        with open(f"/proc/{machine.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        others = max(0, self.seconds() - self.before - own)
        return (f"{elapsed:.1f} s, {100 * own / elapsed:.0f} % of a processor, "
                f"others on the host {100 * others / elapsed:.0f} %")
