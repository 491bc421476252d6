import Devices
import Encoding
import Media
import Synchronization
import Wire

/// An error of a change.
enum ChangeError: Error, Hashable {
    /// Refused; nothing has changed.
    case refused(String)
    /// The change failed, and the previous state could not be restored.
    case notRestored(String)
}

/// Changes a running capture in one transaction: a change is applied completely or not at all.
///
/// Steps that can fail come first: settings are validated, new sources and encoders are opened while the old ones run, encoder
/// rates are changed, and controls are set. On failure, these changes are reverted. Then pipelines are exchanged, which
/// cannot fail, unless an old and a new pipeline need the same device: it is opened in between, and if that fails, the old
/// pipeline is reopened.
///
/// Calls must not overlap.
extension CaptureSession {
    /// Maximum wait for a picture at which the encoder's settings can change.
    private static let pictureMilliseconds = 3_000
    /// Timeout for the end of a pipeline, whose driver may block.
    private static let pipelineMilliseconds = 20_000
    /// The text of a pause, for the ledger.
    private static let pauseText = "stopped by a command"

    /// The steps of a change.
    struct Exchange {
        var settings: CaptureSettings
        var wasPaused: Bool
        var isPaused: Bool
        /// Pipelines that continue, with their new plans.
        var kept: [(running: Running, plan: PipelinePlan)] = []
        var leaving: [Running] = []
        /// Plans of pipelines that begin.
        var arriving: [PipelinePlan] = []
    }

    /// Applies a change completely or not at all.
    func apply(_ change: CaptureChange) throws(ChangeError) {
        let wasPaused = try state.withLock { (state) throws(ChangeError) in
            if state.hasExpired {
                throw .refused("the capture has ended: its --duration has passed")
            }
            state.isChanging = true
            return state.isPaused
        }
        defer { state.withLock { $0.isChanging = false } }
        try exchangePipelines(for: change)
        if !wasPaused, state.withLock({ $0.isPaused && $0.deadlineNanoseconds != nil }) {
            watchPause()
        }
    }

    private func exchangePipelines(for change: CaptureChange) throws(ChangeError) {
        let exchange: Exchange
        var opened: [(plan: PipelinePlan, pipeline: any CapturePipeline)] = []
        // Plans that need a device which a pipeline has not released yet.
        var waiting: [PipelinePlan] = []
        var undo: [() -> Void] = []
        do throws(CaptureError) {
            exchange = try self.exchange(for: change)
            for plan in exchange.arriving {
                if exchange.needsDeviceOfOther(plan) {
                    waiting.append(plan)
                    continue
                }
                do throws(CaptureError) {
                    opened.append((plan, try open(plan)))
                } catch .heldHere {
                    waiting.append(plan)
                }
            }
            // A waiting pipeline needs the camera of one that is being removed.
            let cameras =
                opened.map(\.pipeline) + (waiting.isEmpty ? [] : exchange.leaving.map(\.pipeline))
            undo += try setControls(change.controls, of: cameras, exchange)
            undo += try changeRate(exchange)
        } catch {
            for step in undo.reversed() { step() }
            throw .refused(error.description)
        }
        if !exchange.leaving.isEmpty { hub.hold(true) }
        let ends = retire(exchange.leaving)
        do throws(CaptureError) {
            for plan in waiting { opened.append((plan, try open(plan))) }
        } catch {
            for step in undo.reversed() { step() }
            // A new pipeline may hold a device that an old one needs again.
            opened.removeAll()
            throw restore(exchange.leaving, because: error, ends)
        }
        turn(exchange)
        state.withLock { state in
            state.settings = exchange.settings
            state.isPaused = exchange.isPaused
            for (running, plan) in exchange.kept {
                guard let place = state.pipelines.firstIndex(where: { $0.number == running.number })
                else { continue }
                state.pipelines[place].plan = plan
            }
        }
        start(opened, after: ends, exchange)
        hub.hold(exchange.isPaused)
    }

    private func exchange(for change: CaptureChange) throws(CaptureError) -> Exchange {
        let present = state.withLock { $0 }
        guard present.hasStarted, !hub.isStopping, !hub.hasEnded else {
            throw .settings("the capture is stopping")
        }
        var settings = try present.settings.changed(by: change)
        try settings.validate()
        if let deadline = present.deadlineNanoseconds, deadline < .max {
            let rest = deadline - hub.clock.nowNanoseconds
            guard rest > 0 else {
                throw .settings("the capture is stopping: its --duration has passed")
            }
            settings.duration = .nanoseconds(rest)
        }
        let isPaused = change.isCapturing.map { !$0 } ?? present.isPaused
        var exchange = Exchange(
            settings: settings, wasPaused: present.isPaused, isPaused: isPaused)
        var wanted = isPaused ? [] : try settings.pipelinePlans()
        _ = try settings.videoRate()
        for running in present.pipelines {
            if let place = wanted.firstIndex(where: { $0.isSame(as: running.plan) }) {
                exchange.kept.append((running, wanted.remove(at: place)))
            } else {
                exchange.leaving.append(running)
            }
        }
        exchange.arriving = wanted
        return exchange
    }

    /// Changes the encoder rate of pipelines that continue.
    /// - Returns: closures that revert it.
    private func changeRate(_ exchange: Exchange) throws(CaptureError) -> [() -> Void] {
        let old = try state.withLock { $0.settings }.videoRate()
        let new = try exchange.settings.videoRate()
        guard old != new,
            let running = exchange.kept.first(where: { $0.plan.kinds.contains(.video) })?.running
        else { return [] }
        let answer = CancellableCall<EncodingError?>()
        running.output.requests.add { $0.rates.append((new, answer)) }
        switch answer.wait(milliseconds: Self.pictureMilliseconds) {
        case .some(.none): break
        case .some(.some(let error)): throw .codec(error.description)
        case nil:
            let seconds = Self.pictureMilliseconds / 1_000
            throw .source("no picture for \(seconds) s: the bitrate was not changed")
        }
        return [{ running.output.requests.add { $0.rates.append((old, CancellableCall())) } }]
    }

