// @ts-check
// Single pictures of a source whose codec this browser cannot decode: the viewer decodes them, at a few percent of a processor each.

import { request } from './api.js';
import { element } from './element.js';

/** Interval of pictures, milliseconds. */
const pause = 2000;
/** Maximum width of a picture, pixels: a larger one takes the viewer longer. */
const width = 640;

export class StillPictures {
    #image;
    #wanted = '';
    #nextAt = 0;
    #isLoading = false;

    /**
     * @param {Element} screen Gets the image.
     * @param {string} name Of the source.
     */
    constructor(screen, name) {
        this.#image = element('img', { className: 'still', hidden: true, alt: `Picture of ${name}` });
        screen.append(this.#image);
    }

    /**
     * Shows the picture of an address, or that of a newer one as soon as that may be fetched; called at least a few times a second.
     * @param {string} address Without a query for its width.
     * @param {boolean} isAlways Fetches the same address again.
     */
    show(address, isAlways) {
        const now = performance.now();
        if (this.#isLoading || now < this.#nextAt || (address === this.#wanted && !isAlways)) return;
        this.#wanted = address;
        this.#nextAt = now + pause;
        void this.#load(`${address}${address.includes('?') ? '&' : '?'}width=${width}`);
    }

    /** @param {string} address */
    async #load(address) {
        this.#isLoading = true;
        try {
            const response = await request(address);
            const picture = URL.createObjectURL(await response.blob());
            const before = this.#image.src;
            if (this.#wanted === '') return URL.revokeObjectURL(picture);
            this.#image.src = picture;
            this.#image.hidden = false;
            if (before) URL.revokeObjectURL(before);
        } catch {
            // Nothing is recorded yet, or the viewer is busy: the next picture is requested later.
        } finally {
            this.#isLoading = false;
        }
    }

    hide() {
        if (this.#wanted === '') return;
        this.#wanted = '';
        this.#image.hidden = true;
    }
}
