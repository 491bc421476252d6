#!/usr/bin/python3
"""Checks that playback shows the picture given by the index: random seeks, and steps in both directions.

The recording has to be one of test patterns (`tributary-agent --video test`): their time codes are read back from the tiles' pixels.

    Tests/Browser/playback.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --count 100
"""

import argparse
import asyncio
import json
import random
import sys
import urllib.request

from browsers import browser
from pixels import READER, percentile

STEPS = """
// Presses a key, and waits until the first tile shows another picture.
window.stepBy = (key, patience) => new Promise((resolve) => {
    const [name] = Object.keys(look()), before = look()[name], began = performance.now();
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    const check = () => {
        const past = performance.now() - began;
        if (look()[name] !== before || past > patience) resolve(past);
        else requestAnimationFrame(check);
    };
    check();
});
// Goes to a place as somebody does who types it, and waits until all tiles show the pictures of these capture times, and say so.
window.goTo = (text, wanted, told, patience) => new Promise((resolve) => {
    const began = performance.now();
    if (text !== null) {
        const field = document.querySelector('.place');
        field.value = text;
        field.dispatchEvent(new Event('change'));
    }
    const check = () => {
        const codes = look(), past = performance.now() - began;
        const isRight = Object.entries(wanted).every(([name, time]) => codes[name] !== null && Math.abs(codes[name] - time) < 0.005
            && Math.abs(tributary.state().sources[name].at - told[name]) < 0.001);
        if (isRight || past > patience) resolve({ isRight, milliseconds: past, codes, state: tributary.state() });
        else requestAnimationFrame(check);
    };
    check();
});
"""

# Delays each request for media, and counts it. With `isLate`, the playlists lack what is before 40 s.
WATCHED = """
(() => {
    const real = window.fetch;
    window.fetched = {};
    window.fetch = async (path, options) => {
        const range = new Headers(options?.headers).get('range');
        if (range) {
            fetched[`${path} ${range}`] = (fetched[`${path} ${range}`] ?? 0) + 1;
            if (%(delay)d) await new Promise((resolve) => setTimeout(resolve, %(delay)d));
        }
        const answer = await real(path, options);
        if (!%(isLate)s || !String(path).endsWith('.m3u8')) return answer;
        const [before, length, ...rest] = (await answer.text()).split('#EXTINF:');
        const begin = Date.parse(/DATE-TIME:(.*)/.exec(before)[1]) + parseFloat(length) * 1000;
        return new Response([before.replace(/DATE-TIME:.*/, `DATE-TIME:${new Date(begin).toISOString()}`), ...rest].join('#EXTINF:'));
    };
})();
"""


class Archive:
    def __init__(self, page, session):
        self.root = f"{page}/api/v1/sessions/{session}"

    def get(self, path):
        return urllib.request.urlopen(self.root + path)

    def sources(self):
        lanes = json.load(self.get("/coverage"))
        # What is recorded may begin with sound.
        starts = [self.shown(lane["source"]) for lane in lanes]
        ends = [lane["recorded"][-1]["endSeconds"] for lane in lanes]
        return [lane["source"] for lane in lanes], max(starts), min(ends)

    def shown(self, source, at=None):
        """Capture time of the picture that is shown by the index; session time. None: the first one."""
        place = "" if at is None else f"at={at:.6f}&"
        with self.get(f"/sources/{source}/picture.jpg?{place}nearest=yes&width=16") as answer:
            return float(answer.headers["X-Tributary-At"])


