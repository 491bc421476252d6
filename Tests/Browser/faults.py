#!/usr/bin/python3
"""Checks the page's behaviour during faults: slow decoders, a playlist that cannot be read, a viewer that does not answer, a full buffer,
a damaged segment, a lost decoder.

Most of it is made up here and asked of single modules. The segment is one of a recording: it is damaged on its way to the page.

    Tests/Browser/faults.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z
"""

import argparse
import asyncio
import json
import sys
import urllib.parse
import urllib.request

from checks import Checks
from chromium import Chromium
from values import same

HELPERS = """
window.use = (name) => import(`/page/${name}.js`);
window.pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
window.until = async (isSo, milliseconds) => {
    for (const end = performance.now() + milliseconds; !isSo() && performance.now() < end;) await pause(20);
};
window.frame = (header) => {
    const head = new TextEncoder().encode(JSON.stringify(header)), bytes = new Uint8Array(8 + head.length);
    new DataView(bytes.buffer).setUint32(0, head.length);
    bytes.set(head, 8);
    return bytes;
};
// Answers what is asked of one address, while something is done.
window.answering = async (place, answer, act) => {
    const before = window.fetch;
    window.fetch = (path, options) => (String(path).startsWith(place) ? answer(path, options) : before(path, options));
    try { return await act(); } finally { window.fetch = before; }
};
"""

# A player whose only decoder takes as long for each jump as is wished.
PLAYER = """
    const { PlaybackPlayer } = await use('playback-player');
    const recorded = [{ startSeconds: 0, endSeconds: 60, isGrowing: false }];
    const player = new PlaybackPlayer('made-up', 0, [{ source: 'a', recorded, missing: [], unplaced: [] }]);
    clearInterval(player.timer);
    const video = { seeking: false, paused: true, currentTime: 0 }, { clock } = player;
    let sought = NaN;
    player.tiles = [{
        name: 'a', video, skippedUntil: 0, media: { isReady: () => true, isAbsent: false }, close() {},
        follow(time, rate, isRunning) {
            if (isRunning || video.seeking || time === sought) return;
            [sought, video.seeking] = [time, true];
        },
    }];
    const arrive = () => { video.seeking = false; player.beat(); };
    const found = [], look = () => found.push([clock.isRunning, Math.round(clock.now * 10) / 10, sought]);
    player.play(true);
    arrive();
    // Longer than the patience of the start.
    await pause(800);
"""

# A painter of pictures that are one byte each, and a decoder that gives them back at once, or fails.
PAINTER = """
    const number = (value, count) => Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** (count - 1 - index)) % 256);
    const text = (word) => [...word].map((letter) => letter.charCodeAt(0)), zeros = (count) => new Array(count).fill(0);
    const box = (type, ...parts) => [...number(parts.flat().length + 8, 4), ...text(type), ...parts.flat()];
    const matrix = [65536, 0, 0, 0, 65536, 0, 0, 0, 1073741824].flatMap((value) => number(value, 4));
    const movie = () => Uint8Array.from(box('moov',
        box('trak', box('tkhd', zeros(12), number(1, 4), zeros(24), matrix, zeros(8)),
            box('mdia', box('mdhd', zeros(12), number(1000, 4), zeros(8)), box('hdlr', zeros(8), text('vide'), zeros(13)),
                box('minf', box('stbl', box('stsd', zeros(4), number(1, 4), box('avc1', zeros(78), box('avcC', [1, 66, 0, 10]))))))),
        box('mvex', box('trex', zeros(4), number(1, 4), number(1, 4), number(40, 4), number(1, 4), zeros(4)))));
    // One picture of 40 ms.
    const fragment = (time) => Uint8Array.from([...box('moof', box('traf', box('tfhd', zeros(4), number(1, 4)), box('tfdt', zeros(4), number(time, 4)),
        box('trun', [0, 0, 0, 5], number(1, 4), number(80, 4), number(0, 4)))), ...box('mdat', [7])]);
    const canvas = document.createElement('canvas'), picture = new OffscreenCanvas(16, 16), { VideoDecoder: before } = window, { warn } = console;
    picture.getContext('2d');
    let fails = false, isSlow = false;
    const slow = [];
    let made;
    window.VideoDecoder = class {
        static isConfigSupported = async () => ({ supported: true });
        decodeQueueSize = 0;
        state = 'configured';
        constructor(hearing) {
            this.hearing = hearing;
            made = this;
        }
        configure() {}
        close() { this.state = 'closed'; }
        decode({ timestamp, duration }) {
            if (fails) this.hearing.error(new DOMException('lost', 'EncodingError'));
            else if (isSlow) this.decodeQueueSize = slow.push({ timestamp, duration });
            else this.hearing.output(new VideoFrame(picture, { timestamp, duration }));
        }
    };
    console.warn = () => {};
    const { Painter } = await use('live-painter'), painter = new Painter(canvas, () => 10);
    painter.begin({ type: 'begin', session: 's', codecs: 'avc1.42000a' }, movie());
    const take = (time) => painter.take({ type: 'media', isKeyframe: true }, fragment(time));
    // Answers with the next picture of a slow decoder.
    const answer = () => {
        const next = slow.shift();
        made.decodeQueueSize = slow.length;
        made.hearing.output(new VideoFrame(picture, next));
    };
    const over = (found) => {
        painter.close();
        Object.assign(window, { VideoDecoder: before });
        console.warn = warn;
        return found;
    };
"""

