"""Live sources and recordings over RTSP, with third-party players and hostile clients. Parts of `run`."""

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import time


class Flaw(Exception):
    pass


def expect(truth, text):
    if not truth:
        raise Flaw(text)


# MARK: Received media


def units(stream):
    """NAL units of an Annex B stream, without parameter sets and delimiters, which the server and players add and leave out: each by its
    hash, a picture's first slice with a mark in front."""
    found = re.split(b"\\x00\\x00\\x01", stream)[1:]
    result = []
    for unit in found:
        unit = unit.rstrip(b"\0")
        if unit and unit[0] & 0x1F not in (7, 8, 9, 12):
            result.append(("picture " if unit[0] & 0x1F in (1, 5) and unit[1] & 0x80 else "") + hashlib.md5(unit).hexdigest())
    return result


def raw(address, stream, form, words=()):
    """A stream's packets as FFmpeg writes them."""
    outcome = subprocess.run(
        ["ffmpeg", "-v", "error", *words, "-i", address, "-map", f"0:{stream}", "-c", "copy", "-f", form, "-"],
        capture_output=True, timeout=120)
    expect(outcome.returncode == 0, f"ffmpeg: {outcome.stderr.decode()[-500:]}")
    return outcome.stdout


def packets(address, stream):
    """Presentation times of a stream's packets, in their order. Seconds."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time,data_hash",
         "-show_data_hash", "md5", "-of", "json", address],
        check=True, capture_output=True, text=True, timeout=120).stdout
    return [(float(packet["pts_time"]), packet["data_hash"]) for packet in json.loads(text)["packets"]]


def keyframe(path, at):
    """The number of the last keyframe that is shown at or before a time."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time,flags", "-of", "json", path],
        check=True, capture_output=True, text=True, timeout=120).stdout
    return max(
        number for number, packet in enumerate(json.loads(text)["packets"])
        if "K" in packet["flags"] and float(packet["pts_time"]) <= at)


def places(part, whole, what):
    """Everywhere that a list is in another one."""
    expect(part, f"{what}: nothing came")
    found = [start for start in range(len(whole) - len(part) + 1) if whole[start:start + len(part)] == part]
    expect(found, f"{what}: {len(part)} came, which are no part of the {len(whole)} that were recorded")
    return found


def within(part, whole, what):
    """Where in a list another one is first."""
    return places(part, whole, what)[0]


def pull(address, path, transport, *words):
    """The packets that FFmpeg receives, with their times."""
    outcome = subprocess.run(
        ["ffmpeg", "-v", "error", "-rtsp_transport", transport, "-i", address, "-map", "0", "-c", "copy", "-copyts",
         *words, "-y", "-f", "nut", path], capture_output=True, text=True, timeout=120)
    expect(outcome.returncode == 0, f"ffmpeg over {transport}: {outcome.stderr[-500:]}")
    expect("missed" not in outcome.stderr, f"ffmpeg over {transport}: {outcome.stderr[-500:]}")


def same(path, recorded, what, complete, start=None):
    """Compares received packets with a recording's export: payloads, times within a millisecond, and the first picture: the keyframe
    at or before the start."""
    pictures = units(raw(path, "v", "h264"))
    whole = units(raw(recorded, "v", "h264", ["-fflags", "+nofillin"]))
    at = within(pictures, whole, f"{what}, pictures")
    came, were = packets(path, "v"), packets(recorded, "v")
    begins = [unit.startswith("picture") for unit in whole]
    expect(sum(begins) == len(were), f"{what}: {sum(begins)} first slices of {len(were)} pictures")
    number = sum(begins[:at])
    expect(number + len(came) <= len(were), f"{what}: {len(came)} pictures from number {number}")
    if start is not None:
        first = keyframe(recorded, start)
        expect(number == first, f"{what}: the first picture is number {number}, the keyframe before {start} s is number {first}")
    shift = came[0][0] - were[number][0]
    sound, heard = packets(path, "a"), packets(recorded, "a")
    # The test sound is the same again after eight seconds: 375 packets of 1,024 samples at 48 kHz. Of its places, the one that fits best.
    first = min(
        places([hash for _, hash in sound], [hash for _, hash in heard], f"{what}, sound"),
        key=lambda place: abs(sound[0][0] - heard[place][0] - shift))
    if complete:
        expect(len(pictures) == len(whole), f"{what}: {len(pictures)} units, not {len(whole)}")
        expect(first + len(sound) == len(heard), f"{what}: the end of the sound is missing")
    worst = max(
        max(abs(a[0] - b[0] - shift) for a, b in zip(came, were[number:])),
        max(abs(a[0] - b[0] - shift) for a, b in zip(sound, heard[first:])))
    expect(worst < 0.001, f"{what}: times differ by {worst} s")
    return worst


