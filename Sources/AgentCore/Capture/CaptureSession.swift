package import Devices
import Encoding
import Media
import Synchronization
import Threads

/// Captures one source: from settings to encoded samples with times in a ``CaptureSink``.
///
/// All tracks start at the same time T0, a whole number of nanoseconds of the clock. Each device has a pipeline with its own
/// thread. Pipelines can be exchanged during the capture (``apply(_:)``).
package final class CaptureSession: Sendable {
    /// A pipeline and its thread.
    struct Running: Sendable {
        let number: Int
        var plan: PipelinePlan
        let pipeline: any CapturePipeline
        let output: CaptureOutput
        let ended: CancellableCall<CaptureEnd>
    }

    struct State {
        var hasStarted = false
        /// The current settings.
        var settings: CaptureSettings
        /// The pipelines, including those that have ended by themselves.
        var pipelines: [Running] = []
        var pipelineCount = 0
        /// The capture was stopped by a command; the session continues.
        var isPaused = false
        /// Pipelines are being exchanged.
        var isChanging = false
        /// Its duration ended while it was stopped.
        var hasExpired = false
        /// End of the wanted duration; nil without a limit.
        var deadlineNanoseconds: Int64?
    }

    let hub: CaptureHub
    let state: Mutex<State>
    /// The pictures of the source that this one is the preview of.
    private let watched: SharedPictures?

    /// Nothing is opened yet.
    /// - Parameter shared: the pictures that this source shares with its preview; for a preview, those that it receives.
    package init(
        settings: CaptureSettings, clock: any CaptureClock = MonotonicClock(),
        sink: any CaptureSink, shared: SharedPictures? = nil
    ) {
        watched = settings.isSmallPreview ? shared : nil
        hub = CaptureHub(
            sink: sink, clock: clock, shared: settings.isSmallPreview ? nil : shared)
        state = Mutex(State(settings: settings))
    }

    /// Opens sources and encoders, and starts the capture; if it throws, the sink is never called.
    ///
    /// - Precondition: it was not started before.
    package func start() throws(CaptureError) {
        let settings = state.withLock { state in
            precondition(!state.hasStarted, "a capture starts once")
            state.hasStarted = true
            return state.settings
        }
        try settings.validate()
        CodecLibrary.keepOffTerminal()
        var opened: [(plan: PipelinePlan, pipeline: any CapturePipeline)] = []
        for plan in try settings.pipelinePlans() {
            // The source's pictures may come late, for example from a camera that is away.
            opened.append((plan, try open(plan, patience: nil)))
        }
        let now = hub.clock.nowNanoseconds
        state.withLock { state in
            state.deadlineNanoseconds = settings.duration.map {
                let (deadline, isEndless) = now.addingReportingOverflow($0.nanoseconds)
                return isEndless ? .max : deadline
            }
        }
        begin(opened, notBefore: now)
    }

    /// Opens a pipeline.
    /// - Parameter patience: maximum wait for the first picture of a preview's source; nil: no limit.
    func open(
        _ plan: PipelinePlan, patience: Duration? = .seconds(3)
    ) throws(CaptureError) -> any CapturePipeline {
        var opening = PipelineOpening(isStopping: { [hub] in hub.isStopping })
        if let watched {
            opening.shared = { [hub] (settings) throws(CaptureError) in
                try PreviewPipeline(
                    watched, settings, patience: patience, clock: hub.clock,
                    isStopping: { hub.isStopping })
            }
        }
        return try plan.open(opening)
    }

    /// Requests the end of the capture: encoders are flushed, then the sink is notified. Returns at once, and may be called
    /// from the sink.
    package func stop() {
        hub.stop()
        guard state.withLock({ $0.hasStarted && $0.isPaused }) else { return }
        // Without pipelines no other thread reports the end, and the sink may be waiting for the caller.
        NamedThread.start("capture end") { [hub] in hub.finishIfStopped() }
    }

    /// The selected inputs and encoders, one human-readable line per track; empty before the start.
    package var descriptions: [String] {
        state.withLock { state in
            let pipelines = state.pipelines.sorted { first, second in
                (first.plan.kinds.first?.rawValue ?? 0, first.number)
                    < (second.plan.kinds.first?.rawValue ?? 0, second.number)
            }
            return pipelines.flatMap(\.pipeline.descriptions)
        }
    }

    /// Notes about the selected inputs.
    package var notes: [String] { state.withLock { $0.pipelines.flatMap(\.pipeline.notes) } }

    /// Further notes for verbose logs.
    package var details: [String] { state.withLock { $0.pipelines.flatMap(\.pipeline.details) } }

    /// Iterations of the running threads, by name: a thread without progress hangs.
    var turns: [String: UInt64] {
        let pipelines = state.withLock { $0.pipelines }
        let running = hub.running
        var turns: [String: UInt64] = [:]
        for pipeline in pipelines where running.contains(pipeline.number) {
            turns["\(pipeline.pipeline.name) \(pipeline.number)"] = pipeline.output.turns
        }
        return turns
    }

    /// Starts the threads of opened pipelines together, not before a time, and not before the end of the captured samples.
    ///
    /// - Parameters:
    ///   - ends: ends of the replaced pipelines; the time until new samples is a loss.
    ///   - text: description of that loss.
    func begin(
        _ opened: [(plan: PipelinePlan, pipeline: any CapturePipeline)], notBefore now: Int64,
        after ends: [TrackKind: Int64] = [:], text: String = ""
    ) {
        let formats = opened.flatMap(\.pipeline.formats)
        let start = formats.reduce(now) { max($0, self.start(of: $1)) }
        let sound = hub.format(of: .audio)
        let continued = hub.adopt(formats)
        var begun: [Running] = []
        state.withLock { state in
            if hub.format(of: .audio) != sound {
                // A separate file starts with the audio format, and with a picture at which decoding can start.
                for running in state.pipelines where running.plan.kinds.contains(.video) {
                    running.output.requests.add { $0.isKeyframeWanted = true }
                }
            }
            for (plan, pipeline) in opened {
                state.pipelineCount += 1
                begun.append(
                    Running(
                        number: state.pipelineCount, plan: plan, pipeline: pipeline,
                        output: CaptureOutput(
                            hub, continued: continued, sharesSamples: pipeline.encoder == nil),
                        ended: CancellableCall()))
            }
            state.pipelines += begun
            if let found = begun.compactMap(\.pipeline.encoder).first {
                // Encoders that are not available are not tried again at each change.
                let rest = state.settings.encoderCandidates.drop { $0 != found }
                if !rest.isEmpty { state.settings.encoderCandidates = Array(rest) }
            }
        }
        let kinds = Set(formats.map(\.kind))
        for (kind, end) in ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            hub.expectSeam(of: kind, fromNanoseconds: end, toNanoseconds: start, text: text)
            if !kinds.contains(kind) { hub.closeSeam(of: kind) }
        }
        // All pipelines are registered before the first thread starts: one that ends at once must not look like the last.
        for running in begun { hub.pipelineBegan(running.number) }
        for running in begun {
            NamedThread.start(running.pipeline.name) { [hub] in
                let end = running.pipeline.run(startNanoseconds: start, output: running.output)
                hub.pipelineEnded(running.number, end, isRetired: running.output.isRetired)
                running.ended.give(end)
            }
        }
    }

    /// Ends a paused capture at its deadline: the requested duration includes pauses. Does not block.
    func watchPause() {
        NamedThread.start("capture pause") { [self] in
            while !hub.isStopping {
                let now = hub.clock.nowNanoseconds
                let (isOver, hasExpired) = state.withLock { state in
                    guard state.isPaused, let deadline = state.deadlineNanoseconds else {
                        return (true, false)
                    }
                    // A capture that is being started ends by itself.
                    guard now >= deadline, !state.isChanging else { return (false, false) }
                    state.hasExpired = true
                    return (true, true)
                }
                if hasExpired { hub.end(.durationReached) }
                if isOver { return }
                hub.clock.sleep(untilNanoseconds: now + Self.pauseNapNanoseconds)
            }
        }
    }

    /// Interval at which a stopped capture checks its duration.
    private static let pauseNapNanoseconds: Int64 = 100_000_000

    /// The earliest start of a pipeline with this format: after the captured samples, and after the silence with which an
    /// encoder of audio starts.
    private func start(of format: TrackFormat) -> Int64 {
        guard let end = hub.end(of: format.kind) else { return .min }
        switch format {
        case .video: return end
        case .audio(let audio):
            return end + audio.codec.coding.encoderDelayFrames * 1_000_000_000
                / Int64(max(1, audio.sampleRate))
        }
    }
}
