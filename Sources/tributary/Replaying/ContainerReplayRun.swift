import Archive
import Containers
import Dispatch
import Encoding
import ExportCore
import JSON
import Library
import Recordings
import ReplayCore
import Terminal

/// The argument of `--to`, if it is not a collector.
struct ContainerTarget {
    let destination: ContainerDestination
    let format: ContainerFormat
    /// Whether the output is a file, which by default is written as fast as possible.
    let isFile: Bool

    /// Whether `--to` is a collector's endpoint.
    static func isCollector(_ text: String) -> Bool {
        text.hasPrefix("tcp://") || text.hasPrefix("ipc://")
    }

    /// The reason why the argument is invalid, on one line; nil if it is valid.
    static func flaw(_ text: String) -> String? {
        if text.contains("://") {
            do throws(StreamAddressError) {
                _ = try StreamAddress(parsing: text)
                return nil
            } catch {
                // An address of another scheme may be no URL of a stream.
                if error != .noStream { return "the destination \(error)" }
            }
        }
        return ContainerTarget(text) == nil
            ? "'\(StreamURL.name(text))' is not a destination: use a collector (tcp://ADDRESS:PORT), -, a file (.ts, .mkv, .mp4) or a stream URL (udp://, rtsp://, srt://, rtmp://)"
            : nil
    }

    init?(_ text: String) {
        if text == "-" {
            (destination, format, isFile) = (.descriptor(1), .mpegTS, false)
        } else if text.contains("://") {
            do throws(StreamAddressError) {
                let address = try StreamAddress(parsing: text)
                (destination, format, isFile) = (.url(address.url), address.format, false)
            } catch {
                return nil
            }
        } else {
            guard let format = ContainerFormat(path: text) else { return nil }
            (destination, self.format, isFile) = (.file(text), format, true)
        }
    }
}

/// `tributary replay --to FILE|-|URL`: a recording in a container.
enum ContainerReplayRun {
    /// Time after a stop for the end of the output: a server may accept nothing.
    private static let stopGrace = DispatchTimeInterval.seconds(3)

    static func run(_ input: ReplayInput, _ command: ReplayCommand, console: Console) throws {
        guard let target = ContainerTarget(command.to) else {
            throw UsageError("--to \(StreamURL.name(command.to)) is not a destination")
        }
        guard !input.recorded.isEmpty else {
            throw UsageError(
                "--to \(StreamURL.name(command.to)): a spool can only be replayed to a collector")
        }
        if command.keepTime {
            throw UsageError(
                "--keep-time needs a collector: the timestamps of a container start at zero")
        }
        if target.isFile {
            do {
                try OutputFile.check(
                    command.to, overwrites: command.overwrite,
                    inputs: input.recorded.flatMap { $0.files.map(\.path) })
            } catch let error as ExportError {
                throw Failure("\(error)")
            }
        }
        if target.isFile, command.loop {
            throw UsageError(
                "--loop cannot be used with the file \(command.to): it would fill the disk")
        }
        CodecLibrary.keepOffTerminal()
        let speed = command.speed ?? (target.isFile ? .unlimited : .normal)
        do {
            let cancellation = Cancellation()
            let control = try ReplayControl(
                startsPaused: command.paused,
                stopping: {
                    // A server may accept nothing, so that the end of the output cannot be written.
                    DispatchQueue.global().asyncAfter(deadline: .now() + Self.stopGrace) {
                        cancellation.cancel()
                    }
                }, abandoning: { cancellation.cancel() })
            var settings = ContainerReplay.Settings(
                destination: target.destination, format: target.format, speed: speed,
                loops: command.loop, from: input.window.from, until: input.window.until)
            settings.overwrites = command.overwrite
            let replay = ContainerReplay(
                settings: settings, control: control, cancellation: cancellation)
            let began = ContinuousClock().now
            let outcome = try ReplayWatch.watch(
                control, input: input, to: target.destination.name, speed: speed, console: console
            ) { () throws(ReplayError) in try replay.run(input.recorded) }
            // Only a collector refuses keys.
            switch outcome {
            case .complete: break
            case .failed(let line), .refused(let line): throw Failure(line)
            }
            let report = ReplayReport(
                control.status, input: input, seconds: (ContinuousClock().now - began) / .seconds(1)
            )
            // Standard output may be the stream itself.
            if command.json {
                let text = try JSONOutput.text(report)
                if case .descriptor = target.destination {
                    console.tell(text)
                } else {
                    print(text)
                }
            } else if target.isFile {
                print(report.line)
                for note in report.notes { print("  note: \(note)") }
            } else {
                console.line(report.line)
            }
            try input.checkComplete()
        } catch let error as ReplayError {
            throw Failure("\(error)")
        }
    }
}
