"""Compares the codes in a recording's pictures with its timeline."""

import hashlib
import json
import os
import subprocess

# What is allowed of pictures of one clock: a change of rate, and the rounding of two times to a track's timescale.
SLEW, ROUNDING = 500e-6, 50e-6
# How much earlier than a file's beginning its first picture may be captured (`SegmentPlan`).
BOUNDARY = 0.001
# Beyond the stored bound, seconds.
TOLERANCE = 0.001
# A bound that says nothing cannot be held to. Agents whose clocks went on tell the time through every cut, as exactly as two
# clocks can run apart while there is no collector (`ClockLimits`).
WIDEST_BOUND, DRIFT = 0.02, 550e-6
PATIENCE = 300
BITS, ROWS, MARKER = 80, 2, 0xAA


class Unreadable(Exception):
    """A result cannot be read; the message names it and the reason."""


class Report:
    """The findings, a line each."""

    def __init__(self):
        self.flaws = 0

    def expect(self, truth, line):
        self.flaws += not truth
        print(f"   {'' if truth else 'FLAW '}{line}", flush=True)


class Picture:
    """When a picture is presented, on the session's timeline, and when it was captured, by its agent's clock."""

    def __init__(self, presented, captured, file):
        self.presented, self.captured, self.file = presented, captured, file

    @property
    def deviation(self):
        return self.presented - self.captured


def run(words, accept=(0,)):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode not in accept:
        raise Unreadable(f"{' '.join(words)}: status {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def code(band, width, height):
    """The time in the test pattern's top eighth (Sources/Devices/TimeCode.swift), in seconds; None without one."""
    columns, number = BITS // ROWS, 0
    for bit in range(BITS):
        row, column = divmod(bit, columns)
        x = (column * width // columns + (column + 1) * width // columns) // 2
        y = (row * height // ROWS + (row + 1) * height // ROWS) // 2
        number = number << 1 | (band[y * width + x] >= 128)
    time, check = (number >> 8).to_bytes(9, "big"), 0
    for byte in time[1:]:
        check ^= byte
        for _ in range(8):
            check = (check << 1 ^ 0x07) & 0xFF if check & 0x80 else check << 1
    return int.from_bytes(time[1:], "big") / 1e9 if time[0] == MARKER and check == number & 0xFF else None


def pictures(path, origin):
    """All pictures of a file as a player presents them, whose beginning lies at `origin` on the timeline."""
    shown = json.loads(run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts:stream=time_base,width,height", "-of",
         "json", path]))
    stream = shown["streams"][0]
    numerator, denominator = (int(word) for word in stream["time_base"].split("/"))
    width, height = stream["width"], stream["height"] // 8
    decoded = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-vf",
         f"crop={width}:{height}:0:0:exact=1,format=gray", "-f", "rawvideo", "pipe:1"],
        capture_output=True, timeout=PATIENCE).stdout
    size, times = width * height, [frame["pts"] for frame in shown["frames"]]
    if len(decoded) != size * len(times):
        raise Unreadable(f"{path}: {len(times)} pictures have times, {len(decoded) // size} were decoded")
    found = []
    for index, time in enumerate(times):
        captured = code(decoded[index * size:(index + 1) * size], width, height)
        if captured is None:
            raise Unreadable(f"{path}: picture {index + 1} has no readable code")
        found.append(Picture(origin + time * numerator / denominator, captured, path))
    return found


def line(points):
    """The straight line closest to (x, y): its value at an x."""
    count = len(points)
    middle, level = (sum(values) / count for values in zip(*points))
    spread = sum((x - middle) ** 2 for x, _ in points)
    slope = sum((x - middle) * (y - level) for x, y in points) / spread if spread else 0
    return lambda x: level + slope * (x - middle)


def milliseconds(seconds):
    return f"{seconds * 1000:.3f} ms"


