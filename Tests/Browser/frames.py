#!/usr/bin/python3
"""Shows `/embed/SOURCE` in a frame of another origin, without access and with wrong access: its message, and that it makes one request.

The viewer has to run with accounts, and allow the origin of the frame's page.

    Tests/Browser/frames.py --page http://127.0.0.1:8080 --port 8090     # --embed-origin http://127.0.0.1:8090
"""

import argparse
import asyncio
import http.server
import sys
import threading
import urllib.parse

from checks import Checks
from chromium import Chromium

# The browser tells of these by itself.
REFUSED = ("401", "403", "404")
# Long enough for several of the page's attempts, which begin after half a second.
PATIENCE = 4
FRAME = """({ text: document.body.innerText.replace(/\\s+/g, ' '), fields: document.querySelectorAll('input, dialog').length,
    requests: performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/v1/live')).length })"""


class Page(http.server.BaseHTTPRequestHandler):
    """A page with a frame, whose address is the query."""

    def do_GET(self):
        address = urllib.parse.unquote(self.path.partition("?")[2]).replace("&", "&amp;").replace('"', "&quot;")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<iframe src="{address}" width="640" height="360"></iframe>'.encode())

    def log_message(self, *_):
        pass


async def framed(page, arguments, address):
    """The frame's text after a while."""
    await page.open("about:blank")
    await page.open(f"http://127.0.0.1:{arguments.port}/?{urllib.parse.quote(arguments.page + address, safe='')}")
    await asyncio.sleep(PATIENCE)
    tree = (await page.send("Page.getFrameTree"))["frameTree"]
    world = await page.send("Page.createIsolatedWorld", frameId=tree["childFrames"][0]["frame"]["id"])
    answer = await page.send(
        "Runtime.evaluate", expression=FRAME, contextId=world["executionContextId"], returnByValue=True)
    return answer["result"]["value"]


async def check(arguments):
    checks = Checks()
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Page).serve_forever, daemon=True).start()
    async with Chromium(700, 420) as page:
        for what, address, words in (
            ("without access", "/embed/stage", "needs a signed link, or #token=TOKEN"),
            ("with a wrong token", "/embed/stage#token=wrong", "this token is not valid"),
            ("with a link that was changed", "/embed/stage?account=a&expires=1&signature=b", "this link is not valid"),
            ("with a name that is no text", "/embed/%ff#token=wrong", "has no valid name of a source"),
        ):
            found = await framed(page, arguments, address)
            checks(f"a frame {what} says why", words in found["text"], found["text"])
            checks("and has no form", found["fields"] == 0)
            checks("and does not ask again", found["requests"] <= 1, found["requests"])
            checks("and blames no connection", "No connection" not in found["text"] and "rying again" not in found["text"])
        checks.console(page, REFUSED)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="of a viewer with accounts")
    parser.add_argument("--port", required=True, type=int, help="of this machine, for the page with the frame")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
