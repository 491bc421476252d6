// @ts-check
// The session's present time, the latency of a source, and the delay at which all sources can be shown at the same instant. Values
// without I/O: every method gets the time, in seconds of a monotonic clock.

/** Lifetime of an observation, because clocks of two computers drift, seconds. */
const observationLife = 30;

/** The present session time, by the sample with the least latency. */
export class SessionClock {
    /**
     * Largest differences of session time and local time, oldest first; each is larger than those after it.
     * @type {{ at: number, offset: number }[]}
     */
    #best = [];

    /**
     * Registers a fragment: the session time at which it was at the collector, and its arrival here.
     * @param {number} sessionSeconds
     * @param {number} now
     */
    observe(sessionSeconds, now) {
        const offset = sessionSeconds - now;
        while (this.#best.length && this.#best[this.#best.length - 1].offset <= offset) this.#best.pop();
        this.#best.push({ at: now, offset });
        while (this.#best[0].at < now - observationLife) this.#best.shift();
    }

    /**
     * @param {number} now
     * @returns {number | null} Null: nothing was observed yet.
     */
    at(now) {
        return this.#best.length ? now + this.#best[0].offset : null;
    }
}

/** Window of a source's latency, unless another is given: the last seconds. */
const needLife = 6;
/** Fraction of the window in which media must be available, unless another is given: that of a media element, which stalls. */
const needCovered = 0.96;
/**
 * Maximum weight of a single wait, seconds, so that one interruption does not determine the result; less than the part of the window
 * that may be uncovered.
 */
const heaviest = 0.2;
/** Minimum observed time, seconds. */
const leastSeen = 0.4;

/** The delay at which a source's next fragment arrives in time. */
export class NeedEstimate {
    /** @type {number} */
    #covered;
    /** @type {number} */
    #life;
    /** @type {{ at: number, need: number, weight: number }[]} */
    #seen = [];
    #last = Infinity;
    /** Time in which it came, without interruptions. */
    #active = 0;

    /**
     * @param {number} [covered] Fraction of the window in which media must be available.
     * @param {number} [life] The window, seconds.
     */
    constructor(covered = needCovered, life = needLife) {
        [this.#covered, this.#life] = [covered, life];
    }

    /**
     * A fragment has arrived.
     * @param {number} need Delay of the end of the previous media, seconds: with a smaller delay, playback would have stalled.
     * @param {number} came Arrival; fragments that arrive together weigh as much as one.
     * @param {number} most Limit of the delay; later media is late, and not waited for.
     */
    observe(need, came, most) {
        // The first fragment was cached, and has no information.
        const weight = Math.max(0, Math.min(heaviest, came - this.#last));
        if (this.#last === Infinity || came > this.#last) this.#last = came;
        this.#active += weight;
        this.#seen = this.#seen.filter((one) => one.at > this.#active - this.#life);
        if (need <= most) this.#seen.push({ at: this.#active, need, weight });
    }

    /** @returns {number | null} Seconds; null: not known. */
    get value() {
        const sorted = [...this.#seen].sort((one, other) => one.need - other.need);
        const whole = sorted.reduce((sum, one) => sum + one.weight, 0);
        if (whole < leastSeen) return null;
        let sum = 0;
        for (const one of sorted) {
            sum += one.weight;
            if (sum >= this.#covered * whole) return one.need;
        }
        return null;
    }
}

/** Maximum change of the delay per second: less than tiles can follow. */
const slew = 0.06;
/** Maximum increase per second if the page paints the pictures: a media element with pictures could not follow. */
const quickGrowth = 0.5;
/** Hysteresis, because small changes of the delay are more visible than the delay. Seconds. */
const slack = 0.02;
const muchTooLong = 0.1;
/** A larger difference is jumped over. */
const jump = 0.8;

/** A delay that follows the required one smoothly. */
export class SmoothDelay {
    /** @type {number | null} */
    value = null;
    /** The resulting playback rate. */
    rate = 1;
    #last = 0;

    /**
     * @param {number | null} wanted
     * @param {number} now
     * @param {number} [hurry] Maximum decrease per second while it is much too long.
     * @param {number} [growth] Maximum increase per second.
     */
    follow(wanted, now, hurry = slew, growth = slew) {
        const elapsed = Math.min(1, Math.max(0.001, now - this.#last));
        const before = this.value;
        this.#last = now;
        this.rate = 1;
        if (wanted === null) return;
        if (this.value === null || Math.abs(wanted - this.value) > jump) this.value = wanted;
        else if (wanted > this.value) this.value = Math.min(wanted, this.value + growth * elapsed);
        else if (wanted < this.value - muchTooLong) this.value = Math.max(wanted, this.value - hurry * elapsed);
        else if (wanted < this.value - slack) this.value = Math.max(wanted, this.value - (slew / 2) * elapsed);
        if (before !== null && Math.abs(this.value - before) < jump) this.rate = 1 - (this.value - before) / elapsed;
    }
}

/**
 * The maximum increase of a delay per second. Sound that plays at its time would be ahead of a time that slows down; for late sound, the time waits.
 * @param {boolean} arePainted Whether the page paints the pictures.
 * @param {number | null} pictures The delay that they need; null: not known.
 * @param {number | null} sound The delay that the heard sound needs; null: none is heard, or not known.
 */
export const growthOf = (arePainted, pictures, sound) => (arePainted && (sound === null || sound >= (pictures ?? 0)) ? quickGrowth : slew);

/** A time that runs: known at one instant, and its rate. Instants are seconds of a monotonic clock. */
export class RunningTime {
    #time = -Infinity;
    #when = 0;
    #rate = 1;

    /**
     * @param {number} time
     * @param {number} when
     * @param {number} rate
     */
    set(time, when, rate) {
        [this.#time, this.#when, this.#rate] = [time, when, rate];
    }

    /** @param {number} when */
    at(when) {
        return this.#time + (when - this.#when) * this.#rate;
    }
}

/**
 * The correction of a difference between the shown and the wanted picture.
 * @param {number} error Shown minus wanted, seconds.
 * @param {number} most Largest correction of the rate.
 * @param {number} rate The rate of the wanted time.
 * @returns {number} The playback rate.
 */
export function correction(error, most, rate) {
    const own = Math.abs(error) < 0.002 ? 0 : Math.max(-most, Math.min(most, 2 * error));
    return Math.round((rate - own) * 500) / 500;
}
