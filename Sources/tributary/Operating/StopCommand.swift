import Archive
import ArgumentParser
import JSON
import Library
import Media
import Messaging
import Recordings
import Terminal
import Wire

/// `tributary stop`: ends the session that a collector is recording.
struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Ends the session being recorded.",
        discussion: """
            The collector that records into the archive finishes the session's files. Samples that arrive afterwards start \
            a new session. The command returns when every file is final. Exit status 1 when no collector is running there or \
            no session is open.
            """)

    @OptionGroup var archive: DirectoryOptions

    @Argument(help: "The session. (default: the one being recorded)")
    var session: String?

    @Flag(help: "Print JSON.")
    var json = false

    /// The ended session.
    private struct Report: Encodable {
        struct Source: Encodable {
            var name: String
            var pictures: UInt64
            var soundPackets: UInt64
            var payloadBytes: UInt64
            var lostSamples: UInt64
        }

        var session: String
        var durationNanoseconds: Int64
        var sources: [Source]
    }

    func run() throws {
        let reply = try withArchiveErrors {
            // Before the session is looked up: without a collector, that is the error to report.
            let collector = try CollectorControl(archive.layout)
            let name = try session.map { try archive.finder.session(named: $0).name }
            return try collector.ask(.stopSession(name))
        }
        guard case .sessionStopped(var stopped) = reply else {
            throw Failure(
                "unexpected answer from the collector: use the same version of all programs")
        }
        count(&stopped)
        if json {
            try JSONOutput.print(report(stopped))
        } else {
            show(stopped)
        }
    }

    /// The collector counts from its start; the session may be older.
    private func count(_ stopped: inout StoppedSession) {
        do throws(ArchiveError) {
            stopped.sources = try SessionTotals(of: stopped.name, in: archive.layout).sources.map {
                StoppedSession.Source(
                    name: $0.name, pictures: $0.pictures, soundPackets: $0.soundPackets,
                    payloadBytes: $0.payloadBytes, lostSamples: $0.lostSamples)
            }
        } catch {
            Program.complain("the counts start at the last start of the collector: \(error)")
        }
    }

    private func report(_ stopped: StoppedSession) -> Report {
        Report(
            session: stopped.name, durationNanoseconds: stopped.durationNanoseconds,
            sources: stopped.sources.map {
                Report.Source(
                    name: $0.name, pictures: $0.pictures, soundPackets: $0.soundPackets,
                    payloadBytes: $0.payloadBytes, lostSamples: $0.lostSamples)
            })
    }

    private func show(_ stopped: StoppedSession) {
        let seconds = decimal(Double(stopped.durationNanoseconds) / 1e9)
        print("stopped \(stopped.name) after \(seconds) s; every file is final")
        for source in stopped.sources {
            let lost =
                source.lostSamples == 0 ? "nothing lost" : "\(source.lostSamples) samples lost"
            print(
                "  \(oneLine(source.name)): \(source.pictures) pictures, \(source.soundPackets) \(AudioCodec.list) packets, "
                    + "\(ByteCount(Int64(clamping: source.payloadBytes))), \(lost)")
        }
    }
}
