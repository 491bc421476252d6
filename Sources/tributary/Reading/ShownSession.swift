import Archive

/// All that `show` knows of a session, as JSON.
struct ShownSession: Encodable {
    struct Source: Encodable {
        var name: String
        var agent: String?
        var address: String?
        /// What it was when it came, a line for each track.
        var formats: [String]
        var isComplete: Bool
        var recordedSamples: UInt64
        var lostSamples: UInt64
        var missingNanoseconds: Int64
        var gaps: [Gap]
        var clock: ClockSummary
        var files: [FileReport]
    }

    struct Gap: Encodable {
        /// When the collector wrote it down.
        var at: String
        var cause: String?
        var track: String?
        var samples: UInt64?
        var startNanoseconds: Int64?
        /// The same as time of day, RFC 3339.
        var start: String?
        var durationNanoseconds: UInt64?
        var text: String?
    }

    var session: String
    var zero: String
    var state: String
    var isCollectorRunning: Bool
    var isProtected: Bool
    var name: String?
    var tags: [String]
    var note: String?
    var segmentNanoseconds: Int64
    var startAt: String
    var software: String
    var sources: [Source]
    var findings: [Finding]

    init(
        _ report: SessionReport, _ manifest: SessionManifest, notes: SessionNotes,
        isProtected: Bool, state collector: SessionState
    ) {
        session = report.session
        zero = manifest.zero
        state = manifest.state.rawValue
        isCollectorRunning = collector.isCollectorRunning
        self.isProtected = isProtected
        name = notes.name
        tags = notes.tags
        note = notes.note
        segmentNanoseconds = manifest.segmentNanoseconds
        startAt = manifest.startAt.rawValue
        software = manifest.software
        findings = report.findings
        sources = report.sources.map { source in
            let entry = manifest.sources.first { $0.name == source.name }
            return Source(
                name: source.name, agent: entry?.agent, address: entry?.address,
                formats: entry?.tracks ?? [], isComplete: source.isComplete,
                recordedSamples: source.recordedSamples, lostSamples: source.lostSamples,
                missingNanoseconds: source.missingNanoseconds,
                gaps: source.gaps.map { Gap($0, zero: manifest.zeroTime) }, clock: source.clock,
                files: source.files)
        }
    }
}

extension ShownSession.Gap {
    init(_ entry: LedgerEntry, zero: UTCTime) {
        at = entry.at
        cause = entry.cause
        track = entry.track
        samples = entry.samples
        startNanoseconds = entry.startNanoseconds
        start = entry.startNanoseconds.map { InstantText.utc($0, zero: zero) }
        durationNanoseconds = entry.durationNanoseconds
        text = entry.text
    }
}
