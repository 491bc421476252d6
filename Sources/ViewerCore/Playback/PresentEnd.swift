import Archive
import Library
import Media
import Recordings

/// The end of a source that is being recorded.
struct PresentEnd: Hashable, Sendable {
    /// End of its tracks, nanoseconds of session time.
    var endNanoseconds: Int64
    /// Session time of the oldest picture that counts as present, nanoseconds. Sound may continue without pictures.
    var oldestPictureNanoseconds: Int64
}

extension RecordingLibrary {
    /// A source is being recorded if its growing file ends at most this long before the present, or its last finished file has
    /// changed since: that one is followed by another file, which has no picture in its first second.
    private static let patienceNanoseconds: Int64 = 10_000_000_000

    /// The end of what is recorded of a source, if it is being recorded.
    /// - Parameters:
    ///   - session: a session that is being recorded.
    ///   - now: UTC, nanoseconds.
    /// - Returns: nil if the source is not being recorded.
    func presentEnd(
        of source: String, in session: String, remembering memory: CoverageMemory, now: Int64
    ) throws(ArchiveError) -> PresentEnd? {
        guard let lane = try lane(of: source, in: session, remembering: memory),
            let last = lane.recorded.last
        else { return nil }
        let manifest = try manifest(session)
        if last.isGrowing {
            // The file of an agent that has stopped stays open.
            let present = now.clampedSubtracting(manifest.zeroTime.nanoseconds)
            let oldest = present.clampedSubtracting(Self.patienceNanoseconds)
            guard last.endNanoseconds >= oldest else { return nil }
            return PresentEnd(
                endNanoseconds: last.endNanoseconds, oldestPictureNanoseconds: oldest)
        }
        let newest = try RecordedSource(
            SourceKey(session: session, source: source), in: store, zero: manifest.zeroTime,
            segmentNanoseconds: manifest.segmentNanoseconds
        ).files.last?.entry?.modifiedNanoseconds
        guard let newest, now.clampedSubtracting(newest) <= Self.patienceNanoseconds else {
            return nil
        }
        return PresentEnd(
            endNanoseconds: last.endNanoseconds,
            oldestPictureNanoseconds: last.endNanoseconds.clampedSubtracting(
                Self.patienceNanoseconds))
    }
}
