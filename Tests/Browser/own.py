#!/usr/bin/python3
"""The account's page: one's own password is changed, own links are listed and ended; and the level of a source with sound alone.

A source with sound alone has to be recorded now. The viewer has accounts.

    Tests/Browser/own.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --viewer vera:PASSWORD --sound booth
"""

import argparse
import asyncio
import json
import sys
import time
import urllib.error
import urllib.request

from checks import Checks
from chromium import Chromium
from roles import FORM, NO_FORM, fill, log_in

WRONG = "document.querySelector('.fields .wrong').textContent"
OTHER = "another one, as long"


async def passwords(page, before, now, again):
    """Types into the form for a new password, and sends it."""
    await page.run("document.querySelector('.fields input').focus()")
    for text in (before, now, again):
        await page.run("document.activeElement.value = ''")
        await page.send("Input.insertText", text=text)
        await page.key("Tab")
    await page.press_text("Change the password")


async def password(page, checks, arguments):
    name, present = arguments.viewer.split(":", 1)
    await page.open(f"{arguments.page}/live")
    await log_in(page, (name, present))
    await page.until("!!document.querySelector('#header .who')?.checkVisibility()", 10)
    await page.run("document.querySelector('#header .who').click()")
    await page.until("location.pathname === '/account' && !!document.querySelector('.fields')", 10)
    words = await page.run("document.querySelector('main').innerText")
    checks("the page says who one is and what one may", name in words and "Viewer: looks and exports" in words and "all" in words, words.replace("\n", " / "))
    await passwords(page, present, OTHER, f"{OTHER}!")
    checks("two different new ones are refused", "two different ways" in await page.run(WRONG))
    await passwords(page, "not the password", OTHER, OTHER)
    await page.until(f"{WRONG} !== '' && !{WRONG}.includes('different')", 20)
    checks("the present one has to be known", "the present password is another one" in await page.run(WRONG), await page.run(WRONG))
    await passwords(page, present, OTHER, OTHER)
    await page.until(FORM, 20)
    checks("a new password ends the log-in", True)
    await asyncio.sleep(1.2)
    await fill(page, name, present)
    await page.until("(document.querySelector('dialog.login .wrong')?.textContent ?? '') !== ''", 20)
    checks("the old one does not work any more", await page.run(FORM))
    await fill(page, name, OTHER)
    await page.until(NO_FORM, 20)
    checks("the new one does", True)


async def links(page, checks, arguments):
    path = f"/api/v1/sessions/{arguments.session}/sources/{arguments.source}/media.mp4?from=1&until=2"
    made = await page.run(f"""fetch('/api/v1/links', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }},
        body: JSON.stringify({{ address: {json.dumps(path)}, seconds: 3600 }}) }}).then((answer) => answer.json())""")
    address = arguments.page + made["address"]

    def status():
        try:
            with urllib.request.urlopen(address) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    checks("a link opens its clip", status() == 200)
    await page.open(f"{arguments.page}/account")
    await page.until("!!document.querySelector('.links li')", 10)
    line = await page.run("document.querySelector('.links li').innerText")
    checks("it is listed with what it opens and until when", arguments.source in line and "from 1\u00a0s until 2\u00a0s" in line and "until" in line, line.replace("\n", " / "))
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/account.png")
    await page.run("document.querySelector('.links button').click()")
    await page.until("document.querySelectorAll('.links li').length === 0", 10)
    end = time.monotonic() + 3
    while status() == 200 and time.monotonic() < end:
        time.sleep(0.1)
    checks("ended, it opens nothing", status() == 403, str(status()))
    checks("and the focus has not gone with it", await page.run("document.activeElement !== document.body"))


async def level(page, checks, arguments):
    """The test source beeps at each whole second, −6 dBFS, and is silent between."""
    await page.open(f"{arguments.page}/live")
    tile = f"[...document.querySelectorAll('.live-tile')].find((one) => one.getAttribute('aria-label') === {json.dumps(arguments.sound)})"
    await page.until(f"{tile}?.dataset.state === 'sound' && !{tile}.querySelector('.level').hidden", 20)
    levels = []
    for _ in range(60):
        levels.append(await page.run(f"Number({tile}.querySelector('.level').getAttribute('aria-valuenow'))"))
        await asyncio.sleep(0.05)
    checks("the level of a source with sound alone is that of its beeps", -9 < max(levels) < -3 and min(levels) < -40, f"{min(levels)} to {max(levels)} dB")
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/level.png")
    others = await page.run("[...document.querySelectorAll('.live-tile')].filter((one) => one.dataset.state !== 'sound' && !one.querySelector('.level').hidden).length")
    checks("tiles with pictures have none", others == 0)


