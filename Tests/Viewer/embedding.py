"""`/embed/SOURCE`: allowed frames, and access by links. A part of `run`."""

import json
import os
import re
import struct
import subprocess
import time
import urllib.error
import urllib.request

from rtsp import expect


def ask(base, path, authorization=None, body=None):
    """Status, headers and the first bytes."""
    headers = {"Authorization": authorization} if authorization else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(base + path, headers=headers, data=body and json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read(65_536) if "/api/v1/live?" not in path else answer.read(8)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def embed(site):
    collector = site.collect("--once")
    agents = [site.capture(name, "--duration", "30s") for name in ("stage", "door")]
    time.sleep(4)
    users = os.path.join(site.directory, "embed-users")
    made = subprocess.run(
        [os.path.join(site.binaries, "tributary-viewer"), "users", "add", "pages", "--token", "--users", users],
        capture_output=True, text=True, cwd=site.directory)
    expect(made.returncode == 0, made.stderr)
    token = re.search(r"[A-Za-z0-9_-]{43}", made.stdout).group(0)
    process, log = site.start(
        "tributary-viewer", "--archive", site.archive, "--listen", "0", "--users", users, "--state", site.directory,
        "--embed-origin", "https://pages.example")
    base, end = None, time.monotonic() + 30
    while not base and time.monotonic() < end:
        found = re.search(rb"watch at (http://\S+?)/\n", open(log.name, "rb").read())
        base = found and found.group(1).decode()
        time.sleep(0.05)
    expect(base, "the second viewer did not start")
    status, headers, page = ask(base, "/embed/stage")
    expect(status == 200 and b"embed.js" in page, f"the page is answered with {status}")
    expect(headers["Content-Security-Policy"].endswith("frame-ancestors https://pages.example"), "the page's policy")
    expect(headers["Referrer-Policy"] == "no-referrer", "the page's referrer")
    expect(ask(base, "/live")[1]["Content-Security-Policy"].endswith("frame-ancestors 'none'"), "other pages' policy")
    status, _, text = ask(base, "/api/v1/links", f"Bearer {token}", {"address": "/embed/stage", "seconds": 600})
    expect(status == 201, f"a link is answered with {status}: {text}")
    link = json.loads(text)["address"]
    status, _, frame = ask(base, "/api/v1/live?sources=stage", f"Link {link}")
    expect(status == 200 and struct.unpack(">I", frame[:4])[0] > 0, f"the live source is answered with {status}")
    status, _, picture = ask(base, "/api/v1/live/stage/picture.jpg", f"Link {link}")
    expect(status == 200 and picture[:2] == b"\xff\xd8", f"the newest picture is answered with {status}")
    for path in ("/api/v1/live?sources=door", "/api/v1/live/door/picture.jpg"):
        expect(ask(base, path, f"Link {link}")[0] in (403, 404), f"{path} of another source")
    for path in ("/api/v1/sessions", "/api/v1/account", f"/api/v1/sessions/{site.session}"):
        expect(ask(base, path, f"Link {link}")[0] == 403, f"{path} with a link")
    expect(ask(base, "/api/v1/live?sources=stage", f"Link {link[:-1]}")[0] == 403, "a link that was changed")
    expect(ask(base, "/api/v1/live?sources=stage")[0] == 401, "nobody")
    # Its account revokes the link: the streaming response ends, too.
    request = urllib.request.Request(f"{base}/api/v1/live?sources=stage", headers={"Authorization": f"Link {link}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read(8)
        [own] = json.loads(ask(base, "/api/v1/links", f"Bearer {token}")[2])
        ended = urllib.request.Request(
            f"{base}/api/v1/links/{own['id']}", method="DELETE", headers={"Authorization": f"Bearer {token}"})
        urllib.request.urlopen(ended, timeout=20).close()
        began = time.monotonic()
        while answer.read(1 << 16):
            expect(time.monotonic() - began < 10, "an answer goes on behind the end of its link")
    expect(ask(base, "/api/v1/live?sources=stage", f"Link {link}")[0] == 403, "a link that has ended")
    process.terminate()
    process.wait(30)
    for process in (*agents, collector):
        expect(process.wait(60) == 0, "recording failed")
    return "framed by one origin; a link opens its live source alone, until it is ended"
