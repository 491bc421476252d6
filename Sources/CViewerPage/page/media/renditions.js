// @ts-check
// Which pictures of a source a tile shows: its own, or those of its preview, which has fewer pixels (the source `NAME.preview`).

/** @typedef {'main' | 'preview'} Rendition */

/**
 * The user's choice: by the size of each tile, or one rendition for all tiles.
 * @typedef {'size' | Rendition} Quality
 */

/** Width of a preview's pictures until some have come, pixels. */
const usualWidth = 640;
/** So far a preview is enlarged before the pictures of the source are shown instead. */
const mostEnlarged = 1.5;

/**
 * What suits a tile.
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
