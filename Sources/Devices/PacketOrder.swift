import Media

/// Merges the packets of a file's tracks in the order of their decoding times.
///
/// Files store a second or more of one track in a row; at the file's own pace, each packet must be delivered when it is
/// due.
struct PacketOrder {
    /// Maximum held while waiting for a packet of the other track. A well-interleaved file needs far less.
    private static let maximumPackets = 512
    private static let maximumBytes = 16 << 20

    private var queues: [TrackKind: Queue] = [:]
    private var packets = 0
    private var bytes = 0

    init(tracks: [TrackKind]) {
        for track in tracks { queues[track] = Queue() }
    }

    mutating func append(_ packet: CodedPacket) {
        queues[packet.track]?.packets.append(packet)
        packets += 1
        bytes += packet.bytes.count
    }

    /// No packets follow: all held packets may be delivered.
    mutating func finish() {
        for track in queues.keys { queues[track]?.isFinished = true }
    }

    /// The earliest held packet of a track.
    func first(of track: TrackKind) -> CodedPacket? {
        queues[track]?.first
    }

    /// The next packet; nil while an earlier one may still arrive.
    mutating func next() -> CodedPacket? {
        let isFull = packets >= Self.maximumPackets || bytes >= Self.maximumBytes
        var earliest: CodedPacket?
        for queue in queues.values {
            guard let first = queue.first else {
                if queue.isFinished || isFull { continue }
                return nil
            }
            if let found = earliest {
                let isTie = first.dtsNanoseconds == found.dtsNanoseconds
                let isEarlier = first.dtsNanoseconds < found.dtsNanoseconds
                if isEarlier || (isTie && first.track == .video) { earliest = first }
            } else {
                earliest = first
            }
        }
        guard let earliest else { return nil }
        queues[earliest.track]?.removeFirst()
        packets -= 1
        bytes -= earliest.bytes.count
        return earliest
    }

    private struct Queue {
        var packets: [CodedPacket] = []
        var isFinished = false
        private var head = 0

        var first: CodedPacket? { head < packets.count ? packets[head] : nil }

        mutating func removeFirst() {
            head += 1
            // Compacts the queue when it is empty, or now and then.
            if head == packets.count || head > 64 {
                packets.removeFirst(head)
                head = 0
            }
        }
    }
}
