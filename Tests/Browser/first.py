#!/usr/bin/python3
"""Measures the time until the wall has pictures: with viewers that do not receive the sources yet, and again when they do.

    Tests/Browser/first.py --page http://127.0.0.1:8080 --page http://127.0.0.1:8081
"""

import argparse
import asyncio
import sys
import time

from browsers import browser
from checks import Checks
from pixels import percentile

# When the first tile has a picture, when all have, and when all are live; seconds after the address was opened. A picture that was recorded counts
# as one, and not as live.
FIRST = """(async (began) => {
    const found = {};
    while (!found.live && Date.now() < began + 20000) {
        const all = Object.values(window.tributary?.state().sources ?? {}), past = (Date.now() - began) / 1000;
        if (all.some((one) => one.at !== null)) found.first ??= past;
        if (all.length && all.every((one) => one.at !== null)) found.all ??= past;
        if (all.length && all.every((one) => one.state === 'live')) found.live ??= past;
        await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return found;
})"""
KINDS = {"first": "first picture", "all": "all tiles", "live": "all live"}


def told(times):
    return ", ".join(f"{words} {times[kind]:.2f} s" for kind, words in KINDS.items() if kind in times)


async def open_wall(page, address):
    """Opens the wall; how soon pictures were there."""
    began = time.time() * 1000
    await page.open(f"{address}/live")
    await page.until("!!window.tributary", 20)
    return await page.run(f"{FIRST}({began})")


async def check(arguments):
    checks = Checks()
    async with browser(arguments.browser) as page:
        for name in ("not heard yet", "heard already"):
            found = []
            for address in arguments.page:
                # The browser has started, and its cache has nothing of this viewer.
                await page.open("about:blank")
                await asyncio.sleep(0.5)
                found.append(await open_wall(page, address))
            for kind, words in KINDS.items():
                times = [one.get(kind, 20) for one in found]
                print(f"{name}, {words}: {min(times):.2f} to {max(times):.2f} s, median {percentile(times, 0.5):.2f} s")
            times = [one.get("first", 20) for one in found]
            checks(f"{name}: a picture is there within {arguments.within} s", percentile(times, 0.5) <= arguments.within)
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", action="append", required=True, help="such as http://127.0.0.1:8080; several")
    parser.add_argument("--within", type=float, default=3, help="in the middle, seconds; wished is 1 (3)")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
