#!/usr/bin/python3
"""Looks whether a wall of many live sources gives way instead of standing still: how often each tile changes, how late it is, and the
browser's memory.

    Tests/Browser/tiles.py --page http://127.0.0.1:8080 --tiles 16 --seconds 30
"""

import argparse
import asyncio
import sys
import time

from checks import Checks
from chromium import Chromium
from memory import flat, sample

# Of each tile: shown pictures, when the last one came and the longest pause (milliseconds). Of all looks: their number by lateness in steps of
# 10 ms. Nothing grows with time.
WATCH = """
window.tiles = {};
window.looks = new Float64Array(1000);
window.watching = setInterval(() => {
    const now = performance.now();
    for (const [name, { at, lag }] of Object.entries(tributary.state().sources)) {
        const tile = window.tiles[name] ??= { count: 0, at: null, shown: now, pause: 0 };
        if (at !== null && tile.at !== at) {
            if (tile.at !== null) tile.pause = Math.max(tile.pause, now - tile.shown);
            [tile.at, tile.shown, tile.count] = [at, now, tile.count + 1];
        }
        if (lag !== null) window.looks[Math.min(999, Math.max(0, Math.floor(lag * 100)))] += 1;
    }
}, 20);
"""
# What has been seen, with lateness as [seconds, looks].
SEEN = "[Object.values(window.tiles), [...window.looks.entries()].filter(([, count]) => count).map(([step, count]) => [(step + 1) / 100, count])]"


def lateness(looks, share):
    """The lateness that this share of the samples does not exceed, seconds."""
    left = share * sum(count for _, count in looks)
    for seconds, count in looks:
        left -= count
        if left <= 0:
            return seconds
    return looks[-1][0]


async def check(arguments):
    checks = Checks()
    async with Chromium(1920, 1080) as page:
        await page.open(f"{arguments.page}/live")
        await page.until(f"Object.values(window.tributary?.state().sources ?? {{}}).filter((one) => one.at !== null).length >= {arguments.tiles}", 40)
        await asyncio.sleep(arguments.settle)
        await page.send("Performance.enable")
        first = await sample(page)
        await page.run(WATCH)
        end = time.monotonic() + arguments.seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(60, left))
            if arguments.seconds >= 120:
                heap, nodes, resident = await sample(page)
                print(f"heap {heap / 1e6:.1f} MB, {nodes} nodes, resident {resident / 1e6:.0f} MB", flush=True)
        tiles, looks = await page.run(SEEN)
        last = await sample(page)
        thrifty = await page.run("[...document.querySelectorAll('.live-tile .figures')].filter((one) => one.textContent.includes('keyframes only')).length")
        rates = [tile["count"] / arguments.seconds for tile in tiles]
        pause = max(tile["pause"] for tile in tiles) / 1e3
        most = lateness(looks, 1)
        print(f"{len(tiles)} tiles: {sum(rates):.0f} pictures per second, a tile {min(rates):.1f} to {max(rates):.1f}; {thrifty} show keyframes only; "
            f"late p50 {lateness(looks, 0.5):.2f} s, p99 {lateness(looks, 0.99):.2f} s, p99.9 {lateness(looks, 0.999):.2f} s, most {most:.2f} s; "
            f"the longest pause {pause:.1f} s")
        if arguments.rendition:
            shown = await page.run("Object.values(tributary.state().sources).map((one) => one.rendition)")
            checks(f"every tile shows the {arguments.rendition}", set(shown) == {arguments.rendition}, str(shown))
        checks("every tile changes", all(tile["count"] > 1 for tile in tiles) and len(tiles) >= arguments.tiles)
        checks("no tile stands still for longer than keyframes are apart", pause < arguments.pause, f"{pause:.1f} s")
        checks("no tile is far behind", most <= arguments.late, f"{most:.2f} s")
        flat(checks, first, last)
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
    parser.add_argument("--rendition", help="what each tile must show: main or preview")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
