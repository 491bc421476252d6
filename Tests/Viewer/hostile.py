"""Many connections that take their time, and requests of strangers. Parts of `run`, behind --hostile."""

import asyncio
import gzip
import http.client
import json
import os
import resource
import socket
import struct
import subprocess
import threading
import time
import urllib.parse
import urllib.request

CONNECTIONS = 1_000
SECONDS = 30
# What a connection may cost, bytes.
MAXIMUM_MEMORY = 1 << 20


class Flaw(Exception):
    pass


def expect(truth, text):
    if not truth:
        raise Flaw(text)


def status(pid, name):
    """A number of /proc/PID/status, bytes where it is kB."""
    with open(f"/proc/{pid}/status") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                words = line.split()
                return int(words[1]) * (1024 if words[-1] == "kB" else 1)
    raise Flaw(f"no {name} in /proc/{pid}/status")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


# MARK: Many connections


class Crowd:
    """Connections of four kinds; each reports how long it was kept."""

    def __init__(self, address, media):
        self.host, self.port = address.hostname, address.port
        self.media = media
        self.kept = {"media": [], "live": [], "unfinished": [], "silent": []}
        self.refused = 0

    async def connect(self):
        # What the kernel takes in is not the viewer's to hold; a small buffer fills soon.
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (self.host, self.port))
        return await asyncio.open_connection(sock=sock, limit=1_024)

    async def one(self, kind, until):
        try:
            reader, writer = await self.connect()
        except OSError:
            self.refused += 1
            return
        began = time.monotonic()
        path = {"media": self.media, "live": "/api/v1/live"}.get(kind)
        if path:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
        elif kind == "unfinished":
            writer.write(b"GET / HTTP/1.1\r\n")
        try:
            while time.monotonic() < until:
                await asyncio.sleep(1)
                if kind == "unfinished":
                    writer.write(b"X-More: 1\r\n")
                    await writer.drain()
                if kind == "live" and time.monotonic() < until - 2:
                    continue
                try:
                    taken = await asyncio.wait_for(reader.read(64), 0.5)
                except asyncio.TimeoutError:
                    continue
                if not taken:
                    break
        except OSError:
            pass
        self.kept[kind].append(time.monotonic() - began)
        writer.close()

    async def come(self, count, seconds):
        until = time.monotonic() + seconds
        kinds = ["media", "media", "live", "unfinished", "silent"]
        await asyncio.gather(*(self.one(kinds[number % len(kinds)], until) for number in range(count)))


class Neighbour(threading.Thread):
    """A legitimate client that makes requests meanwhile, and watches live."""

    def __init__(self, base):
        super().__init__(daemon=True)
        self.base = base
        self.slowest, self.asked, self.lags = 0.0, 0, []
        self.flaw = None
        self.ends = threading.Event()

    def run(self):
        watching = threading.Thread(target=self.watch, daemon=True)
        watching.start()
        try:
            while not self.ends.wait(0.5):
                for path in ("/healthz", "/api/v1/sessions?limit=1"):
                    began = time.monotonic()
                    urllib.request.urlopen(self.base + path, timeout=30).read()
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    self.asked += 1
        except OSError as error:
            self.flaw = f"a request was not answered: {error}"
        watching.join(10)

    def watch(self):
        try:
            with urllib.request.urlopen(f"{self.base}/api/v1/live?sources=stage", timeout=30) as answer:
                while not self.ends.is_set():
                    head, body = struct.unpack(">II", answer.read(8))
                    header = json.loads(answer.read(head))
                    answer.read(body)
                    if header["type"] == "media":
                        self.lags.append(header["lagSeconds"])
        except (OSError, struct.error) as error:
            self.flaw = self.flaw or f"live pictures ended: {error}"


