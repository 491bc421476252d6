// @ts-check
// The clock that all pictures follow: session time, its speed, and whether it runs.

export class PlaybackClock {
    /** @param {number} at */
    constructor(at) {
        /** Session time when it was set last. */
        this.set = at;
        this.since = performance.now();
        this.rate = 1;
        /** The user has started playback. */
        this.isPlaying = false;
        /** Playback is waiting for media. */
        this.isHeld = false;
    }

    /** Session time, seconds. */
    get now() {
        if (!this.isPlaying || this.isHeld) return this.set;
        return this.set + (this.rate * (performance.now() - this.since)) / 1000;
    }

    /** @param {number} time */
    seek(time) {
        this.set = time;
        this.since = performance.now();
    }

    /** @param {boolean} value */
    play(value) {
        this.seek(this.now);
        this.isPlaying = value;
    }

    /** @param {boolean} value */
    hold(value) {
        if (value === this.isHeld) return;
        this.seek(this.now);
        this.isHeld = value;
    }

    /** @param {number} rate Below 0: backwards. */
    setRate(rate) {
        this.seek(this.now);
        this.rate = rate;
    }

    /** Whether time passes now. */
    get isRunning() {
        return this.isPlaying && !this.isHeld;
    }
}
