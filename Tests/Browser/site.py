#!/usr/bin/python3
"""Watches a site of two collectors with one viewer, while sources move from one collector to the other.

It starts PostgreSQL (Tests/Catalog/server.py), two collectors, two agents and a viewer that is given the catalog alone. Pictures are judged by the
test pattern's time codes, read from the tiles.

    Tests/Browser/site.py --binaries .build/debug
"""

import argparse
import asyncio
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), part) for part in ("Catalog", "PowerCuts")]

from browsers import browser  # noqa: E402
from checks import Checks  # noqa: E402
from pixels import READER  # noqa: E402
from programs import Site  # noqa: E402
from server import Absent, Server, free_port  # noqa: E402

SOURCES = ("door", "stage")
RATE = 15
# Time limits for what happens after some seconds on an idle machine.
PATIENCE = 120
# Every refresh: [monotonic seconds, codes of all tiles]. A code is written down when it changes.
TRACE = """
window.trace = [];
window.isTheSamePage = true;
(() => {
    const last = {};
    const step = () => {
        const now = Date.now() / 1000 - %(offset)f;
        for (const [name, code] of Object.entries(look())) {
            if (code === null || code === last[name]) continue;
            last[name] = code;
            trace.push([now, name, code]);
        }
        requestAnimationFrame(step);
    };
    step();
})();
"""
TILE = "document.querySelector('.live-tile[aria-label=%s] %s').textContent"


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Collector:
    def __init__(self, site, name, port, catalog):
        self.site, self.name, self.catalog = site, name, catalog
        self.archive = os.path.join(site.directory, name)
        self.endpoint = f"tcp://127.0.0.1:{port}"
        self.process = None

    def start(self):
        self.process, _ = self.site.start(
            "tributary-collector", "--name", self.name, "--archive", self.archive, "--listen", self.endpoint, "--catalog", self.catalog,
            "--segment", "20s", "--group-commands")
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def size(self, source):
        """Bytes of its recording of a source."""
        return sum(os.path.getsize(path) for path in glob.glob(f"{self.archive}/sessions/*/{source}/*.mp4"))


class Evening:
    """Two collectors, their agents and a viewer."""

    def __init__(self, binaries, directory, server):
        self.site = Site(binaries, directory, RATE)
        self.catalog = server.address()
        self.collectors = [Collector(self.site, name, free_port(), self.catalog).start() for name in ("east", "west")]
        self.port = free_port()
        self.viewer = None

    def capture(self, source):
        places = ",".join(one.endpoint for one in self.collectors)
        return self.site.start(
            "tributary-agent", "--video", "test", "--audio", "test", "--size", "640x360", "--fps", str(RATE), "--source", source,
            "--collector", places, "--spool", f"{self.site.directory}/spool-{source}")[0]

    def view(self, has_sources):
        """The page's address."""
        self.viewer, log = self.site.start(
            "tributary-viewer", "--catalog", self.catalog, "--listen", str(self.port), "--state", os.path.join(self.site.directory, "state"))
        page = self.site.said(log, r"watch at (http://127\.0\.0\.1:\d+)/")
        return self.site.serve(page) if has_sources else page

    def view_alone(self, collector, has_sources):
        """The address of a page that reads the archive of one collector."""
        _, log = self.site.start(
            "tributary-viewer", "--archive", collector.archive, "--listen", "0", "--state", os.path.join(self.site.directory, "state-alone"))
        page = self.site.said(log, r"watch at (http://127\.0\.0\.1:\d+)/")
        return self.site.serve(page) if has_sources else page

    async def holder(self, source, besides=None):
        """The collector whose recording of a source grows."""
        end = now() + PATIENCE
        while now() < end:
            before = [one.size(source) for one in self.collectors]
            await asyncio.sleep(0.2)
            for one, size in zip(self.collectors, before):
                if one is not besides and one.size(source) > size:
                    return one, now()
        raise TimeoutError(f"nobody records {source}")


async def goes_on(page, source, since, seconds=PATIENCE):
    """When a tile showed the first picture that was captured after an instant."""
    await page.until(f"trace.some(([, name, code]) => name === '{source}' && code > {since})", seconds)
    return await page.run(f"trace.find(([, name, code]) => name === '{source}' && code > {since})[0]")


def seconds(clock):
    """Since midnight."""
    return sum(int(part) * unit for part, unit in zip(clock.split(":"), (3600, 60, 1)))


