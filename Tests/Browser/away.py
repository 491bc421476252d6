#!/usr/bin/python3
"""Stops an agent for a while, and measures how long the wall needs until all tiles are in step again.

The sources have to be test patterns on this machine, and one of them the process `--agent`, which is stopped and continued (SIGSTOP, SIGCONT).

    Tests/Browser/away.py --page http://127.0.0.1:8080 --agent $(pgrep -f 'tributary-agent.*door') --source door
"""

import argparse
import asyncio
import os
import signal
import sys
import time

from browsers import browser
from pixels import READER
from wall import LOOKS


def in_step(codes, rate):
    """Whether all tiles show pictures of one instant."""
    known = [code for code in codes.values() if code is not None]
    return len(known) == len(codes) and max(known) - min(known) <= 1 / rate + 0.001


async def check(arguments):
    offset = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    async with browser(arguments.browser) as page:
        await page.open(f"{arguments.page}/live")
        await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 20)
        await page.run(READER + LOOKS)
        await asyncio.sleep(arguments.settle)
        os.kill(arguments.agent, signal.SIGSTOP)
        try:
            await asyncio.sleep(arguments.away)
            said = await page.run(f"(window.tributary.state().sources[{arguments.source!r}] ?? {{}}).state")
            others = await page.run(f"looks({offset}, 1000)")
        finally:
            os.kill(arguments.agent, signal.SIGCONT)
        back = time.clock_gettime(time.CLOCK_MONOTONIC)
        looks = await page.run(f"looks({offset}, {arguments.seconds * 1000})")
        still = max((max((code for code in codes.values() if code is not None), default=0) for _, codes in others), default=0)
        moves = still > back - 3
        # From when on nearly every look is in step: one that falls between two tiles of one refresh does not count.
        marks = [(now - back, in_step(codes, arguments.rate)) for now, codes in looks]
        last = max((index for index in range(len(marks)) if not marks[index][1]
                    and sum(not good for _, good in marks[index:index + 20]) > 1), default=-1)
        after = marks[last + 1][0] if last + 1 < len(marks) else None
        print(f"{'ok' if moves else 'FAILED'}: the other tiles go on while {arguments.source} is away ({said})")
        print(f"in step {after:.2f} s after it went on" if after is not None else "FAILED: not in step again")
        for text in page.problems:
            print(f"console: {text}")
        return moves and after is not None and after <= arguments.within and not page.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=("chromium", "firefox"), default="chromium")
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--agent", type=int, required=True, help="process of the agent that is stopped")
    parser.add_argument("--source", required=True, help="its source")
    parser.add_argument("--rate", type=int, default=15, help="pictures a second of the sources, for \"one picture\" (15)")
    parser.add_argument("--away", type=float, default=20, help="seconds that it is stopped (20)")
    parser.add_argument("--seconds", type=int, default=12, help="of looking afterwards (12)")
    parser.add_argument("--settle", type=int, default=15, help="seconds before it (15)")
    parser.add_argument("--within", type=float, default=10, help="seconds until all is in step again; wished are 2 (10)")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
