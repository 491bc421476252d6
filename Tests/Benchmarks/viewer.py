#!/usr/bin/env python3
"""Measures what watching costs: the viewer beside nginx and nginx-rtmp, its latency, and the collector's share.

    Tests/Benchmarks/viewer.py --binaries .build/release [--only serve,latency,memory,live,lag]

Children are killed and everything that was made is removed at the end; only the clip stays. See README.md.
"""

import argparse
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine
import serving
import watching
import workplace

PARTS = {
    "serve": serving.serve, "latency": serving.latency, "memory": watching.memory, "live": watching.live,
    "lag": watching.lag,
}


class Bench:
    """Prerequisites of every part: the programs and the clip, a directory that is removed, and how much to measure."""

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.place = workplace.Workplace(options.directory, os.path.abspath(options.binaries))
        workplace.need("ffmpeg", "curl", "openssl", "gcc")
        self.place.make_clip()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--runs", type=int, default=3, help="medians are taken over them (3)")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts (all)")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the file that is served (1)")
    parser.add_argument("--requests", type=int, default=100, help="requests of each kind in a run (100)")
    parser.add_argument("--readers", type=int, default=20, help="readers of one live stream beside nginx-rtmp (20)")
    parser.add_argument("--seconds", type=float, default=10, help="how long live streams are measured in a run (10)")
    parser.add_argument("--patience", type=int, default=0, help="seconds that a part waits for a quiet machine (0)")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench",
                        help="where the clip and what is made for a while go")
    options = parser.parse_args()
    options.only, options.directory = options.only.split(","), os.path.abspath(options.directory)
    for word in options.only:
        if word not in PARTS:
            parser.error(f"'{word}' is none of {', '.join(PARTS)}")
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


def main():
    options = arguments()
    os.makedirs(options.directory, exist_ok=True)
    # Ended by a signal, it still kills its children.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    failures = 0
    for part in options.only:
        directory = tempfile.mkdtemp(prefix="viewer-", dir=options.directory)
        try:
            bench = Bench(options, directory)
            busy = machine.wait_until_idle(patience=options.patience)
            for table in listed(PARTS[part](bench)):
                print(f"\n{table.text()}\n", flush=True)
            print(f"{part}: others used {busy:.0%} of the machine when it began.", flush=True)
        except (OSError, RuntimeError, subprocess.SubprocessError, http.client.HTTPException) as error:
            failures += 1
            print(f"{part}: FAILED: {error}", *last_words(directory), sep="\n  ", flush=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    return 1 if failures else 0


def last_words(directory):
    """The last output of the children."""
    try:
        with open(f"{directory}/errors.log") as log:
            return log.read().splitlines()[-5:]
    except OSError:
        return []


def listed(found):
    return found if isinstance(found, list) else [found] if found else []


if __name__ == "__main__":
    sys.exit(main())
