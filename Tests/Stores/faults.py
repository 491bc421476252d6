"""A collector records with `--store` while the store, or the way to it, fails in each way in turn. See README.md."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

from proxy import Proxy
from stores import free_port, object_size

# In this order: what takes longest comes last, so that its segments are not waited for by others.
FAULTS = ("cut", "short", "error", "busy", "full", "revoked", "clock", "gone", "away", "flipped", "late")
SEGMENT_SECONDS = 4
# A fault lasts until it was met and said, and at least for a segment.
LEAST_SECONDS = SEGMENT_SECONDS + 1
MOST_SECONDS = 150
LOOK_SECONDS = 0.25
# A collector whose recording is not disturbed is never later than this.
GREATEST_LAG = 1.0
AGAIN = "the store can be used again"


class Recording:
    """A collector that uploads through a proxy, two agents, and what is seen of them meanwhile."""

    def __init__(self, scene, archive, address, clip):
        self.scene, self.archive, self.address = scene, archive, address
        self.proxy = Proxy(scene.store.port)
        self.status_port = free_port()
        self.log = os.path.join(scene.directory, "faults.log")
        self.running = []
        # The lags that were seen, and whether they count: not while agents begin and end.
        self.lags, self.is_counting = [], False
        self.status = {}
        self.sizes = {}
        self.unproven = []
        self.stopping = threading.Event()
        endpoint = f"ipc://{scene.directory}/faults-in"
        self.start("tributary-collector", "--archive", archive, "--segment", f"{SEGMENT_SECONDS}s", "--once", "--listen",
                   endpoint, "--store", address, "--store-endpoint", self.proxy.endpoint, "--keep-local", "1s", "--http",
                   f"127.0.0.1:{self.status_port}")
        for name, video in (("stage", ["test", "--audio", "test"]), ("noise", [f"file:{clip}", "--loop", "--encoder", "copy"])):
            self.start("tributary-agent", "--source", name, "--collector", endpoint, "--spool",
                       f"{scene.directory}/faults-spool-{name}", "--batch", "100ms", "--keyframe-interval", "1s", "--video", *video)
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def start(self, program, *words):
        log = open(self.log if program == "tributary-collector" else f"{self.log}.agents", "ab")
        self.running.append(subprocess.Popen([self.scene.program(program), *words], stdout=log, stderr=log,
                                             cwd=self.scene.directory, env=self.scene.environment))
        log.close()

    def said(self, place=0):
        """The lines of the collector's log that are about the store, from this byte on."""
        with open(self.log, "rb") as log:
            log.seek(place)
            lines = log.read().decode(errors="replace").splitlines()
        return [line.strip() for line in lines if self.address in line or AGAIN in line]

    def complaints(self, place):
        """Those of them that say what is wrong."""
        return [line for line in self.said(place) if AGAIN not in line]

    # Looking

    def watch(self):
        """Looks at the lag, and at what leaves the disk: the store must have it then."""
        while not self.stopping.wait(LOOK_SECONDS):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/status", timeout=10) as answer:
                    self.status = json.load(answer)
            except OSError:
                # It is starting, or has ended.
                continue
            if self.is_counting:
                self.lags += [source["lagSeconds"] for source in self.status["sources"] if source.get("lagSeconds") is not None]
            self.look_at_disk()

    def look_at_disk(self):
        present = {}
        for folder, _, names in os.walk(os.path.join(self.archive, "sessions")):
            for name in names:
                if name.endswith(".mp4"):
                    path = os.path.join(folder, name)
                    try:
                        present[path] = os.path.getsize(path)
                    except FileNotFoundError:
                        pass
        for path in set(self.sizes) - set(present):
            key = os.path.relpath(path, os.path.join(self.archive, "sessions"))
            size = self.sizes.pop(path)
            place = f"/{self.address.removeprefix('s3://')}/{key}"
            # Files grow until they are finished, and only finished ones may go.
            if (object_size(self.scene.store.port, place) or -1) < size or not object_size(self.scene.store.port, f"{place}.json"):
                self.unproven.append(key)
        self.sizes.update(present)

    def stored(self):
        return (self.status.get("store") or {}).get("storedSegments", 0)

    # Failing

    def until(self, done, seconds, what):
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come within {seconds} s; the log: {' | '.join(self.said()[-4:])}")
            time.sleep(LOOK_SECONDS)

    def suffer(self, fault):
        """Has a fault until it was met and is said, and then until all is well again. What was said of it is returned."""
        # Where the log ended when the first request met the fault: lines before that are of the one before.
        place = []
        self.proxy.fail(fault, lambda: place.append(os.path.getsize(self.log)))
        began = time.monotonic()
        self.until(lambda: place, MOST_SECONDS, f"a request that meets '{fault}'")
        self.until(lambda: self.complaints(place[0]) and time.monotonic() - began > LEAST_SECONDS, MOST_SECONDS,
                   f"a line about '{fault}'")
        self.proxy.fail(None)
        stored, lines = self.stored(), self.complaints(place[0])
        self.until(lambda: self.stored() > stored + 1 and not (self.status.get("store") or {}).get("trouble"), MOST_SECONDS,
                   f"a segment after '{fault}'")
        return lines

    # Ending

    def finish(self, patience):
        """Ends the agents, and waits until the collector has uploaded everything."""
        for agent in self.running[1:]:
            agent.send_signal(signal.SIGTERM)
        for process in self.running[1:] + self.running[:1]:
            if process.wait(patience):
                with open(self.log, errors="replace") as log:
                    raise AssertionError(f"{process.args[0]} ended with {process.returncode}: {log.read()[-800:]}")

    def stop(self):
        self.stopping.set()
        self.proxy.stop()
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.watcher.join(10)


