import Media

/// The duration of a track's units, in ticks of its RTP clock.
package enum UnitLength: Hashable, Sendable {
    case unknown
    /// Each packet has a fixed number of samples.
    case ticks(Int64)
    /// PCM.
    case bytesPerTick(Int)

    func ticks(of unit: AccessUnit) -> Int64? {
        switch self {
        case .unknown: nil
        case .ticks(let ticks): ticks
        case .bytesPerTick(let bytes): Int64(unit.data.count / max(1, bytes))
        }
    }
}

/// Replaces a sound track's timestamps by a count of its samples where they contradict each other.
///
/// Samples are counted if, for ``wrongPackets`` packets in a row, the distance of two timestamps is not the length of the packet
/// between them, and arrivals agree with the lengths rather than with the timestamps. Lost packets count as long as the one before
/// them. Arrivals determine the offset, as of timestamps (``ArrivalClock``).
struct SoundStamps: Sendable {
    private struct Packet {
        var number: Int64
        var lastNumber: Int64
        var stamp: UInt32
        var arrival: Int64
        var length: Int64
        /// Its first sample by the count.
        var start: UInt32
    }

    /// Packets that disagree before samples are counted.
    private static let wrongPackets = 10
    /// Tolerated difference of a packet's distance and its length: a share of the length.
    private static let toleranceShare: Int64 = 8
    /// Packets that are missing before another one; more of them are not counted.
    private static let mostMissing: Int64 = 1_000

    private let length: UnitLength
    private let clockRate: UInt32
    private var last: Packet?
    /// The first of the packets that disagree, and the ticks since then, by timestamps and by length.
    private var wrong: (count: Int, arrival: Int64, stamps: Int64, lengths: Int64)?
    /// Whether samples are counted.
    private(set) var isCounting = false

    init(_ length: UnitLength, clockRate: UInt32) {
        self.length = length
        self.clockRate = max(1, clockRate)
    }

    /// Whether it is not decided yet if samples are counted.
    var isInDoubt: Bool {
        guard let wrong else { return false }
        return !isCounting && wrong.count < Self.wrongPackets
    }

    /// The first sample of the next unit by the count, which begins with the first timestamp.
    mutating func count(_ unit: AccessUnit) -> UInt32 {
        guard let ticks = length.ticks(of: unit) else { return unit.timestamp }
        var next = Packet(
            number: unit.firstNumber, lastNumber: unit.lastNumber, stamp: unit.timestamp,
            arrival: unit.firstArrivalNanoseconds, length: ticks, start: unit.timestamp)
        defer { last = next }
        guard let packet = last else { return next.start }
        if packet.number == unit.firstNumber {
            // Another unit of the same packet.
            next = packet
            next.length = packet.length.clampedAdding(ticks)
            return packet.start &+ UInt32(truncatingIfNeeded: packet.length)
        }
        let missing = unit.firstNumber.clampedSubtracting(packet.lastNumber).clampedSubtracting(1)
        let lost = (0...Self.mostMissing).contains(missing) ? missing : 0
        if lost == 0 { compare(packet, unit) }
        next.start = packet.start &+ UInt32(truncatingIfNeeded: packet.length &* (1 + lost))
        return next.start
    }

    private mutating func compare(_ packet: Packet, _ unit: AccessUnit) {
        guard !isCounting else { return }
        let distance = Int64(Int32(bitPattern: unit.timestamp &- packet.stamp))
        let difference = distance.clampedSubtracting(packet.length)
        guard difference.magnitude > (packet.length / Self.toleranceShare).magnitude else {
            wrong = nil
            return
        }
        var run = wrong ?? (0, packet.arrival, 0, 0)
        run.count += 1
        run.stamps = run.stamps.clampedAdding(distance)
        run.lengths = run.lengths.clampedAdding(packet.length)
        wrong = run
        guard run.count >= Self.wrongPackets else { return }
        let passed = saturatingRescale(
            unit.firstArrivalNanoseconds.clampedSubtracting(run.arrival), from: .nanoseconds,
            to: Timescale(clockRate))
        isCounting =
            run.lengths.clampedSubtracting(passed).magnitude
            < run.stamps.clampedSubtracting(passed).magnitude
    }
}
