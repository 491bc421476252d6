#!/usr/bin/env python3
"""Has three collectors of a site record 640 sources, and counts what their database sees. See README.md.

    Tests/Benchmarks/site.py --binaries .build/release [--sources 640] [--minutes 3] [--away 10]

Phases: sources of 50 kbit/s; of 200 kbit/s; people who watch the page's data; without the database. Segments last a minute, ten times
shorter than usual, so that rows of segments are seen. Exit status 1 if changed rows grow by more than a tenth, or transactions and
statements by more than a quarter, with the bitrate or with the people, or if samples are acknowledged later without the database.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, os.path.join(PROJECT, "Tests", "Catalog")]

import machine  # noqa: E402
import servers  # noqa: E402
import workplace  # noqa: E402
from server import Absent, Server  # noqa: E402

COLLECTORS = ("east", "west", "north")
SEGMENT_SECONDS = 60
SETTLE_SECONDS = 20
DAY = 86_400
# What a page asks for: the list, the site, what was recorded.
PATHS = ("/api/v1/sessions?order=newest", "/api/v1/site",
         time.strftime("/api/v1/recorded?from=%Y-%m-%dT00:00:00Z&until=%Y-%m-%dT23:59:59Z", time.gmtime()))
PERIOD_SECONDS = 5
# A longer wait for the disk is not the database's.
ACKNOWLEDGED_LATER_MILLISECONDS = 100
COUNTS = """
    SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'),
        (SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = 'postgres'),
        (SELECT sum(calls) FROM pg_stat_statements), (SELECT sum(total_exec_time) FROM pg_stat_statements),
        (SELECT wal_bytes FROM pg_stat_wal), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--sources", type=int, default=640, help="of all collectors together (640)")
    parser.add_argument("--minutes", type=float, default=3, help="of each phase (3)")
    parser.add_argument("--away", type=float, default=10, help="minutes without the database (10)")
    parser.add_argument("--people", type=int, default=40, help="who have the page open (40)")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench", help="where media and recordings go")
    options = parser.parse_args()
    if options.sources < len(COLLECTORS) or options.minutes < 2 or options.people < 1 or options.away < 0:
        parser.error(f"at least {len(COLLECTORS)} sources, two minutes and one person are needed")
    if not os.path.exists(os.path.join(options.binaries, "bench-load")):
        parser.error(f"no bench-load in {options.binaries}: run 'swift build -c release', or name another directory")
    return options


