"""Judges the recordings of the camera box: by the archive, by the kernel's own trace, and by foreign decoders."""

import array
import bisect
import glob
import json
import math
import re
import statistics
import subprocess


class Report:
    """The findings about one job."""

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
    report.expect(verdict["isIntact"], f"{name}: verify {'clean' if verdict['isIntact'] else 'found damage'}")
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
    """The number of missing buffers by the driver's own count; none where it restarts."""
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


def centre_colours(path, width, height, bars, where=()):
    """The colour in the middle of each vertical bar of the first picture, or of that `where`."""
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", *where, "-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
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


def zero_of(made, seen):
    """What has to be added to the times at which things were made to get those at which they are seen, roughly."""
    def matches(zero):
        return sum(min(abs(time - zero - at) for time in seen) < 0.15 for at in made)

    return max((time - at for time in seen[:8] for at in made[:8]), key=matches, default=0)


def lags(made, seen, zero):
    """How long after each thing was made it is seen, beyond that zero: those that pair up, within half the least pause."""
    pairs = [min(seen, key=lambda time: abs(time - zero - at)) - zero - at for at in made] if seen else []
    return [pair for pair in pairs if abs(pair) < 0.3]


# The jobs.

def is_busy(report):
    """Whether other processes used so much of this machine that the box may have missed real time."""
    share = re.search(r"others on the host (\d+) %", report.text("load.txt"))
    return share is not None and int(share[1]) > 30


def skew(report):
    source(report)
    made = [json.loads(line) for line in report.text("flash.jsonl").splitlines()]
    path = recordings(report)[0]
    # Both were made by one clock, so that they have one zero.
    shown = [event["at"] / 1e9 for event in made if event["what"] == "flash"]
    zero = zero_of(shown, flashes(path))
    seen = lags(shown, flashes(path), zero)
    heard = lags([event["at"] / 1e9 for event in made if event["what"] == "beep"], beeps(path), zero)
    underruns = sum(event["what"] == "underrun" for event in made)
    report.expect(len(seen) >= 20 and len(heard) >= 20,
                  f"{len(seen)} flashes, {len(heard)} beeps; the player ran dry {underruns} times")
    # A change shows in the next picture: half an interval later on average.
    picture, sound = statistics.mean(seen) - 0.5 / 15, statistics.median(heard)
    error = statistics.stdev(seen) / len(seen) ** 0.5
    report.expect(abs(sound - picture) <= 0.020,
                  f"sound is {(sound - picture) * 1e3:+.1f} ms after the picture, ± {2e3 * error:.1f} ms (20 ms)")


# What the ledger says of pictures that came, and were not encoded in time (`--late drop`).
LATE = "the encoder was too slow"


def furthest(times, stamps):
    """How far intervals of `times` are from those of the stamps next to them, seconds; one unknown zero between the two."""
    def nearest(time):
        place = bisect.bisect(stamps, time)
        return min(stamps[max(0, place - 1):place + 1], key=lambda stamp: abs(stamp - time))

    def worst(zero):
        matched = [nearest(time + zero) for time in times]
        return max(abs((b - a) - (d - c)) for a, b, c, d in zip(times, times[1:], matched, matched[1:]))

    return min(worst(stamp - times[0]) for stamp in stamps[:30])


