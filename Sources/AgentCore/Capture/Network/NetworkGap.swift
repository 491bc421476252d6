import Media
import RTSP

/// What is missing of a network camera's track from some time on, until something comes again: one loss with all of its causes.
struct NetworkGap {
    private var startNanoseconds: Int64
    private var cause: CaptureLossCause
    private var lostPackets = 0
    private var firstSequence: UInt16?
    private var places = 0
    /// What was said of it besides lost packets.
    private var reason: String?
    /// Access units that came, and could not be used.
    private var dropped = 0

    /// Something is missing, or cannot be read.
    init(_ hole: StreamHole, startNanoseconds: Int64) {
        self.startNanoseconds = startNanoseconds
        switch hole.cause {
        case .lost: cause = .packetLoss
        case .malformed: cause = .damagedInput
        }
        add(hole)
    }

    init(_ cause: CaptureLossCause, _ reason: String, startNanoseconds: Int64) {
        self.startNanoseconds = startNanoseconds
        self.cause = cause
        self.reason = reason
    }

    mutating func add(_ hole: StreamHole) {
        dropped += hole.droppedUnits
        switch hole.cause {
        case .lost(.packets(let first, let count)):
            firstSequence = firstSequence ?? first
            lostPackets += count
            places += 1
        case .lost(.restart):
            reason = reason ?? "the camera began to count its packets anew"
        case .malformed(let text):
            reason = reason ?? text
        }
    }

    /// The connection is gone, too.
    mutating func add(_ cause: CaptureLossCause, _ reason: String) {
        self.cause = cause
        self.reason = reason
    }

    /// An access unit that came, and could not be used for what is missing.
    mutating func drop() { dropped += 1 }

    /// The loss up to a time.
    /// - Parameter intervalNanoseconds: from one unit to the next.
    func loss(
        of track: TrackKind, untilNanoseconds end: Int64, intervalNanoseconds interval: Int64
    ) -> CaptureLoss {
        let duration = max(0, end - startNanoseconds)
        let missing = interval > 0 ? (duration + interval / 2) / interval : 0
        return CaptureLoss(
            track: track, cause: cause, startNanoseconds: startNanoseconds,
            durationNanoseconds: duration, samples: max(dropped, Int(clamping: missing)),
            text: text)
    }

    /// The rest of the gap from a time on, after its beginning was reported.
    func continued(fromNanoseconds time: Int64) -> NetworkGap {
        NetworkGap(cause, reason ?? text, startNanoseconds: time)
    }

    var beginNanoseconds: Int64 { startNanoseconds }

    private var text: String {
        var parts: [String] = []
        if lostPackets > 0, let firstSequence {
            let packets = lostPackets == 1 ? "1 packet was" : "\(lostPackets) packets were"
            let place =
                places == 1
                ? "from sequence number \(firstSequence) on"
                : "in \(places) places, the first at sequence number \(firstSequence)"
            parts.append("\(packets) lost between camera and agent, \(place)")
        }
        if let reason { parts.append(reason) }
        return parts.joined(separator: "; ")
    }
}
