"""Watches live sources through a viewer that receives the feeds of all collectors."""

import collections
import http.client
import json
import os
import re
import struct
import subprocess
import threading
import time

PATIENCE = 30


class Watcher(threading.Thread):
    """Reads `/api/v1/live`, and notes when each source's pictures arrive."""

    def __init__(self, binaries, work, archives, sources):
        super().__init__(daemon=True)
        self.sources, self.is_over, self.failure = sources, False, None
        self.arrivals, self.ends, self.left_out = collections.defaultdict(list), {}, collections.defaultdict(float)
        self.log = f"{work}/viewer.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", os.path.join(binaries, "tributary-viewer"), "--listen", "0", "--state", f"{work}/viewer",
                 *[word for archive in archives for word in ("--archive", archive)]],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.port = self.find_port()
        self.start()

    def find_port(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(self.log, errors="replace") as text:
                found = re.search(r"watch at http://127\.0\.0\.1:(\d+)/", text.read())
            if found:
                return int(found.group(1))
            time.sleep(0.1)
        raise RuntimeError(f"the viewer does not listen; see {self.log}")

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request("GET", f"/api/v1/live?sources={','.join(self.sources)}")
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"/api/v1/live is answered with {answer.status}")
            while not self.is_over:
                sizes = answer.read(8)
                if len(sizes) < 8:
                    raise RuntimeError("the live answer has ended")
                header, body = struct.unpack(">II", sizes)
                header = json.loads(answer.read(header))
                answer.read(body)
                if header["type"] == "media":
                    self.note(header)
        except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
            if not self.is_over:
                self.failure = f"{error}"

    def note(self, header):
        source, begin = header["source"], header["atSeconds"]
        self.arrivals[source].append(time.monotonic())
        # Pictures that both collectors have overlap: nothing is left out then.
        self.left_out[source] = max(self.left_out[source], begin - self.ends.get(source, begin))
        self.ends[source] = max(self.ends.get(source, begin), begin + header["durationSeconds"])

    def wait(self):
        """Until every source is shown."""
        deadline = time.monotonic() + PATIENCE
        while set(self.sources) - set(self.arrivals):
            if self.failure or time.monotonic() > deadline:
                raise RuntimeError(f"not every source is live: {self.failure or sorted(self.arrivals)}; see {self.log}")
            time.sleep(0.1)

    def pause(self):
        """The longest time without a new picture of a source, seconds."""
        now = time.monotonic()
        return max(later - earlier for times in self.arrivals.values() for earlier, later in zip(times, [*times[1:], now]))

    def end(self):
        self.is_over = True
        self.process.kill()
        self.process.wait()
        self.join(PATIENCE)
