#!/usr/bin/python3
"""Opens the page of a viewer that has no local archive: it reads remote archives through the viewers of their machines.

It starts PostgreSQL (Tests/Catalog/server.py), and two collectors that record a source each. Then their archives are moved, so that only their own
viewers can read them. The page is that of a third viewer, started with the catalog and the site's token.

    Tests/Browser/remote.py --binaries .build/debug
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), part) for part in ("Catalog", "PowerCuts")]

from checks import Checks  # noqa: E402
from chromium import Chromium  # noqa: E402
from exports import probe  # noqa: E402
from pixels import READER  # noqa: E402
from programs import Site  # noqa: E402
from server import Absent, Server, free_port  # noqa: E402

PLACES = {"east": "door", "west": "stage"}
RATE = 15
SECONDS = 14
PATIENCE = 120
# A picture for each source, in the list of sessions.
PICTURES = "[...document.querySelectorAll('.session img')].filter((one) => one.complete && one.naturalWidth > 0).length"


class Remote:
    """Two archives behind viewers, and a viewer that has the catalog alone."""

    def __init__(self, binaries, directory, server):
        self.site, self.directory, self.catalog = Site(binaries, directory, RATE), directory, server.address()
        self.token = os.path.join(directory, "site.token")
        with open(os.open(self.token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("7" * 44 + "\n")
        self.ports = {name: free_port() for name in PLACES}

    def record(self):
        collectors, agents = [], []
        for name, source in PLACES.items():
            endpoint = f"ipc://{self.directory}/{name}.in"
            collectors.append(self.site.start(
                "tributary-collector", "--name", name, "--archive", os.path.join(self.directory, name), "--listen", endpoint,
                "--catalog", self.catalog, "--segment", "5s", "--once", "--viewer-url", f"http://127.0.0.1:{self.ports[name]}")[0])
            agents.append(self.site.start(
                "tributary-agent", "--video", "test", "--audio", "test", "--size", "640x360", "--fps", str(RATE), "--source", source,
                "--collector", endpoint, "--spool", f"{self.directory}/spool-{source}", "--duration", f"{SECONDS}s")[0])
        for process in agents + collectors:
            process.wait(PATIENCE)
        for name in PLACES:
            os.rename(os.path.join(self.directory, name), self.moved(name))

    def moved(self, name):
        return os.path.join(self.directory, f"{name}-elsewhere")

    def viewer(self, *words):
        state = os.path.join(self.directory, f"state-{len(self.site.running)}")
        process, log = self.site.start("tributary-viewer", "--state", state, "--site-token-file", self.token, *words)
        return process, self.site.said(log, r"watch at (http://127\.0\.0\.1:\d+)/")

    def serve(self):
        """The collectors' viewers, by collector."""
        return {name: self.viewer("--archive", self.moved(name), "--listen", str(port))[0] for name, port in self.ports.items()}

    def command(self):
        """Collectors in the moved archives, which take the commands of their viewers; the catalog does not learn of them."""
        for name in PLACES:
            self.site.start("tributary-collector", "--archive", self.moved(name), "--listen", f"ipc://{self.directory}/{name}.later",
                "--group-commands")

    def marks(self, session):
        """The texts of the marks in each archive."""
        return {name: [one["text"] for one in json.loads(self.site.tool("mark", session, "--json", "--archive", self.moved(name)))] for name in PLACES}

    def view(self, has_sources):
        """The page's address."""
        _, page = self.viewer("--catalog", self.catalog, "--listen", "0")
        return self.site.serve(page) if has_sources else page


async def playback(page, checks, address, session):
    await page.open(f"{address}/sessions/{session}?at=2")
    await page.until("Object.values(window.tributary?.state().sources ?? {}).filter((one) => one.at !== null).length === 2", PATIENCE)
    await page.run(READER)
    await page.key(" ", "Space")
    looks = {source: [] for source in PLACES.values()}
    # Over the joints of segments.
    for _ in range(10 * PATIENCE):
        state, codes = await page.run("[tributary.state().sources, look()]")
        for source, found in looks.items():
            if state[source]["at"] is not None and codes[source] is not None:
                found.append((state[source]["at"], codes[source]))
        if all(found and found[-1][0] > 7 for found in looks.values()):
            break
        await asyncio.sleep(0.1)
    for source, found in looks.items():
        distances = [code - at for at, code in found]
        spread = max(distances) - min(distances) if found else PATIENCE
        checks(f"{source} plays over a joint, each picture at its time", found and found[0][0] < 4 and found[-1][0] > 7 and spread < 1.5 / RATE,
            f"{found[0][0]:.2f} to {found[-1][0]:.2f} s, {1000 * spread:.1f} ms in {len(found)} looks" if found else "no picture")
    await page.key(" ", "Space")


async def thumbnail(page, checks):
    x, y = await page.run("""(() => {
        const slider = document.querySelector('.slider');
        slider.scrollIntoView({ block: 'center' });
        const box = slider.getBoundingClientRect();
        return [box.left + box.width / 2, box.top + 66];
    })()""")
    await page.mouse("mouseMoved", x, y)
    await page.until("(() => { const image = document.querySelector('.timeline .hover img'); return !image.hidden && image.naturalWidth > 0; })()", 20)
    checks("the pointer on the timeline shows a picture", True)


