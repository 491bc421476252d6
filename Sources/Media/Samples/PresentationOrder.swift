/// Assigns presentation times to pictures of a container without them, in the bitstream's order.
///
/// Packets are added in decoding order, each with a slot: the time of its position in the file. Pictures are presented
/// at the slots, in the order of their picture order counts. So the first presented picture gets the first slot, and a
/// gap in the container's numbering is preserved.
package struct PresentationOrder<Packet> {
    /// A decoder buffers at most 16 pictures for later presentation (ISO/IEC 14496-10 §A.3.1).
    private static var mostWaiting: Int { 16 }

    fileprivate struct Entry {
        var packet: Packet
        var order: Int64
        var pts: Int64?
    }

    /// In decoding order, from the first one without a presentation time.
    private var entries: [Entry] = []
    private var slots: [Int64] = []
    private var waiting = 0

    package init() {}

    /// Adds the next packet; returns those whose presentation time is known, in decoding order.
    ///
    /// - Parameter order: nil for a packet without a picture, which is presented at its slot.
    package mutating func add(
        _ packet: Packet, slot: Int64, order: PictureOrder?
    ) -> [(packet: Packet, pts: Int64)] {
        if order?.beginsSequence ?? true { placeAll() }
        slots.append(slot)
        entries.append(Entry(packet: packet, order: order?.count ?? .min, pts: nil))
        waiting += 1
        if order == nil { placeAll() }
        while waiting > Self.mostWaiting { placeNext() }
        return release()
    }

    /// No packet follows.
    package mutating func finish() -> [(packet: Packet, pts: Int64)] {
        placeAll()
        return release()
    }

    private mutating func placeAll() {
        while waiting > 0 { placeNext() }
    }

    /// The earliest waiting picture gets the earliest slot.
    private mutating func placeNext() {
        let candidates = entries.indices.filter { entries[$0].pts == nil }
        guard let next = candidates.min(by: { entries[$0].order < entries[$1].order }) else {
            preconditionFailure("as many wait as are counted")
        }
        entries[next].pts = slots.removeFirst()
        waiting -= 1
    }

    private mutating func release() -> [(packet: Packet, pts: Int64)] {
        var ready: [(packet: Packet, pts: Int64)] = []
        while let first = entries.first, let pts = first.pts {
            ready.append((first.packet, pts))
            entries.removeFirst()
        }
        return ready
    }
}

extension PresentationOrder: Sendable where Packet: Sendable {}
extension PresentationOrder.Entry: Sendable where Packet: Sendable {}
