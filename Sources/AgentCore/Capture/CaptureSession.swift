package import Devices
import Encoding
import Media
import Synchronization
import Threads

/// One source at work: from the settings to encoded samples with their times in a ``CaptureSink``.
///
/// All tracks start at the same time T0, a whole number of nanoseconds of the clock. The work is done on threads of
/// its own.
package final class CaptureSession: Sendable {
    private enum State {
        case idle
        case running(CaptureOutput, descriptions: [String])
    }

    private let settings: CaptureSettings
    private let clock: any CaptureClock
    private let sink: any CaptureSink
    private let state = Mutex(State.idle)

    /// Nothing is opened yet.
    package init(
        settings: CaptureSettings, clock: any CaptureClock = MonotonicClock(),
        sink: any CaptureSink
    ) {
        self.settings = settings
        self.clock = clock
        self.sink = sink
    }

    /// Opens sources and encoders, and starts the capture; when this throws, the sink is never called.
    ///
    /// - Precondition: it was not started before.
    package func start() throws(CaptureError) {
        let lanes = try openLanes()
        let output = CaptureOutput(
            sink: sink, clock: clock, formats: lanes.flatMap(\.formats), lanes: lanes.count)
        let descriptions = lanes.flatMap(\.descriptions)
        state.withLock { state in
            guard case .idle = state else { preconditionFailure("a capture starts once") }
            state = .running(output, descriptions: descriptions)
        }
        let startNanoseconds = clock.nowNanoseconds
        for lane in lanes {
            NamedThread.start(lane.name) {
                output.laneEnded(lane.run(startNanoseconds: startNanoseconds, output: output))
            }
        }
    }

    /// Asks the capture to end: encoders give what they have, then the sink hears of the end. Returns at once, and may
    /// be called from the sink.
    package func stop() {
        if case .running(let output, _) = state.withLock({ $0 }) { output.stop() }
    }

    /// What was picked: one line per track for people; empty before the start.
    package var descriptions: [String] {
        guard case .running(_, let descriptions) = state.withLock({ $0 }) else { return [] }
        return descriptions
    }

    private func openLanes() throws(CaptureError) -> [any CaptureLane] {
        try settings.validate()
        CodecLibrary.keepOffTerminal()
        var lanes: [any CaptureLane] = []
        switch (settings.video, try audioThatIsThere()) {
        case (.file(let video), .file(let audio)) where video == audio:
            return [try FileLane(path: video, kinds: [.video, .audio], settings: settings)]
        case (let video, let audio):
            switch video {
            case .none: break
            case .test: lanes.append(try TestPictureLane(settings))
            case .file(let path):
                lanes.append(try FileLane(path: path, kinds: [.video], settings: settings))
            case .device(let name):
                lanes.append(try CameraLane(v4l2: name, settings: settings, clock: clock))
            }
            switch audio {
            case .none: break
            case .test: lanes.append(try TestSoundLane(settings))
            case .device(let name):
                lanes.append(try SoundDeviceLane(alsa: name, settings: settings))
            case .file(let path), .fileIfPresent(let path):
                lanes.append(try FileLane(path: path, kinds: [.audio], settings: settings))
            }
        }
        return lanes
    }

    /// The choice of sound, without an "if present".
    private func audioThatIsThere() throws(CaptureError) -> SoundChoice {
        guard case .fileIfPresent(let path) = settings.audio else { return settings.audio }
        do throws(DeviceError) {
            _ = try FileSource(path: path, kinds: [.audio], loops: false)
            return .file(path: path)
        } catch {
            if case .noTrack(.audio, _) = error { return .none }
            throw .source(error.description)
        }
    }
}
