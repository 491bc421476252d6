import Media
import RTSP

/// A continuing loss in a network camera's track, with all of its causes.
struct NetworkGap {
    private var startNanoseconds: Int64
    private var cause: CaptureLossCause
    private var lostPackets = 0
    private var firstSequence: UInt16?
    private var bursts = 0
    /// A cause besides lost packets.
    private var reason: String?
    /// Received access units that could not be used.
    private(set) var dropped = 0
    /// All missing units are known, and the next unit can be decoded without them.
    private(set) var isHarmless: Bool
    /// Whether nothing arrives and no other cause is known: delayed samples may then cancel the gap.
    var isSilence = false
    /// Silence is recorded for it: late samples do not end it as if it had not been.
    var isFilled = false

    init(_ hole: StreamHole, startNanoseconds: Int64) {
        self.startNanoseconds = startNanoseconds
        isHarmless = hole.isHarmless
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
        isHarmless = false
    }

    mutating func add(_ hole: StreamHole) {
        isSilence = false
        isHarmless = isHarmless && hole.isHarmless
        dropped += hole.droppedUnits
        switch hole.cause {
        case .lost(.packets(let first, let count)):
            firstSequence = firstSequence ?? first
            lostPackets += count
            bursts += 1
        case .lost(.restart):
            reason = reason ?? "the camera began to count its packets anew"
        case .malformed(let text):
            reason = reason ?? text
        }
    }

    /// Replaces the cause: the connection is lost, too.
    mutating func add(_ cause: CaptureLossCause, _ reason: String) {
        isSilence = false
        isHarmless = false
        self.cause = cause
        self.reason = reason
    }

    /// Replaces the reason of a silence.
    mutating func explain(_ reason: String) { self.reason = reason }

    /// Audio of the gap has arrived after silence was recorded for it.
    mutating func noteLateSound() {
        let late = "the camera's sound arrived after silence was recorded for its time"
        reason = isSilence ? late : reason.map { "\($0); \(late)" }
        isSilence = false
    }

    /// Counts a received access unit that could not be used.
    mutating func drop() {
        isSilence = false
        isHarmless = false
        dropped += 1
    }

    /// The loss up to a time.
    /// - Parameters:
    ///   - intervalNanoseconds: usual distance of two units; 0: unknown, and they are not counted.
    ///   - missing: number of missing units; nil: from the duration.
    func loss(
        of track: TrackKind, untilNanoseconds end: Int64, intervalNanoseconds interval: Int64,
        missing: Int? = nil
    ) -> CaptureLoss {
        // The next unit may have been due only after the end.
        let start = min(startNanoseconds, end)
        let duration = end - start
        let counted = interval > 0 ? Int(clamping: (duration + interval / 2) / interval) : 0
        return CaptureLoss(
            track: track, cause: cause, startNanoseconds: start,
            durationNanoseconds: duration, samples: max(dropped, missing ?? counted),
            text: text)
    }

    /// The rest of the gap from a time on, after its beginning was reported.
    func continued(fromNanoseconds time: Int64) -> NetworkGap {
        // The lost packets are reported once.
        NetworkGap(
            cause, reason ?? "the gap after lost packets continues", startNanoseconds: time)
    }

    var beginNanoseconds: Int64 { startNanoseconds }

    /// The causes, one line.
    var text: String {
        var parts: [String] = []
        if lostPackets > 0, let firstSequence {
            let packets = lostPackets == 1 ? "1 packet was" : "\(lostPackets) packets were"
            let position =
                bursts == 1
                ? "from sequence number \(firstSequence) on"
                : "in \(bursts) places, the first at sequence number \(firstSequence)"
            parts.append("\(packets) lost between camera and agent, \(position)")
        }
        if let reason { parts.append(reason) }
        return parts.joined(separator: "; ")
    }
}
