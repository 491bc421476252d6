"""Makes something to see and something to hear at known times of the monotonic clock, in the box.

Plays silence into the loopback card with a beep now and then, and turns the camera's picture black and white. Writes a line
of JSON for each: when a change of the picture was asked for, and when a beep's first sample was to be played.
"""

import array
import ctypes
import fcntl
import json
import math
import random
import struct
import sys
import time

RATE, CHUNK, BEEP = 48000, 480, 960
SET_CONTROL, TEST_PATTERN, BLACK, WHITE = 0xC008561C, 0x00F0F000, 5, 6
PLAYBACK, S16, INTERLEAVED, LATENCY = 0, 2, 3, 100_000


def chunk(number):
    """Ten milliseconds of the beep, or of silence."""
    samples = array.array("h")
    for frame in range(CHUNK):
        value = 0
        if number is not None:
            value = int(16000 * math.sin(2 * math.pi * 1000 * (number * CHUNK + frame) / RATE))
        samples.extend((value, value))
    return samples.tobytes()


SILENCE, TONE = chunk(None), [chunk(number) for number in range(BEEP // CHUNK)]


def main():
    device, card, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    sound = ctypes.CDLL("libasound.so.2")
    pcm, delay = ctypes.c_void_p(), ctypes.c_long()
    if sound.snd_pcm_open(ctypes.byref(pcm), card.encode(), PLAYBACK, 0) < 0:
        sys.exit(f"{card} cannot be opened")
    if sound.snd_pcm_set_params(pcm, S16, INTERLEAVED, 2, RATE, 0, LATENCY) < 0:
        sys.exit(f"{card} cannot be set")
    generator = random.Random(1)
    is_white, end = False, time.monotonic() + seconds
    next_beep = next_flash = time.monotonic() + 3
    beeping = 0
    with open(device, "rb+", buffering=0) as camera, open("flash.jsonl", "w", buffering=1) as log:
        # Whoever has seen enough ends this program in the middle.
        while (now := time.monotonic()) < end:
            if now >= next_flash:
                is_white = not is_white
                before = time.monotonic_ns()
                fcntl.ioctl(camera, SET_CONTROL, struct.pack("Ii", TEST_PATTERN, WHITE if is_white else BLACK))
                after = time.monotonic_ns()
                log.write(json.dumps({"what": "flash", "at": (before + after) // 2}) + "\n")
                next_flash = now + generator.uniform(0.7, 1.1)
            if beeping == 0 and now >= next_beep and sound.snd_pcm_delay(pcm, ctypes.byref(delay)) == 0:
                at = time.monotonic_ns() + delay.value * 1_000_000_000 // RATE
                log.write(json.dumps({"what": "beep", "at": at}) + "\n")
                beeping, next_beep = len(TONE), now + generator.uniform(0.7, 1.1)
            bytes_ = SILENCE
            if beeping:
                bytes_ = TONE[len(TONE) - beeping]
                beeping -= 1
            written = sound.snd_pcm_writei(pcm, bytes_, ctypes.c_ulong(CHUNK))
            if written < 0:
                log.write(json.dumps({"what": "underrun", "at": time.monotonic_ns()}) + "\n")
                sound.snd_pcm_prepare(pcm)


main()