# Each: what is so, and a script whose answer is compared with what is wanted.
QUESTIONS = (
    ("in step, a picture is painted when its time has come; fastest, as soon as it is decoded", f"""(async () => {{{PAINTER}
        const found = [];
        painter.step(9, 1);
        take(9000);
        found.push(painter.at);
        take(9200);
        found.push(painter.at);
        painter.isHurried = true;
        take(9240);
        // That of 9.2 s is older than what is shown.
        found.push(painter.at, painter.painted, painter.dropped, painter.error);
        return over(found);
    }})()""", [9, 9, 9.24, 2, 1, 0]),
    ("in step, a picture waits for the time of all tiles, and the others know where the decoded ones end", f"""(async () => {{{PAINTER}
        const found = [painter.until];
        painter.step(9, 0);
        take(9000);
        found.push(painter.until);
        take(9040);
        painter.step(9.05, 0);
        painter.paint(9.03);
        found.push(painter.at, painter.until);
        painter.paint(9.041);
        found.push(painter.at);
        painter.isReduced = true;
        return over([...found, painter.until]);
    }})()""", [None, 9.04, 9, 9.08, 9.04, None]),
    ("fastest, of a decoder's backlog the newest picture is painted, with the next refresh", f"""(async () => {{{PAINTER}
        const found = [];
        painter.step(9, 1);
        painter.isHurried = true;
        take(9000);
        isSlow = true;
        for (let picture = 1; picture <= 5; picture += 1) take(9000 + 40 * picture);
        for (let picture = 1; picture <= 3; picture += 1) {{
            answer();
            found.push(painter.at);
        }}
        painter.paint();
        found.push(painter.at);
        answer();
        return over([...found, painter.at, painter.painted, painter.dropped, painter.cut]);
    }})()""", [9, 9, 9, 9.12, 9.16, 3, 2, 0]),
    ("pictures that are not decoded, because newer ones are due, are counted apart from those that are not painted", f"""(async () => {{{PAINTER}
        painter.step(9, 0);
        take(9000);
        [isSlow, painter.isHurried] = [true, true];
        // Twelve are in the decoder, and eight wait.
        for (let picture = 1; picture <= 20; picture += 1) take(9000 + 40 * picture);
        const found = [slow.length, painter.cut];
        painter.step(9.9, 0);
        return over([...found, painter.cut, painter.dropped]);
    }})()""", [12, 0, 7, 7]),
    ("a decoder that fails again and again is given up", f"""(async () => {{{PAINTER}
        const found = [];
        fails = true;
        for (let count = 0; count < 3; count += 1) {{
            take(9000);
            found.push(painter.hasGivenUp);
            await pause(2100);
        }}
        fails = false;
        take(9000);
        return over([...found, painter.at]);
    }})()""", [False, False, True, 9]),
    ("a seek while it plays is waited for, also on the way to another place", f"""(async () => {{{PLAYER}
        player.seek(30); look();
        player.seek(40); look();
        await pause(100);
        arrive(); look();
        arrive();
        found.push(clock.isRunning);
        player.close();
        return found;
    }})()""", [[False, 30, 30], [False, 40, 30], [False, 40, 40], True]),
    ("and so is the turn of a loop", f"""(async () => {{{PLAYER}
        [player.markIn, player.markOut, player.isLooping] = [10, 20, true];
        clock.seek(20.1);
        player.beat(); look();
        arrive();
        found.push(clock.isRunning);
        player.close();
        return found;
    }})()""", [[False, 10, 10], True]),
    ("but not for ever", f"""(async () => {{{PLAYER}
        player.seek(30);
        await pause(800);
        player.beat(); look();
        player.close();
        return found;
    }})()""", [[True, 30, 30]]),
    ("a playlist that could not be read is read again, until it has been", """(async () => {
        const { PlaybackPlayer } = await use('playback-player'), player = new PlaybackPlayer('made-up', 0, []);
        let count = 0;
        const text = ['#EXTM3U', '#EXT-X-MAP:URI="i.mp4"', '#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:00.000Z', '#EXT-X-BYTERANGE:10@0', '#EXTINF:4,',
            'a.mp4', '#EXT-X-ENDLIST', ''].join('\\n');
        return answering('/hls/made-up/', async () => {
            count += 1;
            if (count < 3) return new Response('the disk is away', { status: 500 });
            return new Response(text);
        }, async () => {
            const index = player.index('a');
            await until(() => index.failure, 2000);
            const { failure } = index;
            await until(() => index.isComplete, 8000);
            await pause(2500);
            player.close();
            return [failure, index.failure, index.segments.length, count];
        });
    })()""", ["the disk is away", "", 1, 3]),
    ("what had come when the wall was left is thrown away", """(async () => {
        const { LiveConnection } = await use('live-connection'), taken = [];
        let line;
        return answering('/api/v1/live', async () => new Response(new ReadableStream({ start(made) { line = made; } })), async () => {
            const connection = new LiveConnection(undefined, { take: ({ header }) => taken.push(header.type), change: () => {} });
            await until(() => line, 2000);
            line.enqueue(frame({ type: 'beat' }));
            await pause(100);
            line.enqueue(frame({ type: 'begin' }));
            connection.close();
            await pause(100);
            return taken;
        });
    })()""", ["beat"]),
    ("a viewer that takes the request for the wall and says nothing is not waited for", """(async () => {
        const { LiveConnection } = await use('live-connection'), told = [];
        const never = (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        return answering('/api/v1/live', never, async () => {
            const connection = new LiveConnection(undefined, { take: () => {}, change: (state, text) => told.push(text) });
            await until(() => told.length > 0, 9000);
            connection.close();
            return told.map((text) => text.split('.')[0]);
        });
    })()""", ["The viewer has sent nothing for a while"]),
    ("but people may take their time with the log-in form", """(async () => {
        const { LiveConnection } = await use('live-connection'), { close } = await use('login'), told = [];
        return answering('/api/v1/live', async () => new Response('', { status: 401 }), async () => {
            const connection = new LiveConnection(undefined, { take: () => {}, change: (state, text) => told.push(text) });
            await until(() => document.querySelector('dialog.login[open]'), 2000);
            await pause(7000);
            const isShown = !!document.querySelector('dialog.login[open]');
            connection.close();
            close();
            await until(() => !document.querySelector('dialog'), 2000);
            return [isShown, told];
        });
    })()""", [True, []]),
    ("fragments for which a buffer has no room come again", """(async () => {
        const real = [window.MediaSource, window.ManagedMediaSource], appended = [];
        const buffer = Object.assign(new EventTarget(), {
            updating: false, isFull: false, buffered: { length: 1, start: () => 0, end: () => 40 },
            appendBuffer(bytes) {
                if (this.isFull) throw new DOMException('full', 'QuotaExceededError');
                appended.push(...bytes);
            },
            remove() { this.isFull = false; },
        });
        class Source extends EventTarget {
            readyState = 'open';
            addSourceBuffer() { return buffer; }
        }
        [window.MediaSource, window.ManagedMediaSource] = [undefined, Source];
        // Its own copy of the module, which takes what is there when it is read.
        const { MediaBuffer } = await import('/page/media-buffer.js?made-up');
        [window.MediaSource, window.ManagedMediaSource] = real;
        const failed = [], media = Object.assign(new EventTarget(), { currentTime: 20 });
        const made = new MediaBuffer(media, 'video', { appended: () => {}, failed: (text) => failed.push(text) });
        made.begin('avc1', new Uint8Array([0]));
        made.append(new Uint8Array([1]));
        [buffer.updating, buffer.isFull] = [true, true];
        for (const byte of [2, 3]) made.append(new Uint8Array([byte]));
        buffer.updating = false;
        buffer.dispatchEvent(new Event('updateend'));
        const before = [...appended];
        buffer.dispatchEvent(new Event('updateend'));
        return [before, appended, failed];
    })()""", [[0, 1], [0, 1, 2, 3], []]),
)

