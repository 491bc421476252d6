package import Archive
package import Media

/// A sample of a recording: when it is, on the session's timeline, and where it lies.
package struct RecordedSample: Sendable {
    package var file: RecordedFile
    package var track: TrackKind
    /// Session time, ticks of the track's timescale; after retiming, if the file was retimed.
    package var dtsTicks: Int64
    package var ptsTicks: Int64
    /// As written: the distance to the next sample, unless something is missing in between.
    package var durationTicks: Int64
    package var flags: SampleFlags
    /// Where in the file its bytes are.
    package var offset: Int64
    package var sizeBytes: Int
    /// Its number in its spool; nil when the fragment's record cannot be read.
    package var sequence: UInt64?
    /// No player shows it: it is presented before the file's first keyframe, or before the file begins.
    package var isHidden: Bool

    /// Its bytes: NAL units with 4-byte lengths (ISO/IEC 14496-15 §5.3), or one raw AAC packet.
    package func read() throws(ArchiveError) -> [UInt8] {
        try file.read(at: offset, count: sizeBytes)
    }

    /// The track's timescale.
    package var timescale: Timescale { file.format(track)?.timescale ?? .video }

    /// Session time, nanoseconds, to the nearest.
    package var dtsNanoseconds: Int64 { nanoseconds(dtsTicks) }
    package var ptsNanoseconds: Int64 { nanoseconds(ptsTicks) }
    /// When it ends, nanoseconds of session time.
    package var endNanoseconds: Int64 { nanoseconds(ptsTicks + durationTicks) }

    /// How long it lasts, nanoseconds.
    package var durationNanoseconds: Int64 { nanoseconds(durationTicks) }

    private func nanoseconds(_ ticks: Int64) -> Int64 {
        saturatingRescale(ticks, from: timescale, to: .nanoseconds)
    }
}

/// Samples of one track that follow each other in bytes and in their numbers.
package struct ReadRun: Sendable {
    package var track: TrackKind
    /// At least one.
    package var samples: [RecordedSample]
    /// Decoding time of the first as the agent stamped it, nanoseconds of its clock; nil when the record cannot be read.
    package var firstAgentDTSNanoseconds: Int64?
    /// Collector − agent as it was applied to that stamp, nanoseconds.
    package var appliedOffsetNanoseconds: Int64?
}

/// Samples that came in one message, or the part of them that is in this file. At most one run of each kind.
package struct RecordedPiece: Sendable {
    /// Where in the file its bytes are.
    package var range: Range<Int64>
    /// SHA-256 of those bytes; nil when the record cannot be read.
    package var digest: Digest?
    package var runs: [ReadRun]
}

/// One fragment of a recording.
package struct RecordedFragment: Sendable {
    package var file: RecordedFile
    /// Head and media, in the file.
    package var range: Range<Int64>
    /// Where it is from; nil when that cannot be read.
    package var record: FragmentRecord?
    /// In the order of their bytes, which is the order in which they came.
    package var pieces: [RecordedPiece]

    /// All samples, in the order of their bytes.
    package var samples: [RecordedSample] { pieces.flatMap(\.runs).flatMap(\.samples) }
}
