"""A headless Chromium, driven through its DevTools protocol. Needs Debian's `chromium` and `python3-websockets`."""

import asyncio
import base64
import json
import pathlib
import shutil
import signal
import tempfile

import websockets

from tab import Tab

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required", "--no-first-run",
    "--remote-debugging-port=0", "--mute-audio", "--hide-scrollbars",
]
# Chromium says its port within so many tenths of a second.
PATIENCE = 200


# `windowsVirtualKeyCode` of keys that are neither letters nor digits.
CODES = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34, "Enter": 13, "Escape": 27, "Tab": 9, " ": 32,
    ".": 190, "-": 189, "+": 187, "?": 191, ":": 186}


class Chromium(Tab):
    """`async with Chromium() as page:` is one tab."""

    def __init__(self, width=1280, height=900):
        self.size = (width, height)
        self.number = 0
        self.waiting = {}
        self.problems = []
        self.taken = set()
        # Requests that `Fetch.enable` holds back.
        self.stopped = []

    async def __aenter__(self):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="chromium-"))
        self.downloads = self.profile / "downloads"
        self.downloads.mkdir()
        self.process = await asyncio.create_subprocess_exec(
            "chromium", *FLAGS, f"--user-data-dir={self.profile}", f"--window-size={self.size[0]},{self.size[1]}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, start_new_session=True)
        said = self.profile / "DevToolsActivePort"
        for _ in range(PATIENCE):
            if said.exists() and len(said.read_text().split()) == 2:
                break
            await asyncio.sleep(0.1)
        port, path = said.read_text().split()
        self.socket = await websockets.connect(f"ws://127.0.0.1:{port}{path}", max_size=1 << 26)
        self.listening = asyncio.create_task(self.listen())
        self.session = None
        await self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        targets = (await self.send("Target.getTargets"))["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        await self.resize(*self.size)
        return self

    async def __aexit__(self, *_):
        self.listening.cancel()
        await self.socket.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    async def listen(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message)
            elif message["method"] == "Fetch.requestPaused":
                self.stopped.append(message["params"]["requestId"])
            elif message["method"] == "Runtime.exceptionThrown":
                details = message["params"]["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description") or details["text"])
            elif message["method"] == "Runtime.consoleAPICalled" and message["params"]["type"] in ("error", "warning"):
                self.problems.append(" ".join(str(one.get("value") or one.get("description")) for one in message["params"]["args"]))
            elif message["method"] == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                entry = message["params"]["entry"]
                self.problems.append(f"{entry['text']} {entry.get('url', '')}")

    async def send(self, method, **parameters):
        self.number += 1
        answer = self.waiting[self.number] = asyncio.get_running_loop().create_future()
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.socket.send(json.dumps(message))
        result = await answer
        if "error" in result:
            raise RuntimeError(f"{method}: {result['error']['message']}")
        return result["result"]

    async def open(self, address):
        await self.send("Page.navigate", url=address)

    async def resize(self, width, height, scale=1, mobile=False):
        await self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    async def early(self, script):
        """Runs a script before those of each page that is opened from now on."""
        await self.send("Page.addScriptToEvaluateOnNewDocument", source=script)

    async def colours(self, scheme, motion="no-preference"):
        await self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}])

    async def run(self, script):
        """The value of an expression; promises are waited for."""
        answer = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    async def key(self, key, code=None, number=0, shift=False):
        """Presses a key as a person does."""
        # Without its character, Enter neither presses a button nor sends a form.
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        number = number or CODES.get(key) or (ord(key.upper()) if len(key) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            await self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=number,
                modifiers=8 if shift else 0, **(text if kind == "keyDown" else {}))

    async def mouse(self, kind, x, y, **more):
        await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    async def click(self, x, y, times=1):
        await self.mouse("mouseMoved", x, y)
        for count in range(1, times + 1):
            await self.mouse("mousePressed", x, y, button="left", clickCount=count)
            await self.mouse("mouseReleased", x, y, button="left", clickCount=count)

    async def shoot(self, path, whole=False):
        shot = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
