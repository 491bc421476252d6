/// Packets that are missing before another one.
package enum PacketLoss: Hashable, Sendable {
    /// These sequence numbers never came.
    case packets(first: UInt16, count: Int)
    /// The sender began to count anew: how many are missing is unknown.
    case restart
}

/// Brings a sender's packets into their order, and says what is missing between them (RFC 3550 §A.1).
///
/// Where packets may overtake each other (UDP), a hole is waited for: as long as ``waitNanoseconds``, and while no more than
/// ``maximumHeld`` packets are behind it. Where they cannot (TCP), a hole is one at once.
package struct PacketWindow: Sendable {
    /// A packet in its order.
    package struct Ordered: Hashable, Sendable {
        package var packet: RTPPacket
        /// Its sequence number without wraps.
        package var number: Int64
        /// When it came, nanoseconds of the caller's clock.
        package var arrivalNanoseconds: Int64
        /// What is missing before it.
        package var loss: PacketLoss?
    }

    /// A keyframe of 4K has 500 packets.
    package static let maximumHeld = 1_024
    /// A hole of more packets is a sender that counts anew (`MAX_DROPOUT`).
    static let largestHole: Int64 = 3_000
    /// A packet that is later than this belongs to another count (`MAX_MISORDER`).
    static let latest: Int64 = 1_024

    private let waitNanoseconds: Int64
    private var expected: Int64?
    private var source: UInt32?
    private var held: [Ordered] = []
    /// A packet far from the others: one that follows it makes them a new count.
    private var stray: (packet: RTPPacket, arrival: Int64)?
    private var hasRestarted = false
    /// Packets that came twice, or when they were given up already.
    package private(set) var unused = 0

    package init(waitNanoseconds: Int64) {
        self.waitNanoseconds = waitNanoseconds
    }

    /// When ``next(now:)`` has something to give although nothing more comes; nil: then nothing.
    package var deadlineNanoseconds: Int64? {
        held.first.map { $0.arrivalNanoseconds + waitNanoseconds }
    }

    /// Takes the packet that came next.
    /// - Returns: packets that are in order now.
    package mutating func add(_ packet: RTPPacket, arrivalNanoseconds now: Int64) -> [Ordered] {
        guard let source, let expected, source == packet.source else {
            let rest = self.source == nil ? [] : flush()
            return rest + begin(with: packet, now)
        }
        let distance = Int64(
            Int16(bitPattern: packet.sequence &- UInt16(truncatingIfNeeded: expected)))
        guard distance >= -Self.latest, distance <= Self.largestHole else {
            if let stray, packet.sequence == stray.packet.sequence &+ 1 {
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

    /// Packets whose holes have been waited for long enough.
    package mutating func next(now: Int64) -> [Ordered] { release(now: now) }

    /// Nothing follows: all that are held.
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
