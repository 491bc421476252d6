#!/usr/bin/python3
"""Gives the page texts that would be HTML elsewhere, wherever text has another origin, and checks that they stay text; and the resources that the page may load.

The session gets a hostile name, tag and note, and afterwards none. Names of sources are a few letters on the wire and on disk; hostile ones, and the
viewer's answers, are made up here.

    Tests/Browser/texts.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import base64
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

from checks import Checks
from chromium import Chromium
from words import HEAR

# Each becomes an element, or runs, if a page inserts it as HTML.
HOSTILE = '<img src=x class=hostile onerror="window.hostile=1"><b class=hostile>b</b>"\'&lt;{}'
# As a tag, which is a part of addresses as well.
TAG = "<u class=hostile>a&b#?/</u>"
MADE = "[document.querySelectorAll('.hostile').length, window.hostile ?? 0]"
TEXT = "document.body.innerText"
# Scripts of the page's own host alone, nothing inline, no other host to talk to, no frames around it.
WANTED = {"default-src": {"'self'"}, "object-src": {"'none'"}, "base-uri": {"'none'"}, "form-action": {"'self'"}, "frame-ancestors": {"'none'"}}
ADDED = {"img-src": {"'self'", "blob:", "data:"}, "media-src": {"'self'", "blob:"}}


async def check(arguments):
    checks = Checks()
    path = f"{arguments.page}/api/v1/sessions/{arguments.session}"

    def change(**wish):
        body = json.dumps(wish).encode()
        urllib.request.urlopen(urllib.request.Request(path, body, {"content-type": "application/json"}, method="PATCH")).close()

    for place in ("/live", f"/sessions/{arguments.session}", "/page/main.js", "/api/v1/sessions"):
        try:
            answer = urllib.request.urlopen(arguments.page + place)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            policy = {words[0]: set(words[1:]) for part in (answer.headers["content-security-policy"] or "").split(";") if (words := part.split())}
        checks(f"{place}: the policy lets nothing in", policy == WANTED | ADDED, str(policy))

    change(name=HOSTILE, note=HOSTILE, addTags=[TAG])
    async with Chromium() as page:
        async def tell(name, data, then="undefined"):
            """Injects an event into the page; returns an expression's value right after, before the viewer's own feed sends another event."""
            return await page.run(f"(feed.dispatchEvent(new MessageEvent({json.dumps(name)}, {{ data: {json.dumps(json.dumps(data))} }})), {then})")

        async def stays_text(title, *parts):
            """The received texts are shown, and have created no elements."""
            shown = await page.run(TEXT)
            made = await page.run(MADE)
            missing = [part for part in parts if part not in shown]
            checks(f"{title}: text stays text", made == [0, 0] and not missing, f"{made} {missing}")

        try:
            await page.send("Page.addScriptToEvaluateOnNewDocument", source=HEAR)
            await page.open(f"{arguments.page}/sessions")
            await page.until(f"!!document.querySelector('.session[data-session=\"{arguments.session}\"] .note')", 15)
            await stays_text("the list of sessions", HOSTILE, TAG)
            await page.run(f"document.querySelector('.session[data-session=\"{arguments.session}\"] [data-act=edit]').click()")
            await page.until("!!document.querySelector('dialog[open] textarea')", 5)
            checks("the form has it as it is", await page.run("document.querySelector('dialog[open] textarea').value") == HOSTILE)
            await page.key("Escape")
            await page.run(f"document.querySelector('.session[data-session=\"{arguments.session}\"] [data-act=remove]').click()")
            await page.until("!!document.querySelector('dialog[open]')", 5)
            await stays_text("the question before removing", HOSTILE)
            await page.key("Escape")
            await page.run("document.querySelector('.tags a').click()")
            await page.until(f"new URLSearchParams(location.search).get('text') === {json.dumps(TAG)} && document.querySelectorAll('.session').length === 1", 10)
            await stays_text("the search for the tag", TAG)

            await page.open(f"{arguments.page}/sessions/{arguments.session}?at=2")
            await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 20)
            await stays_text("playback", HOSTILE)
            checks("the title of the tab as well", HOSTILE in await page.run("document.title"))
            await page.open(f"{arguments.page}/sessions/{arguments.session}?sources={urllib.parse.quote(TAG)}&at={urllib.parse.quote(TAG)}")
            await page.until("document.getElementById('said').textContent.includes('No source')", 15)
            await stays_text("a source of the address that is not there", TAG)
            await page.open(f"{arguments.page}/sessions/{urllib.parse.quote(TAG, safe='')}")
            await page.until("document.querySelector('main').innerText.includes('cannot be shown')", 10)
            await stays_text("a session that is not there")

            # What the viewer answers: an error, as HTML.
            await page.open(f"{arguments.page}/sessions/{arguments.session}?at=2")
            await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 20)
            await page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/v1/exports", "requestStage": "Request"}])
            refusing = asyncio.create_task(refuse(page))
            await page.press(".export .start button")
            await page.until("document.querySelector('.export .wrong').textContent !== ''", 10)
            refusing.cancel()
            await page.send("Fetch.disable")
            await stays_text("an error of the viewer", HOSTILE[:60])

            await page.open(f"{arguments.page}/live")
            await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.state === 'live')", 30)
            await page.until("!!window.feed", 5)
            name = await page.run("Object.keys(tributary.state().sources)[0]")
            await tell("gap", {"type": "gap", "session": "", "source": name, "cause": HOSTILE, "track": HOSTILE, "samples": 3, "text": HOSTILE})
            await asyncio.sleep(1)
            await stays_text("a gap", HOSTILE)
            disk = {"removesOldSegments": False, "filesWithoutRoom": 0, "stuckFiles": 0, "busySeconds": 0, "freeBytes": 1e9, "reserveBytes": 1e6}
            source = {"name": TAG, "isConnected": True, "isRecorded": True, "isStopped": False, "picturesPerSecond": 1, "bitsPerSecond": 1,
                "persistedAgeSeconds": 0, "lostSamples": 1, "gaps": [{"cause": HOSTILE, "count": 1, "samples": 1}]}
            shown = await tell("status", {"session": HOSTILE, "sources": [source], "isReady": True, "disk": disk, "omittedSources": 1,
                "refusedConnections": 0, "version": HOSTILE}, "[...document.querySelectorAll('.live-tile strong')].map((one) => one.textContent)")
            # The time that an image needs to fail. The viewer's next status may take the tile away meanwhile.
            await asyncio.sleep(0.2)
            made = await page.run(MADE)
            checks("a source's name on the wall: text stays text", made == [0, 0] and TAG in shown, f"{made} {shown}")
            await tell("sessionEnded", {"type": "sessionEnded", "session": HOSTILE})
            await page.until("document.getElementById('said').textContent.includes('has ended')", 5)
            await stays_text("the end of a session", HOSTILE)

            # And if something were let in all the same, the browser would not run it.
            await page.run("document.addEventListener('securitypolicyviolation', (event) => { window.refused = event.effectiveDirective; })")
            await page.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', {json.dumps(HOSTILE)})")
            await page.until("window.refused !== undefined", 5)
            checks("the browser would not run it either", await page.run("window.hostile ?? 0") == 0, await page.run("window.refused"))
        finally:
            change(name="", note="", removeTags=[TAG])
        checks.console(page, ("404", "400", "Content Security Policy", "/x"))
    return checks.failures == 0


async def refuse(page):
    """Answers what was stopped with an error that is HTML."""
    while True:
        await asyncio.sleep(0.05)
        for stopped in page.stopped[:]:
            page.stopped.remove(stopped)
            await page.send("Fetch.fulfillRequest", requestId=stopped, responseCode=400,
                responseHeaders=[{"name": "content-type", "value": "text/html"}], body=base64.b64encode(HOSTILE.encode()).decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080; something has to be live")
    parser.add_argument("--session", required=True, help="a finished one")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
