"""Judges what came out of the camera box: by what the archive says, by the kernel's own trace, and by foreign decoders."""

import array
import glob
import json
import re
import statistics
import subprocess


class Report:
    """What was found of one job."""

    def __init__(self, place):
        self.place = place
        self.lines, self.flaws = [], []

    def path(self, name):
        return f"{self.place}/{name}"

    def say(self, line):
        self.lines.append(line)

    def flaw(self, line):
        self.flaws.append(line)

    def expect(self, truth, line):
        (self.say if truth else self.flaw)(line)

    def text(self, name):
        with open(self.path(name), errors="replace") as file:
            return file.read()

    def json(self, name):
        return json.loads(self.text(name))


# What is said of a session.

def source(report, name="session"):
    """The only source of a session, which has to be sound."""
    verdict = report.json(f"{name}.verify.json")
    report.expect(verdict["sound"], f"{name}: verify {'clean' if verdict['sound'] else 'found damage'}")
    return report.json(f"{name}.show.json")["sources"][0]


def gaps(entry, track):
    return [gap for gap in entry["gaps"] if gap.get("track") == track]


def lost(entries, cause):
    return sum(gap.get("samples") or 0 for gap in entries if gap["cause"] == cause)


def samples(entry, kind):
    return sum(track["samples"] for file in entry["files"] for track in file["tracks"] if track["kind"] == kind)


def recordings(report, name="session"):
    return sorted(glob.glob(report.path(f"{name}/*.mp4")))


# What the kernel has handed out.

# Pictures: more is a count that has begun anew.
LONGEST_HOLE = 1000


def buffers(report, name="dqbuf.txt"):
    """(nanoseconds, sequence, flags) of each buffer, in order."""
    pattern = re.compile(r"minor = (\d+),.* flags = (\S+),.* timestamp = (\d+),.* sequence = (\d+)")
    found = [pattern.search(line) for line in report.text(name).splitlines()]
    return [(int(m[3]), int(m[4]), m[2]) for m in found if m and m[1] == "0"]


def holes(trace):
    """How many buffers are missing by the driver's own count; where it begins anew, none."""
    steps = [(second - first) % 2**32 for (_, first, _), (_, second, _) in zip(trace, trace[1:])]
    return sum(step - 1 for step in steps if 1 < step < LONGEST_HOLE)


# What foreign decoders say.

def packet_times(path, stream):
    out = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0",
         path], capture_output=True, text=True, check=True).stdout
    return sorted(float(word.split(",")[0]) for word in out.split())


def decodes(report, paths):
    """Every file in FFmpeg and in GStreamer, without a word of complaint."""
    for path in paths:
        ffmpeg = subprocess.run(
            ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", path],
            capture_output=True, text=True)
        if ffmpeg.returncode or ffmpeg.stderr.strip():
            report.flaw(f"FFmpeg on {path}: {ffmpeg.stderr.strip()[:200]}")
        gstreamer = subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "decodebin", "!", "fakesink"],
            capture_output=True, text=True)
        if gstreamer.returncode:
            report.flaw(f"GStreamer on {path}: {gstreamer.stderr.strip()[:200]}")
    report.say(f"{len(paths)} file(s) decoded by FFmpeg and GStreamer")


def centre_colours(path, width, height, bars):
    """The colour in the middle of each vertical bar of the first picture."""
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True, check=True).stdout
    row = height // 2 * width
    return [tuple(raw[3 * (row + (2 * bar + 1) * width // (2 * bars)):][:3]) for bar in range(bars)]


def flashes(path):
    """When the picture turns from black to white or back, seconds."""
    times = packet_times(path, "v")
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-vf", "scale=1:1", "-fps_mode", "passthrough", "-f", "rawvideo",
         "-pix_fmt", "gray", "-"], capture_output=True, check=True).stdout
    return [time for time, before, after in zip(times[1:], raw, raw[1:]) if (before > 127) != (after > 127)]


def beeps(path):
    """When beeps begin, seconds."""
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-copyts", "-i", path, "-map", "a", "-af", "aresample=async=1:first_pts=0",
         "-ac", "1", "-ar", "48000", "-f", "s16le", "-"], capture_output=True, check=True).stdout
    heard, quiet = array.array("h", raw), 48000
    found = []
    for place, value in enumerate(heard):
        quiet += 1
        if abs(value) > 2000:
            if quiet > 9600:
                found.append(place / 48000)
            quiet = 0
    return found


def lags(made, seen):
    """How long after each thing was made it is seen, by one unknown zero: those that pair up, within half the least pause."""
    best = []
    for first in made[:8]:
        zero = seen[2] - first
        pairs = [(min(seen, key=lambda time: abs(time - zero - at)) - zero - at) for at in made]
        pairs = [pair + zero for pair in pairs if abs(pair) < 0.15]
        if len(pairs) > len(best):
            best = pairs
    return best


# The jobs.