def judge_times(report, when, tributary, archive, away):
    """Distances between pictures of a source, and every picture's place on the timeline that all sources share."""
    shown = json.loads(run([tributary, "show", "latest", "--json", "--archive", archive]))
    tracks, bounds = {}, {}
    for source in shown["sources"]:
        tracks[source["name"]] = []
        for file in source["files"]:
            tracks[source["name"]] += pictures(file["path"], file["originSeconds"])
            bounds[file["path"]] = max(file["clockBoundSeconds"])
    widest, allowed = max(bounds.values()), WIDEST_BOUND + DRIFT * away
    report.expect(widest <= allowed, f"{when}: the widest stored bound is {milliseconds(widest)} after {away:.0f} s without a"
                  + f" collector (at most {milliseconds(allowed)})")
    shared = line([(picture.captured, picture.deviation) for track in tracks.values() for picture in track])
    for name, track in tracks.items():
        strained, worst, backward = 0, 0, 0
        first = {picture.file: picture for picture in reversed(track)}
        for before, after in zip(track, track[1:]):
            distance = after.captured - before.captured
            error = abs(after.presented - before.presented - distance)
            # A picture up to a millisecond before a boundary counts as at it, and is the first one of its file.
            moved = first[before.file] is before or first[after.file] is after
            strained += error > distance * SLEW + ROUNDING + (BOUNDARY if moved else 0)
            worst = max(worst, error)
            backward += after.presented <= before.presented
        report.expect(not strained and not backward,
                      f"{when}: {name}: distances of {len(track)} pictures differ from their codes' by {milliseconds(worst)} at most"
                      + f"; {strained} by more than 500 ppm, {backward} pictures are not after the one before")
        errors = [(abs(picture.deviation - shared(picture.captured)), bounds[picture.file]) for picture in track]
        beyond = sum(error > TOLERANCE + bound for error, bound in errors)
        report.expect(not beyond, f"{when}: {name}: pictures are {milliseconds(max(errors)[0])} off the timeline at most; "
                      + f"{beyond} by more than 1 ms and the bound that their file states")


def judge_files(report, when, tributary, archive):
    """Whether the recording is whole, by our own check and by a program that is not ours."""
    said = subprocess.run([tributary, "verify", "latest", "--archive", archive], capture_output=True, text=True, timeout=PATIENCE)
    report.expect(said.returncode == 0, f"{when}: tributary verify: {(said.stdout.strip().splitlines() or ['nothing'])[-1]}")
    files = sorted(os.path.join(place, name) for place, _, names in os.walk(f"{archive}/sessions")
                   for name in names if name.endswith(".mp4"))
    complaints = {}
    for path in files:
        # A player's clock may have any rate; `passthrough` keeps FFmpeg from inventing pictures.
        heard = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "warning", "-i", path, "-fps_mode", "passthrough", "-f", "null", "-"],
            capture_output=True, text=True, timeout=PATIENCE).stderr.strip()
        if heard:
            complaints[path] = heard.splitlines()[0]
    report.expect(not complaints, f"{when}: FFmpeg complains about {len(complaints)} of {len(files)} files"
                  + "".join(f"; {text}" for text in list(complaints.values())[:1]))


def digests(archive):
    """The digest of every file of the sessions."""
    found = {}
    for place, _, names in os.walk(f"{archive}/sessions"):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, archive)] = hashlib.sha256(file.read()).hexdigest()
    return found


def judge(report, tributary, archive, away=None):
    """Everything that is promised of a recording whose server lost its power; `away`: seconds without a collector."""
    print("== the recording", flush=True)
    shown = json.loads(run([tributary, "show", "latest", "--json", "--archive", archive]))
    if away is None:
        origins = [file["originSeconds"] for source in shown["sources"] for file in source["files"]]
        away = max(origins) - min(origins)
    for source in shown["sources"]:
        report.expect(not source["gaps"], f"{source['name']}: {source['recordedSamples']} samples in {len(source['files'])} files, "
                      + f"{source['lostSamples']} lost, {len(source['gaps'])} gaps")
    names = {place.split(os.sep)[1] for place in digests(archive)}
    report.expect(len(names) == 1, f"{len(names)} session" + "s" * (len(names) != 1))
    judge_files(report, "as recorded", tributary, archive)
    judge_times(report, "as recorded", tributary, archive, away)
    print("== the recording, retimed", flush=True)
    before = digests(archive)
    run([tributary, "retime", "latest", "--archive", archive])
    judge_files(report, "retimed", tributary, archive)
    judge_times(report, "retimed", tributary, archive, away)
    print("== retiming undone", flush=True)
    run([tributary, "retime", "latest", "--undo", "--archive", archive])
    after = digests(archive)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    report.expect(not changed, f"{len(before)} files are as they were, bit for bit"
                  if not changed else f"{len(changed)} of {len(before)} files differ: {', '.join(changed[:3])}")
