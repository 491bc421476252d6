// @ts-check
// The newest recorded picture of a source, shown until its first live one can be decoded: that comes with a keyframe, which may be seconds away.

import { address, get, request } from './api.js';
import { hasPictures } from './playback-coverage.js';

/** Usually a live picture arrives within this time, and no request is needed. Milliseconds. */
const patience = 120;
/** Width of the picture, pixels: a larger one would come after the keyframe. */
const width = 640;
/** One request serves all tiles that start within this time, milliseconds. */
const together = 1000;

/** @typedef {{ image: ImageBitmap, at: number }} RecordedPicture At: session time, seconds. */

/** @type {{ session: string, when: number, answer: Promise<any> } | undefined} */
let asked;

/** @param {string} session */
function overviewOf(session) {
    const now = performance.now();
    if (asked?.session !== session || now - asked.when > together) {
        asked = { session, when: now, answer: get(address`/api/v1/sessions/${session}`) };
    }
    return asked.answer;
}

/**
 * @param {string} session
 * @param {string} source
 * @param {AbortSignal} signal Cancels the request.
 * @returns {Promise<RecordedPicture | undefined>} Undefined if there is none, or after cancellation.
 */
export async function recordedPicture(session, source, signal) {
    await new Promise((resolve) => setTimeout(resolve, patience));
    if (signal.aborted) return undefined;
    try {
        const { sources } = await overviewOf(session);
        const found = sources.find((/** @type {{ name: string }} */ one) => one.name === source);
        const end = found?.endSeconds;
        if (end === undefined || !hasPictures(found) || signal.aborted) return undefined;
        const path = address`/api/v1/sessions/${session}/sources/${source}/picture.jpg`;
        const response = await request(`${path}?at=${(end - 0.001).toFixed(6)}&nearest=yes&width=${width}`, { signal });
        const at = Number(response.headers.get('X-Tributary-At') ?? NaN);
        const image = await createImageBitmap(await response.blob());
        if (!signal.aborted && Number.isFinite(at)) return { image, at };
        image.close();
    } catch {
        // No picture can be read yet, or the viewer is busy: the live picture follows anyway.
    }
    return undefined;
}
