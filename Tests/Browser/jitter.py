#!/usr/bin/python3
"""Delays what the viewer sends to the browser by random times, and measures the wall: quiet, with jitter, and quiet again.

The bytes of each connection stay in order, as with TCP. The sources have to be test patterns on this machine (`tributary-agent --video test`).

    Tests/Browser/jitter.py --page http://127.0.0.1:8080 --milliseconds 50
"""

import argparse
import asyncio
import random
import sys
import time
import urllib.parse

from browsers import browser
from checks import Checks
from first import open_wall, told
from pixels import READER, percentile
from wall import LOOKS, observe


class Network:
    """A relay in front of the viewer."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.jitter = 0.0
        self.random = random.Random(1)

    async def open(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            far = await asyncio.open_connection(self.host, self.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.copy(reader, far[1], False), self.copy(far[0], writer, True))

    async def copy(self, reader, writer, is_delayed):
        """Delays each read by up to `jitter`; later bytes do not overtake it."""
        waiting = asyncio.Queue(1000)

        async def send():
            while (part := await waiting.get()) is not None:
                due, data = part
                await asyncio.sleep(max(0, due - time.monotonic()))
                writer.write(data)
                await writer.drain()

        async def read():
            while data := await reader.read(65536):
                delay = self.random.uniform(0, self.jitter) if is_delayed else 0
                await waiting.put((time.monotonic() + delay, data))
            await waiting.put(None)

        try:
            await asyncio.gather(send(), read())
        except OSError:
            pass
        finally:
            writer.close()


async def look(page, name, seconds, rate):
    """Share of samples in step, percentiles of the age on the screen, and the longest standstill of a tile, seconds."""
    count, looks, _, ages, within = await observe(page, name, seconds, rate)
    still = 0
    for source in looks[0][1]:
        changed, shown = looks[0][0], None
        for now, codes in looks:
            if codes.get(source) != shown:
                changed, shown = now, codes.get(source)
            still = max(still, now - changed)
    print(f"{name}: {count} looks, {within:.1%} within one picture; to the screen p50 {percentile(ages, 0.5) * 1e3:.0f} ms, "
        f"p95 {percentile(ages, 0.95) * 1e3:.0f} ms; longest standstill {still * 1e3:.0f} ms")
    return within, percentile(ages, 0.95), still


async def check(arguments):
    checks = Checks()
    address = urllib.parse.urlsplit(arguments.page)
    network = Network(address.hostname, address.port)
    port = await network.open()
    jitter = arguments.milliseconds / 1000
    async with browser("chromium") as page:
        print(f"after opening: {told(await open_wall(page, f'http://127.0.0.1:{port}'))}")
        await page.run(READER + LOOKS)
        for mode in ("in step", "fastest"):
            if mode == "fastest":
                await page.run("document.querySelector('.pair button:nth-child(2)').click()")
            await asyncio.sleep(arguments.settle)
            quiet = await look(page, f"{mode}, quiet", arguments.seconds, arguments.rate)
            network.jitter = jitter
            await asyncio.sleep(arguments.settle)
            rough = await look(page, f"{mode}, {arguments.milliseconds} ms of jitter", arguments.seconds, arguments.rate)
            network.jitter = 0
            await asyncio.sleep(arguments.settle)
            again = await look(page, f"{mode}, quiet again", arguments.seconds, arguments.rate)
            if mode == "in step":
                checks(f"in step: {arguments.within:.0%} within one picture under jitter", rough[0] >= arguments.within)
            room = 1 / arguments.rate + arguments.room
            checks(f"{mode}: pictures are at most the jitter, a picture and {arguments.room} s older", rough[1] <= quiet[1] + jitter + room)
            checks(f"{mode}: no tile stands still for half a second", rough[2] < 0.5)
            checks(f"{mode}: afterwards the age is that of before again", again[1] <= quiet[1] + room)
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--milliseconds", type=int, default=50, help="greatest delay (50)")
    parser.add_argument("--rate", type=int, default=15, help="pictures a second of the sources (15)")
    parser.add_argument("--seconds", type=int, default=10, help="of looking, each time (10)")
    parser.add_argument("--settle", type=int, default=10, help="seconds before it (10)")
    parser.add_argument("--room", type=float, default=0.1, help="seconds for other programs of the machine (0.1)")
    parser.add_argument("--within", type=float, default=0.9, help="share of looks in step within one picture (0.9)")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