    /// Sets controls of the current or the new camera.
    /// - Returns: closures that revert it.
    private func setControls(
        _ settings: [CaptureChange.Setting], of opened: [any CapturePipeline], _ exchange: Exchange
    ) throws(CaptureError) -> [() -> Void] {
        guard !settings.isEmpty else { return [] }
        let pipelines = opened + exchange.kept.map(\.running.pipeline)
        guard let device = pipelines.compactMap(\.device).first else {
            throw .settings("no camera is being captured, so there are no controls")
        }
        let before = try device.controls()
        for setting in settings {
            guard let control = before.first(where: { $0.name == setting.name }) else {
                throw .settings(
                    "the camera has no control '\(setting.name)': 'controls' lists its controls")
            }
            if let flaw = control.flaw(in: setting.value) { throw .settings(flaw) }
        }
        let old = settings.compactMap { setting in
            before.first { $0.name == setting.name && $0.kind != .button }.map {
                CaptureChange.Setting(name: $0.name, value: $0.value)
            }
        }
        let restore = {
            do throws(CaptureError) {
                try device.set(old)
            } catch {
                self.hub.noted("the camera's controls could not be restored: \(error)")
            }
        }
        do throws(CaptureError) {
            try device.set(settings)
        } catch {
            restore()
            throw error
        }
        return [restore]
    }

    /// Changes the orientation of pipelines that continue, from the next keyframe on.
    private func turn(_ exchange: Exchange) {
        for (running, plan) in exchange.kept
        where plan.kinds.contains(.video) && !plan.settings.isSmallPreview {
            running.output.requests.add { $0.orientation = plan.settings.orientation }
        }
    }

    /// Stops and removes pipelines.
    /// - Returns: the ends of their samples and losses.
    private func retire(_ leaving: [Running]) -> [TrackKind: Int64] {
        for running in leaving { running.output.retire() }
        for running in leaving
        where running.ended.wait(milliseconds: Self.pipelineMilliseconds) == nil {
            hub.noted("\(running.pipeline.name) does not stop; continuing without it")
        }
        let gone = Set(leaving.map(\.number))
        state.withLock { $0.pipelines.removeAll { gone.contains($0.number) } }
        var ends: [TrackKind: Int64] = [:]
        for kind in leaving.flatMap(\.plan.kinds) { ends[kind] = hub.reportedEnd(of: kind) }
        return ends
    }

    /// Reopens pipelines that were closed for a failed change.
    private func restore(
        _ pipelines: [Running], because error: CaptureError, _ ends: [TrackKind: Int64]
    ) -> ChangeError {
        var opened: [(plan: PipelinePlan, pipeline: any CapturePipeline)] = []
        var failures: [String] = []
        for running in pipelines {
            do throws(CaptureError) {
                opened.append((running.plan, try open(running.plan)))
            } catch {
                failures.append(error.description)
            }
        }
        let isPaused = state.withLock { $0.isPaused }
        begin(
            opened, notBefore: hub.clock.nowNanoseconds, after: ends,
            text: "interrupted by a failed change")
        defer { hub.hold(isPaused) }
        if failures.isEmpty { return .refused(error.description) }
        let text =
            "\(error); and the previous source cannot be opened again: "
            + failures.joined(separator: "; ")
        // The pipeline ended by itself.
        if hub.running.isEmpty { hub.fail(text) }
        return .notRestored(text)
    }

    private func start(
        _ opened: [(plan: PipelinePlan, pipeline: any CapturePipeline)],
        after ends: [TrackKind: Int64],
        _ exchange: Exchange
    ) {
        let now = hub.clock.nowNanoseconds
        var ends = ends
        if exchange.isPaused {
            // The pause is reported once, when the capture continues or ends.
            for (kind, end) in ends {
                hub.expectSeam(
                    of: kind, fromNanoseconds: end, toNanoseconds: end, text: Self.pauseText)
            }
            return
        }
        for kind in opened.flatMap(\.plan.kinds) where ends[kind] == nil {
            ends[kind] = hub.reportedEnd(of: kind)
        }
        let settings = exchange.settings
        let words =
            "pictures: \(settings.video.summary), sound: \(settings.audio.summary)"
        begin(
            opened, notBefore: now, after: ends,
            text: exchange.wasPaused
                ? Self.pauseText : "not captured while a command was applied; \(words)")
    }
}

extension CaptureSession.Exchange {
    /// Whether a removed pipeline has the device of a new one.
    fileprivate func needsDeviceOfOther(_ plan: PipelinePlan) -> Bool {
        guard let device = plan.input.kind.device else { return false }
        return leaving.contains { $0.plan.input.kind.device == device }
    }
}

extension DeviceControl {
    /// The reason why the value is invalid, in one line; nil if it is valid.
    func flaw(in value: Int64) -> String? {
        if isReadOnly { return "the control '\(name)' is read-only" }
        switch kind {
        case .button: return nil
        case .menu where !choices.isEmpty:
            if choices.contains(where: { $0.value == value }) { return nil }
            let names = choices.map { "\($0.value) (\($0.label))" }.joined(separator: ", ")
            return "the control '\(name)' has no value \(value): use one of \(names)"
        case .number, .toggle, .menu, .other:
            if range.contains(value) { return nil }
            return "the control '\(name)' cannot be \(value): use \(range.lowerBound) to "
                + "\(range.upperBound)"
        }
    }
}
