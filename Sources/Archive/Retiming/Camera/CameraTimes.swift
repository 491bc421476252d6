import MP4
import Media

/// The times of a source's samples by the timestamps of its network camera, from the arrivals of the whole recording.
///
/// While it records, the agent knows only earlier arrivals. Afterwards, the quickest packets on both sides of a sample limit its
/// capture time (``ArrivalEnvelope``). These times are on the agent's clock; its exchanges map them to session time, as they
/// map stamps.
struct CameraTimes: Sendable {
    private var tracks: [TrackKind: CameraTrack] = [:]

    init() {}

    /// Reads the next file, in the order of time.
    mutating func survey(_ evidence: ClockEvidence, path: String) {
        for (kind, track) in evidence.tracks where !track.runs.isEmpty {
            tracks[kind, default: CameraTrack()].survey(
                track, kind, originNanoseconds: evidence.originNanoseconds, path: path)
        }
    }

    /// All files have been read.
    mutating func endSurvey() {
        for kind in tracks.keys { tracks[kind]?.endSurvey() }
    }

    /// Whether times can follow the camera's timestamps. If one track has none, the other is not moved either: picture and
    /// sound keep their distance.
    var isUsable: Bool {
        tracks.values.allSatisfy { $0.unstamped == 0 }
            && tracks.values.contains { $0.hasEnvelopes }
    }

    /// Reads the files again, in reverse order.
    mutating func prepare(_ evidence: ClockEvidence, path: String) {
        for (kind, track) in evidence.tracks {
            tracks[kind]?.prepare(
                track, kind, originNanoseconds: evidence.originNanoseconds, path: path)
        }
    }

    /// A file's runs at the times by the camera's timestamps. Files are passed in the order of time.
    mutating func placed(
        _ evidence: ClockEvidence, path: String
    ) -> (evidence: ClockEvidence, uses: [TrackKind: RetimingRecord.CameraUse]) {
        var placed = evidence
        var uses: [TrackKind: RetimingRecord.CameraUse] = [:]
        for (kind, track) in evidence.tracks {
            guard
                let (runs, use) = tracks[kind]?.times(
                    track, kind, originNanoseconds: evidence.originNanoseconds, path: path)
            else { continue }
            uses[kind] = use
            placed.tracks[kind]?.runs = zip(track.runs, runs).flatMap { run, shifts in
                shifts.map { run.divided(shifts: $0, track.timescale) } ?? [run]
            }
        }
        return (placed, uses)
    }

    /// The beginning of the next file at the times by the camera's timestamps.
    func placed(_ opening: FileOpening, path: String) -> FileOpening {
        var placed = opening
        for kind in opening.tracks.keys {
            guard let shift = tracks[kind]?.opening(path), shift != 0 else { continue }
            placed.tracks[kind]?.track.runs[0].cameraShiftNanoseconds = shift
        }
        return placed
    }

    // MARK: Report

    /// Why the camera's timestamps are not used for some samples, a line for each track; empty for sources without such
    /// timestamps.
    func problems(_ source: String) -> [String] {
        let start = "\(source): the camera's timestamps are not used"
        guard tracks.values.contains(where: { $0.stamped > 0 }) else { return [] }
        if let other = TrackKind.allCases.first(where: { tracks[$0]?.unstamped ?? 0 > 0 }) {
            return ["\(start): its \(other) has none"]
        }
        return TrackKind.allCases.compactMap { kind in
            tracks[kind]?.problem.map { "\(start) for \($0) (\(kind))" }
        }
    }
}

extension CameraTrack {
    /// The samples whose times are as the agent stamped them, and why; nil: there are none.
    fileprivate var problem: String? {
        var parts: [String] = []
        if unordered > 0 {
            parts.append("\(unordered) samples that are not at their stamps or are reordered")
        }
        if delayed > 0 {
            parts.append("\(delayed) samples that are placed before all arrivals, as with --delay")
        }
        if short > 0 {
            let reason = steps > 0 ? " (timestamps were set, or stood still: \(steps))" : ""
            parts.append(
                "\(short) samples in stretches of less than "
                    + "\(ArrivalEnvelope.shortestNanoseconds / 1_000_000_000) s\(reason)")
        }
        if distantSeconds > 0 {
            parts.append(
                "\(distantSeconds) of \(seconds) s, in which packets arrived more than "
                    + "\(ArrivalEnvelope.distantNanoseconds / 1_000_000) ms later than they say")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
