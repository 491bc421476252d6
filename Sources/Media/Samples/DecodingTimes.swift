/// Assigns decoding times to the packets of one track: they increase, and are never later than presentation times.
///
/// Presentation times are authoritative and not changed. A container's decoding times are kept if they are consistent
/// with them. If they are missing, or a library's wrong guess, pictures are decoded in the order of their presentation
/// times, earlier by the number of reordered pictures (ISO/IEC 14496-10 §C.4.5.2).
///
/// A picture's decoding time must precede the presentation of all pictures that follow it in decoding order, so packets
/// are held until as many have arrived as the codec may reorder. If the codec does not reorder, a packet that overlaps
/// the previous one is presented after it.
package struct DecodingTimes<Packet> {
    /// A packet with its times, in any unit.
    package struct Timed {
        package var packet: Packet
        package var pts: Int64
        /// DTS from the container; nil if it has none.
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

    /// Minimum distance of decoding times.
    private let step: Int64
    private let window: Int
    private var held: [Timed] = []
    /// Presentation times not yet used as decoding times, ascending.
    private var unused: [Int64] = []
    /// The number of pictures by which decoding precedes presentation, so far.
    private var delay = 0
    /// Pictures with a decoding time before the first presentation time.
    private var early = 0
    private var last: Int64?

    /// - Parameters:
    ///   - mayReorder: whether presentation order may differ from decoding order.
    ///   - step: minimum distance of decoding times, so that rounding does not make two of them equal.
    package init(mayReorder: Bool, step: Int64) {
        precondition(step > 0)
        window = mayReorder ? Self.mostReordered : 0
        self.step = step
    }

    /// Adds the next packet in decoding order; returns the packets that are complete, in that order, with their
    /// decoding times.
    package mutating func add(_ packet: Timed) -> [Timed] {
        let place = unused.firstIndex { $0 > packet.pts } ?? unused.count
        unused.insert(packet.pts, at: place)
        delay = max(delay, held.count { $0.pts > packet.pts })
        held.append(packet)
        guard held.count > window else { return [] }
        return [release()]
    }

    /// No packet follows: returns the remaining ones.
    package mutating func finish() -> [Timed] {
        var rest: [Timed] = []
        while !held.isEmpty { rest.append(release()) }
        return rest
    }

    private mutating func release() -> Timed {
        var packet = held.removeFirst()
        let guess = ownTime(of: packet)
        // The latest time at which no later picture would be presented before it is decoded.
        var latest = packet.pts
        for (distance, later) in held.enumerated() {
            latest = min(latest, later.pts - Int64(distance + 1) * step)
        }
        var dts = min(packet.dts ?? guess, latest)
        if let last { dts = max(dts, last + step) }
        // Only changes audio that overlaps the previous packet: it is not reordered.
        packet.pts = max(packet.pts, dts)
        packet.dts = dts
        last = dts
        return packet
    }

    /// The decoding time by the order of presentation times.
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
