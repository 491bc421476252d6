"""Measures the camera's side: raw 720p30 and PCM to H.264 at 4 Mbit/s and AAC at 128 kbit/s, one encoder thread."""

import re
import signal
import time

import machine
from contenders import FFMPEG, FIRST_PORT

SECONDS = 20
FFMPEG_SETTINGS = [
    "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-threads", "1", "-g", "60",
    "-bf", "0", "-b:v", "4M", "-maxrate", "4M", "-bufsize", "2400k", "-c:a", "aac", "-b:a", "128k"]
AGENT_SETTINGS = [
    "--encoder-preset", "veryfast", "--tune", "zerolatency", "--encoder-threads", "1",
    "--keyframe-interval", "2s", "--video-bitrate", "4M", "--video-max-bitrate", "4M",
    "--video-buffer", "600ms", "--audio-bitrate", "128k"]


def ffmpeg(place):
    """Encodes, and writes fragmented MP4 into /dev/null."""
    command = [
        *FFMPEG, "-re", "-stream_loop", "-1", "-i", place.raw, "-t", SECONDS, *FFMPEG_SETTINGS,
        "-f", "mp4", "-movflags", "frag_keyframe+empty_moov+default_base_moof", "/dev/null"]
    return measure(place, command)


def agent(place):
    """Encodes, and sends to a collector."""
    endpoint = f"tcp://127.0.0.1:{FIRST_PORT}"
    machine.empty_directory(place.output)
    with open(f"{place.root}/errors.log", "w") as log:
        collector = machine.Process(
            [place.product("tributary-collector"), "--listen", endpoint, "--archive", place.output],
            errors=log)
        with machine.Processes([collector]) as collectors:
            machine.wait_for_ports([FIRST_PORT], alive=collector.poll)
            command = [
                place.product("tributary-agent"), "--collector", endpoint, "--source", "camera",
                "--spool", f"{place.root}/spool", "--video", f"file:{place.raw}", "--loop", "--duration", f"{SECONDS}s",
                *AGENT_SETTINGS]
            result = measure(place, command)
            collectors.stop(signal.SIGTERM)
            collectors.wait(20)
    return result


CONTENDERS = {"tributary-agent": agent, "ffmpeg": ffmpeg}


def measure(place, command):
    """CPU of a whole life, start-up included, per minute of media."""
    machine.read_into_cache(place.raw)
    with open(f"{place.root}/errors.log", "a") as log, \
            machine.Processes([machine.Process(command, errors=log)]) as processes:
        process, own, deadline = processes.members[0], 0, time.monotonic() + 4 * SECONDS
        while process.poll() and time.monotonic() < deadline:
            own = max(own, own_bytes(process))
            time.sleep(0.2)
        ended = not process.poll()
        return {
            "cpu_per_stream_minute": process.cpu() * 60 / SECONDS, "peak_bytes": process.peak_bytes, "own_bytes": own,
            "flaws": [] if ended and process.status == 0 else [f"status {process.status}"]}


def own_bytes(process):
    """Private memory that it has written to: the rest of its resident memory is pages of files, such as libraries."""
    try:
        with open(f"/proc/{process.child.pid}/smaps_rollup") as lines:
            found = dict(line.split()[:2] for line in list(lines)[1:])
    except (ProcessLookupError, FileNotFoundError):
        return 0
    return int(found.get("Private_Dirty:", 0)) * 1024


def settings_in(path):
    """The settings that x264 writes into a file, for comparing the two by hand."""
    with open(path, "rb") as file:
        found = re.search(rb"options: ([ -~]+)", file.read(1 << 20))
    return found.group(1).decode() if found else ""