# Fills the pictures of one segment with what is no picture: its boxes stay as they are.
DAMAGE = """
(() => {
    const real = window.fetch, damaged = %s;
    window.fetch = async (path, options) => {
        const answer = await real(path, options);
        if (!String(path).startsWith(damaged.media) || new Headers(options?.headers).get('range') !== damaged.range) return answer;
        const bytes = new Uint8Array(await answer.arrayBuffer()), view = new DataView(bytes.buffer);
        for (let at = 0, size = 0; at + 8 <= bytes.length; at += size) {
            size = view.getUint32(at);
            if (size < 8) break;
            if (String.fromCharCode(...bytes.subarray(at + 4, at + 8)) === 'mdat') bytes.fill(255, at + 8, Math.min(bytes.length, at + size));
        }
        return new Response(bytes);
    };
})();
"""
WORDS = "(() => { const words = document.querySelector('.tile .words'); return words.hidden ? '' : words.textContent; })()"


async def damage(page, checks, arguments):
    """Plays a recording whose second segment is damaged."""
    root = f"{arguments.page}/api/v1/sessions/{arguments.session}"
    with urllib.request.urlopen(root) as answer:
        overview = json.load(answer)
    with urllib.request.urlopen(f"{root}/coverage") as answer:
        source = next(lane["source"] for lane in json.load(answer) if not lane["missing"])
    segments = await page.run(f"""(async () => {{
        const {{ MediaIndex }} = await use('playback-index'), index = new MediaIndex({json.dumps(arguments.session)}, {json.dumps(source)},
            Date.parse({json.dumps(overview["zero"])}));
        await index.read();
        return index.segments;
    }})()""")
    if not checks(f"{source} has a segment between two others", len(segments) >= 3, str(len(segments))):
        return
    second = segments[1]
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=DAMAGE % json.dumps(
        {"media": second["media"], "range": f"bytes={second['offset']}-{second['offset'] + second['size'] - 1}"}))
    state = f"tributary.state().sources[{json.dumps(source)}]"
    places = [round((segment["start"] + segment["end"]) / 2, 3) for segment in segments[:3]]

    def is_shown(place):
        return f"{state}?.state === 'shown' && Math.abs({state}.at - {place}) < 0.2 && !{WORDS}"

    async def go(place):
        await page.run(f"(() => {{ const field = document.querySelector('.place'); field.value = '{place}'; field.dispatchEvent(new Event('change')); }})()")

    await page.open(f"{arguments.page}/sessions/{arguments.session}?sources={urllib.parse.quote(source)}&at={places[1]}")
    await page.until("!!window.tributary && !!document.querySelector('.place')", 20)
    await page.until(f"{WORDS}.includes('cannot decode this part')", 20)
    checks("a damaged segment is said in its tile", True, await page.run(WORDS))
    for place, name in ((places[0], "before"), (places[2], "after")):
        await go(place)
        await page.until(is_shown(place), 20)
        checks(f"what is {name} it is shown", True)
    await go(places[1])
    await page.until(f"{WORDS}.includes('cannot decode this part')", 5)
    await asyncio.sleep(3)
    checks("and it is not tried again", "cannot decode this part" in await page.run(WORDS), await page.run(WORDS))

    await go(places[0])
    await page.until(is_shown(places[0]), 20)
    before = await page.run("document.querySelector('.tile video').src")
    # As when the browser's process for decoding is lost: the segment is not at fault.
    await page.run("document.querySelector('.tile video').dispatchEvent(new Event('error'))")
    await page.until(f"{state}.state === 'failed'", 5)
    words = await page.run(WORDS)
    await page.until(is_shown(places[0]), 10)
    checks("a decoder that is lost is said, and another one begins", "trying again" in words
        and await page.run("document.querySelector('.tile video').src") != before, words)


async def check(arguments):
    checks = Checks()
    async with Chromium() as page:
        await page.open(f"{arguments.page}/sessions")
        await page.until("document.readyState === 'complete' && !!window.tributary", 10)
        await page.run(HELPERS)
        for text, script, wanted in QUESTIONS:
            found = await page.run(script)
            checks(text, same(found, wanted), "" if same(found, wanted) else f"{found} instead of {wanted}")
        await damage(page, checks, arguments)
        checks.console(page)
    return checks.failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    parser.add_argument("--session", required=True, help="a finished one of three segments; one of its sources has no gap")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
