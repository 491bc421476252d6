"""A headless Firefox, driven through WebDriver BiDi. Needs Debian's `firefox-esr` and `python3-websockets`."""

import asyncio
import base64
import json
import pathlib
import re
import shutil
import signal
import tempfile

import websockets

from tab import Tab

# Nothing of its own on the network, and videos without a click.
PREFERENCES = {
    "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "media.autoplay.default": 0, "media.gmp-manager.updateEnabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "toolkit.telemetry.enabled": False, "services.settings.server": "",
    "browser.download.folderList": 2, "browser.download.useDownloadDir": True, "browser.download.alwaysOpenPanel": False,
}
# Keys that are no characters (WebDriver, "keyboard actions").
KEYS = {"Escape": "\ue00c", "End": "\ue010", "Home": "\ue011", "PageUp": "\ue00e", "PageDown": "\ue00f", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
    "ArrowDown": "\ue015", "Enter": "\ue006", "Tab": "\ue004", "Shift": "\ue008"}
# It says its port within so many seconds.
PATIENCE = 40


def plain(value):
    """A value as BiDi sends it."""
    kind = value["type"]
    if kind == "array":
        return [plain(one) for one in value.get("value", [])]
    if kind == "object":
        return {name: plain(one) for name, one in value.get("value", [])}
    if kind == "number" and isinstance(value["value"], str):
        return float(value["value"].replace("Infinity", "inf").replace("NaN", "nan"))
    return value.get("value")


class Firefox(Tab):
    """`async with Firefox() as page:` is one tab, with what the checks use of `Chromium`."""

    def __init__(self, width=1280, height=900):
        self.size = (width, height)
        self.number = 0
        self.waiting = {}
        self.problems = []
        self.taken = set()

    async def __aenter__(self):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="firefox-"))
        self.downloads = self.profile / "downloads"
        self.downloads.mkdir()
        preferences = {**PREFERENCES, "browser.download.dir": str(self.downloads)}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        (self.profile / "user.js").write_text("\n".join(lines))
        self.process = await asyncio.create_subprocess_exec(
            "firefox-esr", "--headless", "--no-remote", "--profile", str(self.profile), "--remote-debugging-port", "0",
            f"--width={self.size[0]}", f"--height={self.size[1]}", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            start_new_session=True)
        address = await asyncio.wait_for(self.said(), PATIENCE)
        self.reading = asyncio.create_task(self.drain())
        self.socket = await websockets.connect(f"{address}/session", max_size=1 << 26)
        self.listening = asyncio.create_task(self.listen())
        await self.send("session.new", capabilities={})
        self.context = (await self.send("browsingContext.getTree"))["contexts"][0]["context"]
        await self.send("session.subscribe", events=["log.entryAdded"])
        await self.send("browsingContext.setViewport", context=self.context, viewport={"width": self.size[0], "height": self.size[1]})
        return self

    async def said(self):
        while line := await self.process.stderr.readline():
            if found := re.search(rb"WebDriver BiDi listening on (ws://\S+)", line):
                return found.group(1).decode()
        raise RuntimeError("firefox-esr has ended")

    async def drain(self):
        """Reads its output, which would otherwise block it."""
        while await self.process.stderr.readline():
            pass

    async def __aexit__(self, *_):
        for task in (self.listening, self.reading):
            task.cancel()
        await self.socket.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), 10)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    async def listen(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message)
            elif message.get("method") == "log.entryAdded" and message["params"]["level"] in ("error", "warn"):
                self.problems.append(str(message["params"]["text"]))

    async def send(self, method, **parameters):
        self.number += 1
        answer = self.waiting[self.number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        result = await answer
        if result["type"] == "error":
            raise RuntimeError(f"{method}: {result['message']}")
        return result["result"]

    async def open(self, address):
        await self.send("browsingContext.navigate", context=self.context, url=address, wait="none")

    async def run(self, script):
        """The value of an expression; promises are waited for."""
        answer = await self.send("script.evaluate", target={"context": self.context}, awaitPromise=True, expression=script)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return plain(answer["result"])

    async def act(self, *sources):
        await self.send("input.performActions", context=self.context, actions=list(sources))

    async def key(self, key, shift=False):
        """Presses a key as a person does."""
        value = KEYS.get(key, key)
        kinds = [("keyDown", value), ("keyUp", value)]
        if shift:
            kinds = [("keyDown", KEYS["Shift"]), *kinds, ("keyUp", KEYS["Shift"])]
        await self.act({"type": "key", "id": "keys", "actions": [{"type": kind, "value": one} for kind, one in kinds]})

    async def click(self, x, y, times=1):
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        await self.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [{"type": "pointerMove", "x": round(x), "y": round(y)}, *press * times]})

    async def mouse(self, kind, x, y, deltaX=0, deltaY=0, **_):
        """As `Chromium.mouse`, of what the checks use of it."""
        x, y = round(x), round(y)
        if kind == "mouseWheel":
            return await self.act({"type": "wheel", "id": "wheel", "actions": [{"type": "scroll", "x": x, "y": y, "deltaX": round(deltaX), "deltaY": round(deltaY)}]})
        button = {"mousePressed": [{"type": "pointerDown", "button": 0}], "mouseReleased": [{"type": "pointerUp", "button": 0}]}.get(kind, [])
        await self.act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [{"type": "pointerMove", "x": x, "y": y}, *button]})

    async def resize(self, width, height):
        await self.send("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    async def early(self, script):
        """Runs a script before those of each page that is opened from now on."""
        await self.send("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")

    async def shoot(self, path):
        shot = await self.send("browsingContext.captureScreenshot", context=self.context)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
