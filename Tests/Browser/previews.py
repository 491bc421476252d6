#!/usr/bin/python3
"""Watches sources with a preview, live and recorded: small tiles show the preview, large ones the source, and no tile is without a picture meanwhile.

    Tests/Browser/previews.py --page http://127.0.0.1:8080 --source gallery --hevc attic

Both are test patterns with `--preview test`; the second one's own pictures are H.265, which Chromium without a decoder cannot show.
"""

import argparse
import asyncio
import json
import os
import sys
import urllib.request

from checks import Checks
from chromium import Chromium
from pixels import READER

# Notes which live sources the page asks for.
NOTES = """
window.asked = [];
const own = window.fetch;
window.fetch = (...words) => {
    const url = String(words[0]?.url ?? words[0]);
    if (url.includes('/api/v1/live?')) window.asked.push(new URL(url, location).searchParams.get('sources') ?? '*');
    return own(...words);
};
"""
RENDITION = "window.tributary?.state().sources['{0}']?.rendition"
# The codes of a tile while something happens: the most that a picture was older than the one before it, and how often there was none; seconds.
WATCH = """
(async (name, milliseconds) => {
    const end = performance.now() + milliseconds;
    let [last, back, none, looks] = [0, 0, 0, 0];
    while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        const code = look()[name];
        looks += 1;
        if (code === null || code === undefined) none += 1;
        else { back = Math.max(back, last - code); last = code; }
    }
    return { back, none, looks };
})('%s', %d)
"""
TILE = "document.querySelector('[data-source=\"{0}\"]').closest('figure')"
# Pixels of a row of the picture.
WIDTH = "(() => {{ const one = document.querySelector('[data-source=\"{0}\"]'); return one?.videoWidth ?? one?.width ?? 0; }})()"


async def shows(page, source, rendition, seconds=20):
    await page.until(f"{RENDITION.format(source)} === '{rendition}'", seconds)
    return await page.run(RENDITION.format(source)) == rendition


async def while_changing(page, checks, text, source, rendition, act):
    """Changes what is shown, and watches the tile meanwhile."""
    watching = asyncio.create_task(page.run(WATCH % (source, 6000)))
    await asyncio.sleep(0.5)
    await page.run(act)
    seen = await watching
    checks(text, await shows(page, source, rendition), await page.run(RENDITION.format(source)))
    checks(f"{text}: a picture at every look, none older than the one before", seen["none"] == 0 and seen["back"] < 0.5, json.dumps(seen))


async def live(page, checks, arguments):
    source, hevc = arguments.source, arguments.hevc
    await page.early(NOTES)
    await page.open(f"{arguments.page}/live")
    await page.until("!!window.tributary", 20)
    await page.run(READER)
    names = "Object.keys(window.tributary.state().sources)"
    # Agents that have just connected: the status lists a preview without its source for up to a second.
    await page.until(f"{names}.includes('{source}') && {names}.includes('{hevc}') && !{names}.some((name) => name.endsWith('.preview'))", 30)
    for name in (source, hevc):
        await shows(page, name, "preview", 60)
    # The agents are connected now: a page that is opened knows all previews by its first status.
    await page.open(f"{arguments.page}/live")
    await page.until("!!window.tributary", 20)
    await page.run(READER)
    await page.until(f"{names}.includes('{source}') && {names}.includes('{hevc}')", 30)
    checks("the wall has no tile for a preview", not [name for name in await page.run(names) if name.endswith(".preview")], str(await page.run(names)))
    checks("a small tile shows the preview", await shows(page, source, "preview"))
    await page.until(f"window.tributary.state().sources['{source}'].state === 'live'", 20)
    checks("with the preview's pixels", await page.run(WIDTH.format(source)) == 640, await page.run(WIDTH.format(source)))
    await page.until(f"{TILE.format(source)}.querySelector('.bar .figures').textContent.includes('preview')", 5)
    checks("the tile says so", "preview" in await page.run(f"{TILE.format(source)}.querySelector('.bar .figures').textContent"))
    asked = await page.run("window.asked")
    checks("only what is shown is received", asked and f"{source}.preview" in asked[0].split(",") and not any(source in one.split(",") for one in asked), str(asked))
    if arguments.shots:
        await page.shoot(os.path.join(arguments.shots, "previews-wall.png"))
    # A browser window of 1,600 pixels has a large tile of more than 960.
    enlarge = f"{TILE.format(source)}.querySelector('.enlarge').click()"
    await while_changing(page, checks, "a large tile shows the source itself", source, "main", enlarge)
    checks("with all of its pixels", await page.run(WIDTH.format(source)) == 1280, await page.run(WIDTH.format(source)))
    if arguments.shots:
        await page.shoot(os.path.join(arguments.shots, "previews-large.png"))
    await while_changing(page, checks, "small again, it shows the preview", source, "preview", enlarge)
    await page.run("window.before = window.asked.length")
    await while_changing(page, checks, "the choice of full size holds for small tiles", source, "main",
        "(() => { const list = document.querySelector('[aria-label=Pictures]'); list.value = 'main'; list.dispatchEvent(new Event('change')); })()")
    await while_changing(page, checks, "the choice of previews holds, too", source, "preview",
        "(() => { const list = document.querySelector('[aria-label=Pictures]'); list.value = 'preview'; list.dispatchEvent(new Event('change')); })()")
    await page.run("(() => { const list = document.querySelector('[aria-label=Pictures]'); list.value = 'size'; list.dispatchEvent(new Event('change')); })()")
    if not await page.run("MediaSource.isTypeSupported('video/mp4; codecs=\"hvc1.1.6.L93.B0\"')"):
        await page.run(f"{TILE.format(hevc)}.querySelector('.enlarge').click()")
        await asyncio.sleep(5)
        checks("a codec that the browser cannot decode is shown by the preview, also large", await shows(page, hevc, "preview"))
        await page.until(f"window.tributary.state().sources['{hevc}'].state === 'live'", 20)
        checks("and is live", await page.run(f"window.tributary.state().sources['{hevc}'].state") == "live", await page.run(f"window.tributary.state().sources['{hevc}'].state"))
        await page.until(f"{TILE.format(hevc)}.querySelector('.bar .figures').title.includes('cannot decode')", 10)
        title = await page.run(f"{TILE.format(hevc)}.querySelector('.bar .figures').title")
        checks("its details say why", "cannot decode hvc1" in title, title)
        if arguments.shots:
            await page.shoot(os.path.join(arguments.shots, "previews-hevc.png"))


