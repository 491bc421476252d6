package import Media

/// Requests the collector's time. Sent on a separate connection.
package struct ClockProbe: Hashable, Sendable {
    /// Agent's clock when sent, nanoseconds.
    package var t1: Int64

    package init(t1: Int64) {
        self.t1 = t1
    }
}

/// The collector's answer to a probe.
package struct ClockReply: Hashable, Sendable {
    /// Agent's clock when the probe was sent, nanoseconds.
    package var t1: Int64
    /// Collector's `CLOCK_MONOTONIC` when the probe was received, nanoseconds.
    package var t2: Int64
    /// Collector's `CLOCK_MONOTONIC` when the reply was sent, nanoseconds.
    package var t3: Int64
    /// Expected time from a sample's capture to its release, seconds; 0: released when persisted.
    package var releaseSeconds: UInt32
    /// The identity of the collector's clock, for other collectors; nil if unknown, or of a version before minor 12.
    package var clock: EpochID?

    package init(
        t1: Int64, t2: Int64, t3: Int64, releaseSeconds: UInt32 = 0, clock: EpochID? = nil
    ) {
        self.releaseSeconds = releaseSeconds
        self.clock = clock
        self.t1 = t1
        self.t2 = t2
        self.t3 = t3
    }
}

/// A finished clock exchange as the agent reports it: four raw, unchecked stamps.
package struct ReportedExchange: Hashable, Sendable {
    /// Agent's clock when the probe was sent, nanoseconds.
    package var t1: Int64
    /// Collector's clock when the probe was received, nanoseconds.
    package var t2: Int64
    /// Collector's clock when the reply was sent, nanoseconds.
    package var t3: Int64
    /// Agent's clock when the reply was received, nanoseconds.
    package var t4: Int64
    /// The number of the agent's clock domain in the Hello's epochs.
    package var epoch: UInt32

    package init(t1: Int64, t2: Int64, t3: Int64, t4: Int64, epoch: UInt32) {
        self.t1 = t1
        self.t2 = t2
        self.t3 = t3
        self.t4 = t4
        self.epoch = epoch
    }
}
