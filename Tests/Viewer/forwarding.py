"""`tributary forward` to a listening FFmpeg: over SRT, RTMP and UDP, and to a listener that is restarted. A part of `run`."""

import json
import os
import socket
import subprocess
import time

from rtsp import exported, expect, raw, units, within


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


class Destination:
    """A listening FFmpeg, and its output."""

    def __init__(self, site, name, scheme):
        self.path = os.path.join(site.directory, f"forward-{name}.nut")
        if scheme == "rtmp":
            self.url = f"rtmp://127.0.0.1:{free_port()}/live/secret"
            words = ["-f", "flv", "-listen", "1", "-i", self.url]
        elif scheme == "srt":
            port = free_port(socket.SOCK_DGRAM)
            self.url = f"srt://127.0.0.1:{port}"
            words = ["-i", f"srt://127.0.0.1:{port}?mode=listener"]
        else:
            port = free_port(socket.SOCK_DGRAM)
            self.url = f"udp://127.0.0.1:{port}?pkt_size=1316"
            # It ends by itself without input.
            words = ["-analyzeduration", "1000000", "-i", f"udp://127.0.0.1:{port}?fifo_size=100000&timeout=3000000"]
        self.words = words
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["ffmpeg", "-v", "error", *self.words, "-map", "0", "-c", "copy", "-y", "-f", "nut", self.path],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stop(self):
        """Stops it with Ctrl-C."""
        try:
            self.process.communicate(b"q", timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def pictures(self):
        return units(raw(self.path, "v", "h264"))


class Forward:
    def __init__(self, site, name, destination):
        # In a file that only its owner may read.
        path = os.path.join(site.directory, f"forward-{name}.url")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(destination.url + "\n")
        self.log = os.path.join(site.directory, f"forward-{name}.log")
        self.process = subprocess.Popen(
            [os.path.join(site.binaries, "tributary"), "forward", "stage", "--url-file", path, "--json", "--archive", site.archive],
            stdout=subprocess.PIPE, stderr=open(self.log, "wb"), text=True)
        self.lines = []

    def wait(self, truth, what, patience=15):
        """Waits until a status line meets the condition."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            line = json.loads(self.process.stdout.readline())
            self.lines.append(line)
            if truth(line):
                return line
        raise_with = self.lines[-1:] + [open(self.log).read()[-500:]]
        expect(False, f"{what}: {raise_with}")

    def stop(self):
        self.process.terminate()
        out, _ = self.process.communicate(timeout=30)
        expect(self.process.returncode == 0, f"tributary forward ended with {self.process.returncode}: {open(self.log).read()}")
        self.lines += [json.loads(line) for line in out.splitlines()]
        return self.lines[-1]


def forward(site):
    collector = site.collect("--once")
    agent = site.capture("stage", "--size", "640x360", "--duration", "120s")
    time.sleep(4)
    said, sent = [], {}
    for scheme in ("srt", "rtmp", "udp"):
        destination = Destination(site, scheme, scheme)
        time.sleep(1)
        forward = Forward(site, scheme, destination)
        line = forward.wait(lambda line: line["state"] == "sending" and line["sentSamples"] > 150, scheme)
        expect(line["lateSeconds"] < 1, f"{scheme}: {line}")
        last = forward.stop()
        destination.stop()
        sent[scheme] = destination
        said.append(f"{scheme} {line['lateSeconds']:.2f} s late")
        expect("secret" not in open(forward.log).read() and "secret" not in json.dumps(forward.lines), "a stream key is in the log")
        expect(last["connections"] == 1, f"{scheme}: {last}")
    # A listener that is restarted.
    destination = Destination(site, "again", "rtmp")
    time.sleep(1)
    forward = Forward(site, "again", destination)
    forward.wait(lambda line: line["sentSamples"] > 60, "before it goes")
    destination.process.kill()
    destination.process.communicate()
    forward.wait(lambda line: line["state"] != "sending", "while it is away")
    time.sleep(2)
    destination.start()
    began = time.monotonic()
    line = forward.wait(lambda line: line["connections"] == 2 and line["state"] == "sending", "when it is back")
    took = time.monotonic() - began
    forward.wait(lambda line: line["sentSamples"] > line["connections"] and line.get("lateSeconds", 9) < 1, "live again")
    expect(took < 7, f"connecting again took {took:.1f} s")
    expect(line["droppedSamples"] > 0, "what was left out is not said")
    time.sleep(3)
    forward.stop()
    destination.stop()
    sent["again"] = destination
    agent.terminate()
    for process in (agent, collector):
        expect(process.wait(60) == 0, "recording failed")
    whole = units(raw(exported(site, "forwarded.mp4"), "v", "h264"))
    for name, destination in sent.items():
        pictures = destination.pictures()
        within(pictures, whole, f"{name}, pictures")
        expect(pictures[0].startswith("picture") or len(pictures) > 30, f"{name}: {len(pictures)} units")
    return f"{', '.join(said)}; connected again after {took:.1f} s"
