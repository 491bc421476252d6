import Devices
import Encoding
package import Logging
import Media
import Synchronization
package import Wire

/// Records one source: passes captured samples to the uplink until either ends.
package final class Agent: Sendable {
    /// The end of an agent's work.
    package enum Outcome: Hashable, Sendable {
        /// Everything captured is durable at the collector.
        case complete
        /// Stopped before everything was sent. One line with the amount that is on disk for the next start.
        case kept(String)
        /// Like ``kept(_:)``, but the collector does not admit this box's key. `isKept`: whether everything is on disk.
        case refused(String, isKept: Bool)
        /// One line with the reason.
        case failed(String)
    }

    private let settings: UplinkSettings
    let uplink: Uplink
    private let desk: CommandQueue
    private let capture: CaptureSession
    private let sink: UplinkSink
    private let logger: Logger
    private let isCapturing = Atomic(false)

    /// Nothing is opened yet.
    /// - Parameters:
    ///   - shared: see ``CaptureSession``.
    ///   - keySources: see ``Uplink``.
    package init(
        capture settings: CaptureSettings, uplink uplinkSettings: UplinkSettings, logger: Logger,
        shared: SharedPictures? = nil, keySources: @escaping @Sendable () -> [String] = { [] }
    ) throws(UplinkError) {
        self.logger = logger
        self.settings = uplinkSettings
        let uplink = try Uplink(
            settings: uplinkSettings, keySources: keySources, logger: logger)
        self.uplink = uplink
        sink = UplinkSink(uplink: uplink, logger: logger)
        capture = CaptureSession(settings: settings, sink: sink, shared: shared)
        desk = CommandQueue(
            capture: capture, software: uplinkSettings.software, logger: logger
        ) { uplink.status }
        uplink.askWhetherStopped { [weak capture] in capture?.isPaused ?? false }
        uplink.askForTrouble { [weak capture] in capture?.trouble?.summary }
        // A camera without keyframe requests, or a source without video, is not an error: the viewer waits for the next keyframe.
        uplink.tellOfWatchers { [weak desk] in
            desk?.submit(.keyframe, from: "a viewer") { _, _ in }
        }
    }

    /// Captures and sends until the capture has ended and everything is persisted, and releases the spool. Blocks its thread.
    /// - Throws: when a source or an encoder cannot be opened as asked; nothing has been sent then.
    package func run() throws(CaptureError) -> Outcome {
        defer { uplink.close() }
        let control = openControl()
        defer { control?.close() }
        obeyCollector()
        defer { desk.close() }
        try capture.start()
        isCapturing.store(true, ordering: .releasing)
        desk.open()
        for line in capture.details { logger.debug("\(line)") }
        for line in capture.notes + capture.descriptions { logger.info("\(line)") }
        let outcome = uplink.wait()
        // Without an uplink, nothing can be recorded.
        capture.stop()
        switch (outcome, sink.end) {
        case (.failed(let line), _): return .failed(line)
        case (.complete, .failed(let line)), (.kept, .failed(let line)): return .failed(line)
        case (.refused(let line, let isKept), _): return .refused(line, isKept: isKept)
        case (.kept(let line), _): return .kept(line)
        case (.complete, .finished), (.complete, nil): return .complete
        }
    }

    /// Opens the control socket; nil: none is configured, or it cannot be opened.
    private func openControl() -> SourceControl? {
        guard let path = settings.controlPath else { return nil }
        return SourceControl(at: path, source: settings.sourceName, logger: logger) {
            [desk] request, answer in
            desk.submit(request, from: "a local command", answer: answer)
        }
    }

    /// Executes a local command, if the capture has begun.
    /// - Returns: whether it will be answered.
    func follow(_ request: CommandRequest, answer: @escaping CommandQueue.Answer) -> Bool {
        guard isCapturing.load(ordering: .acquiring) else { return false }
        desk.submit(request, from: "a local command", answer: answer)
        return true
    }

    private func obeyCollector() {
        // The uplink keeps this closure, and the queue keeps the uplink.
        uplink.obey { [weak desk, weak uplink] command in
            guard let desk, let uplink else { return }
            desk.submit(command.request, from: "the collector") { reply, payload in
                uplink.answer(
                    Report(id: command.id, source: command.source, reply: reply), payload: payload)
            }
        }
    }

    /// Stops the capture. Recorded data is sent within the linger of the settings.
    package func stop() { abandon(after: settings.linger) }

    /// Stops the capture. Recorded data is sent without a time limit, until ``stop()`` or ``abandon(after:)``.
    func retire() {
        uplink.sendEverything()
        capture.stop()
    }

    /// Stops the capture, and ends without a Goodbye, so that the next agent of the source continues it and sends what is in the
    /// spool. Records in memory only are sent within the linger of the settings.
    func handOver() {
        uplink.abandon(after: settings.linger)
        sink.handOver()
        capture.stop()
    }

    /// Stops sending after a delay: ``run()`` then returns with the amount that is not persisted.
    package func abandon(after delay: Duration = .zero) {
        uplink.abandon(after: delay)
        capture.stop()
    }

    /// For a progress line.
    package var status: UplinkStatus { uplink.status }

    /// The agent's progress; nil before the capture has begun.
    package var progress: AgentProgress? {
        guard isCapturing.load(ordering: .acquiring) else { return nil }
        let status = capture.status()
        let uplink = uplink.status
        var progress = AgentProgress(
            source: settings.sourceName, endpoint: settings.endpoint, uplink: uplink)
        progress.isPaused = capture.isPaused
        progress.hasEnded = capture.hasEnded
        progress.pictures = capture.hub.format(of: .video) == nil ? nil : status.pictures
        progress.soundPackets = capture.hub.format(of: .audio) == nil ? nil : status.soundPackets
        // The connection counts the capture's losses, too, once they are sent.
        progress.lostSamples = max(status.lostSamples, uplink.lostSamples)
        progress.latestNote = sink.latestNote
        progress.turns = capture.turns
        progress.turns["uplink"] = uplink.turns
        return progress
    }

    /// The settings of the capture, which commands may have changed.
    package var latestSettings: CaptureSettings { capture.settings }

    /// These settings; nil if the capture does not run.
    var runningSettings: CaptureSettings? {
        isCapturing.load(ordering: .acquiring) && !capture.hasEnded ? capture.settings : nil
    }

    /// Maximum wait for a change: opening a network camera takes seconds.
    private static let changeMilliseconds = 30_000

    /// Executes a change by the configuration, and waits until it succeeded or failed.
    /// - Returns: the reason of a failure, in one line.
    package func change(_ change: CaptureChange) -> String? { Self.flaw(in: begin(change)) }

    /// Starts a change by the configuration.
    func begin(_ change: CaptureChange) -> CancellableCall<CommandReply> {
        let answer = CancellableCall<CommandReply>()
        desk.submit(.change(change), from: "the configuration") { reply, _ in answer.give(reply) }
        return answer
    }

    /// Waits for the result of a change.
    /// - Returns: the reason of a failure, in one line.
    static func flaw(in answer: CancellableCall<CommandReply>) -> String? {
        guard let reply = answer.wait(milliseconds: changeMilliseconds) else {
            return "it takes longer than \(changeMilliseconds / 1_000) s"
        }
        guard case .failure(_, let text) = reply else { return nil }
        return text
    }
}

