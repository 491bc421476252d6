#!/usr/bin/python3
"""Watches a source of H.265, live and recorded: Chromium without a decoder reports that and shows pictures, Firefox plays it.

    Tests/Browser/codec.py --page http://127.0.0.1:8080 --source cellar
"""

import argparse
import asyncio
import json
import sys
import time
import urllib.error
import urllib.request

from browsers import browser
from checks import Checks

STATE = "window.tributary?.state().sources['{0}']?.state"
STILL = "(() => { const image = document.querySelector('img.still:not([hidden])'); return !!image && image.naturalWidth > 0; })()"
WORDS = "[...document.querySelectorAll('.words')].map((one) => one.textContent).join(' ')"
FETCHED = "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => /\\/hls\\/.*\\/{0}\\/.*mp4$/.test(name) && !name.includes('init.mp4'))"
BROWSER_PLAYS = "MediaSource.isTypeSupported('video/mp4; codecs=\"hvc1.1.6.L93.B0\"')"


async def watch(page, checks, place, source, address, shown):
    await page.open(address)
    await page.until("!!window.tributary", 20)
    state = STATE.format(source)
    if await page.run(BROWSER_PLAYS):
        await page.until(f"['{shown}'].includes({state})", 30)
        checks(f"{place}: the browser plays it", await page.run(state) == shown)
        return
    await page.until(STILL, 30)
    checks(f"{place}: it is shown as pictures", await page.run(STILL))
    checks(f"{place}: its state says why", await page.run(state) == "unsupported", await page.run(state))
    words = await page.run(WORDS)
    checks(f"{place}: words name the codec", "hvc1.1.6.L" in words and "eyframes are shown as pictures" in words, words)
    first = await page.run("document.querySelector('img.still').src")
    if place == "live":
        await page.until(f"document.querySelector('img.still').src !== '{first}'", 20)
        checks("live: another picture follows", await page.run("document.querySelector('img.still').src") != first)


def begin(arguments):
    """The newest session, and the time at which the source's pictures begin in it, seconds: the session may be older."""
    def get(path):
        with urllib.request.urlopen(f"{arguments.page}/api/v1/sessions{path}") as answer:
            return json.load(answer)

    session = max(one["session"] for one in get("")["sessions"])
    lane = next(lane for lane in get(f"/{session}/coverage") if lane["source"] == arguments.source)
    return session, lane["recorded"][0]["startSeconds"]


def wait_for_picture(arguments):
    """Until then there is no keyframe to show, and the browser logs the answer 404."""
    for _ in range(60):
        try:
            with urllib.request.urlopen(f"{arguments.page}/api/v1/live/{arguments.source}/picture.jpg"):
                return
        except urllib.error.HTTPError:
            time.sleep(0.5)
    raise TimeoutError(f"no picture of {arguments.source} within 30 s")


async def check(arguments):
    checks = Checks()
    wait_for_picture(arguments)
    async with browser(arguments.browser) as page:
        await watch(page, checks, "live", arguments.source, f"{arguments.page}/live?sources={arguments.source}", "live")
        session, start = begin(arguments)
        await watch(page, checks, "recorded", arguments.source,
                    f"{arguments.page}/sessions/{session}?at={start + 1.5:.3f}&sources={arguments.source}", "shown")
        if not await page.run(BROWSER_PLAYS):
            await asyncio.sleep(5)
            fetched = await page.run(FETCHED.format(arguments.source))
            checks("recorded: only initialization sections are fetched", fetched == [], ", ".join(fetched))
            await page.open(f"{arguments.page}/sessions/{session}?at={start - 1:.3f}&sources={arguments.source}")
            await page.until(f"{STATE.format(arguments.source)} === 'notBegun'", 20)
            words = await page.run(WORDS)
            checks("recorded: before its first picture, words say so", "Not begun yet" in words, words)
        # Chromium itself tells of the type that it refuses.
        checks.console(page, ("begin anew", "cannot play"))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--source", required=True, help="one of H.265 that is live")
    parser.add_argument("--browser", default="chromium", choices=("chromium", "firefox"))
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
