import Archive
import Media

/// Keeps records in order over the boundary of segments.
///
/// Clocks of collectors differ, so the same group of pictures can be at the end of a segment in one archive, and at the
/// beginning of the next in another. A record is late if an earlier one of its track is read with a later segment; then it
/// is read with that segment, too.
struct LateRecords {
    /// Consecutive records of a track in one file.
    struct Part: Hashable {
        var spool: SpoolID
        var track: TrackKind
        var records: ClosedRange<UInt64>
        var file: MergeMemory.FileState
        /// Index of the segment.
        var segment: Int
    }

    /// Moved records, each with the segment that it is read with.
    private var moved: [Part] = []

    /// - Parameter parts: the records that are read from each file, with the file's segment.
    init(_ parts: [Part]) {
        var latest: [TrackKind: [SpoolID: Int]] = [:]
        for part in parts.sorted(by: { $0.records.lowerBound < $1.records.lowerBound }) {
            let before = latest[part.track]?[part.spool] ?? part.segment
            if part.segment < before {
                var late = part
                late.segment = before
                moved.append(late)
            }
            latest[part.track, default: [:]][part.spool] = max(before, part.segment)
        }
    }

    /// Records of a file that are read with a later segment.
    /// - Parameter segment: index of that segment; nil: any.
    func moved(
        from file: MergeMemory.FileState, to segment: Int? = nil
    ) -> [SpoolID: SequenceSet] {
        var records: [SpoolID: SequenceSet] = [:]
        for part in moved where part.file == file && segment ?? part.segment == part.segment {
            records[part.spool, default: SequenceSet()].insert(part.records)
        }
        return records
    }
}

extension FileRecords {
    /// Adds a fragment's records.
    mutating func add(_ record: FragmentRecord) {
        for range in record.sequences {
            all[record.spool, default: SequenceSet()].insert(range)
        }
    }

    /// Adds the records of a fragment at one end of the file to ``ends``.
    mutating func addEnd(_ record: FragmentRecord) {
        for run in record.pieces.flatMap(\.runs) where run.samples > 0 {
            ends[run.track, default: [:]][record.spool, default: SequenceSet()].insert(
                run.firstSequence...(run.firstSequence + UInt64(run.samples) - 1))
        }
    }
}
