"""Measures how recordings are served: CPU time beside nginx, and how long answers take."""

import http.client
import os
import random
import subprocess
import time

import archives
import machine
import servers
from shares import Table, percentile

RANGE_BYTES = 4_000_000
LONG_HOURS = 10
COVERED_HOURS, COVERED_SOURCES = 24, 64
CLIP_SECONDS = 60  # of media.mp4 that is asked for at a random time
# Both have hardware for it, and would choose differently.
CIPHER = "TLS_AES_128_GCM_SHA256"
PROTOCOLS = {  # scheme, curl's option, wished share of nginx
    "HTTP": ("http", "http1.1", 2.0), "TLS": ("https", "http1.1", 1.5), "TLS, HTTP/2": ("https", "http2", 1.5),
}


def serve(bench):
    """CPU seconds per GB of the viewer and of nginx, which serves the same file with sendfile."""
    program, _ = servers.find_nginx(bench.place)
    if not program:
        print("serve is left out: nginx is not installed", flush=True)
        return None
    table = Table(
        "CPU seconds per GB", {"viewer": "viewer", "nginx": "nginx"}, share=("viewer", "nginx"))
    archive = archives.session_of_clip(bench.place, bench.directory, bench.options.gigabytes)
    (path,) = archives.media_files(archive)
    size = os.path.getsize(f"{archive}/sessions/{path}")
    machine.read_into_cache(f"{archive}/sessions/{path}")
    certificate = servers.make_certificate(bench.directory)
    movie = f"/api/v1/sessions/{archives.SESSION}/sources/camera/media.mp4"
    ways = {"whole file": (f"/hls/{path}", False), f"ranges of {RANGE_BYTES // 10**6} MB": (f"/hls/{path}", True),
            "media.mp4": (movie, False)}
    with servers.Stage(bench.place, bench.directory) as stage:
        viewers = {"http": stage.viewer(archive), "https": stage.viewer(archive, certificate)}
        plain, secure, second = (servers.free_port() for _ in range(3))
        nginx = stage.nginx(program, [], web(bench.directory, archive, certificate, plain, secure, second),
                            [plain, secure, second])
        ports = {"HTTP": plain, "TLS": secure, "TLS, HTTP/2": second}
        for _ in range(bench.options.runs):
            for protocol, (scheme, version, goal) in PROTOCOLS.items():
                others = {}
                for way, (address, in_ranges) in ways.items():
                    ranges = RANGE_BYTES if in_ranges else None
                    viewer, port = viewers[scheme]
                    own = transfer(viewer, f"{scheme}://127.0.0.1:{port}{address}", version, size, ranges)
                    # media.mp4 is not a file: what nginx needs for the file stands beside it.
                    if ranges not in others:
                        others[ranges] = transfer(
                            nginx, f"{scheme}://127.0.0.1:{ports[protocol]}/{path}", version, size, ranges)
                    table.add(f"{protocol}, {way}", goal, viewer=own, nginx=others[ranges])
    table.notes.append(f"One file of {size / 1e9:.2f} GB in the page cache; one request at a time.")
    return table


