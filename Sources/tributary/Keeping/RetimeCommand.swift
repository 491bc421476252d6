import Archive
import ArgumentParser
import Terminal

/// `tributary retime`: a session's timeline computed again, with all that was learned of the clocks.
struct RetimeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retime",
        abstract: "Computes a finished session's times again, with all clock exchanges known.",
        discussion: """
            While a session is recorded, times are placed by what is known of the clocks until then. Afterwards all clock exchanges \
            are known, those that followed a moment too. Only the files' indices are rewritten: no byte of media is touched, a \
            file plays at every instant, and --undo brings back what was recorded, byte for byte.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "The session; 'latest' is the newest.")
    var session: String

    @Flag(help: "Only say what would change.")
    var dryRun = false

    @Flag(help: "Bring back the times that were recorded.")
    var undo = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let report = try withArchiveErrors {
            let name = try archive.session(named: session)
            let retimer = try SessionRetimer(name, in: archive.layout)
            let report =
                undo ? try retimer.undo(isDryRun: dryRun) : try retimer.retime(isDryRun: dryRun)
            // Files have other lengths and sizes now.
            if !dryRun { try CatalogIndexing.refresh(name, archive.layout) }
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
                let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
                table.add([
                    "  \(name)", text(file.outcome), Self.text(file.medianShiftNanoseconds),
                    Self.text(file.greatestShiftNanoseconds),
                    Self.text(file.boundBefore?.medianNanoseconds),
                    Self.text(file.boundAfter?.medianNanoseconds),
                ])
            }
            table.lines().forEach { print($0) }
        }
        if report.isDryRun { print("nothing was changed: --dry-run") }
    }

    private func text(_ outcome: RetimingReport.File.Outcome) -> String {
        switch outcome {
        case .retimed: dryRun ? "would be retimed" : "retimed"
        case .unchanged: undo ? "as recorded" : "retimed before"
        case .restored: dryRun ? "would be restored" : "restored"
        case .withoutExchanges: "has no clock exchanges"
        }
    }

    private static func text(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "-" }
        return ClockText.duration(Int64(clamping: nanoseconds))
    }
}
