/// Timestamps in the packets of a network camera's sample, and their arrival: stored unchanged, so that times can be
/// computed again.
package struct CameraStamp: Hashable, Sendable {
    /// RTP timestamp, ticks of the track's clock (RFC 3550 §5.1); wraps.
    package var timestamp: UInt32
    /// Arrival of its first packet, nanoseconds of the agent's clock: the sample was captured before.
    package var arrivalNanoseconds: Int64
    /// From the arrival of its first packet to that of its last one, nanoseconds.
    package var arrivalSpanNanoseconds: Int64
    /// Sequence number of its first packet, without wraps.
    package var firstPacket: Int64
    /// Number of its packets.
    package var packets: UInt32

    package init(
        timestamp: UInt32, arrivalNanoseconds: Int64, arrivalSpanNanoseconds: Int64,
        firstPacket: Int64, packets: UInt32
    ) {
        self.timestamp = timestamp
        self.arrivalNanoseconds = arrivalNanoseconds
        self.arrivalSpanNanoseconds = arrivalSpanNanoseconds
        self.firstPacket = firstPacket
        self.packets = packets
    }
}

/// A network camera's sender report (RFC 3550 §6.4.1), with its arrival.
package struct CameraReport: Hashable, Sendable {
    /// SSRC.
    package var source: UInt32
    /// NTP timestamp: the camera's clock, seconds since 1900 in 32.32 fixed point.
    package var ntp: UInt64
    /// The same instant as RTP timestamp.
    package var timestamp: UInt32
    /// Nanoseconds of the agent's clock.
    package var arrivalNanoseconds: Int64

    package init(source: UInt32, ntp: UInt64, timestamp: UInt32, arrivalNanoseconds: Int64) {
        self.source = source
        self.ntp = ntp
        self.timestamp = timestamp
        self.arrivalNanoseconds = arrivalNanoseconds
    }
}

/// The stamps of a run of a network camera's samples, in their order.
package struct CameraStamps: Hashable, Sendable {
    /// Reports of a run: cameras send one every few seconds.
    package static let maximumReports = 16

    /// Ticks of a timestamp in a second, as the camera states.
    package var clockRate: UInt32
    /// One for each sample.
    package var stamps: [CameraStamp]
    /// Reports that arrived before the samples, since the run before.
    package var reports: [CameraReport]

    package init(clockRate: UInt32, stamps: [CameraStamp], reports: [CameraReport] = []) {
        self.clockRate = clockRate
        self.stamps = stamps
        self.reports = reports
    }

    /// Moves all arrivals, to another clock.
    package mutating func move(byNanoseconds shift: Int64) {
        for index in stamps.indices { stamps[index].arrivalNanoseconds &+= shift }
        for index in reports.indices { reports[index].arrivalNanoseconds &+= shift }
    }

    /// The stamps of some of the samples; the reports stay with the first.
    package func part(_ range: Range<Int>) -> CameraStamps {
        CameraStamps(
            clockRate: clockRate, stamps: Array(stamps[range]),
            reports: range.lowerBound == 0 ? reports : [])
    }
}
