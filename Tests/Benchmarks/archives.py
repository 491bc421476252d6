"""Archives to serve, created at full speed."""

import hashlib
import json
import math
import os
import shutil
import subprocess

START = "2026-01-01T00:00:00Z"
SESSION = "2026-01-01T00-00-00.000Z"
# Ten pictures a second and a keyframe every two seconds: as many fragments as a camera's, in few bytes.
SMALL_PICTURE = ["-f", "lavfi", "-i", "testsrc2=s=160x90:r=10:d=60", "-c:v", "libx264", "-preset", "ultrafast",
                 "-crf", "51", "-g", "20", "-bf", "0", "-pix_fmt", "yuv420p"]
SMALL_SOUND = ["-f", "lavfi", "-i", "sine=f=440:r=8000:d=60"]


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *words], check=True)


def session_of_clip(place, directory, gigabytes):
    """The clip repeatedly, in one file with a minimum size in GB. Returns the archive."""
    rounds = math.ceil(gigabytes * 1e9 / os.path.getsize(place.clip))
    return imported(place, f"{directory}/clips", place.clip, rounds, "24h")


def session_of_hours(place, directory, hours):
    """Small pictures and sound in segments of ten minutes."""
    minute = f"{directory}/minute.mp4"
    ffmpeg(*SMALL_SOUND, *SMALL_PICTURE, "-c:a", "aac", "-b:a", "8k", "-ac", "1", minute)
    return imported(place, f"{directory}/hours", minute, hours * 60, "10m")


def session_of_sources(place, directory, hours, sources):
    """A number of sources in segments of ten minutes: the first is imported, the others are links to its files.

    Each has a gap an hour in its ledger. Only the catalog and the ledgers tell what is recorded, so one picture a
    second is enough.
    """
    minute = f"{directory}/still.mp4"
    ffmpeg(*SMALL_PICTURE, "-r", "1", "-g", "2", minute)
    archive = imported(place, f"{directory}/sources", minute, hours * 60, "10m")
    session = f"{archive}/sessions/{SESSION}"
    with open(f"{session}/camera/ledger.jsonl", "a") as ledger:
        for hour in range(hours):
            ledger.write(gap_line(hour * 3600 + 1800))
    with open(f"{session}/session.json") as file:
        manifest = json.load(file)
    camera = manifest["sources"][0]
    for number in range(1, sources):
        name = f"camera{number}"
        shutil.copytree(f"{session}/camera", f"{session}/{name}", copy_function=link_media)
        manifest["sources"].append({**camera, "name": name})
    with open(f"{session}/session.json", "w") as file:
        json.dump(manifest, file)
    index(place, archive)
    return archive


def gap_line(second):
    """A ledger's line: pictures that the driver has dropped, with the checksum that a line ends with."""
    body = json.dumps({
        "at": START, "cause": "driver-drop", "durationNanoseconds": 5_000_000_000, "kind": "gap", "samples": 5,
        "startNanoseconds": second * 1_000_000_000, "track": "video"}, separators=(",", ":"))[:-1]
    return f'{body},"check":"{hashlib.sha256(body.encode()).hexdigest()[:16]}"}}\n'


def link_media(path, other):
    """Media are many bytes, and are only read."""
    (os.link if path.endswith(".mp4") else shutil.copyfile)(path, other)


def imported(place, archive, path, rounds, segment):
    """An archive with a session of a file that is played a number of times."""
    whole = f"{archive}.mkv"
    ffmpeg("-stream_loop", str(rounds - 1), "-i", path, "-c", "copy", whole)
    tributary(place, "import", whole, "--source", "camera", "--archive", archive, "--at", START, "--segment", segment)
    os.unlink(whole)
    index(place, archive)
    return archive


def index(place, archive):
    """The catalog, which a collector keeps by itself."""
    tributary(place, "index", "--archive", archive)


def tributary(place, *words):
    """Runs the tool; its output is shown only when it fails."""
    outcome = subprocess.run([place.product("tributary"), *words], capture_output=True, text=True)
    if outcome.returncode:
        raise RuntimeError(f"tributary {words[0]}: {outcome.stderr.strip()[-300:]}")


def media_files(archive):
    """Paths below `sessions`, in their order."""
    directory = f"{archive}/sessions/{SESSION}/camera"
    return [f"{SESSION}/camera/{name}" for name in sorted(os.listdir(directory)) if name.endswith(".mp4")]
