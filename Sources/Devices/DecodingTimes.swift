import Media

/// Completes the decoding times of one track where its container leaves them out.
///
/// Matroska stores presentation times only; of the first pictures the library cannot tell when they are decoded
/// before it has seen how they are reordered. They are held back until one is known, and lie before it one duration
/// each. A raw stream has no times at all: its packets follow each other from zero.
struct DecodingTimes {
    /// H.264 reorders over at most 16 pictures; after twice as many without a time none will come.
    private static let mostHeld = 32

    private var held: [CodedPacket] = []
    private var nextNanoseconds: Int64?

    /// Takes the next packet; what is complete now, in order.
    mutating func add(_ packet: CodedPacket, isKnown: Bool) -> [CodedPacket] {
        if isKnown {
            let time = packet.dtsNanoseconds
            nextNanoseconds = time + packet.durationNanoseconds
            return release(before: time) + [packet]
        }
        if nextNanoseconds == nil, held.count < Self.mostHeld {
            held.append(packet)
            return []
        }
        return finish() + [following(packet)]
    }

    /// No packet follows: what was held back, from zero on.
    mutating func finish() -> [CodedPacket] {
        defer { held = [] }
        return held.map { following($0) }
    }

    private mutating func release(before time: Int64) -> [CodedPacket] {
        defer { held = [] }
        var start = time - held.reduce(0) { $0 + $1.durationNanoseconds }
        return held.map { packet in
            var packet = packet
            packet.dtsNanoseconds = min(start, packet.ptsNanoseconds ?? start)
            start += packet.durationNanoseconds
            return packet
        }
    }

    private mutating func following(_ packet: CodedPacket) -> CodedPacket {
        var packet = packet
        let time = nextNanoseconds ?? 0
        packet.dtsNanoseconds = min(time, packet.ptsNanoseconds ?? time)
        nextNanoseconds = time + packet.durationNanoseconds
        return packet
    }
}
