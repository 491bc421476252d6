import Archive
import ArgumentParser
import JSON
import ObjectStore
import Terminal
import Uploading

/// `tributary store verify`: compares the store with the archive's proofs.
struct StoreVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks that the store has every segment as it was proven.",
        discussion: """
            Size and entity tag of each object are compared with its proof; with --read, all media is read back and its digests are \
            compared. A store that does not answer any more is asked for nothing more, and the rest is unchecked. What a recording contains is checked by 'tributary verify'. Exit status 1 means that media that is in the store alone \
            is missing or damaged there, or that not everything was checked.
            """)

    @OptionGroup var place: StoreArguments

    @Argument(help: ArgumentHelp("Sessions. (default: all)", valueName: "session"))
    var sessions: [String] = []

    @Flag(help: "Read all media back and compare it.")
    var read = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    /// Everything that was checked.
    private struct Report: Encodable {
        var isIntact: Bool
        var store: String
        var sessions: [StoreInspection.Report]
    }

    func run() throws {
        let (report, failure) = try withStoreErrors { try check() }
        if json {
            try JSONOutput.print(report)
        } else {
            for session in report.sessions { show(session) }
        }
        if let failure { throw Failure(failure) }
        let unchecked = report.sessions.lazy.map(\.uncheckedSegments).reduce(0, +)
        guard unchecked == 0 else {
            throw Failure(
                "\(unchecked) segments are in another store than \(report.store), and were not checked"
            )
        }
        if !report.isIntact { throw ExitCode(ExitStatus.failure) }
    }

    /// - Returns: the result, and the error that ended the check early; nil if it is complete.
    private func check() throws -> (Report, failure: String?) {
        let upload = try place.place()
        let inspection = StoreInspection(of: upload, readsBack: read)
        var reports: [StoreInspection.Report] = []
        let names = try place.sessions(sessions)
        var failure: String?
        for session in names {
            let (report, error) = try inspection.run(session)
            reports.append(report)
            guard let error else { continue }
            failure =
                "\(error.message); not checked: \(report.uncheckedSegments) segments of \(session)"
            let others = names.count - reports.count
            if others > 0 { failure? += " and \(others) more sessions" }
            break
        }
        let report = Report(
            isIntact: reports.allSatisfy(\.isIntact), store: upload.bucket.name, sessions: reports)
        return (report, failure)
    }

    private func show(_ report: StoreInspection.Report) {
        var parts = [
            "\(report.provenSegments) segments in the store, \(ByteCount(report.provenBytes))"
        ]
        if report.movedSegments > 0 { parts.append("\(report.movedSegments) of them there alone") }
        if report.uncheckedSegments > 0 {
            parts.append("\(report.uncheckedSegments) not checked")
        }
        if report.waitingSegments > 0 { parts.append("\(report.waitingSegments) not there yet") }
        print("\(report.session): \(parts.joined(separator: ", "))")
        for finding in report.findings {
            let mark = finding.severity == .damage ? "damage" : "note"
            print("  \(mark): \(oneLine("\(finding.path): \(finding.text)"))")
        }
    }
}
