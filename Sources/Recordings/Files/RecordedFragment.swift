package import Archive
package import Media

/// A sample of a recording, with its session time and its position in the file.
package struct RecordedSample: Sendable {
    package var file: RecordedFile
    package var track: TrackKind
    /// Session time, ticks of the track's timescale, with retiming applied.
    package var dtsTicks: Int64
    package var ptsTicks: Int64
    /// As written: the distance to the next sample, unless samples are missing.
    package var durationTicks: Int64
    package var flags: SampleFlags
    /// Byte offset in the file.
    package var offset: Int64
    package var sizeBytes: Int
    /// Sequence number; nil if the fragment's record is unreadable.
    package var sequence: UInt64?
    /// Players do not show it: it is presented before the file's first keyframe, or before the file's start.
    package var isHidden: Bool
    /// A keyframe that begins a file after missing pictures: decoders must not relate it to the pictures before.
    package var beginsAnew = false

    /// Reads its bytes: NAL units with 4-byte lengths (ISO/IEC 14496-15 §5.3), or one raw AAC packet. They are as recorded, except for
    /// ``patches(of:)``.
    package func read() throws(ArchiveError) -> [UInt8] {
        var bytes = try file.read(at: offset, count: sizeBytes)
        for patch in patches(of: bytes) { bytes[patch.offset] = patch.byte }
        return bytes
    }

    /// The changes of the recorded bytes by which it can follow the samples before it in one stream (``VideoCoding/brokenLink(_:)``).
    package func patches() throws(ArchiveError) -> [BytePatch] {
        beginsAnew ? patches(of: try file.read(at: offset, count: sizeBytes)) : []
    }

    private func patches(of bytes: [UInt8]) -> [BytePatch] {
        guard beginsAnew, case .video(let format) = file.format(.video) else { return [] }
        do throws(BitstreamError) {
            return try format.codec.coding.brokenLink(bytes.span)
        } catch {
            // A damaged picture stays as it is.
            return []
        }
    }

    /// The track's timescale.
    package var timescale: Timescale { file.format(track)?.timescale ?? .video }

    /// Session time, nanoseconds, rounded to nearest.
    package var dtsNanoseconds: Int64 { nanoseconds(dtsTicks) }
    package var ptsNanoseconds: Int64 { nanoseconds(ptsTicks) }
    /// End of presentation, session time in nanoseconds.
    package var endNanoseconds: Int64 { nanoseconds(ptsTicks + durationTicks) }

    /// Duration, nanoseconds.
    package var durationNanoseconds: Int64 { nanoseconds(durationTicks) }

    private func nanoseconds(_ ticks: Int64) -> Int64 {
        timescale.nanoseconds(ticks)
    }
}

/// Samples of one track with consecutive positions and sequence numbers.
package struct ReadRun: Sendable {
    package var track: TrackKind
    /// At least one.
    package var samples: [RecordedSample]
    /// Decoding time of the first sample on the agent's clock, nanoseconds; nil if the record is unreadable.
    package var firstAgentDTSNanoseconds: Int64?
    /// The clock offset (collector − agent) that was applied, nanoseconds.
    package var appliedOffsetNanoseconds: Int64?
}

/// The samples of one message, or the part of them that is in this file. At most one run per track.
package struct RecordedPiece: Sendable {
    /// Byte range in the file.
    package var range: Range<Int64>
    /// SHA-256 of those bytes; nil if the record is unreadable.
    package var digest: Digest?
    package var runs: [ReadRun]
}

/// One fragment of a recording.
package struct RecordedFragment: Sendable {
    package var file: RecordedFile
    /// Byte range of `moof` and `mdat`.
    package var range: Range<Int64>
    /// The fragment's record; nil if it is unreadable.
    package var record: FragmentRecord?
    /// In file order, which is the order of arrival.
    package var pieces: [RecordedPiece]

    /// All samples in file order.
    package var samples: [RecordedSample] { pieces.flatMap(\.runs).flatMap(\.samples) }
}
