#!/usr/bin/env python3
"""Measures what an archive in an object store costs: uploading beside awscli and curl, and what an export fetches.

    Tests/Benchmarks/store.py --binaries .build/release [--only segments,large,clip,requests] [--runs 3]

Stores of one's own run below `--directory` and are removed. See README.md.
"""

import argparse
import http.client
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(PROJECT, "Tests", "Stores")]

import archives
import machine
import workplace
from proxy import Proxy
from shares import Table
from stores import KEYS, Absent, SeaweedFS, presigned

BUCKET = "bench"
SEGMENT = "10m"
CLIP_SECONDS = 20
CLIPS = 5


class Roomy(SeaweedFS):
    """A store with room for several GB."""

    volume_megabytes = 1024
    volumes = 40


class Stage:
    """An empty store."""

    def __init__(self, bench):
        self.bench = bench
        self.directory = tempfile.mkdtemp(prefix="store-", dir=bench.directory)

    def __enter__(self):
        self.store = Roomy(self.directory)
        try:
            self.store.start(os.path.join(PROJECT, ".build", "stores"))
            self.store.make_bucket(BUCKET)
        except BaseException:
            self.__exit__()
            raise
        return self.store

    def __exit__(self, *_):
        self.store.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Cost:
    """A program's processor time, wall time and greatest memory."""

    def __init__(self, words, environment=None):
        began = time.monotonic()
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(words, env=environment, stdout=said, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                raise RuntimeError(f"{words[0]}: {said.read().decode(errors='replace')[-400:]}")
        self.seconds = time.monotonic() - began
        self.cpu = used.ru_utime + used.ru_stime
        self.megabytes = used.ru_maxrss / 1024


def unproven(archive):
    """Removes the records about the store from the disk: the next upload begins from scratch."""
    for folder, _, names in os.walk(os.path.join(archive, "sessions")):
        for name in names:
            if name.endswith((".mp4.json", ".upload")) or name == ".stored":
                os.remove(os.path.join(folder, name))


def push(bench, archive, endpoint):
    unproven(archive)
    return Cost([bench.place.product("tributary"), "store", "push", "--archive", archive, "--store", f"s3://{BUCKET}/archive",
                 "--store-endpoint", endpoint], bench.environment)


def warm(archive):
    """Into the page cache, for each alike: uploads drop what they have read."""
    for path in archives.media_files(archive):
        machine.read_into_cache(f"{archive}/sessions/{path}")


def size_of(archive):
    return sum(os.path.getsize(f"{archive}/sessions/{path}") for path in archives.media_files(archive))


def segments(bench):
    """CPU of uploading the same segments with `tributary store push` and with `aws s3 cp`."""
    if not bench.aws:
        print("segments is left out: awscli is not installed (pip install awscli)", flush=True)
        return None
    archive = bench.archive(SEGMENT)
    gigabytes = size_of(archive) / 1e9
    table = Table("uploading segments of ten minutes",
                  {"own": "tributary", "other": "aws s3 cp", "hashing": "aws s3 cp, SHA-256"}, share=("own", "other"))
    for _ in range(bench.options.runs):
        with Stage(bench) as store:
            warm(archive)
            own = push(bench, archive, store.endpoint)
        # By default awscli has the store compare a CRC. The second has it compare what the product does.
        others = {}
        for name, words in (("other", []), ("hashing", ["--checksum-algorithm", "SHA256"])):
            with Stage(bench) as store:
                warm(archive)
                others[name] = Cost([*bench.aws, "--endpoint-url", store.endpoint, "s3", "cp", "--recursive", "--only-show-errors",
                                     *words, f"{archive}/sessions", f"s3://{BUCKET}/archive"], bench.environment)

        def add(row, goal, of):
            table.add(row, goal, own=of(own), **{name: of(cost) for name, cost in others.items()})

        add("CPU seconds per GB", 0.5, lambda cost: cost.cpu / gigabytes)
        add("seconds per GB", None, lambda cost: cost.seconds / gigabytes)
        add("greatest memory, MB", None, lambda cost: cost.megabytes)
    table.notes.append(f"{gigabytes:.2f} GB in {len(archives.media_files(archive))} segments.")
    return table


def large(bench):
    """Time of uploading one file of 1 GB, beside curl with an address that is signed already: one PUT of all of it."""
    archive = bench.archive("24h")
    (path,) = archives.media_files(archive)
    gigabytes = size_of(archive) / 1e9
    table = Table("one file", {"own": "tributary", "other": "curl -T"}, share=("other", "own"))
    for _ in range(bench.options.runs):
        with Stage(bench) as store:
            warm(archive)
            own = push(bench, archive, store.endpoint)
        with Stage(bench) as store:
            warm(archive)
            other = Cost(["curl", "-sS", "-f", "-H", "Expect:", "-T", f"{archive}/sessions/{path}",
                          presigned("PUT", f"/{BUCKET}/whole.mp4", f"127.0.0.1:{store.port}")])
        table.add("seconds per GB (rate, of curl's: ≥ 0.9)", own=own.seconds / gigabytes, other=other.seconds / gigabytes)
        table.add("CPU seconds per GB", own=own.cpu / gigabytes, other=other.cpu / gigabytes)
        table.add("greatest memory, MB", own=own.megabytes, other=other.megabytes)
    table.notes.append(f"{gigabytes:.2f} GB. In the rows of time, the share is that of rates: curl's seconds by tributary's.")
    return table


def clip(bench):
    """The bytes that an export of 20 s fetches from a bucket with a file of 1 GB."""
    archive = bench.archive("24h")
    seconds = size_of(archive) / os.path.getsize(bench.place.clip) * workplace.CLIP_SECONDS
    with Stage(bench) as store:
        push(bench, archive, store.endpoint)
        proxy = Proxy(store.port)
        table = Table(f"export of {CLIP_SECONDS} s from the store, MB",
                      {"clip": "clip", "fetched": "fetched", "wished": "1.3 × clip + 2 MB", "requests": "requests"})
        try:
            for number in range(CLIPS):
                proxy.forget()
                start = bench.random.uniform(10, seconds - CLIP_SECONDS - 10)
                path = os.path.join(bench.directory, "clip.mp4")
                Cost([bench.place.product("tributary"), "export", archives.SESSION, "--source", "camera", "--start", f"{start:.3f}s",
                      "--duration", f"{CLIP_SECONDS}s", "--archive", f"s3://{BUCKET}/archive", "--store-endpoint",
                      proxy.endpoint, "-o", path], bench.environment)
                size = os.path.getsize(path) / 1e6
                os.remove(path)
                noted = proxy.noted()
                fetched = sum(request.answer_bytes for request in noted) / 1e6
                table.add(f"from {start:.0f} s", ("fetched", 1.3 * size + 2), clip=size, fetched=fetched,
                          wished=1.3 * size + 2, requests=len(noted))
        finally:
            proxy.stop()
    return table


def requests(bench):
    """Requests by their kind: of uploading segments, removing their local copies, and listing."""
    archive = bench.archive(SEGMENT)
    count = len(archives.media_files(archive))
    with Stage(bench) as store:
        proxy = Proxy(store.port)
        table = Table("requests for a segment of ten minutes", {
            "put": "PUT parts", "small": "PUT small", "post": "POST", "head": "HEAD", "get": "GET", "list": "lists",
            "all": "all"})
        try:
            place = ["--archive", archive, "--store", f"s3://{BUCKET}/archive", "--store-endpoint", proxy.endpoint]
            push(bench, archive, proxy.endpoint)
            table.add("uploading", **by_kind(proxy, count))
            copy = os.path.join(bench.directory, "copy")
            shutil.copytree(archive, copy)
            place[1] = copy
            Cost([bench.place.product("tributary"), "store", "forget", *place], bench.environment)
            table.add("removing the local copy", **by_kind(proxy, count))
            shutil.rmtree(copy)
            for words, name in ((["ls"], "ls"), (["verify"], "verify")):
                Cost([bench.place.product("tributary"), *words, "--archive", f"s3://{BUCKET}/archive", "--store-endpoint",
                      proxy.endpoint], bench.environment)
                table.add(name, **by_kind(proxy, count))
        finally:
            proxy.stop()
    table.notes.append(f"{count} segments, {size_of(archive) / 1e9 / count:.2f} GB each; those of the session are divided among them.")
    return table


def by_kind(proxy, count):
    """Requests for each segment since the last time, by kind."""
    kinds = dict.fromkeys(("put", "small", "post", "head", "get", "list", "delete"), 0)
    noted = proxy.noted()
    proxy.forget()
    for request in noted:
        query = urllib.parse.urlsplit(request.path).query
        if request.method == "PUT":
            kinds["put" if "partNumber" in query else "small"] += 1
        elif request.method == "GET" and "list-type" in query:
            kinds["list"] += 1
        else:
            kinds[request.method.lower()] += 1
    return {**{kind: number / count for kind, number in kinds.items()}, "all": len(noted) / count}


PARTS = {"segments": segments, "large": large, "clip": clip, "requests": requests}


class Bench:
    """Prerequisites of every part: the programs, archives of the clip, and credentials of the stores."""

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.place = workplace.Workplace(options.directory, os.path.abspath(options.binaries))
        workplace.need("ffmpeg", "curl")
        self.place.make_clip()
        self.random = random.Random(1)
        self.environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1],
                            "AWS_DEFAULT_REGION": "us-east-1"}
        self.aws = next((words for words in ([shutil.which("aws")], [sys.executable, "-m", "awscli"])
                         if words[0] and subprocess.run([*words, "--version"], capture_output=True).returncode == 0), None)

    def archive(self, segment):
        """1 GB of the clip, again and again."""
        archive = f"{self.directory}/clips-{segment}"
        if not os.path.exists(archive):
            rounds = int(self.options.gigabytes * 1e9 / os.path.getsize(self.place.clip)) + 1
            archives.imported(self.place, archive, self.place.clip, rounds, segment)
        return archive


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release", help="a directory with the built programs")
    parser.add_argument("--runs", type=int, default=3, help="medians are taken over them (3)")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts (all)")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="what is uploaded (1)")
    parser.add_argument("--directory", default=f"{os.environ.get('TMPDIR', '/var/tmp')}/tributary-bench",
                        help="where the clip and what is made for a while go")
    options = parser.parse_args()
    options.only, options.directory = options.only.split(","), os.path.abspath(options.directory)
    for word in options.only:
        if word not in PARTS:
            parser.error(f"'{word}' is none of {', '.join(PARTS)}")
    os.makedirs(options.directory, exist_ok=True)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="store-", dir=options.directory) as directory:
        bench = Bench(options, directory)
        for part in options.only:
            try:
                busy = machine.wait_until_idle(patience=0)
                table = PARTS[part](bench)
                if table:
                    print(f"\n{table.text()}\n", flush=True)
                print(f"{part}: others used {busy:.0%} of the machine when it began.", flush=True)
            except (Absent, OSError, RuntimeError, subprocess.SubprocessError, http.client.HTTPException) as error:
                failures += 1
                print(f"{part}: FAILED: {error}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
