/// Something that verification has to say.
package struct Finding: Codable, Hashable, Sendable {
    package enum Severity: String, Codable, Sendable {
        /// Not what was recorded, or not there without an explanation.
        case damage
        /// Worth knowing; nothing is wrong.
        case note
    }

    package var severity: Severity
    /// The file or directory it is about.
    package var path: String
    /// Where in the file, bytes.
    package var offset: Int64?
    /// One line.
    package var text: String

    package init(_ severity: Severity, _ path: String, at offset: Int64? = nil, _ text: String) {
        self.severity = severity
        self.path = path
        self.offset = offset
        self.text = text
    }
}

/// What was found in one file.
package struct FileReport: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable {
        /// Written by us, with its final index.
        case finished
        /// Written by us, still growing, or left so by a crash.
        case growing
        /// An MP4 of another origin: fewer things can be proved.
        case foreign
        /// Not readable as MP4 at all.
        case unreadable
    }

    package struct Track: Codable, Hashable, Sendable {
        /// `video` or `audio`.
        package var kind: String
        package var format: String
        package var samples: Int
        package var keyframes: Int
        /// First and last presentation time on the segment's timeline, seconds.
        package var startSeconds: Double
        package var endSeconds: Double
    }

    package var path: String
    package var state: State
    package var sizeBytes: UInt64 = 0
    package var fragments = 0
    package var tracks: [Track] = []
    /// Media bytes whose digest was computed and compared.
    package var digestedBytes: UInt64 = 0
    package var findings: [Finding] = []
    /// The segment's origin on the session's timeline, seconds; none without records.
    package var originSeconds: Double?
    /// What computing its times again has changed; none when they are as recorded.
    package struct Retiming: Codable, Hashable, Sendable {
        package var boundBefore: RetimingReport.Bounds
        package var boundAfter: RetimingReport.Bounds
        /// Corners of the mapping, all tracks together.
        package var knots: Int

        init(_ record: RetimingRecord) {
            boundBefore = RetimingReport.Bounds(record.before)
            boundAfter = RetimingReport.Bounds(record.after)
            knots = record.tracks.reduce(0) { $0 + $1.knots.count }
        }
    }
    package var retiming: Retiming?
    /// How well the agent's clock was known when the first and the last fragment were written, milliseconds.
    package var clockBoundMilliseconds: [Double] = []

    package init(path: String, state: State) {
        self.path = path
        self.state = state
    }

    /// Whether nothing is damaged.
    package var isIntact: Bool { !findings.contains { $0.severity == .damage } }
}

/// What was found in a session.
package struct SessionReport: Codable, Hashable, Sendable {
    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        package var files: [FileReport]
        /// Records in the files, each counted once.
        package var recordedSamples: UInt64
        /// Samples that the ledger explains.
        package var lostSamples: UInt64
        /// For how long something was missing, as the ledger explains it.
        package var missingNanoseconds: Int64
        package var gaps: [LedgerEntry]
        package var clock: ClockSummary
        /// Whether it said goodbye.
        package var isComplete: Bool
    }

    package var session: String
    package var zero: String?
    package var state: String?
    package var sources: [Source]
    /// About the session as a whole; files have their own.
    package var findings: [Finding]

    /// Everything that was found, files included.
    package var allFindings: [Finding] {
        findings + sources.flatMap(\.files).flatMap(\.findings)
    }

    /// Whether nothing is damaged.
    package var isIntact: Bool { !allFindings.contains { $0.severity == .damage } }
}
