#!/usr/bin/python3
"""The page's statements are true, by pixels and text: the first view of a session, the effect of a removal, tiles without a connection, missing sound.

Two live sources have to be recorded; the agent of `--source` is stopped for some seconds. The viewer has no accounts.

    Tests/Browser/known.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --agent 4711 --source door
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import time
import urllib.request

from checks import Checks
from chromium import Chromium

SAID = "document.getElementById('said').textContent"
# A tile without a picture is one colour, or nothing.
PICTURES = """[...document.querySelectorAll('.tile')].map((tile) => {
    const video = tile.querySelector('video'), canvas = new OffscreenCanvas(64, 36), context = canvas.getContext('2d');
    context.drawImage(video, 0, 0, 64, 36);
    const { data } = context.getImageData(0, 0, 64, 36), colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add(`${data[at] >> 5},${data[at + 1] >> 5},${data[at + 2] >> 5}`);
    const words = tile.querySelector('.words');
    return [tile.dataset.state, colours.size > 4, words.hidden ? '' : words.textContent];
})"""
# The page promises nothing: these are what it cannot know.
PROMISES = re.compile(r"comes? back by itself|follows\b|in a few seconds|[Nn]obody", re.I)


async def check(arguments):
    checks = Checks()

    def get(path):
        with urllib.request.urlopen(f"{arguments.page}/api/v1{path}") as answer:
            return json.load(answer)

    newest = get("/sessions?order=newest&limit=1")["sessions"][0]["session"]
    async with Chromium(1280, 900) as page:
        for text, session in (("a finished", arguments.session), ("a growing", newest), ("the newest", "latest")):
            await page.open("about:blank")
            await page.open(f"{arguments.page}/sessions/{session}")
            began = time.monotonic()
            try:
                await page.until(f"{PICTURES}.length >= 2 && {PICTURES}.every(([state, isThere]) => isThere && state === 'shown')", 10)
                found = True
            except TimeoutError:
                found = False
            checks(f"{text} session opens on a picture of every source", found,
                f"{time.monotonic() - began:.1f} s" if found else str(await page.run(PICTURES)))
            if session != arguments.session:
                at, lanes = await page.run("tributary.state().at"), get(f"/sessions/{newest}/coverage")
                end = max(lane["recorded"][-1]["endSeconds"] for lane in lanes)
                checks("near its end", at is not None and end - at < 15, f"{at} of {end}")
                kept = await page.run("location.pathname")
                checks("under its own name", kept == f"/sessions/{newest}", kept)
        await once(page, checks, arguments, get)
        await typed(page, checks, arguments, get)
        await removal(page, checks, arguments, get)
        await days(page, checks, arguments, get)
        await wall(page, checks, arguments)
        checks.console(page)
    return checks.failures == 0


async def once(page, checks, arguments, get):
    """One cause is one gap, and begins its line; a link without accounts promises nothing."""
    await page.open(f"{arguments.page}/sessions/{arguments.session}?at=1")
    await page.until("!!document.querySelector('.gaps li')", 10)
    lanes = get(f"/sessions/{arguments.session}/coverage")
    losses = sum(gap["count"] for lane in lanes for gap in lane["missing"] if gap["cause"] != "command")
    facts = await page.run("document.querySelector('.facts').textContent")
    checks("the heading counts losses", re.search(rf"\b{losses} gaps?\b", facts) is not None, facts)
    lines = await page.run("[...document.querySelectorAll('.gaps li')].map((line) => line.innerText)")
    checks("each gap lasts", not any(re.search(r"for 0 s|681 µs", line) for line in lines), str(lines))
    checks("and its line begins with the cause", all(re.search(r": (The|Late|Stopped|Samples|A )", line) for line in lines), str(lines))
    source, gap = max(((lane["source"], gap) for lane in lanes for gap in lane["missing"] if gap["cause"] != "command"),
        key=lambda one: one[1]["endSeconds"] - one[1]["startSeconds"])
    await page.open(f"{arguments.page}/sessions/{arguments.session}?at={(gap['startSeconds'] + gap['endSeconds']) / 2:.3f}&sources={source}")
    await page.until(f"{PICTURES}.length === 1 && {PICTURES}.every(([state]) => state === 'missing')", 15)
    words = await page.run(f"{PICTURES}[0][2]")
    checks("a tile in a gap says the cause first", re.match(r"(The|Late|Samples|A )", words) is not None and "missing" in words, words)
    await page.until("!!document.querySelector('.legend li')", 5)
    legend = await page.run("document.querySelector('.legend').innerText")
    checks("the colours of the lanes have a legend", "Recorded" in legend and "agent was not running" in legend, legend.replace("\n", " / "))
    await page.press_text("Copy a link to the clip")
    await page.until(f"{SAID} !== ''", 5)
    said = await page.run(SAID)
    checks("a link without accounts claims no time and no signature", "no accounts" in said and not re.search(r"a week|a day|an hour", said), said)
    checks("and offers none", await page.run("document.querySelector(\".linking select\").hidden"))


async def typed(page, checks, arguments, get):
    """Typed times are in the shown zone, or refused with a reason."""
    await page.open(f"{arguments.page}/sessions/{arguments.session}?at=1&zone=Asia/Kolkata")
    await page.until("document.querySelector('.controls .wall')?.value", 10)
    shown = await page.run("document.querySelector('.zone').selectedOptions[0].text")
    checks("the zone is named", shown == "Asia/Kolkata, UTC+5:30", shown)
    zero = get(f"/sessions/{arguments.session}")["zero"]
    local = await page.run(f"(async () => (await import('/page/zone.js')).localText(new Date(Date.parse({json.dumps(zero)}) + 5000)).slice(11, 19))()")

    async def type_in(place, text):
        await page.run(f"(() => {{ const field = document.querySelector('{place}'); field.focus(); field.value = {json.dumps(text)};"
            " field.dispatchEvent(new Event('change')); })()")
        await asyncio.sleep(0.3)
        return await page.run("tributary.state().at"), await page.run(SAID)

    at, _ = await type_in(".controls .wall", local)
    checks("a time of day is taken in the zone", 3.9 < at < 5.1, f"{local}: {at}")
    for place, text, reason in ((".controls .wall", "25:99", "no time"), (".controls .place", "15:04:05", "is not in it"), (".controls .place", "soon", "no session time"),
            (".controls .wall", "2020-01-01 00:00", "not in this session")):
        before = at
        at, said = await type_in(place, text)
        checks(f"{text} is refused with a reason", at == before and reason in said, said)
    await page.run("document.activeElement.blur()")
    await asyncio.sleep(0.6)
    kept = await page.run("location.search")
    checks("the address keeps the zone", "zone=Asia/Kolkata" in kept, kept)
    await page.open(f"{arguments.page}/live?zone=UTC")


async def removal(page, checks, arguments, get):
    """A list for a time range shows the whole sizes of sessions that can be removed; protected sessions offer no removal."""
    item = f'.session[data-session="{arguments.session}"]'
    zero = get(f"/sessions/{arguments.session}")["zero"]
    date = f"new Date(Date.parse({json.dumps(zero)}) + %d).toISOString()"
    first, last = await page.run(f"[{date % 9000}, {date % 9500}]")
    await page.open(f"{arguments.page}/sessions?from={first}&until={last}")
    await page.until(f"!!document.querySelector('{item} [data-act=remove]')", 10)
    await page.run(f"document.querySelector('{item} [data-act=remove]').click()")
    await page.until("!!document.querySelector('dialog[open] .goes')", 5)
    words = await page.run("document.querySelector('dialog[open]').innerText")
    size = sum(source["sizeBytes"] for source in get(f"/sessions/{arguments.session}")["sources"])
    whole = await page.run(f"(async () => (await import('/page/format.js')).bytes({size}))()")
    checks("a removal says the whole size", whole in words, f"{whole}: {words}".replace("\n", " / "))
    checks("and the session's name, not its id", arguments.session not in words, words.replace("\n", " / "))
    await page.key("Escape")
    await page.run(f"document.querySelector('{item} [data-act=protect]').click()")
    await page.until(f"document.querySelector('{item} [data-act=remove]')?.disabled", 10)
    checks("a protected session cannot be removed, and the button says why",
        "unprotect" in (await page.run(f"document.querySelector('{item} [data-act=remove]').title")).lower())
    await page.run(f"document.querySelector('{item} [data-act=protect]').click()")
    await page.until(f"document.querySelector('{item} [data-act=remove]')?.disabled === false", 10)
    marks = await page.run(f"document.querySelector('{item} .frame[data-more]')?.dataset.more ?? ''")
    count = len(get(f"/sessions/{arguments.session}")["sources"])
    checks("pictures that are not shown are counted", marks == (f"+{count - 3}" if count > 3 else ""), marks)


async def days(page, checks, arguments, get):
    """A day has a lane for each source over all sessions; a click there opens that instant."""
    await page.open(f"{arguments.page}/sessions")
    source = get(f"/sessions/{arguments.session}")["sources"][0]["name"]
    lane = f"[...document.querySelectorAll('.day .lane')].find((one) => one.querySelector('.source').textContent === {json.dumps(source)})"
    await page.until(f"!!{lane}?.querySelector('.track span')", 15)
    await asyncio.sleep(2)
    x, y = await page.run(f"(() => {{ const last = [...{lane}.querySelectorAll('.track span')].pop(); last.scrollIntoView({{ block: 'center' }});"
        " const box = last.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()")
    await page.mouse("mouseMoved", x, y)
    words = await page.run("[...document.querySelectorAll('.day .at')].find((one) => !one.hidden)?.textContent ?? ''")
    checks("the pointer over a day tells the time and who was recorded", re.match(r"\d\d:\d\d:\d\d", words) is not None and source in words, words)
    await page.click(x, y)
    await page.until("location.pathname.startsWith('/sessions/')", 5)
    await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 30)
    checks("two clicks lead from any page to an instant of a day", True, await page.run("location.pathname + location.search"))


async def wall(page, checks, arguments):
    """A tile whose agent is silent shows only since when; each tile links to its recording at that instant."""
    await page.open(f"{arguments.page}/live")
    tile = f"[...document.querySelectorAll('.live-tile')].find((one) => one.getAttribute('aria-label') === {json.dumps(arguments.source)})"
    await page.until(f"{tile}?.dataset.state === 'live'", 20)
    await page.until(f"{tile}.querySelector('.bar .figures').textContent.includes('/s')", 10)
    rates = await page.run("[...document.querySelectorAll('.live-tile .bar .figures')].map((one) => Number(/([0-9.]+)\\/s/.exec(one.textContent)?.[1]))")
    checks("rates are those of the sources", all(5 <= rate <= 22 for rate in rates if rate is not None), str(rates))
    marks = "fetch('/api/v1/sessions/latest/marks').then((answer) => answer.json()).then((marks) => marks.map((mark) => mark.atSeconds))"
    before = await page.run(marks)
    at = await page.run("tributary.state().at")
    await page.key("k")
    await page.until(f"{SAID}.startsWith('Marked')", 10)
    made = [mark for mark in await page.run(marks) if mark not in before]
    checks("a key marks the instant that is shown", len(made) == 1 and abs(made[0] - at) < 1, f"{made}, {at}")
    await page.press_text("Undo", "document.getElementById('said')")
    await page.until(f"{SAID} === 'The mark is removed.'", 10)
    checks("and the mark can be taken back", await page.run(marks) == before)
    os.kill(arguments.agent, signal.SIGSTOP)
    try:
        await page.until(f"{tile}.dataset.state === 'away'", 20)
        await asyncio.sleep(1)
        words = await page.run(f"{tile}.querySelector('.words').textContent")
        checks("a tile without contact says since when", re.fullmatch(r"No contact since \d\d:\d\d:\d\d", words) is not None, words)
        checks("and promises nothing", not PROMISES.search(words), words)
    finally:
        os.kill(arguments.agent, signal.SIGCONT)
    await page.until(f"{tile}.dataset.state === 'live'", 40)
    # The pause is a gap of the recording, and the link leads to the newest picture in a file, seconds before the live one.
    shown = f"tributary.state().sources[{json.dumps(arguments.source)}].at"
    for _ in range(2):
        await page.until(f"{shown} > {await page.run(shown)} + 3", 20)
    at = await page.run(shown)
    await page.run(f"{tile}.querySelector('a.button').click()")
    await page.until("location.pathname.startsWith('/sessions/')", 5)
    await page.until(f"{PICTURES}.length === 1 && {PICTURES}.every(([state, isThere]) => isThere && state === 'shown')", 30)
    there = await page.run("tributary.state().at")
    checks("a tile leads to its recording, at that instant or at the newest that can be played", 0 <= at - there + 0.5 < 12, f"{at} → {there}")
    await page.press_text("Go live")
    await page.until(f"location.pathname === '/live' && document.querySelectorAll('.live-tile').length === 1 && {tile}?.dataset.state === 'live'", 20)
    checks("and back", True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one, longer than 10 s, with a gap")
    parser.add_argument("--agent", type=int, required=True, help="its process, which is stopped for some seconds")
    parser.add_argument("--source", required=True, help="that agent's")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
