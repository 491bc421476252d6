// @ts-check
// Positions and sizes of the tiles: all of one size, as large as the window permits; or one large tile, and the others in a strip.

/** @typedef {{ left: number, top: number, width: number, height: number }} Box */

const aspect = 16 / 9;
/** Distance between tiles, pixels. */
const space = 4;
/** Minimum width of a tile, at which its name can be read, pixels: below it, the page scrolls. */
const narrowest = 150;
/** Minimum width of tiles beside a large one, pixels. */
const smallest = 90;

/**
 * The largest tiles that fit.
 * @param {number} count
 * @param {number} width
 * @param {number} height
 * @returns {{ boxes: Box[], height: number }} The height that they need.
 */
export function grid(count, width, height) {
    if (count === 0) return { boxes: [], height };
    let columns = 1;
    let best = 0;
    for (let candidate = 1; candidate <= count; candidate += 1) {
        const rows = Math.ceil(count / candidate);
        const byWidth = (width - space * (candidate - 1)) / candidate;
        const byHeight = ((height - space * (rows - 1)) / rows) * aspect;
        const size = Math.min(byWidth, byHeight);
        if (size > best) [best, columns] = [size, candidate];
    }
    const floor = Math.min(narrowest, width);
    if (best < floor) {
        best = floor;
        columns = Math.max(1, Math.floor((width + space) / (floor + space)));
        best = (width - space * (columns - 1)) / columns;
    }
    const [w, h] = [Math.floor(best), Math.floor(best / aspect)];
    const rows = Math.ceil(count / columns);
    const whole = rows * h + space * (rows - 1);
    const top = Math.max(0, Math.floor((height - whole) / 2));
    const boxes = Array.from({ length: count }, (_, index) => {
        const [row, column] = [Math.floor(index / columns), index % columns];
        const inRow = row === rows - 1 ? count - row * columns : columns;
        const left = Math.floor((width - inRow * w - space * (inRow - 1)) / 2);
        return { left: left + column * (w + space), top: top + row * (h + space), width: w, height: h };
    });
    return { boxes, height: Math.max(height, whole) };
}

/**
 * One tile large, the others beside or below it.
 * @param {number} count
 * @param {number} large Which.
 * @param {number} width
 * @param {number} height
 * @returns {{ boxes: Box[], height: number }}
 */
export function spotlight(count, large, width, height) {
    const others = count - 1;
    if (others === 0) return { boxes: [{ left: 0, top: 0, width, height }], height };
    const isWide = width / height > aspect * 0.9;
    const along = isWide ? height : width;
    // The smallest number of lines whose tiles are large enough.
    let [lines, w, h] = [0, 0, 0];
    do {
        lines += 1;
        const perLine = Math.ceil(others / lines);
        const room = Math.floor((along - space * (perLine - 1)) / perLine);
        w = Math.min(isWide ? Math.floor(room * aspect) : room, Math.round(Math.min(240, Math.max(96, width / 5))));
        h = Math.floor(w / aspect);
    } while (w < smallest && lines < 4);
    const perLine = Math.ceil(others / lines);
    const strip = lines * ((isWide ? w : h) + space);
    let place = 0;
    const boxes = Array.from({ length: count }, (_, index) => {
        if (index === large) {
            return isWide
                ? { left: 0, top: 0, width: width - strip, height }
                : { left: 0, top: 0, width, height: height - strip };
        }
        const [line, inLine] = [Math.floor(place / perLine), place % perLine];
        place += 1;
        return isWide
            ? { left: width - strip + space + line * (w + space), top: inLine * (h + space), width: w, height: h }
            : { left: inLine * (w + space), top: height - strip + space + line * (h + space), width: w, height: h };
    });
    return { boxes, height };
}

/**
 * The tile in a direction.
 * @param {Box[]} boxes
 * @param {number} from
 * @param {string} key An arrow's.
 */
export function neighbour(boxes, from, key) {
    const directions = /** @type {Record<string, [number, number]>} */ (
        { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
    const [dx, dy] = directions[key] ?? [0, 0];
    const middle = (/** @type {Box} */ box) => [box.left + box.width / 2, box.top + box.height / 2];
    const [x, y] = middle(boxes[from]);
    let [best, least] = [from, Infinity];
    boxes.forEach((box, index) => {
        const [otherX, otherY] = middle(box);
        const along = (otherX - x) * dx + (otherY - y) * dy;
        if (index === from || along < 1) return;
        const aside = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
        const distance = along + 2 * aside;
        if (distance < least) [best, least] = [index, distance];
    });
    return best;
}
