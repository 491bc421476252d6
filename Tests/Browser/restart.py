#!/usr/bin/python3
"""Open pages of a session, the sessions and Health, while the collector is killed and started again: none claims what is over, and all continue.

It has its own collector, agents and viewer.

    Tests/Browser/restart.py --binaries .build/debug
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time

from checks import Checks
from chromium import Chromium
from programs import Site

# The page's own connection for events, to speak on.
HEAR = "window.EventSource = class extends EventSource { constructor(address) { super(address); window.feed = this; } };"
FACTS = "(document.querySelector('.facts')?.textContent ?? '')"
BADGE = "(document.querySelector('.session h3')?.textContent.includes('Recording now') ?? false)"
LENGTH = "document.querySelector('.session .facts span').textContent"
STATES = "Object.values(tributary.state().sources).map(({ state }) => state)"
# Seconds until a page knows that the collector is away, and until it knows that it records again.
NOTICE, RETURN = 25, 60
# Requests while the collector is away are answered; the browser tells of those that are not.
AWAY = ("503", "404")


async def check(arguments, site):
    checks = Checks()

    async def becomes(page, text, script, seconds):
        began = time.monotonic()
        try:
            await page.until(script, seconds)
            checks(text, True, f"{time.monotonic() - began:.1f} s")
        except TimeoutError:
            checks(text, False, script)

    collector = site.collect("--group-commands")
    for source in ("door", "hall"):
        site.capture(source)
    address = site.view()
    if arguments.sources:
        address = site.serve(address)
    await asyncio.sleep(6)
    async with Chromium() as recording, Chromium() as sessions, Chromium() as health:
        pages = {"sessions/latest?at=2": recording, "sessions": sessions, "health": health, "calendar": None}
        for path, page in pages.items():
            if page:
                await page.early(HEAR)
                await page.open(f"{address}/{path}")
        await becomes(recording, "a session's page says that it is being recorded", f"{FACTS}.includes('recording now')", 20)
        await becomes(sessions, "the list as well", BADGE, 20)
        await becomes(health, "Health: the sources are live", f"{STATES}.length === 2 && {STATES}.every((state) => state === 'live')", 20)
        before = await sessions.run(LENGTH)
        await becomes(sessions, "the length in the list grows", f"{LENGTH} !== {before!r} && {LENGTH} !== '…'", 25)

        collector.kill()
        await becomes(health, "a killed collector: Health says of no source that it is live", f"{STATES}.every((state) => state === 'no contact')", NOTICE)
        await becomes(health, "on the cards as well",
            "[...document.querySelectorAll('.source .state')].map((state) => state.textContent).join() === 'no contact,no contact'", 5)
        await becomes(recording, "the session's page does not say that it is being recorded", f"!{FACTS}.includes('recording now')", NOTICE)
        await becomes(sessions, "the list neither", f"!{BADGE}", NOTICE)
        # The page has polled without a collector.
        await asyncio.sleep(5)

        site.collect("--group-commands")
        await becomes(health, "after its restart, Health shows live sources", f"{STATES}.every((state) => state === 'live')", RETURN)
        await becomes(recording, "the session's page is recording again", f"{FACTS}.includes('recording now')", RETURN)
        facts = await recording.run(FACTS)
        await becomes(recording, "and grows", f"{FACTS} !== {facts!r}", 20)
        await becomes(sessions, "and so does the list", BADGE, RETURN)

        for path, page in pages.items():
            if not page:
                page = sessions
                await page.open(f"{address}/{path}")
                await asyncio.sleep(3)
            count = "performance.getEntriesByType('resource').filter(({ name }) => /api\\/v1\\/(sessions|recorded)/.test(name)).length"
            if path == "health":
                continue
            # Growth is polled, too: a reading that is due at once is that of the event.
            before = await page.run(f"(performance.setResourceTimingBufferSize(10000), {count})")
            await page.run("feed.dispatchEvent(new MessageEvent('lost', { data: '{\"session\":\"\",\"type\":\"lost\"}' }))")
            await becomes(page, f"/{path}: lost events are read again", f"{count} > {before}", 2.5)
        for page in (recording, sessions, health):
            checks.console(page, AWAY)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True, help="where the programs are")
    parser.add_argument("--sources", action="store_true", help="the page from the sources, not the one in the programs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tributary-restart-") as directory:
        site = Site(os.path.abspath(arguments.binaries), directory)
        try:
            is_well = asyncio.run(check(arguments, site))
        finally:
            site.stop()
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