def exported(site, name, session=None):
    path = os.path.join(site.directory, name)
    site.tributary("export", session or site.session, "--source", "stage", "--faststart", "--overwrite", "-o", path)
    return path


# MARK: Parts


def rtsp(site):
    """A recording in FFmpeg and GStreamer, over TCP and UDP, from its start and from a later time."""
    whole = exported(site, "rtsp-whole.mp4")
    worst = 0
    for transport in ("tcp", "udp"):
        path = os.path.join(site.directory, f"{transport}.nut")
        began = time.monotonic()
        pull(f"{site.rtsp}/latest/stage", path, transport)
        took = time.monotonic() - began
        # In real time; a busy machine starts late.
        expect(10 < took < 60, f"twelve seconds took {took:.1f} s")
        worst = max(worst, same(path, whole, f"FFmpeg over {transport}", complete=True))
        path = os.path.join(site.directory, f"{transport}-part.nut")
        pull(f"{site.rtsp}/{site.session}/stage?from=5.5", path, transport, "-t", "3")
        worst = max(worst, same(path, whole, f"FFmpeg from 5.5 over {transport}", complete=False, start=5.5))
    said = [f"FFmpeg over TCP and UDP: times within {worst * 1e6:.0f} µs"]
    pictures = units(raw(whole, "v", "h264"))
    if subprocess.run(["gst-inspect-1.0", "rtspsrc"], capture_output=True).returncode == 0:
        first = keyframe(whole, 5.5)
        begins = [place for place, unit in enumerate(pictures) if unit.startswith("picture")]
        for protocol, query in (("tcp", ""), ("udp", ""), ("tcp", "?from=5.5")):
            path = os.path.join(site.directory, f"gstreamer-{protocol}.h264")
            outcome = subprocess.run(
                ["gst-launch-1.0", "-q", "rtspsrc", f"location={site.rtsp}/latest/stage{query}", f"protocols={protocol}", "!",
                 "rtph264depay", "!", "video/x-h264,stream-format=byte-stream", "!", "filesink", f"location={path}"],
                capture_output=True, text=True, timeout=60)
            what = f"GStreamer over {protocol} {query}"
            expect(outcome.returncode == 0, f"{what}: {outcome.stderr}; the viewer, status {site.viewer.poll()}, said: "
                   + open(site.viewer_log).read()[-1_500:])
            came = units(open(path, "rb").read())
            if query:
                pictures_of = [unit for unit in came if unit.startswith("picture")]
                wanted = [pictures[place] for place in begins[first:]]
                expect(pictures_of == wanted, f"{what}: {len(pictures_of)} pictures, not those {len(wanted)} from number {first}")
            else:
                expect(came == pictures, f"{what}: {len(came)} units, not those {len(pictures)}")
        said.append("GStreamer too")
    return "; ".join(said)


def live(site):
    """A live source in FFmpeg and our own agent, while it is recorded; fifty readers cost little more than one."""
    collector = site.collect("--once")
    agent = site.capture("stage", "--size", "640x360", "--duration", "90s")
    wait_live(site)
    path = os.path.join(site.directory, "live.nut")
    # Our own client, into a separate archive.
    other = os.path.join(site.directory, "again")
    second = site.start(
        "tributary-collector", "--archive", other, "--listen", f"ipc://{site.directory}/again.in", "--once")[0]
    camera = site.start(
        "tributary-agent", "--source", "stage", "--video", f"{site.rtsp}/live/stage", "--audio", "none", "--duration", "6s",
        "--collector", f"ipc://{site.directory}/again.in", "--spool", f"{site.directory}/spool-again")[0]
    pull(f"{site.rtsp}/live/stage", path, "tcp", "-t", "4")
    datagrams = os.path.join(site.directory, "live-udp.nut")
    pull(f"{site.rtsp}/live/stage", datagrams, "udp", "-t", "4")
    for process in (camera, second):
        expect(process.wait(60) == 0, "our own client has not recorded the live source")
    one, many = cost(site, 1), cost(site, 50)
    expect(many < 50 * one, f"50 readers take {many * 100:.1f} % of a core, one {one * 100:.1f} %")
    agent.terminate()
    for process in (agent, collector):
        expect(process.wait(60) == 0, "recording failed")
    whole = exported(site, "rtsp-live.mp4")
    for name, taken in (("FFmpeg, live over TCP", path), ("FFmpeg, live over UDP", datagrams)):
        same(taken, whole, name, complete=False)
    [session] = os.listdir(os.path.join(other, "sessions"))
    again = os.path.join(site.directory, "rtsp-again.mp4")
    subprocess.run(
        [os.path.join(site.binaries, "tributary"), "export", session, "--source", "stage", "--overwrite", "-o", again, "--archive", other],
        check=True, capture_output=True)
    within(units(raw(again, "v", "h264")), units(raw(whole, "v", "h264")), "our agent")
    return f"live in FFmpeg and our agent; a reader {one * 100:.1f} % of a core, 50 {many * 100:.1f} %"


