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

    private let waitNanoseconds: Int64
    private var expected: Int64?
    private var source: UInt32?
    private var held: [Ordered] = []
    /// A packet outside the window, or of another source: if the next one follows it, the sequence numbers have restarted.
    private var stray: (packet: RTPPacket, arrival: Int64)?
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
        let distance = Int64(
            Int16(bitPattern: packet.sequence &- UInt16(truncatingIfNeeded: expected)))
        guard packet.source == source, distance >= -Self.latest, distance <= Self.largestHole else {
            if let stray, packet.source == stray.packet.source,
                packet.sequence == stray.packet.sequence &+ 1
            {
                self.stray = nil
                let rest = flush()
                return rest + begin(with: stray.packet, stray.arrival)
                    + add(packet, arrivalNanoseconds: now)
            }
            stray = (packet, now)
            unused += 1
            return []
        }
        let number = expected + distance
        guard distance >= 0, !held.contains(where: { $0.number == number }) else {
            unused += 1
            return []
        }
        let place = held.firstIndex { $0.number > number } ?? held.count
        held.insert(
            Ordered(packet: packet, number: number, arrivalNanoseconds: now), at: place)
        return release(now: now)
    }

    /// Packets whose wait for a missing one is over.
    package mutating func next(now: Int64) -> [Ordered] { release(now: now) }

    /// Ends the stream: all queued packets.
    package mutating func flush() -> [Ordered] {
        var rest: [Ordered] = []
        while !held.isEmpty { rest.append(takeFirst()) }
        return rest
    }

    private mutating func begin(with packet: RTPPacket, _ now: Int64) -> [Ordered] {
        let isFirst = source == nil
        source = packet.source
        stray = nil
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
