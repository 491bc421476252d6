#!/usr/bin/python3
"""Uses the timeline as users do: the pointer over a gap shows the reason, the wheel zooms, a drag moves, a click and the keys go to places; how it grows.

The session has to have a gap.

    Tests/Browser/timeline.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import json
import sys
import urllib.request

from browsers import browser
from checks import Checks

HOVER = "(() => { const hover = document.querySelector('.timeline .hover'); return hover.hidden ? '' : hover.innerText; })()"
SAID = "document.getElementById('said').textContent"
# Where a time is on the whole timeline, as timeline-scale.js and timeline-draw.js have it: [x, y of the lane] of the window.
PLACE = """
window.placeOf = (time, start, end, lane, lanes) => {
    const box = document.querySelector('.timeline .slider').getBoundingClientRect();
    const left = box.width < 600 ? 64 : 110, width = box.width - left - 8, more = (end - start) * 0.01;
    return [box.left + left + (time - start + more) / (end - start + 2 * more) * width, box.top + 52 + 5 + lane * 27 + 11];
};
"""
# A timeline of its own that is zoomed into, hears of the same lanes again as one of a session that grows, and shows all: what becomes of its fine lanes.
GROWING = """(async () => {
    const { Timeline } = await import('/page/timeline.js'), { readCoverage } = await import('/page/playback-coverage.js');
    const until = async (isSo) => { for (let look = 0; look < 100 && !isSo(); look += 1) await new Promise((resolve) => setTimeout(resolve, 50)); };
    const lanes = await readCoverage(%(session)s), made = new Timeline(%(session)s, 0, () => {});
    made.setNames(lanes.map((lane) => lane.source));
    made.setLanes(lanes);
    made.zoom(0.2);
    await until(() => made.fine);
    const { fine } = made;
    made.setLanes(lanes);
    const isKept = !!fine && made.fine === fine;
    await until(() => made.fine !== fine);
    const isNew = !!made.fine && made.fine !== fine;
    made.showAll();
    const isGone = !made.fine;
    made.close();
    return [isKept, isNew, isGone];
})()"""

# Opened at an instant of a session of three hours, and of a minute.
AROUND = """(async () => {
    const { Timeline } = await import('/page/timeline.js');
    const shown = (length) => {
        const made = new Timeline('none', 0, () => {});
        made.setLanes([{ source: 'hall', recorded: [{ startSeconds: 0, endSeconds: length, isGrowing: false }], missing: [], unplaced: [] }]);
        made.showAround(7200);
        const { start, end, isWhole } = made.scale;
        made.close();
        clearTimeout(made.settling);
        return isWhole || [start, end, isWhole];
    };
    return [shown(10800), shown(60)];
})()"""

LATER = "{ const Present = Date; Date = class extends Present { constructor(...parts) { super(...(parts.length ? parts : [Present.now() + 182 * 86_400_000])); } }; }"


async def check(arguments):
    checks = Checks()

    def get(path):
        with urllib.request.urlopen(f"{arguments.page}/api/v1/sessions/{arguments.session}{path}") as answer:
            return json.load(answer)

    lanes = get("/coverage")
    start = min(lane["recorded"][0]["startSeconds"] for lane in lanes)
    end = max(lane["recorded"][-1]["endSeconds"] for lane in lanes)
    number, gap = max(((number, gap) for number, lane in enumerate(lanes) for gap in lane["missing"] if gap["cause"] != "command"),
        key=lambda one: one[1]["endSeconds"] - one[1]["startSeconds"])
    middle = (gap["startSeconds"] + gap["endSeconds"]) / 2
    source = lanes[number]["source"]
    lines = [line for line in get(f"/sources/{source}/gaps") if line["cause"] == gap["cause"]]
    async with browser(arguments.browser) as page:
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at={start + 0.5:.3f}")
        await page.until("Object.keys(window.tributary?.state().sources ?? {}).length > 0 && Object.values(tributary.state().sources).every((one) => one.at !== null)", 20)
        await page.run(PLACE)
        facts = await page.run("document.querySelector('.facts').textContent")
        checks("the heading does not say that nothing is missing", "nothing missing" not in facts, facts)

        async def point(time, lane):
            await page.run("document.querySelector('.timeline').scrollIntoView({ block: 'center' })")
            x, y = await page.run(f"placeOf({time}, {start}, {end}, {lane}, {len(lanes)})")
            await page.mouse("mouseMoved", x, y)
            return x, y

        await point(start + 1, number)
        await page.until("(() => { const image = document.querySelector('.timeline .hover img'); return !image.hidden && image.naturalWidth > 0; })()", 5)
        words = await page.run(HOVER)
        checks("the pointer over what is recorded shows a small picture of it, both times and the bound", source in words and "±" in words
            and words.count(":") >= 3, words.replace("\n", " / "))
        x, y = await point(middle, number)
        await page.until(f"{HOVER}.includes('missing')", 5)
        await asyncio.sleep(1)
        words = await page.run(HOVER)
        checks("the pointer over a gap tells its source and why", source in words and ("missing" in words), words.replace("\n", " / "))
        numbers = [number for line in lines for pair in line.get("records", [])[:1] for number in pair]
        if numbers:
            checks("and which records", all(str(number) in words for number in numbers[:2]), str(numbers))
        checks("and who says so", len(lines) > 1 or "Reported by the agent itself" in words, words.replace("\n", " / "))
        checks("and asks for no picture where there is none", not [text for text in page.problems if "picture.jpg" in text], str(page.problems))
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/gap.png")

        before = await page.run("document.querySelector('.timeline canvas').toDataURL()")
        for _ in range(4):
            await page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        await asyncio.sleep(0.6)
        zoomed = await page.run("document.querySelector('.timeline canvas').toDataURL()")
        checks("the wheel zooms", zoomed != before)
        for _ in range(8):
            await page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        await asyncio.sleep(0.6)
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/zoomed.png")
        zoomed = await page.run("document.querySelector('.timeline canvas').toDataURL()")
        await page.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            await page.mouse("mouseMoved", x - 30 * step, y, button="left", buttons=1)
        await page.mouse("mouseReleased", x - 150, y, button="left", clickCount=1)
        await asyncio.sleep(0.6)
        at = await page.run("tributary.state().at")
        checks("a drag moves, and does not go anywhere", await page.run("document.querySelector('.timeline canvas').toDataURL()") != zoomed
            and abs(at - start - 0.5) < 0.01, f"at {at}")
        await page.key("a")
        await asyncio.sleep(0.3)
        wanted = start + 0.8 * (end - start)
        x, y = await point(wanted, number)
        await page.click(x, y)
        await asyncio.sleep(0.3)
        at = await page.run("tributary.state().at")
        checks("a click goes there", abs(at - wanted) < (end - start) / 100, f"{at} instead of {wanted}")
        await scrub(page, checks, (start, end), point)
        await page.key("Home")
        await page.key("g")
        await page.until(f"{SAID} !== ''", 5)
        words = await page.run(SAID)
        first = min(gap["startSeconds"] for lane in lanes for gap in lane["missing"])
        at = await page.run("tributary.state().at")
        checks("the key G goes to the first gap and tells it", abs(at - first) < 0.01 and "missing" in words, f"{at}: {words}")
        await asyncio.sleep(0.6)
        told = await page.run("document.querySelector('.timeline .slider').getAttribute('aria-valuetext')")
        checks("and who does not see it hears it", "missing" in told, told)
        found = await page.run(GROWING % {"session": json.dumps(arguments.session)})
        checks("fine lanes stay until there are newer ones, and go with the zoom", found == [True, True, True], str(found))
        found = await page.run(AROUND)
        checks("of a session of hours, an instant's minutes are shown; of a short one all", found == [[6600, 7320, False], True], str(found))
        await page.resize(1024, 600)
        place = await page.run("(() => { const line = document.querySelector('.gaps button'); return [line.getClientRects().length, line.clientHeight]; })()")
        checks("the times of a list are on one line each", place[1] < 34, str(place))
        # Seen from half a year later, the clocks of that zone have another offset now than then.
        await page.early(LATER)
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at={start + 0.5:.3f}&zone=Europe/Berlin")
        await page.until("document.querySelector('.wall')?.value.includes('+0')", 10)
        cut = await page.run("[...document.querySelectorAll('.controls input')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.value)")
        checks("the fields show their times whole, with an offset as well", not cut, str(cut))
        await page.press_text("Keys")
        await page.until("!!document.querySelector('dialog[open]')", 5)
        top = await page.run("(() => { const [dialog, title] = ['dialog', 'dialog h2'].map((one) => document.querySelector(one).getBoundingClientRect().top); return title - dialog; })()")
        checks("a long dialog opens at its title", top >= 0, f"{top} px")
        await page.key("Escape")
        checks.console(page)
    return checks.failures == 0


async def scrub(page, checks, extent, point):
    """Drags on the ruler: the pictures follow, and a small one is shown."""
    start, end = extent
    x, y = await point(start + 0.2 * (end - start), 0)
    y -= 40
    last, _ = await page.run(f"placeOf({start + 0.6 * (end - start)}, {start}, {end}, 0, 1)")
    await page.mouse("mousePressed", x, y, button="left", clickCount=1)
    seen = []
    for step in range(1, 9):
        await page.mouse("mouseMoved", x + (last - x) * step / 8, y, button="left", buttons=1)
        await asyncio.sleep(0.25)
        seen.append(await page.run("Object.values(tributary.state().sources)[0].at"))
    shown = await page.run("(() => { const image = document.querySelector('.timeline .hover img'); return !image.hidden && image.naturalWidth > 0; })()")
    await page.mouse("mouseReleased", last, y, button="left", clickCount=1)
    await asyncio.sleep(0.5)
    at = await page.run("tributary.state().at")
    known = [one for one in seen if one is not None]
    checks("dragging the ruler scrubs: pictures follow the pointer", known == sorted(known) and len(set(known)) >= 5, str(seen))
    checks("with a small picture, and it stays where it is let go", shown and abs(at - start - 0.6 * (end - start)) < (end - start) / 100, f"{at}")
    for key, wanted in (("5", start + (end - start) / 2), ("PageUp", end), ("PageDown", start)):
        await page.key(key)
        await asyncio.sleep(0.2)
        at = await page.run("tributary.state().at")
        checks(f"the key {key} goes where every player does", abs(at - wanted) < 0.6, f"{at} instead of {wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one with a gap")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
