/// Makes one access unit of each packet: G.711, L16, Opus (RFC 3551 §4.5, RFC 7587 §4.2).
package struct SoundDepacketizer: Sendable {
    private let sound: ForeignSound

    package init(_ sound: ForeignSound) { self.sound = sound }

    /// Takes the next packet in order.
    package func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        var items: [DepacketizedItem] = []
        if let loss = ordered.loss { items.append(hole(.lost(loss), ordered, dropped: 0)) }
        let bytes = ordered.packet.payload
        // Some senders keep the connection alive with packets that have no content.
        guard !bytes.isEmpty else { return items }
        if let frame = sound.frameBytes, bytes.count % frame != 0 {
            let reason = "\(bytes.count) bytes are no whole samples of \(sound.codec)"
            items.append(hole(.malformed(reason), ordered, dropped: 1))
            return items
        }
        items.append(
            .unit(
                AccessUnit(
                    timestamp: ordered.packet.timestamp, firstNumber: ordered.number,
                    lastNumber: ordered.number,
                    firstArrivalNanoseconds: ordered.arrivalNanoseconds,
                    lastArrivalNanoseconds: ordered.arrivalNanoseconds, data: bytes)))
        return items
    }

    private func hole(
        _ cause: StreamHole.Cause, _ ordered: PacketWindow.Ordered, dropped: Int
    ) -> DepacketizedItem {
        // No packet needs another one.
        .hole(
            StreamHole(
                cause: cause, arrivalNanoseconds: ordered.arrivalNanoseconds,
                droppedUnits: dropped, isHarmless: true))
    }
}
