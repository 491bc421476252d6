#!/usr/bin/python3
"""Checks each page as it is drawn, light and dark, wide and on a phone: labels, contrast, sizes, focus, layout, weight (parts of WCAG 2.2 AA).

    Tests/Browser/accessible.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import sys

from checks import Checks
from chromium import Chromium

# What is wrong with the page, in words. Contrast: WCAG 2.2, 1.4.3; names: 4.1.2; sizes: 2.5.8.
LOOK = r"""
window.flaws = () => {
    const found = [];
    const isSeen = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && node.getClientRects().length > 0;
    const what = (node) => `${node.tagName.toLowerCase()}${node.className && typeof node.className === 'string' ? '.' + node.className.split(' ').join('.') : ''} "${(node.textContent ?? '').trim().slice(0, 30)}"`;
    const nameOf = (node) => {
        const by = node.getAttribute('aria-labelledby')?.split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' ');
        return (node.getAttribute('aria-label') || by || [...(node.labels ?? [])].map((label) => label.textContent).join(' ')
            || node.textContent || node.title || node.querySelector('img')?.alt || '').trim();
    };
    for (const node of document.querySelectorAll('button, a[href], input, select, textarea, summary, dialog, [role=slider], [role=toolbar], [role=group], [role=region]')) {
        if (isSeen(node) && node.getAttribute('aria-hidden') !== 'true' && !nameOf(node)) found.push(`no name: ${what(node)}`);
    }
    for (const node of document.querySelectorAll('img:not([alt])')) found.push(`no alternative: ${node.src}`);
    const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) found.push(`id twice: ${id}`);
    for (const node of document.querySelectorAll('[aria-labelledby], [aria-describedby], [aria-controls]')) {
        for (const id of (node.getAttribute('aria-labelledby') ?? '').split(' ').filter(Boolean)) if (!ids.includes(id)) found.push(`no such label: ${id}`);
    }
    if (!document.documentElement.lang) found.push('no language');
    if (document.querySelectorAll('h1').length !== 1) found.push(`${document.querySelectorAll('h1').length} titles`);
    for (const node of document.querySelectorAll('button, select, input:not([type=checkbox], [type=radio]), a.button')) {
        const { width, height } = node.getBoundingClientRect();
        if (isSeen(node) && (width < 24 || height < 24)) found.push(`smaller than 24: ${what(node)} ${width.toFixed()}×${height.toFixed()}`);
    }
    if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`wider than the window: ${document.documentElement.scrollWidth}`);

    const parse = (text) => {
        const parts = (text.match(/[\d.]+/g) ?? []).map(Number);
        const scale = text.startsWith('color(') ? 255 : 1;
        return { r: parts[0] * scale, g: parts[1] * scale, b: parts[2] * scale, a: parts[3] ?? 1 };
    };
    const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
    const ground = (node) => {
        const layers = [];
        for (let one = node; one; one = one.parentElement) {
            const colour = parse(getComputedStyle(one).backgroundColor);
            if (colour.a > 0) layers.push(colour);
            if (colour.a === 1) break;
        }
        return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
    };
    const light = ({ r, g, b }) => [r, g, b].map((value) => value / 255).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Set();
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !node || seen.has(node) || !isSeen(node) || node.closest('noscript, option, [disabled], .unseen, .skip')) continue;
        seen.add(node);
        const style = getComputedStyle(node), under = ground(node), text = over(parse(style.color), under);
        const [high, low] = [light(text), light(under)].sort((one, other) => other - one);
        const ratio = (high + 0.05) / (low + 0.05);
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        if (ratio < (isLarge ? 3 : 4.5) - 0.01) found.push(`contrast ${ratio.toFixed(2)}: ${what(node)}`);
    }
    return [...new Set(found)];
};
"""
SHIFT = """
window.shift = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value; })
    .observe({ type: 'layout-shift', buffered: true });
