// @ts-check
// Boxes of ISO base media files (ISO/IEC 14496-12 §4.2), in bytes that another program may have written.

/** @typedef {{ type: string, at: number, body: number, end: number }} Box Offsets of its header, its content and its end. */

/**
 * The boxes between two offsets; ends where one does not fit.
 * @param {DataView} view
 * @param {number} from
 * @param {number} until
 * @returns {Generator<Box>}
 */
export function* boxes(view, from, until) {
    let at = from;
    while (at + 8 <= until) {
        let size = view.getUint32(at);
        let body = at + 8;
        if (size === 1) {
            if (at + 16 > until) return;
            size = Number(view.getBigUint64(body));
            body += 8;
        } else if (size === 0) size = until - at;
        if (size < body - at || at + size > until) return;
        yield { type: fourCC(view, at + 4), at, body, end: at + size };
        at += size;
    }
}

/**
 * @param {DataView} view
 * @param {number} at
 */
export function fourCC(view, at) {
    return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)));
}

/**
 * The first box at a path below another.
 * @param {DataView} view
 * @param {{ body: number, end: number }} parent
 * @param {...string} path
 * @returns {Box | undefined}
 */
export function find(view, parent, ...path) {
    /** @type {Box | undefined} */
    let found;
    for (const type of path) {
        const inside = found ?? parent;
        found = undefined;
        for (const box of boxes(view, inside.body, inside.end)) {
            if (box.type === type) {
                found = box;
                break;
            }
        }
        if (!found) return undefined;
    }
    return found;
}

/**
 * Makes a `free` box of a box (§8.1.2), which keeps all offsets.
 * @param {DataView} view
 * @param {Box} box
 */
export function blank(view, box) {
    view.setUint32(box.at + 4, 0x66726565);
}

/**
 * Whether a full box has times of 8 bytes (§4.2.2): its version is 1.
 * @param {DataView} view
 * @param {Box} box
 */
export const isWide = (view, box) => view.getUint8(box.body) === 1;

/** @param {Uint8Array} bytes */
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
