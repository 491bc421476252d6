// @ts-check
// Load reduction if the computer cannot decode everything: small tiles show keyframes only, instead of all tiles stalling.

/** Interval of checks for overload, seconds. */
export const looking = 1;
/** Consecutive checks with overload before the load is reduced. */
const patience = 3;
/** Checks until a reduction takes effect, because decoder queues are processed first. */
const working = 4;
/** Time without overload until the load is increased again, seconds. It is doubled if an overload follows soon. */
const firstTrial = 4;
const longestTrial = 600;
const soon = 20;
/** A tile that drops more of its pictures does not keep up. */
const mostDropped = 0.25;
/** Fraction of the tiles that has to be overloaded: the cause of a single one is its source. */
const mostStrained = 1 / 3;

/** Level 0: everything is decoded; 1: half of the small tiles show keyframes only; 2: all small tiles do. */
export class LoadReduction {
    level = 0;
    #strained = 0;
    #calmSince = 0;
    #trial = firstTrial;
    #triedAt = -Infinity;

    /**
     * @param {{ shown: number, dropped: number, isBehind: boolean }[]} tiles Tiles that decode everything: pictures since the last
     * check.
     * @param {number} now Seconds.
     * @returns {number} The level.
     */
    look(tiles, now) {
        const strained = tiles.filter(({ shown, dropped, isBehind }) =>
            isBehind || (shown > 0 && dropped / shown > mostDropped)).length;
        if (tiles.length > 1 && strained > tiles.length * mostStrained) {
            this.#strained += 1;
            this.#calmSince = now;
        } else this.#strained = Math.min(0, this.#strained + 1);
        if (this.#strained >= patience && this.level < 2) {
            this.level += 1;
            this.#strained = -working;
            this.#trial = now - this.#triedAt < soon ? Math.min(longestTrial, this.#trial * 2) : this.#trial;
        } else if (this.level > 0 && now - this.#calmSince > this.#trial) {
            this.level -= 1;
            [this.#calmSince, this.#triedAt] = [now, now];
        } else if (this.level === 0 && now - this.#triedAt > longestTrial) this.#trial = firstTrial;
        return this.level;
    }

    /**
     * @param {number} index Of a tile.
     * @param {boolean} isWatched It is large, has the focus or is heard.
     */
    isReduced(index, isWatched) {
        return !isWatched && (this.level === 2 || (this.level === 1 && index % 2 === 1));
    }
}
