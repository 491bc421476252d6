"""A viewer that sends players to the store for media that is there alone. See README.md."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

from proxy import Proxy
from stores import free_port, set_cors

LIFE_SECONDS = 4
BROWSER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Browser")


class Silent(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(Silent)


def get(address, method="GET", **headers):
    """Status, fields and body; redirects are not followed."""
    request = urllib.request.Request(address, headers=headers, method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def curl(*words):
    return subprocess.run(["curl", "-sS", "-f", "-L", *words], check=True, capture_output=True, timeout=60).stdout


def pictures(address):
    """A hash of all pictures as they are coded. FFmpeg 5.1 reports each time that it cannot reuse a connection for another host."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", address, "-map", "0:v", "-c", "copy", "-f", "streamhash", "-"], check=True,
                          capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


class Viewer:
    """A viewer of a scene's bucket."""

    def __init__(self, scene, endpoint, *words, life=LIFE_SECONDS):
        self.port = free_port()
        self.page = f"http://127.0.0.1:{self.port}"
        self.log = os.path.join(scene.directory, f"there-viewer-{self.port}.log")
        log = open(self.log, "wb")
        self.process = subprocess.Popen(
            [scene.program("tributary-viewer"), "--archive", scene.address, "--store-endpoint", endpoint, "--listen",
             f"127.0.0.1:{self.port}", "--store-redirect", f"{life}s", "--verbose", *words],
            env=scene.environment, cwd=scene.directory, stdout=log, stderr=log)
        log.close()
        end = time.monotonic() + 60
        while True:
            try:
                get(f"{self.page}/healthz")
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        with open(self.log, errors="replace") as log:
            return log.read()


def listed(playlist, base):
    """The first range that a media playlist names: the address, where it begins, how long it is."""
    size, start = re.search(r"#EXT-X-BYTERANGE:(\d+)@(\d+)", playlist).groups()
    name = next(line for line in playlist.splitlines() if line and not line.startswith("#"))
    return base + name, int(start), int(size)


def check(scene, expect):
    session = json.loads(scene.here("ls", "--json"))[-1]["session"]
    proxy = Proxy(scene.store.port)
    viewer = Viewer(scene, proxy.endpoint)
    try:
        base = f"{viewer.page}/hls/{session}/stage/"
        address, start, size = listed(get(f"{base}index.m3u8")[2].decode(), base)
        span = f"bytes={start}-{start + size - 1}"
        status, _, own = get(f"{address}?redirect=no", Range=span)
        expect(status == 206 and len(own) == size, f"the viewer's own range: {status}, {len(own)} bytes")
        status, headers, _ = get(address, Range=span)
        place = headers.get("Location", "")
        expect(status == 307 and place.startswith(f"{proxy.endpoint}/tributary/"), f"no redirect: {status} {place[:60]}")
        expect("no-store" in headers["Cache-Control"], "the redirect may be kept")
        made = time.monotonic()
        # What players do.
        expect(curl("-r", span.removeprefix("bytes="), address) == own, "curl -L gets another range")
        whole = curl(address)
        path = os.path.join(scene.archive, "sessions", session, "stage", address.rsplit("/", 1)[1])
        with open(path, "rb") as file:
            expect(whole == file.read(), "curl -L gets another file")
        status, headers, body = get(place, Range=span)
        expect(status == 206 and body == own and headers["Content-Type"] == "video/mp4", f"at the store: {status}")
        status, headers, _ = get(address, method="HEAD")
        expect(status == 200 and int(headers["Content-Length"]) == len(whole), f"HEAD: {status}")
        # What nobody may do with an address.
        expect(get(place.replace("/stage/", "/door/"))[0] == 403, "another file can be read with it")
        expect(get(place, method="DELETE")[0] == 403, "the file can be deleted with it")
        expect(get(place.replace("X-Amz-Expires=4", "X-Amz-Expires=400"))[0] == 403, "it can be made to live longer")
        expect(get(place[:-1] + ("0" if place[-1] != "0" else "1"))[0] == 403, "its signature is not checked")
        # What the viewer still sends.
        movie = f"{viewer.page}/api/v1/sessions/{session}/sources/stage/media.mp4?from=2&until=5"
        for other in (movie, f"{address.removesuffix('.mp4')}.init.mp4", f"{base}index.m3u8"):
            expect(get(other)[0] == 200, f"{other} is not sent by the viewer")
        expect(get(f"{address}?redirect=yes")[0] == 400, "an unknown redirect is no error")
        policy = get(f"{viewer.page}/")[1]["Content-Security-Policy"]
        expect(f"connect-src 'self' {proxy.endpoint};" in policy, f"the page may not ask the store: {policy}")
        export = os.path.join(scene.directory, "there-all.mp4")
        scene.here("export", session, "--source", "stage", "-o", export)
        expect(pictures(f"{base}index.m3u8") == pictures(export), "ffmpeg reads other pictures over HLS")
        browser = watch(scene, viewer.page, session, proxy, expect)
        time.sleep(max(0, made + LIFE_SECONDS + 1.5 - time.monotonic()))
        expect(get(place, Range=span)[0] == 403, "it does not expire")
    finally:
        said = viewer.stop()
        proxy.stop()
    expect("X-Amz" not in said, "an address is in the log")
    rights(scene, session, expect)
    return f"a range of {size} bytes and a file of {len(whole)} from the store, 5 misuses refused; {browser}"


