#!/usr/bin/python3
"""Uses the wall of live sources as people do, and commands an agent as operators do; what comes of it is looked for in the pictures and in the sound.

The sources have to be test patterns with test sound on this machine, and the collector has to take commands (`--group-commands`).

    Tests/Browser/operate.py --page http://127.0.0.1:8080 --source door
"""

import argparse
import asyncio
import json
import sys
import time

from browsers import browser
from checks import Checks
from hearing import HEAR, SOUND, check_beeps
from pixels import READER

LIVE = "(() => { const all = Object.values(window.tributary?.state().sources ?? {}); return all.length > 0 && all.every((one) => one.state === 'live'); })()"
SAID = "document.getElementById('said').textContent"
DOING = "(document.querySelector('dialog.commands .doing')?.textContent ?? '')"


async def check(arguments):
    checks = Checks()
    name = arguments.source
    tile = f'.live-tile[aria-label="{name}"]'
    async with browser(arguments.browser) as page:
        async def state():
            return await page.run("tributary.state()")

        async def width(place):
            return await page.run(f"document.querySelector('{place}').getBoundingClientRect().width")

        await page.open(f"{arguments.page}/live")
        await page.until(LIVE, 30)
        await page.run(READER + HEAR)
        names = await page.run("Object.keys(tributary.state().sources)")

        before = await width(tile)
        await page.press(f"{tile} .enlarge")
        large = await width(tile)
        await page.press(f"{tile} .enlarge")
        checks("a click makes a tile large, and small again", large > before * 1.2 and await width(tile) == before, f"{before} {large}")
        await page.run("document.activeElement.blur()")
        # Two wide tiles lie one below the other.
        places = await page.run("[...document.querySelectorAll('.live-tile')].slice(0, 2).map((tile) => tile.getBoundingClientRect().left)")
        on, back = ("ArrowDown", "ArrowUp") if places[0] == places[1] else ("ArrowRight", "ArrowLeft")
        await page.key(on)
        first = await page.run("document.activeElement.closest('.live-tile')?.getAttribute('aria-label')")
        await page.key(on)
        second = await page.run("document.activeElement.closest('.live-tile')?.getAttribute('aria-label')")
        await page.key(back)
        third = await page.run("document.activeElement.closest('.live-tile')?.getAttribute('aria-label')")
        checks("arrows go from tile to tile", [first, third] == [names[0]] * 2 and second == names[1], f"{first} {second} {third}")
        if await page.run("document.hasFocus()"):
            await page.key("Enter")
            large = await page.run("document.querySelector('.enlarge[aria-pressed=true]')?.closest('.live-tile').getAttribute('aria-label')")
            await page.key("Escape")
            checks("Enter makes it large, Escape all alike", large == first and not await page.run("!!document.querySelector('.enlarge[aria-pressed=true]')"))
        else:
            # Keys arrive there, but press no button.
            print("skipped: a headless Firefox is never the active window")
        # A headless Firefox has no screen to fill.
        if arguments.browser == "chromium":
            await page.key("f")
            await page.until("document.fullscreenElement?.classList.contains('stage')", 5)
            await page.key("f")
            await page.until("!document.fullscreenElement", 5)
            checks("F fills the screen, and gives it back", True)

        await page.key("i")
        fastest = (await state())["mode"]
        await page.key("i")
        checks("I: fastest, and in step again", [fastest, (await state())["mode"]] == ["fastest", "step"])
        # 0.3 s, 0.5 s, 1 s.
        for _ in range(3):
            await page.key("+")
        await asyncio.sleep(1.5)
        told = await state()
        # The pictures are of an agent's clock, which is this machine's.
        codes, now = await page.run("look()"), time.clock_gettime(time.CLOCK_MONOTONIC)
        lags = [now - code for code in codes.values() if code is not None]
        checks("a delay of one second is kept by all", len(lags) == len(names) and all(0.9 < lag < 1.3 for lag in lags)
            and all(0.9 < one["lag"] < 1.2 for one in told["sources"].values()), f"{[round(lag, 2) for lag in lags]}")
        await page.choose(".delays select", "follows the slowest")
        await page.run("document.activeElement.blur()")

        await page.run(f"document.querySelector('{tile} .enlarge').focus()")
        await page.key("m")
        await page.until(f"document.querySelector('{tile} audio') && !document.querySelector('{tile} audio').paused", 10)
        # It has to be in step first.
        await asyncio.sleep(3)
        beeps = await page.run(f"hear('{tile} audio', '{name}', 6000)")
        sound = await page.run(f"{SOUND}('{tile} audio')")
        checks("M: the sound of the tile is decoded and not muted", sound and not sound["paused"] and not sound["muted"] and sound["volume"] == 1
            and sound["decoded"] != 0, str(sound))
        check_beeps(checks, beeps, 4)
        await page.key("m")
        checks("and M silences it", await page.run("document.querySelectorAll('.live-tile audio').length") == 0)

        await page.press_text("Sources")
        await page.until("!!document.querySelector('dialog[open]')", 5)
        await page.press_text("None", "document.querySelector('dialog[open]')")
        await page.press(f"dialog[open] input[value={json.dumps(name)}]")
        await page.press_text("Show", "document.querySelector('dialog[open]')")
        await page.until(f"location.search === '?sources={name}' && Object.keys(tributary.state().sources).length === 1", 10)
        checks("a choice of sources is in the address", True)
        await page.until(LIVE, 20)

        async def command(button, words, seconds=15):
            await page.press_text(button, "document.querySelector('dialog.commands')")
            await page.until(f"{SAID}.includes({json.dumps(words)})", seconds)
            return await page.run(DOING)

        await page.run(f"document.querySelector('{tile} .enlarge').focus()")
        await page.key("c")
        await page.until(f"{DOING}.startsWith('Captures')", 10)
        said = await page.run(DOING)
        checks("C: the agent says what it captures", "640 × 360" in said, said)
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/commands.png")
        await page.choose("dialog.commands [aria-label='Bit rate']", "500 kbit/s")
        await page.press("dialog.commands fieldset:nth-of-type(1) button")
        await page.until(f"{SAID}.includes('the bit rate is set') && {DOING}.includes('500 kbit/s')", 15)
        checks("the bit rate is set", True, await page.run(DOING))
        said = await command("Ask for a keyframe", "the next picture is a keyframe")
        checks("a keyframe is asked for", "keyframe" in said, said)
        await command("Save a snapshot", "the snapshot is saved")
        picture = await page.downloaded(".jpg")
        checks("a snapshot is saved", picture.read_bytes()[:3] == b"\xff\xd8\xff" and picture.name.startswith(f"{name}-"), picture.name)
        await page.choose("dialog.commands [aria-label=Rotation]", "90° clockwise")
        await page.press("dialog.commands fieldset:nth-of-type(2) button")
        size = f"(() => {{ const p = document.querySelector('[data-source=\"{name}\"]'); return [p.videoWidth ?? p.width, p.videoHeight ?? p.height]; }})()"
        await page.until(f"{size}.join() === '360,640'", 20)
        checks("the picture is rotated, and its tile has its proportions", True)
        await page.choose("dialog.commands [aria-label=Rotation]", "Not rotated")
        await page.press("dialog.commands fieldset:nth-of-type(2) button")
        await page.until(f"{size}.join() === '640,360'", 20)
        await command("Stop the capture", "the capture is stopped")
        await page.until("Object.values(tributary.state().sources)[0].state === 'stopped'", 15)
        # What a tile says is drawn a few times a second.
        await page.until(f"document.querySelector('{tile} .words').textContent.includes('Stopped on purpose')", 5)
        checks("it is stopped, and the tile says so", True)
        await command("Start the capture", "the capture runs")
        await page.until(LIVE, 30)
        checks("it is started, and live again", True)
        await page.press_text("Close")
        checks("the focus is where it was", await page.run("document.activeElement?.closest('.live-tile')?.getAttribute('aria-label')") == name)
        # A Firefox that cannot play sound on this machine says so on the console, once for each time that it is asked to.
        checks.console(page, ("OnMediaSinkAudioError",) if arguments.browser == "firefox" else ())
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--source", required=True, help="the one that is heard and commanded")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
