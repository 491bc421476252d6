import Archive
import Containers
import Devices
import Encoding
import ExportCore
import Library
import MP4
import Media
import Terminal

/// Work that takes its time: with progress, and ended by Ctrl-C without leaving anything behind.
enum LongWork {
    /// Runs `body`, with its errors as one line.
    static func run<Result>(
        _ label: String, _ body: (WorkControl) throws -> Result
    ) throws -> Result {
        CodecLibrary.keepOffTerminal()
        let console = Console()
        let meter = ProgressMeter(console, label: label)
        let cancellation = Cancellation()
        let signals = StopSignals { _ in cancellation.cancel() }
        defer {
            meter.end()
            withExtendedLifetime(signals) {}
        }
        do {
            return try body(
                WorkControl(cancellation: cancellation) { fraction in meter.update(fraction) })
        } catch let failure as Failure {
            throw failure
        } catch ContainerError.cancelled {
            throw Failure("\(ExportError.cancelled)")
        } catch let error as ExportError {
            throw Failure("\(error)")
        } catch let error as ContainerError {
            throw Failure("\(error)")
        } catch let error as ArchiveError {
            throw Failure("\(error)")
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
}
