"""Measures the receiving side: N sources to N recordings."""

import glob
import os
import signal
import subprocess
import time

import machine
from contenders import Load

WINDOW_SECONDS = 15
BYTES_UNPACED = 1_000_000_000


def settle_seconds(sources):
    """Start-up, and the time that many senders take to find their pace."""
    return 4 + sources // 8


def paced(place, contender, sources, null):
    """CPU seconds per stream-minute at real-time pace, over a window in the middle; peak of memory."""
    load = Load(sources, settle_seconds(sources) + WINDOW_SECONDS + 2, paced=True, null=null)
    with Run(place, contender, load, null) as run:
        time.sleep(settle_seconds(sources))
        cpu, instant = run.receivers.cpu(), time.monotonic()
        time.sleep(WINDOW_SECONDS)
        cpu, minutes = run.receivers.cpu() - cpu, (time.monotonic() - instant) / 60
        run.finish()
        return {
            "cpu_per_stream_minute": cpu / minutes / sources,
            "peak_bytes": run.receivers.peak_bytes(), **run.outcome()}


def unpaced(place, contender, sources, null):
    """CPU seconds per GB as fast as the receiver takes it, from "listening" to "everything is acknowledged"."""
    rate = place.clip_bytes_per_second()
    seconds = max(1, round(BYTES_UNPACED / rate / sources))
    load = Load(sources, seconds, paced=False, null=null)
    with Run(place, contender, load, null) as run:
        run.senders.wait()
        cpu = run.receivers.cpu() - run.startup_cpu
        elapsed = time.monotonic() - run.start
        run.finish()
        gigabytes = rate * seconds * sources / 1e9
        return {
            "cpu_per_gigabyte": cpu / gigabytes, "gigabytes_per_second": gigabytes / elapsed,
            "peak_bytes": run.receivers.peak_bytes(), **run.outcome()}


class Run:
    """One receiver with its senders, from start to end."""

    def __init__(self, place, contender, load, null):
        self.place, self.contender, self.load, self.null = place, contender, load, null
        self.errors = open(f"{place.root}/errors.log", "w+")
        self.prepare_output()
        environment = contender.environment | (contender.null_environment(place) if null else {})
        self.receivers = machine.Processes(
            machine.Process(command, environment, errors=self.errors)
            for command in contender.receive(place, load))
        self.senders = machine.Processes([])

    def prepare_output(self):
        machine.empty_directory(self.place.output)
        machine.read_into_cache(self.place.clip)
        if not self.null:
            size = self.place.clip_bytes_per_second() * self.load.seconds * self.load.sources
            machine.warm_pages(int(size * 1.1), self.place.root)
        elif self.contender.suffix:
            for i in range(self.load.sources):
                os.symlink("/dev/null", f"{self.place.output}/s{i}.{self.contender.suffix}")

    def __enter__(self):
        try:
            machine.wait_for_ports(
                self.contender.ports(self.load.sources),
                alive=lambda: self.receivers.poll() == len(self.receivers.members))
            self.startup_cpu, self.start = self.receivers.cpu(), time.monotonic()
            self.senders.members = [
                machine.Process(command, errors=self.errors)
                for command in self.contender.send(self.place, self.load)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for processes in (self.senders, self.receivers):
            processes.stop(signal.SIGKILL)
            processes.wait(10)
        self.errors.close()

    def finish(self):
        """Lets the senders end, then the receiver; what cannot end (its files are /dev/null) is made to."""
        self.senders.wait()
        patience = 1 if self.null and not self.contender.suffix else 20
        if not self.contender.ends_by_itself:
            time.sleep(0.5)
            self.receivers.stop()
        self.receivers.wait(patience)

    def outcome(self):
        """Whether the run counts."""
        flaws = [f"sender {sender.status}" for sender in self.senders.failures()]
        if not self.null:
            if self.receivers.poll():
                flaws.append("receiver did not end")
            flaws += [f"receiver {receiver.status}" for receiver in self.receivers.failures()]
            flaws += self.unreadable()
        if flaws:
            self.errors.seek(0)
            flaws += self.errors.read().strip().splitlines()[:2]
        return {"flaws": flaws[:4]}

    def unreadable(self):
        """Errors that ffprobe finds in the recordings; plain bytes are only measured."""
        if self.contender.suffix == "bytes":
            return []
        suffix = self.contender.suffix or "mp4"
        paths = glob.glob(f"{self.place.output}/**/*.{suffix}", recursive=True)
        if len(paths) != self.load.sources:
            return [f"{len(paths)} recordings of {self.load.sources}"]
        flaws = []
        for path in paths:
            probe = subprocess.run(
                ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", path],
                capture_output=True, text=True)
            if probe.returncode or set(probe.stdout.split()) != {"h264", "aac"}:
                flaws.append(f"{os.path.basename(path)}: {probe.stderr.strip()[:80]}")
        return flaws
