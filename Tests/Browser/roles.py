#!/usr/bin/python3
"""Logs in and out as users do: the form's messages, the actions of each role, and a log-in that ends in use.

The viewer has to run with accounts, on an archive that is being recorded to and has a finished session.

    Tests/Browser/roles.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --viewer vera:PASSWORD --operator otto:PASSWORD
"""

import argparse
import asyncio
import json
import sys

from checks import Checks
from chromium import Chromium

# The browser tells of these by itself.
REFUSED = ("401", "429", "api/v1/site")
FORM = "!!document.querySelector('dialog.login[open]')"
NO_FORM = "!document.querySelector('dialog.login')"
SHOWN = "Object.values(window.tributary?.state().sources ?? {}).some((one) => one.at !== null)"
WRONG = "(document.querySelector('dialog.login .wrong')?.textContent ?? '')"
HIDDEN = "getComputedStyle(document.getElementById('page')).visibility === 'hidden'"
# As a log-out in another tab.
SITE = "fetch('/api/v1/site').then(async (answer) => [answer.status, (await answer.text()).trim()])"
LOG_OUT = "fetch('/api/v1/logout', { method: 'POST' }).then((answer) => answer.status)"
# Everything that changes something, by its words.
OFFERED = """(() => [...document.querySelectorAll('button')].filter((button) => !button.closest('header'))
    .map((button) => button.getAttribute('aria-label') || button.textContent)
    .filter((text) => /^(Edit|Protect|Unprotect|Remove|End|Commands)\\b/.test(text)))()"""


async def fill(page, name, password):
    """Types into the form, which has the focus."""
    await page.run("(() => { const [name, password] = document.querySelectorAll('dialog.login input'); name.value = ''; password.value = '';"
        " name.focus(); })()")
    await page.send("Input.insertText", text=name)
    await page.key("Tab")
    await page.send("Input.insertText", text=password)
    await page.key("Enter")


async def log_in(page, account):
    await page.until(FORM, 10)
    await fill(page, *account)
    await page.until(NO_FORM, 10)


