// Statements of an agent to a collector about the previous one.

/// Records that a collector has acknowledged as durable, and that their agent has forgotten.
package struct HeldRange: Hashable, Sendable {
    /// The collector's name; its endpoint, if it has none.
    package var collector: String
    package var sequences: ClosedRange<UInt64>

    package init(collector: String, sequences: ClosedRange<UInt64>) {
        self.collector = collector
        self.sequences = sequences
    }
}

/// The position of a session's zero on a collector's clock.
package struct SessionClock: Hashable, Sendable {
    /// The session's name: a valid directory name.
    package var session: String
    /// Nanoseconds since 1970 (UTC), as in its description.
    package var zeroUTCNanoseconds: Int64
    /// On the collector's `CLOCK_MONOTONIC`, nanoseconds.
    package var zeroNanoseconds: Int64
    /// Maximum error of ``zeroNanoseconds``.
    package var zeroErrorNanoseconds: Int64
    /// Length of its segments.
    package var segmentNanoseconds: Int64

    package init(
        session: String, zeroUTCNanoseconds: Int64, zeroNanoseconds: Int64,
        zeroErrorNanoseconds: Int64, segmentNanoseconds: Int64
    ) {
        self.session = session
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        self.zeroNanoseconds = zeroNanoseconds
        self.zeroErrorNanoseconds = zeroErrorNanoseconds
        self.segmentNanoseconds = segmentNanoseconds
    }
}

/// A session of another collector, with the data to continue it on the same timeline.
package struct SessionOffer: Hashable, Sendable {
    package var clock: SessionClock
    /// The other collector's name; its endpoint, if it has none.
    package var collector: String
    /// One exchange with that collector's clock.
    package var exchange: ReportedExchange

    package init(clock: SessionClock, collector: String, exchange: ReportedExchange) {
        self.clock = clock
        self.collector = collector
        self.exchange = exchange
    }
}