def minute(report):
    entry = source(report)
    pictures, missing = samples(entry, "video"), gaps(entry, "video")
    counted = sum(gap.get("samples") or 0 for gap in missing)
    late = sum(gap.get("samples") or 0 for gap in missing if gap["text"].startswith(LATE))
    trace = buffers(report)
    if is_busy(report):
        # The box had no real time: how many were due, the driver says.
        due = trace[-1][1] - trace[0][1] + 1
        report.expect(abs(pictures + counted - due) <= 2, f"{pictures} pictures and {counted} in the ledger, of {due} that "
                      "were due by the driver's count, on a busy host")
    else:
        report.expect(abs(pictures - 900) <= 1, f"{pictures} pictures (900 ± 1), {counted} in the ledger")
    report.expect(counted - late == holes(trace),
                  f"{counted - late} pictures left out by the driver in the ledger, {holes(trace)} by its own count")
    silent = [gap for gap in gaps(entry, "audio") if not (is_busy(report) and gap["cause"] == "overrun")]
    report.expect(not silent, f"{len(gaps(entry, 'audio'))} gaps of sound")
    paths = recordings(report)
    times = packet_times(paths[0], "v")
    far = furthest(times, [stamp / 1e9 for stamp, _, _ in trace])
    report.expect(far < 0.001, f"intervals within {far * 1e3:.3f} ms of the driver's stamps (1 ms)")
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
    dropped = lost(missing, "driver drop") + lost(
        [gap for gap in missing if not gap["text"].startswith(LATE)], "encoder overload")
    report.expect(dropped == holes(trace) and dropped > 5,
                  f"{dropped} pictures left out by the driver, {holes(trace)} by its own count")
    flagged = len([flags for _, _, flags in trace if "ERROR" in flags])
    damaged = [gap for gap in missing if gap["cause"] == "damaged input" and gap.get("samples")]
    report.expect(lost(damaged, "damaged input") == flagged >= 1,
                  f"{lost(damaged, 'damaged input')} damaged pictures, {flagged} flagged by the driver")
    away = [gap for gap in missing if gap["cause"] == "device lost"]
    for words, least in (("stopped delivering pictures", 1), ("Input/output error", 3), ("No such device", 2)):
        found = [gap for gap in away if words in gap.get("text", "")]
        report.expect(len(found) >= least, f"{len(found)} × \"{words}\" ({least} at least)")
    stamps = [gap for gap in missing if "stamps" in gap.get("text", "")]
    report.expect(len(stamps) == 1, f"foreign stamps told {len(stamps)} time(s): {[g['text'] for g in stamps]}")
    report.expect(any(sequence > 2**32 - 129 for _, sequence, _ in trace)
                  and any(b < a for (_, a, _), (_, b, _) in zip(trace, trace[1:])), "the driver's count has wrapped")
    report.expect(1 <= len([g for g in silent if g["cause"] == "device lost"]) and
                  all(g["cause"] in ("device lost", "overrun") for g in silent if g["durationSeconds"]),
                  f"sound: {[(g['cause'], g['durationSeconds']) for g in silent]}")
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


# How often a camera of these jobs gives a picture, seconds.
INTERVAL = 1 / 15
# What ten switches are between, files of these sizes.
SWITCHES = [(320, 180), (640, 360)] * 5 + [(320, 180)]


def outcomes(report, name):
    """Lines of NAME|STATUS|LINES|LAST LINE, in their order."""
    return [line.split("|", 3) for line in report.text(name).splitlines() if line.count("|") >= 3]


