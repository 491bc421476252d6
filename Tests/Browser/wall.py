#!/usr/bin/python3
"""Measures the wall of live sources from its pixels: how far tiles are apart, and how long a picture takes to the screen.

The sources have to be test patterns on this machine (`tributary-agent --video test`): their time codes are of its monotonic clock.

    Tests/Browser/wall.py --page http://127.0.0.1:8080 --seconds 60
"""

import argparse
import asyncio
import sys
import time

from browsers import browser
from first import open_wall, told
from pixels import READER, percentile

# Looks at all tiles at once, again and again: [now, {source: when its picture was captured}], seconds of the monotonic clock.
LOOKS = """
window.looks = async (offset, milliseconds) => {
    const found = [], end = performance.now() + milliseconds;
    while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 15 + Math.random() * 20));
        found.push([Date.now() / 1000 - offset, look()]);
    }
    return found;
};
"""


async def observe(page, name, seconds, rate):
    """The number of looks, those that show a picture in every tile, the distances between their tiles, the age of each picture, and the
    share of all looks that are within one picture."""
    offset = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    looks = await page.run(f"looks({offset}, {seconds * 1000})")
    whole = [(now, codes) for now, codes in looks if codes and all(code is not None for code in codes.values())]
    if not whole:
        raise RuntimeError(f"{name}: no picture was seen")
    skews = [max(codes.values()) - min(codes.values()) for _, codes in whole]
    lags = [now - code for now, codes in whole for code in codes.values()]
    return len(looks), whole, skews, lags, sum(skew <= 1 / rate + 0.001 for skew in skews) / len(looks)


async def measure(page, name, seconds, rate):
    count, _, skews, lags, within = await observe(page, name, seconds, rate)
    print(f"{name}: {count} looks, {within:.1%} within one picture, apart p50 {percentile(skews, 0.5) * 1e3:.0f} ms, "
        f"p99 {percentile(skews, 0.99) * 1e3:.0f} ms; to the screen p50 {percentile(lags, 0.5) * 1e3:.0f} ms, "
        f"p95 {percentile(lags, 0.95) * 1e3:.0f} ms")
    quarter = max(1, len(lags) // 4)
    print(f"    drift: to the screen p50 {percentile(lags[:quarter], 0.5) * 1e3:.0f} ms in the first quarter, "
        f"{percentile(lags[-quarter:], 0.5) * 1e3:.0f} ms in the last")
    return within


async def check(arguments):
    async with browser(arguments.browser) as page:
        print(f"after opening: {told(await open_wall(page, arguments.page))}")
        await page.run(READER + LOOKS)
        # The common delay is learned first.
        await asyncio.sleep(arguments.settle)
        within = await measure(page, "in step", arguments.seconds, arguments.rate)
        if arguments.fastest:
            await page.run("document.querySelector('.pair button:nth-child(2)').click()")
            await asyncio.sleep(arguments.settle)
            await measure(page, "fastest", arguments.fastest, arguments.rate)
        for text in page.problems:
            print(f"console: {text}")
        return within >= arguments.within and not page.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--seconds", type=int, default=20, help="of looking, in each mode (20)")
    parser.add_argument("--fastest", type=int, help="seconds in the mode fastest; 0: none (as many)")
    parser.add_argument("--settle", type=int, default=15, help="seconds before it (15)")
    parser.add_argument("--rate", type=int, default=15, help="pictures a second of the sources, for \"one picture\" (15)")
    parser.add_argument("--within", type=float, default=0.95, help="share of looks in step within one picture (0.95)")
    arguments = parser.parse_args()
    if arguments.fastest is None:
        arguments.fastest = arguments.seconds
    sys.exit(0 if asyncio.run(check(arguments)) else 1)


if __name__ == "__main__":
    main()
