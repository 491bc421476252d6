"""Actions of the checks in a tab of any browser: wait, press, choose, download."""

import asyncio
import json

# Files that are not complete yet end so.
UNFINISHED = (".crdownload", ".part", ".tmp")


class Tab:
    """Needs `run`, `click`, `key` and the directory `downloads` of its browser."""

    async def until(self, script, seconds=10):
        """Waits until an expression is true."""
        for _ in range(int(seconds * 20)):
            try:
                if await self.run(f"!!({script})"):
                    return
            except RuntimeError:
                # The page is being replaced.
                pass
            await asyncio.sleep(0.05)
        raise TimeoutError(f"not within {seconds} s: {script}")

    async def press(self, selector):
        """Clicks an element in its middle."""
        place = await self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        await self.click(*place)

    async def press_text(self, text, inside="document"):
        """Clicks the button with this text or label."""
        place = await self.run(f"""(() => {{
            const e = [...{inside}.querySelectorAll('button, summary, a')].find((one) => one.checkVisibility()
                && [one.textContent.trim(), one.getAttribute('aria-label')].includes({json.dumps(text)}));
            if (!e) return null;
            e.scrollIntoView({{ block: 'nearest' }});
            const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2];
        }})()""")
        if place is None:
            raise RuntimeError(f"no button says {text!r}")
        await self.click(*place)

    async def choose(self, selector, text):
        """Chooses an option by the keys for it."""
        place = json.dumps(selector)
        await self.run(f"document.querySelector({place}).focus()")
        # Says which way to go; 0: it is there.
        way = f"""(() => {{
            const s = document.querySelector({place});
            return [...s.options].findIndex((one) => one.text.trim() === {json.dumps(text)}) - s.selectedIndex;
        }})()"""
        for _ in range(40):
            rest = await self.run(way)
            if rest == 0:
                return
            await self.key("ArrowDown" if rest > 0 else "ArrowUp")
        raise RuntimeError(f"{selector} does not come to {text!r}")

    async def downloaded(self, ending, seconds=20):
        """The path of the newest file of the downloads with this ending, when it is complete; it is requested once."""
        for _ in range(int(seconds * 10)):
            there = sorted(self.downloads.iterdir(), key=lambda one: one.stat().st_mtime)
            if not any(one.name.endswith(UNFINISHED) for one in there):
                found = [one for one in there if one.name.endswith(ending) and one not in self.taken and one.stat().st_size > 0]
                if found:
                    self.taken.add(found[-1])
                    return found[-1]
            await asyncio.sleep(0.1)
        raise TimeoutError(f"no file *{ending} within {seconds} s: {[one.name for one in self.downloads.iterdir()]}")
