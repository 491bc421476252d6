#!/usr/bin/python3
"""Names, tags, notes, protects and removes a session with the keyboard alone, and looks where the focus is afterwards; searches; ends what is recorded.

The session is removed; what is recorded goes on in another session. Its collector has to take commands (`--group-commands`).

    Tests/Browser/sessions.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import datetime
import json
import sys
import urllib.parse
import urllib.request

from checks import Checks
from chromium import Chromium

SAID = "document.getElementById('said').textContent"


def day():
    """Today, as a query."""
    start = datetime.datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    times = (start, start + datetime.timedelta(days=1))
    return urllib.parse.urlencode(dict(zip(("from", "until"), [time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for time in times])))


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

        await page.send("Fetch.enable", patterns=[{"urlPattern": place, "requestStage": "Request"} for place in ("*/coverage*", "*/recorded*")])
        await page.open(f"{arguments.page}/sessions")
        await page.until(f"!!document.querySelector('{item} .acts')", 15)
        while not page.stopped:
            await asyncio.sleep(0.05)
        places = "[...document.querySelectorAll('.session')].map((one) => one.getBoundingClientRect().y)"
        before = await page.run(places)
        await page.send("Fetch.disable")
        page.stopped.clear()
        await page.until("document.querySelectorAll('.day .track span').length > 0", 15)
        checks("sessions stay in their place when their details come", await page.run(places) == before, f"{before} {await page.run(places)}")

        await page.resize(1280, 240)
        await page.open(f"{arguments.page}/sessions")
        await page.until("document.querySelectorAll('.day .track span').length > 0", 15)
        await asyncio.sleep(1)
        shown = await page.run("document.querySelectorAll('.day .track span').length")
        with urllib.request.urlopen(f"{arguments.page}/api/v1/recorded?{day()}&pixels=2880") as answer:
            recorded = sum(len(one["recorded"]) for one in json.load(answer) if "previewOf" not in one)
        checks("a day's lanes have all that is recorded, also of sessions below the window", shown == recorded, f"{shown} of {recorded}")
        await page.resize(1280, 900)
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

        await search(page, checks, arguments, listing())

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
        words = await page.run(f"document.querySelector('{item} [data-act=remove]').title")
        checks("a protected one offers no removal, and says why", "unprotect it first" in words
            and await page.run(f"document.querySelector('{item} [data-act=remove]').disabled"), words)
        await press("protect")
        await page.until(f"document.querySelector('{item} [data-act=protect]').textContent === 'Protect'", 15)

        await press("remove")
        await dialog_is("Test of names")
        await page.until("!document.querySelector('dialog[open] dl').textContent.includes('being read')", 5)
        words = await page.run("document.querySelector('dialog[open]').textContent")
        parts = ["Session of ", "Length16 s", "Size", "B", *listing()["sources"]]
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
        await end(page, checks)
        checks.console(page)
    return checks.failures == 0


async def search(page, checks, arguments, listing):
    """By words and by time; what is found opens at that time."""
    found = "[...document.querySelectorAll('.session')].map((one) => one.dataset.session)"

    async def look_for(text):
        await page.run("document.querySelector('.search input').focus()")
        await page.run("document.querySelector('.search input').select()")
        await page.send("Input.insertText", text=text)
        await page.key("Enter")
        await page.until(f"new URLSearchParams(location.search).get('text') === {json.dumps(text)}", 5)
        await page.until("!document.querySelector('.found').textContent.includes('Reading')", 10)
        await asyncio.sleep(0.5)
        return await page.run(found)

    for kind, text in (("name", "test of NAMES"), ("tag", "first"), ("note", "line one"), ("name and tag", "names second")):
        names = await look_for(text)
        checks(f"a search by {kind} finds it", names == [arguments.session], str(names))
    names = await look_for(listing["sources"][0])
    checks("a search by source finds all that have it", arguments.session in names and len(names) >= 2, str(names))
    names = await look_for("nothing is called so")
    words = await page.run("document.querySelector('.found').textContent")
    checks("where nothing fits, that is said", names == [] and "No session fits" in words, words)
    await page.press_text("Clear")
    await page.until("location.search === ''", 5)

    date, time = arguments.session.rstrip("Z").split("T")
    zero = f"Date.parse('{date}T{time.replace('-', ':')}Z')"
    await page.run(f"""(() => {{
        const local = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60000).toISOString().slice(0, 19);
        const [, , from, until] = document.querySelectorAll('.search input');
        from.value = local({zero} + 6000);
        until.value = local({zero} + 9000);
    }})()""")
    await page.press_text("Search")
    await page.until("location.search.includes('from=')", 5)
    await page.until(f"document.querySelectorAll('.session').length === 1", 10)
    checks("a search by time finds what was recorded then", await page.run(found) == [arguments.session])
    await page.press(".session h3 a")
    await page.until("Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)", 20)
    at = await page.run("tributary.state().at")
    checks("and opens it at that time", 4.9 < at <= 6, f"{at}")
    await page.run("history.go(-1)")
    await page.until("document.querySelectorAll('.session').length === 1", 10)
    await page.press_text("Clear")
    await page.until("location.search === '' && document.querySelectorAll('.session').length > 1", 10)


async def end(page, checks):
    """Ends what is recorded now; its sources go on in another session."""
    recording = "document.querySelector('.session:has(.badge.live)')?.dataset.session ?? ''"
    await page.until(f"{recording} !== ''", 10)
    before = await page.run(recording)
    await page.run(f"document.querySelector('.session[data-session=\"{before}\"] [data-act=end]').focus()")
    await page.key("Enter")
    await page.until("!!document.querySelector('dialog[open]')", 5)
    checks("ending asks first, and Cancel has the focus", await page.run("document.activeElement.textContent") == "Cancel")
    await page.key("Tab")
    await page.key("Enter")
    await page.until(f"!['', {json.dumps(before)}].includes({recording})", 30)
    checks("the session ends, and what its sources send goes on in another", True, f"{before} → {await page.run(recording)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one, which is removed")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
