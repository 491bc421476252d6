#!/usr/bin/env python3
"""The accuracy of `tributary replay`'s pace: measured where messages arrive, not where they are sent.

    Tests/Benchmarks/replay_pacing.py --binaries .build/release SESSION_DIRECTORY_OR_FILE...

Replays the input at its own speed into a collector with --record-wire, and compares each message's arrival (the collector's
CLOCK_MONOTONIC) with the decoding time of the newest sample that its source had to send until then (the same machine's clock):
a source's messages keep their order, so that sound behind a picture is not due before it. Prints the lateness: median, 99 of
100, greatest. Connections are over loopback, so what they take is in it.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value):
    return (value >> 1) ^ -(value & 1)


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def newest(header):
    """A Samples message's source and newest decoding time, nanoseconds; None for another message."""
    source, latest = 0, None
    for number, message in fields(header):
        if number != 2:
            continue
        for kind, value in fields(message):
            if kind == 1:
                source = value
            if kind != 5:
                continue
            time = 0
            for field, content in fields(value):
                if field == 2:
                    time += signed(content)
                elif field == 4:
                    time += sum(signed(step) for step in packed(content))
            latest = time if latest is None else max(latest, time)
    return None if latest is None else (source, latest)


def lateness(tape):
    with open(tape, "rb") as file:
        if file.read(8) != b"TRIBWIRE":
            sys.exit(f"{tape} is not a wire recording")
        file.read(24)
        late, due = [], {}
        while len(head := file.read(8)) == 8:
            size, _ = struct.unpack("<II", head)
            body = file.read(size)
            kind, connection, arrived = struct.unpack_from("<BIq", body)
            if kind != 1:
                continue
            length, = struct.unpack_from("<I", body, 13)
            found = newest(body[17:17 + length])
            if found is not None:
                source = connection, found[0]
                due[source] = max(due.get(source, 0), found[1])
                late.append(arrived - due[source])
        return sorted(late)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", default=".build/release")
    parser.add_argument("input", nargs="+")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="replay-pacing-")
    endpoint, tape = f"tcp://127.0.0.1:{20000 + os.getpid() % 20000}", f"{place}/wire"
    collector = subprocess.Popen(
        [f"{options.binaries}/tributary-collector", "--listen", endpoint, "--archive",
         f"{place}/archive", "--once", "--record-wire", tape],
        stderr=subprocess.DEVNULL)
    try:
        played = subprocess.run(
            [f"{options.binaries}/tributary", "replay", *options.input, "--to", endpoint, "--json"],
            check=True, stdout=subprocess.PIPE)
        collector.wait(30)
        late = lateness(tape)
        if not late:
            sys.exit("nothing arrived")
        own = json.loads(played.stdout).get("lateness")
        print(f"{len(late)} messages: median {late[len(late) // 2] / 1e6:.3f} ms, "
              f"p99 {late[len(late) * 99 // 100] / 1e6:.3f} ms, greatest {late[-1] / 1e6:.3f} ms")
        print(f"the replay says of itself: {own}")
    finally:
        collector.kill()
        shutil.rmtree(place)


main()