def stands(trace, source):
    """The longest time between two pictures, and how often one was older than one before."""
    looks = [(when, code) for when, name, code in trace if name == source]
    pauses = [after[0] - before[0] for before, after in zip(looks, looks[1:])]
    back = sum(after[1] < before[1] for before, after in zip(looks, looks[1:]))
    return max(pauses, default=0), back


async def check(arguments, evening):
    checks = Checks()
    offset = time.time() - now()
    for source in SOURCES:
        evening.capture(source)
    first, _ = await evening.holder("door")
    address = evening.view(arguments.sources)
    async with browser(arguments.browser) as page:
        await page.open(f"{address}/live")
        await page.until("Object.values(window.tributary?.state().sources ?? {}).filter((one) => one.state === 'live').length === 2", PATIENCE)
        await page.run(READER + TRACE % {"offset": offset})
        await asyncio.sleep(5)
        for source in SOURCES:
            holder, _ = await evening.holder(source)
            shown = await page.run(f"[{TILE % (source, '.from')}, window.tributary.state().sources.{source}.collector]")
            checks(f"the tile of {source} tells its collector", shown == [holder.name] * 2, f"{shown} instead of {holder.name}")
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/site.png")

        fault = now()
        first.kill()
        second, recorded = await evening.holder("door", besides=first)
        shown = await goes_on(page, "door", fault)
        print(f"killed: recorded by {second.name} after {recorded - fault:.1f} s, on the wall after {shown - fault:.1f} s")
        checks("the wall goes on with the other collector's pictures", True)
        checks("without a reload", await page.run("window.isTheSamePage === true"))
        await page.until(f"{TILE % ('door', '.moved')} !== ''", 5)
        words, place = await page.run(f"[{TILE % ('door', '.moved')}, {TILE % ('door', '.from')}]")
        checks("the tile tells the new collector", place == second.name, place)
        found = re.fullmatch(rf"Moved from {first.name} to {second.name} at (\d\d:\d\d:\d\d).*", words)
        moment = time.strftime("%H:%M:%S", time.localtime(fault + offset))
        checks("and when it has moved", found and -3 <= seconds(found.group(1)) - seconds(moment) <= shown - fault + 1, f"{words}; killed at {moment}")
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/site-moved.png")
        await page.until(f"{TILE % ('door', '.moved')} === ''", 40)
        checks("for a moment", True)

        await health(page, checks, arguments, address, first, second)
        await recording(page, checks, arguments, address, first, second)
        # The source goes back, and the archive of the other collector is not read.
        first.start()
        second.kill()
        await evening.holder("door", besides=second)
        await asyncio.sleep(5)
        await held(page, checks, arguments, evening.view_alone(first, arguments.sources), second)
        # The names of media change while a file of both archives grows: the page reads its list again.
        checks.console(page, ("/hls/",))
    return checks.failures == 0


async def health(page, checks, arguments, address, killed, other):
    """The table of the collectors."""
    await page.open(f"{address}/health")
    row = "[...document.querySelectorAll('.collectors tbody tr')].find((row) => row.cells[0].textContent === '%s')"
    await page.until(f"{row % killed.name}?.dataset.state === 'silent'", 60)
    cells = await page.run(f"[...({row % other.name}).cells].map((cell) => cell.textContent)")
    checks("Health has a row for each collector", cells[1] == "recording" and cells[3] == str(len(SOURCES)) and "B of" in cells[5], cells)
    alone = await page.run(f"({row % killed.name}).cells[6].textContent")
    checks("the silent one alone has what it recorded", re.fullmatch(r"[\d,]+ records", alone), alone)
    await page.until(f"document.querySelector('.findings').innerText.includes('{killed.name} has not been heard for')", 15)
    checks("and says above it which one is silent", True)
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/site-health.png")


