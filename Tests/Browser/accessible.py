#!/usr/bin/python3
"""Looks at each page as it is drawn, light and dark, wide and on a phone: labels, contrast, sizes, focus, layout, weight (parts of WCAG 2.2 AA).

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
MOST_BYTES = 200_000
MOST_SHIFT = 0.1


async def check(arguments):
    checks = Checks()
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
            outlines = []
            for _ in range(12):
                await page.key("Tab")
                outlines.append(await page.run(OUTLINE))
            checks(f"{name}: the focus is to be seen", all(outlines))
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