def wait_live(site):
    """Waits until the source is live: on a busy machine, an agent starts late."""
    end = time.monotonic() + 60
    while Client(site.rtsp).ask("DESCRIBE", "/live/stage")[0] != 200:
        expect(time.monotonic() < end, "the source is not live within a minute")
        time.sleep(0.5)


def seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(site, readers, duration=4):
    """CPU load of a number of readers of a live source, in cores."""
    clients = [Client(site.rtsp) for _ in range(readers)]
    for client in clients:
        client.play("/live/stage")
    before, began, taken = seconds(site.viewer.pid), time.monotonic(), 0
    while time.monotonic() - began < duration:
        for client in clients:
            taken += client.drain()
        time.sleep(0.02)
    cost = (seconds(site.viewer.pid) - before) / (time.monotonic() - began)
    expect(taken > readers * 10_000, f"{readers} readers got {taken} bytes")
    for client in clients:
        client.close()
    return cost


class Client:
    """An RTSP client that sends arbitrary requests."""

    def __init__(self, base, timeout=10):
        host, port = re.fullmatch(r"rtsp://(.*):(\d+)", base).groups()
        self.base, self.sequence, self.session = base, 0, None
        self.socket = socket.create_connection((host, int(port)), timeout)

    def ask(self, method, path, *headers):
        """The status, and the whole response."""
        self.sequence += 1
        lines = [f"{method} {self.base}{path} RTSP/1.0", f"CSeq: {self.sequence}", *headers]
        if self.session:
            lines.append(f"Session: {self.session}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        return self.answer()

    def answer(self):
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.socket.recv(65_536)
            if not part:
                raise EOFError(data)
            data += part
            # Interleaved packets may precede it.
            while data[:1] == b"$" and len(data) >= 4:
                size = 4 + int.from_bytes(data[2:4], "big")
                if len(data) < size:
                    break
                data = data[size:]
        head, body = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"Content-Length: (\d+)", head)
        while length and len(body) < int(length.group(1)):
            body += self.socket.recv(65_536)
        found = re.search(rb"Session: ([^;\r]+)", head)
        if found:
            self.session = found.group(1).decode()
        return int(head.split()[1]), (head + b"\r\n\r\n" + body).decode(errors="replace")

    def play(self, path, *headers):
        status, text = self.ask("DESCRIBE", path, *headers)
        expect(status == 200, f"DESCRIBE {path}: {text[:80]}")
        for track in range(text.count("m=")):
            status, text = self.ask(
                "SETUP", f"{path}/trackID={track}",
                f"Transport: RTP/AVP/TCP;unicast;interleaved={2 * track}-{2 * track + 1}", *headers)
            expect(status == 200, f"SETUP: {text[:80]}")
        status, text = self.ask("PLAY", f"{path}/")
        expect(status == 200, f"PLAY: {text[:80]}")
        self.socket.setblocking(False)

    def drain(self):
        """Reads the available bytes; returns their number."""
        taken = 0
        try:
            while part := self.socket.recv(1 << 20):
                taken += len(part)
        except BlockingIOError:
            pass
        return taken

    def close(self):
        self.socket.close()


