package import Media

/// Samples of one track with consecutive numbers in a file, and their end on the timeline.
package struct RunOnDisk: Hashable, Sendable {
    package var track: TrackKind
    package var sequences: ClosedRange<UInt64>
    package var end: TrackEnd

    package init(track: TrackKind, sequences: ClosedRange<UInt64>, end: TrackEnd) {
        self.track = track
        self.sequences = sequences
        self.end = end
    }
}

/// The records of one spool in an archive, recorded or explained.
///
/// All of it is durable. It may include more than was ever acknowledged, and may have holes: audio waits for pictures, and a
/// ledger line waits for neither.
package struct RecordedSpool: Hashable, Sendable {
    /// 16 bytes.
    package var spool: SpoolID
    package var sequences: SequenceSet
    /// The part of ``sequences`` that another collector holds, by the ledger: these records are not in this archive.
    package var held = SequenceSet()
    /// The number of its goodbye, if it is on disk.
    package var goodbye: UInt64?
    /// The highest term under which it was sent; 0: none.
    package var term: UInt64
    /// The ends of tracks after records beyond the watermark, and after the last records before it; ascending.
    package var runs: [RunOnDisk]

    package init(
        spool: SpoolID, sequences: SequenceSet, goodbye: UInt64? = nil, term: UInt64 = 0,
        runs: [RunOnDisk] = []
    ) {
        self.term = term
        self.spool = spool
        self.sequences = sequences
        self.goodbye = goodbye
        self.runs = runs
    }

    /// Whether the goodbye is on disk, and every record before it.
    package var hasGoodbye: Bool { goodbye.map { $0 <= sequences.watermark } ?? false }

    /// The end of a track before a record, and the number of its last sample there.
    package func end(
        of track: TrackKind, before sequence: UInt64
    ) -> (end: TrackEnd, sequence: UInt64)? {
        runs.last { $0.track == track && $0.sequences.upperBound < sequence }
            .map { ($0.end, $0.sequences.upperBound) }
    }

    /// Adds the records of the same spool in another session.
    mutating func join(_ other: RecordedSpool) {
        sequences.formUnion(other.sequences)
        held.formUnion(other.held)
        goodbye = other.goodbye ?? goodbye
        term = max(term, other.term)
        runs += other.runs
        trim()
    }

    /// Drops the track ends that no future record needs.
    mutating func trim() {
        runs.sort { $0.sequences.lowerBound < $1.sequences.lowerBound }
        var last: [TrackKind: Int] = [:]
        for (index, run) in runs.enumerated() where run.sequences.upperBound <= sequences.watermark
        {
            last[run.track] = index
        }
        let kept = Set(last.values)
        runs = runs.enumerated().filter { index, run in
            run.sequences.upperBound > sequences.watermark || kept.contains(index)
        }.map(\.element)
    }
}
