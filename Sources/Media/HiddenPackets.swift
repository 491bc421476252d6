/// Tells which of the packets that a file's edit list hides are needed for those that it shows.
///
/// In front of what is shown they are decoded, and hidden by whoever presents the result. Behind it nothing needs them, but for
/// pictures that are decoded before the last shown ones (B-frames), and the beginning of a group of pictures of which a later
/// part is shown.
package struct HiddenPackets<Packet> {
    /// A group of pictures of half a minute; more in a row would be memory for nothing.
    private static var mostHeld: Int { 1_024 }

    private let keepsStart: Bool
    private var hasShown = false
    private var held: [Packet] = []

    /// - Parameter keepsStart: all packets before the first shown one count; otherwise those from the last keyframe on.
    package init(keepsStart: Bool) {
        self.keepsStart = keepsStart
    }

    /// Takes the next packet of a track, in decoding order; those that are needed now, in that order.
    package mutating func add(_ packet: Packet, isHidden: Bool, isKeyframe: Bool) -> [Packet] {
        if isHidden, hasShown || !keepsStart {
            if isKeyframe { held = [] }
            if held.count < Self.mostHeld { held.append(packet) }
            return []
        }
        if !isHidden { hasShown = true }
        defer { held = [] }
        return held + [packet]
    }
}

extension HiddenPackets: Sendable where Packet: Sendable {}
