// @ts-check
// The pictures of a source, live, decoded here (WebCodecs) and painted when their time has come.
//
// A `<video>` of Chromium shows pictures in a rhythm of the screen's, up to half a picture too early or too late, so that two in step are up to a
// whole picture apart for minutes (measured). Here every tile is painted at the same refresh with the picture of the same instant; or, where
// it need not be in step, with each picture as soon as it is decoded. WebCodecs exists in secure contexts only; elsewhere live-follower.js does it.

import { codecsOf } from './codecs.js';
import { NeedEstimate, RunningTime } from './live-clock.js';
import { latest } from './live-follower.js';
import { pictures, pictureTrack, upright } from './live-samples.js';
import { needOf, PictureDistance } from './live-step.js';
import { keepTracks } from './movie-tracks.js';

/** Pictures are decoded at most this long before their time, seconds: decoded pictures are large. */
const ahead = 0.3;
/** Limit of pictures that wait for the decoder, and in it. */
const mostWaiting = 2000;
const mostDecoding = 12;
/** Limit of pictures in the decoder if the computer is too slow: they are all decoded, however late. */
const fewDecoding = 3;
/** A later picture counts as behind, seconds. */
const behind = 0.25;
/** Limit of decoded pictures that wait for their time. */
const mostDecoded = 30;
/** Limit of pictures with a known arrival: more than the decoder queues. */
const mostSent = 100;
/** Fraction of the pictures that the common delay covers: all tiles wait together for the others (live-step.js). */
const covered = 0.9;
/** Window of the delay, seconds: it returns as soon after an overload. */
const life = 4;
/** Minimum time between two restarts after failures, seconds. */
const pause = 2;
/** Failures until the decoder is given up, and the largest time between two of them, seconds. */
const mostFailures = 3;
const failureLife = 30;

/** Whether this browser can. */
export const canPaint = 'VideoDecoder' in window && isSecureContext;

export class Painter {
    /** @type {VideoDecoder | undefined} */
    #decoder;
    /** @type {import('./live-samples.js').PictureTrack | undefined} */
    #track;
    #codec = '';
    #session = '';
    /** @type {(import('./live-samples.js').Picture & { came: number })[]} */
    #waiting = [];
    /**
     * Pictures in the decoder, by timestamp: arrival, and time in the queue. Seconds.
     * @type {Map<number, { came: number, held: number }>}
     */
    #sent = new Map();
    /**
     * Decoded, the oldest first.
     * @type {VideoFrame[]}
     */
    #decoded = [];
    #needsKeyframe = true;
    #need = new NeedEstimate(covered, life);
    #distance = new PictureDistance();
    #failedAt = -Infinity;
    #failures = 0;
    /** The wanted session time. */
    #target = new RunningTime();
    #now;
    #context;
    trouble = '';
    hasTrack = false;
    isReduced = false;
    /** Whether each picture is shown as soon as it is decoded, and not at its time. */
    isHurried = false;
    /** Difference of the shown from the wanted time, seconds. */
    error = 0;
    /**
     * Session time of the picture that is shown.
     * @type {number | null}
     */
    at = null;
    /**
     * Session time of the recorded picture that is shown before the first live one; null without one.
     * @type {number | null}
     */
    recordedAt = null;
    /**
     * End of the decoded pictures, session time.
     * @type {number | null}
     */
    end = null;
    /**
     * Where the newest decoded picture ends, by the usual distance of pictures; session time.
     * @type {number | null}
     */
    #until = null;
    /** Numbers of shown pictures, and of those dropped because they were too late. */
    painted = 0;
    dropped = 0;
    /** Dropped pictures that were not decoded, because the computer is too slow for all. */
    cut = 0;

    /**
     * @param {HTMLCanvasElement} canvas
     * @param {() => number | null} now Session time.
     */
    constructor(canvas, now) {
        this.canvas = canvas;
        this.#now = now;
        this.#context = canvas.getContext('2d', { alpha: false });
    }

