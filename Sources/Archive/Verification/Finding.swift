/// A finding of a verification.
package struct Finding: Codable, Hashable, Sendable {
    package enum Severity: String, Codable, Sendable {
        /// Data differs from what was recorded, or is missing without an explanation.
        case damage
        /// Times contradict the stamps of the agent's clock; the media is unchanged.
        case timeDamage = "time-damage"
        /// Information; nothing is wrong.
        case note

        /// Whether something is wrong.
        package var isDamage: Bool { self != .note }
    }

    package var severity: Severity
    /// The file or directory concerned.
    package var path: String
    /// The byte offset in the file.
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

/// The findings in one file.
package struct FileReport: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable {
        /// A recorded file with its final index.
        case finished
        /// A recorded file that is still growing, or was left so by a crash.
        case growing
        /// An MP4 file of another origin: fewer properties can be verified.
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
    /// The segment's origin on the session's timeline, seconds; nil without records.
    package var originSeconds: Double?
    /// The changes by retiming; nil when the times are as recorded.
    package struct Retiming: Codable, Hashable, Sendable {
        package var boundBefore: RetimingReport.Bounds
        package var boundAfter: RetimingReport.Bounds
        /// Knots of the mapping, all tracks together.
        package var knots: Int
        /// Nil: no times follow a camera's timestamps.
        package var camera: RetimingReport.Camera?

        init(_ record: RetimingRecord) {
            boundBefore = RetimingReport.Bounds(record.before)
            boundAfter = RetimingReport.Bounds(record.after)
            knots = record.tracks.reduce(0) { $0 + $1.knots.count }
            camera = RetimingReport.Camera(record)
        }
    }
    package var retiming: Retiming?
    /// The bounds of the agent's clock when the first and the last fragment were written, milliseconds; with several
    /// archives, with the error of the collectors' clocks.
    package var clockBoundMilliseconds: [Double] = []

    package init(path: String, state: State) {
        self.path = path
        self.state = state
    }

    /// Whether nothing is damaged, times included.
    package var isIntact: Bool { !findings.contains(where: \.severity.isDamage) }
    /// Whether the media is unchanged, regardless of its times.
    package var hasWholeMedia: Bool { !findings.contains { $0.severity == .damage } }
}

/// The findings in a session.
package struct SessionReport: Codable, Hashable, Sendable {
    package struct Source: Codable, Hashable, Sendable {
        package var name: String
        package var files: [FileReport]
        /// Records in the files, each counted once.
        package var recordedSamples: UInt64
        /// Missing samples that the ledger explains.
        package var lostSamples: UInt64
        /// Total duration of losses that the ledger explains.
        package var missingNanoseconds: Int64
        package var gaps: [LedgerEntry]
        /// Nil: none.
        package var removed: [RemovedFiles]?
        package var clock: ClockSummary
        /// Whether it has ended.
        package var isComplete: Bool
        /// Records that are in archives that were not read; nil: none.
        package var held: [HeldRecords]?
        /// With several archives: copies beside the one of each record that is read; nil: one archive was read.
        package var copies: UInt64?
        /// Numbers in its files and its ledger.
        package var numbers = SourceNumbers()

        private enum CodingKeys: CodingKey {
            case name, files, recordedSamples, lostSamples, missingNanoseconds, gaps, removed,
                clock,
                isComplete
            case held, copies
        }
    }

    /// One of several archives that were read as one.
    package struct Part: Codable, Hashable, Sendable {
        /// The collector's name, or ``place`` if it is unknown.
        package var name: String
        /// Path or address of the archive.
        package var place: String
        /// Added to its times to get times of the first archive; if the shift varies, its first value.
        package var shiftNanoseconds: Int64
        /// Growth of the shift, parts per billion: the rates of the two collectors' clocks differ. Nil: it is constant.
        package var skewPartsPerBillion: Int64?
        /// Maximum error of the shift: the sum of the bounds on the way from one clock to the other.
        package var boundNanoseconds: UInt64
        /// Whether both collectors have measured one agent's clock, or each other's; false: their zeros were compared, and
        /// their sources are not called synchronous.
        package var isMeasured: Bool
        /// Records in its files.
        package var recordedSamples: UInt64
        /// The session's name there, if it was begun without the site's database; nil: the same.
        package var session: String?

        package init(
            name: String, place: String, shiftNanoseconds: Int64, boundNanoseconds: UInt64,
            isMeasured: Bool, recordedSamples: UInt64, session: String? = nil
        ) {
            self.name = name
            self.place = place
            self.shiftNanoseconds = shiftNanoseconds
            self.boundNanoseconds = boundNanoseconds
            self.isMeasured = isMeasured
            self.recordedSamples = recordedSamples
            self.session = session
        }
    }

    package var session: String
    package var zero: String?
    package var state: String?
    /// In the order of their names; nil: one archive was read.
    package var archives: [Part]?
    package var sources: [Source]
    /// Findings about the session as a whole; files have their own.
    package var findings: [Finding]

    /// All findings, files included.
    package var allFindings: [Finding] {
        findings + sources.flatMap(\.files).flatMap(\.findings)
    }

    /// Whether nothing is damaged, times included.
    package var isIntact: Bool { !allFindings.contains(where: \.severity.isDamage) }
    /// Whether the media is unchanged, regardless of its times.
    package var hasWholeMedia: Bool { !allFindings.contains { $0.severity == .damage } }
}