async def apart(arguments):
    """Two sources whose next segment begins more than 40 s after the shown time: what is not as it should be."""
    failures = []
    places = [(is_late, delay, at) for is_late in (False, True) for delay in (0, 100) for at in (2, 50)]
    for is_late, delay, at in places:
        name = f"{'late start' if is_late else 'gap'}, delay {delay} ms, at {at} s"
        async with browser(arguments.browser) as page:
            await page.early(WATCHED % {"delay": delay, "isLate": "true" if is_late else "false"})
            await page.open(f"{arguments.apart}?at={at}")
            # Of each source the one that is shown, and the adjacent ones.
            segments = 2 if at == 2 else 4
            try:
                await asyncio.wait_for(page.until(f"Object.keys(window.fetched).length >= {2 * segments}", 15), 20)
                await asyncio.sleep(1)
                state, fetched = await asyncio.wait_for(page.run("[tributary.state().sources, Object.values(fetched)]"), 10)
            except (TimeoutError, asyncio.TimeoutError):
                failures.append(f"{name}: not all segments are fetched")
                continue
            if max(fetched) > 1:
                failures.append(f"{name}: a segment is fetched {max(fetched)} times")
            wanted = "notBegun" if is_late and at == 2 else "shown"
            if any(source["state"] != wanted for source in state.values()):
                failures.append(f"{name}: {state}")
    print(f"sources with segments 45 s apart: {len(places)} times opened, {len(failures)} wrong")
    for text in failures:
        print(text)
    return not failures


async def check(arguments):
    archive = Archive(arguments.page, arguments.session)
    sources, start, end = archive.sources()
    chance = random.Random(arguments.seed)
    failures = []
    async with browser(arguments.browser) as page:
        await page.open(f"{arguments.page}/sessions/{arguments.session}?at={start + 0.5:.3f}")
        await page.until("window.tributary && Object.values(tributary.state().sources).length > 0"
            " && Object.values(tributary.state().sources).every((one) => one.at !== null)", 20)
        await page.run(READER + STEPS)
        await page.until("Object.values(look()).every((code) => code !== null)")
        # The pattern's clock is the box's: where session time 0 is on it, from the picture that is shown.
        zeros = await page.run("(() => { const s = tributary.state().sources; return Object.fromEntries(Object.entries(look())"
            ".map(([n, c]) => [n, c - s[n].at])); })()")

        async def go(text, at, name, times):
            wanted = {source: archive.shown(source, at) for source in sources}
            pixels = json.dumps({source: zeros[source] + time for source, time in wanted.items()})
            answer = await page.run(f"goTo({json.dumps(text)}, {pixels}, {json.dumps(wanted)}, 3000)")
            times.append(answer["milliseconds"])
            told = {source: answer["state"]["sources"][source]["at"] for source in sources}
            wrong = [source for source in sources if told[source] is None or abs(told[source] - wanted[source]) > 0.001]
            if not answer["isRight"] or wrong:
                seen = {s: answer["codes"][s] and answer["codes"][s] - zeros[s] for s in sources}
                failures.append(f"{name} at {at:.6f}: wanted {wanted}, pixels {seen}, told {told}")

        seeks, steps = [], []
        for _ in range(arguments.count):
            at = round(chance.uniform(start + 0.001, end - 0.1), 3)
            await go(str(at), at, "seek", seeks)
        for number in range(arguments.count):
            if number % 10 == 0:
                at = round(chance.uniform(start + 1, end - 1), 3)
                await go(str(at), at, "seek", [])
            before = await page.run("tributary.state().at")
            steps.append(await page.run(f"stepBy('{chance.choice(['ArrowLeft', 'ArrowRight'])}', 3000)"))
            await go(None, await page.run("tributary.state().at"), f"step from {before}", [])
        problems = [text for text in page.problems if not arguments.refused or arguments.refused not in text]
    print(f"{len(sources)} sources, seed {arguments.seed}: {len(seeks)} seeks, {len(steps)} steps, {len(failures)} wrong")
    for name, times in (("seek", seeks), ("step", steps)):
        print(f"{name}: median {percentile(times, 0.5):.0f} ms, p95 {percentile(times, 0.95):.0f} ms, worst {max(times):.0f} ms")
    for text in failures[:20] + [f"console: {text}" for text in problems]:
        print(text)
    return not failures and not problems


async def run(arguments):
    is_right = await apart(arguments) if arguments.apart else True
    return 0 if await check(arguments) and is_right else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True)
    parser.add_argument("--apart", help="address of a session of two sources; their first segment lasts until 49 s, and four follow")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--refused", help="an origin without a rule for the page: the browser writes into the console that it refuses")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
