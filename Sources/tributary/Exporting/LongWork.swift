import Archive
import ArgumentParser
import Containers
import Devices
import Dispatch
import Encoding
import ExportCore
import Glibc
import Library
import Media
import MP4
import Recordings
import Terminal
import Threads

/// Long-running work with a progress display, which Ctrl-C cancels without leaving files behind.
enum LongWork {
    /// Ends waits for a store, and all reading, when this process shuts down. Commands without signal handlers exit without it.
    static let end = Shutdown()
    /// Maximum wait for work to end after a signal: a hung disk would block it forever.
    private static let endSeconds = 4

    /// Runs `body`, with its errors as one line.
    static func run<Result>(
        _ label: String, _ body: (WorkControl) throws -> Result
    ) throws -> Result {
        CodecLibrary.keepOffTerminal()
        let console = Console()
        let meter = ProgressMeter(console, label: label)
        let cancellation = Cancellation()
        let signals = StopSignals { _ in
            cancellation.cancel()
            endSoon()
        }
        defer {
            meter.end()
            withExtendedLifetime(signals) {}
        }
        do {
            return try body(
                WorkControl(cancellation: cancellation) { fraction in meter.update(fraction) })
        } catch let failure as Failure {
            throw failure
        } catch let error where cancellation.isCancelled && !(error is ExitCode) {
            throw Failure("\(ExportError.cancelled)")
        } catch ContainerError.cancelled {
            throw Failure("\(ExportError.cancelled)")
        } catch let error as ExportError {
            throw Failure("\(error)")
        } catch let error as ContainerError {
            throw Failure("\(error)")
        } catch let error as ArchiveError {
            throw error.failure
        } catch let error as LibraryError {
            throw Failure(oneLine("\(error)"))
        } catch let error as EncodingError {
            throw Failure("\(error)")
        } catch let error as DeviceError {
            throw Failure("\(error)")
        } catch let error as MP4Error {
            throw Failure("\(error)")
        } catch let error as BitstreamError {
            throw Failure("\(error)")
        } catch let error as RescaleOverflow {
            throw Failure(
                "a timestamp of \(error.value) ticks is out of range: the file is damaged")
        }
    }

    /// Ends all waits, and the process if that does not suffice.
    static func endSoon() {
        end.begin()
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(endSeconds)) {
            Program.complain("ended while a file was being read: its disk does not answer")
            _exit(ExitStatus.failure)
        }
    }
}