def web(directory, archive, certificate, plain, secure, second):
    """nginx as it serves files: over HTTP, over TLS, and over TLS with HTTP/2."""
    chain, key = certificate
    scratch = "".join(
        f"{name}_temp_path {directory}/nginx-{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
        http {{
            access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000; root {archive}/sessions;
            ssl_certificate {chain}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;
            {scratch}
            server {{ listen 127.0.0.1:{plain}; }}
            server {{ listen 127.0.0.1:{secure} ssl; }}
            server {{ listen 127.0.0.1:{second} ssl http2; }}
        }}
        """


def transfer(server, address, version, size, range_bytes):
    """CPU seconds per GB of a server that curl fetches a file from, on one connection."""
    common = [f'url = "{address}"', 'output = "/dev/null"', "insecure", "fail", "silent", "show-error", version,
              f'tls13-ciphers = "{CIPHER}"', 'write-out = "%{size_download} %{http_version} %{num_connects}\\n"']
    blocks = [
        "\n".join([*common, f'range = "{start}-{min(size, start + range_bytes) - 1}"'])
        for start in range(0, size, range_bytes)] if range_bytes else ["\n".join(common)]
    cpu = server.cpu()
    lines = curl(blocks)
    cpu = server.cpu() - cpu
    total = sum(int(count) for count, _, _ in lines)
    # media.mp4 has an index of its own in front of the same media.
    if not size * 0.98 <= total <= size * 1.02:
        raise RuntimeError(f"{address}: {total} bytes instead of {size}")
    spoken = {word for _, word, _ in lines}
    if spoken != {version.removeprefix("http")}:
        raise RuntimeError(f"{address}: HTTP/{', '.join(sorted(spoken))} was spoken in place of {version}")
    return cpu / (total / 1e9)


def curl(blocks):
    """Makes a number of requests on one connection; bytes, version of HTTP and new connections of each."""
    outcome = subprocess.run(
        ["curl", "--fail-early", "-K", "-"], input="\nnext\n".join(blocks), capture_output=True, text=True)
    if outcome.returncode:
        raise RuntimeError(f"{outcome.stderr.strip()} ({blocks[0].splitlines()[0]})")
    lines = [line.split() for line in outcome.stdout.splitlines()]
    if sum(int(count) for _, _, count in lines) != 1:
        raise RuntimeError(f"more than one connection ({blocks[0].splitlines()[0]})")
    return lines


def latency(bench):
    """The time of answers, one at a time on a persistent connection."""
    table = Table("time of an answer", {"first": "first, ms", "half": "p50, ms", "most": "p99, ms"})
    hours = archives.session_of_hours(bench.place, bench.directory, LONG_HOURS)
    many = archives.session_of_sources(bench.place, bench.directory, COVERED_HOURS, COVERED_SOURCES)
    clips = archives.session_of_clip(bench.place, bench.directory, 0.1)
    for run in range(bench.options.runs):
        chance = random.Random(run)
        session, source = f"/api/v1/sessions/{archives.SESSION}", f"/api/v1/sessions/{archives.SESSION}/sources/camera"
        end = LONG_HOURS * 3600 - CLIP_SECONDS

        def clip():
            start = chance.uniform(0, end)
            return f"{source}/media.mp4?from={start:.3f}&until={start + CLIP_SECONDS:.3f}"

        with Asking(bench, hours) as asking:
            size = asking.size(f"{source}/media.mp4")
            asking.row(table, f"playlist of {LONG_HOURS} h, all of it", ("half", 20), whole=True,
                       path=lambda: f"/hls/{archives.SESSION}/camera/index.m3u8")
            asking.row(table, f"media.mp4, {CLIP_SECONDS} s at a random time, first byte", ("half", 30), path=clip)
            asking.row(table, f"media.mp4 of {LONG_HOURS} h, a random range, first byte", ("half", 30),
                       path=lambda: f"{source}/media.mp4",
                       headers=lambda: {"Range": f"bytes={(at := chance.randrange(size - 65536))}-{at + 65535}"})
        with Asking(bench, many) as asking:
            name = f"coverage of {COVERED_HOURS} h, {COVERED_SOURCES} sources"
            asking.row(table, name, ("half", 50), whole=True, path=lambda: f"{session}/coverage")
            asking.row(table, f"{name}, with `from` and `until`", ("half", 50), whole=True,
                       path=lambda: f"{session}/coverage?from=0&until={COVERED_HOURS * 3600}")
        with Asking(bench, clips) as asking:
            asking.row(table, "picture.jpg at a random time, 720p to 320 wide", whole=True,
                       path=lambda: f"{source}/picture.jpg?width=320&at={chance.uniform(1, 180):.3f}")
    table.notes.append(
        f"{bench.options.requests} requests of each in a run, after the first of a viewer that has just started.")
    return table


class Asking:
    """A viewer of an archive, and a connection to it."""

    def __init__(self, bench, archive):
        self.bench, self.archive = bench, archive

    def __enter__(self):
        self.stage = servers.Stage(self.bench.place, self.bench.directory)
        try:
            _, port = self.stage.viewer(self.archive)
        except BaseException:
            self.stage.close()
            raise
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.stage.close()

    def size(self, path):
        self.connection.request("HEAD", path)
        answer = self.connection.getresponse()
        answer.read()
        return int(answer.headers["Content-Length"])

    def ask(self, path, headers, whole):
        """Seconds until the first byte of the body, or the last."""
        start = time.perf_counter()
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        answer.read(1)
        first = time.perf_counter() - start
        answer.read()
        if answer.status not in (200, 206):
            raise RuntimeError(f"{path} is answered with {answer.status}")
        return time.perf_counter() - start if whole else first

    def row(self, table, name, goal=None, *, path, headers=dict, whole=False):
        times = [1000 * self.ask(path(), headers(), whole) for _ in range(1 + self.bench.options.requests)]
        table.add(name, goal, first=times[0], half=percentile(times[1:], 0.5), most=percentile(times[1:], 0.99))
