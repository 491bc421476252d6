import MP4
import Media
import Timing

/// The first sample of a run: its capture time by the agent's clock, and its time in the recording.
struct StampedRun: Sendable {
    var spool: SpoolID
    var epoch: EpochID
    var track: TrackKind
    var sequence: UInt64
    /// Decoding time on the agent's clock.
    var stampNanoseconds: Int64
    /// Session time of that stamp, as mapped while it was recorded.
    var mappedNanoseconds: Int64
    /// Session time of its decoding, according to the file.
    var placedNanoseconds: Int64
    /// Its byte offset in its file.
    var offset: Int64
    /// Delay of the file's first samples, because it cannot begin earlier: they converge to their times soon after.
    var delayNanoseconds: Int64 = 0
    /// The timestamps of a network camera; nil without any.
    var camera: CameraSample?
    /// Whether times of its file and track follow them.
    var followsCamera = false

    /// A sample among the timestamps of its file.
    struct CameraSample: Sendable {
        var located: StampSequence.Located
        /// The timestamps from the next run on.
        var following: StampSequence
        var stamp: CameraStamp
        var clockRate: UInt32
    }
}

/// Compares the distances of samples with those of their stamps. The agent's own clock is the most accurate measure of
/// the distance of two samples: a correction may change it by the slew limit at most.
enum StampDistances {
    /// Rounding to ticks, audio that is placed end to end, and a first picture that is presented at its file's start.
    static let toleranceNanoseconds: Int64 = 2_000_000
    /// Two clocks have a skew of at most 550 ppm, and 500 ppm are slewed.
    static let partsPerMillion: Int64 = 1_050
    /// Stamps that are farther apart, or in the other order, cannot be compared.
    static let farthestNanoseconds: Int64 = 86_400_000_000_000

    /// Excess of a distance of times over that of the stamps; nil: it agrees, or cannot be compared.
    /// - Parameter delay: delay of a file's first samples because it cannot begin earlier. A delay above the slew limit
    ///   is no explanation.
    static func excess(_ stamps: Int64, _ times: Int64, delay: Int64 = 0) -> Int64? {
        guard stamps > 0, stamps <= farthestNanoseconds else { return nil }
        let excess = times.clampedSubtracting(stamps)
        let late = delay <= Timeline.discontinuityNanoseconds ? delay : 0
        let allowed = toleranceNanoseconds + stamps / 1_000_000 * partsPerMillion + late
        return excess.magnitude > allowed.magnitude ? excess : nil
    }

    /// Maximum difference of two samples' distances by the agent's and the camera's clock that the network's delay can explain.
    static let greatestDifference = 2 * CameraSlew.greatestNanoseconds

    /// Excess of a distance of times that may follow a network camera's timestamps: it is at most the greater one of the
    /// distances by the agent's and by the camera's clock, and at least the smaller one, both as above.
    /// - Parameter camera: nil: the camera's timestamps do not compare the samples, or the times do not follow them.
    static func excess(
        _ times: Int64, agent: Int64, camera: Int64?, delay: Int64 = 0
    ) -> Int64? {
        guard let camera, camera > 0, agent > 0, camera <= farthestNanoseconds,
            camera.clampedSubtracting(agent).magnitude <= greatestDifference.magnitude
        else { return excess(agent, times, delay: delay) }
        let least = min(agent, camera)
        let greatest = max(agent, camera)
        if times < least { return excess(least, times, delay: delay) }
        if times > greatest { return excess(greatest, times, delay: delay) }
        return nil
    }

    /// The distance of two runs by the timestamps of their camera; nil if they do not compare them, or times do not follow them.
    /// - Parameter isJoint: whether the second one begins a file.
    static func cameraDistance(
        _ one: StampedRun, _ next: StampedRun, isJoint: Bool
    ) -> Int64? {
        guard one.followsCamera || next.followsCamera, let before = one.camera,
            let after = next.camera
        else { return nil }
        var sequence = before.following
        if isJoint { sequence.beginFile() }
        return StampSequence.distance(
            before.located,
            sequence.locate(after.stamp, clockRate: after.clockRate, epoch: next.epoch))
    }