"""
# Bytes of the page's own files as they came, and of all their text.
WEIGHT = """(() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => one.entryType === 'navigation' || one.name.includes('/page/'))
    .reduce(([wire, text], one) => [wire + one.encodedBodySize, text + one.decodedBodySize], [0, 0]))()"""
OUTLINE = "(() => { const node = document.activeElement, style = getComputedStyle(node); return node === document.body || style.outlineStyle !== 'none' || style.boxShadow !== 'none'; })()"
# Where the focus is: in words, and its box.
FOCUS = """(() => {
    const node = document.activeElement, { left, top, right, bottom } = node.getBoundingClientRect();
    return { name: `${node.tagName.toLowerCase()} ${node.getAttribute('aria-label') ?? node.textContent.trim().slice(0, 30)}`, isBody: node === document.body,
        left: left + scrollX, top: top + scrollY, right: right + scrollX, bottom: bottom + scrollY };
})()"""
# What moves by itself or on the way to somewhere.
MOVING = """[...document.getAnimations().map((one) => one.constructor.name), ...[...document.querySelectorAll('*')].filter((node) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(node);
    return transitionDuration.split(', ').some((one) => one !== '0s') || animationName !== 'none' || scrollBehavior !== 'auto';
}).map((node) => node.tagName)]"""
# Stops that are walked through on each place.
STOPS = 60
MOST_BYTES = 200_000
MOST_SHIFT = 0.1


async def walk(page, checks, name):
    """Goes through the stops of the focus, which are in the order of reading."""
    await page.run("document.querySelector('.skip').focus()")
    await page.key("Enter")
    checks(f"{name}: a link skips the header", await page.run("document.activeElement.id === 'page'"))
    await page.run("(() => { history.replaceState(null, '', location.pathname + location.search); document.querySelector('.skip').focus(); })()")
    stops = []
    for _ in range(STOPS):
        await page.key("Tab")
        stop = await page.run(FOCUS)
        # Round, to the beginning.
        if stop["isBody"] or stop["name"].endswith("Skip to the page"):
            break
        stops.append(stop)
    # Up and not to the right is against the direction of reading.
    wrong = [f"{one['name']} → {other['name']}" for one, other in zip(stops, stops[1:])
        if other["bottom"] <= one["top"] + 1 and other["left"] <= one["right"]]
    checks(f"{name}: {len(stops)} stops of the focus, in the order of reading", len(stops) > 4 and not wrong, "; ".join(wrong))
    jumping = await page.run("[...document.querySelectorAll('[tabindex]')].filter((node) => node.tabIndex > 0).length")
    checks(f"{name}: no stop is before its turn", jumping == 0)


async def check(arguments):
    checks = Checks()
    titles = {"live": "Live", "sessions": "Sessions", "health": "Health"}
    places = {
        "live": ("/live", "Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)"),
        "sessions": ("/sessions", "document.querySelectorAll('.session').length > 0"),
        "playback": (f"/sessions/{arguments.session}?at=4", "Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)"),
        "health": ("/health", "document.querySelectorAll('.sources > *, .findings li').length > 0"),
    }
    async with Chromium() as page:
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=SHIFT)
        for name, (address, ready) in places.items():
            for scheme in ("light", "dark"):
                await page.colours(scheme)
                for width, height in ((1280, 900), (390, 844)):
                    await page.resize(width, height)
                    await page.open(arguments.page + address)
                    await page.until(ready, 20)
                    await asyncio.sleep(1)
                    if name == "live":
                        # How many sources there are is known when they come.
                        await page.run("window.shift = 0")
                        await asyncio.sleep(1)
                    title = f"{name}, {scheme}, {width} wide"
                    await page.run(LOOK)
                    flaws = await page.run("flaws()")
                    checks(f"{title}: nothing that cannot be read or named", not flaws, "; ".join(flaws[:8]))
                    shift = await page.run("shift")
                    checks(f"{title}: nothing jumps", shift < MOST_SHIFT, f"layout shift {shift:.3f}")
                    if arguments.shots:
                        await page.shoot(f"{arguments.shots}/{name}-{scheme}-{width}.png")
            await page.send("Network.enable")
            await page.send("Network.setCacheDisabled", cacheDisabled=True)
            await page.open(arguments.page + address)
            await page.until(ready, 20)
            wire, text = await page.run(WEIGHT)
            await page.send("Network.setCacheDisabled", cacheDisabled=False)
            checks(f"{name}: light", wire <= MOST_BYTES, f"{wire / 1e3:.0f} kB on the wire, {text / 1e3:.0f} kB of text")
            outlines, first = [], ""
            for _ in range(12):
                await page.key("Tab")
                first = first or await page.run("document.activeElement.className")
                outlines.append(await page.run(OUTLINE))
            checks(f"{name}: the first stop is the link that skips the header", first == "skip", first)
            checks(f"{name}: the focus is to be seen", all(outlines))
            await walk(page, checks, name)
            title = await page.run("document.title")
            wanted = titles.get(name) or await page.run("document.querySelector('h1').textContent")
            checks(f"{name}: the title says the place", title == f"{wanted} · Tributary", title)
            checks(f"{name}: in English", await page.run("document.documentElement.lang") == "en")
            await page.colours("light", motion="reduce")
            moving = await page.run(MOVING)
            checks(f"{name}: nothing moves where that is not wanted", not moving, str(moving[:5]))
            if name == "playback":
                # The value is stated twice a second.
                await page.until("document.querySelector('.timeline [role=slider]')?.hasAttribute('aria-valuenow')", 20)
                slider = await page.run("""(() => { const s = document.querySelector('.timeline [role=slider]');
                    return ['aria-label', 'aria-valuemin', 'aria-valuemax', 'aria-valuenow', 'aria-valuetext'].map((one) => s.getAttribute(one)); })()""")
                checks("the timeline is a slider with a name and a value in words", all(slider), str(slider))
                lanes = await page.run("[...document.querySelectorAll('.gaps li')].map((one) => one.textContent)")
                checks("what its lanes show as missing is a list as well", all(": " in one for one in lanes), "; ".join(lanes[:3]))
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one")
    parser.add_argument("--shots", help="directory for pictures of the pages")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
