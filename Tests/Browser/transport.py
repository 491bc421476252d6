#!/usr/bin/python3
"""Plays a recording as people do, with keys and clicks: play, speeds, steps, gaps, marks, loop, sound, full screen, the address. Pictures are judged from pixels.

    Tests/Browser/transport.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import json
import sys
import urllib.request

from browsers import browser
from checks import Checks
from hearing import HEAR, SOUND, check_beeps
from pixels import READER

SHOWN = ("(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 0 && all.every((one) => one.at !== null); })()")
# The order of the page's own list.
SPEEDS = {"−16×": -16, "−8×": -8, "−4×": -4, "−2×": -2, "−1×": -1,
    "¼×": 0.25, "½×": 0.5, "1×": 1, "2×": 2, "4×": 4, "8×": 8, "16×": 16}
HELPERS = """
// The pictures, when they have stood still for a while.
window.steady = async () => {
    let before = '', count = 0;
    for (let look = 0; look < 100 && count < 5; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        const now = JSON.stringify([window.look(), tributary.state()]);
        count = now === before ? count + 1 : 0;
        before = now;
    }
    return window.look();
};
// What is shown over a time: [seconds, session time of the clock, capture time of a source's picture].
window.watch = async (source, milliseconds) => {
    const found = [], end = performance.now() + milliseconds;
    while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        found.push([performance.now() / 1000, tributary.state().at, look()[source]]);
    }
    return found;
};
"""
# Of the test pattern's pictures, seconds.
PICTURE = 1 / 15


async def check(arguments):
    checks = Checks()

    def get(path):
        with urllib.request.urlopen(f"{arguments.page}/api/v1/sessions/{arguments.session}{path}") as answer:
            return json.load(answer)

    lanes = get("/coverage")
    start = max(lane["recorded"][0]["startSeconds"] for lane in lanes)
    end = min(lane["recorded"][-1]["endSeconds"] for lane in lanes)
    gaps = sorted(gap["startSeconds"] for lane in lanes for gap in lane["missing"])
    whole = next(lane["source"] for lane in lanes if not lane["missing"])
    async with browser(arguments.browser) as page:
        async def open_at(query):
            await page.open(f"{arguments.page}/sessions/{arguments.session}?{query}")
            await page.until(f"location.search.startsWith('?') && {SHOWN}", 20)
            await page.run(READER + HELPERS + HEAR)

        async def go(text):
            """Types a place."""
            await page.press(".place")
            await page.run("document.querySelector('.place').select()")
            for letter in str(text):
                await page.key(letter)
            await page.key("Enter")
            return await page.run("steady()")

        async def state():
            return await page.run("tributary.state()")

        await open_at(f"at={start + 2:.3f}")
        codes = await page.run("steady()")
        told = (await state())["sources"]
        zero = codes[whole] - told[whole]["at"]

        await page.key(" ")
        await page.until("tributary.state().rate === 1", 5)
        await asyncio.sleep(1.5)
        after = await state()
        await page.key(" ")
        await page.until("tributary.state().rate === 0", 5)
        checks("space plays", after["at"] > start + 2.5, f"{after['at']:.2f} after {start + 2:.2f}")
        before = await page.run("steady()")
        checks("and pauses", before == await page.run("steady()") and (await state())["at"] > start + 2.5)

        await page.key("Home")
        rates = []
        for letter in "lll":
            await page.key(letter)
            rates.append((await state())["rate"])
        await page.key("k")
        rates.append((await state())["rate"])
        await page.key("End")
        for letter in "jj":
            await page.key(letter)
            rates.append((await state())["rate"])
        await page.key("k")
        rates.append((await state())["rate"])
        checks("L plays on and faster, J backwards and faster, K pauses", rates == [1, 2, 4, 0, -1, -2, 0], str(rates))

        for text, rate in SPEEDS.items():
            await go(f"{end - 1 if rate < 0 else start + 0.5:.3f}")
            await page.choose(".speed", text)
            await page.press("[aria-label=Play]")
            # Decoders start, and what is not there yet is fetched.
            await page.until(f"Math.abs(tributary.state().at - {end - 1 if rate < 0 else start + 0.5:.3f}) > 0.05", 10)
            seen = await page.run(f"watch('{whole}', {min(1200, 9000 / abs(rate)):.0f})")
            is_told = (await state())["rate"] == rate or abs(rate) > 4
            if (await state())["rate"]:
                await page.press("[aria-label=Pause]")
            shown = [(now, code - zero) for now, _, code in seen if code is not None]
            moved = shown[-1][1] - shown[0][1]
            speed = moved / (shown[-1][0] - shown[0][0])
            # Pictures one by one as fast as the computer seeks, where it goes backwards.
            checks(f"{text}: so fast go the pictures", is_told and 0.5 < speed / rate < 1.5, f"{speed:.2f} times")
            apart = [abs(at - (code - zero)) for _, at, code in seen if code is not None]
            print(f"    from the clock: {sorted(apart)[len(apart) // 2] * 1e3:.0f} ms of session time in the middle")
        await page.choose(".speed", "1×")

        first = (await go(f"{start + 3:.3f}"))[whole]
        await page.run(f"[...document.querySelectorAll('.tile .name')].find((one) => one.textContent === '{whole}').click()")
        await page.run("document.activeElement.blur()")
        await page.key("ArrowRight")
        second = (await page.run("steady()"))[whole]
        await page.key("ArrowLeft")
        third = (await page.run("steady()"))[whole]
        checks("right arrow: the next picture; left arrow: back", abs(second - first - PICTURE) < PICTURE / 3 and third == first,
            f"{second - first:.4f}, {third - first:.4f}")
        await page.press("[aria-label='One picture on']")
        fourth = (await page.run("steady()"))[whole]
        await page.press("[aria-label='One picture back']")
        checks("the buttons as well", fourth == second and (await page.run("steady()"))[whole] == first)
        before = (await state())["at"]
        await page.key("ArrowRight", shift=True)
        middle = (await state())["at"]
        await page.key("ArrowLeft", shift=True)
        checks("shift and arrows: five seconds", abs(middle - before - 5) < 0.01 and abs((await state())["at"] - before) < 0.01)
        await page.key("Home")
        await page.run("steady()")
        home = (await state())["at"]
        await page.key("End")
        checks("Home and End", start <= home < start + 0.3 and (await state())["at"] >= end - 0.01, f"{home}")

        if gaps:
            await page.key("Home")
            await page.press_text("Next gap")
            at = (await state())["at"]
            checks("the button goes to the next gap", abs(at - gaps[0]) < 0.01, f"{at} {gaps}")
            await page.key("End")
            await page.key("G", shift=True)
            at = (await state())["at"]
            checks("shift G goes to the gap before", abs(at - gaps[-1]) < 0.01, f"{at} {gaps}")
            await page.key("Home")
            words = await page.run("document.querySelector('.gaps').innerText")
            await page.press(".gaps button")
            at = (await state())["at"]
            checks("the list says what is missing, and goes there", abs(at - gaps[0]) < 0.01 and "missing" in words, words.replace("\n", " "))

        await go(f"{start + 1:.3f}")
        mark_in = (await state())["at"]
        await page.key("i")
        await go(f"{start + 2.5:.3f}")
        mark_out = (await state())["at"]
        await page.key("o")
        await page.key("I", shift=True)
        at_in = (await state())["at"]
        await page.key("O", shift=True)
        checks("I and O set the points, with shift they are gone to", [at_in, (await state())["at"]] == [mark_in, mark_out])
        words = await page.run("document.querySelector('.below').innerText")
        checks("what is missing between them is said", "Between the in and out points: " in words)
        await page.key("p")
        await page.until("tributary.state().rate === 1", 5)
        seen = await page.run(f"watch('{whole}', 6000)")
        await page.key("k")
        turns = sum(later[1] < earlier[1] - 0.5 for earlier, later in zip(seen, seen[1:]))
        places = [code - zero for _, _, code in seen if code is not None]
        checks("P loops between them", turns >= 2 and mark_in - PICTURE - 0.02 < min(places) and max(places) < mark_out + 0.15,
            f"{turns} turns, pictures from {min(places):.3f} to {max(places):.3f}")

        await go(f"{start + 2.217:.3f}")
        await page.until(f"location.search.includes('at={start + 2.217:.3f}'.replace(/0+$/, ''))", 5)
        codes, kept = await page.run("steady()"), await page.run("location.pathname + location.search")
        checks("the address holds place and points", all(part in kept for part in ("at=", "in=", "out=")), kept)
        await page.open("about:blank")
        await open_at(kept.split("?")[1])
        again = await page.run("steady()")
        checks("copied, it opens the same pictures", again == codes and await page.run("location.pathname + location.search") == kept,
            f"{again} {codes}")
        await page.press_text("Sources")
        await page.until("!!document.querySelector('dialog[open] input[type=checkbox]')", 5)
        await page.press("dialog[open] input[type=checkbox]")
        await page.press_text("Show", "document.querySelector('dialog[open]')")
        await page.until("location.search.includes('sources=')", 5)
        names = await page.run("Object.keys(tributary.state().sources)")
        query = await page.run("location.search.slice(1)")
        await open_at(query)
        checks("the choice of sources is in the address", names == await page.run("Object.keys(tributary.state().sources)")
            and len(names) == len(lanes) - 1, str(names))
        await page.press_text("Sources")
        await page.until("!!document.querySelector('dialog[open]')", 5)
        await page.run("history.pushState(null, '', '/sessions'); dispatchEvent(new PopStateEvent('popstate'))")
        await page.until("tributary.state().mode === 'sessions' && !document.querySelector('dialog')", 10)
        checks("a dialog goes with its page", True)
        await open_at(f"at={start + 2:.3f}")

        # A headless Firefox has no screen to fill.
        if arguments.browser == "chromium":
            await page.key("f")
            await page.until("document.fullscreenElement?.classList.contains('tiles')", 5)
            await page.key("f")
            await page.until("!document.fullscreenElement", 5)
            checks("F fills the screen with all pictures, and gives it back", True)
            x, y = await page.run("(() => { const r = document.querySelector('.tile .screen').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
            await page.click(x, y, 2)
            await page.until("document.fullscreenElement?.classList.contains('tile')", 5)
            await page.key("f")
            await page.until("!document.fullscreenElement", 5)
            checks("a double click fills it with one", True)

        await page.choose("[aria-label=Sound]", f"Sound: {whole}")
        await page.run("document.activeElement.blur()")
        await page.key("Home")
        await page.key(" ")
        await page.until("tributary.state().rate === 1", 5)
        beeps = await page.run(f"hear('audio', '{whole}', 5000)")
        sound = await page.run(f"{SOUND}('audio')")
        await page.key(" ")
        checks("the sound of the chosen source is decoded and not muted", sound and not sound["paused"] and not sound["muted"]
            and sound["volume"] == 1 and sound["readyState"] >= 3 and sound["decoded"] != 0, str(sound))
        check_beeps(checks, beeps, 3)
        if arguments.late:
            await late(page, checks, arguments.late)
        checks.console(page)
    return checks.failures == 0


async def late(page, checks, address):
    """A session that begins with sound opens at its first picture, and goes back to it."""
    first = "(() => { const { at, sources } = tributary.state(); return at > 1 && Object.values(sources).every(({ state }) => state === 'shown'); })()"
    await page.open(address)
    for text, key in (("opens at its first picture", None), ("Home goes back to it", "Home"), ("0 as well", "0")):
        if key:
            await page.key("End")
            await asyncio.sleep(0.5)
            await page.key(key)
        try:
            await page.until(f"{first} && tributary.state().at < 3", 10)
            found = True
        except TimeoutError:
            found = False
        checks(f"a session that begins with sound: {text}", found, "" if found else str(await page.run("tributary.state()")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one of test patterns of at least 12 s; one of its sources has no gap")
    parser.add_argument("--late", help="the address of a session whose pictures begin between 1 and 2 s after its sound")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
