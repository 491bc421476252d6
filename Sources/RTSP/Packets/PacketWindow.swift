/// A loss before a packet.
package enum PacketLoss: Hashable, Sendable {
    /// Lost packets, by sequence number.
    case packets(first: UInt16, count: Int)
    /// The sender restarted its sequence numbers: the number of lost packets is unknown.
    case restart

    /// This loss and a later one before the same packet.
    func joined(by next: PacketLoss) -> PacketLoss {
        guard case .packets(let first, let count) = self, case .packets(_, let more) = next else {
            return .restart
        }
        return .packets(first: first, count: count + more)
    }
}

/// Reorders a sender's packets, and detects losses (RFC 3550 §A.1).
///
/// Over UDP, a missing packet is waited for during ``waitNanoseconds``, and while at most ``maximumHeld`` packets are queued. Over
/// TCP, a missing packet is lost at once.
package struct PacketWindow: Sendable {
    /// A packet in sequence order.
    package struct Ordered: Hashable, Sendable {
        package var packet: RTPPacket
        /// Extended sequence number, which does not wrap.
        package var number: Int64
        /// Arrival, nanoseconds of the caller's clock.
        package var arrivalNanoseconds: Int64
        /// The loss before it.
        package var loss: PacketLoss?
    }

    /// A keyframe in 4K has 500 packets.
    package static let maximumHeld = 1_024
    /// A larger gap is a restart of the sequence numbers (`MAX_DROPOUT`).
    static let largestHole: Int64 = 3_000
    /// A packet that is older belongs to another sequence (`MAX_MISORDER`).
    static let latest: Int64 = 1_024

    /// Old sequence numbers in a row, after which the sequence numbers have restarted whatever the timestamps are.
    static let mostOld = 64

    private let waitNanoseconds: Int64
    private var expected: Int64?
    /// SSRC of the sequence; nil before the first packet.
    package private(set) var source: UInt32?
    private var held: [Ordered] = []
    /// The newest timestamp of the sequence.
    private var newest: UInt32 = 0
    /// The unused packets since the last one of the sequence, which may be the beginning of another one.
    private var strays: [(packet: RTPPacket, arrival: Int64)] = []
    /// Duplicates, and packets that arrived after they were declared lost.
    package private(set) var unused = 0

    package init(waitNanoseconds: Int64) {
        self.waitNanoseconds = waitNanoseconds
    }

    /// When ``next(now:)`` is due without a new packet; nil if no packets are queued.
    package var deadlineNanoseconds: Int64? {
        held.first.map { $0.arrivalNanoseconds + waitNanoseconds }
    }

    /// Adds a received packet.
    /// - Returns: the packets that are in order now.
    package mutating func add(_ packet: RTPPacket, arrivalNanoseconds now: Int64) -> [Ordered] {
        guard let source, let expected else { return begin(with: packet, now) }
        let distance = Self.distance(from: UInt16(truncatingIfNeeded: expected), to: packet)
        guard packet.source == source, (0...Self.largestHole).contains(distance) else {
            let isOld = packet.source == source && (-Self.latest..<0).contains(distance)
            return addStray(packet, isOld: isOld, now)
        }
        strays = []
        let number = expected + distance
        guard !held.contains(where: { $0.number == number }) else {
            unused += 1
            return []
        }
        if Self.isNewer(packet.timestamp, than: newest) { newest = packet.timestamp }
        let place = held.firstIndex { $0.number > number } ?? held.count
        held.insert(
            Ordered(packet: packet, number: number, arrivalNanoseconds: now), at: place)
        return release(now: now)
    }

    /// Packets whose wait for a missing one is over.
    package mutating func next(now: Int64) -> [Ordered] { release(now: now) }

    /// Ends the stream, and returns all queued packets.
    package mutating func flush() -> [Ordered] {
        var rest: [Ordered] = []
        while !held.isEmpty { rest.append(takeFirst()) }
        return rest
    }

    // MARK: Restarts

    /// Keeps a packet that has no number in the sequence. If it shows that another sequence has begun, that one is continued.
    /// - Parameter isOld: its number is that of an earlier packet of the sequence.
    private mutating func addStray(
        _ packet: RTPPacket, isOld: Bool, _ now: Int64
    ) -> [Ordered] {
        unused += 1
        if let last = strays.last?.packet {
            let isNext = packet.sequence == last.sequence &+ 1
            // Over UDP, packets of the new sequence may be lost or overtake each other.
            let belongs = isNext || isOld && waitNanoseconds > 0
            if packet.source != last.source || !belongs { strays = [] }
        }
        strays.append((packet, now))
        guard strays.count > 1, !isOld || isRestart else { return [] }
        unused -= strays.count
        let rest = flush()
        return rest + restart()
    }

    /// Whether packets with old numbers are no late or repeated ones. Those have no newer timestamps, except for a picture that
    /// is decoded before others and presented after them.
    private var isRestart: Bool {
        var latest = newest
        var newer = 0
        for stray in strays where Self.isNewer(stray.packet.timestamp, than: latest) {
            latest = stray.packet.timestamp
            newer += 1
        }
        return newer > (waitNanoseconds > 0 ? 1 : 0) || strays.count >= Self.mostOld
    }

    /// Begins the sequence of the kept packets.
    private mutating func restart() -> [Ordered] {
        let run = strays
        let first = run.indices.min { left, right in
            Self.distance(from: run[0].packet.sequence, to: run[left].packet)
                < Self.distance(from: run[0].packet.sequence, to: run[right].packet)
        }
        guard let first else { return [] }
        var ordered = begin(with: run[first].packet, run[first].arrival)
        for index in run.indices where index != first {
            ordered += add(run[index].packet, arrivalNanoseconds: run[index].arrival)
        }
        return ordered
    }

    private static func isNewer(_ timestamp: UInt32, than other: UInt32) -> Bool {
        Int32(bitPattern: timestamp &- other) > 0
    }

    private static func distance(from sequence: UInt16, to packet: RTPPacket) -> Int64 {
        Int64(Int16(bitPattern: packet.sequence &- sequence))
    }

    private mutating func begin(with packet: RTPPacket, _ now: Int64) -> [Ordered] {
        let isFirst = source == nil
        source = packet.source
        newest = packet.timestamp
        strays = []
        let number = Int64(packet.sequence) + 65_536
        expected = number + 1
        return [
            Ordered(
                packet: packet, number: number, arrivalNanoseconds: now,
                loss: isFirst ? nil : .restart)
        ]
    }

    private mutating func release(now: Int64) -> [Ordered] {
        var ready: [Ordered] = []
        while let first = held.first {
            let isDue =
                first.number == expected || held.count > Self.maximumHeld
                || now - first.arrivalNanoseconds >= waitNanoseconds
            guard isDue else { break }
            ready.append(takeFirst())
        }
        return ready
    }

    private mutating func takeFirst() -> Ordered {
        var first = held.removeFirst()
        if let expected, first.number > expected {
            first.loss = .packets(
                first: UInt16(truncatingIfNeeded: expected), count: Int(first.number - expected))
        }
        expected = first.number + 1
        return first
    }
}
