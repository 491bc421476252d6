// @ts-check
// A short description of each alert, with what to do; the runbook (deploy/alerts.md) has more under the same names.

/**
 * @type {Record<string, { means: string, act: string }>}
 */
export const alerts = {
    TributaryCollectorDown: {
        means: 'The collector does not answer. Agents that run keep their samples: an hour of 4 Mbit/s, before the oldest are dropped.',
        act: 'systemctl status tributary-collector; the last line of its log says why it ended.',
    },
    TributaryCollectorHangs: {
        means: 'The receiving thread makes no progress. systemd restarts the collector after a minute, and the session continues.',
        act: 'Keep the log from before the restart, and report it if it happens again.',
    },
    TributaryViewerDown: {
        means: 'The viewer does not answer this page. Recording does not depend on it; the page shows the values that came last.',
        act: 'systemctl status tributary-viewer; check the network between this browser and the viewer.',
    },
    TributaryNotRecording: {
        means: 'No samples are accepted. An alert about the disk usually comes with it.',
        act: 'Ask /readyz of the collector, which says why.',
    },
    TributaryStrangers: {
        means: 'Connections are refused: boxes that are not authorised, wrong keys, port scanners. Recording is not affected.',
        act: 'Correct the box’s configuration, or block the address in the firewall. The log has the reasons.',
    },
    TributarySourcesOmitted: {
        means: 'There are more than 512 sources. All are recorded, but the others are not watched.',
        act: 'Use a second collector with its own archive.',
    },
    TributaryDiskFull: {
        means: 'The minimum free space is reached. Agents keep their samples; recording resumes by itself when there is room.',
        act: 'Remove sessions that are not needed, or set keep-free, keep-age or keep-bytes at the collector.',
    },
    TributaryDiskFillsSoon: {
        means: 'At the present rate the disk is full within three days, and retention is off.',
        act: 'Remove sessions that are not needed, or set keep-free, keep-age or keep-bytes at the collector.',
    },
    TributaryDiskFails: {
        means: 'The disk has reported an error. Files end at their last durable fragment, and the rest is sent again.',
        act: 'dmesg, smartctl -a. If the disk is failing, record to another one, then run tributary verify on the old archive.',
    },
    TributaryDiskSlow: {
        means: 'It takes more than a second to make samples durable. Nothing is lost; agents keep more samples.',
        act: 'Find out what else uses the disk (iotop), or whether it is a network file system.',
    },
    TributaryDiskHangs: {
        means: 'The disk has not responded for half a minute. Nothing becomes durable; agents keep their samples.',
        act: 'dmesg. A network file system may be dead, or a disk may be retrying.',
    },
    TributarySourceAway: {
        means: 'The source has not ended and its agent is not connected. If the agent runs, it keeps its samples and sends them later.',
        act: 'Check whether the box is up, and run tributary-agent doctor on it.',
    },
    TributarySourceSilent: {
        means: 'The agent is connected and sends no samples.',
        act: 'tributary agent SOURCE status names a camera that is unplugged or frozen.',
    },
    TributarySourceLate: {
        means: 'Samples arrive more than ten seconds after they were captured. After an outage this is the backlog, and passes.',
        act: 'Otherwise lower the bit rate, or improve the network.',
    },
    TributarySourceNotDurable: {
        means: 'Samples have reached the collector and have not been on its disk for 30 seconds. About two seconds are normal.',
        act: 'Look at the disk; if only one source is affected, the log says what its file waits for.',
    },
    TributarySpoolGrows: {
        means: 'The agent stores more than a gigabyte. Above its --spool-limit the oldest samples are dropped.',
        act: 'Find out whether the source is away or late, or the collector does not accept samples.',
    },
    TributaryOneCopy: {
        means: 'One of the two collectors of a source lacks more than 100 MB, which the agent keeps for it.',
        act: 'Start the collector that is named, or give its agents a third one.',
    },
    TributarySamplesLost: {
        means: 'Samples are missing in the recording; the ledger says which, when and why.',
        act: 'The session’s timeline shows every gap with its cause. Cables, a faster box, a lower bit rate, a larger spool.',
    },
    TributaryClockUncertain: {
        means: 'The source’s times are known less precisely than half a picture: the network delays messages strongly.',
        act: 'Look at the box’s network; wireless networks cause this. tributary retime improves the times afterwards.',
    },
};