async def clip(page, checks, address, session):
    await page.open(f"{address}/sessions/{session}?at=4&in=3&out=6")
    await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", PATIENCE)
    source = await page.run("document.querySelector('.export .start select').value.split(' ')[1]")
    await page.press(".export .start button")
    await page.until("!!document.querySelector('.jobs li a:not([hidden])')", PATIENCE)
    await page.press(".jobs li a")
    path = await page.downloaded(".mp4")
    length, kinds = probe(path)
    checks("a clip over a joint is as long as it should be", abs(length - 3) < 0.15 and kinds == ["video", "audio"], f"{length:.3f} s, {kinds}")
    decoded = subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-f", "null", "-"], capture_output=True, text=True)
    checks("every picture of it is decoded", decoded.returncode == 0 and decoded.stderr == "", decoded.stderr)
    with urllib.request.urlopen(f"{address}/api/v1/sessions/{session}/sources/{source}/media.mp4?from=3&until=6") as answer:
        same = hashlib.sha256(answer.read()).digest() == hashlib.sha256(path.read_bytes()).digest()
    checks("and it is what the interface serves", same)


async def changes(page, checks, remote, address, session):
    """Marks and labels of a session that has ended, in the archives of two other machines."""
    said = "(document.querySelector('[role=status]')?.textContent ?? '')"
    rows = "[...document.querySelectorAll('.marks li')].map((row) => row.textContent)"

    async def mark(text):
        await page.key("m")
        await page.until("!!document.querySelector('dialog[open] input')", 5)
        await page.send("Input.insertText", text=text)
        await page.key("Enter")

    await page.open(f"{address}/sessions/{session}?at=4")
    await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", PATIENCE)
    await page.until("!!document.querySelector('section[aria-label=Marks] p')?.textContent.includes('Key M')", 10)
    await mark("too early")
    await page.until("document.querySelector('dialog[open]').textContent.includes('--group-commands')", 20)
    words = await page.run("document.querySelector('dialog[open]').textContent")
    checks("a mark is refused where no collector takes it, with the reason", re.search(r"(east|west): cannot mark", words) is not None, words)
    checks.console(page, ("/api/v1/marks",))
    await page.key("Escape")
    remote.command()
    await page.until("!document.querySelector('dialog')", 5)
    for _ in range(PATIENCE):
        if all(os.path.exists(os.path.join(remote.moved(name), "collector.commands")) for name in PLACES):
            break
        await asyncio.sleep(0.1)
    await mark("goal")
    await page.until(f"{rows}.length === 1", 20)
    checks("a mark is shown at once", "goal" in (await page.run(rows))[0], await page.run(rows))
    found = remote.marks(session)
    checks("and is in the archive of each machine", found == {name: ["goal"] for name in PLACES}, found)
    await page.press(".marks li button:last-child")
    await page.until(f"{rows}.length === 0", 20)
    found = remote.marks(session)
    checks("a removed one is in none", found == {name: [] for name in PLACES}, found)

    await page.open(f"{address}/sessions")
    await page.until("!!document.querySelector('.session [data-act=edit]')", 20)
    await page.press(".session [data-act=protect]")
    await page.until("document.querySelector('.session [data-act=protect]')?.textContent === 'Unprotect'", 20)
    await page.press(".session [data-act=edit]")
    await page.until("!!document.querySelector('dialog[open] input')", 5)
    await page.send("Input.insertText", text="Premiere")
    await page.key("Enter")
    await page.until("document.querySelector('.session h3')?.textContent.includes('Premiere')", 20)
    for name in PLACES:
        one = next(one for one in json.loads(remote.site.tool("ls", "--json", "--archive", remote.moved(name))) if one["session"] == session)
        checks(f"its name and protection are in the archive of {name}", one.get("name") == "Premiere" and one["isProtected"], json.dumps(one))


async def check(arguments, remote):
    checks = Checks()
    remote.record()
    viewers = remote.serve()
    address = remote.view(arguments.sources)
    with urllib.request.urlopen(f"{address}/api/v1/sessions") as answer:
        sessions = [one["session"] for one in json.load(answer)["sessions"]]
    checks("both archives are one session", len(sessions) == 1, sessions)
    async with Chromium() as page:
        await page.open(f"{address}/sessions")
        await page.until(f"document.querySelectorAll('.session').length === 1 && {PICTURES} === {len(PLACES)}", PATIENCE)
        words = await page.run("document.querySelector('.session').innerText")
        checks("the list has it with a picture of each source", re.search(r"door.*stage", words, re.DOTALL) is not None, words.replace("\n", " "))
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/remote.png")
        await playback(page, checks, address, sessions[0])
        await thumbnail(page, checks)
        await clip(page, checks, address, sessions[0])
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/remote-playback.png")
        await changes(page, checks, remote, address, sessions[0])
        checks.console(page)
        # One of the machines is gone: what the other one has is played.
        viewers["west"].kill()
        await page.open(f"{address}/sessions/{sessions[0]}?at=9&sources=door")
        await page.until("window.tributary?.state().sources.door?.state === 'shown'", PATIENCE)
        checks("without one of the machines, what the other one has is played", True)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True, help="where the programs are")
    parser.add_argument("--sources", action="store_true", help="the page from the sources, not the one in the programs")
    parser.add_argument("--shots", help="directory for pictures of the pages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tributary-remote-") as directory:
        os.chmod(directory, 0o755)
        try:
            server = Server(directory)
        except Absent as why:
            print(f"skipped: {why}")
            return 0
        remote = None
        try:
            server.start()
            remote = Remote(os.path.abspath(arguments.binaries), directory, server)
            return 0 if asyncio.run(check(arguments, remote)) else 1
        finally:
            if remote:
                remote.site.stop()
            server.remove()


if __name__ == "__main__":
    sys.exit(main())