    /// A contradiction between two runs of a track, in words; nil: there is none, or the ledger explains it.
    /// - Parameter isJoint: whether the second one begins a file.
    static func contradiction(
        _ one: StampedRun, _ next: StampedRun, ledger: [LedgerEntry], isRetimed: Bool,
        isJoint: Bool
    ) -> String? {
        guard one.epoch == next.epoch, one.spool == next.spool, one.track == next.track else {
            return nil
        }
        let stamps = next.stampNanoseconds.clampedSubtracting(one.stampNanoseconds)
        guard
            let excess = excess(
                next.placedNanoseconds.clampedSubtracting(one.placedNanoseconds), agent: stamps,
                camera: cameraDistance(one, next, isJoint: isJoint),
                delay: max(one.delayNanoseconds, next.delayNanoseconds))
        else { return nil }
        let step = self.excess(
            stamps, next.mappedNanoseconds.clampedSubtracting(one.mappedNanoseconds))
        if let step {
            let isStated = ledger.contains {
                $0.kind == .discontinuity && $0.epoch == next.epoch.description
                    && isNear($0.offsetNanoseconds ?? 0, step)
            }
            // A step back in the middle of a file compresses later samples, even if it is recorded.
            if isStated, isJoint || step > 0, !isRetimed || isNear(excess, step) { return nil }
        } else if ledger.contains(where: { $0.kind == .time && $0.isAboutStamps(of: next.track) }) {
            return nil
        }
        return "\(text(excess)) \(excess < 0 ? "less" : "more") lies between two \(next.track) "
            + "samples than between their stamps (records \(one.sequence) and \(next.sequence))"
    }

    private static func isNear(_ one: Int64, _ other: Int64) -> Bool {
        one.clampedSubtracting(other).magnitude
            <= UInt64(toleranceNanoseconds) + other.magnitude / 100
    }

    private static func text(_ nanoseconds: Int64) -> String {
        let microseconds = nanoseconds.magnitude / 1_000
        return "\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst()) ms"
    }
}

extension LedgerEntry {
    /// Whether a `time` line records that stamps of a track could not be kept.
    fileprivate func isAboutStamps(of track: TrackKind) -> Bool {
        // Early versions only recorded it as text.
        (self.track == nil || self.track == track.description)
            && (samples != nil || text?.contains("times that could not be kept") == true)
    }
}

extension FileVerifier {
    /// Reports times that contradict the agent's stamps.
    /// - Parameter ledger: the source's; nil: there is none.
    mutating func checkDistances(_ ledger: [LedgerEntry]?) {
        for kind in TrackKind.allCases {
            guard let track = tracks[kind] else { continue }
            var last: StampedRun?
            var contradictions = 0
            var first: (text: String, offset: Int64)?
            for run in stampedRuns(track) {
                defer { last = run }
                guard let before = last,
                    let text = StampDistances.contradiction(
                        before, run, ledger: ledger ?? [], isRetimed: report.retiming != nil,
                        isJoint: false)
                else { continue }
                contradictions += 1
                first = first ?? (text, run.offset)
            }
            guard let first else { continue }
            let more = contradictions > 1 ? ", and \(contradictions - 1) more" : ""
            timeDamage(first.text + more, at: first.offset)
        }
    }

    /// A track's runs with their times in the file's index.
    private func stampedRuns(_ track: WalkedTrack) -> [StampedRun] {
        track.runs.map { index, run in
            var placed = run
            placed.delayNanoseconds = track.delayNanoseconds
            placed.followsCamera = track.followsCamera
            let dts = track.retimedDTS?[index] ?? track.samples[index].dts
            placed.placedNanoseconds = track.format.timescale.nanoseconds(dts - track.shift)
                .clampedAdding(originNanoseconds)
            return placed
        }
    }

    /// The first and the last run of each track, for the distances between files.
    var ends: [(first: StampedRun, last: StampedRun)] {
        TrackKind.allCases.compactMap { kind in
            guard let runs = tracks[kind].map(stampedRuns),
                let first = runs.min(by: { $0.sequence < $1.sequence }),
                let last = runs.last(where: { $0.spool == first.spool })
            else { return nil }
            return (first, last)
        }
    }
}
