/// One probe and reply between an agent and the collector: the four timestamps of NTP (RFC 5905 §8).
///
/// The values come from the network and are unchecked until ``rejection`` is read; ``ClockEstimator/add(_:)`` reads it.
package struct ClockExchange: Hashable, Sendable {
    /// Agent's clock when the probe was sent.
    package var t1Nanoseconds: Int64
    /// Collector's clock when the probe was received.
    package var t2Nanoseconds: Int64
    /// Collector's clock when the reply was sent.
    package var t3Nanoseconds: Int64
    /// Agent's clock when the reply was received.
    package var t4Nanoseconds: Int64

    package init(
        t1Nanoseconds: Int64, t2Nanoseconds: Int64, t3Nanoseconds: Int64, t4Nanoseconds: Int64
    ) {
        self.t1Nanoseconds = t1Nanoseconds
        self.t2Nanoseconds = t2Nanoseconds
        self.t3Nanoseconds = t3Nanoseconds
        self.t4Nanoseconds = t4Nanoseconds
    }

    /// The reason why an exchange is impossible.
    package enum Rejection: Hashable, Sendable, CaseIterable {
        /// A reading at or past ``ClockLimits/timestampNanoseconds``.
        case outOfRange
        /// The reply came before the probe was sent (t4 < t1).
        case agentClockBackwards
        /// The reply was sent before the probe was received (t3 < t2).
        case collectorClockBackwards
        /// The collector's processing time is longer than the whole exchange.
        case processingPastRoundTrip
    }

    /// The reason for a rejection; nil when the exchange may be used.
    package var rejection: Rejection? {
        let limit = ClockLimits.timestampNanoseconds
        let readings = [t1Nanoseconds, t2Nanoseconds, t3Nanoseconds, t4Nanoseconds]
        if readings.contains(where: { $0 <= -limit || $0 >= limit }) { return .outOfRange }
        if t4Nanoseconds < t1Nanoseconds { return .agentClockBackwards }
        if t3Nanoseconds < t2Nanoseconds { return .collectorClockBackwards }
        if t3Nanoseconds - t2Nanoseconds > t4Nanoseconds - t1Nanoseconds {
            return .processingPastRoundTrip
        }
        return nil
    }

    /// Network delay in both directions together, without the collector's processing.
    ///
    /// - Precondition: ``rejection`` is nil.
    package var roundTripDelayNanoseconds: Int64 {
        (t4Nanoseconds - t1Nanoseconds) - (t3Nanoseconds - t2Nanoseconds)
    }

    /// Clock offset, collector − agent, assuming equal delays in both directions; wrong by at most half of
    /// ``roundTripDelayNanoseconds``, whatever the delays are.
    ///
    /// - Precondition: ``rejection`` is nil.
    package var offsetNanoseconds: Int64 {
        lowestOffsetNanoseconds
            + (highestOffsetNanoseconds - lowestOffsetNanoseconds) / 2
    }

    /// Upper limit of the offset at ``t1Nanoseconds``: no probe arrives before it was sent.
    ///
    /// - Precondition: ``rejection`` is nil.
    var highestOffsetNanoseconds: Int64 { t2Nanoseconds - t1Nanoseconds }

    /// Lower limit of the offset at ``t4Nanoseconds``: no reply arrives before it was sent.
    ///
    /// - Precondition: ``rejection`` is nil.
    var lowestOffsetNanoseconds: Int64 { t3Nanoseconds - t4Nanoseconds }
}
