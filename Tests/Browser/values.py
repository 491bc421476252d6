#!/usr/bin/python3
"""Asks the page's modules that are values without I/O: clocks, delays, giving way, grids, times, addresses, the timeline's scale, frames, the last hour.

    Tests/Browser/values.py --page http://127.0.0.1:8080
"""

import argparse
import asyncio
import sys

from checks import Checks
from chromium import Chromium

# The common time of tiles: look(wanted, { name: where its pictures end }). The wanted time is that of the clock, too.
STEP = """(async () => {
        const { CommonTime } = await use('live-step'), common = new CommonTime();
        const look = (wanted, tiles) => Math.round(common.next(wanted, Object.entries(tiles).map(([name, until]) => ({ name, until })), wanted) * 1e6) / 1e6;
"""

# Each: what is so, and a script whose answer is compared with what is wanted. `use(name)` is a module of the page.
QUESTIONS = (
    ("the session's clock goes by what came earliest", """(async () => {
        const { SessionClock } = await use('live-clock'), clock = new SessionClock();
        const before = clock.at(1);
        clock.observe(10, 100); clock.observe(10.7, 101); clock.observe(12.1, 102);
        return [before, clock.at(103), clock.at(140)];
    })()""", [None, 13.1, 50.1]),
    ("and forgets it when clocks may have drifted", """(async () => {
        const { SessionClock } = await use('live-clock'), clock = new SessionClock();
        clock.observe(10, 0); clock.observe(40, 31);
        return clock.at(31);
    })()""", 40),
    ("a delay follows slowly, jumps over what is far, and hurries only down", """(async () => {
        const { SmoothDelay } = await use('live-clock'), delay = new SmoothDelay(), found = [];
        for (const [wanted, now, hurry] of [[0.5, 0], [0.6, 1], [0.6, 2], [0.3, 3, 0.2], [0.3, 4, 0.2], [0.34, 5, 0.2], [5, 6], [null, 7]]) {
            delay.follow(wanted, now, hurry);
            found.push(Math.round(delay.value * 1000) / 1000);
        }
        return found;
    })()""", [0.5, 0.56, 0.6, 0.4, 0.37, 0.34, 5, 5]),
    ("where the page paints all tiles, a delay grows quickly", """(async () => {
        const { SmoothDelay } = await use('live-clock'), delay = new SmoothDelay(), found = [];
        for (const [wanted, now] of [[0.1, 0], [0.3, 0.1], [0.3, 0.2], [0.3, 0.9]]) {
            delay.follow(wanted, now, 0.2, 0.5);
            found.push(Math.round(delay.value * 1000) / 1000);
        }
        return found;
    })()""", [0.1, 0.15, 0.2, 0.3]),
    ("but slowly where sound plays at its time, or a media element shows pictures", """(async () => {
        const { growthOf } = await use('live-clock');
        return [growthOf(true, 0.1, null), growthOf(true, 0.1, 0.3), growthOf(true, null, 0.3), growthOf(true, 0.4, 0.3), growthOf(false, 0.1, null), growthOf(false, 0.1, 0.3)];
    })()""", [0.5, 0.5, 0.5, 0.06, 0.06, 0.06]),
    ("the rate goes with the delay", """(async () => {
        const { SmoothDelay } = await use('live-clock'), delay = new SmoothDelay();
        delay.follow(0.5, 0); delay.follow(0.6, 1);
        return Math.round(delay.rate * 1000) / 1000;
    })()""", 0.94),
    ("what is needed leaves out one interruption", """(async () => {
        const { NeedEstimate } = await use('live-clock'), need = new NeedEstimate();
        let now = 0;
        for (let batch = 0; batch < 60; batch += 1) need.observe(batch === 30 ? 1.5 : 0.2 + (batch % 2) * 0.05, now += 0.1, 3);
        return [new NeedEstimate().value, need.value];
    })()""", [None, 0.25]),
    ("what comes after an interruption at once weighs as one", """(async () => {
        const { NeedEstimate } = await use('live-clock'), need = new NeedEstimate();
        let now = 0;
        for (let batch = 0; batch < 60; batch += 1) {
            now += batch === 30 ? 2 : 0.1;
            // Sixty pictures of a second each are behind by less and less.
            if (batch === 30) for (let picture = 0; picture < 60; picture += 1) need.observe(2 - picture / 30, now, 3);
            else need.observe(0.2, now, 3);
        }
        return need.value;
    })()""", 0.2),
    ("a tile that is painted needs the delay of nine pictures of ten, for as long as it was given", """(async () => {
        const { NeedEstimate } = await use('live-clock'), need = new NeedEstimate(0.9, 4), usual = new NeedEstimate(), found = [];
        let now = 0;
        const come = (seconds, of) => {
            for (let picture = 0; picture < seconds * 10; picture += 1) {
                for (const one of [need, usual]) one.observe(of(picture), now, 3);
                now += 0.1;
            }
            found.push([need.value, usual.value]);
        };
        come(6, (picture) => (picture % 20 === 7 ? 0.3 : 0.03));
        come(3, () => 0.5);
        // An overload is over: it is forgotten after four seconds.
        come(3.8, () => 0.03);
        return found;
    })()""", [[0.03, 0.3], [0.5, 0.5], [0.03, 0.5]]),
    ("of a decoder's backlog, the delay covers a tenth of a second", """(async () => {
        const { needOf } = await use('live-step');
        // A picture of 0.3 s that was held for 0.1 s until it was due, and was decoded within 0, 0.05 and 0.15 s.
        return [0, 0.05, 0.15].map((decoding) => Math.round(1000 * needOf({ age: 0.3, held: 0.1, decoding })));
    })()""", [200, 200, 150]),
    ("a time runs on at its rate", """(async () => {
        const { RunningTime } = await use('live-clock'), time = new RunningTime(), before = time.at(5);
        time.set(10, 5, 0.5);
        return [before === -Infinity, time.at(5), time.at(7)];
    })()""", [True, 10, 11]),
    ("all tiles wait for a late one, to the end of its last picture, and catch up with it", f"""{STEP}
        return [look(10, {{ a: 10.03, b: 10.02 }}), look(10.05, {{ a: 10.06, b: 10.02 }}), look(10.08, {{ a: 10.1, b: 10.02 }}), look(10.1, {{ a: 10.13, b: 10.12 }})];
    }})()""", [10, 10.019, 10.019, 10.1]),
    ("after a tenth of a second it lags alone, until it has what is shown", f"""{STEP}
        const found = [];
        // b is late by 0.06 s, then by 0.3 s, 0.08 s and 0.05 s.
        for (const [at, late] of [[10, 0], [10.1, 0.06], [10.19, 0.3], [10.21, 0.3], [10.4, 0.3], [10.45, 0.08], [10.5, 0.05], [10.6, 0], [10.7, 0.05]]) found.push(look(at, {{ a: at + 0.02, b: at - late }}));
        return found;
    }})()""", [9.999, 10.039, 10.039, 10.21, 10.4, 10.45, 10.45, 10.599, 10.649]),
    ("where the page has stood still, a tile whose picture comes last is waited for", f"""{STEP}
        return [look(10, {{ a: 10.03, b: 10.03 }}), look(10.4, {{ a: 10.43, b: 10.03 }}), look(10.42, {{ a: 10.43, b: 10.43 }})];
    }})()""", [10, 10.029, 10.42]),
    ("if all are late, they stay together, and one alone is as new as it can be", f"""{STEP}
        const all = [look(10, {{ a: 9.5, b: 9.45 }}), look(10.2, {{ a: 9.75, b: 9.7 }}), look(10.4, {{ a: 9.95, b: 9.9 }})];
        common.remove('b');
        return [...all, look(10.45, {{ a: 10.05 }}), look(10.5, {{}})];
    }})()""", [9.449, 9.699, 9.899, 10.049, 10.5]),
    ("the last tile that can be waited for is not left behind, and a longer delay does not go back in time", f"""{STEP}
        const found = [look(10, {{ a: 10.02, b: 10.02 }}), look(10.05, {{ a: 10.07, b: 9.8 }}), look(10.2, {{ a: 10.22, b: 9.8 }})];
        // a has gone; b comes back.
        found.push(look(10.3, {{ b: 9.9 }}), look(10.4, {{ b: 10.3 }}));
        // The delay has grown by 0.2 s.
        found.push(look(10.25, {{ b: 10.5 }}), look(10.35, {{ b: 10.6 }}));
        return found;
    }})()""", [10, 10, 10.2, 10.2, 10.299, 10.25, 10.35]),
    ("a picture ends where the next one usually begins", """(async () => {
        const { PictureDistance } = await use('live-step'), distance = new PictureDistance(), found = [];
        const end = (time) => found.push(Math.round(distance.end(time, 0.04) * 1000) / 1000);
        for (let picture = 0; picture < 3; picture += 1) end(picture * 0.04);
        // One is lost, which is no other rate; a pause neither. Then it is dark.
        end(0.2);
        for (const time of [30, 30.04, 30.14, 30.24, 30.34, 30.44, 30.54, 30.64]) end(time);
        return found;
    })()""", [0.04, 0.08, 0.12, 0.24, 30.04, 30.08, 30.18, 30.34, 30.44, 30.54, 30.64, 30.74]),
    ("a preview suits tiles up to half as wide again, unless one of both is chosen", """(async () => {
        const { renditionFor } = await use('renditions'), ratio = devicePixelRatio;
        return [...[[480, 640], [960, 640], [961, 640], [961, 1280], [961, undefined], [960, 0]].map(([width, own]) => renditionFor('size', width / ratio, own)),
            renditionFor('main', 10, 640), renditionFor('preview', 4000, 640)];
    })()""", ["preview", "preview", "main", "preview", "main", "preview", "main", "preview"]),
    ("a switch does not go back in time, unless the other pictures stay older", """(async () => {
        const { LiveRenditions } = await use('live-renditions'), one = new LiveRenditions(), found = [];
        const frame = (type, more) => ({ header: { type, codecs: 'avc1', session: 'a', ...more }, body: new Uint8Array() });
        const own = performance.now.bind(performance), began = own();
        one.setPreview('a.preview', true);
        one.take('preview', frame('begin'));
        one.take('main', frame('begin'));
        one.target = 'main';
        const key = (atSeconds) => {
            one.take('preview', frame('media', {}));
            found.push(one.take('main', frame('media', { isKeyframe: true, atSeconds }), 10));
        };
        key(9); key(9.9);
        one.shown = 'preview';
        try {
            key(9);
            performance.now = () => began + 6000;
            key(9);
        } finally { performance.now = own; }
        return found;
    })()""", [False, True, False, True]),
    ("a source is by its preview only where that is there, and back from it where it is silent", """(async () => {
        const { LiveRenditions } = await use('live-renditions'), one = new LiveRenditions(), found = [];
        const frame = (type, more) => ({ header: { type, codecs: 'avc1', ...more }, body: new Uint8Array() });
        const note = () => found.push([one.shown, one.wanted, one.needsMain].join(' '));
        one.target = 'main';
        one.take('main', frame('begin'));
        note();
        one.setPreview('a.preview', true);
        one.target = 'preview';
        note();
        one.take('preview', frame('begin'));
        one.take('preview', frame('media', { isKeyframe: false }));
        note();
        one.take('preview', frame('media', { isKeyframe: true }));
        note();
        one.target = 'main';
        one.take('main', frame('media', { isKeyframe: true }));
        one.fail('This browser cannot decode it.');
        note();
        one.take('preview', frame('media', { isKeyframe: true }));
        note();
        one.take('preview', frame('gone'));
        note();
        one.take('preview', frame('media', { isKeyframe: true }));
        one.setPreview('a.preview', false);
        note();
        return found;
    })()""", ["main main false", "main preview true", "main preview true", "preview preview false", "main preview false", "preview preview false",
        "preview main true", "preview main true"]),
    ("a tile tells the collector of its pictures, and when the first one of another was captured", """(async () => {
        const { SourceCollector } = await use('live-collector'), place = new SourceCollector(), found = [], { clock } = await use('format');
        const at = (second) => clock(new Date(Date.UTC(2026, 10, 20, 15, 0, second)));
        const take = (type, more, rendition = 'main', now = 0) => place.take(rendition, { type, zero: '2026-11-20T15:00:00Z', ...more }, now);
        const note = (now) => found.push([place.collector('main'), place.news('main', now).replaceAll(/\\d+:\\d\\d:\\d\\d.*/g, ''), place.news('main', now).slice(-at(9).length)]);
        take('begin', { collector: 'east' });
        take('media', { atSeconds: 1, durationSeconds: 1 });
        note(0);
        // Where it was begun anew it has not moved; nor with the first of another collector's frames, which has no picture.
        take('begin', { collector: 'east' });
        take('begin', { collector: 'west' });
        note(0);
        take('media', { atSeconds: 9, durationSeconds: 1 }, 'main', 1000);
        note(1000);
        note(22000);
        take('begin', { collector: 'north' }, 'preview');
        take('media', { atSeconds: 10, durationSeconds: 1 }, 'preview');
        take('begin', { collector: 'east' });
        take('begin', { collector: 'west' });
        take('media', { atSeconds: 10, durationSeconds: 1 }, 'main', 23000);
        note(23000);
        take('begin', { collector: 'east' });
        take('media', { atSeconds: 40, durationSeconds: 1 }, 'main', 30000);
        note(30000);
        found.push(place.collector('preview'), place.news('preview', 0), place.collector(undefined), place.lastMove('main') === `from west to east before ${at(40)}`);
        take('begin', {}, 'preview');
        take('media', { atSeconds: 11, durationSeconds: 1 }, 'preview');
        found.push(place.lastMove('preview'));
        return found.flat().map((one) => (one === at(9) ? 'nine' : one === at(40) ? 'forty' : one));
    })()""", ["east", "", "", "west", "", "", "west", "Moved from east to west at ", "nine", "west", "", "", "west", "", "", "east", "Moved from west to east before ", "forty",
        "north", "", None, True, ""]),
    ("lanes tell which collectors have a time, and what an archive that is not read has", """(async () => {
        const { collectorsOf, legend, placeWords, stretches } = await use('timeline-collectors');
        const span = (startSeconds, endSeconds) => ({ startSeconds, endSeconds });
        const lane = { source: 'door', recorded: [span(0, 60)], missing: [], unplaced: [], held: [{ collector: 'south', startSeconds: 60, records: 1 }], copies: [
            { collector: 'west', recorded: [span(10, 20), span(40, 60)] }, { collector: 'east', recorded: [span(0, 12), span(20, 35)] }] };
        const other = { ...lane, held: [], copies: [{ collector: 'north', recorded: [span(0, 1)] }] }, items = legend([lane, other]);
        return [collectorsOf([lane, other]), stretches(lane).map(({ startSeconds, endSeconds, collectors }) => [startSeconds, endSeconds, collectors.join()]),
            [11, 20, 37, 59, 60].map((time) => placeWords(lane, time).join()), placeWords({ source: 'hall', recorded: [], missing: [], unplaced: [] }, 1),
            items.map(({ property, words }) => `${property} ${words}`),
            items.every(({ property }) => getComputedStyle(document.documentElement).getPropertyValue(property))];
    })()""", [["east", "north", "west"], [[0, 10, "east"], [10, 12, "east,west"], [12, 20, "west"], [20, 35, "east"], [40, 60, "west"]],
        ["At east and west", "At east", "", "At west", "Held by south, which is not read: 1 record"], [],
        ["--collector-1 At east", "--collector-2 At north", "--collector-3 At west", "--recorded Held by south, which is not read"], True]),
    ("a row of a collector, and its clock beside those of the others that are there", """(async () => {
        const { cellsOf } = await use('health-collectors');
        const one = (name, more) => ({ name, state: 'recording', heardSeconds: 3, sources: 2, bitsPerSecond: 2e6, aloneRecords: 0, aloneSources: [], owedBytes: 0, ...more });
        const clocks = (bounds) => Object.entries(bounds).map(([collector, boundSeconds]) => ({ collector, boundSeconds }));
        const all = [one('east', { clocks: clocks({ west: 0.002, north: 0.0004 }), freeBytes: 5e9, sizeBytes: 1e10, version: '1' }), one('west', { clocks: clocks({ east: 0.001 }) }),
            one('north', { state: 'troubled', trouble: 'there is no room on the disk', aloneRecords: 1200, aloneSources: ['door', 'hall'], owedBytes: 5e6, unstoredBytes: 2e6 }),
            one('south', { state: 'silent', heardSeconds: 130 })];
        return all.map((collector) => cellsOf(collector, all).map(({ text, title }) => (title ? `${text} (${title})` : text)).join(' | '));
    })()""", [
        "east | recording | 3 s ago | 2 | 2.00 Mbit/s | 5.00 GB of 10.0 GB | nothing | – | nothing | ±1.0 ms (west: ±1.0 ms, north: ±400 µs) | 1",
        "west | recording | 3 s ago | 2 | 2.00 Mbit/s | – | nothing | – | nothing | ? (east: ±1.0 ms, north: not compared) | –",
        "north | troubled: there is no room on the disk | 3 s ago | 2 | 2.00 Mbit/s | – | 1,200 records (door, hall) | 2.00 MB | 5.00 MB | ? (east: ±400 µs, west: not compared) | –",
        "south | silent | 2 min 10 s ago | – | – | – | nothing | – | nothing | – | –"]),
    ("corrections are small and bounded", """(async () => {
        const { correction } = await use('live-clock');
        return [correction(0.001, 0.25, 1), correction(0.05, 0.25, 1), correction(-1, 0.25, 1), correction(1, 0.04, 1)];
    })()""", [1, 0.9, 1.25, 0.96]),
    ("gives way after three strained looks, and again after it has helped", """(async () => {
        const { LoadReduction } = await use('live-load'), thrift = new LoadReduction(), levels = [];
        const bad = { shown: 10, dropped: 8, isBehind: true }, good = { shown: 10, dropped: 0, isBehind: false };
        for (let second = 1; second <= 12; second += 1) levels.push(thrift.look([bad, bad, good], second));
        const watched = [0, 1].map((index) => thrift.isReduced(index, true)), others = [0, 1].map((index) => thrift.isReduced(index, false));
        for (let second = 13; second < 400; second += 1) thrift.look([good, good, good], second);
        return [levels, watched, others, thrift.level];
    })()""", [[0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2], [False, False], [True, True], 0]),
    ("gives way as long as an overload lasts, tries again after four seconds, and later after each failure", """(async () => {
        const { LoadReduction } = await use('live-load'), thrift = new LoadReduction(), changes = [];
        const bad = { shown: 10, dropped: 8, isBehind: true }, good = { shown: 10, dropped: 0, isBehind: false };
        let level = 0;
        // Twelve seconds of an overload; later, two more of four seconds.
        for (let second = 1; second <= 80; second += 1) {
            const isBad = second <= 12 || (second > 19 && second <= 23) || (second > 40 && second <= 44);
            thrift.look(isBad ? [bad, bad] : [good, good], second);
            if (thrift.level !== level) changes.push([second, level = thrift.level]);
        }
        return changes;
    })()""", [[3, 1], [10, 2], [17, 1], [22, 2], [32, 1], [43, 2], [61, 1], [78, 0]]),
    ("one tile that is late alone changes nothing", """(async () => {
        const { LoadReduction } = await use('live-load'), thrift = new LoadReduction();
        const bad = { shown: 0, dropped: 0, isBehind: true }, good = { shown: 10, dropped: 0, isBehind: false };
        for (let second = 1; second <= 20; second += 1) thrift.look([bad, good, good, good], second);
        return thrift.level;
    })()""", 0),
    ("tiles fit the window, without one over another", """(async () => {
        const { grid, spotlight } = await use('live-grid'), wrong = [];
        for (const [width, height] of [[1280, 800], [390, 700], [3840, 2160], [1000, 200]]) for (let count = 1; count <= 16; count += 1) {
            for (const { boxes } of [grid(count, width, height), spotlight(count, 0, width, height)]) {
                const fits = boxes.length === count && boxes.every((one, index) => one.width > 0 && one.height > 0 && one.left >= 0
                    && one.left + one.width <= width + 1 && boxes.every((other, number) => number === index || one.left + one.width <= other.left
                    || other.left + other.width <= one.left || one.top + one.height <= other.top || other.top + other.height <= one.top));
                if (!fits) wrong.push(`${count} in ${width} × ${height}`);
            }
        }
        return wrong;
    })()""", []),
    ("an arrow goes to the tile in its direction", """(async () => {
        const { grid, neighbour } = await use('live-grid'), { boxes } = grid(4, 1280, 800);
        return ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp'].map((key) => neighbour(boxes, 0, key));
    })()""", [1, 2, 0, 0]),
    ("times of addresses are read as people write them", """(async () => {
        const { parseTime, timeText } = await use('playback-address'), zero = Date.parse('2026-11-20T15:00:00Z');
        return [['83.5', '1:23.5', '1:02:03', '-0:01', '2026-11-20T15:00:10Z', 'later', '', null].map((text) => parseTime(text, zero)), timeText(83.1234567)];
    })()""", [[83.5, 83.5, 3723, -1, 10, None, None, None], "83.123457"]),
    ("times are shown and taken in a zone, also where its clocks are put back or forward", """(async () => {
        const { takeZone, setZone, readInstant, localText, offsetNote, zoneText, withZone } = await use('zone');
        const flaw = takeZone('?zone=Europe/Nowhere'), good = takeZone('?zone=Europe/Berlin');
        const noon = new Date('2026-07-01T10:00:00Z'), read = (text) => { const found = readInstant(text, noon); return found.date?.toISOString() ?? found.flaw; };
        const found = [flaw.includes('Europe/Nowhere'), good, localText(noon), read('12:00'), read('2026-10-25 02:30:00 +02:00'), read('2026-10-25T01:30:00Z'),
            read('2026-10-25 02:30').includes('write +02:00 or +01:00 behind it'), read('2026-03-29 02:30').includes('does not exist'),
            read('25:00').includes('is no time'), read('soon').includes('Write a time as'), withZone('/live?sources=a,b'),
            offsetNote(new Date('2026-10-25T00:30:00Z')) !== offsetNote(new Date('2026-10-25T01:30:00Z')), zoneText('UTC')];
        const both = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map((text) => readInstant(localText(new Date(text)) + (offsetNote(new Date(text)) ? '' : 'Z'), noon));
        setZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
        return [...found, both.every((one) => one.date)];
    })()""", [True, "", "2026-07-01 12:00:00 +02:00", "2026-07-01T10:00:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z",
        True, True, True, True, "/live?sources=a,b&zone=Europe/Berlin", True, "UTC", True]),
    ("of an hour that comes twice, the instant that is possible is taken", """(async () => {
        const { setZone, readInstant } = await use('zone');
        setZone('America/New_York');
        const day = new Date('2026-11-01T12:00:00Z'), end = new Date('2026-11-01T05:30:00Z');
        const found = [(date) => date < end, (date) => date > end, () => true, () => false].map((fits) => readInstant('01:10:20', day, fits).date?.toISOString() ?? null);
        setZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
        return found;
    })()""", ["2026-11-01T05:10:20.000Z", "2026-11-01T06:10:20.000Z", None, None]),
    ("a day's axis has whole hours, and one offset, or both where it changes", """(async () => {
        const { setZone } = await use('zone'), { dayOf, hoursOf, offsetOf } = await use('sessions-day');
        const of = (zone, day) => {
            setZone(zone);
            const { start, end } = dayOf(new Date(`${day}T12:00:00Z`));
            const marks = hoursOf(start.getTime(), end.getTime()).map(({ time, text }) => `${(time - start.getTime()) / 3_600_000} ${text}`);
            return [marks.join(', '), offsetOf(start.getTime(), end.getTime())];
        };
        const found = [of('America/New_York', '2026-11-01'), of('America/New_York', '2026-03-08'), of('Africa/Abidjan', '2026-11-01'), of('Europe/London', '2026-03-29')];
        setZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
        return found;
    })()""", [["0 00:00, 4 03:00, 7 06:00, 10 09:00, 13 12:00, 16 15:00, 19 18:00, 22 21:00, 25 00:00", "UTC−4/−5"],
        ["0 00:00, 2 03:00, 5 06:00, 8 09:00, 11 12:00, 14 15:00, 17 18:00, 20 21:00, 23 00:00", "UTC−5/−4"],
        ["0 00:00, 3 03:00, 6 06:00, 9 09:00, 12 12:00, 15 15:00, 18 18:00, 21 21:00, 24 00:00", ""],
        ["0 00:00, 2 03:00, 5 06:00, 8 09:00, 11 12:00, 14 15:00, 17 18:00, 20 21:00, 23 00:00", "UTC/+1"]]),
    ("and written back", """(async () => {
        const { sessionTime, duration, shortTime, bytes } = await use('format');
        return [sessionTime(59.9996), sessionTime(3725.5, 1), sessionTime(-1.5), duration(3725), duration(59.6), shortTime(0.00123), shortTime(89), bytes(999_600)];
    })()""", ["1:00.000", "1:02:05.5", "−0:01.500", "1 h 02 min", "1 min 0 s", "1.2 ms", "89 s", "1.00 MB"]),
    ("the timeline's scale goes from hours to single pictures, and stays within", """(async () => {
        const { TimelineScale } = await use('timeline-scale'), scale = new TimelineScale();
        scale.width = 1000;
        scale.setWhole({ start: 0, end: 36000 });
        const whole = scale.span, far = scale.marks(96).step;
        for (let turn = 0; turn < 60; turn += 1) scale.zoom(0.5, 1234.5);
        const near = [scale.span, Math.round(scale.time(scale.x(1234.5)) * 1e6) / 1e6, scale.marks(96).step];
        scale.pan(1e9);
        const end = scale.end;
        scale.zoom(1e9, 5);
        return [whole, far, near, end, scale.isWhole];
    })()""", [36720, 3600, [0.4, 1234.5, 0.05], 36360, True]),
    ("frames come out of pieces of any size", """(async () => {
        const { FrameReader } = await use('live-frames'), text = new TextEncoder();
        const frame = (header, body) => {
            const head = text.encode(JSON.stringify(header)), bytes = new Uint8Array(8 + head.length + body.length), view = new DataView(bytes.buffer);
            view.setUint32(0, head.length); view.setUint32(4, body.length);
            bytes.set(head, 8); bytes.set(body, 8 + head.length);
            return bytes;
        };
        const stream = [...frame({ type: 'beat' }, []), ...frame({ type: 'media', source: 'ä' }, new Array(300).fill(7)), ...frame({ type: 'gone' }, [])];
        const wrong = [];
        for (const size of [1, 2, 7, 8, 9, 64, 1000]) {
            const reader = new FrameReader(), found = [];
            for (let at = 0; at < stream.length; at += size) found.push(...reader.take(new Uint8Array(stream.slice(at, at + size))));
            if (found.map(({ header, body }) => header.type + body.length).join() !== 'beat0,media300,gone0' || found[1].header.source !== 'ä') wrong.push(size);
        }
        return wrong;
    })()""", []),
    ("what is no frame is refused before it is kept", """(async () => {
        const { FrameReader } = await use('live-frames');
        try { return new FrameReader().take(new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])).length; } catch (error) { return error.message; }
    })()""", "the live answer is damaged"),
    ("the last hour: what is heard, what the viewer remembers, and nothing older", """(async () => {
        const { Series } = await use('health-history'), series = new Series();
        series.put(3600, 5); series.put(3605, 6);
        for (const second of [10, 3590, 3600, 3603]) series.fill(second, 1);
        const found = [10, 3590, 3600, 3601, 3603, 3605].map((second) => series.at(second));
        series.put(7300, 2);
        return [...found, series.at(3605), series.at(7300)].map((value) => (Number.isNaN(value) ? null : value));
    })()""", [1, 1, 5, None, 1, 6, None, 2]),
    ("growth begins again with the collector", """(async () => {
        const { Series } = await use('health-history'), series = new Series();
        [90, 95, 3, 5].forEach((value, second) => series.put(second, value));
        return [series.growth(3, 3600), series.growth(1, 3600)];
    })()""", [2, 5]),
    ("a wall with more sources than tiles turns when it is time, and says before what comes", """(async () => {
        const { WallPages } = await use('live-pages'), pages = new WallPages(2, 10, 0), found = [];
        pages.setNames(['a', 'b', 'c', 'd', 'e']);
        for (const now of [5000, 6500, 10000]) found.push(pages.step(now).next.join(''), pages.shown.join(''));
        pages.turn(1, 11000); found.push(pages.shown.join(''));
        found.push(pages.step(20500).hasTurned, pages.step(21000).hasTurned, pages.shown.join(''));
        pages.turn(-1, 22000); pages.setTurning(false, 22000); found.push(pages.step(1e6).hasTurned, pages.shown.join(''));
        pages.setNames(['a', 'b']); found.push(pages.canTurn, pages.shown.join(''));
        return found;
    })()""", ["", "ab", "cd", "ab", "", "cd", "e", False, True, "ab", False, "e", False, "ab"]),
    ("causes have words and a colour, also those that are new", """(async () => {
        const { causes, causeText, causeProperty, missingText } = await use('causes');
        const known = causes.every((cause) => causeText(cause) !== cause && getComputedStyle(document.documentElement).getPropertyValue(causeProperty(cause)));
        return [known, causeText('new thing'), causeProperty('url(x)'), missingText([{ samples: 0, count: 2 }]),
            missingText([{ samples: 11, count: 1, cause: 'overrun' }, { samples: 0, count: 1, cause: 'restart' }, { samples: 0, count: 1, cause: 'command' }]), missingText([])];
    })()""", [True, "new thing", "--gap-unknown", "2 gaps", "2 gaps, 11 samples or more missing, 1 stop on purpose", "nothing missing"]),
)


async def check(arguments):
    checks = Checks()
    async with Chromium() as page:
        await page.open(f"{arguments.page}/sessions")
        await page.until("document.readyState === 'complete' && !!window.tributary", 10)
        await page.run("window.use = (name) => import(`/page/${name}.js`)")
        for text, script, wanted in QUESTIONS:
            found = await page.run(script)
            checks(text, same(found, wanted), "" if same(found, wanted) else f"{found} instead of {wanted}")
        checks.console(page)
    return checks.failures == 0


def same(found, wanted):
    """Equal, but for the last bits of numbers."""
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float) or isinstance(found, float):
        return found is not None and wanted is not None and abs(found - wanted) < 1e-9
    return found == wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", required=True, help="such as http://127.0.0.1:8080")
    sys.exit(0 if asyncio.run(check(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
