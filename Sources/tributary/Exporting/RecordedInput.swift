import Archive
import ArgumentParser
import ExportCore
import JSON
import Library
import Media
import Recordings
import Terminal

/// Options that select a part of recordings.
struct RecordedInput: ParsableArguments {
    @OptionGroup var archive: ArchiveOptions

    @Argument(
        help: ArgumentHelp(
            "A session (its ID, or a name or tag set by 'note'), 'latest', a session directory, or recordings (.mp4) of one session.",
            valueName: "input"))
    var inputs: [String] = []

    @Option(
        // Session time before zero is negative.
        parsing: .unconditional,
        help: ArgumentHelp("Start at this session time (1:23.5, 90s) or UTC.", valueName: "time"))
    var start: TimelinePoint?

    @Option(help: ArgumentHelp("Duration: 500ms, 10s, 5m.", valueName: "time"))
    var duration: TimeSpan?

    /// Opens the session, with a line about media that cannot be read.
    /// - Parameters:
    ///   - sources: the requested ones; empty: not stated.
    ///   - instant: of a picture, instead of a range.
    func session(
        _ finder: SessionFinder, sources: [String], at instant: TimelinePoint? = nil
    ) throws -> RecordedSession {
        guard !inputs.isEmpty else {
            throw UsageError(
                "no input: give a session, 'latest' or recordings; 'tributary ls' lists the sessions"
            )
        }
        let session = try finder.recording(inputs)
        let from = (instant ?? start)?.sessionNanoseconds(
            zeroUTCNanoseconds: session.zero.nanoseconds)
        let length = instant == nil ? duration?.nanoseconds : 1
        let until = from.flatMap { from in length.map { from.clampedAdding($0) } }
        try AbsentMediaCheck(finder, inputs, session).run(
            sources: sources, from: from, until: until)
        return session
    }

    /// The selected range of each of these sources.
    func ranges(
        of sources: [RecordedSource], in session: RecordedSession, tracks: Set<TrackKind>
    ) throws -> [ExportRange] {
        let from = start?.sessionNanoseconds(zeroUTCNanoseconds: session.zero.nanoseconds)
        if let duration, duration.nanoseconds <= 0 {
            throw UsageError("--duration must be more than 0")
        }
        if let from { try checkBeginning(from, of: session) }
        var ranges: [ExportRange] = []
        for source in sources {
            var end: Int64?
            if let duration {
                let begin = try from ?? source.extent()?.startNanoseconds ?? 0
                let (sum, overflow) = begin.addingReportingOverflow(duration.nanoseconds)
                end = overflow ? nil : sum
            }
            if let from, let extent = try source.extent(), from >= extent.endNanoseconds {
                throw Failure(
                    "\(source.name) ends at \(TimelinePoint.text(extent.endNanoseconds)), before --start "
                        + TimelinePoint.text(from))
            }
            if let end, let extent = try source.extent(), end <= extent.startNanoseconds {
                throw Failure(
                    "\(source.name) begins at \(TimelinePoint.text(extent.startNanoseconds)), after the end of the requested range"
                )
            }
            ranges.append(
                ExportRange(
                    source: source, sessionZero: session.zero, startNanoseconds: from,
                    endNanoseconds: end, tracks: tracks))
        }
        return ranges
    }

    /// Before zero there are only samples that agents captured before the session started.
    private func checkBeginning(_ start: Int64, of session: RecordedSession) throws {
        guard start < 0 else { return }
        var first: Int64 = 0
        for source in session.sources {
            if let extent = try source.extent() { first = min(first, extent.startNanoseconds) }
        }
        guard start >= first else {
            throw Failure(
                "--start \(TimelinePoint.text(start)) is before the start of the session at \(TimelinePoint.text(first))"
            )
        }
    }

    /// The source of that name, or the only one that is no preview.
    static func source(_ name: String?, in session: RecordedSession) throws -> RecordedSource {
        let names = session.sources.map(\.name)
        guard let name else {
            let mains = session.mainSources
            guard let first = mains.first else {
                throw ExportError.nothingThere("session \(session.name)")
            }
            guard mains.count == 1 else { throw ExportError.severalSources(mains.map(\.name)) }
            return first
        }
        guard let source = session.source(name) else {
            throw ExportError.noSource(name, available: names)
        }
        return source
    }
}

/// `1280x720`.
struct SizeArgument: HintedArgument {
    static var valueHint: String { "a size such as 1280x720, even numbers from 64x64 to 7680x4320" }

    let size: PictureSize

    init?(argument: String) {
        let parts = argument.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (64...7_680).contains(width), (64...4_320).contains(height), width % 2 == 0,
            height % 2 == 0
        else { return nil }
        size = PictureSize(width: width, height: height)
    }
}

extension ExportSummary {
    /// `20 s from 0:01:00.000 on, 600 pictures, 938 packets of sound, 10.2 MB`.
    var text: String {
        if durationNanoseconds == 0, pictures == 1 {
            return "picture at \(TimelinePoint.text(startNanoseconds)), \(ByteCount(sizeBytes))"
        }
        var parts = [
            "\(decimal(Double(durationNanoseconds) / 1e9)) s from \(TimelinePoint.text(startNanoseconds))"
        ]
        if pictures > 0 { parts.append("\(pictures) pictures") }
        if soundPackets > 0 { parts.append("\(soundPackets) audio packets") }
        if closedNanoseconds > 0 {
            parts.append("gaps of \(decimal(Double(closedNanoseconds) / 1e9)) s closed")
        }
        parts.append("\(ByteCount(sizeBytes))")
        return parts.joined(separator: ", ")
    }
}

/// Result of an export or an extraction, as JSON.
struct ExportReport: Encodable {
    var file: String
    var session: String
    var source: String
    var startNanoseconds: Int64
    var durationNanoseconds: Int64
    var pictures: Int
    var soundPackets: Int
    var sizeBytes: Int64
    var closedNanoseconds: Int64
    var notes: [String]

    init(_ summary: ExportSummary, file: String, session: String, source: String) {
        self.file = file
        self.session = session
        self.source = source
        startNanoseconds = summary.startNanoseconds
        durationNanoseconds = summary.durationNanoseconds
        pictures = summary.pictures
        soundPackets = summary.soundPackets
        sizeBytes = summary.sizeBytes
        closedNanoseconds = summary.closedNanoseconds
        notes = summary.notes
    }

    /// Prints it as JSON or text.
    func show(_ summary: ExportSummary, json: Bool) throws {
        if json { return try JSONOutput.print(self) }
        print("\(oneLine(file)): \(summary.text)")
        for note in notes { print("  note: \(note)") }
    }
}
