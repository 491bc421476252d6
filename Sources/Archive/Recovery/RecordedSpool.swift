package import Media

/// Samples of one track with consecutive numbers that are in a file, and where they end.
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

/// Which records of one spool an archive has, recorded or explained.
///
/// Everything here is durable. There may be more than was ever acknowledged, and it need not be without holes: sound waits
/// for pictures, and a ledger's line does not wait for either.
package struct RecordedSpool: Hashable, Sendable {
    /// 16 bytes.
    package var spool: SpoolID
    package var sequences: SequenceSet
    /// The number of its goodbye, if that is here.
    package var goodbye: UInt64?
    /// Where tracks stood after records behind the watermark, and after the last ones in front of it; ascending.
    package var runs: [RunOnDisk]

    package init(
        spool: SpoolID, sequences: SequenceSet, goodbye: UInt64? = nil, runs: [RunOnDisk] = []
    ) {
        self.spool = spool
        self.sequences = sequences
        self.goodbye = goodbye
        self.runs = runs
    }

    /// Whether the goodbye is here, and everything before it.
    package var hasGoodbye: Bool { goodbye.map { $0 <= sequences.watermark } ?? false }

    /// Where a track stands before a record, and the number of its sample there.
    package func end(
        of track: TrackKind, before sequence: UInt64
    ) -> (end: TrackEnd, sequence: UInt64)? {
        runs.last { $0.track == track && $0.sequences.upperBound < sequence }
            .map { ($0.end, $0.sequences.upperBound) }
    }

    /// Takes in what another session has of the same spool.
    mutating func join(_ other: RecordedSpool) {
        sequences.formUnion(other.sequences)
        goodbye = other.goodbye ?? goodbye
        runs += other.runs
        trim()
    }

    /// Forgets what no record that may still come needs.
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
