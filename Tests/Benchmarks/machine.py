"""Processes and what they cost, as the kernel counts it."""

import hashlib
import os
import shutil
import signal
import subprocess
import time

LONGEST_RUN = 240  # seconds after which a process is taken to hang


class Process:
    """A child whose CPU time can be read at any moment, to the nanosecond, ended threads included."""

    def __init__(self, command, environment=None, output=subprocess.DEVNULL, errors=None, input=subprocess.DEVNULL):
        self.command = [str(word) for word in command]
        self.child = subprocess.Popen(
            self.command, stdin=input, stdout=output, stderr=errors,
            env={**os.environ, **(environment or {})})
        self.peak_bytes = 0
        self.usage = None
        self.status = None

    def cpu(self):
        """User and system seconds so far."""
        self.poll()
        if self.usage:
            return self.usage.ru_utime + self.usage.ru_stime
        # The kernel's number for "the CPU clock of that process" (CPUCLOCK_SCHED, see clock_getcpuclockid(3)).
        return time.clock_gettime(~self.child.pid << 3 | 2)

    def poll(self):
        """Records the peak of memory and the end; returns whether it still runs."""
        if self.usage:
            return False
        try:
            with open(f"/proc/{self.child.pid}/status") as lines:
                for line in lines:
                    # Not ru_maxrss, which counts the Python that this child was forked from.
                    if line.startswith("VmHWM:"):
                        self.peak_bytes = int(line.split()[1]) * 1024
        except ProcessLookupError:
            pass
        pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
        if pid:
            self.usage, self.status = usage, os.waitstatus_to_exitcode(status)
            self.child.returncode = self.status
        return self.usage is None

    def stop(self, how=signal.SIGTERM):
        if self.poll():
            os.kill(self.child.pid, how)


class Processes:
    """Several of them counted as one."""

    def __init__(self, members):
        self.members = list(members)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
        self.wait(10)

    def cpu(self):
        return sum(member.cpu() for member in self.members)

    def peak_bytes(self):
        return sum(member.peak_bytes for member in self.members)

    def failures(self):
        return [member for member in self.members if member.status]

    def poll(self):
        """The number that still run."""
        return sum(member.poll() for member in self.members)

    def stop(self, how=signal.SIGTERM):
        for member in self.members:
            member.stop(how)

    def wait(self, seconds=LONGEST_RUN):
        """Whether all have ended in time."""
        deadline = time.monotonic() + seconds
        while self.poll():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def wait_for_ports(ports, alive, seconds=30):
    """Returns when all of them listen on this machine. Looks instead of connecting: some take one connection only."""
    wanted = {f"{port:04X}" for port in ports}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        listening = set()
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table) as lines:
                for line in list(lines)[1:]:
                    words = line.split()
                    if words[3] == "0A":
                        listening.add(words[1].rsplit(":", 1)[1])
        if wanted <= listening:
            return
        if not alive():
            raise RuntimeError("a receiver ended before it listened")
        time.sleep(0.02)
    raise RuntimeError(f"nobody listens on {len(wanted - listening)} of {len(wanted)} ports")


def empty_directory(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)


def warm_pages(size, directory):
    """Has the kernel fetch memory for the page cache.

    A virtual machine that gave memory back to its host pays many times over for the first write to each page, and
    the first contender to write would pay for all.
    """
    path, block = os.path.join(directory, "pages"), bytes(1 << 20)
    with open(path, "wb", buffering=0) as file:
        for _ in range((size >> 20) + 64):
            file.write(block)
    os.unlink(path)


def read_into_cache(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def calibration():
    """CPU seconds of a fixed piece of work: how fast a core is at this moment."""
    data, start = bytes(1 << 24), time.process_time()
    for _ in range(4):
        hashlib.sha256(data).digest()
    return time.process_time() - start


def busy_share():
    """The used share of the machine, 0 … 1, over one second."""
    before = processor_ticks()
    time.sleep(1)
    used, total = (after - earlier for after, earlier in zip(processor_ticks(), before))
    return used / max(1, total)


def processor_ticks():
    """Ticks in use, and all, of all processors since boot."""
    with open("/proc/stat") as lines:
        ticks = [int(word) for word in lines.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def wait_until_idle(share=0.1, patience=120):
    """Returns the used share of the machine when it is idle, or after that many seconds."""
    deadline = time.monotonic() + patience
    while (busy := busy_share()) > share and time.monotonic() < deadline:
        time.sleep(2)
    return busy
