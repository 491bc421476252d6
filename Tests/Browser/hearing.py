"""Listens to the sound of a page: the test sound is silence with a beep at each whole second of the clock that the test pattern paints."""

# Each beep of an audio element that began within a time: how loud it was, and the capture time of the picture that was shown then. It is heard
# where the browser has decoded it, in front of the loudspeaker. Null: the browser plays no sound on this machine.
HEAR = """
window.hear = async (selector, source, milliseconds) => {
    const audio = document.querySelector(selector), found = [];
    const stream = (audio.captureStream ?? audio.mozCaptureStream).call(audio);
    const context = new AudioContext();
    // Without a sound device, Firefox waits for one.
    await Promise.race([context.resume(), new Promise((resolve) => setTimeout(resolve, 2000))]);
    if (context.state !== 'running') return null;
    const analyser = context.createAnalyser();
    analyser.fftSize = 1024;
    const tracks = () => stream.getAudioTracks().length > 0;
    while (!tracks() && milliseconds > 0) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        milliseconds -= 50;
    }
    if (!tracks()) return found;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize), end = performance.now() + milliseconds;
    let quietSince = performance.now();
    while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 4));
        analyser.getFloatTimeDomainData(samples);
        const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
        if (peak < 0.1) continue;
        // Not the same beep again.
        if (performance.now() - quietSince > 300) found.push({ peak, code: look()[source] });
        quietSince = performance.now();
    }
    await context.close();
    return found;
};
"""
# What a media element does with its sound.
SOUND = """((selector) => {
    const audio = document.querySelector(selector);
    if (!audio) return null;
    const { paused, muted, volume, readyState, currentTime } = audio;
    return { paused, muted, volume, readyState, currentTime, decoded: audio.webkitAudioDecodedByteCount ?? null };
})"""


def check_beeps(checks, beeps, least):
    """Says whether each second beeps, with its picture."""
    if beeps is None:
        print("skipped: this browser plays no sound on this machine")
        return
    apart = offsets(beeps)
    checks("each second beeps, with its picture", len(apart) >= least and all(-0.2 < one < 0.2 for one in apart),
        f"{len(beeps)} beeps; pictures beside the second by {', '.join(f'{one * 1e3:.0f}' for one in apart)} ms")


def offsets(beeps):
    """The distance of the pictures from the whole second at each beep, seconds."""
    return [(beep["code"] + 0.5) % 1 - 0.5 for beep in beeps if beep["code"] is not None]
