#!/usr/bin/env python3
"""The cost of the spool for an agent: CPU time with and without it, and bytes that reach the disk. See README.md.

spool.py BIN [SECONDS [ROUNDS]]      BIN: where the programs are
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import machine
from contenders import FFMPEG

ENDPOINT = "tcp://127.0.0.1:5899"


def clip(path, seconds):
    """H.264 at 4 Mbit/s and AAC, to be sent as it is."""
    subprocess.run(
        [*FFMPEG, "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30,noise=alls=20:allf=t", "-f",
         "lavfi", "-i", "sine=sample_rate=48000", "-t", str(seconds), "-c:v", "libx264",
         "-preset", "ultrafast", "-g", "60", "-bf", "0", "-b:v", "4M", "-maxrate", "4M",
         "-bufsize", "4M", "-c:a", "aac", path], check=True)
    return path


def written(process):
    """Bytes on their way to the disk, less those that were deleted before they got there."""
    try:
        with open(f"/proc/{process.child.pid}/io") as lines:
            counters = dict(line.split(": ") for line in lines)
    except (ProcessLookupError, FileNotFoundError, PermissionError):
        return None
    return int(counters["write_bytes"]) - int(counters["cancelled_write_bytes"])


def run(directory, binaries, source, spool, seconds):
    collector = machine.Process(
        [f"{binaries}/tributary-collector", "--listen", ENDPOINT, "--archive",
         f"{directory}/archive"])
    with machine.Processes([collector]):
        machine.wait_for_ports([5899], alive=collector.poll)
        agent = machine.Process(
            [f"{binaries}/tributary-agent", "--collector", ENDPOINT, "--source", "camera",
             "--duration", f"{seconds}s", "--spool", spool, *source])
        bytes_written = None
        with machine.Processes([agent]):
            while agent.poll():
                now = written(agent)
                bytes_written = bytes_written if now is None else now
                time.sleep(0.2)
        if agent.status != 0:
            sys.exit(f"the agent ended with {agent.status}")
        return agent.cpu(), bytes_written


def main():
    binaries = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as directory:
        file = clip(f"{directory}/clip.mp4", seconds + 1)
        sources = {
            "copy": ["--video", f"file:{file}", "--encoder", "copy"],
            "test": ["--video", "test", "--audio", "test"]}
        for name, source in sources.items():
            costs = {"none": [], "spool": []}
            reached = []
            for _ in range(rounds):
                for kind in costs:
                    spool = "none" if kind == "none" else f"{directory}/spool"
                    cpu, bytes_written = run(directory, binaries, source, spool, seconds)
                    costs[kind].append(cpu)
                    if kind == "spool":
                        reached.append(bytes_written)
            none, with_spool = (statistics.median(costs[kind]) for kind in ("none", "spool"))
            print(
                f"{name}: {none * 1000 / seconds:.1f} ms/s without, {with_spool * 1000 / seconds:.1f} "
                f"with a spool ({(with_spool / none - 1) * 100:+.1f} %); "
                f"{statistics.median(reached) / 1024:.0f} KiB reached the disk in {seconds} s")


if __name__ == "__main__":
    main()
