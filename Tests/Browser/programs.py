"""The programs under test, in a directory of their own."""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60
ACCOUNTS = (("vera", "viewer", "looking is enough"), ("otto", "operator", "changing as well"))


class Site:
    """A collector, agents and a viewer, in a directory of their own."""

    def __init__(self, binaries, directory, fps=15):
        self.binaries, self.directory, self.fps, self.running = binaries, directory, fps, []
        self.archive = os.path.join(directory, "recordings")

    def start(self, program, *words):
        log = open(os.path.join(self.directory, f"{program}-{len(self.running)}.log"), "w+b")
        process = subprocess.Popen(
            [os.path.join(self.binaries, program), *words], stdout=log, stderr=log, cwd=self.directory)
        self.running.append(process)
        return process, log

    def collect(self, *words):
        return self.start(
            "tributary-collector", "--archive", self.archive, "--segment", "5s", "--listen", f"ipc://{self.directory}/in",
            *words)[0]

    def tool(self, *words):
        """Runs the archive's tool; returns its output."""
        return subprocess.run([os.path.join(self.binaries, "tributary"), *words], check=True, capture_output=True, text=True, cwd=self.directory).stdout

    def capture(self, source, *words):
        return self.start(
            "tributary-agent", "--video", "test", "--audio", "test", "--size", "640x360", "--fps", str(self.fps), "--source", source,
            "--collector", f"ipc://{self.directory}/in", "--spool", f"{self.directory}/spool-{source}", *words)[0]

    def view(self, *words):
        # Not the walls and links of the user who runs the tests.
        state = os.path.join(self.directory, f"state-{len(self.running)}")
        _, log = self.start("tributary-viewer", "--archive", self.archive, "--listen", "0", "--state", state, *words)
        return self.said(log, r"watch at (http://127\.0\.0\.1:\d+)/")

    def accounts(self):
        """A file of accounts."""
        path = os.path.join(self.directory, "users")
        for name, role, password in ACCOUNTS:
            subprocess.run([os.path.join(self.binaries, "tributary-viewer"), "users", "add", name, "--role", role, "--users", path],
                input=f"{password}\n", text=True, check=True, stdout=subprocess.DEVNULL)
        return path

    def serve(self, page):
        """The page from the sources, in front of a viewer."""
        log = open(os.path.join(self.directory, f"serve-{len(self.running)}.log"), "w+b")
        self.running.append(subprocess.Popen([sys.executable, os.path.join(HERE, "serve.py"), "--viewer", page, "--port", "0"],
            stdout=log, stderr=log))
        return self.said(log, r"(http://127\.0\.0\.1:\d+)/")

    @staticmethod
    def said(log, pattern):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(log.name, "rb") as text:
                found = re.search(pattern, text.read().decode(errors="replace"))
            if found:
                return found.group(1)
            time.sleep(0.1)
        raise RuntimeError(f"it does not say where it listens: {log.name}")

    def stop(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