class Phase:
    """Collectors with a new archive each, and the load that they record."""

    def __init__(self, place, options, database, directory, clip):
        self.place, self.options, self.database, self.directory = place, options, database, directory
        self.errors = open(f"{directory}/errors.log", "w")
        self.members = []
        share = [options.sources // len(COLLECTORS) + (number < options.sources % len(COLLECTORS)) for number in range(len(COLLECTORS))]
        self.loads = []
        try:
            self.begin(share, clip)
        except BaseException:
            self.stop()
            raise

    def begin(self, share, clip):
        """Starts a collector and its load for each share of the sources."""
        options, directory, place, database = self.options, self.directory, self.place, self.database
        for name, count in zip(COLLECTORS, share):
            endpoint = f"ipc://{directory}/{name}"
            self.start([
                place.product("tributary-collector"), "--archive", f"{directory}/archive-{name}", "--name", name, "--listen", endpoint,
                "--catalog", database.address("tributary_writer"), "--segment", f"{SEGMENT_SECONDS}s"])
            servers.wait_for_file(f"{directory}/{name}", self.members[-1])
            load = self.start(
                [place.product("bench-load"), "--collector", endpoint, "--media", clip, "--sources", count, "--seconds", 7_200, "--returning"],
                input=subprocess.PIPE, output=subprocess.PIPE)
            self.loads.append(load)
        self.wait_until_all_flow()

    def start(self, command, **streams):
        process = machine.Process(command, errors=self.errors, **streams)
        self.members.append(process)
        return process

    @property
    def said(self):
        """The end of what the programs print."""
        with open(self.errors.name) as text:
            return text.read().strip()[-300:]

    def wait_until_all_flow(self):
        deadline = time.monotonic() + 120
        while sum(report["flowing"] for report in self.ask()) < self.options.sources:
            if time.monotonic() > deadline:
                raise RuntimeError(f"not all sources are recorded: {self.said}")
            time.sleep(1)

    def ask(self):
        """The loads' figures since the last call."""
        reports = []
        for load in self.loads:
            try:
                load.child.stdin.write(b"\n")
                load.child.stdin.flush()
                reports.append(json.loads(load.child.stdout.readline()))
            except (OSError, ValueError):
                raise RuntimeError(f"a load has ended: {self.said}") from None
        return reports

    def delays(self):
        """Milliseconds until samples were durable, since the last question: the worst median, 99th percentile and maximum of the loads."""
        reports = [report["persisted_ms"] for report in self.ask()]
        return {name: max(report[name] for report in reports) for name in ("p50", "p99", "max")}

    def viewer(self):
        port = servers.free_port()
        process = self.start([
            self.place.product("tributary-viewer"), "--catalog", self.database.address("tributary_reader"), "--listen", f"127.0.0.1:{port}",
            "--exports", f"{self.directory}/exports"])
        machine.wait_for_ports([port], process.poll)
        return port

    def stop(self):
        for process in self.members:
            servers.end(process)
        self.errors.close()


class People:
    """Threads that make the requests of an open page to a viewer."""

    def __init__(self, port, count):
        self.port, self.over, self.asked, self.failed = port, threading.Event(), 0, collections.Counter()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.watch, args=(number / count,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def watch(self, phase):
        if self.over.wait(phase * PERIOD_SECONDS):
            return
        while True:
            for path in PATHS:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                        answer.read()
                    with self.lock:
                        self.asked += 1
                except OSError as error:
                    with self.lock:
                        self.failed[f"{path}: {error}"] += 1
            if self.over.wait(PERIOD_SECONDS):
                return

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def counts(database):
    return [float(word) for word in database.sql(COUNTS).split()]


def observe(database, phase, options, title):
    """Per second: transactions, changed rows, statements, milliseconds of execution, bytes of the log."""
    phase.delays()
    before, began = counts(database), time.monotonic()
    # Whole segments, so that each phase sees as many turns.
    seconds = max(2, round(options.minutes * 60 / SEGMENT_SECONDS)) * SEGMENT_SECONDS
    time.sleep(seconds)
    passed = time.monotonic() - began
    after = counts(database)
    rates = [(new - old) / passed for new, old in zip(after[:5], before)]
    delays = phase.delays()
    each = DAY / options.sources
    print(f"| {title} | {rates[0]:.1f} | {rates[2]:.1f} | {rates[1]:.1f} | {rates[4] / 1e3:.1f} | {rates[3]:.1f} | {after[5]:.0f} "
          f"| {rates[2] * each:.0f} | {rates[4] * each / 1e3:.0f} | {delays['p50']}; {delays['p99']}; {delays['max']} |", flush=True)
    return rates, delays


def clip_of(place, name, bitrate):
    """A minute of a small picture with sound."""
    path = f"{place.root}/{name}.mp4"
    video = bitrate - 16
    place.make(path, [
        "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=16000", "-ac", "1",
        "-t", workplace.CLIP_SECONDS, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "20",
        "-sc_threshold", "0", "-b:v", f"{video}k", "-maxrate", f"{video}k", "-bufsize", f"{video}k",
        "-x264-params", "nal-hrd=cbr", "-c:a", "aac", "-b:a", "16k", "-f", "mp4"])
    return path


def prepared(database, place):
    with open(os.path.join(PROJECT, "deploy", "postgresql", "roles.sql")) as text:
        database.sql(text.read())
    subprocess.run([place.product("tributary"), "index", "--prepare", "--archive", f"{database.directory}/none", "--catalog",
                    database.address("tributary_owner")], check=True, stdout=subprocess.DEVNULL)
    database.sql("CREATE EXTENSION pg_stat_statements")


def run(place, options, database, directory):
    failures = []

    def compare(title, rates, base):
        """Rows are written together whose files end together, so the number of transactions depends on the disk."""
        for name, tolerance, new, old in zip(("transactions", "changed rows", "statements"), (1.25, 1.1, 1.25), rates, base):
            if new > old * tolerance + 0.1:
                failures.append(f"{title}: {name} grow from {old:.1f} to {new:.1f} a second")

    def phase(name, clip):
        path = f"{directory}/{name}"
        os.mkdir(path)
        own = Phase(place, options, database, path, clip)
        time.sleep(SETTLE_SECONDS)
        return own

    print("| phase | transactions/s | statements/s | changed rows/s | log, kB/s | execution, ms/s | connections "
          "| statements a source-day | log, kB a source-day | durable after, ms: p50; p99; max |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    own = phase("much", clip_of(place, "site-200", 200))
    try:
        much, _ = observe(database, own, options, "200 kbit/s")
    finally:
        own.stop()
    own = phase("little", clip_of(place, "site-50", 50))
    try:
        base, before = observe(database, own, options, "50 kbit/s")
        compare("four times the bitrate", much, base)
        port = own.viewer()
        people = People(port, 1)
        time.sleep(SETTLE_SECONDS)
        one, _ = observe(database, own, options, "one person at a viewer")
        people.stop()
        people = People(port, options.people)
        time.sleep(SETTLE_SECONDS)
        many, _ = observe(database, own, options, f"{options.people} people at it")
        people.stop()
        if people.failed or not people.asked:
            failed = people.failed.total()
            failures.append(f"{failed} of {failed + people.asked} questions of people failed: {dict(people.failed)}")
        compare(f"{options.people} people", many, one)
        if options.away > 0:
            own.delays()
            database.stop("immediate")
            time.sleep(options.away * 60)
            away = own.delays()
            flowing = sum(report["flowing"] for report in own.ask())
            print(f"| {options.away:g} min without the database | | | | | | | | | {away['p50']}; {away['p99']}; {away['max']} |", flush=True)
            if flowing < options.sources:
                failures.append(f"{options.sources - flowing} sources are not recorded without the database")
            for name in ("p50", "p99"):
                if away[name] > before[name] + ACKNOWLEDGED_LATER_MILLISECONDS:
                    failures.append(f"without the database, samples are durable later: {name} {before[name]} → {away[name]} ms")
            database.start()
            time.sleep(60)
            files = int(database.sql(
                "SELECT count(*) FROM tributary.segment g JOIN tributary.archive a ON a.id = g.archive WHERE a.place LIKE '%/little/%'"))
            there = sum(name.endswith(".mp4") for _, _, names in os.walk(f"{directory}/little") for name in names)
            print(f"A minute after the database is back, it has {files} segments of {there} files on disk.")
            # The newest files may not be there yet.
            if files < there - options.sources:
                failures.append(f"the database has {files} segments of {there} files")
    finally:
        own.stop()
    return failures


def main():
    options = arguments()
    place = workplace.Workplace(options.directory, os.path.abspath(options.binaries))
    try:
        database = Server(settings=["shared_preload_libraries = 'pg_stat_statements'"])
    except Absent as reason:
        print(f"site.py: skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        try:
            database.start()
            prepared(database, place)
            failures = run(place, options, database, directory)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            failures = [f"{error}"]
        finally:
            database.remove()
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
