// @ts-check
// The pictures of a tile whose source has a preview: the renditions that arrive, the wanted one, and the one that is shown until then.

/** @typedef {import('./renditions.js').Rendition} Rendition */

/** A preview that is connected and from which nothing has come for this long is not waited for, milliseconds. */
const patience = 5000;
/** How far a switch may go back in time, seconds. */
const mostBack = 0.2;
/** A rendition whose pictures stay older than those of the shown one is switched to after this long, milliseconds. */
const longestWait = 4000;

/** Data received of one rendition. */
class Received {
    /**
     * The initialization frame.
     * @type {import('./live-frames.js').Frame | undefined}
     */
    begin;
    /** Arrival of the last media; 0: none. */
    heard = 0;
    /** The source has gone. */
    isGone = false;
    /** Why this browser cannot decode it; empty: it can, as far as is known. */
    trouble = '';
}

export class LiveRenditions {
    /**
     * The one that is shown.
     * @type {Rendition | undefined}
     */
    shown;
    /**
     * The rendition for the tile's size.
     * @type {Rendition}
     */
    target = 'preview';
    /**
     * The name of the preview.
     * @type {string | undefined}
     */
    preview;
    #isConnected = false;
    /** When the first keyframe of the wanted rendition came that was too old; 0: none has. */
    #waitingSince = 0;
    #since = 0;
    /** @type {Record<Rendition, Received>} */
    #received = { main: new Received(), preview: new Received() };

    /**
     * @param {string | undefined} name Undefined: there is none.
     * @param {boolean} isConnected
     */
    setPreview(name, isConnected) {
        if (name !== this.preview || (isConnected && !this.#isConnected)) this.#since = performance.now();
        if (name !== this.preview) this.#received.preview = new Received();
        this.preview = name;
        this.#isConnected = isConnected;
    }

    /** Whether pictures of the preview come, or may be expected. */
    get hasPreview() {
        const { heard, isGone } = this.#received.preview;
        return this.preview !== undefined && this.#isConnected && !isGone && (heard > 0 || performance.now() - this.#since < patience);
    }

    /**
     * The rendition to show as soon as possible.
     * @returns {Rendition}
     */
    get wanted() {
        const { main, preview } = this.#received;
        if (!this.hasPreview || (preview.trouble && !main.trouble)) return 'main';
        return main.trouble || main.isGone ? 'preview' : this.target;
    }

    /** Whether the pictures of the source itself are to be received, beside those of its preview. */
    get needsMain() {
        const isTarget = this.target === 'main' || this.wanted === 'main' || this.shown === 'main';
        return this.preview !== undefined && isTarget && !(this.#received.main.trouble && this.hasPreview);
    }

    /** Whether pictures of the preview replace those of the source, which cannot be decoded, in a moment. */
    get isPreviewDue() {
        return this.shown !== 'preview' && this.hasPreview && !this.#received.preview.trouble;
    }

    /** The initialization frame of the shown rendition. */
    get begin() {
        return this.shown && this.#received[this.shown].begin;
    }

    /** Whether every rendition that may be shown has ended. */
    get isGone() {
        const { main, preview } = this.#received;
        return this.shown === 'preview' ? preview.isGone && (main.isGone || main.heard === 0) : main.isGone && !this.hasPreview;
    }

    /** Why the source's own pictures are not shown although they are wanted; empty: they are. */
    get mainTrouble() {
        return this.shown === 'preview' && this.target === 'main' ? this.#received.main.trouble : '';
    }

    /**
     * The browser cannot decode what is shown.
     * @param {string} trouble
     */
    fail(trouble) {
        if (this.shown) this.#received[this.shown].trouble = trouble;
    }

    /**
     * Whether a switch at a keyframe would go back in time: a collector's last pictures of an unwatched source are old,
     * and newer ones follow soon.
     * @param {Received} own
     * @param {number} keyframe Session time, seconds.
     * @param {number | null} at
     */
    #isTooOld(own, keyframe, at) {
        const shown = this.shown && this.#received[this.shown];
        const canStay = shown && !shown.isGone && !shown.trouble && shown.begin?.header.session === own.begin?.header.session
            && performance.now() - shown.heard < patience;
        if (!canStay || at === null || keyframe >= at - mostBack) return false;
        this.#waitingSince ||= performance.now();
        return performance.now() - this.#waitingSince < longestWait;
    }

    /**
     * Notes a frame.
     * @param {Rendition} rendition
     * @param {import('./live-frames.js').Frame} frame An initialization frame's body is kept.
     * @param {number | null} at Session time of the shown picture, seconds.
     * @returns {boolean} Whether from this frame on it is shown: its initialization frame comes first.
     */
    take(rendition, frame, at = null) {
        const { header } = frame;
        const own = this.#received[rendition];
        switch (header.type) {
            case 'begin':
                if (own.begin?.header.codecs !== header.codecs) own.trouble = '';
                own.begin = frame;
                own.isGone = false;
                if (this.shown !== undefined) return false;
                this.shown = rendition;
                return true;
            case 'media': {
                own.heard = performance.now();
                own.isGone = false;
                const isOther = rendition !== this.shown && rendition === this.wanted && header.isKeyframe === true && own.begin !== undefined;
                if (!isOther || this.#isTooOld(own, header.atSeconds ?? 0, at)) return false;
                this.shown = rendition;
                this.#waitingSince = 0;
                return true;
            }
            case 'gone':
                own.isGone = true;
                return false;
            default:
                return false;
        }
    }
}
