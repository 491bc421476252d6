// @ts-check
// Why the collector cannot record, in words.

import { counted, duration } from './format.js';
import { limits } from './limits.js';

/**
 * The disk, as the collector's status has it (proto/json/schema.json, "disk").
 * @typedef {object} Disk
 * @property {number} [freeBytes]
 * @property {number} [sizeBytes]
 * @property {number} [reserveBytes]
 * @property {number} [daysLeft]
 * @property {boolean} removesOldSegments
 * @property {number} filesWithoutRoom
 * @property {number} stuckFiles
 * @property {number} busySeconds
 * @property {number} [fdatasyncSeconds]
 */

/**
 * Problems of the disk that prevent recording, by the names of the alerts.
 * @param {Disk} disk
 * @returns {{ alert: string, text: string }[]}
 */
export function diskTroubles(disk) {
    const troubles = [];
    const hasRoom = (disk.freeBytes ?? Infinity) > (disk.reserveBytes ?? 0);
    if (disk.filesWithoutRoom > 0 || !hasRoom) {
        troubles.push({ alert: 'TributaryDiskFull', text: 'The disk is full: the minimum free space is reached. Agents keep their samples.' });
    }
    if (disk.stuckFiles > 0) {
        troubles.push({ alert: 'TributaryDiskFails', text: `The disk reports errors: ${counted(disk.stuckFiles, 'file')} cannot be written.` });
    }
    if (disk.busySeconds > limits.diskBusySeconds) {
        troubles.push({ alert: 'TributaryDiskHangs', text: `The disk has not responded for ${duration(disk.busySeconds)}.` });
    }
    return troubles;
}
