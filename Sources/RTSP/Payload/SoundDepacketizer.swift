/// Depacketizes G.711, L16 and Opus, one access unit per packet (RFC 3551 §4.5, RFC 7587 §4.2).
package struct SoundDepacketizer: Depacketizer {
    private let sound: ForeignSound

    package init(_ sound: ForeignSound) { self.sound = sound }

    package func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        var items: [DepacketizedItem] = []
        let arrival = ordered.arrivalNanoseconds
        if let loss = ordered.loss {
            items.append(.soundHole(.lost(loss), arrivalNanoseconds: arrival, dropped: 0))
        }
        let bytes = ordered.packet.payload
        // Some senders send empty packets as keep-alives.
        guard !bytes.isEmpty else { return items }
        if let frame = sound.frameBytes, bytes.count % frame != 0 {
            let reason = "\(bytes.count) bytes are no whole samples of \(sound.codec)"
            items.append(.soundHole(.malformed(reason), arrivalNanoseconds: arrival, dropped: 1))
            return items
        }
        items.append(.unit(AccessUnit(ordered, data: bytes)))
        return items
    }
}
