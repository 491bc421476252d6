#!/usr/bin/python3
"""The calendar: what was recorded by source, whatever the sessions were, and the way from any page to an instant of it.

Two sources have to be recorded now; a finished session has to be there.

    Tests/Browser/months.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import json
import sys
import urllib.parse
import urllib.request

from checks import Checks
from chromium import Chromium

SHOWN = "Object.values(window.tributary?.state().sources ?? {})"


async def check(arguments):
    checks = Checks()

    def get(path):
        with urllib.request.urlopen(f"{arguments.page}/api/v1{path}") as answer:
            return json.load(answer)

    session = get(f"/sessions/{arguments.session}")
    sources = [source["name"] for source in session["sources"]]
    async with Chromium(1280, 900) as page:
        for place in ("/live", "/sessions", f"/sessions/{arguments.session}", "/health"):
            await page.open(arguments.page + place)
            await page.until("!!document.querySelector('nav a[href=\"/calendar\"]')?.checkVisibility()", 10)
        await page.press_text("Calendar")
        await page.until("location.pathname === '/calendar' && document.querySelectorAll('.days .day .lane').length > 0", 15)
        days = await page.run("[...document.querySelectorAll('.days section')].map((one) => one.dataset.day)")
        checks("today and yesterday are there at once", len(days) == 2 and days[0] > days[1], str(days))
        lanes = await page.run("[...document.querySelectorAll('.days section:first-child .lane .source')].map((one) => one.textContent)")
        checks("each source has a lane", set(sources) <= set(lanes), f"{lanes}, {sources}")
        told = await page.run("(() => { const cell = document.querySelector('.month a[aria-current=date]:not(.none)'); return cell && [cell.title,"
            " cell.querySelectorAll('.mini > span > span').length]; })()")
        checks("today's cell of the month shows and names the sources", told is not None and told[1] > 0 and all(name in told[0] for name in sources), str(told))

        # Noon is in the middle of each lane, and each hour where the lanes have it.
        far = await page.run("""[...document.querySelectorAll('.days section:first-child .hours span')].slice(1, -1).map((mark, index) => {
            const track = document.querySelector('.days section:first-child .track').getBoundingClientRect(), box = mark.getBoundingClientRect();
            return Math.abs(box.left + box.width / 2 - track.left - track.width * (index + 1) / 8);
        })""")
        checks("each hour is below its place on the lanes", len(far) == 7 and max(far) < 1.5, f"{max(far, default=-1):.1f} px off")

        # The second click: in the middle of what was recorded of one source in the finished session.
        lane = get(f"/sessions/{arguments.session}/coverage")[0]
        middle = sum(lane["recorded"][0][key] for key in ("startSeconds", "endSeconds")) / 2
        at = await page.run(f"Date.parse({json.dumps(session['zero'])}) + {middle * 1000}")
        place = await page.run(f"""(() => {{
            const lane = [...document.querySelectorAll('.days section:first-child .lane')].find((one) => one.querySelector('.source').textContent === {json.dumps(lane["source"])});
            const box = lane.querySelector('.track').getBoundingClientRect();
            const day = new Date(); day.setHours(0, 0, 0, 0);
            const next = new Date(day); next.setDate(next.getDate() + 1);
            return [box.left + box.width * ({at} - day) / (next - day), box.top + box.height / 2];
        }})()""")
        await page.mouse("mouseMoved", *place)
        words = await page.run("[...document.querySelectorAll('.day .at')].find((one) => !one.hidden)?.textContent ?? ''")
        checks("the pointer tells the time and the sources", lane["source"] in words, words)
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/calendar.png")
        await page.click(*place)
        await page.until(f"location.pathname.startsWith('/sessions/') && {SHOWN}.filter((one) => one.at !== null).length > 1", 30)
        opened = await page.run("location.pathname + location.search")
        checks("two clicks from any page open that instant of all sources", arguments.session in opened, opened)
        await page.run("history.back()")
        await page.until("location.pathname === '/calendar' && document.querySelectorAll('.days .day .lane').length > 0", 15)

        # The same in a zone whose day is another one, and a month without recordings.
        await page.open(f"{arguments.page}/calendar?day=2020-02-29&zone=Pacific/Kiritimati")
        await page.until("document.querySelector('.days')?.textContent.includes('Nothing was recorded on this day.')", 10)
        cells = await page.run("document.querySelectorAll('.month td a').length")
        names = await page.run("[...document.querySelectorAll('.month a')].map((one) => new URL(one.href).searchParams.get('day'))")
        checks("a month has its days", cells == 29 and names[0] == "2020-02-01" and names[-1] == "2020-02-29", f"{cells} {names}")
        await page.press_text("›")
        await page.until("location.search.includes('day=2020-03-01')", 5)
        checks("and the next month follows, in the same zone", "zone=Pacific/Kiritimati" in await page.run("location.search"))
        await page.run("document.querySelector('.month a').focus()")
        await page.key("Enter")
        await page.until("document.activeElement !== null && location.search.includes('day=2020-03-01')", 5)

        # Months are told from the catalog, days from the files.
        query = urllib.parse.urlencode({"from": "2020-01-01T00:00:00Z", "until": "2020-04-01T00:00:00Z"})
        try:
            urllib.request.urlopen(f"{arguments.page}/api/v1/recorded?{query}").close()
            status = 200
        except urllib.error.HTTPError as error:
            status = error.code
        checks("a quarter of a year is too long", status == 400, str(status))
        checks.console(page)
        await page.resize(390, 844, 2, True)
        await page.open(f"{arguments.page}/calendar")
        await page.until("document.querySelectorAll('.days .day .lane').length > 0", 15)
        width = await page.run("document.documentElement.scrollWidth")
        checks("a phone needs no sideways scroll", width <= 390, str(width))
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/calendar-phone.png")
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one of today, of several sources")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
