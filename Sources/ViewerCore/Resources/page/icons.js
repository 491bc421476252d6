// @ts-check
// Signs on buttons, drawn: letters for them are not on every computer. A button's label says the same in words.

const shapes = {
    sound: 'M3 9v6h4l5 4V5L7 9zM15 9c1.5 1.6 1.5 4.4 0 6M18 6.5c3 3 3 8 0 11',
    silent: 'M3 9v6h4l5 4V5L7 9zM16 9.5l5 5M21 9.5l-5 5',
    menu: 'M5 12h.01M12 12h.01M19 12h.01',
    full: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
};

/**
 * @param {keyof typeof shapes} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
    const space = 'http://www.w3.org/2000/svg';
    const drawing = document.createElementNS(space, 'svg');
    drawing.setAttribute('viewBox', '0 0 24 24');
    drawing.setAttribute('aria-hidden', 'true');
    drawing.classList.add('icon');
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', shapes[name]);
    drawing.append(path);
    return drawing;
}
