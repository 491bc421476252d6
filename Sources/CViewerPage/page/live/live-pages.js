// @ts-check
// The pages of a wall with more tiles than fit, with optional automatic turning.

/** Tiles of the next page are decoded in advance, because keyframes may be seconds apart. Milliseconds. */
const ahead = 4000;

export class WallPages {
    /** @type {string[]} */
    #names = [];
    /** Tiles at once; null: all. @type {number | null} */
    #size;
    /** Milliseconds; null: they stay. @type {number | null} */
    #period;
    #turned;
    index = 0;
    isTurning;

    /**
     * @param {number | null} size
     * @param {number | null} turnSeconds
     * @param {number} now Milliseconds.
     */
    constructor(size, turnSeconds, now) {
        this.#size = size;
        this.#period = turnSeconds === null ? null : turnSeconds * 1000;
        this.isTurning = turnSeconds !== null;
        this.#turned = now;
    }

    /** @param {string[]} names All tiles, in their order. */
    setNames(names) {
        this.#names = names;
        if (this.index >= this.count) this.index = 0;
    }

    get count() {
        return this.#size === null ? 1 : Math.max(1, Math.ceil(this.#names.length / this.#size));
    }

    /** Whether automatic turning is possible. */
    get canTurn() {
        return this.#period !== null && this.count > 1;
    }

    /** @param {number} index */
    #page(index) {
        return this.#size === null ? this.#names : this.#names.slice(index * this.#size, (index + 1) * this.#size);
    }

    /** The names that are shown. */
    get shown() {
        return this.#page(this.index);
    }

    /**
     * Turns by a number of pages.
     * @param {number} pages
     * @param {number} now Milliseconds.
     */
    turn(pages, now) {
        this.index = (this.index + pages + this.count) % this.count;
        this.#turned = now;
    }

    /** @param {boolean} isTurning @param {number} now Milliseconds. */
    setTurning(isTurning, now) {
        this.isTurning = isTurning;
        this.#turned = now;
    }

    /**
     * Turns when it is time.
     * @param {number} now Milliseconds.
     * @returns {{ hasTurned: boolean, next: string[] }} Next: names that are shown soon.
     */
    step(now) {
        if (!this.canTurn || !this.isTurning || this.#period === null) return { hasTurned: false, next: [] };
        const rest = this.#turned + this.#period - now;
        if (rest > 0) return { hasTurned: false, next: rest <= ahead ? this.#page((this.index + 1) % this.count) : [] };
        this.turn(1, now);
        return { hasTurned: true, next: [] };
    }
}
