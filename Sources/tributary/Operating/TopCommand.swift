import Archive
import ArgumentParser
import Dispatch
import Glibc
import JSON
import Operations
import Terminal
import Wire

/// `tributary top`: how a running collector does, and each of its sources.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the live status of a running collector, per source.",
        discussion: """
            Shows the collector that records into the archive, or over HTTP any collector started with --http. On a terminal the \
            screen is updated until q or Ctrl-C; otherwise it is printed once.

            STATE: live; late (more than 5 s behind); unsaved (no data synced to disk for 10 s); stopped (capture paused by a \
            command); away (agent not connected); idle (connected, no samples); gone (ended). SPOOL: data that the agent keeps until \
            the collector has it on disk. OFFSET ± BOUND: collector clock minus box clock, and the error bound of timestamps; empty \
            for a replay. GAPS: missing samples by cause.
            """)

    // With --http, the archive may be anywhere.
    @Option(help: ArgumentHelp("Directory of the recordings.", valueName: "dir"))
    var archive = "./recordings"

    @Option(
        help: ArgumentHelp(
            "Read from the collector with this --http address instead of the one at the archive.",
            valueName: "[host:]port"))
    var http: HTTPAddress?

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
    }

    func run() throws {
        let view = try look()
        if json { return try JSONOutput.print(view) }
        guard !once, FullScreen.isPossible else {
            for line in TopScreen(view, place: place).lines() { print(line.text) }
            return
        }
        watch(from: view)
    }

    private var place: String { http.map { "http://\($0)" } ?? archive }

    private func look() throws -> SiteView {
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
            return try SiteView(decoding: bytes)
        } catch {
            throw Failure(
                "cannot read the status of \(place): use the same version of all programs")
        }
    }

    /// Refreshes the screen until the user quits.
    private func watch(from first: SiteView) -> Never {
        let changed = DispatchSemaphore(value: 0)
        let signals = StopSignals { _ in Glibc.exit(0) }
        let screen = FullScreen { changed.signal() }
        let keyboard = Keyboard { key in
            if key == UInt8(ascii: "q") { Glibc.exit(0) }
        }
        defer { withExtendedLifetime((signals, keyboard)) {} }
        var view = first
        var complaint: String?
        var next = DispatchTime.now() + .nanoseconds(Int(interval.nanoseconds))
        while true {
            let size = FullScreen.size
            let lines = TopScreen(view, place: place, complaint: complaint)
                .lines(columns: size.columns, rows: size.rows)
            screen?.draw(lines.map(Self.drawn))
            guard changed.wait(timeout: next) == .timedOut else { continue }
            next = .now() + .nanoseconds(Int(interval.nanoseconds))
            do {
                view = try look()
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
