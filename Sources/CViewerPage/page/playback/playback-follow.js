// @ts-check
// Makes a media element follow the clock: by small corrections of its speed, or by a jump when it is far away.

/** Maximum correction, as a fraction of the speed. */
const strongest = 0.1;
/** Correction for an error of one second, before the limit. */
const steepness = 2;
/** Smaller deviations are invisible, seconds at normal speed. */
const still = 0.004;
/** Beyond this distance it jumps, seconds at normal speed. */
const far = 0.3;
/** Duration of a seek while the clock runs, seconds. */
const jumpSeconds = 0.04;

/** Speeds at which browsers play. */
export const playable = { least: 0.0625, most: 16 };

/**
 * @param {HTMLMediaElement} element
 * @param {number} time Where it should be, on its own timeline.
 * @param {number} rate How fast the clock goes, above 0.
 * @param {number} [tolerance] An error that is left as it is, seconds at normal speed.
 * @returns {boolean} It had to jump.
 */
export function follow(element, time, rate, tolerance = still) {
    // Playing at its end would begin at 0 again.
    if (element.seeking || (element.ended && time > element.currentTime - far)) return false;
    const speed = Math.max(1, rate);
    const error = time - element.currentTime;
    const start = element.paused;
    let jumped = false;
    if (Math.abs(error) > (start ? far / 4 : far) * speed) {
        element.currentTime = time + jumpSeconds * rate;
        jumped = !start;
    }
    const correction = Math.abs(error) <= tolerance * speed || jumped
        ? 0 : Math.max(-strongest, Math.min(strongest, (error / speed) * steepness));
    const wanted = Math.max(playable.least, Math.min(playable.most, rate * (1 + correction)));
    if (Math.abs(element.playbackRate - wanted) > 0.002 * rate) element.playbackRate = wanted;
    if (start) element.play().catch(() => {});
    return jumped;
}
