import Devices
import Encoding
import Media

/// Captures and encodes a camera's pictures; waits for the same camera after faults and unplugging.
// @unchecked: see CapturePipeline.
final class CameraPipeline: CapturePipeline, @unchecked Sendable {
    /// Opens the camera, or opens it again.
    typealias Opener = () throws(DeviceError) -> any CameraInput

    let name = "capture video"
    let formats: [TrackFormat]
    var descriptions: [String] {
        ["\(stage.text) from \(choiceText)"]
    }
    let notes: [String]
    let details: [String]
    let encoder: String?
    let makesKeyframes = true
    let device: (any ControlledDevice)?

    /// Timeout of a read, after which the thread checks for a stop.
    private static let readMilliseconds = 100
    /// A camera without pictures for this long has stopped.
    private static let frozenNanoseconds: Int64 = 2_000_000_000
    /// Delay before reopening a camera; it doubles while the camera fails before its first picture.
    private static let searchNanoseconds: Int64 = 500_000_000
    /// Maximum delay before reopening a camera.
    private static let longestSearchNanoseconds: Int64 = 8_000_000_000
    /// Timeout in picture intervals, for a camera with a low frame rate.
    private static let frozenPictures: Int64 = 4
    /// Time limit for pictures that were captured before the end.
    private static let tailNanoseconds: Int64 = 500_000_000

    private enum State {
        case capturing(any CameraInput)
        case searching
    }

    private let open: Opener
    private let late: LatePolicy
    private let cameraName: String
    private let durationNanoseconds: Int64?
    private let stage: any CameraStage
    /// The selected mode of the camera, and the reason.
    private let choiceText: String
    private var state: State
    private var isStarted: Bool
    private var limit: CaptureLimit
    private var timeline: CameraTimeline
    private var isDone = false
    /// Filters queued pictures when the capture is stopped.
    private var lastGate: LatePictureFilter?
    private var heardNanoseconds: Int64 = 0
    /// Losses since its last picture.
    private var fruitlessOpenings = 0
    private var searchAtNanoseconds: Int64 = 0
    /// The last logged reason for which the camera cannot be reopened.
    private var obstacle: DeviceError?
    private var lossReason = ""
    /// Why the camera is missing, from the first failed attempt to reopen it on.
    private var trouble: CaptureTrouble?

    /// Opens the camera and an encoder.
    init(
        _ cameraName: String, settings: CaptureSettings, clock: any CaptureClock,
        device: (any ControlledDevice)? = nil, open: @escaping Opener
    ) throws(CaptureError) {
        let input: any CameraInput
        do throws(DeviceError) {
            input = Self.waiting(try open(), settings.late)
        } catch {
            throw CaptureError(error)
        }
        let choice = input.choice
        if choice.coding == .h264 {
            stage = try CopiedCameraPictures(
                input, orientation: settings.orientation, clock: clock)
            isStarted = true
        } else {
            let plan = try settings.cameraPlan(choice, input.layout)
            do throws(EncodingError) {
                stage = try EncodedCameraPictures(plan, input.layout, for: settings)
            } catch {
                throw .codec(error.description)
            }
            isStarted = false
        }
        self.open = open
        late = settings.late
        self.cameraName = cameraName
        state = .capturing(input)
        durationNanoseconds = settings.duration?.nanoseconds
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        timeline = CameraTimeline(choice, startNanoseconds: 0)
        formats = [stage.format]
        encoder = stage.encoder
        notes = choice.notes
        details = stage.search.map { [$0] } ?? []
        choiceText = "\(input.summary): \(choice.text), because \(choice.reason)"
        self.device = device
    }

    /// Opens a V4L2 camera by name, or the first one.
    convenience init(
        v4l2 name: String, settings: CaptureSettings, clock: any CaptureClock
    ) throws(CaptureError) {
        let request = try settings.cameraRequest()
        let place = CameraLocator(CameraAddress(name: name))
        try self.init(
            name, settings: settings, clock: clock, device: CameraControls(place)
        ) { () throws(DeviceError) in
            let camera = try Camera(place.address, request: request)
            place.address = camera.address
            return camera
        }
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        limit.begin(startNanoseconds: startNanoseconds)
        if case .capturing(let input) = state {
            timeline = CameraTimeline(input.choice, startNanoseconds: startNanoseconds)
        }
        var end: CaptureEnd
        do throws(EncodingError) {
            end = try capture(output)
            let last = durationNanoseconds.map { startNanoseconds + $0 } ?? .max
            timeline.finish(
                atNanoseconds: min(output.nowNanoseconds, last), lost: output.lost)
            try stage.finish(output)
        } catch {
            end = .failed(error.description)
        }
        // The camera's ownership is transferred.
        output.reclaimPictures()
        state = .searching
        return end
    }

    // MARK: Capturing

    private func capture(_ output: CaptureOutput) throws(EncodingError) -> CaptureEnd {
        if case .capturing(let input) = state { start(input, output) }
        while true {
            if output.isToStop {
                try drain(output)
                return .stopped
            }
            if isDone { return .durationReached }
            switch state {
            case .capturing(let input):
                try read(input, output)
            case .searching:
                if limit.isReached(atNanoseconds: output.nowNanoseconds) {
                    return .durationReached
                }
                let end = durationNanoseconds.map { limit.startNanoseconds + $0 } ?? .max
                guard output.wait(untilNanoseconds: min(searchAtNanoseconds, end)) else {
                    return .stopped
                }
                timeline.wait(nowNanoseconds: output.nowNanoseconds, lost: output.lost)
                searchAtNanoseconds = output.nowNanoseconds + Self.searchNanoseconds
                search(output)
            }
        }
    }

