/// Selects the packets hidden by a file's edit list that are needed to decode the shown ones.
///
/// Hidden packets before the shown part are decoded and not presented. After it, only pictures decoded before the last
/// shown ones are needed (B-frames), and the start of a group of pictures of which a later part is shown.
package struct HiddenPackets<Packet> {
    /// A group of pictures of half a minute; a longer one would only use memory.
    private static var mostHeld: Int { 1_024 }

    /// Packets that are not needed.
    package private(set) var left = 0

    private let keepsStart: Bool
    /// Whether a packet was shown so far.
    package private(set) var hasShown = false
    private var held: [Packet] = []

    /// - Parameter keepsStart: whether all packets before the first shown one are kept; otherwise those from the last
    ///   keyframe on.
    package init(keepsStart: Bool) {
        self.keepsStart = keepsStart
    }

    /// Adds the next packet of a track, in decoding order; returns those that are needed, in that order.
    package mutating func add(_ packet: Packet, isHidden: Bool, isKeyframe: Bool) -> [Packet] {
        if isHidden, hasShown || !keepsStart {
            left += 1
            if isKeyframe { held = [] }
            if held.count < Self.mostHeld { held.append(packet) }
            return []
        }
        left -= held.count
        if !isHidden { hasShown = true }
        defer { held = [] }
        return held + [packet]
    }
}

extension HiddenPackets: Sendable where Packet: Sendable {}
