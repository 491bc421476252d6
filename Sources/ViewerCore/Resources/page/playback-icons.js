// @ts-check
// Signs on buttons, drawn in the text's colour.

/** Paths in a box of 24 × 24. */
const paths = {
    play: 'M7 4v16l13-8z',
    pause: 'M6 4h4v16H6zM14 4h4v16h-4z',
    on: 'M8 5v14l9-7zM17 5h2v14h-2z',
    back: 'M16 5v14l-9-7zM5 5h2v14H5z',
    loop: 'M12 5a7 7 0 0 1 7 7h2.5L18 16l-3.500-4H17a5 5 0 0 0-5-5zM12 19a7 7 0 0 1-7-7H2.500L6 8l3.500 4H7a5 5 0 0 0 5 5z',
    zoomIn: 'M10 4a6 6 0 1 0 3.700 10.700L19 20l1.500-1.500-5.300-5.300A6 6 0 0 0 10 4m0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8m-1 1v2H7v2h2v2h2v-2h2V9h-2V7z',
    zoomOut: 'M10 4a6 6 0 1 0 3.700 10.700L19 20l1.500-1.500-5.300-5.300A6 6 0 0 0 10 4m0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8M7 9v2h6V9z',
};

/** @typedef {keyof typeof paths} Icon */

/** @param {Icon} name */
export function icon(name) {
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', paths[name]);
    svg.append(path);
    return svg;
}