def pitch(path, begin, length=2):
    """The frequency of the loudest tone that is recorded from `begin` on, hertz, in steps of ten.

    Silence that stands for an overrun adds zero crossings, but hardly moves the spectrum's highest peak.
    """
    rate = 8000
    raw = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-ss", str(begin), "-i", path, "-t", str(length), "-map", "a", "-ac", "1",
         "-ar", str(rate), "-f", "s16le", "-"], capture_output=True, check=True).stdout
    heard = array.array("h", raw[:len(raw) // 2 * 2])

    def power(frequency):
        """Goertzel's algorithm."""
        coefficient = 2 * math.cos(2 * math.pi * frequency / rate)
        last = before = 0.0
        for sample in heard:
            last, before = sample + coefficient * last - before, last
        return last * last + before * before - coefficient * last * before

    return max(range(100, 2000, 10), key=power) if any(heard) else 0


def probed(path, entry):
    return subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", entry, "-of", "csv=p=0", path],
        capture_output=True, text=True, check=True).stdout.strip()


def all_times(path, stream, file):
    """The packets of a file, also those that FFmpeg leaves out, which are more than a second before the file's first picture."""
    times = packet_times(path, stream)
    samples = next((track["samples"] for track in file["tracks"] if track["kind"][0] == stream), 0)
    if stream == "a" and times:
        times = [times[0] - (number + 1) * 1024 / 48000 for number in range(samples - len(times))][::-1] + times
    return times


def unexplained(entry, kind, times, longest):
    """Pauses between samples that the ledger does not speak of."""
    told = []
    for gap in sorted(gaps(entry, kind), key=lambda gap: gap["startSeconds"]):
        begin = gap["startSeconds"]
        end = begin + (gap["durationSeconds"] or 0)
        # Of one pause, some pictures may be missing for one reason, and the next ones for another; a box that is too slow
        # stamps them some milliseconds late. Less than half of any interval, so that it hides no picture.
        if told and begin < told[-1][1] + 0.015:
            told[-1] = told[-1][0], max(end, told[-1][1])
        elif end > begin:
            told.append((begin, end))
    return [(before, after) for before, after in zip(times, times[1:]) if after - before > longest
            and not any(begin < before + longest and end > after - longest for begin, end in told)]


def switch(report):
    entry = source(report)
    for name, status, lines, text in outcomes(report, "changes.txt"):
        if name.startswith("bad"):
            report.expect(status == "1" and lines == "1", f"{name}: refused in a line: {text}")
        elif status != "0":
            report.flaw(f"{name}: status {status}: {text}")
    files = sorted(entry["files"], key=lambda file: file["originSeconds"])
    paths = [report.path("session/" + file["path"].rsplit("/", 1)[1]) for file in files]
    sizes = [tuple(int(word) for word in probed(path, "stream=width,height").split(",")[:2]) for path in paths]
    # The first camera by another name, and that turned.
    report.expect(sizes == SWITCHES + [(640, 360)] * 2, f"files: {', '.join(f'{w}×{h}' for w, h in sizes)}")
    turned = [probed(path, "stream_side_data=rotation").strip(",") for path in paths]
    report.expect(turned == [""] * (len(paths) - 1) + ["-90"], f"only the last one is turned ({turned[-1]}°)")
    # One timeline: nothing overlaps, and every pause is in the ledger.
    for kind, longest in (("video", 1.5 * INTERVAL), ("audio", 0.03)):
        times = [file["originSeconds"] + time for file, path in zip(files, paths)
                 for time in all_times(path, kind[0], file)]
        report.expect(all(after > before for before, after in zip(times, times[1:])),
                      f"{kind}: {len(times)} samples on one timeline of {times[-1] - times[0]:.1f} s")
        found = unexplained(entry, kind, times, longest)
        report.expect(not found, f"{kind}: {len(found)} pauses that the ledger does not speak of {found[:3]}")
        causes = {cause: len([gap for gap in gaps(entry, kind) if gap["cause"] == cause])
                  for cause in {gap["cause"] for gap in gaps(entry, kind)}}
        longest_gap = max((gap["durationSeconds"] for gap in gaps(entry, kind)
                           if gap["cause"] == "command" and "stopped" not in gap.get("text", "")), default=0)
        report.say(f"{kind}: gaps {causes}; a switch takes {longest_gap:.2f} s at most")
    # What lies before a file's beginning is decoded, and not heard; an encoder's first packet is silence before its first sound.
    hidden = [sum(time < -0.0005 for time in all_times(path, "a", file)) for file, path in zip(files, paths)]
    report.expect(max(hidden) <= 1, f"packets of sound that are not heard, in each file: {hidden}")
    decodes(report, paths)
    # Controls, and that a refusal changes nothing.
    controls = dict(line.split(": ") for line in report.text("controls.txt").splitlines())
    report.expect(controls == {"brightness": "200", "contrast": "90", "hue": "10"}, f"the camera's controls: {controls}")
    status = report.json("refused.json")
    report.expect(status["videoBitsPerSecond"] == 400_000 and status["rotation"] == 0 and status["video"] == "platform:vivid-000",
                  f"after two refusals: {status['video']}, {status['videoBitsPerSecond']} bit/s, turned by {status['rotation']}°")
    report.expect(len(report.json("controls.json")) > 20, "controls are listed")
    # The microphone.
    tones = pitch(paths[0], 1), pitch(paths[-1], 1)
    report.expect(tones == (440, 1000),
                  f"the first microphone hears {tones[0]} Hz, the second {tones[1]} Hz")
    report.expect(probed(report.path("snapshot.jpg"), "stream=codec_name,width,height") == "mjpeg,640,360", "a snapshot")


def latency(report):
    source(report)
    speed = next(float(re.search(r"fps at ([0-9.]+) times", finding["text"])[1])
                 for finding in report.json("doctor.json") if finding["subject"] == "encoder")
    taken, found = [], []
    for line in report.text("trace.txt").splitlines():
        stamp = re.search(r"v4l2_dqbuf: minor = 0,.* timestamp = (\d+),", line)
        if stamp:
            taken.append(int(stamp[1]) / 1e9)
        elif line.lstrip().startswith("uplink-") and (at := re.search(r" ([0-9]+\.[0-9]+): sys_pwritev", line)):
            # Each picture is a record, so the first one behind it has it.
            if taken:
                found.append(float(at[1]) - taken.pop(0))
    # The first ones wait for the connection and for the parameter sets.
    found = sorted(found[15:])
    report.expect(len(found) > 500 and len(taken) < 3, f"{len(found)} pictures, {len(taken)} without a record")
    p99, limit = found[len(found) * 99 // 100], INTERVAL + INTERVAL / speed
    report.expect(p99 <= limit, f"capture to spool: median {found[len(found) // 2] * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, "
                  f"longest {found[-1] * 1e3:.1f} ms (one interval and encoding: {limit * 1e3:.1f} ms)")


# What the agent says, and what the doctor has found before: of which subject, in which words.
ERRORS = {
    "missing": ('there is no camera "/dev/video9"; use one of platform:vivid-000', "video", None),
    "unknown": ('there is no camera "usb-nowhere"', "video", None),
    "no camera": ("/dev/null is not a camera", "video", None),
    "format": ("it does not support MJPG: use one of", "video", None),
    "copy": ("it delivers no H.264 to copy: leave --encoder copy out", "video", None),
    "size": ("it supports neither 700×700", "video", None),
    "no microphone": ('there is no audio device "hw:9"', "audio", None),
    "busy camera": ("is busy: v4l2-ctl (process", "video", None),
    "busy microphone": ("is busy: arecord (process", "audio", None),
    "forbidden": ("add this user to the group video", "permissions", "'sudo usermod -aG video nobody'"),
    "forbidden microphone": ("add this user to the group audio", "permissions", "'sudo usermod -aG audio nobody'"),
    "no camera at all": ("this machine has no camera: plug one in", "permissions", "there is no camera on this box"),
    "no microphone at all": ("this machine has no capture device", "audio", None),
}


def errors(report):
    agent = {words[0]: words[1:] for words in outcomes(report, "errors.txt")}
    doctor = {words[0]: words[1:] for words in outcomes(report, "doctors.txt")}
    for name, (text, subject, found) in ERRORS.items():
        got = agent.get(name, ["?", "?", "nothing"])
        report.expect(got[0] == "1" and got[1] == "1" and text in got[2], f"{name}: {got[2]}")
        problems = [finding for finding in report.json(f"doctor.{name}.json") if finding["verdict"] == "problem"]
        said = [f"{finding['subject']}: {finding['text']}" for finding in problems]
        report.expect(doctor[name][:2] == ["1", "0"] and len(said) == 1
                      and problems[0]["subject"] == subject and (found or text) in problems[0]["text"],
                      f"{name}: the doctor found {' | '.join(said)}")
    well = report.json("doctor.well.json")
    report.expect(doctor["well"][0] == "0" and not any(finding["verdict"] == "problem" for finding in well),
                  f"when all is well: {', '.join(finding['subject'] for finding in well)}")
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
        off = distance(colours, BARS)
        report.expect(off <= 20 and pictures >= 17,
                      f"{name}: {pictures} pictures, colours off by {off} of 255 at most")
        decodes(report, files)
    log = report.text("agent.log")
    for preset, size in (("low", "640×480"), ("medium", "640×480"), ("high", "640×480"), ("1080p", "640×480")):
        entry = source(report, f"preset-{preset}")
        report.expect(samples(entry, "video") > 5, f"{preset}: {samples(entry, 'video')} pictures")
    report.expect("medium is 960×540, which the camera does not support" in log, "falling back is said")


def distance(colours, bars):
    """The largest difference between colours, of 255."""
    return max(abs(a - b) for got, bar in zip(colours, bars) for a, b in zip(got, bar))


def grabber(report):
    entry = source(report)
    words = {words[0]: words[1:] for words in outcomes(report, "changes.txt")}
    report.expect(words["zoom"][0] == "0", f"zoom: {words['zoom'][2]}")
    report.expect(words["bad zoom"][:2] == ["1", "1"], f"bad zoom: {words['bad zoom'][2]}")
    paths = recordings(report)
    before = distance(centre_colours(paths[0], 320, 180, 8), BARS)
    after = distance(centre_colours(paths[-1], 320, 180, 4, ("-sseof", "-1")), BARS[:4])
    report.expect(before <= 20 and after <= 20 and len(paths) == 1,
                  f"eight bars, then the left four of them in the same file: colours off by {before} and {after} of 255")
    report.expect(not unexplained(entry, "video", packet_times(paths[0], "v"), 0.15), "no pause that is not in the ledger")
    decodes(report, paths)


def late(report):
    for policy in ("drop", "keep"):
        entry = source(report, f"late-{policy}")
        pictures, missing = samples(entry, "video"), gaps(entry, "video")
        overload, counted = lost(missing, "encoder overload"), sum(gap.get("samples") or 0 for gap in missing)
        report.expect(abs(pictures + counted - 200) <= 2, f"{policy}: {pictures} pictures, {counted} in the ledger (200)")
        report.expect(overload == 0 if policy == "keep" else overload >= 20,
                      f"{policy}: a busy moment of 4 s has cost {overload} pictures")
        report.expect(not unexplained(entry, "video", packet_times(recordings(report, f"late-{policy}")[0], "v"), 0.15),
                      f"{policy}: no pause that is not in the ledger")
        decodes(report, recordings(report, f"late-{policy}"))


def cost(report):
    rows = [json.loads(line) for line in report.text("cost.jsonl").splitlines() if line.startswith("{")]
    found = {}
    for name in ("agent", "ffmpeg"):
        runs = [row for row in rows if row["name"] == name and "cpu" in row]
        pictures = [row["pictures"] for row in rows if row["name"] == name and "pictures" in row]
        report.expect(len(runs) >= 3 and len(pictures) == len(runs) and all(row["status"] == 0 for row in runs),
                      f"{name}: {len(runs)} runs, {pictures} pictures, {[round(row['cpu'], 1) for row in runs]} s of CPU")
        found[name] = (statistics.median(row["cpu"] / count for row, count in zip(runs, pictures)),
                       statistics.median(row["memory"] for row in runs))
    (cpu, memory), (their_cpu, their_memory) = found["agent"], found["ffmpeg"]
    report.expect(cpu <= 1.05 * their_cpu, f"CPU for a picture {cpu * 1e3:.1f} ms against {their_cpu * 1e3:.1f} ms of ffmpeg, "
                  f"× {cpu / their_cpu:.2f} (1.05)")
    report.expect(memory <= their_memory, f"memory {memory / 1e6:.1f} MB against {their_memory / 1e6:.1f} MB")


def preview(report):
    """The preview has the source's own pictures, and gaps where the source has them."""
    source(report)
    entries = {entry["name"]: entry for entry in report.json("session.show.json")["sources"]}
    report.expect(set(entries) == {"box", "box.preview"}, f"sources: {sorted(entries)}")
    begins = {name: sorted(file["originSeconds"] + next(track["startSeconds"] for track in file["tracks"])
                           for file in entry["files"]) for name, entry in entries.items()}
    times = {name: sorted(begin + time for path, begin in zip(paths, begins[name]) for time in times_of_file(path))
             for name, paths in (("box", recordings(report)), ("box.preview", recordings(report, "preview")))}
    main, small = times["box"], times["box.preview"]
    own = [time for time in small if min(abs(time - other) for other in main) > 0.002]
    report.expect(not own, f"{len(small)} pictures of the preview and {len(main)} of its source; of other times: {own[:5]}")
    # An emulated processor is too slow for both.
    report.expect(len(small) >= 0.3 * len(main), f"{len(small) / len(main):.0%} of the source's pictures")
    taken = lost([gap for gap in gaps(entries["box"], "video") if "no free buffer" in gap.get("text", "")], "encoder overload")
    report.expect(taken <= 10, f"{taken} pictures of the source lost for want of a buffer")
    lost_by_both = [gap for gap in gaps(entries["box.preview"], "video") if gap["cause"] != "encoder overload"]
    report.expect(len(lost_by_both) >= 2, f"{len(lost_by_both)} gaps of the preview are the source's")
    decodes(report, recordings(report) + recordings(report, "preview"))


def times_of_file(path):
    """From its first picture, seconds."""
    found = packet_times(path, "v")
    return [time - found[0] for time in found]


JUDGES = {"preview": preview, "minute": minute, "skew": skew, "faults": faults, "errors": errors, "formats": formats, "switch": switch,
          "grabber": grabber, "latency": latency, "late": late, "cost": cost}
