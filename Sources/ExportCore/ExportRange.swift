package import Archive
package import Recordings
package import Media

/// The selected part of a recording: a source, and a range of the session's timeline.
package struct ExportRange: Sendable {
    package var source: RecordedSource
    package var sessionZero: UTCTime
    /// Session time, nanoseconds; nil: the start of the source.
    package var startNanoseconds: Int64?
    /// Session time, nanoseconds; nil: the end of the source.
    package var endNanoseconds: Int64?
    package var tracks: Set<TrackKind>

    /// Time before a cut from which audio is read: decoding needs the packet before the first audible one. That ends within a
    /// packet of the cut: at most 1024 frames at 7,350 Hz, the lowest rate of AAC (ISO/IEC 14496-3 Table 1.18).
    static let soundLeadNanoseconds: Int64 = 140_000_000

    /// Reads the source's fragments from shortly before the range. Copies of the reader share its position: finding the
    /// start takes longer than reading a short clip.
    func reader() -> FragmentReader {
        guard let start = startNanoseconds else { return FragmentReader(source) }
        let begin = start.clampedSubtracting(Self.soundLeadNanoseconds)
        var reader = FragmentReader(source, from: begin)
        reader.skip(to: begin)
        return reader
    }

    package init(
        source: RecordedSource, sessionZero: UTCTime, startNanoseconds: Int64? = nil,
        endNanoseconds: Int64? = nil, tracks: Set<TrackKind> = Set(TrackKind.allCases)
    ) {
        self.source = source
        self.sessionZero = sessionZero
        self.startNanoseconds = startNanoseconds
        self.endNanoseconds = endNanoseconds
        self.tracks = tracks
    }
}

/// The result of an export.
package struct ExportSummary: Hashable, Sendable {
    /// Session time of the output's start, nanoseconds.
    package var startNanoseconds: Int64 = 0
    package var durationNanoseconds: Int64 = 0
    package var pictures = 0
    package var soundPackets = 0
    package var sizeBytes: Int64 = 0
    /// Total gaps removed by ``GapCloser``, nanoseconds.
    package var closedNanoseconds: Int64 = 0
    /// Notes for the user about the output.
    package var notes: [String] = []

    package init() {}

    mutating func count(_ kind: TrackKind) {
        switch kind {
        case .video: pictures += 1
        case .audio: soundPackets += 1
        }
    }
}

extension RecordedSample {
    /// The format of the sample's track.
    var format: TrackFormat {
        guard let format = file.format(track) else {
            preconditionFailure("a sample's file describes its track")
        }
        return format
    }
}