def read(arguments, path):
    with urllib.request.urlopen(f"{arguments.page}/api/v1/sessions{path}") as answer:
        return json.load(answer)


async def recorded(page, checks, arguments):
    source, hevc = arguments.source, arguments.hevc
    session = max(one["session"] for one in read(arguments, "")["sessions"])
    lanes = {lane["source"]: lane for lane in read(arguments, f"/{session}/coverage")}
    checks("the lane of a preview says of which source it is one", lanes[f"{source}.preview"].get("previewOf") == source and "previewOf" not in lanes[source])
    start = max(lanes[name]["recorded"][0]["startSeconds"] for name in (source, f"{source}.preview", hevc, f"{hevc}.preview"))
    others = [name for name in lanes if "." not in name and name not in (source, hevc)][:2]
    await page.open(f"{arguments.page}/sessions/{session}?at={start + 3:.3f}&sources={','.join([source, hevc, *others])}")
    await page.until("!!window.tributary", 20)
    state = f"window.tributary.state().sources['{source}']?.state"
    await page.until(f"{state} === 'shown'", 30)
    # A tile may change its rendition when the sizes of the tiles are known.
    await page.until(f"{WIDTH.format(source)} === 640", 20)
    checks("a small tile of a recording shows the preview", await shows(page, source, "preview") and await page.run(WIDTH.format(source)) == 640,
        await page.run(WIDTH.format(source)))
    count = len([name for name, lane in lanes.items() if "previewOf" not in lane])
    facts = await page.run("document.querySelector('.facts').textContent")
    checks("previews are not counted as sources", f"{count} sources" in facts, facts)
    if arguments.shots:
        await page.shoot(os.path.join(arguments.shots, "previews-recorded.png"))
    if not await page.run("MediaSource.isTypeSupported('video/mp4; codecs=\"hvc1.1.6.L93.B0\"')"):
        await page.open(f"{arguments.page}/sessions/{session}?at={start + 3:.3f}&sources={hevc}")
        await page.until(f"{RENDITION.format(hevc)} === 'preview' && window.tributary.state().sources['{hevc}'].state === 'shown'", 30)
        checks("a recording that the browser cannot decode is shown by its preview", await shows(page, hevc, "preview")
            and await page.run(f"window.tributary.state().sources['{hevc}'].state") == "shown")
    await page.open(f"{arguments.page}/sessions/{session}?at={start + 3:.3f}&sources={source}")
    await page.until(f"{RENDITION.format(source)} === 'main' && {state} === 'shown'", 30)
    checks("a large tile of a recording shows the source itself", await page.run(WIDTH.format(source)) == 1280, await page.run(WIDTH.format(source)))
    at = await page.run(f"window.tributary.state().sources['{source}'].at")
    checks("with the picture of the time", at is not None and abs(at - start - 3) < 0.2, f"{at} at {start + 3}")
    await page.run(READER)
    code = f"look()['{source}']"
    await page.until(f"{code} !== null", 10)
    before = await page.run(code)
    # Narrower, the tile has less than 960 pixels.
    await page.resize(800, 700)
    await page.until(f"{RENDITION.format(source)} === 'preview'", 20)
    await page.until(f"{code} !== null", 10)
    after = await page.run(code)
    # The preview has been captured by itself: its picture of the time is up to a picture older or newer.
    checks("made smaller, it shows the preview's picture of the same time", await shows(page, source, "preview") and abs(after - before) < 0.2, f"{before} {after}")
    await page.resize(1600, 1000)
    await page.open(f"{arguments.page}/sessions")
    await page.until("!!document.querySelector('.session .sources')", 20)
    texts = await page.run("[...document.querySelectorAll('.session .sources')].map((one) => one.textContent).join(' ')")
    checks("the list of sessions names no preview", source in texts and ".preview" not in texts, texts)
    if arguments.shots:
        await page.shoot(os.path.join(arguments.shots, "previews-sessions.png"))
    await page.open(f"{arguments.page}/calendar")
    await page.until("!!document.querySelector('.lane .source')", 20)
    texts = await page.run("[...document.querySelectorAll('.lane .source')].map((one) => one.textContent).join(' ')")
    checks("nor does the calendar", source in texts and ".preview" not in texts, texts)


async def check(arguments):
    checks = Checks()
    if arguments.shots:
        os.makedirs(arguments.shots, exist_ok=True)
    async with Chromium(1600, 1000) as page:
        await live(page, checks, arguments)
        await recorded(page, checks, arguments)
        checks.console(page, ("begin anew", "cannot play"))
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--source", required=True, help="one of 1280x720 that is live")
    parser.add_argument("--hevc", required=True, help="one of H.265 that is live")
    parser.add_argument("--shots", help="directory for pictures")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
