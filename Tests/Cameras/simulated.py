"""Network cameras in one process: RTSP over TCP, with faults of their own. What each one captured and sent is kept for the judge.

A picture carries its number in a message of its own (SEI, user data), so that it can be found in a recording, byte for byte.
"""

import asyncio
import base64
import random
import struct
import subprocess
import time

RATE = 90_000
IDENTITY = bytes.fromhex("8d5d3a1e6f0b4c52a9f4c1e27b90d318")
# Between UTC of 1900 and of 1970, seconds.
NTP = 2_208_988_800
PACKET = 1_400


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def units(path):
    """Parameter sets, and the NAL units of each picture, of an H.264 file without reordered pictures."""
    stream = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:v", "-c", "copy", "-bsf:v",
         "h264_mp4toannexb,filter_units=remove_types=6", "-f", "h264", "pipe:1"], check=True, capture_output=True).stdout
    sets, pictures = {}, []
    for unit in stream.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")[1:]:
        kind = unit[0] & 0x1F
        if kind in (7, 8):
            sets[kind] = unit
        elif kind in (1, 5):
            # A picture's first slice begins with macroblock 0, whose code is a single 1.
            if unit[1] & 0x80:
                pictures.append([])
            pictures[-1].append(unit)
    return sets, pictures


def message(camera, number):
    """User data, unregistered (H.264, D.1.7): identity, camera and number. No byte is zero, so that nothing has to be escaped."""
    digits = bytes(1 + (number >> shift & 0x7F) for shift in (28, 21, 14, 7, 0))
    content = IDENTITY + bytes([1 + camera]) + digits
    return bytes([6, 5, len(content)]) + content + b"\x80"


def numbered(payload):
    """Camera and number of a recorded picture; None: it has none."""
    at = payload.find(IDENTITY)
    if at < 0:
        return None
    camera, *digits = payload[at + len(IDENTITY):at + len(IDENTITY) + 6]
    number = 0
    for digit in digits:
        number = number << 7 | digit - 1
    return camera - 1, number


class Picture:
    """A captured picture, and its fate."""

    __slots__ = ("captured", "begins", "sent", "whole")

    def __init__(self, captured, begins):
        self.captured, self.begins = captured, begins
        # When its last packet was sent, and whether all were, except for parameter sets; None: none was.
        self.sent, self.whole = None, False


