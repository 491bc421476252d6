#!/usr/bin/env python3
"""Measures how long a killed collector takes until it listens again, with many open files.

    Tests/Benchmarks/restart.py --binaries .build/release [--sources 1000] [--minutes 5] [--runs 3]

Records as thousand.py does, kills load and collector, and starts the collector again and again, each time killed when it
listens: with its files in the page cache, and, as root, without. See README.md.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import servers
import workplace
from thousand import Site

GOAL_SECONDS = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--sources", type=int, default=1000, help="how many sources at once (1000)")
    parser.add_argument("--minutes", type=float, default=5, help="how long they are recorded (5)")
    parser.add_argument("--runs", type=int, default=3, help="how many starts of each kind (3)")
    parser.add_argument("--without-keys", action="store_true", help="as on one machine: nothing is encrypted")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench",
                        help="where media and recordings go")
    return parser.parse_args()


def forget_files():
    """Drops the page cache; returns whether that is possible."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w") as control:
            control.write("3")
        return True
    except OSError:
        return False


def starts(site, runs, prepare):
    """Seconds until it listens and CPU seconds until then, of each start."""
    found = []
    for _ in range(runs):
        if not prepare():
            return []
        seconds = site.start_collector()
        found.append((seconds, site.collector.cpu()))
        servers.end(site.collector)
    return found


def files(archive):
    """The number of growing files, and their bytes."""
    sizes = [entry.stat().st_size for source in os.scandir(f"{archive}/sessions") if source.is_dir()
             for place in os.scandir(source.path) if place.is_dir()
             for entry in os.scandir(place.path) if entry.name.endswith(".mp4")]
    return len(sizes), sum(sizes)


def run(site, options):
    """Rows of a table."""
    site.start_collector()
    site.start_load(options.minutes * 60 + 600)
    site.wait_until_all_flow()
    time.sleep(options.minutes * 60)
    servers.end(site.collector)
    servers.end(site.load)
    count, size = files(site.archive)
    rows = [(f"{count} files, {size / 1e9:.1f} GB: first start after the kill", starts(site, 1, lambda: True)),
            ("later starts, files in the page cache", starts(site, options.runs, lambda: True)),
            ("later starts, files on the disk only", starts(site, options.runs, forget_files))]
    return [(what, found) for what, found in rows if found]


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    place = workplace.Workplace(os.path.abspath(options.directory), os.path.abspath(options.binaries))
    workplace.need("ffmpeg")
    place.make_small_clip()
    directory = tempfile.mkdtemp(prefix="restart-", dir=place.root)
    try:
        with Site(place, options, directory) as site:
            try:
                rows = run(site, options)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                site.errors.seek(0)
                print(f"failed: {error}", *site.errors.read().strip().splitlines()[-5:], sep="\n", file=sys.stderr)
                return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"\n| {options.sources} sources of 200 kbit/s, killed after {options.minutes:g} min | until it listens: median, "
          "longest | CPU |")
    print("|---|---:|---:|")
    for what, found in rows:
        seconds, cpu = [pair[0] for pair in found], [pair[1] for pair in found]
        print(f"| {what} | {statistics.median(seconds):.2f}, {max(seconds):.2f} s | {statistics.median(cpu):.2f} s |")
    return 0 if statistics.median([pair[0] for pair in rows[0][1]]) <= GOAL_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