    private func start(_ input: any CameraInput, _ output: CaptureOutput) {
        heardNanoseconds = output.nowNanoseconds
        if isStarted { return input.requestKeyframe() }
        do throws(DeviceError) {
            try input.start()
        } catch {
            lose(error.description, output)
        }
    }

    private func read(
        _ input: any CameraInput, _ output: CaptureOutput
    ) throws(EncodingError) {
        let event: CameraEvent
        do throws(DeviceError) {
            event = try input.read(timeoutMilliseconds: Self.readMilliseconds)
        } catch {
            return lose(error.description, output)
        }
        switch event {
        case .picture(let picture):
            heardNanoseconds = output.nowNanoseconds
            fruitlessOpenings = 0
            if trouble != nil {
                trouble = nil
                output.trouble = nil
            }
            try take(picture, of: input, output)
        case .idle:
            let now = output.nowNanoseconds
            if limit.isReached(atNanoseconds: now - Self.tailNanoseconds) { isDone = true }
            let patience = max(
                Self.frozenNanoseconds, Self.frozenPictures * timeline.intervalNanoseconds)
            if now - heardNanoseconds >= patience {
                lose("the camera \(cameraName) stopped delivering pictures", output)
            }
        }
    }

    private func take(
        _ picture: CameraPicture, of input: any CameraInput, _ output: CaptureOutput
    ) throws(EncodingError) {
        var hasLost = false
        let verdict = timeline.take(picture) { loss in
            hasLost = true
            output.lost(loss)
        }
        if hasLost { input.requestKeyframe() }
        switch verdict {
        case .recorded(let time):
            if limit.isReached(atNanoseconds: time) {
                isDone = true
                return
            }
            let isInTime = lastGate?.admits(
                captureNanoseconds: time, durationNanoseconds: timeline.intervalNanoseconds,
                nowNanoseconds: output.nowNanoseconds, tell: output.lost)
            guard isInTime ?? true else { return }
            output.setShortOfMemory(!input.canLendBuffer)
            try stage.take(
                picture,
                PictureTime(
                    captureNanoseconds: time,
                    durationNanoseconds: timeline.intervalNanoseconds), output)
            if stage.takeKeyframeRequest() { input.requestKeyframe() }
        case .leftOut, .damaged:
            break
        }
    }

    /// With `keep`, pictures are queued outside of the driver's buffers. Pictures that the camera encodes are never late.
    private static func waiting(
        _ input: any CameraInput, _ late: LatePolicy
    ) -> any CameraInput {
        late == .keep && input.choice.coding != .h264 ? QueuedCamera(input) : input
    }

    /// Records pictures that were captured before the stop and are still queued, within a time limit.
    private func drain(_ output: CaptureOutput) throws(EncodingError) {
        guard case .capturing(let input) = state, let queue = input as? QueuedCamera else {
            return
        }
        lastGate = LatePictureFilter(late)
        queue.close()
        while !isDone, let picture = queue.takeRest() { try take(picture, of: queue, output) }
        lastGate?.flush(output.lost)
    }

    /// The camera is missing: no pictures from here on, until it is back.
    private func lose(_ reason: String, _ output: CaptureOutput) {
        output.noted("\(reason); waiting for it")
        timeline.interrupt(.deviceLost, text: reason)
        // Closed here, so that it can be opened again: at once, because most faults are over then.
        output.reclaimPictures()
        state = .searching
        let pause =
            fruitlessOpenings == 0 ? 0 : Self.searchNanoseconds << min(fruitlessOpenings - 1, 8)
        searchAtNanoseconds = output.nowNanoseconds + min(pause, Self.longestSearchNanoseconds)
        lossReason = reason
        if fruitlessOpenings > 0 { miss(reason, output) }
        fruitlessOpenings += 1
    }

    /// Reports in the status that the camera is missing.
    private func miss(_ reason: String, _ output: CaptureOutput) {
        trouble = CaptureTrouble(
            missing: "\(TrackKind.video)",
            sinceNanoseconds: max(limit.startNanoseconds, heardNanoseconds), reason: reason,
            state: .waiting(untilNanoseconds: searchAtNanoseconds))
        output.trouble = trouble
    }

    private func search(_ output: CaptureOutput) {
        let input: any CameraInput
        do throws(DeviceError) {
            input = Self.waiting(try open(), late)
        } catch .noCamera {
            // Still away, which was logged.
            return miss(lossReason, output)
        } catch {
            return complain(error, output)
        }
        do throws(EncodingError) {
            try stage.restart(input.layout)
        } catch {
            return complain(
                .cameraRefused(cameraName, reason: error.description), output)
        }
        obstacle = nil
        output.noted("the camera \(cameraName) is back: \(input.summary), \(input.choice.text)")
        state = .capturing(input)
        isStarted = false
        timeline.restart(input.choice)
        start(input, output)
    }

    private func complain(_ error: DeviceError, _ output: CaptureOutput) {
        if error != obstacle { output.noted(error.description) }
        obstacle = error
        miss(error.description, output)
    }
}