def made(requests):
    """The number of times that each object was created, by its path."""
    counts = {}
    for request in requests:
        path, _, query = request.path.partition("?")
        whole = request.method == "PUT" and "partNumber" not in query
        joined = request.method == "POST" and "uploadId" in query
        if (whole or joined) and request.status == 200 and path.endswith(".mp4"):
            counts[path] = counts.get(path, 0) + 1
    return counts


def make_clip(path):
    """Noise of 20 Mbit/s: segments of several parts."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=12,noise=alls=80:allf=t",
                    "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-b:v", "20M", "-minrate", "20M", "-maxrate", "20M",
                    "-bufsize", "10M", path], check=True)
    return path


def check(scene, expect, patience):
    clip = make_clip(os.path.join(scene.directory, "faults.mp4"))
    archive, name = os.path.join(scene.directory, "faulty"), f"{scene.store.name}-faults"
    address = f"s3://tributary/{name}"
    recording = Recording(scene, archive, address, clip)
    try:
        recording.until(lambda: recording.stored() >= 2, patience, "the first segment")
        recording.is_counting = True
        for fault in FAULTS:
            # One line that says so. Flipped bits are of one file: each file that they have hit three times is said.
            trouble = recording.suffer(fault)
            expect(len(trouble) == 1 or fault == "flipped", f"{fault}: {len(trouble)} lines: {' | '.join(trouble)}")
        recording.is_counting = False
        recording.finish(patience)
        requests = recording.proxy.noted()
    finally:
        recording.stop()
    expect(not recording.unproven, f"left the disk without proof: {recording.unproven}")
    twice = {path: count for path, count in made(requests).items() if count != 1}
    expect(not twice, f"made more than once: {twice}")
    options = ("--archive", archive, "--store", address, "--store-endpoint", scene.store.endpoint)
    scene.run("tributary", "store", "verify", "--read", *options)
    bucket = ("--archive", address, "--store-endpoint", scene.store.endpoint)
    for place in (options, bucket):
        scene.run("tributary", "verify", *place)
        shown = json.loads(scene.run("tributary", "show", "latest", "--json", *place))
        expect(len(shown["sources"]) == 2, "a source is missing")
        for source in shown["sources"]:
            expect(source["lostSamples"] == 0, f"{source['name']} has lost {source['lostSamples']} samples")
    segments = json.loads(scene.run("tributary", "ls", "--json", *bucket))[-1]["segments"]
    expect(segments == len(made(requests)), f"{segments} segments, and {len(made(requests))} were made")
    late = sorted(recording.lags)
    expect(late and late[-1] < GREATEST_LAG, f"the lag was up to {late[-1] if late else None} s")
    met = {fault: sum(request.fault == fault for request in requests) for fault in FAULTS}
    expect(all(met.values()), f"faults that no request met: {', '.join(fault for fault in FAULTS if not met[fault])}")
    shutil.rmtree(archive)
    return (f"{len(FAULTS)} faults met {sum(met.values())} of {len(requests)} requests; {segments} segments, each made once; "
            f"lag up to {late[-1]:.2f} s in {len(late)} looks; said once each, met: "
            + ", ".join(f"{fault} {count}" for fault, count in met.items()))
