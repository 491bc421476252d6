#!/usr/bin/python3
"""Leaves the wall of live sources open, and prints the memory of the browser's page over time.

    Tests/Browser/memory.py --page http://127.0.0.1:8080 --hours 1
"""

import argparse
import asyncio
import os
import sys
import time

from checks import Checks
from chromium import Chromium

# It first learns how much it needs; what grows after that goes on growing.
SETTLE = 30
# Of memory at the end over that at the beginning, and as many bytes more.
MOST_GROWTH = 1.2
MOST_BYTES = 30e6


async def sample(page):
    await page.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in (await page.send("Performance.getMetrics"))["metrics"]}
    return metrics["JSHeapUsedSize"], int(metrics["Nodes"]), resident(page)


def resident(page):
    """Bytes in memory of all processes of the browser: pictures are not in the heap."""
    sizes, parents = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
            parents[int(name)], sizes[int(name)] = int(fields[1]), int(fields[21]) * 4096
        except (OSError, IndexError):
            # It has ended meanwhile.
            continue
    own, found = {page.process.pid}, True
    while found:
        found = {process for process, parent in parents.items() if parent in own} - own
        own |= found
    return sum(sizes.get(process, 0) for process in own)


def flat(checks, first, last):
    """Checks two samples."""
    for name, before, after, slack in zip(("heap", "nodes", "resident memory"), first, last, (4e6, 200, MOST_BYTES)):
        checks(f"{name} does not grow", after <= before * MOST_GROWTH + slack, f"{before:.0f} → {after:.0f}")


async def check(arguments):
    checks = Checks()
    async with Chromium() as page:
        await page.send("Performance.enable")
        await page.open(f"{arguments.page}/live")
        await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 20)
        await asyncio.sleep(min(SETTLE, arguments.hours * 900))
        first = await sample(page)
        end = time.monotonic() + arguments.hours * 3600
        last = first
        while time.monotonic() < end:
            await asyncio.sleep(min(60, max(1, end - time.monotonic())))
            last = await sample(page)
            print(f"heap {last[0] / 1e6:.1f} MB, {last[1]} nodes, resident {last[2] / 1e6:.0f} MB", flush=True)
        flat(checks, first, last)
        lags = await page.run("Object.values(tributary.state().sources).map((one) => one.lag)")
        checks("and the pictures are of now", all(lag is not None and lag < 3 for lag in lags), str(lags))
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--hours", type=float, default=0.02, help="how long (0.02)")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
