import Devices
import Media
import Synchronization

/// Serialises the output of a capture's pipelines: one call at a time reaches the sink, formats first and the end last.
///
/// Pipelines may be exchanged during a capture; times of the new one follow those of the old one.
final class CaptureHub: Sendable {
    private struct Track {
        /// Decoding time of the newest sample.
        var latestDTS: Int64
        /// End of the captured samples, and when it was reached.
        var endNanoseconds: Int64
        var samples: UInt64 = 0
    }

    /// The boundary between a pipeline that ended and its successor; the loss is known with the successor's first sample.
    private struct Seam {
        var endNanoseconds: Int64
        /// Start of the new pipeline: losses before it do not count.
        var beginNanoseconds: Int64
        var text: String
    }

    private struct State {
        var hasBegun = false
        var seams: [TrackKind: Seam] = [:]
        var hasEnded = false
        var formats: [TrackFormat] = []
        var tracks: [TrackKind: Track] = [:]
        /// Ends of the reported losses.
        var lossEnds: [TrackKind: Int64] = [:]
        var lostSamples: UInt64 = 0
        /// Pipelines whose end counts.
        var running: Set<Int> = []
        /// The thread keeps running without pipelines, for a pause or an exchange.
        var isHeld = false
        var failure: String?
        var latestEnd = CaptureEnd.stopped
    }

    let clock: any CaptureClock
    /// Receives pictures for the source's preview; nil without one.
    let shared: SharedPictures?
    private let sink: any CaptureSink
    private let state = Mutex(State())
    /// The end was requested. Not part of the state: a sink may ask from within a call.
    private let isStopRequested = Atomic(false)
    /// Whether all threads must end.
    private let isStoppingAll = Atomic(false)

    init(sink: any CaptureSink, clock: any CaptureClock, shared: SharedPictures? = nil) {
        self.sink = sink
        self.shared = shared
        self.clock = clock
    }

    /// Whether all pipelines must end.
    var isStopping: Bool { isStoppingAll.load(ordering: .relaxed) }

    /// Whether the sink has been notified of the end.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    // MARK: Output of pipelines

    /// - Parameter isShared: whether a preview gets the encoded picture, because there is no raw one.
    func sample(_ sample: EncodedSample, isShared: Bool = false) {
        var sample = sample
        deliver { state in
            closeSeam(of: sample.track, atNanoseconds: sample.ptsNanoseconds, &state)
            let before = state.tracks[sample.track]
            if let before, sample.dtsNanoseconds <= before.latestDTS {
                sample.dtsNanoseconds = min(sample.ptsNanoseconds, before.latestDTS + 1)
            }
            let end = sample.ptsNanoseconds + sample.durationNanoseconds
            state.tracks[sample.track] = Track(
                latestDTS: max(sample.dtsNanoseconds, before?.latestDTS ?? .min),
                endNanoseconds: max(end, before?.endNanoseconds ?? .min),
                samples: (before?.samples ?? 0) + 1)
            sink.sample(sample)
            guard isShared, let shared, shared.isWanted, sample.track == .video else { return }
            for case .video(let format) in state.formats { shared.offer(sample, format) }
        }
    }

    func formatChanged(_ format: TrackFormat) {
        deliver { state in
            state.formats = state.formats.filter { $0.kind != format.kind } + [format]
            sink.formatChanged(format)
        }
    }

    func lost(_ loss: CaptureLoss) {
        deliver { state in
            closeSeam(of: loss.track, atNanoseconds: loss.startNanoseconds, &state)
            state.lostSamples += UInt64(max(0, loss.samples))
            if loss.durationNanoseconds > 0 {
                let end = loss.startNanoseconds.clampedAdding(loss.durationNanoseconds)
                state.lossEnds[loss.track] = max(end, state.lossEnds[loss.track] ?? end)
            }
            sink.lost(loss)
            if loss.track == .video { shared?.lost(loss) }
        }
    }

    /// Another pipeline continues a track: the loss by a command reaches from the end of the previous one to the next sample.
    func expectSeam(
        of kind: TrackKind, fromNanoseconds end: Int64, toNanoseconds begin: Int64, text: String
    ) {
        state.withLock { state in
            // Without samples since the last one, it is extended.
            let start = min(end, state.seams[kind]?.endNanoseconds ?? end)
            state.seams[kind] = Seam(endNanoseconds: start, beginNanoseconds: begin, text: text)
            // The preview gets the next picture before the seam is closed by a sample.
            if kind == .video { shared?.interrupt(.command, text) }
        }
    }

    /// No samples of that kind will come.
    func closeSeam(of kind: TrackKind) {
        deliver { closeSeam(of: kind, atNanoseconds: .min, &$0) }
    }

    private func closeSeam(
        of kind: TrackKind, atNanoseconds time: Int64, _ state: inout State
    ) {
        guard let seam = state.seams.removeValue(forKey: kind) else { return }
        let end = max(time, seam.beginNanoseconds)
        sink.lost(
            CaptureLoss(
                track: kind, cause: .command, startNanoseconds: seam.endNanoseconds,
                durationNanoseconds: max(0, end - seam.endNanoseconds), samples: 0,
                text: seam.text))
    }

