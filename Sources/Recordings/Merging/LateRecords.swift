import Archive
import Media

/// Finds records that follow, by their numbers, an earlier record of their track which is read with a later segment.
struct LateRecords {
    private struct Track: Hashable {
        var spool: SpoolID
        var track: TrackKind
    }

    /// Records of one file.
    struct Part: Hashable {
        var spool: SpoolID
        var records: ClosedRange<UInt64>
        /// Index of the segment that they are read with.
        var segment: Int
        /// Index of their file.
        var file: Int
    }

    private var parts: [Track: [Part]] = [:]

    /// - Parameters:
    ///   - segment: index of the segment that their file belongs to.
    ///   - file: index of the file.
    mutating func add(
        _ records: ClosedRange<UInt64>, of spool: SpoolID, _ track: TrackKind, segment: Int,
        file: Int
    ) {
        parts[Track(spool: spool, track: track), default: []].append(
            Part(spool: spool, records: records, segment: segment, file: file))
    }

    /// Records that are read with another segment than their file's, each with that segment.
    func moved() -> [Part] {
        var moved: [Part] = []
        for parts in parts.values {
            var latest = Int.min
            for part in parts.sorted(by: { $0.records.lowerBound < $1.records.lowerBound }) {
                if part.segment < latest {
                    var late = part
                    late.segment = latest
                    moved.append(late)
                }
                latest = max(latest, part.segment)
            }
        }
        return moved
    }
}

extension FileRecords {
    /// Adds a fragment's records.
    mutating func add(_ record: FragmentRecord) {
        for range in record.sequences {
            all[record.spool, default: SequenceSet()].insert(range)
        }
    }

    /// Adds those of a fragment at one end of the file to ``ends``.
    mutating func addEnd(_ record: FragmentRecord) {
        for run in record.pieces.flatMap(\.runs) where run.samples > 0 {
            ends[run.track, default: [:]][record.spool, default: SequenceSet()].insert(
                run.firstSequence...(run.firstSequence + UInt64(run.samples) - 1))
        }
    }
}
