#!/usr/bin/env python3
"""Has one collector record a thousand sources: its cost, how late samples are, and what a crash in the middle does.

    Tests/Benchmarks/thousand.py --binaries .build/release [--sources 1000] [--minutes 10] [--without-keys]

Sources of 200 kbit/s are played at real-time pace by one bench-load, each with a key of its own, into files. Needs
1.6 GB of disk per minute below --directory; everything but the clip is removed at the end. See README.md.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine
import servers
import workplace
from shares import percentile

GOALS = {"cores": 0.35, "megabytes": 0.5, "lag": 2.0}
PATIENCE_SECONDS = 120
# Before each measurement.
SETTLE_SECONDS = 15
LEAST_MINUTES = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--sources", type=int, default=1000, help="how many sources at once (1000)")
    parser.add_argument("--minutes", type=float, default=10, help="how long they are recorded (10)")
    parser.add_argument("--without-keys", action="store_true", help="as on one machine: nothing is encrypted")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench",
                        help="where media and recordings go")
    options = parser.parse_args()
    # A start, two measurements, and a collector that needs half a minute to listen again.
    if options.minutes < LEAST_MINUTES:
        parser.error(f"--minutes must be at least {LEAST_MINUTES}")
    return options


class Site:
    """A collector and the load that it records."""

    def __init__(self, place, options, directory):
        self.place, self.options = place, options
        self.archive, self.keys = f"{directory}/archive", f"{directory}/keys"
        if not options.without_keys:
            subprocess.run([place.product("tributary"), "keys", "generate", "--keys", self.keys], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port, self.http = servers.free_port(), servers.free_port()
        self.errors = open(f"{directory}/errors.log", "w+")
        self.collectors, self.load = [], None
        self.longest = 0  # milliseconds until a sample was durable

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.collectors, *([self.load] if self.load else [])]:
            servers.end(process)
        self.errors.close()

    @property
    def collector(self):
        return self.collectors[-1]

    def start_collector(self):
        """Returns how long it took until it listened."""
        keys = [] if self.options.without_keys else ["--keys", self.keys]
        start = time.monotonic()
        self.collectors.append(machine.Process(
            [self.place.product("tributary-collector"), "--listen", f"tcp://127.0.0.1:{self.port}", "--archive",
             self.archive, "--http", f"127.0.0.1:{self.http}", *keys], errors=self.errors))
        machine.wait_for_ports([self.port, self.http], self.collector.poll)
        return time.monotonic() - start

    def start_load(self, seconds):
        keys = [] if self.options.without_keys else [
            "--authorize-in", self.keys, "--collector-key", self.place.public_key(self.keys)]
        self.load = machine.Process(
            [self.place.product("bench-load"), "--collector", f"tcp://127.0.0.1:{self.port}", "--media",
             self.place.small_clip, "--sources", self.options.sources, "--seconds", round(seconds), "--returning", *keys],
            input=subprocess.PIPE, output=subprocess.PIPE, errors=self.errors)

    def ask_load(self):
        """The load's figures since the last call."""
        self.load.child.stdin.write(b"\n")
        self.load.child.stdin.flush()
        report = json.loads(self.load.child.stdout.readline())
        self.longest = max(self.longest, report["persisted_ms"]["max"])
        return report

    def status(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/status", timeout=20) as answer:
            return json.load(answer)

    def metrics(self):
        """The text, and how long it took."""
        start = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        return text, time.monotonic() - start

    def wait_until_all_flow(self):
        """The time until all sources send, and the times at which a quarter, a half, … did."""
        start, steps = time.monotonic(), {}
        while True:
            flowing, passed = self.ask_load()["flowing"], time.monotonic() - start
            for share in (0.25, 0.5, 0.75, 1):
                if flowing >= share * self.options.sources:
                    steps.setdefault(share, passed)
            if 1 in steps:
                return steps
            if passed > PATIENCE_SECONDS or not self.load.poll():
                raise RuntimeError(f"{flowing} of {self.options.sources} sources flow after {passed:.0f} s")
            time.sleep(0.1)

    def memory(self):
        """Proportional memory in bytes, what of it is anonymous, and descriptors."""
        with open(f"/proc/{self.collector.child.pid}/smaps_rollup") as lines:
            found = dict(line.split()[:2] for line in list(lines)[1:])
        descriptors = len(os.listdir(f"/proc/{self.collector.child.pid}/fd"))
        return int(found["Pss:"]) * 1024, int(found["Pss_Anon:"]) * 1024, descriptors

    def measure(self, seconds):
        """Cost and lag over a while in which nothing happens."""
        self.ask_load()
        cpu, load_cpu, start = self.collector.cpu(), self.load.cpu(), time.monotonic()
        lags, metrics, text = [], [], ""
        while time.monotonic() - start < seconds:
            time.sleep(1)
            status = self.status()
            lags += [source["lagSeconds"] for source in status["sources"] if source.get("lagSeconds") is not None]
            if len(metrics) < 20:
                text, took = self.metrics()
                metrics.append(took)
        passed = time.monotonic() - start
        report = self.ask_load()
        memory, anonymous, descriptors = self.memory()
        return {
            "cores": (self.collector.cpu() - cpu) / passed, "load_cores": (self.load.cpu() - load_cpu) / passed,
            "lag_p50": percentile(lags, 0.5), "lag_p99": percentile(lags, 0.99), "lag_max": max(lags),
            "persisted_ms": report["persisted_ms"], "memory": memory, "anonymous": anonymous, "descriptors": descriptors,
            "metrics_ms": 1000 * statistics.median(metrics), "metrics_bytes": len(text),
            "connected": sum(source["isConnected"] for source in status["sources"]),
            "omitted": status["omittedSources"], "refused": status["refusedConnections"]}

    def time_top(self):
        start = time.monotonic()
        subprocess.run(
            [self.place.product("tributary"), "top", "--json", "--archive", self.archive], check=True,
            stdout=subprocess.DEVNULL, timeout=60)
        return time.monotonic() - start

    def verify(self):
        """Recorded samples, what the ledgers miss, damage; and how long that took."""
        start = time.monotonic()
        found = subprocess.run(
            [self.place.product("tributary"), "verify", "--json", "--archive", self.archive],
            stdout=subprocess.PIPE, timeout=1800)
        report = json.loads(found.stdout)
        sources = [source for session in report["sessions"] for source in session["sources"]]
        return {
            "sessions": len(report["sessions"]), "sources": len(sources), "intact": report["isIntact"],
            "recorded": sum(source["recordedSamples"] for source in sources),
            "lost": sum(source["lostSamples"] for source in sources), "seconds": time.monotonic() - start}


def run(site, options):
    """Everything, as rows of a table: (what, measured, wished)."""
    rows = []

    def row(what, measured, wished=""):
        rows.append((what, measured, wished))
        print(f"{what}: {measured}", file=sys.stderr, flush=True)

    seconds = options.minutes * 60
    site.start_collector()
    base = site.memory()[0]
    site.start_load(seconds)
    steps = site.wait_until_all_flow()
    row("until a half, and all sources flow", f"{steps[0.5]:.1f} and {steps[1]:.1f} s")
    row("collector's CPU until then", f"{site.collector.cpu():.2f} s")
    time.sleep(SETTLE_SECONDS)
    found = site.measure(max(15, seconds / 2 - 2 * SETTLE_SECONDS))
    tell(row, found, options, base)
    row("`tributary top --json`", f"{1000 * site.time_top():.0f} ms")

    servers.end(site.collector)
    site.longest = 0
    killed = time.monotonic()
    row("killed and started again: until it listens", f"{site.start_collector():.1f} s")
    started = time.monotonic() - killed
    steps = site.wait_until_all_flow()
    row("… since the kill, until a half, and all sources flow again",
        f"{started + steps[0.5]:.1f} and {started + steps[1]:.1f} s")
    row("… collector's CPU until then", f"{site.collector.cpu():.2f} s")
    time.sleep(SETTLE_SECONDS)
    site.ask_load()
    row("… capture to durable across it, longest", f"{site.longest / 1000:.1f} s")
    found = site.measure(15)
    row("… afterwards: CPU, of a core", f"{found['cores']:.3f}", f"≤ {GOALS['cores']}")
    row("… afterwards: lag p99", f"{found['lag_p99']:.2f} s", f"≤ {GOALS['lag']:g} s")
    row("connections that were refused or closed", f"{found['refused']:g}")

    # The load ends when everything is durable; its last line is that of the whole run.
    if not machine.Processes([site.load]).wait(seconds + PATIENCE_SECONDS):
        raise RuntimeError("the load does not end")
    if site.load.status:
        raise RuntimeError(f"the load ended with {site.load.status}")
    sent = json.loads(site.load.child.stdout.read().splitlines()[-1])
    start = time.monotonic()
    while site.status().get("session") and time.monotonic() - start < PATIENCE_SECONDS:
        time.sleep(0.1)
    site.collector.stop(signal.SIGTERM)
    machine.Processes([site.collector]).wait(PATIENCE_SECONDS)
    row("all goodbyes said: until the session is finished and the collector has ended",
        f"{time.monotonic() - start:.1f} s")
    row("exit status", str(site.collector.status), "0")
    verified = site.verify()
    row("samples sent, recorded, missing by the ledgers",
        f"{sent['samples']:,}, {verified['recorded']:,}, {verified['lost']:,}", "nothing lost")
    row("`tributary verify`",
        f"{'intact' if verified['intact'] else 'DAMAGED'}, {verified['sources']} sources in "
        f"{verified['sessions']} session(s), {verified['seconds']:.0f} s", "intact")
    return rows, verified["intact"] and verified["recorded"] == sent["samples"] and not verified["lost"]


def tell(row, found, options, base):
    persisted, each = found["persisted_ms"], (found["memory"] - base) / options.sources / 1e6
    row("CPU, of a core", f"{found['cores']:.3f}", f"≤ {GOALS['cores']}")
    row("… of the load, which shares the machine", f"{found['load_cores']:.3f}")
    row("memory (PSS): in all, of each source",
        f"{found['memory'] / 1e6:.0f} MB, {each:.2f} MB", f"≤ {GOALS['megabytes']} MB each")
    row("descriptors", f"{found['descriptors']:,}")
    row("lag of the newest sample: p50, p99, longest",
        f"{found['lag_p50']:.2f}, {found['lag_p99']:.2f}, {found['lag_max']:.2f} s", f"p99 ≤ {GOALS['lag']:g} s")
    row("capture to durable, as the agent hears it: p50, p99, longest",
        f"{persisted['p50'] / 1000:.2f}, {persisted['p99'] / 1000:.2f}, {persisted['max'] / 1000:.2f} s "
        f"({persisted['count']:,} samples)")
    row("connected, omitted in `/status`", f"{found['connected']}, {found['omitted']:g}", f"{options.sources}, 0")
    row("`/metrics`", f"{found['metrics_ms']:.0f} ms, {found['metrics_bytes'] / 1e6:.1f} MB")


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    place = workplace.Workplace(os.path.abspath(options.directory), os.path.abspath(options.binaries))
    workplace.need("ffmpeg")
    place.make_small_clip()
    directory = tempfile.mkdtemp(prefix="thousand-", dir=place.root)
    try:
        with Site(place, options, directory) as site:
            try:
                rows, is_well = run(site, options)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                site.errors.seek(0)
                lines = site.errors.read().strip().splitlines()
                print(f"failed: {error}", *lines[:5], *lines[-5:], sep="\n", file=sys.stderr)
                return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    kind = "without keys" if options.without_keys else "with keys"
    print(f"\n| {options.sources} sources of 200 kbit/s, {kind}, {options.minutes:g} min | measured | wished |")
    print("|---|---:|---:|")
    for what, measured, wished in rows:
        print(f"| {what} | {measured} | {wished} |")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
