#!/usr/bin/python3
"""Cuts the line to the viewer, fills the disk and ends the session, as seen by the page, and reads its messages.

The disk and the end are told by events that are made up here; the wall has to be one of a session that is being recorded.

    Tests/Browser/words.py --page http://127.0.0.1:8080
"""

import argparse
import asyncio
import json
import sys
import urllib.parse

from checks import Checks
from chromium import Chromium

# The page's own connection for events, to speak on.
HEAR = "window.EventSource = class extends EventSource { constructor(address) { super(address); window.feed = this; } };"
LIVE = "(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 0 && all.every((one) => one.state === 'live'); })()"
MIDDLE = "document.querySelector('.middle').textContent"
TROUBLE = "(() => { const place = document.querySelector('.trouble'); return place.hidden ? '' : place.textContent; })()"
FINDINGS = "(document.querySelector('.findings')?.textContent ?? '')"
# The browser tells of each request that nobody took.
CUT = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_NETWORK_CHANGED")


class Line:
    """Passes bytes on to the viewer until it is cut."""

    def __init__(self, page):
        parts = urllib.parse.urlsplit(page)
        self.target = (parts.hostname, parts.port)
        self.port = 0
        self.writers = set()

    async def mend(self):
        self.server = await asyncio.start_server(self.take, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    def cut(self):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()

    async def take(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            return writer.close()
        self.writers |= {writer, far_writer}
        await asyncio.gather(self.pass_on(reader, far_writer), self.pass_on(far_reader, writer))
        self.writers -= {writer, far_writer}

    @staticmethod
    async def pass_on(reader, writer):
        try:
            while piece := await reader.read(1 << 16):
                writer.write(piece)
                await writer.drain()
        except OSError:
            # The other side has been cut.
            pass
        writer.close()


async def check(arguments):
    checks = Checks()

    async def tell(name, data):
        await page.run(f"feed.dispatchEvent(new MessageEvent({json.dumps(name)}, {{ data: {json.dumps(json.dumps(data))} }}))")

    line = Line(arguments.page)
    await line.mend()
    address = f"http://127.0.0.1:{line.port}"
    async with Chromium() as page:
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=HEAR)
        await page.open(f"{address}/live")
        await page.until(LIVE, 30)
        await page.until("!!window.feed", 5)

        line.cut()
        await page.until("Object.values(tributary.state().sources).every((one) => one.state === 'lost')", 30)
        await page.until("document.querySelector('.connection').textContent.includes('does not answer')", 10)
        said = await page.run("document.querySelector('.connection').textContent")
        tile = await page.run("document.querySelector('.live-tile .words').textContent")
        checks("a viewer that is away is said", "Trying again" in said, said)
        checks("and on each tile, with what is done about it, and no more", "No connection to the viewer" in tile and "trying again" in tile, tile)
        # Longer than the page waits for the collector's status.
        await asyncio.sleep(7)
        said = await page.run(MIDDLE)
        checks("and nothing of the collector, of which the page knows nothing", "collector" not in said, said)
        await line.mend()
        await page.until(LIVE, 40)
        checks("it comes back by itself", True)

        disk = {"removesOldSegments": False, "filesWithoutRoom": 1, "stuckFiles": 0, "busySeconds": 0, "freeBytes": 1e9, "reserveBytes": 1e9}
        status = {"session": "", "sources": [], "isReady": False, "disk": disk, "omittedSources": 1}
        await tell("status", status)
        words = await page.run(TROUBLE)
        checks("a full disk is said, with what happens to the samples", "disk is full" in words and "Agents keep" in words, words)
        await page.until(f"{TROUBLE} === ''", 10)
        checks("and not any more when there is room", True)

        session = (await page.run("fetch('/api/v1/sessions?order=newest&limit=1').then((answer) => answer.json())"))["sessions"][0]["session"]
        await tell("sessionEnded", {"type": "sessionEnded", "session": session})
        await page.until(f"{MIDDLE}.includes('has ended')", 5)
        words = await page.run(MIDDLE)
        checks("an ended session is said by its name or its beginning, not by its id, with the way to its recording",
            session not in words and "Session of" in words and "Watch the recording" in words, words)

        await page.open(f"{address}/health")
        await page.until(f"{FINDINGS} && !/Waiting|does not answer/.test({FINDINGS})", 20)
        line.cut()
        await page.until(f"{FINDINGS}.startsWith('The viewer does not answer: its last status came')", 20)
        said = await page.run(FINDINGS)
        checks("Health says that the viewer is away, and nothing of the collector", "ollector" not in said, said)
        await line.mend()
        await page.until(f"!/Waiting|does not answer/.test({FINDINGS})", 40)
        checks("and not any more when it is back", True)

        await page.open(f"{address}/sessions/{session}")
        await page.until("document.querySelectorAll('.tile').length > 0 && !!window.feed", 20)
        await tell("sessionRemoved", {"type": "sessionRemoved", "session": session})
        await asyncio.sleep(7)
        words = await page.run("(() => { const place = document.querySelector('.playback .notice'); return place.hidden ? '' : place.textContent; })()")
        checks("a session that is removed while it is shown is said, for as long as it is shown", "has been removed" in words, words)

        await page.open(f"{address}/sessions/no-such-session")
        await page.until("document.querySelector('main').textContent.includes('cannot be shown')", 10)
        words = await page.run("document.querySelector('main').textContent")
        checks("a session that is not there is said", "no" in words, words)
        checks.console(page, (*CUT, "404"))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