    close() {
        if (this.#decoder && this.#decoder.state !== 'closed') this.#decoder.close();
        this.#decoder = undefined;
        for (const frame of this.#decoded) frame.close();
        this.#decoded = [];
        this.#waiting = [];
        this.#sent.clear();
    }

    /**
     * The source begins, or its format changes.
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body Is changed.
     */
    begin(header, body) {
        if (header.session !== this.#session) [this.at, this.end, this.recordedAt, this.#until] = [null, null, null, null];
        this.#session = header.session ?? '';
        this.close();
        this.hasTrack = keepTracks(body, 'video').size > 0;
        this.#track = pictureTrack(body);
        this.#codec = codecsOf(header.codecs ?? '', 'video');
        this.trouble = '';
        this.#needsKeyframe = true;
        if (this.hasTrack) this.#open();
    }

    #open() {
        /** @type {VideoDecoder} */
        const decoder = new VideoDecoder({
            output: (frame) => (decoder === this.#decoder ? this.#take(frame) : frame.close()),
            error: (error) => {
                if (decoder !== this.#decoder) return;
                console.warn(`pictures of a live source begin anew: ${error.message}`);
                if (error.name === 'NotSupportedError') this.trouble = `This browser cannot decode ${this.#codec}.`;
                this.close();
                const now = performance.now() / 1000;
                this.#failures = now - this.#failedAt < failureLife ? this.#failures + 1 : 1;
                this.#failedAt = now;
            },
        });
        this.#decoder = decoder;
        this.#needsKeyframe = true;
        const configuration = { codec: this.#codec, description: this.#track?.description, optimizeForLatency: true };
        decoder.configure(configuration);
        void this.#ask(configuration);
    }

    /**
     * Asks whether the codec is supported: not every browser reports that as an error of the decoder.
     * @param {VideoDecoderConfig} configuration
     */
    async #ask(configuration) {
        const { codec } = configuration;
        const { supported } = await VideoDecoder.isConfigSupported(configuration).catch(() => ({ supported: false }));
        if (supported || codec !== this.#codec) return;
        this.trouble = `This browser cannot decode ${codec}.`;
        this.close();
    }

    /**
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body
     */
    take(header, body) {
        if (!this.hasTrack || !this.#track || this.trouble) return;
        if (!this.#decoder && header.isKeyframe && performance.now() / 1000 > this.#failedAt + pause) this.#open();
        for (const picture of pictures(body, this.#track)) {
            if (this.isReduced ? !picture.isKeyframe : this.#needsKeyframe && !picture.isKeyframe) continue;
            this.#needsKeyframe = this.isReduced;
            this.#waiting.push({ ...picture, came: performance.now() / 1000 });
        }
        if (this.#waiting.length > mostWaiting) this.skipped();
        this.#pump();
    }

    /** Media is missing: the next fragment starts with a keyframe. */
    skipped() {
        this.#needsKeyframe = true;
    }

    /**
     * Shows a recorded picture until the first live one.
     * @param {import('./live-recorded.js').RecordedPicture} picture
     */
    showRecorded({ image, at }) {
        if (this.at === null) {
            this.#draw(image, image.width, image.height, upright);
            this.recordedAt = at;
        }
        image.close();
    }

    /**
     * @param {CanvasImageSource | VideoFrame} image
     * @param {number} across Its width as it is.
     * @param {number} down
     * @param {import('./live-samples.js').Turn} turn
     */
    #draw(image, across, down, [a, b, c, d]) {
        const [width, height] = [Math.abs(a * across + c * down), Math.abs(b * across + d * down)];
        if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
        // Rotation and mirroring move the picture off the canvas: it is translated back.
        this.#context?.setTransform(a, b, c, d, a + c < 0 ? width : 0, b + d < 0 ? height : 0);
        this.#context?.drawImage(image, 0, 0, across, down);
    }

    /** Decodes pictures that are due soon. */
    #pump() {
        const target = this.#targetNow();
        // In a backlog, pictures before the last keyframe at or before the wanted time are dropped.
        let start = this.#waiting.length - 1;
        while (start > 0 && !(this.#waiting[start].isKeyframe && this.#waiting[start].time <= target)) start -= 1;
        this.#waiting.splice(0, Math.max(0, start));
        [this.dropped, this.cut] = [this.dropped + Math.max(0, start), this.cut + Math.max(0, start)];
        const most = this.#isBehind ? fewDecoding : mostDecoding;
        while (this.#decoder && this.#waiting.length && this.#decoder.decodeQueueSize < most
            && (this.#waiting[0].time < target + ahead || this.at === null || this.isHurried) && this.#decoded.length < mostDecoded) {
            const picture = /** @type {import('./live-samples.js').Picture & { came: number }} */ (this.#waiting.shift());
            const timestamp = Math.round(picture.time * 1e6);
            // It could have been decoded when it came: that it was kept until soon before its time is no lateness of the source. Were it counted,
            // a long delay would be the reason for a long delay.
            const due = performance.now() / 1000 - Math.max(0, target + ahead - picture.time);
            if (this.#sent.size >= mostSent) this.#sent.clear();
            this.#sent.set(timestamp, { came: picture.came, held: Math.max(0, due - picture.came) });
            this.#decoder.decode(new EncodedVideoChunk({
                type: picture.isKeyframe ? 'key' : 'delta',
                timestamp,
                duration: Math.round(picture.duration * 1e6),
                data: picture.bytes,
            }));
        }
    }

    /** @param {VideoFrame} frame */
    #take(frame) {
        const [time, now] = [frame.timestamp / 1e6, this.#now()];
        const sent = this.#sent.get(frame.timestamp);
        this.#sent.delete(frame.timestamp);
        if (sent && now !== null && this.end !== null && time > this.end - 0.5 && !this.isReduced) {
            const [age, held] = [now - time, sent.held];
            this.#need.observe(needOf({ age, held, decoding: performance.now() / 1000 - sent.came - held }), sent.came, latest);
        }
        if (this.#until === null || time > this.#until - 0.5 || time < this.#until - 5) this.#until = this.#distance.end(time, (frame.duration ?? 0) / 1e6);
        if (this.end === null || time > this.end || time < this.end - 5) this.end = time + (frame.duration ?? 0) / 1e6;
        let place = this.#decoded.length;
        while (place > 0 && this.#decoded[place - 1].timestamp > frame.timestamp) place -= 1;
        this.#decoded.splice(place, 0, frame);
        // In a backlog, only the newest picture is painted, with the next refresh.
        if (this.at === null || (this.isHurried && (this.#decoder?.decodeQueueSize ?? 0) <= 1)) this.paint();
        this.#pump();
    }

    /** Whether its decoder has failed repeatedly: a media element may decode the same pictures. */
    get hasGivenUp() {
        return this.#failures >= mostFailures;
    }

    /** The delay with which it can be shown, seconds; null: not known. */
    get need() {
        return this.#need.value;
    }

    /** Where its decoded pictures end, session time; null: other tiles do not wait for it. */
    get until() {
        return this.at === null || this.isReduced || this.trouble || !this.hasTrack ? null : this.#until;
    }

    /**
     * Sets the wanted time.
     * @param {number} time Session time.
     * @param {number} rate Of the wanted time.
     */
    step(time, rate) {
        this.#target.set(time, performance.now() / 1000, rate);
        this.#pump();
    }

    /** Whether the computer does not keep up with decoding. */
    get isStrained() {
        return this.#isBehind || (this.#decoder?.decodeQueueSize ?? 0) > mostDecoding / 2;
    }

    /** Whether due pictures have arrived and are not decoded yet. Late sources do not count. */
    get #isBehind() {
        return this.error < -behind && ((this.#waiting[0]?.time ?? Infinity) < this.#targetNow() || (this.#decoder?.decodeQueueSize ?? 0) > 1);
    }

    #targetNow() {
        return this.#target.at(performance.now() / 1000);
    }

    /**
     * Paints the picture whose time it is, if it is another one; called at each refresh of the screen.
     * @param {number} [time] Session time that is shown, where that is not the wanted time.
     */
    paint(time = this.#targetNow()) {
        let index = this.#decoded.length - 1;
        while (!this.isHurried && index >= 0 && this.#decoded[index].timestamp / 1e6 > time) index -= 1;
        // The first picture is shown before its time.
        if (index < 0 && this.at === null && this.#decoded.length) index = 0;
        if (index < 0) return;
        const gone = this.#decoded.splice(0, index + 1);
        const frame = /** @type {VideoFrame} */ (gone.pop());
        for (const other of gone) other.close();
        this.dropped += gone.length;
        this.painted += 1;
        this.#draw(frame, frame.displayWidth, frame.displayHeight, this.#track?.turn ?? upright);
        this.at = frame.timestamp / 1e6;
        this.recordedAt = null;
        // A refresh and the length of the picture are no lateness.
        this.error = Math.min(0, this.at + (frame.duration ?? 0) / 1e6 - this.#targetNow());
        frame.close();
    }
}
