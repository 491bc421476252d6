#!/usr/bin/env python3
"""The cost of finding, exporting and replaying recordings, compared with the most similar plain programs.

    Tests/Benchmarks/recordings.py --binaries .build/release [catalog] [export] [replay]

catalog  100,000 segments of ten sessions (hard links to one recording): `tributary index`, `ls`, `ls --from --until`, beside
         `tributary --version`, which is what starting the program costs.
export   a session of an hour (4 Mbit/s, segments of ten minutes) as one MP4, beside `cp` of its files; peak memory of an hour and of six minutes.
replay   that session into a collector, as fast as it is taken, beside `ffmpeg -c copy` of the same hour from file to file, with the
         `fsync` that makes its file durable and without; CPU seconds of both ends.

Each is done --runs times, in turns; medians, the quickest in brackets. Needs ffmpeg, and 12 GB in TMPDIR.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from machine import Process


def measured(words, beside=None, **more):
    """Wall and CPU seconds, and peak memory in MB, of a program that must succeed; looks at the memory of another one meanwhile."""
    start = time.monotonic()
    process = Process(words, **more)
    while process.poll():
        if beside:
            beside.poll()
        time.sleep(0.0005)
    wall = time.monotonic() - start
    if process.status != 0:
        sys.exit(f"{' '.join(process.command)} ended with {process.status}")
    return wall, process.cpu(), process.peak_bytes / 1e6


def show(name, times, unit="s", scale=1.0):
    print(f"{name}: {statistics.median(times) * scale:.3g} {unit} ({min(times) * scale:.3g})")


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *words], check=True)


class Bench:
    def __init__(self, options, place):
        self.place, self.runs = place, options.runs
        self.tool = f"{options.binaries}/tributary"
        self.collector = f"{options.binaries}/tributary-collector"

    def tributary(self, *words):
        return [self.tool, *words]

    def hour(self, minutes=60):
        """An archive with a session of a number of minutes."""
        archive = f"{self.place}/archive-{minutes}"
        if os.path.exists(archive):
            return archive
        minute, whole = f"{self.place}/minute.mp4", f"{self.place}/whole-{minutes}.mkv"
        if not os.path.exists(minute):
            ffmpeg("-f", "lavfi", "-i", "testsrc2=s=1280x720:r=30:d=60,noise=alls=12:allf=t",
                   "-f", "lavfi", "-i", "sine=f=440:r=48000:d=60", "-c:v", "libx264", "-preset",
                   "ultrafast", "-g", "60", "-b:v", "4M", "-maxrate", "4M", "-bufsize", "4M",
                   "-pix_fmt", "yuv420p", "-c:a", "aac", minute)
        ffmpeg("-stream_loop", str(minutes - 1), "-i", minute, "-c", "copy", whole)
        subprocess.run(self.tributary("import", whole, "--source", "camera", "--archive", archive),
                       check=True, stdout=subprocess.DEVNULL)
        os.unlink(whole)
        return archive

    def files(self, archive):
        session, = os.listdir(f"{archive}/sessions")
        directory = f"{archive}/sessions/{session}/camera"
        return [f"{directory}/{name}" for name in sorted(os.listdir(directory))
                if name.endswith(".mp4")]

    def catalog(self):
        source, archive = self.hour(1), f"{self.place}/catalog"
        template = self.files(source)[0]
        session, = os.listdir(f"{source}/sessions")
        with open(f"{source}/sessions/{session}/session.json") as file:
            manifest = json.load(file)
        # A file may have 65,000 names on ext4; it should be small, because its front is read.
        links = 0
        for number in range(10):
            name = f"2026-01-{number + 1:02}T00-00-00.000Z"
            directory = f"{archive}/sessions/{name}"
            os.makedirs(directory)
            zero = 1_767_225_600 + number * 86_400
            manifest.update(session=name, zeroUTCNanoseconds=zero * 1_000_000_000,
                            zero=name.replace("-", ":").replace(":", "-", 2))
            with open(f"{directory}/session.json", "w") as file:
                json.dump(manifest, file)
            for camera in range(10):
                os.makedirs(f"{directory}/camera{camera}")
                for segment in range(1000):
                    if links % 50_000 == 0:
                        copy = f"{self.place}/template-{links}.mp4"
                        shutil.copyfile(template, copy)
                    links += 1
                    at = time.gmtime(zero + segment * 60)
                    label = time.strftime("%Y-%m-%dT%H-%M-%S.000Z.mp4", at)
                    os.link(copy, f"{directory}/camera{camera}/{label}")
        place = ["--archive", archive]
        wall, _, memory = measured(self.tributary("index", *place))
        print(f"index of {links} segments: {wall:.2f} s, {memory:.0f} MB")
        queries = {
            "tributary --version": ["--version"],
            "ls": ["ls", "--json", *place],
            "ls of ten minutes": ["ls", "--json", "--from", "2026-01-05T08:00:00Z", "--until",
                                  "2026-01-05T08:10:00Z", *place],
            "ls of a session's ten minutes": [
                "ls", "2026-01-05T00-00-00.000Z", "--json", "--from", "2026-01-05T08:00:00Z",
                "--until", "2026-01-05T08:10:00Z", *place],
        }
        times = {name: [] for name in queries}
        for _ in range(10 * self.runs):
            for name, words in queries.items():
                times[name].append(measured(self.tributary(*words))[0])
        for name, found in times.items():
            show(name, found, "ms", 1000)

    def export(self):
        archive = self.hour()
        files, out, copies = self.files(archive), f"{self.place}/out.mp4", f"{self.place}/copies"
        bytes_ = sum(os.path.getsize(path) for path in files)
        times = {"cp": [], "export": [], "export --faststart": []}
        memory = []
        for _ in range(self.runs):
            shutil.rmtree(copies, ignore_errors=True)
            os.mkdir(copies)
            times["cp"].append(measured(["cp", *files, copies])[0])
            shutil.rmtree(copies)
            for name in ["export", "export --faststart"]:
                words = self.tributary("export", "latest", "-o", out, "--archive", archive)
                wall, _, peak = measured(words + name.split()[1:])
                times[name].append(wall)
                memory.append(peak)
                os.unlink(out)
        print(f"a session of an hour, {bytes_ / 1e9:.2f} GB")
        for name, found in times.items():
            show(name, found)
            if name != "cp":
                shares = [a / b for a, b in zip(found, times["cp"])]
                show(f"{name}, of cp", shares, "")
        short = self.hour(6)
        peak = measured(self.tributary("export", "latest", "-o", out, "--archive", short))[2]
        os.unlink(out)
        print(f"peak memory: {max(memory):.0f} MB for an hour, {peak:.0f} MB for six minutes")

    def replay(self):
        archive = self.hour()
        session, = os.listdir(f"{archive}/sessions")
        directory, whole = f"{archive}/sessions/{session}", f"{self.place}/whole.mp4"
        subprocess.run(self.tributary("export", "latest", "-o", whole, "--archive", archive),
                       check=True, stdout=subprocess.DEVNULL)
        out, other = f"{self.place}/copy.mp4", f"{self.place}/other"
        times = {name: [] for name in ["ffmpeg", "durable", "replay", "sender", "collector"]}
        for run in range(self.runs):
            copy = measured(
                ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", whole, "-c", "copy", out])[0]
            times["ffmpeg"].append(copy)
            times["durable"].append(copy + measured(["sync", out])[0])
            os.unlink(out)
            endpoint = f"ipc://{self.place}/collector-{run}"
            collector = Process([self.collector, "--listen", endpoint, "--archive", other,
                                 "--once", "--segment", "10m"], errors=subprocess.DEVNULL)
            wall, cpu, peak = measured(self.tributary(
                "replay", directory, "--to", endpoint, "--speed", "max", "--keep-time"),
                beside=collector)
            while collector.poll():
                time.sleep(0.001)
            if collector.status != 0:
                sys.exit(f"the collector ended with {collector.status}")
            times["replay"].append(wall)
            times["sender"].append(cpu)
            times["collector"].append(collector.cpu())
            print(f"  run {run + 1}: {wall:.2f} s; memory: sender {peak:.0f} MB, collector "
                  f"{collector.peak_bytes / 1e6:.0f} MB", flush=True)
            shutil.rmtree(other)
        show("ffmpeg -c copy", times["ffmpeg"])
        show("ffmpeg -c copy, then sync", times["durable"])
        show("replay --speed max", times["replay"])
        show("  CPU of the sender", times["sender"])
        show("  CPU of the collector", times["collector"])
        for name, words in [("ffmpeg", "ffmpeg"), ("durable", "ffmpeg and sync")]:
            shares = [a / b for a, b in zip(times["replay"], times[name])]
            show(f"replay, of {words}", shares, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("what", nargs="*", help="catalog, export, replay; all unless given")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="recordings-")
    try:
        bench = Bench(options, place)
        for what in options.what or ["catalog", "export", "replay"]:
            if what not in ("catalog", "export", "replay"):
                sys.exit(f"'{what}' is none of catalog, export, replay")
            getattr(bench, what)()
    finally:
        shutil.rmtree(place)


main()
