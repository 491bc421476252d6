// @ts-check
// Limits beyond which a collector or source needs attention. A test compares them with deploy/monitoring/alerts.yaml and with
// `tributary top` (AlertLimits).

export const limits = {
    progressSeconds: 15,
    diskBusySeconds: 30,
    fdatasyncSeconds: 1,
    daysLeft: 3,
    refusedConnections: 20,
    refusedWithinSeconds: 900,
    undurableSeconds: 30,
    lagSeconds: 10,
    spoolBytes: 1e9,
    owedBytes: 1e8,
    gapsWithinSeconds: 600,
    clockBoundSeconds: 0.02,
    /** A source with a longer lag is late. */
    lateSeconds: 5,
    /** A source with older records that are not durable is unsaved. */
    unsavedSeconds: 10,
    /** Fewer bytes than this are in transit, and are not shown as owed. */
    inTransitBytes: 1e7,
};