def is_busy(report):
    """Others had so much of this machine that the box may have missed real time."""
    share = re.search(r"others on the host (\d+)%", report.text("vm.txt"))
    return share is not None and int(share[1]) > 30


def skew(report):
    source(report)
    made = [json.loads(line) for line in report.text("flash.jsonl").splitlines()]
    path = recordings(report)[0]
    seen = lags([event["at"] / 1e9 for event in made if event["what"] == "flash"], flashes(path))
    heard = lags([event["at"] / 1e9 for event in made if event["what"] == "beep"], beeps(path))
    report.expect(len(seen) >= 20 and len(heard) >= 20, f"{len(seen)} flashes, {len(heard)} beeps")
    # A change shows in the next picture: half an interval later on average.
    picture, sound = statistics.mean(seen) - 0.5 / 15, statistics.median(heard)
    error = statistics.stdev(seen) / len(seen) ** 0.5
    report.expect(abs(sound - picture) <= 0.020,
                  f"sound is {(sound - picture) * 1e3:+.1f} ms after the picture, ± {2e3 * error:.1f} ms (20 ms)")


def minute(report):
    entry = source(report)
    pictures, missing = samples(entry, "video"), gaps(entry, "video")
    counted = sum(gap.get("samples") or 0 for gap in missing)
    due = pictures + (counted if is_busy(report) else 0)
    report.expect(abs(due - 900) <= 1, f"{pictures} pictures, {counted} counted as lost (900 ± 1)"
                  + (", on a busy host" if is_busy(report) else ""))
    trace = buffers(report)
    report.expect(counted == holes(trace), f"{counted} lost pictures in the ledger, {holes(trace)} by the driver's count")
    silent = [gap for gap in gaps(entry, "audio") if not (is_busy(report) and gap["cause"] == "overrun")]
    report.expect(not silent, f"{len(gaps(entry, 'audio'))} gaps of sound")
    paths = recordings(report)
    times = packet_times(paths[0], "v")
    stamps = [stamp / 1e9 for stamp, _, _ in trace]

    def worst(offset):
        own = [b - a for a, b in zip(times, times[1:])]
        theirs = [b - a for a, b in zip(stamps[offset:], stamps[offset + 1:])]
        return max(abs(a - b) for a, b in zip(own, theirs))

    best = min((worst(offset) for offset in range(len(stamps) - len(times) + 1)), default=None)
    report.expect(best is not None and best < 0.001,
                  f"intervals within {best * 1e3:.3f} ms of the driver's stamps (1 ms)" if best is not None
                  else f"{len(times)} pictures recorded of {len(stamps)} buffers")
    sound = packet_times(paths[0], "a")
    report.expect(abs(sound[-1] - times[-1]) < 0.2, f"sound ends {sound[-1] - times[-1]:+.3f} s after the last picture")
    decodes(report, paths)


def faults(report):
    entry = source(report)
    trace = buffers(report)
    missing, silent = gaps(entry, "video"), gaps(entry, "audio")
    causes = {cause: (len([g for g in missing if g["cause"] == cause]), lost(missing, cause))
              for cause in {gap["cause"] for gap in missing}}
    report.say("video: " + ", ".join(f"{count} × {cause} ({pictures} pictures)"
                                     for cause, (count, pictures) in sorted(causes.items())))
    dropped = lost(missing, "driver drop") + lost(missing, "encoder overload")
    report.expect(dropped == holes(trace) and dropped > 5,
                  f"{dropped} pictures left out by the driver, {holes(trace)} by its own count")
    flagged = len([flags for _, _, flags in trace if "ERROR" in flags])
    damaged = [gap for gap in missing if gap["cause"] == "damaged input" and gap.get("samples")]
    report.expect(lost(damaged, "damaged input") == flagged >= 1,
                  f"{lost(damaged, 'damaged input')} damaged pictures, {flagged} flagged by the driver")
    away = [gap for gap in missing if gap["cause"] == "device lost"]
    for words, least in (("gives no pictures", 1), ("Input/output error", 3), ("No such device", 2)):
        found = [gap for gap in away if words in gap.get("text", "")]
        report.expect(len(found) >= least, f"{len(found)} × \"{words}\" ({least} at least)")
    stamps = [gap for gap in missing if "stamps" in gap.get("text", "")]
    report.expect(len(stamps) == 1, f"foreign stamps told {len(stamps)} time(s): {[g['text'] for g in stamps]}")
    report.expect(any(sequence > 2**32 - 129 for _, sequence, _ in trace)
                  and any(b < a for (_, a, _), (_, b, _) in zip(trace, trace[1:])), "the driver's count has wrapped")
    report.expect(1 <= len([g for g in silent if g["cause"] == "device lost"]) and
                  all(g["cause"] in ("device lost", "overrun") for g in silent if g["durationNanoseconds"]),
                  f"sound: {[(g['cause'], g['durationNanoseconds'] / 1e9) for g in silent]}")
    # Everything that was due is recorded, or counted.
    begin, end = events(report)["dropped"], events(report)["end"]
    times = sorted(time for path in recordings(report) for time in packet_times(path, "v"))
    report.expect(all(b > a for a, b in zip(times, times[1:])), f"{len(times)} pictures in order")
    due = (times[-1] - times[0]) * 15 + 1
    counted = sum(gap.get("samples") or 0 for gap in missing)
    report.expect(abs(len(times) + counted - due) <= 2 + len(away),
                  f"{len(times)} pictures and {counted} lost of {due:.0f} that were due in {end - begin:.0f} s and more")
    decodes(report, recordings(report))


