/// Gives the packets of one track decoding times that grow, and are never later than a presentation time.
///
/// Presentation times are the truth, and stay what they are. A container's decoding times are kept where they can be true. Where there are
/// none, or where they are a library's guess that came out wrong, pictures are decoded in the order of their presentation times, earlier
/// by as many pictures as they are reordered (ISO/IEC 14496-10 §C.4.5.2).
///
/// A picture's decoding time must lie before the presentation of all pictures that follow it in decoding order, so packets are held back
/// until as many have come as a codec reorders. Where a codec does not reorder, a packet that overlaps the one before it is presented
/// after it.
package struct DecodingTimes<Packet> {
    /// A packet with its times, in any unit.
    package struct Timed {
        package var packet: Packet
        package var pts: Int64
        /// As the container has it; nil when it does not.
        package var dts: Int64?
        package var duration: Int64

        package init(_ packet: Packet, pts: Int64, dts: Int64?, duration: Int64) {
            self.packet = packet
            self.pts = pts
            self.dts = dts
            self.duration = duration
        }
    }

    /// H.264 and HEVC reorder over at most 16 pictures, or 32 fields.
    private static var mostReordered: Int { 32 }

    /// How far decoding times are apart at least.
    private let step: Int64
    private let window: Int
    private var held: [Timed] = []
    /// Presentation times that are not yet used as decoding times, ascending.
    private var unused: [Int64] = []
    /// By how many pictures decoding precedes presentation, as far as is known.
    private var delay = 0
    /// Pictures that were given a decoding time before the first presentation time.
    private var early = 0
    private var last: Int64?

    /// - Parameters:
    ///   - mayReorder: presentation may differ from decoding order.
    ///   - step: decoding times are that far apart at least, so that rounding does not make two of them one.
    package init(mayReorder: Bool, step: Int64) {
        precondition(step > 0)
        window = mayReorder ? Self.mostReordered : 0
        self.step = step
    }

    /// Takes the next packet in decoding order; those that are complete now, in that order, each with a decoding time.
    package mutating func add(_ packet: Timed) -> [Timed] {
        let place = unused.firstIndex { $0 > packet.pts } ?? unused.count
        unused.insert(packet.pts, at: place)
        delay = max(delay, held.count { $0.pts > packet.pts })
        held.append(packet)
        guard held.count > window else { return [] }
        return [release()]
    }

    /// No packet follows.
    package mutating func finish() -> [Timed] {
        var rest: [Timed] = []
        while !held.isEmpty { rest.append(release()) }
        return rest
    }

    private mutating func release() -> Timed {
        var packet = held.removeFirst()
        let guess = ownTime(of: packet)
        // Later than this, one of those that follow would be presented before it is decoded.
        var latest = packet.pts
        for (distance, later) in held.enumerated() {
            latest = min(latest, later.pts - Int64(distance + 1) * step)
        }
        var dts = min(packet.dts ?? guess, latest)
        if let last { dts = max(dts, last + step) }
        // Only where nothing is reordered: sound that overlaps what precedes it.
        packet.pts = max(packet.pts, dts)
        packet.dts = dts
        last = dts
        return packet
    }

    /// The decoding time by the order of the presentation times.
    private mutating func ownTime(of packet: Timed) -> Int64 {
        guard early >= delay else {
            early += 1
            let first = unused.first ?? packet.pts
            return (last ?? first - Int64(delay + 1) * packet.duration) + packet.duration
        }
        return unused.isEmpty ? packet.pts : unused.removeFirst()
    }
}

extension DecodingTimes: Sendable where Packet: Sendable {}
extension DecodingTimes.Timed: Sendable where Packet: Sendable {}
