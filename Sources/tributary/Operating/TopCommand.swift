import ArgumentParser
import Dispatch
import Glibc
import Operations
import Terminal
import Wire

/// `tributary top`: how a running collector does, and each of its sources.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows what a running collector does, source by source.",
        discussion: """
            Of the collector that records into the archive, or over HTTP of any that runs with --http. On a terminal it goes on \
            until q or Ctrl-C; elsewhere it is shown once. STATE: live; late (more than 5 s behind); unsaved (nothing has become \
            durable for 10 s); stopped (somebody has stopped its capture); away (its agent is not connected); idle (connected, \
            nothing to record); gone (it has said goodbye). SPOOL is what the agent keeps because the collector does not have it on disk. OFFSET ± BOUND is the \
            collector's clock less the box's, and how far off times may be; a replay, whose times are given, has none. GAPS counts missing samples by cause.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Option(
        help: ArgumentHelp(
            "Ask the collector that answers HTTP there, instead of the one at the archive.",
            valueName: "[host:]port"))
    var http: HTTPAddress?

    @Option(help: "How often to look.")
    var interval = TimeSpan(nanoseconds: 1_000_000_000)

    @Flag(help: "Show it once, and end.")
    var once = false

    @Flag(help: "Print JSON, once.")
    var json = false

    func validate() throws {
        guard (200_000_000...3_600_000_000_000).contains(interval.nanoseconds) else {
            throw ValidationError("--interval \(interval) is not between 200ms and 1h")
        }
        guard http?.port != 0 else { throw ValidationError("--http needs a port to ask at") }
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

    private var place: String { http.map { "http://\($0)" } ?? archive.archive }

    private func look() throws -> SiteView {
        let bytes: [UInt8]
        if let http {
            bytes = try HTTPFetch.body("/metrics", at: http)
        } else {
            let reply = try withArchiveErrors {
                try CollectorControl(archive.layout).ask(.metrics)
            }
            guard case .metrics(let text) = reply else {
                throw Failure(
                    "the collector answered with something else: use programs of one version")
            }
            bytes = Array(text.utf8)
        }
        do throws(MetricTextError) {
            return SiteView(try MetricReading(bytes))
        } catch {
            throw Failure("what \(place) says cannot be read: \(error)")
        }
    }

    /// Looks again and again, until somebody has seen enough.
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
                // It may be starting again: what was seen last stays, with the reason above it.
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
