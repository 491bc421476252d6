#!/usr/bin/python3
"""Looks whether a wall of many live sources gives way instead of standing still: how often each tile changes, and how late it is.

    Tests/Browser/tiles.py --page http://127.0.0.1:8080 --tiles 16 --seconds 30
"""

import argparse
import asyncio
import sys

from checks import Checks
from chromium import Chromium
from pixels import percentile

# Every picture that a tile shows: [when, at], milliseconds and seconds.
WATCH = """
window.shown = {};
window.watching = setInterval(() => {
    for (const [name, { at }] of Object.entries(tributary.state().sources)) {
        const list = window.shown[name] ??= [];
        if (at !== null && list.at(-1)?.[1] !== at) list.push([performance.now(), at]);
    }
}, 20);
"""


async def check(arguments):
    checks = Checks()
    async with Chromium(1920, 1080) as page:
        await page.open(f"{arguments.page}/live")
        await page.until(f"Object.values(window.tributary?.state().sources ?? {{}}).filter((one) => one.at !== null).length >= {arguments.tiles}", 40)
        await asyncio.sleep(arguments.settle)
        await page.run(WATCH)
        await asyncio.sleep(arguments.seconds)
        shown, state = await page.run("[window.shown, tributary.state()]")
        thrifty = await page.run("[...document.querySelectorAll('.live-tile .figures')].filter((one) => one.textContent.includes('keyframes only')).length")
        rates = [len(pictures) / arguments.seconds for pictures in shown.values()]
        pauses = [later[0] - earlier[0] for pictures in shown.values() for earlier, later in zip(pictures, pictures[1:])]
        lags = [one["lag"] for one in state["sources"].values() if one["lag"] is not None]
        print(f"{len(shown)} tiles: {sum(rates):.0f} pictures per second, a tile {min(rates):.1f} to {max(rates):.1f}; {thrifty} show keyframes only; "
            f"late p50 {percentile(lags, 0.5):.2f} s, most {max(lags):.2f} s; the longest pause {max(pauses) / 1e3:.1f} s")
        checks("every tile changes", all(len(pictures) > 1 for pictures in shown.values()) and len(shown) >= arguments.tiles)
        checks("no tile stands still for longer than keyframes are apart", max(pauses) / 1e3 < arguments.pause, f"{max(pauses) / 1e3:.1f} s")
        checks("no tile is far behind", max(lags) < arguments.late, f"{max(lags):.2f} s")
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/tiles.png")
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--tiles", type=int, default=16, help="sources that are there (16)")
    parser.add_argument("--seconds", type=int, default=20, help="of looking (20)")
    parser.add_argument("--settle", type=int, default=15, help="seconds before it (15)")
    parser.add_argument("--pause", type=float, default=3.5, help="longest pause of a tile, seconds (3.5)")
    parser.add_argument("--late", type=float, default=5, help="how late a tile may be, seconds (5)")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
