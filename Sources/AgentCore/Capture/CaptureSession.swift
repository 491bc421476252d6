package import Devices
import Encoding
import Media
import Synchronization
import Threads

/// One source at work: from the settings to encoded samples with their times in a ``CaptureSink``.
///
/// All tracks start at the same time T0, a whole number of nanoseconds of the clock. The work is done on threads of
/// its own, a lane for each device. While it lasts, lanes can be exchanged for others (``CaptureChanges``).
package final class CaptureSession: Sendable {
    /// A lane and its thread.
    struct Running: Sendable {
        let number: Int
        var plan: LanePlan
        let lane: any CaptureLane
        let output: CaptureOutput
        let ended: OneAnswer<CaptureEnd>
    }

    struct State {
        var hasStarted = false
        /// What is in force.
        var settings: CaptureSettings
        /// Their lanes; one that has ended by itself stays here.
        var lanes: [Running] = []
        var laneCount = 0
        /// Somebody has stopped the capture, not the session.
        var isPaused = false
        /// Somebody is exchanging lanes.
        var isChanging = false
        /// It was stopped until its time was over.
        var hasExpired = false
        /// When what was asked for has been captured; nil: never.
        var deadlineNanoseconds: Int64?
    }

    let hub: CaptureHub
    let state: Mutex<State>

    /// Nothing is opened yet.
    package init(
        settings: CaptureSettings, clock: any CaptureClock = MonotonicClock(),
        sink: any CaptureSink
    ) {
        hub = CaptureHub(sink: sink, clock: clock)
        state = Mutex(State(settings: settings))
    }

    /// Opens sources and encoders, and starts the capture; when this throws, the sink is never called.
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
        var opened: [(plan: LanePlan, lane: any CaptureLane)] = []
        for plan in try settings.lanePlans() { opened.append((plan, try plan.open())) }
        let now = hub.clock.nowNanoseconds
        state.withLock { state in
            state.deadlineNanoseconds = settings.duration.map {
                let (deadline, isEndless) = now.addingReportingOverflow($0.nanoseconds)
                return isEndless ? .max : deadline
            }
        }
        begin(opened, notBefore: now)
    }

    /// Asks the capture to end: encoders give what they have, then the sink hears of the end. Returns at once, and may
    /// be called from the sink.
    package func stop() {
        hub.stop()
        guard state.withLock({ $0.hasStarted && $0.isPaused }) else { return }
        // Without lanes nobody else says the last word, and the caller may be one whom the sink waits for.
        NamedThread.start("capture end") { [hub] in hub.finishIfStopped() }
    }

    /// What was picked: one line per track for people; empty before the start.
    package var descriptions: [String] {
        state.withLock { state in
            let lanes = state.lanes.sorted { first, second in
                (first.plan.kinds.first?.rawValue ?? 0, first.number)
                    < (second.plan.kinds.first?.rawValue ?? 0, second.number)
            }
            return lanes.flatMap(\.lane.descriptions)
        }
    }

    /// What people may want to know of how it was picked.
    package var notes: [String] { state.withLock { $0.lanes.flatMap(\.lane.notes) } }

    /// More of the same, for who wants to know everything.
    package var details: [String] { state.withLock { $0.lanes.flatMap(\.lane.details) } }

    /// How often the threads that run have come round, by what they are called: one that stands still hangs.
    var turns: [String: UInt64] {
        let lanes = state.withLock { $0.lanes }
        let running = hub.running
        var turns: [String: UInt64] = [:]
        for lane in lanes where running.contains(lane.number) {
            turns["\(lane.lane.name) \(lane.number)"] = lane.output.turns
        }
        return turns
    }

    /// Starts the threads of lanes that have been opened, together, and not before that time nor before the end of what has
    /// been captured.
    ///
    /// - Parameters:
    ///   - ends: where lanes ended whose place they take; what lies between is a loss.
    ///   - text: what that loss is called.
    func begin(
        _ opened: [(plan: LanePlan, lane: any CaptureLane)], notBefore now: Int64,
        after ends: [TrackKind: Int64] = [:], text: String = ""
    ) {
        let formats = opened.flatMap(\.lane.formats)
        let start = formats.reduce(now) { max($0, self.start(of: $1)) }
        let sound = hub.format(of: .audio)
        let continued = hub.adopt(formats)
        var begun: [Running] = []
        state.withLock { state in
            if hub.format(of: .audio) != sound {
                // A file of its own begins with the sound's format, and with a picture from which decoding can start.
                for running in state.lanes where running.plan.kinds.contains(.video) {
                    running.output.wishes.add { $0.isKeyframeWanted = true }
                }
            }
            for (plan, lane) in opened {
                state.laneCount += 1
                begun.append(
                    Running(
                        number: state.laneCount, plan: plan, lane: lane,
                        output: CaptureOutput(hub, continued: continued), ended: OneAnswer()))
            }
            state.lanes += begun
            if let found = begun.compactMap(\.lane.encoder).first {
                // What is not there now is not tried again at every change.
                let rest = state.settings.encoderCandidates.drop { $0 != found }
                if !rest.isEmpty { state.settings.encoderCandidates = Array(rest) }
            }
        }
        let kinds = Set(formats.map(\.kind))
        for (kind, end) in ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            hub.expectSeam(of: kind, fromNanoseconds: end, toNanoseconds: start, text: text)
            if !kinds.contains(kind) { hub.closeSeam(of: kind) }
        }
        // All of them, before one of them can have ended.
        for running in begun { hub.laneBegan(running.number) }
        for running in begun {
            NamedThread.start(running.lane.name) { [hub] in
                let end = running.lane.run(startNanoseconds: start, output: running.output)
                hub.laneEnded(running.number, end, isRetired: running.output.isRetired)
                running.ended.give(end)
            }
        }
    }

    /// Ends a capture that somebody has stopped when its time is over: that is counted from its start, whether or not anything
    /// is captured. Returns at once.
    func watchPause() {
        NamedThread.start("capture pause") { [self] in
            while !hub.isStopping {
                let now = hub.clock.nowNanoseconds
                let (isOver, hasExpired) = state.withLock { state in
                    guard state.isPaused, let deadline = state.deadlineNanoseconds else {
                        return (true, false)
                    }
                    // What is being started goes on; it ends by itself.
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

    /// How often a capture that is stopped looks whether its time is over.
    private static let pauseNapNanoseconds: Int64 = 100_000_000

    /// The earliest that a lane with this format may begin: what was captured before ends there, and an AAC encoder begins
    /// with a packet of silence before its first sound.
    private func start(of format: TrackFormat) -> Int64 {
        guard let end = hub.end(of: format.kind) else { return .min }
        switch format {
        case .h264: return end
        case .aac(let aac):
            return end + Self.primingFrames * 1_000_000_000 / Int64(max(1, aac.sampleRate))
        }
    }

    /// What libavcodec's AAC encoder gives before the first sound.
    private static let primingFrames: Int64 = 1024
}
