#!/usr/bin/env python3
"""The cost of a second copy of every record for an agent: CPU time and memory with one collector, and with two. See README.md.

mirror.py BIN [SECONDS [ROUNDS]]      BIN: where the programs are
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine
from spool import clip

PORTS = {"east": 5897, "west": 5898}
# Until the second connection has the first one's session, and both send what is captured.
SETTLE_SECONDS = 8
GOAL = 1.3


def bytes_of(directory):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(directory)
               for name in names if name.endswith(".mp4"))


def run(directory, binaries, source, count, seconds):
    """CPU seconds of the agent over the window, and its peak of memory."""
    ports = dict(list(PORTS.items())[:count])
    policy = "mirrored" if count > 1 else "local"
    collectors = machine.Processes(
        machine.Process([f"{binaries}/tributary-collector", "--name", name, "--listen", f"tcp://127.0.0.1:{port}",
                         "--archive", f"{directory}/{name}", "--release", policy], errors=subprocess.DEVNULL)
        for name, port in ports.items())
    with collectors, open(f"{directory}/agent.log", "w+") as log:
        machine.wait_for_ports(ports.values(), alive=lambda: collectors.poll() == count)
        agent = machine.Process(
            [f"{binaries}/tributary-agent", "--collector", ",".join(f"tcp://127.0.0.1:{port}" for port in ports.values()),
             "--source", "camera", "--spool", f"{directory}/spool", *source], errors=log)
        with machine.Processes([agent]) as agents:
            time.sleep(SETTLE_SECONDS)
            before, cpu = [bytes_of(f"{directory}/{name}") for name in ports], agent.cpu()
            time.sleep(seconds)
            cpu, after = agent.cpu() - cpu, [bytes_of(f"{directory}/{name}") for name in ports]
            grown = [last - first for first, last in zip(before, after)]
            if not agent.poll() or min(grown) < 0.7 * max(grown) or not all(grown):
                sys.exit(f"not all collectors have recorded the source: they grew by {grown} bytes")
            agents.stop()
            if not agents.wait(30) or agent.status:
                sys.exit(f"the agent ended with {agent.status}")
        log.seek(0)
        if "samples lost" in log.read():
            sys.exit("the machine is too busy: the agent has lost samples, so that its CPU time says nothing")
    for name in (*ports, "spool"):
        shutil.rmtree(f"{directory}/{name}", ignore_errors=True)
    return cpu, agent.peak_bytes


def main():
    binaries = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    missed = False
    with tempfile.TemporaryDirectory() as directory:
        file = clip(f"{directory}/clip.mp4", seconds + SETTLE_SECONDS + 20)
        sources = {
            "copied": ["--video", f"file:{file}", "--encoder", "copy"],
            "encoded": ["--video", "test", "--audio", "test", "--video-bitrate", "4M"]}
        print("| agent, 720p30 at 4 Mbit/s | one collector | two | share | memory, one and two |\n|---|---:|---:|---:|---:|")
        for name, source in sources.items():
            found = {1: [], 2: []}
            for _ in range(rounds):
                for count in found:
                    found[count].append(run(directory, binaries, source, count, seconds))
            one, two = (statistics.median(cpu for cpu, _ in found[count]) for count in found)
            share = statistics.median(two[0] / one[0] for one, two in zip(found[1], found[2]))
            missed = missed or share > GOAL
            memory = ", ".join(f"{statistics.median(peak for _, peak in found[count]) / 1e6:.0f} MB" for count in found)
            print(f"| {name} | {one * 1000 / seconds:.1f} ms/s | {two * 1000 / seconds:.1f} ms/s | {share:.2f} | {memory} |",
                  flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