/// Passes captured samples to the uplink.
private final class UplinkSink: CaptureSink {
    private let uplink: Uplink
    private let logger: Logger
    private let clock = MonotonicClock()
    private let budget = Mutex(CaptureLogBudget())
    private let ending = Mutex(Ending())
    private let note = Mutex<String?>(nil)

    private struct Ending {
        var end: CaptureEnd?
        var isHandedOver = false
    }

    init(uplink: Uplink, logger: Logger) {
        self.uplink = uplink
        self.logger = logger
    }

    /// The end of the capture, after it.
    var end: CaptureEnd? { ending.withLock { $0.end } }

    /// Another agent continues the source: there is no Goodbye.
    func handOver() {
        let hasEnded = ending.withLock { ending in
            ending.isHandedOver = true
            return ending.end != nil
        }
        if hasEnded { uplink.handOver() }
    }

    func formats(_ formats: [TrackFormat]) { uplink.begin(formats: formats) }

    func formatChanged(_ format: TrackFormat) {
        log(.note, .info, "now \(format.summary)")
        uplink.formatChanged(format)
    }

    func sample(_ sample: EncodedSample) {
        if let flaw = sample.flaw {
            log(.gap(samples: 1), .warning, "a \(sample.track) sample is lost: \(flaw)")
        } else {
            logSummary()
        }
        uplink.offer(sample)
    }

