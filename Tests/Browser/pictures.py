#!/usr/bin/python3
"""Takes the pictures of the page that are in docs/watching.md.

    Tests/Browser/run --only pictures --live 4 --shots docs
"""

import argparse
import asyncio
import os
import sys

from chromium import Chromium

# GitHub shows them 900 pixels wide; the largest that a reader should have to load, bytes.
MOST_BYTES = 150_000


async def take(arguments):
    async with Chromium(1280, 720) as page:
        await page.colours("light")
        await page.open(f"{arguments.page}/live")
        await page.until("(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 1 && all.every((one) => one.state === 'live'); })()", 30)
        # The delay has settled, and a second of pictures has been counted.
        await asyncio.sleep(12)
        await page.shoot(f"{arguments.shots}/live.png")
        await page.resize(1280, 960)
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at=5.5&in=4&out=11")
        await page.until("(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 1 && all.every((one) => one.at !== null); })()", 20)
        # So that all of it is read, and its bounds are plotted.
        await page.run("document.querySelector('[aria-label=Play]').click()")
        await asyncio.sleep(6)
        await page.run("document.querySelector('[aria-label=Pause]').click()")
        await page.run("(() => { const place = document.querySelector('.place'); place.value = '5.5'; place.dispatchEvent(new Event('change')); })()")
        await asyncio.sleep(7)
        await page.shoot(f"{arguments.shots}/playback.png")
    sizes = [os.path.getsize(f"{arguments.shots}/{name}.png") for name in ("live", "playback")]
    print(f"live.png {sizes[0] / 1e3:.0f} kB, playback.png {sizes[1] / 1e3:.0f} kB")
    return max(sizes) < MOST_BYTES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080; something has to be live")
    parser.add_argument("--session", required=True, help="a finished one")
    parser.add_argument("--shots", required=True, help="directory for the pictures")
    sys.exit(0 if asyncio.run(take(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
