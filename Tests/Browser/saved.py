#!/usr/bin/python3
"""Walls that are saved, and what is done with one tile: saving, order, size, turning, sharing, zoom and pan, live and recorded.

Two or more live sources have to be recorded. The viewer has accounts.

    Tests/Browser/saved.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --viewer vera:PASSWORD --operator otto:PASSWORD
"""

import argparse
import asyncio
import json
import sys

from checks import Checks
from chromium import Chromium
from roles import log_in

SAID = "document.getElementById('said').textContent"
TILES = "[...document.querySelectorAll('.live-tile')].filter((one) => one.checkVisibility()).map((one) => one.getAttribute('aria-label'))"
WALLS = "fetch('/api/v1/walls').then((answer) => answer.json())"
# The middle of a picture, as it is seen: a hash of its pixels at the scale of the page says little, so what is shown is asked of the layout.
SEEN = """(() => {
    const tile = document.querySelector('%s'), picture = tile.querySelector('canvas, video'), frame = tile.querySelector('.screen').getBoundingClientRect();
    const box = picture.getBoundingClientRect();
    return { scale: box.width / frame.width, left: (frame.left - box.left) / box.width, top: (frame.top - box.top) / box.height, width: frame.width };
})()"""


async def fill(page, label, text):
    """Types into a field of the open dialog."""
    await page.run(f"""(() => {{
        const label = [...document.querySelectorAll('dialog[open] label')].find((one) => one.textContent.startsWith({json.dumps(label)}));
        const field = label.querySelector('input'); field.focus(); field.value = {json.dumps(text)};
    }})()""")


async def walls(page, checks, arguments):
    """Saves a wall, changes and turns it, and gives it to others."""
    await page.open(f"{arguments.page}/live")
    await log_in(page, arguments.operator.split(":", 1))
    await page.until(f"{TILES}.length >= 2", 20)
    before = await page.run(TILES)
    await page.key("w")
    await page.until("document.querySelector('dialog[open]')?.textContent.includes('No wall is saved yet.')", 10)
    await page.press_text("New wall", "document.querySelector('dialog[open]')")
    await page.until("!!document.querySelector('dialog[open] .order')", 5)
    await page.press_text("Save", "document.querySelector('dialog[open]')")
    checks("a wall needs a name", await page.run("!!document.querySelector('dialog[open] input:invalid')"))
    await fill(page, "Name", "Entrance")
    await page.press_text(f"{before[1]} earlier", "document.querySelector('dialog[open]')")
    await fill(page, "Tiles at once", "1")
    await fill(page, "Turn every", "5")
    await page.press_text("Save", "document.querySelector('dialog[open]')")
    await page.until("location.search.startsWith('?wall=')", 10)
    saved = (await page.run(WALLS))[0]
    wanted = [before[1], before[0], *before[2:]]
    checks("it is saved with its name, order and size", saved["name"] == "Entrance" and saved["sources"] == wanted and saved["tiles"] == 1 and saved["turnSeconds"] == 5, str(saved))
    await page.until(f"{TILES}.length === 1 && tributary.state().sources[{TILES}[0]]?.state === 'live'", 20)
    first = (await page.run(TILES))[0]
    checks("as many tiles as its size, in its order", first == wanted[0], first)
    await page.until(f"{TILES}[0] === {json.dumps(wanted[1])}", 9)
    checks("it turns by itself", True, await page.run("document.querySelector('.pages output').textContent"))
    await asyncio.sleep(0.5)
    state = await page.run(f"tributary.state().sources[{json.dumps(wanted[1])}].state")
    checks("onto a picture that is live at once", state == "live", state)
    await page.press_text("Turn")
    await page.key("p")
    await page.until(f"{TILES}[0] === {json.dumps(wanted[0])}", 3)
    await asyncio.sleep(6)
    checks("it stays when that is asked for, and keys turn it", (await page.run(TILES)) == [wanted[0]])
    address = await page.run("location.pathname + location.search")

    async with Chromium(1280, 900) as other:
        await other.open(arguments.page + address)
        await log_in(other, arguments.viewer.split(":", 1))
        await other.until(f"{SAID}.includes('There is no such wall')", 10)
        checks("somebody else's wall does not exist", await other.run(f"{WALLS}.then((walls) => walls.length)") == 0)
        await page.press_text("Walls")
        await page.until("!!document.querySelector('dialog[open] .walls')", 5)
        await page.press_text("Edit Entrance", "document.querySelector('dialog[open]')")
        await page.until("!!document.querySelector('dialog[open] .tick input')", 5)
        await page.run("document.querySelector('dialog[open] .tick input').click()")
        await fill(page, "Tiles at once", "")
        await page.press_text("Save", "document.querySelector('dialog[open]')")
        await page.until(f"{SAID} === 'The wall Entrance is saved.' && {TILES}.length === {len(wanted)}", 10)
        await other.open(arguments.page + address)
        await other.until(f"JSON.stringify({TILES}) === {json.dumps(json.dumps(wanted, separators=(',', ':')))}", 20)
        checks("a shared one is there for everybody, in its order", True)
        await other.key("w")
        await other.until("!!document.querySelector('dialog[open] .walls a')", 10)
        checks("and only operators are offered to change it", not await other.run("[...document.querySelectorAll('dialog[open] button')].some((one) => one.textContent === 'Edit')"))
        checks.console(other, ("401",))
    if arguments.shots:
        await page.press_text("Walls")
        await page.until("!!document.querySelector('dialog[open] .walls')", 5)
        await page.shoot(f"{arguments.shots}/walls.png")
        await page.key("Escape")
    await page.key("w")
    await page.until("!!document.querySelector('dialog[open] .walls')", 5)
    await page.press_text("Remove Entrance", "document.querySelector('dialog[open]')")
    await page.until(f"{SAID}.startsWith('The wall Entrance is removed.') && location.search === ''", 10)
    await page.press_text("Undo", "document.getElementById('said')")
    await page.until(f"{SAID} === 'The wall Entrance is there again.'", 10)
    left = await page.run(WALLS)
    checks("a wall that was removed can be taken back", [one["name"] for one in left] == ["Entrance"], str(left))
    await page.run(f"fetch('/api/v1/walls/{left[0]['id']}', {{ method: 'DELETE' }})")


