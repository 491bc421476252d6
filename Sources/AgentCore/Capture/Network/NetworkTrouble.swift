import Media

/// Derives the missing tracks of a network camera, and the reason, from its connection and its gaps.
struct NetworkTrouble {
    /// A shorter gap is not reported as the status: connecting and a lost keyframe need about this time.
    private static let patienceNanoseconds: Int64 = 3_000_000_000

    private(set) var present: CaptureTrouble?
    /// Since when each track is missing. A gap is reported in parts, so that its beginning moves.
    private var since: [TrackKind: Int64] = [:]

    /// - Parameters:
    ///   - failure: the error that ended the last connection, or prevented one; nil while connected.
    ///   - hasReconnected: whether the present connection is not the first one.
    ///   - start: start of the capture.
    mutating func update(
        _ tracks: [any NetworkTrack], _ failure: String?, _ state: CaptureTrouble.State,
        hasReconnected: Bool = false, now: Int64, startNanoseconds start: Int64
    ) {
        var reasons: [String] = []
        var missing: [TrackKind] = []
        for track in tracks where !track.isDone {
            let gap = track.progress.missing
            guard gap != nil || !track.isFlowing else {
                since[track.kind] = nil
                continue
            }
            let begin = since[track.kind] ?? max(start, gap?.beginNanoseconds ?? start)
            since[track.kind] = begin
            guard failure != nil || now.clampedSubtracting(begin) >= Self.patienceNanoseconds else {
                continue
            }
            missing.append(track.kind)
            var reason = gap?.text ?? "the camera has sent no \(track.kind) yet"
            if hasReconnected, state == .connected, !track.isFlowing, gap?.isSilence == false {
                reason += "; connected again"
            }
            if !reasons.contains(reason) { reasons.append(reason) }
        }
        guard let first = missing.compactMap({ since[$0] }).min() else {
            present = nil
            return
        }
        present = CaptureTrouble(
            missing: missing.map(\.description).joined(separator: " or "), sinceNanoseconds: first,
            reason: failure ?? reasons.joined(separator: "; "), state: state)
    }
}