class Camera:
    """One camera. A subclass overrides what it does wrong."""

    name = "steady"
    # Largest share of the pictures that may be missing, with the waits for keyframes and reconnections.
    missing = 0.02
    clock_rate = 1.0
    clock_offset = 0.0
    reports = True
    first_stamp = 1_000_000

    def __init__(self, index, clip, fps, luck):
        self.index, self.fps, self.luck = index, fps, luck
        self.sets, self.units = clip
        self.pictures = []
        self.server, self.port = None, None
        self.writers = set()
        self.began = now()
        self.stamp_shift = 0
        self.source = luck.getrandbits(32)
        self.sequence = luck.getrandbits(16)
        self.silent_until = 0
        self.queue = []

    # What may be wrong.

    def before(self, number, captured):
        """Called for each picture before it is sent."""

    def stamp(self, captured):
        ticks = self.first_stamp + self.stamp_shift + round((captured - self.began) * self.clock_rate * RATE)
        return ticks & 0xFFFFFFFF

    def wall(self, captured):
        """The time of the camera's clock, seconds since 1970."""
        started = time.time() - (now() - self.began)
        return started + self.clock_offset + (captured - self.began) * self.clock_rate

    def loses(self):
        return False

    def accepts(self):
        return True

    # The camera.

    async def run(self, until):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port or 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.task = asyncio.create_task(self.capture(until))

    async def capture(self, until):
        number, due, last_report = 0, now() + self.luck.random(), 0.0
        latest = 0.0
        while due < until:
            await asyncio.sleep(max(0, due - now()))
            captured = due
            units = self.units[number % len(self.units)]
            begins = units[0][0] & 0x1F == 5
            picture = Picture(captured, begins)
            self.pictures.append(picture)
            self.before(number, captured)
            # The encoder, and the network: later pictures do not overtake.
            latest = max(latest, captured + 0.004 + min(0.06, self.luck.expovariate(1 / 0.004)))
            content = [message(self.index, number), *units]
            if begins:
                content = [self.sets[7], self.sets[8], *content]
            self.queue.append((picture, content, self.stamp(captured)))
            asyncio.get_running_loop().call_later(max(0, latest - now()), self.send_next)
            if self.reports and captured - last_report > 2:
                last_report = captured
                self.report(captured)
            number += 1
            due += 1 / self.fps

    def send_next(self):
        self.send(*self.queue.pop(0))

    def send(self, picture, units, stamp):
        if not self.writers or now() < self.silent_until:
            return
        packets = []
        for unit in units:
            if len(unit) <= PACKET:
                packets.append(unit)
                continue
            rest, first = unit[1:], True
            while rest:
                part, rest = rest[:PACKET - 2], rest[PACKET - 2:]
                head = bytes([unit[0] & 0xE0 | 28, (0x80 if first else 0) | (0 if rest else 0x40) | unit[0] & 0x1F])
                packets.append(head + part)
                first = False
        whole = True
        # A picture is complete without its parameter sets, which the description of the session has too.
        sets = sum(unit[0] & 0x1F in (7, 8) for unit in units)
        for place, payload in enumerate(packets):
            marker = 0x80 if place == len(packets) - 1 else 0
            head = struct.pack(">BBHII", 0x80, marker | 96, self.sequence, stamp, self.source)
            self.sequence = self.sequence + 1 & 0xFFFF
            if self.loses():
                whole = whole and place < sets
                continue
            self.write(0, head + payload)
        picture.sent, picture.whole = now(), whole

    def report(self, captured):
        wall = self.wall(captured)
        seconds = int(wall // 1)
        fraction = int((wall - seconds) * (1 << 32))
        body = struct.pack(
            ">BBHIIIIII", 0x80, 200, 6, self.source, (seconds + NTP) & 0xFFFFFFFF, fraction, self.stamp(captured), 0, 0)
        # A complete packet ends with a description of its sender (RFC 3550, 6.1).
        name = b"\1\4door" + b"\0\0"
        body += struct.pack(">BBHI", 0x81, 202, 1 + len(name) // 4, self.source) + name
        if now() >= self.silent_until:
            self.write(1, body)

    def write(self, channel, packet):
        for writer in list(self.writers):
            # A client that reads nothing for long is closed, as by a camera.
            if writer.transport.get_write_buffer_size() > 4 << 20:
                self.writers.discard(writer)
                writer.transport.abort()
                continue
            writer.write(struct.pack(">BBH", 0x24, channel, len(packet)) + packet)

    def disconnect(self):
        for writer in list(self.writers):
            writer.transport.abort()
        self.writers.clear()

    async def serve(self, reader, writer):
        if not self.accepts():
            writer.transport.abort()
            return
        try:
            while True:
                first = await reader.readexactly(1)
                if first == b"$":
                    _, length = struct.unpack(">BH", await reader.readexactly(3))
                    await reader.readexactly(length)
                    continue
                request = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin1")
                lines = request.split("\r\n")
                fields = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines[1:])}
                if now() >= self.silent_until:
                    self.answer(writer, lines[0].split(" ")[0], lines[0].split(" ")[1], fields)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    def answer(self, writer, method, url, fields):
        head, body = [f"CSeq: {fields.get('cseq', '0')}"], ""
        if method == "OPTIONS":
            head.append("Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER")
        elif method == "DESCRIBE":
            sets = ",".join(base64.b64encode(self.sets[kind]).decode() for kind in (7, 8))
            body = (
                "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\n"
                f"c=IN IP4 0.0.0.0\r\na=rtpmap:96 H264/{RATE}\r\n"
                f"a=fmtp:96 packetization-mode=1; sprop-parameter-sets={sets}\r\na=control:track1\r\n")
            head += ["Content-Type: application/sdp", f"Content-Base: {url.rstrip('/')}/", f"Content-Length: {len(body)}"]
        elif method == "SETUP":
            head += ["Session: 4711;timeout=60", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"]
        elif method == "PLAY":
            head += ["Session: 4711", "Range: npt=now-"]
        writer.write(("RTSP/1.0 200 OK\r\n" + "\r\n".join(head) + "\r\n\r\n" + body).encode())
        if method == "PLAY":
            self.writers.add(writer)
        elif method == "TEARDOWN":
            self.writers.discard(writer)


class Loss(Camera):
    """Loses one packet in a hundred."""
    name, missing = "loss", 0.6

    def loses(self):
        return self.luck.random() < 0.01


class Timed(Camera):
    """A camera that does something about every `period` seconds."""
    period = 40.0

    def __init__(self, *words):
        super().__init__(*words)
        self.next = self.began + self.period * (0.3 + 0.4 * self.luck.random())

    def before(self, number, captured):
        if captured >= self.next:
            self.next = captured + self.period * (0.7 + 0.6 * self.luck.random())
            self.fault(captured)

    def fault(self, captured):
        raise NotImplementedError


class Dies(Timed):
    """Loses its connection, and refuses others for some seconds."""
    name, missing, away = "dies", 0.4, 0.0

    def fault(self, captured):
        self.away = captured + self.luck.uniform(1, 6)
        self.disconnect()

    def accepts(self):
        return now() >= self.away


class Silent(Timed):
    """Sends nothing for some seconds, with the connection open."""
    name, missing = "silent", 0.6

    def fault(self, captured):
        self.silent_until = captured + self.luck.uniform(7, 12)


class Bursts(Timed):
    """Sends nothing for a second or two, and everything at once afterwards."""
    name = "bursts"

    def __init__(self, *words):
        super().__init__(*words)
        self.held, self.holds_until = [], 0

    def fault(self, captured):
        self.holds_until = captured + self.luck.uniform(0.5, 2)
        asyncio.get_running_loop().call_later(max(0, self.holds_until - now()), self.release)

    def release(self):
        held, self.held = self.held, []
        for words in held:
            super().send(*words)

    def send(self, picture, units, stamp):
        if now() < self.holds_until:
            self.held.append((picture, units, stamp))
        else:
            self.release()
            super().send(picture, units, stamp)


class Ahead(Camera):
    """Its clock is an hour ahead."""
    name, clock_offset = "ahead", 3_600.0


class Behind(Camera):
    """Its clock is an hour behind."""
    name, clock_offset = "behind", -3_600.0


class Fast(Camera):
    """Its clock and its stamps run 200 ppm too fast."""
    name, clock_rate = "fast", 1.0002


class Slow(Camera):
    """They run 200 ppm too slow."""
    name, clock_rate = "slow", 0.9998


class Unset(Camera):
    """Its clock was never set."""
    name = "unset"

    def wall(self, captured):
        return 86_400 + captured - self.began


class Steps(Timed):
    """Its wall clock steps; its RTP timestamps do not."""
    name = "steps"

    def fault(self, captured):
        self.clock_offset = self.luck.uniform(-30, 30)


class Mute(Camera):
    """It never reports its clock."""
    name, reports = "mute", False


class Wraps(Timed):
    """Its stamps pass 2^32 early on, and come near it again and again."""
    name = "wraps"

    def __init__(self, *words):
        super().__init__(*words)
        self.first_stamp = (1 << 32) - 20 * RATE

    def fault(self, captured):
        # A new stream begins shortly before the wrap.
        self.disconnect()
        self.source = self.luck.getrandbits(32)
        self.stamp_shift = (-self.stamp(captured) - 10 * RATE + self.stamp_shift) & 0xFFFFFFFF
    missing = 0.3


class Resets(Timed):
    """Its stamps jump, within a connection."""
    name, missing = "resets", 0.3

    def fault(self, captured):
        self.stamp_shift += self.luck.choice([-1, 1]) * self.luck.randrange(RATE, 1 << 30)


class SetBack(Timed):
    """Its stamps are set back by up to a second, within a connection."""
    name, missing = "setback", 0.3

    def fault(self, captured):
        self.stamp_shift -= self.luck.randrange(RATE // 20, RATE)


class Stray(Timed):
    """One picture has the stamp of another time."""
    name, missing, stray = "stray", 0.1, 0

    def fault(self, captured):
        self.stray = self.luck.choice([-1, 1]) * self.luck.randrange(RATE // 20, 3 * RATE)

    def stamp(self, captured):
        stray, self.stray = self.stray, 0
        return super().stamp(captured) + stray & 0xFFFFFFFF


class Renewed(Timed):
    """Its stream gets another source identifier and other stamps, within a connection."""
    name, missing = "renewed", 0.3

    def fault(self, captured):
        self.source = self.luck.getrandbits(32)
        self.stamp_shift = self.luck.getrandbits(32)
        self.sequence = self.luck.getrandbits(16)


KINDS = [
    Camera, Loss, Dies, Silent, Bursts, Ahead, Fast, Slow, Unset, Steps, Mute, Wraps, Resets, SetBack, Stray, Renewed,
]


def cameras(count, clips, fps, seed):
    return [
        KINDS[index % len(KINDS)](index, clips[index % len(clips)], fps, random.Random(f"{seed} {index}")) for index in range(count)
    ]