def events(report):
    return {line.split()[1]: float(line.split()[0]) for line in report.text("events.txt").splitlines()}


ERRORS = {
    "missing": (1, 'there is no camera "/dev/video9"; there is platform:vivid-000'),
    "unknown": (1, 'there is no camera "usb-nowhere"'),
    "no camera": (1, "/dev/null is no camera"),
    "format": (1, "it has no MJPG; it has"),
    "copy": (1, "no H.264 of its own to copy; leave --encoder copy out"),
    "size": (1, "it has no 700×700"),
    "no microphone": (1, 'there is no sound device "hw:9"'),
    "busy camera": (1, "is busy: v4l2-ctl (process"),
    "busy microphone": (1, "is busy: arecord (process"),
    "forbidden": (1, "add this user to the group video"),
    "forbidden microphone": (1, "add this user to the group audio"),
}


def errors(report):
    found = {words[0]: words[1:] for words in
             (line.split("|", 3) for line in report.text("errors.txt").splitlines()) if len(words) == 4}
    for name, (status, text) in ERRORS.items():
        got = found.get(name, ["?", "?", "nothing"])
        report.expect(got[0] == str(status) and got[1] == "1" and text in got[2], f"{name}: {got[2]}")
    devices = report.json("devices.json")
    camera = next(camera for camera in devices["cameras"] if camera["node"] == "/dev/video0")
    report.expect(any("v4l2-ctl" in holder for holder in camera["heldBy"]), f"camera held by {camera['heldBy']}")
    report.expect(len(camera["formats"]) > 20 and len(camera["controls"]) > 20,
                  f"{len(camera['formats'])} formats, {len(camera['controls'])} controls")
    microphone = next(m for m in devices["microphones"] if m["name"] == "hw:CARD=Loopback,DEV=1")
    report.expect(any("arecord" in holder for holder in microphone["heldBy"]), f"microphone held by {microphone['heldBy']}")


# 75 % bars: white, yellow, cyan, green, magenta, red, blue, black.
BARS = [(191, 191, 191), (191, 191, 0), (0, 191, 191), (0, 191, 0), (191, 0, 191), (191, 0, 0), (0, 0, 191), (0, 0, 0)]


def formats(report):
    for path in sorted(glob.glob(report.path("format-*.verify.json"))):
        name = path.rsplit("/", 1)[1].removesuffix(".verify.json")
        entry = source(report, name)
        pictures = samples(entry, "video")
        files = recordings(report, name)
        colours = centre_colours(files[0], 320, 180, 8)
        off = max(abs(a - b) for got, bar in zip(colours, BARS) for a, b in zip(got, bar))
        report.expect(off <= 20 and pictures >= 17, f"{name}: {pictures} pictures, colours off by {off} of 255 at most")
        decodes(report, files)
    log = report.text("agent.log")
    for preset, size in (("low", "640×480"), ("medium", "640×480"), ("high", "640×480"), ("1080p", "640×480")):
        entry = source(report, f"preset-{preset}")
        report.expect(samples(entry, "video") > 5, f"{preset}: {samples(entry, 'video')} pictures")
    report.expect("medium is 960×540, which the camera does not have" in log, "falling back is said")


def cost(report):
    rows = [json.loads(line) for line in report.text("cost.jsonl").splitlines() if line.startswith("{")]
    medians = {}
    for name in ("agent", "ffmpeg"):
        own = [row for row in rows if row["name"] == name]
        report.expect(len(own) >= 3 and all(row["status"] == 0 for row in own), f"{name}: {len(own)} runs")
        medians[name] = tuple(statistics.median(row[key] for row in own) for key in ("cpu", "memory"))
    (cpu, memory), (their_cpu, their_memory) = medians["agent"], medians["ffmpeg"]
    report.expect(cpu <= 1.05 * their_cpu, f"CPU {cpu:.2f} s against {their_cpu:.2f} s of ffmpeg, × {cpu / their_cpu:.2f} (1.05)")
    report.expect(memory <= their_memory, f"memory {memory / 1e6:.1f} MB against {their_memory / 1e6:.1f} MB")


JUDGES = {"minute": minute, "skew": skew, "faults": faults, "errors": errors, "formats": formats, "cost": cost}
