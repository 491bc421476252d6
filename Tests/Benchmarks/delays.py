#!/usr/bin/env python3
"""Measures how long samples take from their capture until they are durable, and until a viewer has them.

    Tests/Benchmarks/delays.py --binaries .build/release [--only durable,watched,clocks] [--seconds 30]

Everything is on one machine, so that all clocks are the same one: what is told of their difference is an error. See README.md.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine
import servers
import watching
import workplace
from shares import Table, percentile

SOURCES = 16
BUSY_SOURCES = 64
SETTLE_SECONDS = 8
AGENT = ["--spool", "none", "--control-socket", "none"]
PICTURES = ["--size", "640x360", "--video-bitrate", "1M"]
WATCHED_GOAL = 150  # ms: a wish of 100, and 50


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts (all)")
    parser.add_argument("--runs", type=int, default=1, help="medians are taken over them (1)")
    parser.add_argument("--seconds", type=float, default=30, help="how long each is measured (30)")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench",
                        help="where media and recordings go")
    options = parser.parse_args()
    options.only = options.only.split(",")
    for word in options.only:
        if word not in PARTS:
            parser.error(f"'{word}' is none of {', '.join(PARTS)}")
    return options


class Scene(servers.Stage):
    """A collector that writes into files, and what sends to it."""

    def __init__(self, place, directory):
        super().__init__(place, directory)
        self.archive = f"{directory}/archive-{time.monotonic_ns()}"
        self.callback(shutil.rmtree, self.archive, ignore_errors=True)
        self.http = servers.free_port()
        port = servers.free_port()
        self.endpoint = f"tcp://127.0.0.1:{port}"
        self.receiver = self.start([
            place.product("tributary-collector"), "--archive", self.archive, "--listen", self.endpoint,
            "--http", f"127.0.0.1:{self.http}"])
        machine.wait_for_ports([port, self.http], self.receiver.poll)

    def load_with_report(self, sources, each=False):
        process = machine.Process(
            [self.place.product("bench-load"), "--collector", self.endpoint, "--media", self.place.clip,
             "--sources", sources, "--seconds", 600, *(["--each"] if each else [])],
            input=subprocess.PIPE, output=subprocess.PIPE, errors=self.errors)
        self.callback(servers.end, process)
        return process

    def agent(self, name, *more):
        return self.start([
            self.place.product("tributary-agent"), "--video", "test", "--audio", "none", "--source", name,
            "--collector", self.endpoint, *AGENT, *more])

    def status(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/status", timeout=20) as answer:
            return json.load(answer)


def ask(process):
    """The load's figures since the last call."""
    process.child.stdin.write(b"\n")
    process.child.stdin.flush()
    return json.loads(process.child.stdout.readline())


def measured(process, seconds):
    """Delays until durable, milliseconds."""
    time.sleep(SETTLE_SECONDS)
    ask(process)
    time.sleep(seconds)
    return ask(process)["persisted_ms"]


class Viewers(threading.Thread):
    """Watches sources through a viewer, and reads what comes."""

    def __init__(self, port, sources):
        super().__init__(daemon=True)
        self.port, self.sources, self.is_over = port, sources, False

    def run(self):
        try:
            for _ in watching.live_frames(self.port, ",".join(self.sources)):
                if self.is_over:
                    return
        except (OSError, http.client.HTTPException):
            # The viewer has ended, with the scene.
            if not self.is_over:
                raise


def durable(place, directory, options, table):
    """From capture until the agent receives the acknowledgement: half a second together, each 100 ms, watched."""
    for name, each, is_watched in [
        ("unwatched (half a second together)", False, False), ("`--batch 100ms`", True, False),
        ("watched", False, True),
    ]:
        with Scene(place, directory) as scene:
            load = scene.load_with_report(SOURCES, each)
            names = [f"source{number}" for number in range(SOURCES)]
            if is_watched:
                _, port = scene.viewer(scene.archive)
                watching.wait_for_live(port, names[0])
                viewers = Viewers(port, names)
                viewers.start()
            found = measured(load, options.seconds)
            if is_watched:
                viewers.is_over = True
            table.add(f"capture to durable, {SOURCES} sources, {name}", half=found["p50"], most=found["p99"],
                      longest=found["max"])


def watched(place, directory, options, table):
    """From capture until a viewer has it."""
    for batch in ("auto", "100ms"):
        with Scene(place, directory) as scene:
            scene.agent(watching.SOURCE, "--batch", batch, *PICTURES)
            _, port = scene.viewer(scene.archive)
            watching.wait_for_live(port, watching.SOURCE)
            oldest, _, passed = watching.frame_lags(port, options.seconds)
            for what, goal, values in [
                (f"capture to the reader of `/api/v1/live`, oldest sample of a frame, `--batch {batch}`",
                 ("most", WATCHED_GOAL), oldest),
                (f"… of which since the collector had it, `--batch {batch}`", None, passed),
            ]:
                table.add(what, goal, half=1000 * percentile(values, 0.5), most=1000 * percentile(values, 0.99),
                          longest=1000 * max(values))


def clocks(place, directory, options, table):
    """The measured difference of agents' clocks that are equal, beside 64 sources that send."""
    for batch in ("auto", "100ms"):
        with Scene(place, directory) as scene:
            scene.load_with_report(BUSY_SOURCES, batch != "auto")
            for number in range(2):
                scene.agent(f"camera{number}", "--batch", batch, "--size", "160x90", "--fps", "5")
            time.sleep(2 * SETTLE_SECONDS)
            errors, bounds, end = [], [], time.monotonic() + options.seconds
            while time.monotonic() < end:
                for source in scene.status()["sources"]:
                    if source["name"].startswith("camera") and "clockOffsetSeconds" in source:
                        errors.append(1000 * abs(source["clockOffsetSeconds"]))
                        bounds.append(1000 * source["clockBoundSeconds"])
                time.sleep(1)
            for what, values in (("true error", errors), ("bound", bounds)):
                table.add(f"clock of an agent, {what}, beside {BUSY_SOURCES} sources, `--batch {batch}`",
                          half=percentile(values, 0.5), most=percentile(values, 0.99), longest=max(values))


PARTS = {"durable": durable, "watched": watched, "clocks": clocks}


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    place = workplace.Workplace(os.path.abspath(options.directory), os.path.abspath(options.binaries))
    workplace.need("ffmpeg")
    place.make_clip()
    table = Table("milliseconds", {"half": "p50, ms", "most": "p99, ms", "longest": "longest, ms"})
    directory, failures = tempfile.mkdtemp(prefix="delays-", dir=place.root), 0
    try:
        for _ in range(options.runs):
            for part in options.only:
                try:
                    PARTS[part](place, directory, options, table)
                except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
                    failures += 1
                    print(f"{part} failed: {error}", file=sys.stderr, flush=True)
                    with open(f"{directory}/errors.log") as log:
                        print(*log.read().splitlines()[-3:], sep="\n", file=sys.stderr)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(table.text())
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