    func lost(_ loss: CaptureLoss) {
        let subject = CaptureLogBudget.Subject.gap(samples: loss.samples)
        if loss.samples > 0 {
            log(subject, .warning, "\(loss.samples) \(loss.track) samples lost: \(loss.text)")
        } else if loss.durationNanoseconds > 0 {
            log(subject, .warning, "\(loss.track) lost: \(loss.text)")
        } else {
            // A note about the times, not a loss; the ledger has it as a gap.
            log(subject, .warning, "\(loss.track): \(loss.text)")
        }
        uplink.offer(Loss(loss))
    }

    func noted(_ line: String) {
        log(.note, .warning, line)
        note.withLock { $0 = line }
    }

    /// The capture's last note.
    var latestNote: String? { note.withLock { $0 } }

    func heard(_ report: AudioReport) {
        let health = AudioHealth(report)
        let levels = health.levels.map { "\(Double($0.peakMillibels) / 100)" }
        let skew = report.skewPPM.map { ", device \($0.rounded()) ppm off" } ?? ""
        logger.debug("audio peak \(levels.joined(separator: ", ")) dBFS\(skew)")
        uplink.report(health)
    }

    func ended(_ end: CaptureEnd) {
        if let summary = budget.withLock({ $0.takeRest() }) { logger.warning("\(summary)") }
        let isHandedOver = ending.withLock { ending in
            ending.end = end
            return ending.isHandedOver
        }
        switch end {
        case .finished(let reason) where isHandedOver:
            logger.info("capture ended (\(reason)); it starts again")
        case .finished(let reason):
            let limit =
                uplink.settings.spool == nil && !uplink.isStopping
                ? " (--linger does not apply without a spool)" : ""
            logger.info(
                "capture ended (\(reason)); waiting until the collector has everything on disk\(limit)"
            )
            uplink.finish(reason)
        case .failed(let line):
            logger.error("capture ended early: \(line)")
            if !isHandedOver { uplink.finish("failed: \(line)") }
        }
        if isHandedOver { uplink.handOver() }
    }

    /// Logs a line, or counts it.
    private func log(
        _ subject: CaptureLogBudget.Subject, _ level: Logger.Level, _ line: String
    ) {
        logSummary()
        let now = clock.nowNanoseconds
        guard budget.withLock({ $0.admits(subject, now: now) }) else { return }
        logger.log(level: level, "\(line)")
    }

    /// Logs the number of lines left out, when that is due.
    private func logSummary() {
        let now = clock.nowNanoseconds
        guard let summary = budget.withLock({ $0.takeSummary(now: now) }) else { return }
        logger.warning("\(summary)")
    }
}

extension AudioHealth {
    /// A report in the protocol's words.
    fileprivate init(_ report: AudioReport) {
        func level(_ amplitude: Double) -> Int32 {
            let range = WireLimits.levelMillibels
            let millibels = Int32(clamping: AudioLevel.millibels(amplitude))
            return min(max(millibels, range.lowerBound), range.upperBound)
        }
        self.init(
            levels: report.levels.map {
                Level(peakMillibels: level($0.peak), rmsMillibels: level($0.rms))
            }, skewPPB: report.skewPPM.map { Int32(clamping: Int64(($0 * 1000).rounded())) })
    }
}

extension Loss {
    /// A capture's loss in the protocol's words.
    fileprivate init(_ loss: CaptureLoss) {
        let cause: GapCause =
            switch loss.cause {
            case .encoderOverload: .encoderOverload
            case .damagedInput: .damagedInput
            case .driverDrop: .driverDrop
            case .overrun: .overrun
            case .deviceLost: .deviceLost
            case .command: .command
            case .packetLoss: .packetLoss
            }
        self.init(
            track: loss.track, cause: cause, startNanoseconds: loss.startNanoseconds,
            durationNanoseconds: loss.durationNanoseconds, samples: UInt64(max(0, loss.samples)),
            text: loss.text)
    }
}
