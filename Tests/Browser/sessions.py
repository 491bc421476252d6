#!/usr/bin/python3
"""Names, tags, notes, protects and removes a session with the keyboard alone, and looks where the focus is afterwards.

The session is removed. Its collector has to take commands (`--group-commands`).

    Tests/Browser/sessions.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import json
import sys
import urllib.request

from checks import Checks
from chromium import Chromium

SAID = "document.getElementById('said').textContent"


async def check(arguments):
    checks = Checks()
    item = f'.session[data-session="{arguments.session}"]'
    has_focus = "document.activeElement?.closest('.session')?.dataset.session ?? ''"
    act = "document.activeElement?.dataset.act ?? ''"

    def listing():
        with urllib.request.urlopen(f"{arguments.page}/api/v1/sessions?order=newest&limit=100") as answer:
            return next((one for one in json.load(answer)["sessions"] if one["session"] == arguments.session), None)

    async with Chromium() as page:
        await page.open(f"{arguments.page}/sessions")
        await page.until(f"!!document.querySelector('{item} .acts')", 15)

        async def press(name):
            await page.run(f"document.querySelector('{item} [data-act={name}]').focus()")
            await page.key("Enter")

        async def dialog_is(name):
            await page.until("!!document.querySelector('dialog[open]')", 5)
            label = await page.run("document.getElementById(document.querySelector('dialog[open]').getAttribute('aria-labelledby')).textContent")
            return checks(f"the dialog is labelled: {label}", name in label)

        await press("edit")
        await dialog_is("Name, tags and note")
        for text in ("Test of names", "first, second", "Line one"):
            await page.run("document.activeElement.value = ''")
            await page.send("Input.insertText", text=text)
            await page.key("Tab")
        # Cancel, then Save.
        await page.key("Tab")
        await page.key("Enter")
        await page.until(f"document.querySelector('{item} h3')?.textContent.includes('Test of names')", 15)
        found = listing()
        checks("name, tags and note are saved", (found["name"], sorted(found["tags"]), found["note"])
            == ("Test of names", ["first", "second"], "Line one"), json.dumps(found))
        await asyncio.sleep(0.3)
        checks("the focus is at the session again", [await page.run(has_focus), await page.run(act)] == [arguments.session, "edit"],
            f"{await page.run(has_focus)} {await page.run(act)}")

        await press("edit")
        await page.until("!!document.querySelector('dialog[open]')", 5)
        await page.key("Tab")
        await page.run("document.activeElement.value = 'second'")
        await page.key("Enter")
        await page.until(f"document.querySelectorAll('{item} .tags li').length === 1", 15)
        checks("a tag is taken away", listing()["tags"] == ["second"])
        await press("edit")
        await page.until("!!document.querySelector('dialog[open]')", 5)
        await page.key("Escape")
        await page.until("!document.querySelector('dialog')", 5)
        checks("Escape leaves it as it was, and gives the focus back", await page.run(act) == "edit")

        await press("protect")
        await page.until(f"document.querySelector('{item} [data-act=protect]').textContent === 'Unprotect'", 15)
        checks("it is protected", listing()["isProtected"])
        checks("the focus stays", await page.run(act) == "protect", await page.run(act))
        await press("remove")
        await page.until(f"{SAID}.includes('is protected')", 5)
        checks("a protected one is not removed, in words", "Unprotect it first" in await page.run(SAID), await page.run(SAID))
        await press("protect")
        await page.until(f"document.querySelector('{item} [data-act=protect]').textContent === 'Protect'", 15)

        await press("remove")
        await dialog_is("Test of names")
        await page.until("!document.querySelector('dialog[open] dl').textContent.includes('being read')", 5)
        words = await page.run("document.querySelector('dialog[open]').textContent")
        parts = [arguments.session, "Length16 s", "Size", "B", *listing()["sources"]]
        checks("it says what goes", all(part in words for part in parts), words)
        checks("what cannot be taken back does not have the focus", await page.run("document.activeElement.textContent") == "Cancel")
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/remove.png")
        await page.key("Tab")
        await page.key("Enter")
        await page.until(f"!document.querySelector('{item}')", 20)
        checks("it is removed", listing() is None)
        await asyncio.sleep(0.3)
        checks("the focus is in the list, not lost", await page.run("document.activeElement !== document.body"),
            await page.run("document.activeElement.className"))
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one, which is removed")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