async def recorded_level(page, checks, arguments):
    """The same of its recording, at rest and while it plays: a beep takes 20 ms, and the next follows after a second."""
    session = await page.run("fetch('/api/v1/sessions?order=newest').then((answer) => answer.json()).then(({ sessions }) => sessions[0].session)")
    tile = f"[...document.querySelectorAll('.tile')].find((one) => one.querySelector('video').dataset.source === {json.dumps(arguments.sound)})"
    level = f"Number({tile}.querySelector('.level').getAttribute('aria-valuenow'))"
    await page.open(f"{arguments.page}/sessions/{session}")
    await page.until(f"{tile}?.dataset.state === 'soundOnly' && !{tile}.querySelector('.level').hidden", 20)
    end = await page.run("tributary.state().at")

    async def at_rest(time):
        await page.run(f"(() => {{ const place = document.querySelector('.place'); place.value = '{time:.3f}'; place.dispatchEvent(new Event('change')); }})()")
        await page.until(f"!{tile}.querySelector('.level').hidden", 10)
        await asyncio.sleep(0.08)
        return await page.run(level)

    times = [end - 3 + 0.02 * number for number in range(50)]
    loud = [time for time in times if await at_rest(time) > -9]
    beep = sum(loud) / len(loud) if loud else end - 3
    around = [await at_rest(beep + 1), await at_rest(beep + 0.5)] if loud else []
    checks("a recording's level at rest is that of the time that is shown", 1 <= len(loud) <= 6 and -9 < around[0] < -3 and around[1] < -40, f"{loud}, {around}")
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/level-recorded.png")
    await page.key(" ")
    levels = []
    for _ in range(60):
        levels.append(await page.run(f"Number({tile}.querySelector('.level').getAttribute('aria-valuenow'))"))
        await asyncio.sleep(0.05)
    await page.key(" ")
    checks("and while it plays, that of its beeps", -9 < max(levels) < -3 and min(levels) < -40, f"{min(levels)} to {max(levels)} dB")
    others = await page.run("[...document.querySelectorAll('.tile')].filter((one) => one.dataset.state !== 'soundOnly' && !one.querySelector('.level').hidden).length")
    checks("recorded tiles with pictures have none", others == 0)
    # The pointer over each lane: that of the sound asks for no picture, or the console would say so.
    await page.run("document.querySelector('.timeline').scrollIntoView({ block: 'center' })")
    left, top, width = await page.run("(({ left, top, width }) => [left, top, width])(document.querySelector('.timeline .slider').getBoundingClientRect())")
    words = ""
    for lane in range(await page.run("document.querySelectorAll('.tile').length")):
        await page.mouse("mouseMoved", left + 0.6 * width, top + 68 + 27 * lane)
        await asyncio.sleep(0.6)
        words += await page.run("document.querySelector('.timeline .hover').innerText")
    checks("the pointer over its lane tells the time", f"{arguments.sound} \u00b7" in words, words.replace("\n", " / "))


async def check(arguments):
    checks = Checks()
    async with Chromium(1280, 900) as page:
        await password(page, checks, arguments)
        await links(page, checks, arguments)
        await level(page, checks, arguments)
        await recorded_level(page, checks, arguments)
        # For whoever comes next.
        await page.open(f"{arguments.page}/account")
        await page.until("!!document.querySelector('.fields')", 10)
        await passwords(page, OTHER, *[arguments.viewer.split(":", 1)[1]] * 2)
        await page.until(FORM, 20)
        checks.console(page, ("401", "403"))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one")
    parser.add_argument("--source", required=True, help="one of it")
    parser.add_argument("--viewer", required=True, help="NAME:PASSWORD")
    parser.add_argument("--sound", required=True, help="a live source with sound alone")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
