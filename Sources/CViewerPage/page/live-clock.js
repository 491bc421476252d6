// @ts-check
// Which time of the session it is, how late a source comes, and which delay lets all be shown at the same instant. Values without I/O: every
// method is told what time it is, in seconds of a clock that only goes forward.

/** Clocks of two computers drift: an observation counts for so long, seconds. */
const observationLife = 30;

/** The session's time now, by what has come earliest after it was captured. */
export class SessionClock {
    /**
     * Largest differences of session time and local time, oldest first; each is larger than those after it.
     * @type {{ at: number, offset: number }[]}
     */
    #best = [];

    /**
     * A fragment was at the collector at a time of the session, and is here now.
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

/** What counts for a source's delay: the last seconds. */
const needLife = 6;
/**
 * No single wait weighs more, seconds: an interruption is not how a source usually is. Less than what may be uncovered of the time that counts,
 * or one interruption would decide.
 */
const heaviest = 0.2;
/** What was seen for less time says nothing, seconds. */
const leastSeen = 0.4;
/** So much of the time what is shown has to be there. */
const covered = 0.96;

/** How far behind now a source has to be shown so that its next fragment is there in time. */
export class NeedEstimate {
    /** @type {{ at: number, need: number, weight: number }[]} */
    #seen = [];
    #last = Infinity;
    /** Time in which it came, without interruptions. */
    #active = 0;

    /**
     * More has become available.
     * @param {number} need How far what was there before was behind now, seconds: a picture later, and the player would have stood still.
     * @param {number} came When it came; several that came together weigh as much as one.
     * @param {number} most What is later than this is late, and waits for nobody.
     */
    observe(need, came, most) {
        // What comes first was kept for whoever comes, and says nothing.
        const weight = Math.max(0, Math.min(heaviest, came - this.#last));
        if (this.#last === Infinity || came > this.#last) this.#last = came;
        this.#active += weight;
        this.#seen = this.#seen.filter((one) => one.at > this.#active - needLife);
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
            if (sum >= covered * whole) return one.need;
        }
        return null;
    }
}

/** The delay changes by so much a second, less than tiles can follow. */
const slew = 0.06;
/** What is a little too long stays: nobody sees it, and everybody sees unrest. Seconds. */
const slack = 0.02;
const muchTooLong = 0.1;
/** A larger difference is jumped over. */
const jump = 0.8;

/** A delay that follows what is needed without jerks. */
export class SmoothDelay {
    /** @type {number | null} */
    value = null;
    /** The rate at which what is shown goes on because of it. */
    rate = 1;
    #last = 0;

    /**
     * @param {number | null} wanted
     * @param {number} now
     * @param {number} [hurry] As much shorter it becomes a second while it is much too long.
     */
    follow(wanted, now, hurry = slew) {
        const elapsed = Math.min(1, Math.max(0.001, now - this.#last));
        const step = slew * elapsed;
        const before = this.value;
        this.#last = now;
        this.rate = 1;
        if (wanted === null) return;
        if (this.value === null || Math.abs(wanted - this.value) > jump) this.value = wanted;
        else if (wanted > this.value) this.value = Math.min(wanted, this.value + step);
        else if (wanted < this.value - muchTooLong) this.value = Math.max(wanted, this.value - hurry * elapsed);
        else if (wanted < this.value - slack) this.value = Math.max(wanted, this.value - step / 2);
        if (before !== null && Math.abs(this.value - before) < jump) this.rate = 1 - (this.value - before) / elapsed;
    }
}

/**
 * What to do about a difference between the picture that is shown and the one that should be.
 * @param {number} error Shown minus wanted, seconds.
 * @param {number} most Largest correction of the rate.
 * @param {number} rate The rate at which the time that is wanted goes on.
 * @returns {number} The rate to play with.
 */
export function correction(error, most, rate) {
    const own = Math.abs(error) < 0.002 ? 0 : Math.max(-most, Math.min(most, 2 * error));
    return Math.round((rate - own) * 500) / 500;
}