async def zoom(page, checks, tile, name):
    """Zoom and pan of one tile, by wheel, drag, keys and fingers."""
    seen = SEEN % tile
    box = await page.run(f"(() => {{ const b = document.querySelector('{tile} .screen').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")
    x, y = box[0] + box[2] * 0.25, box[1] + box[3] * 0.25
    await page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    await asyncio.sleep(0.2)
    checks(f"{name}: the wheel alone does not zoom", abs((await page.run(seen))["scale"] - 1) < 0.01)
    await page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-460, modifiers=2)
    await asyncio.sleep(0.2)
    now = await page.run(seen)
    point = [now["left"] + 0.25 / now["scale"], now["top"] + 0.25 / now["scale"]]
    checks(f"{name}: with Control it does, about the pointer", now["scale"] > 1.5 and all(abs(one - 0.25) < 0.02 for one in point), f"{now} {point}")
    checks(f"{name}: and the page keeps its own scale", await page.run("visualViewport.scale") == 1)
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    await page.mouse("mouseMoved", x, y)
    await page.mouse("mousePressed", x, y, button="left", clickCount=1)
    for step in range(1, 6):
        await page.mouse("mouseMoved", x - step * 8, y, buttons=1)
    await page.mouse("mouseReleased", x - 40, y, button="left", clickCount=1)
    await asyncio.sleep(0.3)
    moved = await page.run(seen)
    checks(f"{name}: a drag moves it and is no click", abs((moved["left"] - now["left"]) * now["scale"] * now["width"] - 40) < 3
        and not await page.run(f"document.querySelector('{tile} [aria-pressed=true].enlarge')"), f"{now} {moved}")
    await page.run(f"document.querySelector('{tile} .enlarge, {tile} .name').focus()")
    await page.key("ArrowLeft", shift=True)
    await asyncio.sleep(0.2)
    checks(f"{name}: keys move it", (await page.run(seen))["left"] < moved["left"] - 0.02)
    await page.key("z")
    await asyncio.sleep(0.2)
    larger = (await page.run(seen))["scale"]
    checks(f"{name}: keys zoom", abs(larger / moved["scale"] - 1.5) < 0.05, str(larger))
    button = await page.run(f"document.querySelector('{tile} .whole').getAttribute('aria-label')")
    checks(f"{name}: a button says how much, and that it is not the whole picture", "whole picture" in button and "×" in button, button)
    await page.run(f"document.querySelector('{tile} .whole').click()")
    await asyncio.sleep(0.2)
    whole = await page.run(seen)
    checks(f"{name}: and gives the whole picture back", abs(whole["scale"] - 1) < 0.01 and await page.run(f"document.querySelector('{tile} .whole').hidden"), str(whole))
    # Two fingers.
    middle = (box[0] + box[2] / 2, box[1] + box[3] / 2)
    for kind, distance in (("touchStart", 20), *[("touchMove", 20 + 10 * step) for step in range(1, 6)]):
        await page.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": middle[0] + way * distance, "y": middle[1], "id": index} for index, way in enumerate((-1, 1))])
    await page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    await asyncio.sleep(0.3)
    pinched = (await page.run(seen))["scale"]
    checks(f"{name}: two fingers zoom", pinched > 1.8, str(pinched))
    await page.key("x")
    await asyncio.sleep(0.2)
    checks(f"{name}: a key gives the whole picture back", abs((await page.run(seen))["scale"] - 1) < 0.01)


async def check(arguments):
    checks = Checks()
    async with Chromium(1280, 900) as page:
        await walls(page, checks, arguments)
        checks.console(page, ("401",))
    # A browser each: Chromium drops emulated touches of a second page.
    for path, tile, name, shown in (
        ("live", ".live-tile", "live", "one.state === 'live'"),
        (f"sessions/{arguments.session}?at=4", ".tile", "recorded", "one.at !== null"),
    ):
        async with Chromium(1280, 900) as page:
            await page.open(f"{arguments.page}/{path}")
            await log_in(page, arguments.operator.split(":", 1))
            await page.until(f"Object.values(window.tributary?.state().sources ?? {{}}).some((one) => {shown})", 20)
            await page.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
            await zoom(page, checks, tile, name)
            checks.console(page, ("401",))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one")
    parser.add_argument("--viewer", required=True, help="NAME:PASSWORD")
    parser.add_argument("--operator", required=True, help="NAME:PASSWORD")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
