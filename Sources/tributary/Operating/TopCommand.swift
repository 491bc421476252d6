import Archive
import ArgumentParser
import Catalog
import Dispatch
import Glibc
import JSON
import Library
import Operations
import Terminal
import Threads
import Wire

/// `tributary top`: the state of a running collector and its sources, or of all collectors of a site.
struct TopCommand: ParsableCommand {
    /// The displayed part of the status.
    private enum Subject {
        case collector(SiteView)
        case site(SiteOverview)
    }

    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the live status of a running collector, per source, or of a site.",
        discussion: """
            Shows the collector that records into the archive, or over HTTP any collector started with --http. On a terminal the \
            screen is updated until q or Ctrl-C; otherwise it is printed once.

            STATE: live; late (more than 5 s behind); unsaved (no data synced to disk for 10 s); stopped (capture paused by a \
            command); away (agent not connected); elsewhere (at another collector); idle (connected, no samples); gone (ended). SPOOL: data that the agent keeps until \
            the collector has it on disk. OFFSET ± BOUND: collector clock minus box clock, and the error bound of timestamps; empty \
            for a replay. GAPS: missing samples by cause. Lines below the table: which collector a source has left for this one, and \
            why; and, with --release mirrored, what its box keeps for a collector that lacks it (10 MB or more).

            --site shows all collectors that report to the catalog in --catalog, each with its last report. STATE: recording; idle \
            (no session); draining; troubled (nothing can be recorded); stopped; silent (no report for 20 s: not running, or cut \
            off from the database, while it may record). HEARD: age of the report, by the database's clock. ALONE: records on its \
            disk that no other collector has, nor, with --release stored, the object store. UNSTORED: finished segments that are \
            not in the object store. OWED: data that agents keep for it.
            """)

    // With --http, the archive may be anywhere.
    @Option(
        name: .customLong("archive"),
        help: ArgumentHelp(
            "Directory of the recordings. (default: ./recordings)", valueName: "dir"))
    var given: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read from the collector with this --http address instead of the one at the archive.",
            valueName: "[host:]port"))
    var http: HTTPAddress?

    @Flag(
        help:
            "Show all collectors that share the catalog in --catalog \(CatalogReference.serverForm)."
    )
    var site = false

    @OptionGroup var catalog: CatalogOptions

    @Option(help: "Refresh interval.")
    var interval = TimeSpan(nanoseconds: 1_000_000_000)

    @Flag(help: "Print once and exit.")
    var once = false

    @Flag(help: "Print JSON once and exit.")
    var json = false

    func validate() throws {
        guard (200_000_000...3_600_000_000_000).contains(interval.nanoseconds) else {
            throw ValidationError("--interval \(interval) is out of range: use 200ms to 1h")
        }
        guard http?.port != 0 else { throw ValidationError("--http needs a port other than 0") }
        // An archive in the environment is not used with these.
        if given.count > 1 || (http == nil && !site), let flaw = OneArchive.flaw(given) {
            throw ValidationError(flaw)
        }
        // A catalog without --site, and --http with --site, are not errors: they may come from the environment.
        guard try !site || catalog.forReading("tributary").server != nil else {
            throw ValidationError(
                "--site needs the catalog that the collectors share: add --catalog \(CatalogReference.serverForm)"
            )
        }
    }

    func run() throws {
        // Validated: --site has a server.
        let server = site ? try catalog.forReading("tributary").server : nil
        let subject = try look(server)
        if json {
            switch subject {
            case .collector(let view): try JSONOutput.print(view)
            case .site(let overview): try JSONOutput.print(overview)
            }
            return
        }
        guard !once, FullScreen.isPossible else {
            for line in lines(subject) { print(line.text) }
            return
        }
        watch(from: subject, server)
    }

    private func lines(
        _ subject: Subject, complaint: String? = nil, columns: Int? = nil, rows: Int? = nil
    ) -> [TopScreen.Line] {
        switch subject {
        case .collector(let view):
            TopScreen(view, place: place, complaint: complaint).lines(columns: columns, rows: rows)
        case .site(let overview):
            SiteScreen(overview, complaint: complaint).lines(columns: columns, rows: rows)
        }
    }

    private var archive: String { given.first ?? OneArchive.usual }
    private var place: String { http.map { "http://\($0)" } ?? archive }

    private func look(_ server: (any CatalogServer)?) throws -> Subject {
        if let server {
            return .site(
                try withArchiveErrors {
                    SiteOverview(
                        try server.register.collectors(), leases: try server.leases.entries(),
                        catalog: server.name)
                })
        }
        let bytes: [UInt8]
        if let http {
            bytes = try HTTPFetch.body("/status", at: http)
        } else {
            let reply = try withArchiveErrors {
                try CollectorControl(ArchiveLayout(root: archive)).ask(.status)
            }
            guard case .status(let json) = reply else {
                throw Failure(
                    "unexpected answer from the collector: use the same version of all programs")
            }
            bytes = json
        }
        do {
            return .collector(try SiteView(decoding: bytes))
        } catch {
            throw Failure(
                "cannot read the status of \(place): use the same version of all programs")
        }
    }

    /// Refreshes the screen until the user quits.
    private func watch(from first: Subject, _ server: (any CatalogServer)?) -> Never {
        let changed = Semaphore(value: 0)
        let signals = StopSignals { _ in Glibc.exit(0) }
        let screen = FullScreen { changed.signal() }
        let keyboard = Keyboard { key in
            if key == UInt8(ascii: "q") { Glibc.exit(0) }
        }
        defer { withExtendedLifetime((signals, keyboard)) {} }
        var subject = first
        var complaint: String?
        var next = DispatchTime.now() + .nanoseconds(Int(interval.nanoseconds))
        while true {
            let size = FullScreen.size
            let lines = lines(
                subject, complaint: complaint, columns: size.columns, rows: size.rows)
            screen?.draw(lines.map(Self.drawn))
            guard changed.wait(timeout: next) == .timedOut else { continue }
            next = .now() + .nanoseconds(Int(interval.nanoseconds))
            do {
                subject = try look(server)
                complaint = nil
            } catch {
                // The collector may be restarting: the last state stays, with the error above it.
                complaint = "\(error)"
            }
        }
    }

    /// ECMA-48 §8.3.117, "select graphic rendition".
    private static func drawn(_ line: TopScreen.Line) -> String {
        let isColoured = getenv("NO_COLOR") == nil
        switch line.emphasis {
        case .plain: return line.text
        case .strong: return "\u{1B}[1m\(line.text)"
        case .alarming: return isColoured ? "\u{1B}[31m\(line.text)" : "\u{1B}[1m\(line.text)"
        case .faint: return "\u{1B}[2m\(line.text)"
        }
    }
}
