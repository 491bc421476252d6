import Archive
import ArgumentParser
import JSON
import Library
import Recordings
import Terminal

/// `tributary lost`: declares records that a permanently lost collector holds as lost.
struct LostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lost",
        abstract: "Declares records lost that only another collector's archive has.",
        discussion: """
            Records that an agent has forgotten because another collector had acknowledged them are held by that collector: neither recorded \
            in this archive nor missing. If that collector's disk is gone, this command counts them as lost, with the cause \
            'collector-lost'. It changes no recording. --undo takes it back; nor does it count where the collector's archive is given \
            with another --archive.
            """)

    @OptionGroup var archive: DirectoryOptions

    @Argument(
        help: ArgumentHelp(
            "The collector's name, as 'tributary show' prints it.", valueName: "name"))
    var name: String

    @Flag(help: "The collector is back: its records are held again.")
    var undo = false

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        struct Source: Encodable {
            var session: String
            var source: String
            var records: UInt64
        }
        var collector: String
        var sources: [Source]
    }

    func run() throws {
        let changed = try withArchiveErrors {
            let library = try archive.library()
            return undo
                ? try library.takeBackLosses(of: name) : try library.declareLosses(of: name)
        }
        if json {
            return try JSONOutput.print(
                Report(
                    collector: name,
                    sources: changed.map {
                        .init(
                            session: $0.source.session, source: $0.source.source,
                            records: $0.records)
                    }))
        }
        guard !changed.isEmpty else {
            throw Failure(
                undo
                    ? "nothing of '\(name)' has been declared lost in \(archive.archive)"
                    : "'\(name)' holds nothing of \(archive.archive): 'tributary show' says which collectors do"
            )
        }
        for (source, records) in changed {
            print(
                undo
                    ? "\(source): \(records) records are held by \(oneLine(name)) again"
                    : "\(source): at most \(records) records are lost with \(oneLine(name)): other archives may have some"
            )
        }
    }
}
