// @ts-check
// The sound of one source: an element of its own, kept at the same time as the picture.

import { element } from './element.js';
import { Follower } from './live-follower.js';

/** Lowest rate of the time that it follows: a lower one would be audible. */
const lowestRate = 0.94;

export class LiveSound {
    /** In the document for inspection, but invisible. */
    media = element('audio', { hidden: true });
    #follower;
    name;

    /**
     * @param {string} name The source.
     * @param {() => number | null} now Session time.
     * @param {import('./live-frames.js').Frame | undefined} begin The source's initialization frame.
     */
    constructor(name, now, begin) {
        this.name = name;
        this.#follower = new Follower(this.media, 'audio', now);
        if (begin) this.take(begin);
        // Within the click: some browsers do not permit sound later.
        this.media.play().catch(() => {});
    }

    close() {
        this.#follower.close();
        this.media.remove();
    }

    /** Whether the source has sound. */
    get exists() {
        return this.#follower.hasTrack;
    }

    get need() {
        return this.#follower.need;
    }

    /** @param {import('./live-frames.js').Frame} frame The body is not changed: the picture needs it. */
    take({ header, body }) {
        if (header.type === 'begin') this.#follower.begin(header, body.slice());
        else if (header.type === 'media') this.#follower.take(header, body.slice());
        else if (header.type === 'skipped' || header.type === 'gone') this.#follower.skipped();
    }

    /**
     * @param {number} target Session time.
     * @param {number} rate Of the target time.
     */
    step(target, rate) {
        this.#follower.step(target, Math.max(lowestRate, rate));
    }
}
