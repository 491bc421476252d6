import Archive
import ArgumentParser
import Catalog
import Files
import JSON
import Library
import Recordings
import Terminal

/// `tributary retime`: a session's timeline computed again, with all that was learned of the clocks.
struct RetimeCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "retime",
        abstract: "Recomputes the timestamps of a finished session from all its clock exchanges.",
        discussion: """
            During recording, timestamps are based on the clock exchanges so far. Afterwards all exchanges are known, including later \
            ones, so timestamps can be more accurate. Only the index of each file is rewritten: the media is not changed, files stay \
            playable at any time, and --undo restores the recorded files byte for byte.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session, or 'latest' for the newest.")
    var session: String

    @Flag(help: "Only print what would change.")
    var dryRun = false

    @Flag(help: "Restore the recorded timestamps.")
    var undo = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    func run() throws {
        let report = try withArchiveErrors {
            let place = try archive.finder(
                try archive.catalog.forWriting("tributary")
            ).session(named: session)
            let layout = try place.library.files(of: place.name, to: "retime a session")
            let retimer = try SessionRetimer(place.name, in: layout)
            let report =
                undo ? try retimer.undo(isDryRun: dryRun) : try retimer.retime(isDryRun: dryRun)
            // Files have other lengths and sizes now.
            if !dryRun {
                try place.library.refreshCatalog(place.name)
                CollectorControl.tellChange(of: place.name, in: layout)
            }
            return report
        }
        if json { return try JSONOutput.print(report) }
        show(report)
    }

    private func show(_ report: RetimingReport) {
        for source in report.sources {
            let clocks =
                undo
                ? "" : ", \(source.believedExchanges) of \(source.exchanges) clock exchanges used"
            print("\(source.name)\(clocks)")
            var table = Table(
                ["  SEGMENT", "", "MOVES BY", "AT MOST", "CLOCK ±", "NOW ±"],
                rightAligned: [2, 3, 4, 5])
            for file in source.files {
                let name = Path.name(of: file.path)
                table.add([
                    "  \(name)", text(file.outcome), Self.text(file.medianShiftNanoseconds),
                    Self.text(file.greatestShiftNanoseconds),
                    Self.text(file.boundBefore?.medianNanoseconds),
                    Self.text(file.boundAfter?.medianNanoseconds),
                ])
            }
            table.lines().forEach { print($0) }
        }
        if report.isDryRun { print("--dry-run: nothing was changed") }
    }

    private func text(_ outcome: RetimingReport.File.Outcome) -> String {
        switch outcome {
        case .retimed: dryRun ? "would be retimed" : "retimed"
        case .unchanged: undo ? "as recorded" : "already retimed"
        case .restored: dryRun ? "would be restored" : "restored"
        case .withoutExchanges: "no clock exchanges"
        }
    }

    private static func text(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "-" }
        return ClockText.duration(Int64(clamping: nanoseconds))
    }
}