def ended(client, patience=30):
    """Whether the server closes a connection."""
    client.socket.settimeout(patience)
    try:
        while client.socket.recv(65_536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def rtsp_hostile(site):
    """Hostile clients beside a reader: the reader continues, and the viewer's memory does not grow."""
    # An earlier part may have left a viewer with TLS.
    site.view()
    collector = site.collect("--once")
    agent = site.capture("stage", "--size", "640x360", "--duration", "60s")
    wait_live(site)
    users = os.path.join(site.directory, "rtsp-users")
    program = os.path.join(site.binaries, "tributary-viewer")
    made = subprocess.run(
        [program, "users", "add", "door", "--token", "--sources", "door", "--users", users],
        capture_output=True, text=True, cwd=site.directory)
    expect(made.returncode == 0, made.stderr)
    token = re.search(r"[A-Za-z0-9_-]{43}", made.stdout).group(0)
    process, log = site.start(
        "tributary-viewer", "--archive", site.archive, "--listen", "0", "--rtsp", "0", "--users", users, "--state", site.directory)
    base = None
    end = time.monotonic() + 30
    while not base and time.monotonic() < end:
        found = re.search(rb"(rtsp://\S+?)/live/", open(log.name, "rb").read())
        base = found and found.group(1).decode()
        time.sleep(0.05)
    expect(base, "the second viewer did not start")
    # Accounts: no log-in, a source of another account, and guesses.
    expect(Client(base).ask("DESCRIBE", "/live/door")[0] == 401, "nobody is let in")
    for path in ("/live/stage", f"/{site.session}/stage", "/latest/stage", "/latest/nothing"):
        status = Client(base).ask("DESCRIBE", f"{path}?token={token}")[0]
        expect(status == 404, f"another one's {path} is answered with {status}")
    expect(Client(base).ask("DESCRIBE", f"/latest/door?token={token}")[0] in (200, 404), "the own source")
    login = base64.b64encode(f"anyone:{token}".encode()).decode()
    expect(Client(base).ask("DESCRIBE", "/live/stage", f"Authorization: Basic {login}")[0] == 404, "a token as password")
    guesses = set()
    for number in range(200):
        guess = base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")
        guesses.add(Client(base).ask("DESCRIBE", f"/live/door?token={guess}")[0])
    expect(guesses <= {401, 503} and 503 in guesses, f"200 guesses are answered with {guesses}")
    expect(Client(base).ask("DESCRIBE", f"/live/stage?token={token}")[0] == 404, "a right token behind guesses")
    # A reader that must continue throughout.
    reader = Client(site.rtsp)
    reader.play("/live/stage")
    pid = site.viewer.pid
    memory = resident(pid)
    endless = Client(site.rtsp)
    try:
        endless.socket.sendall(b"OPTIONS * RTSP/1.0\r\n")
        for _ in range(1_000):
            endless.socket.sendall(b"X-Endless: " + b"a" * 1_000 + b"\r\n")
    except ConnectionError:
        pass
    expect(ended(endless), "a header without an end")
    many = Client(site.rtsp)
    many.ask("DESCRIBE", "/live/stage")
    asked = 0
    try:
        for asked in range(10_000):
            many.ask("SETUP", "/live/stage/trackID=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
    except (ConnectionError, EOFError):
        pass
    expect(asked < 200, f"{asked} set-ups were answered")
    reports = Client(site.rtsp)
    reports.play("/live/stage")
    reports.socket.setblocking(True)
    try:
        for _ in range(100_000):
            reports.socket.sendall(b"$\1\0\4\0\0\0\0" * 100)
    except OSError:
        pass
    expect(ended(reports), "a flood of reports")
    silent = [Client(site.rtsp) for _ in range(300)]
    stopped = []
    for _ in range(20):
        client = Client(site.rtsp)
        client.play("/live/stage")
        stopped.append(client)
    got, gaps, before = 0, [], time.monotonic()
    end = time.monotonic() + 28
    while time.monotonic() < end:
        count = reader.drain()
        if count:
            got += count
            gaps.append(time.monotonic() - before)
            before = time.monotonic()
        time.sleep(0.01)
    expect(got > 1_000_000, f"the reader got {got} bytes")
    expect(max(gaps) < 1.5, f"the reader waited {max(gaps):.1f} s")
    expect(all(ended(client, 2) for client in silent[:200]), "those who ask for nothing stay")
    grown = resident(pid) - memory
    expect(grown < 150 << 20, f"the viewer has grown by {grown >> 20} MB")
    for client in [*silent, *stopped, reader]:
        client.close()
    process.terminate()
    process.wait(30)
    for process in (agent, collector):
        expect(process.wait(90) == 0, "recording failed")
    return f"refused; the reader waited {max(gaps) * 1e3:.0f} ms at most, the viewer grew by {grown >> 20} MB"


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