def crowd(site):
    """1,000 connections that read slowly, never, or do not finish their request."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 4 * CONNECTIONS), limit[1]))
    finished = site.session
    viewer = site.viewer.pid
    collector = site.collect()
    agent = site.capture("stage")
    time.sleep(4)
    neighbour = Neighbour(site.base)
    neighbour.start()
    time.sleep(2)
    memory, files = status(viewer, "VmRSS"), descriptors(viewer)
    # The peak begins anew (proc(5), clear_refs).
    with open(f"/proc/{viewer}/clear_refs", "w") as file:
        file.write("5")
    visitors = Crowd(
        urllib.parse.urlparse(site.base), f"/api/v1/sessions/{finished}/sources/stage/media.mp4")
    asyncio.run(visitors.come(CONNECTIONS, SECONDS))
    peak = status(viewer, "VmHWM")
    neighbour.ends.set()
    neighbour.join(20)
    session = site.session
    for process in (agent, collector):
        process.terminate()
        process.wait(60)
    expect(site.viewer.poll() is None, "the viewer has ended")
    expect(visitors.refused == 0, f"{visitors.refused} connections were refused")
    for kind in ("unfinished", "silent"):
        longest = max(visitors.kept[kind])
        expect(longest < 20, f"a connection of the kind '{kind}' was kept for {longest:.0f} s")
    expect(neighbour.flaw is None, neighbour.flaw)
    expect(neighbour.asked > SECONDS, f"only {neighbour.asked} requests were answered meanwhile")
    expect(neighbour.slowest < 5, f"an answer took {neighbour.slowest:.1f} s")
    expect(len(neighbour.lags) > SECONDS, "live pictures did not come")
    lags = sorted(neighbour.lags)
    late = lags[int(len(lags) * 0.99)]
    expect(late < 1, f"the collector was {late:.2f} s late")
    each = (peak - memory) / CONNECTIONS
    expect(each < MAXIMUM_MEMORY, f"a connection costs {each / 1024:.0f} kB")
    end = time.monotonic() + 30
    while descriptors(viewer) > files + 20 and time.monotonic() < end:
        time.sleep(0.5)
    expect(descriptors(viewer) <= files + 20, f"{descriptors(viewer)} descriptors are open, {files} were before")
    site.tributary("verify", session)
    return (f"{CONNECTIONS} connections; slowest answer {neighbour.slowest * 1e3:.0f} ms, collector p99 "
            f"{late * 1e3:.0f} ms late, {each / 1024:.0f} kB for each connection")


# MARK: Strangers


def ask(address, method, path, headers, body=None):
    """Status and text of an answer; the request is sent as it is."""
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": address.netloc, **headers}
        if body is not None:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, b"" if method == "HEAD" else answer.read()
    finally:
        connection.close()


def strangers(site):
    """Requests that must be refused, in one line, and never with a status of 500 or above."""
    users = os.path.join(site.directory, "users")
    token = subprocess.run(
        [os.path.join(site.binaries, "tributary-viewer"), "users", "add", "anna", "--token", "--users", users],
        check=True, capture_output=True, text=True).stdout.strip()
    before, other = site.base, site.viewer
    site.view("--users", users)
    address = urllib.parse.urlparse(site.base)
    session = site.session
    movie = f"/api/v1/sessions/{session}/sources/stage/media.mp4"
    own = {"Authorization": f"Bearer {token}"}
    form = {"Content-Type": "application/json"}
    login = "/api/v1/login"
    bomb = gzip.compress(bytes(6 << 20))
    expect(len(bomb) < 8_000, "the bomb is larger than a body may be")
    ranges = "bytes=" + ",".join(f"{number}-{number}" for number in range(1_000))
    cases = [
        ("GET", "/api/v1/sessions", {}, None, {401}),
        ("GET", "/api/v1/sessions", {"Cookie": "tributary=AAAA.AAAA; __Host-tributary=AAAA.AAAA"}, None, {401}),
        ("GET", "/api/v1/sessions", {"Cookie": "tributary=" + "A" * 4_000}, None, {401}),
        ("GET", "/api/v1/sessions", {"Authorization": "Bearer no"}, None, {401}),
        ("GET", f"{movie}?expires=1&signature=AAAA", {}, None, {403}),
        ("GET", f"{movie}?expires=99999999999&signature={'A' * 43}", {}, None, {403}),
        ("GET", "/api/v1/sessions/..%2F..%2Fetc/segments", own, None, {404}),
        ("GET", "/api/v1/sessions/../../etc/passwd", own, None, {404}),
        ("GET", f"/hls/{session}/..%2F..%2Fstage/index.m3u8", own, None, {404}),
        ("GET", f"/hls/{session}/stage/..%2Fledger.jsonl", own, None, {404}),
        ("GET", f"/hls/{session}/stage/ledger.jsonl", own, None, {404}),
        ("GET", "/page/..%2F..%2F..%2Fetc%2Fpasswd", {}, None, {404}),
        ("GET", "/api/v1/exports/..%2F..%2Fetc%2Fpasswd/file", own, None, {404}),
        ("GET", movie, {**own, "Range": ranges}, None, {200}),
        ("GET", movie, {**own, "Range": "bytes=0-" + "9" * 40}, None, {206}),
        ("GET", movie, {**own, "Range": "bytes=" + "9" * 40 + "-"}, None, {416}),
        # Ranges are of GET alone (RFC 9110 §14.2).
        ("HEAD", movie, {**own, "Range": "bytes=" + "9" * 40 + "-"}, None, {200}),
        ("GET", f"{movie}?from=1e999", own, None, {400}),
        ("GET", f"/api/v1/sessions/{session}/coverage?pixels=999999999999999999999", own, None, {400}),
        ("POST", login, {**form, "Content-Encoding": "gzip"}, bomb, {400, 415}),
        ("POST", login, form, b"[" * 8_000, {400}),
        ("POST", login, form, b'{"name": "' + b"a" * 9_000 + b'", "password": "x"}', {413}),
        ("POST", login, {"Content-Type": "text/plain"}, b"{}", {415}),
        ("POST", login, {**form, "Origin": "http://other.example"}, b'{"name":"anna","password":"x"}', {403}),
        ("POST", login, {**form, "Sec-Fetch-Site": "cross-site"}, b'{"name":"anna","password":"x"}', {403}),
        ("GET", "/healthz", {"Host": "other.example"}, None, {421}),
        ("GET", "/", {"Host": "other.example"}, None, {421}),
        ("DELETE", f"/api/v1/sessions/{session}", own, None, {403}),
        ("POST", f"/api/v1/sessions/{session}/stop", own, None, {403}),
        ("GET", "/metrics", own, None, {403}),
    ]
    try:
        for method, path, headers, body, wanted in cases:
            name = f"{method} {path[:80]} {str(headers)[:80]}"
            try:
                code, text = ask(address, method, path, headers, body)
            except (OSError, http.client.HTTPException) as error:
                raise Flaw(f"{name}: {error}")
            expect(code in wanted, f"{name}: {code} {text[:200]!r}")
            if code >= 400:
                expect(text.count(b"\n") <= 1 and len(text) < 1_000, f"{name}: {text[:200]!r}")
        code, _ = ask(address, "GET", "/api/v1/sessions", own)
        expect(code == 200 and site.viewer.poll() is None, "it does not answer any more")
    finally:
        site.viewer.terminate()
        site.viewer.wait(60)
        site.base, site.viewer = before, other
    return f"{len(cases)} requests, each refused in one line or harmless"


# MARK: Many requests


def requests(site):
    """curl 7.88 resets each stream of HTTP/2 after its answer, and must keep its connection all the same."""
    count = 400
    key, chain = (os.path.join(site.directory, name) for name in ("key.pem", "chain.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", chain],
        check=True, capture_output=True)
    before, other = site.base, site.viewer
    site.view("--tls-certificate", chain, "--tls-key", key)
    try:
        outcome = subprocess.run(
            ["curl", "-s", "--http2", "--cacert", chain, "-o", "/dev/null", "-w", "%{http_code} %{http_version} %{num_connects}\n",
             f"{site.base}/healthz?[1-{count}]"], capture_output=True, text=True, timeout=120)
        lines = [line.split() for line in outcome.stdout.splitlines()]
        right = [line for line in lines if line[:2] == ["200", "2"]]
        expect(len(right) == count, f"{len(right)} of {count} requests were answered over HTTP/2; curl ended with {outcome.returncode}")
        connections = sum(int(line[2]) for line in lines)
        expect(connections == 1, f"curl needed {connections} connections")
    finally:
        site.viewer.terminate()
        site.viewer.wait(60)
        site.base, site.viewer = before, other
    return f"{count} requests of curl on one connection"