def rights(scene, session, expect):
    """Whoever may not see a source gets no address of it."""
    users = os.path.join(scene.directory, "there-users")
    tokens = {}
    for name, source in (("anna", "stage"), ("eve", "door")):
        said = scene.run("tributary-viewer", "users", "add", name, "--token", "--sources", source, "--users", users)
        tokens[name] = re.findall(r"\S{20,}", said)[-1]
    viewer = Viewer(scene, scene.store.endpoint, "--users", users)
    try:
        base = f"{viewer.page}/hls/{session}/stage/"
        allowed = {"Authorization": f"Bearer {tokens['anna']}"}
        address, start, size = listed(get(f"{base}index.m3u8", **allowed)[2].decode(), base)
        expect(get(address, **allowed)[0] == 307, "no redirect for who may see it")
        for headers, wanted in (({}, 401), ({"Authorization": f"Bearer {tokens['eve']}"}, 404)):
            status, fields, _ = get(address, **headers)
            expect(status == wanted and "Location" not in fields, f"{status} instead of {wanted}")
        # curl does not send the token to another host.
        expect(len(curl("-r", f"{start}-{start + size - 1}", "-H", f"Authorization: Bearer {tokens['anna']}", address)) == size,
               "with a token, curl -L gets nothing")
    finally:
        said = viewer.stop()
        os.remove(users)
    expect("X-Amz" not in said, "an address is in the log of a viewer with accounts")


def watch(scene, page, session, proxy, expect):
    """Plays in Chromium, before the bucket has a rule for the page's origin and after."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    counts = []
    for has_rule in (False, True):
        if has_rule and not set_cors(scene.store.port, "tributary", page):
            return "the store has no CORS rules"
        proxy.forget()
        # Whether a store without rules lets everybody in depends on the store. Ceph's lets nobody, and the viewer sends the bytes.
        words = [] if has_rule else ["--refused", proxy.endpoint]
        done = subprocess.run(
            [sys.executable, os.path.join(BROWSER, "playback.py"), "--page", page, "--session", session, "--count", "2", *words],
            capture_output=True, text=True, timeout=240)
        expect(done.returncode == 0, f"Chromium, rule {has_rule}: {done.stdout[-600:]}{done.stderr[-300:]}")
        counts.append(sum(request.status == 206 and "X-Amz-Signature" in request.path
                          and "hrom" in request.headers.get("user-agent", "") for request in proxy.noted()))
    expect(counts[1] > 0, "Chromium has not fetched from the store")
    return f"Chromium plays without a CORS rule ({counts[0]} ranges of the store) and with one ({counts[1]})"
