// @ts-check
// The frames of /api/v1/live: u32 bytes of a header, u32 bytes of a body (big-endian), the header (JSON), the body.

/**
 * @typedef {object} FrameHeader
 * @property {'begin' | 'media' | 'skipped' | 'gone' | 'beat'} type
 * @property {string} [source]
 * @property {string} [collector] The collector that it comes from, if the viewer hears several.
 * @property {string} [session]
 * @property {string} [zero] The session's zero, RFC 3339.
 * @property {string} [codecs]
 * @property {number} [atSeconds] Session time.
 * @property {number} [durationSeconds]
 * @property {number} [boundSeconds]
 * @property {number} [lagSeconds] From the end of the last sample to when the collector had it.
 * @property {boolean} [isKeyframe]
 */

/** @typedef {{ header: FrameHeader, body: Uint8Array }} Frame */

/** A header has a dozen fields. */
const longestHeader = 1 << 16;
/** A second of the largest picture that is recorded. */
const longestBody = 1 << 26;

/** Cuts a stream of bytes into frames. */
export class FrameReader {
    #bytes = new Uint8Array(1 << 18);
    #start = 0;
    #end = 0;
    #decoder = new TextDecoder();

    /**
     * Parses received data.
     * @param {Uint8Array} chunk
     * @returns {Frame[]} The complete frames.
     * @throws {Error} If the data is malformed.
     */
    take(chunk) {
        this.#append(chunk);
        const frames = [];
        for (let frame = this.#next(); frame; frame = this.#next()) frames.push(frame);
        return frames;
    }

    /** @param {Uint8Array} chunk */
    #append(chunk) {
        if (this.#end + chunk.length > this.#bytes.length) {
            const rest = this.#bytes.subarray(this.#start, this.#end);
            const needed = rest.length + chunk.length;
            const room = needed > this.#bytes.length ? new Uint8Array(2 * needed) : this.#bytes;
            room.set(rest);
            this.#bytes = room;
            this.#end -= this.#start;
            this.#start = 0;
        }
        this.#bytes.set(chunk, this.#end);
        this.#end += chunk.length;
    }

    /** @returns {Frame | undefined} */
    #next() {
        if (this.#end - this.#start < 8) return undefined;
        const view = new DataView(this.#bytes.buffer, this.#start);
        const [header, body] = [view.getUint32(0), view.getUint32(4)];
        if (header > longestHeader || body > longestBody) throw new Error('the live answer is damaged');
        const from = this.#start + 8;
        if (this.#end < from + header + body) return undefined;
        this.#start = from + header + body;
        return {
            header: JSON.parse(this.#decoder.decode(this.#bytes.subarray(from, from + header))),
            body: this.#bytes.slice(from + header, from + header + body),
        };
    }
}
