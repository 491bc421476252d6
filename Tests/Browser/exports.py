#!/usr/bin/python3
"""Exports from a recording: a clip, several sources side by side, a still picture, a link. The downloads are examined.

    Tests/Browser/exports.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --operator otto:PASSWORD
"""

import argparse
import asyncio
import hashlib
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile

from checks import Checks
from chromium import Chromium
from roles import log_in

SHOWN = "Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)"
SAID = "document.getElementById('said').textContent"
# Notes what each line of the exports has said, and how far its progress was.
NOTES = """
window.notes = [];
setInterval(() => {
    for (const row of document.querySelectorAll('.jobs li')) {
        const text = row.querySelector('.what').textContent, { value, hidden } = row.querySelector('progress');
        if (notes.at(-1)?.text !== text) notes.push({ text, value: hidden ? null : value });
    }
}, 20);
"""
LINK = ".export input[readonly]"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def probe(path):
    """Length in seconds and the kinds of tracks of a file."""
    words = ["ffprobe", "-v", "error", "-show_entries", "format=duration:stream=codec_type,width", "-of", "json", str(path)]
    found = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return float(found["format"]["duration"]), [one["codec_type"] for one in found["streams"]]


async def archive(page, checks, fetched, root, count):
    """A file for each source in one ZIP archive, its size known in advance; and with the time burnt in."""
    await page.choose(".export .start select", f"All {count}, a file each (ZIP)")
    names = await page.run("Object.keys(tributary.state().sources)")
    await page.until("/^[0-9.]+ [kM]?B[.]$/.test(document.querySelector('.export .size').textContent)", 20)
    told = await page.run("document.querySelector('.export .size').textContent")
    await page.press(".export .start button")
    path = await page.downloaded(".zip")
    size = await page.run(f"(async () => (await import('/page/format.js')).bytes({path.stat().st_size}))()")
    checks("a ZIP archive has the size that was told", told == f"{size}.", f"{told} {size}")
    checks("and is named for its sources and its range", re.search(r"_[a-z0-9+-]+_0m03\.000s-0m05\.000s\.zip$", path.name) is not None, path.name)
    with zipfile.ZipFile(path) as opened:
        flaw, inside = opened.testzip(), opened.namelist()
        same = [digest(opened.read(name)) == await fetched(f"{root}/sources/{source}/media.mp4?from=3&until=5")
            for name, source in zip(inside, names) if name.endswith(".mp4")]
    checks("with a file for each source, byte for byte", flaw is None and len(inside) == count and len(same) >= count - 1 and all(same), f"{flaw} {inside} {same}")
    await page.run("document.querySelector('.export .burn input').click()")
    told = await page.run("document.querySelector('.export .size').textContent")
    checks("what is encoded again has no size before", "known when it is done" in told, told)
    await page.choose(".export .start select", f"{names[0]}, as it was recorded")
    await page.press(".export .start button")
    await page.until("!!document.querySelector('.jobs li a:not([hidden])')", 60)
    await page.press(".jobs li a")
    clip = await page.downloaded(".mp4")
    # The ground of the letters: a strip at the lower edge that was not there before.
    words = ["ffmpeg", "-v", "error", "-i", str(clip), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    picture = subprocess.run(words, capture_output=True, check=True).stdout
    width = next(width for width in (640, 320) if len(picture) == width * width * 9 // 16)
    strip = picture[-width * 8:-width * 7][:width // 2]
    dark, bright = sum(value < 40 for value in strip), sum(value > 200 for value in strip)
    checks("with the time burnt in, its letters are in the picture", dark > len(strip) / 3 and bright > 10, f"{dark} dark, {bright} bright of {len(strip)}")
    await page.press_text("Remove", "document.querySelector('.jobs')")
    await page.until("!document.querySelector('.jobs li')", 10)
    await page.run("document.querySelector('.export .burn input').click()")


async def check(arguments):
    checks = Checks()
    root = f"/api/v1/sessions/{arguments.session}"
    async with Chromium() as page:
        async def fetched(path):
            """The digest of the viewer's answer to a logged-in client."""
            return await page.run(f"""fetch({json.dumps(path)}).then((answer) => answer.arrayBuffer()).then((bytes) => crypto.subtle.digest('SHA-256', bytes))
                .then((sum) => [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, '0')).join(''))""")

        async def ready(seconds):
            await page.until("!!document.querySelector('.jobs li a:not([hidden])')", seconds)

        await page.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at=4&in=3&out=5")
        if arguments.operator:
            await log_in(page, arguments.operator.split(":", 1))
        await page.until(SHOWN, 20)
        await page.run(NOTES)
        words = await page.run("document.querySelector('.export .range').textContent")
        checks("the part is said", words == "From 0:03.000 to 0:05.000: 2.000 s.", words)
        source = await page.run("document.querySelector('.export .start select').value.split(' ')[1]")

        await page.press(".export .start button")
        await ready(20)
        words = await page.run("document.querySelector('.jobs .what').textContent")
        checks("a clip that is not encoded is ready, and its line names the part", f"{source}, 0:03.000 to 0:05.000: " in words, words)
        await page.press(".jobs li a")
        clip = await page.downloaded(".mp4")
        length, kinds = probe(clip)
        checks("downloaded, it is as long as it should be", abs(length - 2) < 0.15 and "video" in kinds, f"{length:.3f} s, {kinds}")
        wanted = await fetched(f"{root}/sources/{source}/media.mp4?from=3&until=5")
        checks("and byte for byte what the interface serves", digest(clip.read_bytes()) == wanted)
        await page.press_text("Remove", "document.querySelector('.jobs')")
        await page.until("!document.querySelector('.jobs li')", 10)
        checks("it is removed", not await page.run("fetch('/api/v1/exports').then((answer) => answer.json()).then((jobs) => jobs.some((job) => job.state === 'done'))"))

        count = await page.run("Object.keys(tributary.state().sources).length")
        await page.press_text("List the files")
        await page.until(f"document.querySelectorAll('.files a').length === {count}", 20)
        line = await page.run(f"[...document.querySelectorAll('.files li')].find((one) => one.querySelector('a').textContent === {json.dumps(source)}).textContent")
        size = await page.run(f"(async () => (await import('/page/format.js')).bytes({clip.stat().st_size}))()")
        checks("each source is offered as a file of its own, with its size before", line == f"{source} {size}", line)
        await page.run("document.querySelector('.files li:last-child a').click()")
        name = (await page.downloaded(".mp4")).name
        checks("whose name has the source and the range", re.search(r"_[a-z]+_0m03\.000s-0m05\.000s\.mp4$", name) is not None, name)

        await archive(page, checks, fetched, root, count)
        await page.choose(".export .start select", f"All {count} side by side (encoded again)")
        await page.run("notes.length = 0")
        await page.press(".export .start button")
        await ready(60)
        notes = [one["value"] for one in await page.run("notes") if one["value"] is not None]
        checks("encoding says how far it is", len(notes) >= 2 and notes == sorted(notes) and any(0 < one < 1 for one in notes), str(notes[:12]))
        await page.press(".jobs li a")
        grid = await page.downloaded(".mp4")
        length, kinds = probe(grid)
        checks("all side by side, as long as they should be", abs(length - 2) < 0.2 and kinds.count("video") == 1, f"{length:.3f} s, {kinds}")
        await page.press_text("Remove", "document.querySelector('.jobs')")
        await page.until("!document.querySelector('.jobs li')", 10)

        await page.press_text("Clear")
        await page.until("document.querySelector('.export .range').textContent.startsWith('The whole session')", 5)
        await page.press(".export .start button")
        await page.until("!!document.querySelector('.jobs progress:not([hidden])')", 10)
        await page.press_text("Cancel", "document.querySelector('.jobs')")
        await page.until("!document.querySelector('.jobs li')", 10)
        # The encoder ends after its picture.
        for _ in range(50):
            jobs = await page.run("fetch('/api/v1/exports').then((answer) => answer.json())")
            if not any(job["state"] in ("waiting", "running") for job in jobs):
                break
            await asyncio.sleep(0.1)
        checks("a running one is cancelled", all(job["state"] == "cancelled" for job in jobs), str([(job["state"], job.get("failure")) for job in jobs]))

        at = await page.run("tributary.state().at")
        reference = await page.run("document.querySelector('.tile .name[aria-pressed=true]').textContent")
        await page.press_text("Save this picture")
        picture = await page.downloaded(".jpg")
        wanted = await fetched(f"{root}/sources/{reference}/picture.jpg?at={at}")
        checks("the still picture is the one that is shown", digest(picture.read_bytes()) == wanted, picture.name)

        await page.key("Home")
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at=4&in=3&out=5")
        await page.until(SHOWN, 20)
        await page.press_text("Copy a link to the clip")
        await page.until(f"document.querySelector('{LINK}')?.value", 10)
        link = await page.run(f"document.querySelector('{LINK}').value")
        words = await page.run(SAID)
        copied = await page.run("navigator.clipboard.readText()")
        checks("the link is copied, and what it opens is said", copied == link and "can open this clip" in words, words)
        # Somebody who has not logged in.
        with urllib.request.urlopen(link) as answer:
            checks("whoever has it gets the clip", digest(answer.read()) == digest(clip.read_bytes()))
        if arguments.operator:
            try:
                urllib.request.urlopen(link.replace("until=5", "until=6")).close()
                status = 200
            except urllib.error.HTTPError as error:
                status = error.code
            checks("and no other one", status in (401, 403), str(status))
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/export.png", whole=True)
        checks.console(page, ("401",))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one of at least 12 s")
    parser.add_argument("--operator", help="NAME:PASSWORD, where the viewer has accounts")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
