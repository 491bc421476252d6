import Media

/// Puts the packets of a file's tracks in the order of their decoding times.
///
/// Files keep a second or more of one track in a row; played at the file's pace, each packet should leave when it is
/// due all the same.
struct PacketOrder {
    /// Kept back while a packet of the other track is looked for. A well-made file needs far less.
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

    /// No packets follow: everything may leave.
    mutating func finish() {
        for track in queues.keys { queues[track]?.isFinished = true }
    }

    /// The earliest packet of that track that has not left yet.
    func first(of track: TrackKind) -> CodedPacket? {
        queues[track]?.first
    }

    /// The packet that is to leave next; nil while an earlier one may still come.
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
            // Most of the time the queue runs empty; otherwise it is moved up once in a while.
            if head == packets.count || head > 64 {
                packets.removeFirst(head)
                head = 0
            }
        }
    }
}
