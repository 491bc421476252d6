"""Receivers that record, and the senders of their load."""

import os
from dataclasses import dataclass, field
from typing import Callable

FIRST_PORT = 7300
ACKS_EVERY = 10  # messages of 100 ms: once a second at real-time pace
WINDOW = 160  # messages of 100 ms of one source: 8 MB, the collector's own credit window

# Freed memory stays with the process, as the collector does it for itself: large messages come and go.
KEEP_MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=268435456:glibc.malloc.mmap_threshold=268435456"
    ":glibc.malloc.arena_max=1"}

# FFmpeg 5.1 ends at the first AAC packet of an MPEG-TS when it is told neither.
FRAGMENTED = [
    "-c", "copy", "-bsf:a", "aac_adtstoasc", "-f", "mp4",
    "-movflags", "frag_keyframe+empty_moov+default_base_moof"]
FFMPEG = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y"]


@dataclass
class Contender:
    """The commands of a comparison's one row.

    `receive` and `send` take a workplace and a Load, and give commands. `suffix` is that of the recordings, which
    are called s0, s1, …; without one, the receiver names them itself.
    """

    name: str
    receive: Callable
    send: Callable
    suffix: str | None
    environment: dict = field(default_factory=dict)
    listens_per_source: bool = False
    ends_by_itself: bool = True
    null_environment: Callable = lambda place: {}

    def ports(self, sources):
        return range(FIRST_PORT, FIRST_PORT + (sources if self.listens_per_source else 1))


@dataclass(frozen=True)
class Load:
    """The load: `seconds` of the clip, from each of `sources`; whether to a receiver that writes to /dev/null."""

    sources: int
    seconds: int
    paced: bool
    null: bool


# Milliseconds of media in a message: what agents of `--batch 100ms` send, and those of `--batch auto` that nobody watches.
EACH, GATHERED = 100, 500


def product(with_keys=False, before=False, each=False):
    """The product: the programs under test, or those of the version before it."""
    endpoint = f"tcp://127.0.0.1:{FIRST_PORT}"
    name = (
        "tributary, with keys" if with_keys else "tributary, before" if before
        else "tributary, 100 ms" if each else "tributary")

    def server_keys(place):
        return ["--keys", place.server_keys] if with_keys else []

    def box_keys(place):
        if not with_keys:
            return []
        return ["--keys", place.box_keys, "--collector-key", place.public_key(place.server_keys)]

    return Contender(
        name,
        receive=lambda place, load: [[
            place.product("tributary-collector", before), "--listen", endpoint, "--archive", place.output,
            *server_keys(place)]],
        send=lambda place, load: [[
            place.product("bench-load"), "--collector", endpoint, "--media", place.clip,
            "--sources", load.sources, "--seconds", load.seconds,
            *([] if load.paced else ["--fast"]), *(["--each"] if each else []), *(["--unfinishable"] if load.null else []), *box_keys(place)]],
        suffix=None, ends_by_itself=False,
        null_environment=lambda place: {"LD_PRELOAD": place.devnull})


def floor(name, sink, acks=0, environment=None, batch=EACH, with_keys=False):
    def key(place, number):
        return [place.floor_keys[number]] if with_keys else []

    return Contender(
        name,
        receive=lambda place, load: [[
            place.floor, "receive", FIRST_PORT, load.sources, place.output, sink, place.clip, acks,
            *key(place, 1)]],
        send=lambda place, load: [[
            place.floor, "send", FIRST_PORT, load.sources, place.clip, load.seconds,
            "paced" if load.paced else "fast", WINDOW * EACH // batch if acks else 0, batch, *key(place, 0)]],
        suffix=sink, environment=environment or {})


def ffmpeg():
    """A process per source, each with a listening socket of its own."""
    return Contender(
        "ffmpeg",
        receive=lambda place, load: [
            [*FFMPEG, "-i", f"tcp://127.0.0.1:{FIRST_PORT + i}?listen=1", *FRAGMENTED,
             f"{place.output}/s{i}.mp4"] for i in range(load.sources)],
        # A camera sends each picture when it has it.
        send=lambda place, load: push(
            place, load, ["-f", "mpegts", "-flush_packets", "1"],
            lambda i: f"tcp://127.0.0.1:{FIRST_PORT + i}"),
        suffix="mp4", listens_per_source=True)


def nginx_rtmp():
    """One process; it records FLV, without an index."""
    return Contender(
        "nginx-rtmp",
        receive=lambda place, load: [[place.nginx, "-e", f"{place.root}/nginx.log", "-c", configure_nginx(place)]],
        send=lambda place, load: push(
            place, load, ["-f", "flv"], lambda i: f"rtmp://127.0.0.1:{FIRST_PORT}/live/s{i}"),
        suffix="flv", ends_by_itself=False)


def push(place, load, form, address):
    """An ffmpeg per source that plays the clip at its own pace."""
    return [
        [*FFMPEG, "-re", "-i", place.clip, "-t", load.seconds, "-c", "copy", *form, address(i)]
        for i in range(load.sources)]


def configure_nginx(place):
    path = f"{place.root}/nginx.conf"
    with open(path, "w") as file:
        file.write(f"""
            load_module {place.rtmp_module};
            daemon off; master_process off; pid {place.root}/nginx.pid;
            error_log {place.root}/nginx.log warn; worker_rlimit_nofile 4096;
            events {{ worker_connections 1024; }}
            rtmp {{ access_log off; server {{ listen 127.0.0.1:{FIRST_PORT}; application live {{
                live on; record all; record_path {place.output}; record_unique off; record_suffix .flv;
            }} }} }}
            """)
    return path


FLOOR_BEST = floor("floor: zmq + libavformat", "mp4", environment=KEEP_MEMORY)
FLOOR_GATHERED = floor(
    "floor: zmq + libavformat, 500 ms", "mp4", environment=KEEP_MEMORY, batch=GATHERED)
FLOOR_KEYS = floor(
    "floor: zmq + libavformat, with keys", "mp4", environment=KEEP_MEMORY, with_keys=True)
FLOOR_ACKS_KEYS = floor("floor: zmq + acks, with keys", "bytes", acks=ACKS_EVERY, with_keys=True)
FLOOR_ACKS = floor("floor: zmq + acks", "bytes", acks=ACKS_EVERY)
FLOOR_ACKS_GATHERED = floor(
    "floor: zmq + acks, 500 ms", "bytes", acks=ACKS_EVERY * EACH // GATHERED, batch=GATHERED)
FLOOR_ACKS_KEPT = floor("floor: zmq + acks, memory kept", "bytes", acks=ACKS_EVERY, environment=KEEP_MEMORY)


def paced(place):
    """The contenders that are compared at real-time pace."""
    if place.before:
        return [product(), product(before=True)]
    peers = [nginx_rtmp()] if os.path.exists(place.rtmp_module) else []
    return [
        product(), product(each=True), product(with_keys=True), FLOOR_BEST, FLOOR_GATHERED, FLOOR_KEYS,
        *peers, ffmpeg()]


def unpaced(place):
    """The contenders that are compared at full speed."""
    if place.before:
        return [product(), product(before=True)]
    return [
        product(), product(with_keys=True), FLOOR_ACKS, FLOOR_ACKS_GATHERED, FLOOR_ACKS_KEPT, FLOOR_ACKS_KEYS]