async def check(arguments):
    checks = Checks()
    viewer, operator = arguments.viewer.split(":", 1), arguments.operator.split(":", 1)
    async with Chromium() as page:
        for place in ("/live", "/sessions", f"/sessions/{arguments.session}?at=4", "/health"):
            await page.open(arguments.page + place)
            await page.until(FORM, 10)
            kept = await page.run("location.pathname + location.search")
            checks(f"{place} asks for a log-in and keeps its address", kept == place, kept)
        checks("the form has the focus", await page.run("document.activeElement?.name") == "name")
        await page.key("Escape")
        await page.key("Escape")
        await asyncio.sleep(0.2)
        checks("Escape does not take it away", await page.run(FORM))
        await fill(page, viewer[0], "not the password")
        await page.until(f"{WRONG} !== ''", 10)
        words = await page.run(WRONG)
        checks("a wrong password is said in words", words == "Wrong name or password.", words)

        await page.open(f"{arguments.page}/live")
        await log_in(page, viewer)
        await page.until(SHOWN, 15)
        checks("a viewer sees live pictures", True)
        checks("the header says who it is", viewer[0] in await page.run("document.querySelector('.who').textContent"))
        checks("a viewer is offered no commands", await page.run(OFFERED) == [], str(await page.run(OFFERED)))
        told = await page.run(SITE)
        checks("a viewer does not get the site's collectors", told == [403, "the site's collectors are for operators of all sources"], told)
        await page.key("?")
        keys = await page.run("document.querySelector('dialog.keys')?.textContent ?? ''")
        checks("and no key for them", "In step" in keys and "Commands" not in keys)
        await page.key("Escape")
        await page.run("history.pushState(null, '', '/sessions'); dispatchEvent(new PopStateEvent('popstate'))")
        await page.until("document.querySelectorAll('.session').length > 0", 10)
        offered = await page.run(OFFERED)
        checks("a viewer is offered no change of sessions", offered == [], str(offered))

        await page.run("history.pushState(null, '', '/live'); dispatchEvent(new PopStateEvent('popstate'))")
        await page.until(SHOWN, 15)
        await page.run(LOG_OUT)
        await page.until(FORM, 15)
        words = await page.run("document.querySelector('dialog.login').textContent")
        checks("a log-in that ends during live brings the form, which says why", "has ended" in words, words)
        checks("and hides what was shown", await page.run(HIDDEN))
        await log_in(page, viewer)
        await page.until("Object.values(tributary.state().sources).some((one) => one.state === 'live')", 20)
        checks("and live goes on", True)

        await page.open(f"{arguments.page}/sessions/{arguments.session}?at=2")
        await page.until(SHOWN, 15)
        await page.run(LOG_OUT)
        await page.run("document.querySelector('.timeline .slider').focus()")
        # Where nothing has been fetched yet.
        await page.run("(() => { const place = document.querySelector('.place'); place.value = '13'; place.dispatchEvent(new Event('change')); })()")
        await page.until(FORM, 20)
        await log_in(page, viewer)
        await page.until("Math.abs(tributary.state().at - 13) < 0.5 && Object.values(tributary.state().sources).every((one) => Math.abs(one.at - 13) < 0.5)", 20)
        checks("playback goes on at the same place", True)

        await page.run(LOG_OUT)
        await page.open(f"{arguments.page}/sessions")
        await log_in(page, operator)
        await page.until("document.querySelectorAll('.session').length > 0", 10)
        offered = await page.run(OFFERED)
        told = await page.run(SITE)
        checks("an operator gets them; without a catalog there are none", told[0] == 200 and json.loads(told[1])["collectors"] == [], told)
        checks("an operator is offered changes", any(text.startswith("Edit") for text in offered), str(offered))
        await page.run("history.pushState(null, '', '/live'); dispatchEvent(new PopStateEvent('popstate'))")
        await page.until("!!document.querySelector('[aria-label^=\"Commands for\"]')", 10)
        checks("and commands", True)
        await page.run(LOG_OUT)
        await log_in(page, viewer)
        await page.until("!document.querySelector('[aria-label^=\"Commands for\"]')", 10)
        checks("who logs in instead of an operator is not offered them any more", True)

        await page.press("header .account button")
        await page.until(FORM, 10)
        checks("the button logs out", await page.run("fetch('/api/v1/account').then((answer) => answer.status)") == 401)
        await log_in(page, viewer)
        await page.open(f"{arguments.page}/sessions")
        await page.until("document.querySelectorAll('.session').length > 0", 10)
        await page.open(f"{arguments.page}/health")
        await page.until("document.querySelectorAll('.source').length > 0", 10)
        await page.press("header .account button")
        await page.until(FORM, 10)
        history = await page.send("Page.getNavigationHistory")
        await page.send("Page.navigateToHistoryEntry", entryId=history["entries"][history["currentIndex"] - 1]["id"])
        await page.until(f"location.pathname === '/sessions' && {FORM}", 10)
        checks("after a log-out, the browser's Back shows the form and no sessions", await page.run("document.querySelectorAll('.session').length") == 0)
        if arguments.shots:
            await page.shoot(f"{arguments.shots}/login.png")
        for _ in range(30):
            if await page.run(f"{WRONG}.startsWith('Too many')"):
                break
            await fill(page, viewer[0], "still not the password")
            await page.until(f"{WRONG} !== ''", 10)
        words = await page.run(WRONG)
        checks("too many attempts are said in words", words.startswith("Too many"), words)
        text = await page.run("document.querySelector('dialog.login button').textContent")
        checks("and the button says when", "in " in text and await page.run("document.querySelector('dialog.login button').disabled"), text)
        checks.console(page, REFUSED)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="of a viewer with accounts")
    parser.add_argument("--session", required=True, help="a finished one of at least 15 s")
    parser.add_argument("--viewer", required=True, help="NAME:PASSWORD of an account for looking")
    parser.add_argument("--operator", required=True, help="NAME:PASSWORD of one that may change")
    parser.add_argument("--shots", help="directory for pictures of the page")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
