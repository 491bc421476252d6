#!/usr/bin/python3
"""Takes screenshots of the page, for review: each place, wide, small and on a phone, light and dark; or those of docs/watching.md.

    Tests/Browser/run --only pictures --live 4 --shots DIR    # each place, to DIR
    Tests/Browser/run --only pictures --live 4                # docs/live.png and docs/playback.png
"""

import argparse
import asyncio
import os
import sys

from checks import Checks
from chromium import Chromium

# GitHub shows them 900 pixels wide; the largest that a reader should have to load, bytes.
MOST_BYTES = 150_000
SIZES = ((1600, 1000), (1024, 768), (390, 844))
LIVE = "(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 1 && all.every((one) => one.state === 'live' || one.state === 'sound'); })()"
PICTURES = "(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 1 && all.some((one) => one.at !== null); })()"
# What is wider than its place and neither scrolls nor ends with an ellipsis.
CUT = """(() => {
    const context = document.createElement('canvas').getContext('2d');
    const chosen = [...document.querySelectorAll('select')].filter((one) => {
        const style = getComputedStyle(one);
        context.font = style.font;
        // Its arrow is in the content.
        const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 12;
        return one.checkVisibility() && context.measureText(one.selectedOptions[0]?.text ?? '').width > room;
    }).map((one) => one.selectedOptions[0].text);
    return [...chosen, ...[...document.querySelectorAll('button, a, h1, h2, h3, label, th, td, figcaption *, .facts, legend, summary')].filter((one) => {
        const style = getComputedStyle(one);
        return one.checkVisibility({ checkOpacity: true }) && one.clientWidth > 1 && style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis' && one.scrollWidth > one.clientWidth + 1;
    }).map((one) => one.textContent.trim().slice(0, 40))];
})()"""


async def press(page, text):
    """Opens a dialog; on a phone its button may be in a menu."""
    await page.run(f"""[...document.querySelectorAll('button')].find((one) => [one.textContent.trim(), one.getAttribute('aria-label')].includes('{text}')).click()""")
    await page.until("!!document.querySelector('dialog[open]')", 5)


def places(session):
    """Name, address, what is there when it is complete, and the button of a dialog."""
    playback = f"/sessions/{session}?at=5.5&in=4&out=11"
    return (
        ("live", "/live", LIVE, None),
        ("sessions", "/sessions", "!!document.querySelector('main a[href^=\"/sessions/\"]')", None),
        ("playback", playback, PICTURES, None),
        ("calendar", "/calendar", "!!document.querySelector('.days .day .lane')", None),
        ("health", "/health", "!!document.querySelector('main svg, main canvas') && !document.querySelector('main').innerText.includes('Waiting')", None),
        ("account", "/account", "(document.querySelector('main')?.innerText ?? '').length > 20", None),
        ("keys", "/live", LIVE, "Keys"),
        ("walls", "/live", LIVE, "Walls"),
        ("sources", playback, PICTURES, "Sources"),
    )


async def each_place(arguments):
    checks = Checks()
    async with Chromium(*SIZES[0]) as page:
        for width, height in SIZES:
            await page.resize(width, height, mobile=width < 500)
            for scheme in ("light", "dark"):
                await page.colours(scheme)
                for name, path, there, dialog in places(arguments.session):
                    await page.open(arguments.page + path)
                    await page.until(there, 30)
                    # Small pictures and counts come later.
                    await page.until("[...document.images].every((one) => one.complete || one.loading === 'lazy') && !document.querySelector('main').innerText.includes('· …')", 30)
                    await asyncio.sleep(1)
                    if dialog:
                        await press(page, dialog)
                        await asyncio.sleep(0.3)
                    over = await page.run("document.documentElement.scrollWidth - innerWidth")
                    cut = await page.run(CUT)
                    checks(f"{name}, {width} × {height}, {scheme}: nothing sideways and nothing cut", over <= 0 and not cut, f"{over} px, {cut}" if over > 0 or cut else "")
                    await page.shoot(f"{arguments.shots}/{name}-{width}-{scheme}.png", whole=width < 500 and not dialog)
        checks.console(page)
    return checks.failures == 0


async def documentation(arguments):
    async with Chromium(1366, 768) as page:
        await page.colours("light")
        await page.open(f"{arguments.page}/live")
        await page.until(LIVE, 30)
        # The delay has settled, and a second of pictures has been counted.
        await asyncio.sleep(12)
        # What a busy machine has lost is told for a while.
        await page.until("[...document.querySelectorAll('.live-tile .missing')].every((one) => !one.checkVisibility() || one.textContent === '') && "
            "[...document.querySelectorAll('.live-tile .bar .figures')].every((one) => one.textContent.startsWith('0.'))", 240)
        await page.shoot(f"{arguments.docs}/live.png")
        await page.resize(1366, 1000)
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at=5.5&in=4&out=11")
        await page.until("(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 1 && all.every((one) => one.at !== null); })()", 20)
        # So that all of it is read, and its bounds are plotted.
        await page.run("document.querySelector('[aria-label=Play]').click()")
        await asyncio.sleep(6)
        await page.run("document.querySelector('[aria-label=Pause]').click()")
        await page.run("(() => { const place = document.querySelector('.place'); place.value = '5.5'; place.dispatchEvent(new Event('change')); })()")
        await asyncio.sleep(7)
        await page.shoot(f"{arguments.docs}/playback.png")
    sizes = [os.path.getsize(f"{arguments.docs}/{name}.png") for name in ("live", "playback")]
    print(f"live.png {sizes[0] / 1e3:.0f} kB, playback.png {sizes[1] / 1e3:.0f} kB")
    return max(sizes) < MOST_BYTES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080; something has to be live")
    parser.add_argument("--session", required=True, help="a finished one")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--shots", help="directory for pictures of each place")
    where.add_argument("--docs", help="directory for those of docs/watching.md")
    arguments = parser.parse_args()
    sys.exit(0 if asyncio.run((each_place if arguments.shots else documentation)(arguments)) else 1)


if __name__ == "__main__":
    main()
