package import Archive
package import Library
package import Media

/// What of a recording is wanted: one source, and from when to when on the session's timeline.
package struct ExportRange: Sendable {
    package var source: RecordedSource
    package var sessionZero: UTCTime
    /// Session time, nanoseconds; nil: where the source begins.
    package var startNanoseconds: Int64?
    /// Session time, nanoseconds; nil: where it ends.
    package var endNanoseconds: Int64?
    package var tracks: Set<TrackKind>

    /// AAC's overlap needs the packet before the one that is heard, whatever its rate: 2048 frames at 24 kHz.
    static let soundLeadNanoseconds: Int64 = 86_000_000

    /// Reads the source's fragments from shortly before the range. Copies of it read the same ones: to look for the beginning takes
    /// longer than to read a short clip.
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

/// What an export did.
package struct ExportSummary: Hashable, Sendable {
    /// Session time of the output's beginning, nanoseconds.
    package var startNanoseconds: Int64 = 0
    package var durationNanoseconds: Int64 = 0
    package var pictures = 0
    package var soundPackets = 0
    package var sizeBytes: Int64 = 0
    /// What ``GapCloser`` took out, nanoseconds.
    package var closedNanoseconds: Int64 = 0
    /// What somebody who looks at the output should know.
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
    /// How the sample's track is coded.
    var format: TrackFormat {
        guard let format = file.format(track) else {
            preconditionFailure("a sample's file describes its track")
        }
        return format
    }
}