    func noted(_ line: String) { deliver { _ in sink.noted(line) } }

    func heard(_ report: AudioReport) { deliver { _ in sink.heard(report) } }

    // MARK: Exchange of pipelines

    /// The formats of pipelines that begin now.
    /// - Returns: the kinds whose format is unchanged.
    func adopt(_ formats: [TrackFormat]) -> Set<TrackKind> {
        state.withLock { state in
            var continued: Set<TrackKind> = []
            for format in formats {
                if state.formats.contains(format) {
                    if state.tracks[format.kind] != nil { continued.insert(format.kind) }
                    continue
                }
                state.formats = state.formats.filter { $0.kind != format.kind } + [format]
                // The sink gets its first formats with the first call.
                if state.hasBegun { sink.formatChanged(format) }
            }
            return continued
        }
    }

    /// The present format of a kind.
    func format(of kind: TrackKind) -> TrackFormat? {
        state.withLock { state in state.formats.first { $0.kind == kind } }
    }

    /// End of a track's captured samples; nil if there are none.
    func end(of kind: TrackKind) -> Int64? {
        state.withLock { $0.tracks[kind]?.endNanoseconds }
    }

    /// End of a track's captured samples and reported losses, after which its next loss starts; nil if there are neither.
    func reportedEnd(of kind: TrackKind) -> Int64? {
        state.withLock { state in
            [state.tracks[kind]?.endNanoseconds, state.lossEnds[kind]].compactMap { $0 }.max()
        }
    }

    /// A pipeline's thread starts.
    func pipelineBegan(_ pipeline: Int) { state.withLock { _ = $0.running.insert(pipeline) } }

    /// Pipelines whose threads run.
    var running: Set<Int> { state.withLock { $0.running } }

    /// The end of a pipeline's thread. The first failure stops the others, and determines the capture's end.
    ///
    /// - Parameter isRetired: the pipeline was replaced, so that the capture continues.
    func pipelineEnded(_ pipeline: Int, _ end: CaptureEnd, isRetired: Bool) {
        state.withLock { state in
            begin(&state)
            state.running.remove(pipeline)
            if case .failed(let text) = end {
                // A pipeline may fail while it is removed.
                if isRetired {
                    sink.noted(text)
                } else {
                    fail(text, &state)
                }
            }
            if !isRetired { state.latestEnd = end }
            finishIfOver(&state)
        }
    }

    /// Prevents the end of the capture while it has no pipelines; `false` allows it.
    func hold(_ isHeld: Bool) {
        state.withLock { state in
            state.isHeld = isHeld
            finishIfOver(&state)
        }
    }

    /// Ends the capture early.
    func fail(_ text: String) {
        state.withLock { state in
            fail(text, &state)
            finishIfOver(&state)
        }
    }

    /// Asks all pipelines to come to an end; on any thread, also within a call of the sink.
    func stop() {
        isStopRequested.store(true, ordering: .relaxed)
        isStoppingAll.store(true, ordering: .relaxed)
    }

    /// Ends a capture that has no pipelines, with this result.
    func end(_ end: CaptureEnd) {
        state.withLock { state in
            state.latestEnd = end
            state.isHeld = false
            finishIfOver(&state)
        }
    }

    /// Ends a capture that was stopped while it had no pipelines. Not to be called by the sink.
    func finishIfStopped() {
        state.withLock { finishIfOver(&$0) }
    }

    /// Numbers of captured and lost samples.
    var counts: (pictures: UInt64, soundPackets: UInt64, lostSamples: UInt64) {
        state.withLock { state in
            (
                state.tracks[.video]?.samples ?? 0, state.tracks[.audio]?.samples ?? 0,
                state.lostSamples
            )
        }
    }

    private func fail(_ text: String, _ state: inout State) {
        if state.failure == nil { state.failure = text }
        isStoppingAll.store(true, ordering: .relaxed)
    }

    private func finishIfOver(_ state: inout State) {
        let mayEnd = !state.isHeld || isStoppingAll.load(ordering: .relaxed)
        guard state.running.isEmpty, mayEnd, !state.hasEnded else { return }
        begin(&state)
        for kind in state.seams.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            closeSeam(of: kind, atNanoseconds: .min, &state)
        }
        state.hasEnded = true
        if let failure = state.failure {
            shared?.interrupt(.deviceLost, failure)
            sink.ended(.failed(failure))
        } else if isStopRequested.load(ordering: .relaxed) {
            shared?.interrupt(.deviceLost, "the source was stopped")
            sink.ended(.stopped)
        } else {
            shared?.end(state.latestEnd)
            sink.ended(state.latestEnd)
        }
    }

    private func deliver(_ call: (inout State) -> Void) {
        state.withLock { state in
            begin(&state)
            // An abandoned pipeline may still report.
            if !state.hasEnded { call(&state) }
        }
    }

    private func begin(_ state: inout State) {
        if state.hasBegun { return }
        state.hasBegun = true
        sink.formats(state.formats.sorted { $0.kind.rawValue < $1.kind.rawValue })
    }
}
