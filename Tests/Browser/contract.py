#!/usr/bin/python3
"""Checks the parts of the page that external checks rely on: `data-source`, pixels that may be drawn elsewhere, and every word of `window.tributary.state()`.

The sources have to be test patterns.

    Tests/Browser/contract.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import statistics
import sys

from browsers import browser
from checks import Checks
from pixels import READER

# Of the test pattern's pictures, seconds.
PICTURE = 1 / 15
SHOWN = "(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 0 && all.every((one) => one.at !== null); })()"
# What does not fit the contract, in words.
FLAWS = """(() => {
    const found = [], state = tributary.state(), isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
    if (Object.keys(state).sort().join() !== 'at,mode,rate,sources') found.push(`keys ${Object.keys(state)}`);
    if (typeof state.mode !== 'string' || !state.mode) found.push('mode');
    if (state.at !== null && !isNumber(state.at)) found.push(`at ${state.at}`);
    if (!isNumber(state.rate)) found.push(`rate ${state.rate}`);
    for (const [name, source] of Object.entries(state.sources)) {
        if (Object.keys(source).sort().join() !== 'at,bound,lag,state') found.push(`${name}: keys ${Object.keys(source)}`);
        for (const key of ['at', 'bound', 'lag']) if (source[key] !== null && !isNumber(source[key])) found.push(`${name}: ${key} ${source[key]}`);
        if (!/^[A-Za-z]+$/.test(source.state)) found.push(`${name}: state ${source.state}`);
    }
    if (JSON.stringify(JSON.parse(JSON.stringify(state))) !== JSON.stringify(state)) found.push('not JSON');
    return found;
})()"""
# The same of the tiles.
TILES = """(() => {
    const found = [], tiles = [...document.querySelectorAll('[data-source]')];
    const names = tiles.map((tile) => tile.dataset.source).sort(), wanted = Object.keys(tributary.state().sources).sort();
    if (names.join() !== wanted.join()) found.push(`tiles ${names}, sources ${wanted}`);
    for (const tile of tiles) {
        const [width, height] = [tile.videoWidth ?? tile.width, tile.videoHeight ?? tile.height];
        if (!['VIDEO', 'CANVAS'].includes(tile.tagName)) found.push(tile.tagName);
        if (Math.abs(width / height - 16 / 9) > 0.01) found.push(`${tile.dataset.source}: ${width} × ${height}`);
        const canvas = new OffscreenCanvas(64, 36), context = canvas.getContext('2d');
        context.drawImage(tile, 0, 0, 64, 36);
        const { data } = context.getImageData(0, 0, 64, 36);
        if (new Set(data.filter((_, index) => index % 4 === 0)).size < 8) found.push(`${tile.dataset.source}: nothing in the pixels`);
    }
    return found;
})()"""
# What the pixels and the state say in one turn: capture time and session time, by source.
BOTH = """(async (count) => {
    const found = [];
    for (let look = 0; look < count; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 40));
        const codes = window.look(), { sources } = tributary.state();
        found.push(Object.keys(codes).map((name) => [name, codes[name], sources[name]?.at ?? null]));
    }
    return found;
})"""


async def check(arguments):
    checks = Checks()
    async with browser(arguments.browser) as page:
        async def place(name, address, ready, has_tiles=True):
            await page.open(arguments.page + address)
            await page.until(ready, 30)
            await page.run(READER)
            flaws = await page.run(FLAWS)
            checks(f"{name}: the state has the words of the contract", not flaws, "; ".join(flaws))
            mode = (await page.run("tributary.state()"))["mode"]
            checks(f"{name}: the mode", mode == name, mode)
            if has_tiles:
                flaws = await page.run(TILES)
                checks(f"{name}: a video or canvas for each source, which may be drawn", not flaws, "; ".join(flaws))

        async def agree(name, least, within=0.005):
            """The state's times are those of the pixels, within a number of seconds."""
            pairs = [pair for look in await page.run(f"{BOTH}(100)") for pair in look if None not in pair]
            differences = [code - at for _, code, at in pairs]
            middle = statistics.median(differences)
            share, exact = [sum(abs(one - middle) < most for one in differences) / max(1, len(differences)) for most in (within, 0.005)]
            checks(f"{name}: the state says the picture that is in the pixels", share >= least, f"{share:.1%} of {len(pairs)}; the very one, {exact:.1%}")

        live = "Object.values(window.tributary?.state().sources ?? {}).length > 0 && Object.values(tributary.state().sources).every((one) => one.state === 'live')"
        await place("step", "/live", live)
        await agree("step", 0.98)
        await page.key("i")
        await page.until("tributary.state().mode === 'fastest'", 5)
        await agree("fastest", 0.98)
        await place("playback", f"/sessions/{arguments.session}?at=2", SHOWN)
        await agree("standing", 1)
        await page.key("l")
        await page.until("tributary.state().rate === 1", 5)
        await asyncio.sleep(1)
        # A video is told of a new picture with the next refresh of the screen: until then the state has the one before.
        await agree("playing", 0.98, PICTURE + 0.005)
        checks("rate is 0 where it stands", await page.run("(document.querySelector('[aria-label=Pause]').click(), tributary.state().rate)") == 0)
        await place("sessions", "/sessions", "document.querySelectorAll('.session').length > 0", has_tiles=False)
        await place("health", "/health", "Object.keys(window.tributary?.state().sources ?? {}).length > 0", has_tiles=False)
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080; something has to be live")
    parser.add_argument("--session", required=True, help="a finished one of at least 12 s")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
