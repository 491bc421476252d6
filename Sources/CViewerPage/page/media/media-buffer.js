// @ts-check
// A media element with Media Source Extensions: queues fragments for appending, and removes old media.

/** Media before the shown picture that is kept, seconds. */
const keptBehind = 15;
const mostBehind = 25;
/** Limit of queued bytes, beyond which the browser has stopped appending. */
const mostWaiting = 24 << 20;

/** Safari on iPhones has only the managed one. */
const Source = /** @type {typeof MediaSource | undefined} */ (
    window.MediaSource ?? Reflect.get(window, 'ManagedMediaSource'));
const isManaged = !window.MediaSource && Source !== undefined;

/** @typedef {{ codecs: string, bytes: Uint8Array } | { bytes: Uint8Array }} Waiting */

/**
 * Whether this browser decodes it.
 * @param {string} type `video/mp4; codecs="avc1.64001e"`
 */
export const canPlay = (type) => Source?.isTypeSupported(type) ?? false;

export class MediaBuffer {
    /** @type {SourceBuffer | undefined} */
    #buffer;
    #source = new (/** @type {typeof MediaSource} */ (Source))();
    #address = '';
    /** @type {Waiting[]} */
    #waiting = [];
    #waitingBytes = 0;
    #type = '';
    #isClosed = false;
    #container;

    /**
     * @param {HTMLMediaElement} media
     * @param {'video' | 'audio'} kind
     * @param {{ appended: () => void, failed: (text: string) => void }} hearing
     */
    constructor(media, kind, hearing) {
        this.media = media;
        this.hearing = hearing;
        this.#container = `${kind}/mp4`;
        this.#source.addEventListener('sourceopen', this.#go);
        if (isManaged) {
            media.disableRemotePlayback = true;
            media.srcObject = this.#source;
            this.#source.addEventListener('startstreaming', this.#go);
        } else {
            this.#address = URL.createObjectURL(this.#source);
            media.src = this.#address;
        }
        media.addEventListener('error', this.#mediaError);
    }

    close() {
        this.#isClosed = true;
        this.#waiting = [];
        this.media.removeEventListener('error', this.#mediaError);
        if (isManaged) this.media.srcObject = null;
        else {
            this.media.removeAttribute('src');
            URL.revokeObjectURL(this.#address);
        }
        this.media.load();
    }

    /**
     * Starts a new initialization segment.
     * @param {string} codecs
     * @param {Uint8Array} bytes The initialization section.
     */
    begin(codecs, bytes) {
        this.#add({ codecs, bytes });
    }

    /**
     * @param {Uint8Array} bytes A fragment.
     */
    append(bytes) {
        this.#add({ bytes });
    }

    /** @returns {TimeRanges | undefined} */
    get buffered() {
        // After an error the buffer has left its source, and says so by throwing.
        if (!this.#buffer || this.#source.readyState === 'closed') return undefined;
        return this.#buffer.buffered;
    }

    /** End of the buffer, seconds; null if it is empty. */
    get end() {
        const ranges = this.buffered;
        return ranges?.length ? ranges.end(ranges.length - 1) : null;
    }

    /** @param {Waiting} item */
    #add(item) {
        if (this.#isClosed) return;
        this.#waiting.push(item);
        this.#waitingBytes += item.bytes.length;
        if (this.#waitingBytes > mostWaiting) return this.#fail('the browser takes no more media in');
        this.#go();
    }

    #go = () => {
        if (this.#isClosed || this.#source.readyState !== 'open' || this.#buffer?.updating) return;
        if (isManaged && Reflect.get(this.#source, 'streaming') === false && this.#buffer) return;
        const item = this.#waiting[0];
        if (!item) return this.#trim();
        /** @type {Uint8Array | undefined} */
        let bytes;
        try {
            if ('codecs' in item) this.#prepare(item.codecs);
            if (!this.#buffer) {
                this.#drop();
                return;
            }
            bytes = this.#nextBytes(item);
            this.#buffer.appendBuffer(/** @type {BufferSource} */ (bytes));
        } catch (error) {
            if (error instanceof DOMException && error.name === 'QuotaExceededError' && this.#makeRoom()) {
                // Its turn comes again when there is room.
                if (bytes) this.#putBack('codecs' in item ? item : { bytes });
                return;
            }
            this.#fail(error instanceof Error ? error.message : String(error));
        }
    };

    /**
     * All queued fragments as one piece, or an initialization segment.
     * @param {Waiting} first
     */
    #nextBytes(first) {
        if ('codecs' in first) {
            this.#drop();
            return first.bytes;
        }
        const pieces = [];
        while (this.#waiting[0] && !('codecs' in this.#waiting[0])) {
            pieces.push(this.#waiting[0].bytes);
            this.#drop();
        }
        if (pieces.length === 1) return pieces[0];
        const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
        let at = 0;
        for (const piece of pieces) {
            all.set(piece, at);
            at += piece.length;
        }
        return all;
    }

    #drop() {
        this.#waitingBytes -= this.#waiting.shift()?.bytes.length ?? 0;
    }

    /** @param {Waiting} item */
    #putBack(item) {
        this.#waiting.unshift(item);
        this.#waitingBytes += item.bytes.length;
    }

    /** @param {string} codecs */
    #prepare(codecs) {
        const type = `${this.#container}; codecs="${codecs}"`;
        if (!this.#buffer) {
            this.#buffer = this.#source.addSourceBuffer(type);
            this.#buffer.addEventListener('updateend', () => {
                if (this.#isClosed) return;
                this.hearing.appended();
                this.#go();
            });
        } else if (type !== this.#type) this.#buffer.changeType(type);
        this.#type = type;
    }

    /** Removes old media. */
    #trim() {
        const ranges = this.buffered;
        if (!ranges?.length || !this.#buffer) return;
        const now = this.media.currentTime;
        if (ranges.start(0) < now - mostBehind) this.#buffer.remove(0, now - keptBehind);
    }

    /** Forgets more than usual, because the browser has no room. */
    #makeRoom() {
        const ranges = this.buffered;
        const until = this.media.currentTime - 2;
        if (!this.#buffer || !ranges?.length || ranges.start(0) >= until) return false;
        this.#buffer.remove(0, until);
        return true;
    }

    #mediaError = () => {
        this.#fail(this.media.error?.message || 'the browser cannot decode it');
    };

    /** @param {string} text */
    #fail(text) {
        if (this.#isClosed) return;
        this.#isClosed = true;
        this.hearing.failed(text);
    }
}
