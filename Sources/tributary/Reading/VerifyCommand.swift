import Archive
import ArgumentParser
import Library
import Terminal

/// `tributary verify`: whether recordings are what was sent, without decoding anything; with `--sync`, whether their time is.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Checks recordings: boxes, sample tables, digests, sample order, NAL units, sequence numbers.",
        discussion: """
            WHAT is a session (its ID, or a name or tag set by 'note'), a session directory, an archive directory, 'latest', or an \
            MP4 or MOV file. Exit status 1 means damage: of the media, or of times that contradict the stamps of the agents' clocks \
            ('time-damage'; the media is then as it was sent). A file that is still growing, or that was left by a crash, is not damaged \
            by being incomplete.

            With --sync, recordings of the test pattern are decoded instead to measure timing errors: each source against the \
            common timeline, sources against each other, and audio against video. Files given by name are assumed to start at the same \
            instant. Sources without the test pattern are skipped and listed. Exit status 1 means that no time code was readable, or that \
            an error exceeds --max-error or the recorded clock bounds.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: ArgumentHelp("Sessions or files. (default: every session)", valueName: "what"))
    var what: [String] = []

    @OptionGroup(title: "Sync measurement") var time: SyncOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// Everything that was checked.
    private struct Report: Encodable {
        var isIntact: Bool
        var sessions: [SessionReport]
        var files: [FileReport]
    }

    func run() throws {
        if time.sync { return try measure() }
        let report = try withArchiveErrors { try check() }
        if json {
            try JSONOutput.print(report)
        } else {
            show(report)
        }
        if !report.isIntact { throw ExitCode(ExitStatus.failure) }
    }

    private func measure() throws {
        let verification = SyncVerification(options: time, archive: archive)
        let isAccepted = try withArchiveErrors { try verification.run(what, json: json) }
        if !isAccepted { throw ExitCode(ExitStatus.failure) }
    }

    private func check() throws -> Report {
        var sessions: [SessionReport] = []
        var files: [FileReport] = []
        // One for all of them: what it knows of a store is read once.
        let finder = try archive.finder()
        let wanted = what.isEmpty ? try finder.library().sessionNames() : what
        if wanted.isEmpty { throw LibraryError.empty(archive: archive.archive) }
        for name in wanted {
            let (paths, found) = try finder.subjects(name)
            files += paths.map { FileVerifier.verify($0).report }
            for place in found {
                sessions.append(try place.library.verification(of: place.name))
            }
        }
        let isIntact = sessions.allSatisfy(\.isIntact) && files.allSatisfy(\.isIntact)
        return Report(isIntact: isIntact, sessions: sessions, files: files)
    }

    private func show(_ report: Report) {
        for session in report.sessions {
            for source in session.sources {
                for file in source.files { print(ReportText.line(file)) }
            }
            session.allFindings.forEach { print(ReportText.line($0)) }
            print(ReportText.summary(session))
        }
        for file in report.files {
            print(ReportText.line(file))
            file.findings.forEach { print(ReportText.line($0)) }
        }
    }
}
