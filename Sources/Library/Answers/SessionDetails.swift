package import Archive
import Media
import Recordings

/// Details of a session from its files: sources, segments, gaps, clocks.
package struct SessionDetails: Encodable, Sendable {
    package struct Source: Encodable {
        package var name: String
        /// The main source, if this is a preview; nil for a main source.
        package var previewOf: String?
        package var agent: String?
        package var address: String?
        /// Its format when it joined, a line for each track.
        package var formats: [String]
        package var isComplete: Bool
        package var recordedSamples: UInt64
        package var lostSamples: UInt64
        package var missingNanoseconds: Int64
        package var gaps: [Gap]
        /// Nil: none.
        package var removed: [RemovedFiles]?
        /// Records in archives of other collectors; nil: none.
        package var held: [HeldRecords]?
        /// With several archives, copies beside the one of each record that is read; nil: one archive was read.
        package var copies: UInt64?
        package var clock: ClockSummary
        package var files: [FileReport]
    }

    package struct Gap: Encodable {
        /// When the collector recorded it.
        package var at: String
        package var cause: String?
        package var track: String?
        package var samples: UInt64?
        package var startNanoseconds: Int64?
        /// The same as time of day, RFC 3339.
        package var start: String?
        package var durationNanoseconds: UInt64?
        package var text: String?
    }

    /// The session of a site that the session is a part of, although it was begun without it.
    package struct Whole: Encodable {
        package var session: String
        /// Where the session's zero is on that one's timeline.
        package var offsetNanoseconds: Int64
        /// Maximum error of that.
        package var boundNanoseconds: UInt64
    }

    package var session: String
    package var zero: String
    package var state: String
    package var isCollectorRunning: Bool
    package var isProtected: Bool
    package var name: String?
    package var tags: [String]
    package var note: String?
    package var segmentNanoseconds: Int64
    package var startAt: String
    package var software: String
    /// The merged archives; nil: one archive was read.
    package var archives: [SessionReport.Part]?
    /// Nil: none, or it was read with it.
    package var whole: Whole?
    package var sources: [Source]
    package var findings: [Finding]

    package init(
        _ report: SessionReport, _ manifest: SessionManifest, labels: SessionNotes,
        isProtected: Bool, isCollectorRunning: Bool
    ) {
        session = report.session
        zero = manifest.zero
        state = manifest.state.rawValue
        self.isCollectorRunning = isCollectorRunning
        self.isProtected = isProtected
        name = labels.name
        tags = labels.tags
        note = labels.note
        segmentNanoseconds = manifest.segmentNanoseconds
        startAt = manifest.startAt.rawValue
        software = manifest.software
        findings = report.findings
        archives = report.archives
        whole = manifest.attached?.last.map {
            Whole(
                session: $0.session, offsetNanoseconds: $0.offsetNanoseconds,
                boundNanoseconds: $0.boundNanoseconds)
        }
        let previews = SourcePreviews(report.sources.map(\.name))
        sources = report.sources.map { source in
            let entry = manifest.sources.first { $0.name == source.name }
            return Source(
                name: source.name, previewOf: previews.source(of: source.name), agent: entry?.agent,
                address: entry?.address,
                formats: entry?.tracks ?? [], isComplete: source.isComplete,
                recordedSamples: source.recordedSamples, lostSamples: source.lostSamples,
                missingNanoseconds: source.missingNanoseconds,
                gaps: source.gaps.map { Gap($0, zero: manifest.zeroTime) },
                removed: source.removed, held: source.held,
                copies: source.copies, clock: source.clock,
                files: source.files)
        }
    }
}

extension SessionDetails.Gap {
    init(_ entry: LedgerEntry, zero: UTCTime) {
        at = entry.at
        cause = entry.cause
        track = entry.track
        samples = entry.samples
        startNanoseconds = entry.startNanoseconds
        start = entry.startNanoseconds.map { zero.text(atSessionNanoseconds: $0) }
        durationNanoseconds = entry.durationNanoseconds
        text = entry.text
    }
}

extension SessionReport.Source {
    /// Adds a loss that no ledger has.
    fileprivate mutating func add(_ loss: LedgerEntry) {
        gaps.append(loss)
        lostSamples.addClamped(loss.samples ?? 0)
        missingNanoseconds = missingNanoseconds.clampedAdding(
            Int64(clamping: loss.durationNanoseconds ?? 0))
    }
}

extension RecordingLibrary {
    /// Reads everything of a session, as `verify` does: it takes as long.
    package func details(
        of session: String
    ) throws(ArchiveError) -> (details: SessionDetails, report: SessionReport) {
        var report = try verification(of: session)
        if merged != nil {
            for source in report.sources.indices {
                let key = SourceKey(session: report.session, source: report.sources[source].name)
                for loss in try losses(of: key) { report.sources[source].add(loss) }
            }
        }
        let details = SessionDetails(
            report, try manifest(session), labels: labels(session),
            isProtected: isProtected(session), isCollectorRunning: try isCollectorRunning())
        return (details, report)
    }
}
