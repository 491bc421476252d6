// @ts-check
// The rendition of a source that a tile shows: its own pictures, or those of its preview, which has fewer pixels (the source `NAME.preview`).

/** @typedef {'main' | 'preview'} Rendition */

/**
 * The user's choice: by the size of each tile, or one rendition for all tiles.
 * @typedef {'size' | Rendition} Quality
 */

/** Assumed width of a preview's pictures until the first arrives, pixels. */
const usualWidth = 640;
/** Maximum enlargement of a preview: beyond it, the pictures of the source are shown. */
const mostEnlarged = 1.5;

/**
 * The rendition for a tile.
 * @param {Quality} quality
 * @param {number} width Of the tile, CSS pixels; of an enlarged picture, as wide as all of it would be.
 * @param {number} [previewWidth] Of the preview's pictures, pixels.
 * @returns {Rendition}
 */
export function renditionFor(quality, width, previewWidth) {
    if (quality !== 'size') return quality;
    return width * devicePixelRatio > (previewWidth || usualWidth) * mostEnlarged ? 'main' : 'preview';
}

/**
 * The preview of each source, by the name of the source.
 * @param {{ name: string, previewOf?: string }[]} sources
 * @returns {Map<string, string>}
 */
export function previewsOf(sources) {
    return new Map(sources.flatMap(({ name, previewOf }) => (previewOf === undefined ? [] : [[previewOf, name]])));
}
