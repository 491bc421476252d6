// @ts-check
// Icons of buttons, drawn because not every computer has characters for them. A button's label has the same meaning as text.

/** Lines, in a box of 24 × 24. */
const lines = {
    sound: 'M3 9v6h4l5 4V5L7 9zM15 9c1.5 1.6 1.5 4.4 0 6M18 6.5c3 3 3 8 0 11',
    past: 'M4 12a8 8 0 1 0 2.3-5.6M4 4v4h4M12 8v4.5l3 2',
    silent: 'M3 9v6h4l5 4V5L7 9zM16 9.5l5 5M21 9.5l-5 5',
};

/** Areas, in a box of 24 × 24. */
const areas = {
    menu: 'M3 12a2 2 0 1 0 4 0a2 2 0 1 0-4 0M10 12a2 2 0 1 0 4 0a2 2 0 1 0-4 0M17 12a2 2 0 1 0 4 0a2 2 0 1 0-4 0',
    play: 'M7 4v16l13-8z',
    pause: 'M6 4h4v16H6zM14 4h4v16h-4z',
    on: 'M8 5v14l9-7zM17 5h2v14h-2z',
    back: 'M16 5v14l-9-7zM5 5h2v14H5z',
    loop: 'M12 5a7 7 0 0 1 7 7h2.5L18 16l-3.5-4H17a5 5 0 0 0-5-5zM12 19a7 7 0 0 1-7-7H2.5L6 8l3.5 4H7a5 5 0 0 0 5 5z',
    zoomIn: 'M10 4a6 6 0 1 0 3.7 10.7L19 20l1.5-1.5-5.3-5.3A6 6 0 0 0 10 4m0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8m-1 1v2H7v2h2v2h2v-2h2V9h-2V7z',
    zoomOut: 'M10 4a6 6 0 1 0 3.7 10.7L19 20l1.5-1.5-5.3-5.3A6 6 0 0 0 10 4m0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8M7 9v2h6V9z',
};

/** @typedef {keyof typeof lines | keyof typeof areas} Icon */

/**
 * @param {Icon} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
    const space = 'http://www.w3.org/2000/svg';
    const drawing = document.createElementNS(space, 'svg');
    drawing.setAttribute('viewBox', '0 0 24 24');
    drawing.setAttribute('aria-hidden', 'true');
    drawing.classList.add('icon');
    if (name in areas) drawing.classList.add('filled');
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', { ...lines, ...areas }[name]);
    drawing.append(path);
    return drawing;
}
