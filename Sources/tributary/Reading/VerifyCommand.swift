import Archive
import ArgumentParser
import ExportCore
import Glibc
import JSON
import Library
import Recordings
import Terminal

/// `tributary verify`: compares recordings with the sent data; with `--decode`, decodes their pictures; with `--sync`,
/// measures their timing errors.
struct VerifyCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Checks recordings: boxes, sample tables, digests, sample order, NAL units, sequence numbers.",
        discussion: """
            WHAT is a session (its ID, or a name or tag set by 'note'), a session directory, an archive directory, 'latest', or an \
            MP4 or MOV file. Exit status 1 means damage: of the media, or of times that contradict the stamps of the agents' clocks \
            ('time-damage'; the media is then as it was sent). A file that is still growing, or that was left by a crash, is not damaged \
            by being incomplete.

            With several archives, each file is checked where it is, and sequence numbers over all of them: copies are counted, and what one \
            archive lacks is missing only if no other one has it. An archive that cannot be read is left out, with a line; the others \
            are checked, and the exit status is 1.

            With --decode, the pictures of recordings are decoded too, from each picture at which decoding can start to the next one. A \
            picture that does not decode is damage. That takes about as long as playing the recordings at full speed.

            With --sync, recordings of the test pattern are decoded instead to measure timing errors: each source against the \
            common timeline, sources against each other, and audio against video. Files given by name are assumed to start at the same \
            instant. Sources without the test pattern are skipped and listed. Exit status 1 means that no time code was readable, or that \
            an error exceeds --max-error or the recorded clock bounds.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: ArgumentHelp("Sessions or files. (default: every session)", valueName: "what"))
    var what: [String] = []

    @Flag(help: "Also decode every picture, from each one at which decoding can start.")
    var decode = false

    @OptionGroup(title: "Sync measurement") var time: SyncOptions

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    /// Everything that was checked.
    private struct Report: Encodable {
        var isIntact: Bool
        /// Whether every archive and session could be read.
        var isComplete: Bool
        var sessions: [SessionReport]
        var files: [FileReport]
    }

    /// A session's report.
    private struct Checked {
        var report: SessionReport
        /// Whether every archive was read for it.
        var isComplete: Bool
    }

    func validate() throws {
        if decode, time.sync {
            throw ValidationError("--decode and --sync are two checks: use one of them")
        }
    }

    func run() throws {
        if time.sync { return try measure() }
        let (sessions, report) = try withArchiveErrors {
            try decode
                ? LongWork.run("decoding") { try check($0) }
                : check(nil)
        }
        if json {
            try JSONOutput.print(report)
        } else {
            show(sessions, report.files)
        }
        if !report.isIntact { throw ExitCode(ExitStatus.failure) }
    }

    private func measure() throws {
        let verification = SyncVerification(options: time, archive: archive)
        let (isAccepted, isComplete) = try withArchiveErrors {
            try verification.run(what, json: json)
        }
        if !isAccepted || !isComplete { throw ExitCode(ExitStatus.failure) }
    }

    /// - Parameter control: of the decoding; nil: nothing is decoded.
    private func check(_ control: WorkControl?) throws -> ([Checked], Report) {
        var sessions: [Checked] = []
        var files: [FileReport] = []
        var hasUnread = false
        // Shared, so that listings of a store are cached.
        let finder = try archive.finder()
        let whole = what.isEmpty ? try finder.library() : nil
        let wanted = try whole?.sessionNames() ?? what
        if wanted.isEmpty { throw LibraryError.empty(archive: finder.archive) }
        for name in wanted {
            // An entry of the list need not be a session that can be found.
            let (paths, found) =
                if let whole {
                    ([String](), [FoundSession(name: name, library: whole)])
                } else {
                    try finder.subjects(name)
                }
            for path in paths {
                var report = FileVerifier.verify(path).report
                if let control {
                    switch report.state {
                    case .finished, .growing:
                        report.findings += try DecodingCheck.findings(
                            in: RecordedFile(opening: path), control: control)
                    case .foreign:
                        report.findings += try DecodingCheck.findings(
                            inForeign: path, control: control)
                    case .unreadable: break
                    }
                }
                files.append(report)
            }
            for place in found {
                let omissions = place.library.omissions
                do {
                    if let whole, try !whole.isSession(place.name) { continue }
                    var report = try place.library.verification(of: place.name)
                    if let control { try decode(place, into: &report, control) }
                    sessions.append(
                        Checked(
                            report: report,
                            isComplete: !place.library.isIncomplete(since: omissions)))
                } catch let error as ArchiveError
                    where (wanted.count > 1 || found.count > 1) && !error.isForStore
                    && error.code != ECANCELED
                {
                    // The others can be checked.
                    Program.complain("\(error); \(place.name) is not checked")
                    hasUnread = true
                }
            }
        }
        let isComplete = !hasUnread && !finder.isIncomplete
        let isIntact =
            isComplete && sessions.allSatisfy(\.report.isIntact) && files.allSatisfy(\.isIntact)
        return (
            sessions,
            Report(
                isIntact: isIntact, isComplete: isComplete, sessions: sessions.map(\.report),
                files: files)
        )
    }

    /// Adds the results of decoding to the reports of a session's files.
    private func decode(
        _ place: FoundSession, into report: inout SessionReport, _ control: WorkControl
    ) throws {
        let recording = try place.recording()
        for source in report.sources.indices {
            let recorded = recording.source(report.sources[source].name)?.files ?? []
            for file in report.sources[source].files.indices {
                let path = report.sources[source].files[file].path
                // Unreadable files have been reported.
                guard report.sources[source].files[file].state != .unreadable,
                    let own = recorded.first(where: { $0.path == path })
                else { continue }
                report.sources[source].files[file].findings += try DecodingCheck.findings(
                    in: try own.opened(), control: control)
            }
        }
    }

    private func show(_ sessions: [Checked], _ files: [FileReport]) {
        for session in sessions {
            for source in session.report.sources {
                for file in source.files { print(ReportText.line(file)) }
            }
            session.report.allFindings.forEach { print(ReportText.line($0)) }
            print(ReportText.summary(session.report, isComplete: session.isComplete))
        }
        for file in files {
            print(ReportText.line(file))
            file.findings.forEach { print(ReportText.line($0)) }
        }
    }
}
