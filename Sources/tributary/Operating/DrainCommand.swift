import Archive
import ArgumentParser
import JSON
import Library
import Media
import Messaging
import Recordings
import Terminal
import Wire

/// `tributary drain`: moves the agents of a collector to their other collectors.
struct DrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Sends a collector's agents to other collectors.",
        discussion: """
            Run it on the server of the collector, with the collector's archive. Agents that have several collectors go to \
            their next one, one after the other, and do not come back by themselves; sources whose agents have no other \
            collector stay, and are listed. The command returns when the others have gone and everything that was received is \
            on disk. Until --cancel or a restart, the collector admits no agent that has another one. An agent comes back if no \
            other collector records it, as when all are drained: the command names its sources and waits until one does.
            """)

    @OptionGroup var archive: DirectoryOptions

    @Argument(help: "The collector's name. (default: whichever records into the archive)")
    var name: String?

    @Flag(help: "Admit agents again.")
    var cancel = false

    @Option(help: "Give up after this time.")
    var timeout = TimeSpan(nanoseconds: 300_000_000_000)

    @Flag(help: "Print JSON.")
    var json = false

    private static let pauseNanoseconds: Int64 = 250_000_000
    private static let namesShown = 5

    private struct Report: Encodable {
        var collector: String
        var moving: Int
        var staying: [String]
        var unwritten: Int
    }

    func run() throws {
        let clock = SystemClock.monotonic
        let deadline = clock.nowNanoseconds.clampedAdding(timeout.nanoseconds)
        var progress = try ask()
        var named: [String] = []
        while !cancel, !progress.isDone {
            guard clock.nowNanoseconds < deadline else { throw Failure(obstacle(to: progress)) }
            if !progress.returned.isEmpty, progress.returned != named {
                named = progress.returned
                Program.complain("waiting until \(timeout) have passed: \(Self.text(of: named))")
            }
            SystemClock.sleep(
                untilMonotonicNanoseconds: clock.nowNanoseconds + Self.pauseNanoseconds)
            progress = try ask()
        }
        if json {
            try JSONOutput.print(
                Report(
                    collector: progress.collector, moving: progress.moving,
                    staying: progress.staying, unwritten: progress.unwritten))
            return
        }
        let collector = progress.collector.isEmpty ? "the collector" : oneLine(progress.collector)
        if cancel { return print("\(collector) admits agents again") }
        print("\(collector) is drained: every agent with a further collector has gone there")
        for source in progress.staying {
            print("  \(oneLine(source)) stays: its agent has no further collector to go to")
        }
    }

    /// Why the collector is not drained in time.
    private func obstacle(to progress: DrainProgress) -> String {
        if !progress.returned.isEmpty { return Self.text(of: progress.returned) }
        if progress.moving > 0 {
            return
                "\(progress.moving) agents are still here after \(timeout): the collector goes on sending them away"
        }
        if progress.leaving > 0 {
            return
                "\(progress.leaving) sources have left, and may come back after \(timeout): use a --timeout of at least 10s"
        }
        return
            "every agent has gone, but media of \(progress.unwritten) sources is not on disk after \(timeout): "
            + "see the collector's log"
    }

    /// Sources that no other collector records.
    private static func text(of returned: [String]) -> String {
        let rest = returned.count - namesShown
        let names = returned.prefix(namesShown).map { oneLine($0) }.joined(separator: ", ")
        return
            "\(names)\(rest > 0 ? " and \(rest) more" : "") \(returned.count == 1 ? "is" : "are") recorded here, because "
            + "no other collector accepts \(returned.count == 1 ? "it" : "them"): start another one, or end its drain "
            + "with 'tributary drain --cancel'"
    }

    private func ask() throws -> DrainProgress {
        let reply = try withArchiveErrors {
            try CollectorControl(archive.layout).ask(
                .drain(isCancelled: cancel, collector: name))
        }
        guard case .draining(let progress) = reply else {
            throw Failure(
                "unexpected answer from the collector: use the same version of all programs")
        }
        return progress
    }
}
