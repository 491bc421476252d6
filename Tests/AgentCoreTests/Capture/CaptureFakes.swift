@testable import AgentCore
import Devices
import Encoding
import Foundation
import Glibc
import Media
import Synchronization

/// A clock that jumps to whatever is slept for, for each thread on its own: a capture of an hour takes what its
/// encoders take.
final class JumpingClock: CaptureClock {
    static let start: Int64 = 70_000_000_000_007
    private let times = Mutex<[UInt: Int64]>([:])
    /// Added to the clock at every look: a thread that is too slow.
    private let drag: Int64

    init(drag: Int64 = 0) {
        self.drag = drag
    }

    var nowNanoseconds: Int64 {
        let thread = UInt(pthread_self())
        return times.withLock { times in
            let now = times[thread] ?? Self.start
            times[thread] = now + drag
            return now
        }
    }

    func sleep(untilNanoseconds: Int64) {
        let thread = UInt(pthread_self())
        times.withLock { $0[thread] = max($0[thread] ?? Self.start, untilNanoseconds) }
    }
}

/// Keeps everything that a capture gives, and waits for its end.
final class CollectingSink: CaptureSink {
    struct Result {
        var formats: [TrackFormat] = []
        var changes: [TrackFormat] = []
        var samples: [EncodedSample] = []
        var losses: [CaptureLoss] = []
        var notes: [String] = []
        var reports: [AudioReport] = []
        var ends: [CaptureEnd] = []
        /// A call came before the formats or after the end.
        var isOutOfOrder = false

        var video: [EncodedSample] { samples.filter { $0.track == .video } }
        var audio: [EncodedSample] { samples.filter { $0.track == .audio } }
    }

    private let result = Mutex(Result())
    private let finished = DispatchSemaphore(value: 0)
    private let onSample: @Sendable (Int) -> Void

    init(onSample: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.onSample = onSample
    }

    func formats(_ formats: [TrackFormat]) {
        result.withLock {
            if !$0.formats.isEmpty { $0.isOutOfOrder = true }
            $0.formats = formats
        }
    }

    func formatChanged(_ format: TrackFormat) { result.withLock { $0.changes.append(format) } }

    func sample(_ sample: EncodedSample) {
        let count = result.withLock {
            if $0.formats.isEmpty || !$0.ends.isEmpty { $0.isOutOfOrder = true }
            $0.samples.append(sample)
            return $0.samples.count
        }
        onSample(count)
    }

    func lost(_ loss: CaptureLoss) { result.withLock { $0.losses.append(loss) } }

    func noted(_ line: String) { result.withLock { $0.notes.append(line) } }

    func heard(_ report: AudioReport) { result.withLock { $0.reports.append(report) } }

    func ended(_ end: CaptureEnd) {
        result.withLock { $0.ends.append(end) }
        finished.signal()
    }

    /// Whether the end occurs before a test's time limit.
    func waitBriefly() -> Bool {
        guard finished.wait(timeout: .now() + .seconds(20)) == .success else { return false }
        finished.signal()
        return true
    }

    /// The collected output, after the end.
    func wait() -> Result {
        finished.wait()
        return result.withLock { $0 }
    }
}

/// Runs a capture to its end on a clock that does not wait.
func capture(
    _ settings: CaptureSettings, clock: any CaptureClock = JumpingClock()
) throws -> CollectingSink.Result {
    let sink = CollectingSink()
    let session = CaptureSession(settings: settings, clock: clock, sink: sink)
    try session.start()
    return sink.wait()
}

extension CaptureInput {
    static func file(path: String) -> Self { CaptureInput(FileInput(path: path)) }

    /// A camera.
    static func device(_ name: String) -> Self { CaptureInput(V4L2Input(name)) }
}

/// Small and quick settings for a test.
func quickSettings(
    video: CaptureInput? = .test, audio: CaptureInput? = .test, seconds: Int? = nil
) -> CaptureSettings {
    var settings = CaptureSettings(sourceName: "test")
    settings.video = video
    settings.audio = audio
    // A search for hardware needs seconds each time.
    settings.encoderCandidates = [VideoEncoderSettings.x264]
    settings.encoderPreset = "ultrafast"
    settings.videoBitrate = 500_000
    settings.encoderThreads = 1
    settings.duration = seconds.map { .seconds($0) }
    return settings
}
