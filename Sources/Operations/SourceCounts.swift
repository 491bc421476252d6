/// The counters of a source since the collector's start, across sessions. They only grow.
///
/// A new one is counted in `SourceCounters` and published in `SourceMetrics`.
package struct SourceCounts: Hashable, Sendable {
    package var connections: UInt64 = 0
    package var pictures: UInt64 = 0
    package var soundPackets: UInt64 = 0
    /// Payload.
    package var receivedBytes: UInt64 = 0
    /// Payload.
    package var writtenBytes: UInt64 = 0
    package var segmentsBegun: UInt64 = 0
    package var segmentsFinished: UInt64 = 0
    /// Samples known to be missing from the session.
    package var lostSamples: UInt64 = 0
    /// By cause, named as in metrics.
    package var gaps: [String: Gaps] = [:]

    package init() {}

    /// Gaps of one cause.
    package struct Gaps: Hashable, Sendable {
        package var count: UInt64 = 0
        /// Missing samples, as far as their number is known.
        package var samples: UInt64 = 0

        package init(count: UInt64 = 0, samples: UInt64 = 0) {
            self.count = count
            self.samples = samples
        }
    }
}
