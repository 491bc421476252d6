import Media

/// Reception statistics of one sender (RFC 3550 §A.3, §A.8). Times are nanoseconds of one clock.
struct ReceptionStatistics: Hashable, Sendable {
    private let clockRate: UInt32
    private(set) var source: UInt32?
    private var first: Int64 = 0
    private var highest: Int64 = 0
    private var received = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore = 0
    /// 1/16 tick.
    private var jitter: Int64 = 0
    private var last: (arrival: Int64, timestamp: UInt32)?
    private var report: (ntp: UInt64, arrival: Int64)?

    init(clockRate: UInt32) {
        self.clockRate = clockRate
    }

    /// - Parameter number: its extended sequence number.
    mutating func note(_ packet: RTPPacket, number: Int64, arrival: Int64) {
        if source != packet.source {
            self = ReceptionStatistics(clockRate: clockRate)
            source = packet.source
            first = number
            highest = number
        }
        highest = max(highest, number)
        received += 1
        if let last, packet.timestamp != last.timestamp {
            let ticks = saturatingRescale(
                arrival - last.arrival, from: .nanoseconds, to: Timescale(max(1, clockRate)))
            let step = Int64(Int32(bitPattern: packet.timestamp &- last.timestamp))
            // Limits the effect of an implausible timestamp.
            let difference = min((ticks - step).magnitude, UInt64(clockRate) * 16)
            jitter += Int64(difference) - (jitter + 8) / 16
        }
        last = (arrival, packet.timestamp)
    }

    /// The sender's sequence numbers have restarted: the next packet begins the count.
    mutating func restart() { source = nil }

    mutating func note(_ report: SenderReport, arrival: Int64) {
        guard report.source == source else { return }
        self.report = (report.ntp, arrival)
    }

    /// The report block since the last call; nil before the first packet.
    mutating func block(now: Int64) -> ReportBlock? {
        guard let source else { return nil }
        let expected = highest - first + 1
        let expectedNow = expected - expectedBefore
        let lostNow = expectedNow - Int64(received - receivedBefore)
        expectedBefore = expected
        receivedBefore = received
        let fraction = expectedNow > 0 ? max(0, min(255, 256 * lostNow / expectedNow)) : 0
        let delay = report.map { max(0, now - $0.arrival) } ?? 0
        return ReportBlock(
            source: source, fractionLost: UInt8(fraction),
            totalLost: Int(clamping: expected - Int64(received)),
            highestSequence: UInt32(truncatingIfNeeded: highest),
            jitter: UInt32(clamping: jitter / 16),
            lastReport: UInt32(truncatingIfNeeded: (report?.ntp ?? 0) >> 16),
            delay: UInt32(
                clamping: saturatingRescale(delay, from: .nanoseconds, to: Timescale(65_536))))
    }

    static func == (left: ReceptionStatistics, right: ReceptionStatistics) -> Bool {
        left.source == right.source && left.highest == right.highest
            && left.received == right.received && left.jitter == right.jitter
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(source)
        hasher.combine(highest)
        hasher.combine(received)
    }
}
