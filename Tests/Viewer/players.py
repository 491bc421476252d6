"""Playback of a session in other players: FFmpeg, GStreamer, mpv, and Chromium's own HLS."""

import asyncio
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PATIENCE = 180


def packets(address, *options):
    """Hashes of an input's packets, a list for each kind of stream, in the order of the stream."""
    outcome = subprocess.run(
        ["ffmpeg", "-v", "error", *options, "-i", address, "-map", "0:v?", "-map", "0:a?", "-c", "copy",
         "-f", "framehash", "-"], capture_output=True, text=True, timeout=PATIENCE)
    if outcome.returncode:
        raise RuntimeError(f"ffmpeg: {outcome.stderr.strip()}")
    found, kinds = {}, {}
    for line in outcome.stdout.splitlines():
        if words := re.match(r"#media_type (\d+): (\w+)", line):
            kinds[words[1]] = words[2]
        elif not line.startswith("#"):
            words = [word.strip() for word in line.split(",")]
            # Behind it comes what goes with a packet, such as how much of the sound is not heard: of a file, but not of its fragments.
            found.setdefault(kinds[words[0]], []).append(words[5])
    return found


def recorded(directory):
    """The same of all files of a source, one after the other, as they are on disk: without their edit lists."""
    found = {}
    for path in sorted(glob.glob(f"{directory}/*.mp4")):
        for kind, hashes in packets(path, "-advanced_editlist", "0").items():
            found.setdefault(kind, []).extend(hashes)
    return found


def same(arrived, wanted):
    """Whether every packet has arrived, none twice, in its order. The first packet of sound may be missing: what a decoder needs before it
    is heard, and FFmpeg leaves it out where nothing of it is."""
    heard = arrived.get("audio", [])
    return (arrived.get("video", []) == wanted.get("video", [])
            and heard in (wanted.get("audio", []), wanted.get("audio", [])[1:]))


def ffmpeg(playlist, directory):
    """Every packet arrives, none twice, in its order."""
    wanted, arrived = recorded(directory), packets(playlist)
    if not same(arrived, wanted):
        told = (f"{len(arrived.get(kind, []))} packets of {kind} of {len(hashes)}, "
                f"{len(set(hashes) - set(arrived.get(kind, [])))} of them not at all" for kind, hashes in wanted.items())
        raise RuntimeError(f"FFmpeg gets by HLS {'; '.join(told)}")
    return f"FFmpeg: {' and '.join(f'{len(hashes)} packets of {kind}' for kind, hashes in arrived.items())}"


def gstreamer(playlist, directory):
    """Every picture is decoded."""
    if not shutil.which("gst-launch-1.0"):
        return "GStreamer is not installed"
    outcome = subprocess.run(
        ["gst-launch-1.0", "-q", "souphttpsrc", f"location={playlist}", "!", "hlsdemux", "!", "decodebin", "name=d",
         "d.", "!", "queue", "!", "video/x-raw", "!", "checksumsink", "sync=false", "d.", "!", "queue", "!", "audio/x-raw",
         "!", "fakesink", "sync=false"], capture_output=True, text=True, timeout=PATIENCE)
    if outcome.returncode or "ERROR" in outcome.stdout + outcome.stderr:
        raise RuntimeError(f"GStreamer: {(outcome.stdout + outcome.stderr).strip()[-500:]}")
    shown = sum(bool(re.match(r"\d+:\d+:\d+\.\d+ [0-9a-f]{40}$", line)) for line in outcome.stdout.splitlines())
    return f"GStreamer: {judged(shown, directory)}"


def mpv(playlist, directory):
    """It gets to the end. FFmpeg's HLS knows no discontinuities, so that mpv skips pictures where times restart: they are reported, one in twenty at most."""
    if not shutil.which("mpv"):
        return "mpv is not installed"
    with tempfile.NamedTemporaryFile("r", suffix=".log") as log:
        outcome = subprocess.run(
            ["mpv", "--no-config", "--no-terminal", "--no-audio", "--hwdec=no", "--vo=null", "--untimed",
             "--framedrop=no", "--vf=lavfi=[showinfo]", "--msg-level=all=error,ffmpeg=v", f"--log-file={log.name}",
             playlist], capture_output=True, text=True, timeout=PATIENCE)
        said = log.read()
    if outcome.returncode:
        raise RuntimeError(f"mpv: {said.strip()[-500:]}")
    shown, wanted = len(re.findall(r"n: *\d+ pts:", said)), len(recorded(directory)["video"])
    if not 0.95 * wanted <= shown <= wanted:
        raise RuntimeError(f"mpv: {shown} pictures instead of {wanted}")
    return f"mpv: {shown} of {wanted} pictures"


def judged(shown, directory):
    """Pictures that a player has shown, beside those that were recorded."""
    wanted = len(recorded(directory)["video"])
    if shown != wanted:
        raise RuntimeError(f"{shown} pictures instead of {wanted}")
    return f"{shown} pictures"


PLAY = """
    const video = document.createElement("video")
    const seen = { state: "playing" }
    video.onended = () => { seen.state = "ended" }
    video.onerror = () => { seen.state = `${video.error.code} ${video.error.message}` }
    window.seen = () => JSON.stringify({ ...seen, at: video.currentTime, length: video.duration,
        pictures: video.getVideoPlaybackQuality().totalVideoFrames, width: video.videoWidth,
        ready: video.readyState, network: video.networkState,
        buffered: video.buffered.length && video.buffered.end(video.buffered.length - 1) })
    document.body.append(video)
    video.muted = true
    video.src = ADDRESS
    video.play()
    """


def chromium(playlist, directory):
    """Its own HLS plays from start to end. It drops pictures that are late, so they are reported and not judged."""
    if not shutil.which("chromium"):
        return "Chromium is not installed"
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Browser"))
    try:
        from chromium import Chromium
    except ImportError:
        return "Chromium is not driven: python3-websockets is not installed"
    state = asyncio.run(play(Chromium, playlist))
    if state["state"] != "ended":
        raise RuntimeError(f"Chromium: {state}")
    return f"Chromium: {state['pictures']} of {len(recorded(directory)['video'])} pictures in {state['length']:.1f} s"


async def play(browser, playlist):
    async with browser() as page:
        # A document of the viewer's own origin, without the page's modules.
        await page.send("Page.setBypassCSP", enabled=True)
        await page.send("Page.navigate", url=playlist.split("/hls/")[0] + "/api/v1/sessions")
        await asyncio.sleep(1)
        await page.send("Runtime.evaluate", expression="{" + PLAY.replace("ADDRESS", json.dumps(playlist)) + "}")
        state = {"state": "nothing was heard of it"}
        for _ in range(PATIENCE):
            await asyncio.sleep(1)
            answer = await page.send("Runtime.evaluate", expression="window.seen?.()")
            if text := answer["result"].get("value"):
                state = json.loads(text)
                if state["state"] != "playing":
                    break
        return state


ALL = [ffmpeg, gstreamer, mpv, chromium]