async def recording(page, checks, arguments, address, before, after):
    """The timeline of a recording that two collectors have."""
    await page.open(f"{address}/sessions/latest")
    await page.until("document.querySelectorAll('.legend .thin').length === 2", PATIENCE)
    await page.until("Object.values(tributary.state().sources).every((one) => one.at !== null)", PATIENCE)
    checks("its sources are played", True)
    names = await page.run("[...document.querySelectorAll('.legend li')].filter((item) => item.querySelector('.thin')).map((item) => item.textContent)")
    checks("the legend has both collectors", names == [f"At {name}" for name in sorted((before.name, after.name))], names)
    lane = await page.run("fetch(`/api/v1/sessions/${location.pathname.split('/')[2]}/coverage`).then((answer) => answer.json())"
        ".then((lanes) => lanes.find((lane) => lane.source === 'door'))")
    copies = {copy["collector"]: copy["recorded"] for copy in lane["copies"]}
    joint = copies[before.name][-1]["endSeconds"]
    checks("the coverage tells where it was before and after the move", abs(copies[after.name][0]["startSeconds"] - joint) < 5, copies)
    for name, at in ((before.name, joint - 3), (after.name, joint + 6)):
        words = await hovered(page, at, ".place-words")
        checks(f"the pointer tells that {name} has a time", words == f"At {name}", words)
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/site-recording.png")
    await page.open(f"{address}/sessions/latest?at={joint - 3:.3f}&sources=door")
    await page.until("window.tributary?.state().sources.door?.state === 'shown'", PATIENCE)
    await page.run(READER)
    await page.key(" ", "Space")
    looks = []
    end = now() + PATIENCE
    while now() < end and (not looks or looks[-1][0] < joint + 3):
        at, code = await page.run("[tributary.state().sources.door.at, look().door]")
        if at is not None and code is not None:
            looks.append((at, code))
        await asyncio.sleep(0.1)
    distances = [code - at for at, code in looks]
    spread = max(distances) - min(distances)
    checks("playback crosses from one collector to the other", looks[0][0] < joint - 1 and looks[-1][0] > joint + 2, f"{looks[0][0]:.2f} to {looks[-1][0]:.2f}")
    checks("with each picture at its time, to one picture", spread < 1.5 / RATE, f"{1000 * spread:.1f} ms in {len(looks)} looks")


async def held(page, checks, arguments, address, other):
    """The timeline of a recording of which one archive is not read."""
    await page.open(f"{address}/sessions/latest")
    await page.until("!!document.querySelector('.legend .falling')", PATIENCE)
    lanes = await page.run("fetch(`/api/v1/sessions/${location.pathname.split('/')[2]}/coverage`).then((answer) => answer.json())")
    lane = next(lane for lane in lanes if lane["source"] == "door")
    place = lane["held"][0]
    checks("what the other collector holds is neither recorded nor missing", place["collector"] == other.name and "copies" not in lane and not [
        part for part in lane["recorded"] + lane["missing"] if part["startSeconds"] < place["endSeconds"] - 0.05 and part["endSeconds"] > place["startSeconds"] + 0.05], lane)
    at = (place["startSeconds"] + place["endSeconds"]) / 2
    words = await hovered(page, at, ".place-words")
    checks("the pointer tells who holds it", words.startswith(f"Held by {other.name}, which is not read"), words)
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/site-held.png")
    await page.open(f"{address}/sessions/latest?at={at:.3f}")
    await page.until("window.tributary?.state().sources?.door?.state === 'held'", 20)
    words = await page.run("document.querySelector('[data-source=door]').closest('figure, .tile').innerText")
    told = await page.run("document.querySelector('.facts').innerText + document.querySelector('[aria-label=\"What is missing\"]').innerText")
    checks("so do the heading and the list", "more held elsewhere" in told and f"{place['records']:,} records held by {other.name}" in told, told)
    checks("so does the tile", f"Held by {other.name}, which is not read." in words, words)
    if arguments.shots:
        await page.shoot(f"{arguments.shots}/site-held-tile.png")


async def hovered(page, at, selector):
    """The words of the timeline's tooltip over a time of the source door."""
    x, y = await page.run(f"""(() => {{
        const slider = document.querySelector('.slider');
        slider.scrollIntoView({{ block: 'center' }});
        const box = slider.getBoundingClientRect(), left = box.width < 600 ? 64 : 110;
        const [least, most] = ['min', 'max'].map((end) => Number(slider.getAttribute(`aria-value${{end}}`)));
        return [box.left + left + ({at} - least) / (most - least) * (box.width - left - 8), box.top + 66];
    }})()""")
    await page.mouse("mouseMoved", x, y)
    await asyncio.sleep(0.3)
    return await page.run(f"document.querySelector('.timeline .hover {selector}').textContent")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True, help="where the programs are")
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--sources", action="store_true", help="the page from the sources, not the one in the programs")
    parser.add_argument("--shots", help="directory for pictures of the pages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tributary-site-") as directory:
        os.chmod(directory, 0o755)
        try:
            server = Server(directory)
        except Absent as why:
            print(f"skipped: {why}")
            return 0
        evening = None
        try:
            server.start()
            evening = Evening(os.path.abspath(arguments.binaries), directory, server)
            return 0 if asyncio.run(check(arguments, evening)) else 1
        finally:
            if evening:
                evening.site.stop()
            server.remove()


if __name__ == "__main__":
    sys.exit(main())
