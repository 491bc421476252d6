import Devices
import Encoding
import Media
import RTSP
import Synchronization

/// Records a network camera, and reconnects after interruptions.
// @unchecked: see CapturePipeline.
final class NetworkPipeline: CapturePipeline, @unchecked Sendable {
    let name = "capture network"
    let formats: [TrackFormat]
    let notes: [String]

    /// Timeout of a read, after which the thread checks for a stop.
    private static let readMilliseconds = 100
    /// Time limit for parameter sets in the stream, if the description has none: cameras send them with keyframes, which may be 20 s
    /// apart.
    private static let patienceNanoseconds: Int64 = 30_000_000_000
    /// Delay of the first reconnection; it doubles with every second failure.
    private static let searchNanoseconds: Int64 = 500_000_000
    /// Maximum delay of a reconnection.
    private static let longestSearchNanoseconds: Int64 = 2_000_000_000
    /// Delay after a refusal that a moment does not change.
    private static let refusedNanoseconds: Int64 = 30_000_000_000
    /// Time limit for samples that were captured before the end, besides the known delay.
    private static let tailNanoseconds: Int64 = 1_000_000_000

    private enum State {
        case connected(NetworkCamera)
        case searching
    }

    private let request: NetworkCameraRequest
    private let durationNanoseconds: Int64?
    /// Known delay from capture to arrival.
    private let delayNanoseconds: Int64
    private let tracks: [any NetworkTrack]
    private var state: State
    private var isPlaying: Bool
    /// Events that arrived with the parameter sets, before the start.
    private var early: [NetworkCameraEvent] = []
    private var limit: CaptureLimit
    private var clock = StatedClock()
    private var fruitlessOpenings = 0
    /// Refusals of the login since the last sample.
    private var refusedLogins = 0
    /// Why tracks of the present connection are not recorded.
    private var refused: [String]
    private var searchAtNanoseconds: Int64 = 0
    /// The last logged reason why the camera cannot be reopened.
    private var obstacle: DeviceError?
    /// The last logged reason of a lost connection.
    private var lastLoss: DeviceError?
    private var comeback = NetworkReturn()
    /// The last error of the connection.
    private var lastFailure: DeviceError?
    private var trouble = NetworkTrouble()
    /// The camera has been opened again.
    private var hasReconnected = false
    /// Descriptions of the tracks, which change with their formats; `shown` is the copy of the pipeline's thread.
    private let texts: Mutex<[String]>
    private var shown: [String]
    private var backlog = NetworkBacklog()

    /// Connects, and selects the tracks.
    /// - Parameters:
    ///   - isSoundNeeded: without sound, this fails.
    ///   - isStopping: whether to stop waiting for the camera.
    init(
        _ request: NetworkCameraRequest, isSoundNeeded: Bool, settings: CaptureSettings,
        isStopping: () -> Bool
    ) throws(CaptureError) {
        self.request = request
        durationNanoseconds = settings.duration?.nanoseconds
        delayNanoseconds = settings.cameraDelay.nanoseconds
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        var tracks: [any NetworkTrack] = []
        var notes: [String] = []
        var isPlaying = false
        var early: [NetworkCameraEvent] = []
        let camera = try Self.open(request, isStopping)
        do throws(DeviceError) {
            let kinds = Set(camera.tracks.map(\.kind))
            for kind in request.kinds
            where !kinds.contains(kind) && (kind == .video || isSoundNeeded) {
                throw camera.lacking(kind.description)
            }
            for description in camera.tracks {
                if case .foreign(let sound) = description.coding, settings.encoder == .copy {
                    let reason =
                        "its audio is \(sound.codec), which is encoded as \(AudioCodec.all[0]): leave --encoder copy out"
                    guard !isSoundNeeded else {
                        throw .cameraRefused(camera.summary, reason: reason)
                    }
                    notes.append("\(camera.summary): \(reason)")
                    continue
                }
                if case .video(_, nil) = description.coding { isPlaying = true }
                guard
                    let track = try Self.track(
                        description, of: camera, settings, &early, isStopping)
                else { break }
                tracks.append(track)
            }
        } catch {
            throw CaptureError(error)
        }
        if isStopping() { throw .stopped }
        self.tracks = tracks
        self.isPlaying = isPlaying
        self.early = early
        formats = tracks.map(\.format)
        shown = tracks.map(\.text)
        texts = Mutex(shown)
        refused = camera.refused
        self.notes = notes + camera.refused.map { "\(camera.summary): \($0)" }
        state = .connected(camera)
    }

    var descriptions: [String] {
        let transport = request.transport == .tcp ? "TCP" : "UDP"
        return texts.withLock { $0 }.map { "\($0) from \(request.url.summary) over \(transport)" }
    }

    private static func open(
        _ request: NetworkCameraRequest, _ isStopping: () -> Bool
    ) throws(CaptureError) -> NetworkCamera {
        let camera: NetworkCamera?
        do throws(DeviceError) {
            camera = try NetworkCamera.open(request, while: { !isStopping() })
        } catch {
            throw CaptureError(error)
        }
        guard let camera else { throw .stopped }
        return camera
    }

    /// The recorder of a camera's track; nil: the wait for its parameter sets was stopped.
    private static func track(
        _ description: CameraTrackDescription, of camera: NetworkCamera,
        _ settings: CaptureSettings, _ early: inout [NetworkCameraEvent],
        _ isStopping: () -> Bool
    ) throws(DeviceError) -> (any NetworkTrack)? {
        let duration = settings.duration?.nanoseconds
        let delay = settings.cameraDelay.nanoseconds
        var sent: VideoFormat?
        if case .video(let codec, nil) = description.coding {
            sent = try sentFormat(of: camera, codec, &early, isStopping)
            if sent == nil { return nil }
        }
        do {
            switch description.coding {
            case .video(_, let described):
                guard let format = described ?? sent else {
                    preconditionFailure("a format is described, or has been sent")
                }
                return try NetworkPictures(
                    description, format, orientation: settings.orientation,
                    durationNanoseconds: duration, delayNanoseconds: delay)
            case .audio(let stream):
                return try NetworkSound(
                    description, stream.payload.format, durationNanoseconds: duration,
                    delayNanoseconds: delay)
            case .foreign(let sound):
                let plan = try settings.soundPlan(
                    sourceRate: Int(sound.sampleRate), sourceChannels: sound.channels)
                return try NetworkEncodedSound(
                    sound, plan, durationNanoseconds: duration, delayNanoseconds: delay)
            }
        } catch {
            throw .cameraRefused(camera.summary, reason: "\(error)")
        }
    }

    /// Parameter sets that come with the pictures.
    /// - Parameter early: receives the picture with them, and what arrived after it.
    /// - Returns: nil if the wait was stopped.
    private static func sentFormat(
        of camera: NetworkCamera, _ codec: VideoCodec, _ early: inout [NetworkCameraEvent],
        _ isStopping: () -> Bool
    ) throws(DeviceError) -> VideoFormat? {
        camera.play()
        let end = MonotonicClock().nowNanoseconds + patienceNanoseconds
        while MonotonicClock().nowNanoseconds < end {
            if isStopping() { return nil }
            let events = try camera.read(timeoutMilliseconds: readMilliseconds)
            for (number, event) in events.enumerated() {
                guard case .items(.video, let items) = event else { continue }
                for (index, item) in items.enumerated() {
                    guard case .unit(let unit) = item,
                        let format = Self.format(in: unit.data, codec)
                    else { continue }
                    early = [.items(.video, Array(items[index...]))] + events[(number + 1)...]
                    return format
                }
            }
        }
        throw .cameraRefused(
            camera.summary,
            reason:
                "its \(codec) has no parameter sets within \(patienceNanoseconds / 1_000_000_000) s"
        )
    }

    /// The format whose parameter sets come with an access unit; nil when it lacks some, or they do not read.
    private static func format(in accessUnit: [UInt8], _ codec: VideoCodec) -> VideoFormat? {
        do throws(BitstreamError) {
            return try VideoFormat(codec, inBand: accessUnit.span)
        } catch {
            return nil
        }
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        limit.begin(startNanoseconds: startNanoseconds)
        for track in tracks { track.begin(startNanoseconds: startNanoseconds) }
        if case .connected(let camera) = state, !isPlaying { camera.play() }
        var end: CaptureEnd
        do throws(EncodingError) {
            try take(early, output)
            early = []
            end = try capture(output)
            let last = durationNanoseconds.map { startNanoseconds + $0 } ?? .max
            if case .connected(let camera) = state { try take(camera.stop(), output) }
            for track in tracks {
                try track.finish(atNanoseconds: min(output.nowNanoseconds, last), output)
            }
        } catch {
            end = .failed("\(request.url.summary): \(error)")
        }
        if case .connected(let camera) = state { camera.leave() }
        state = .searching
        return end
    }

    private func capture(_ output: CaptureOutput) throws(EncodingError) -> CaptureEnd {
        while true {
            if output.isToStop { return .stopped }
            if tracks.allSatisfy(\.isDone) { return .durationReached }
            if let requests = output.requests.take() {
                for track in tracks { track.follow(requests) }
            }
            let now = output.nowNanoseconds
            if limit.isReached(atNanoseconds: now - Self.tailNanoseconds - delayNanoseconds) {
                return .durationReached
            }
            switch state {
            case .connected(let camera): try read(camera, output)
            case .searching:
                let end = durationNanoseconds.map { limit.startNanoseconds + $0 } ?? .max
                guard output.wait(untilNanoseconds: min(searchAtNanoseconds, end)) else {
                    return .stopped
                }
                if limit.isReached(atNanoseconds: output.nowNanoseconds) {
                    return .durationReached
                }
                try search(output)
            }
            let known = backlog.knownNanoseconds(now: output.nowNanoseconds)
            for track in tracks { try track.tick(output, nowNanoseconds: known) }
            tell(output)
        }
    }

    /// Updates the capture's status.
    private func tell(_ output: CaptureOutput, isConnecting: Bool = false) {
        let state: CaptureTrouble.State
        switch self.state {
        case .connected: state = .connected
        case .searching:
            state = isConnecting ? .connecting : .waiting(untilNanoseconds: searchAtNanoseconds)
        }
        trouble.update(
            tracks, state == .connected ? nil : lastFailure?.description, state,
            hasReconnected: hasReconnected, now: output.nowNanoseconds,
            startNanoseconds: limit.startNanoseconds)
        if output.trouble != trouble.present { output.trouble = trouble.present }
        for (index, track) in tracks.enumerated() where shown[index] != track.text {
            shown[index] = track.text
            texts.withLock { [shown] in $0 = shown }
        }
    }

    private func read(
        _ camera: NetworkCamera, _ output: CaptureOutput
    ) throws(EncodingError) {
        let events: [NetworkCameraEvent]
        let began = output.nowNanoseconds
        do throws(DeviceError) {
            events = try camera.read(timeoutMilliseconds: Self.readMilliseconds)
        } catch {
            return try lose(error, output)
        }
        backlog.noteRead(
            from: began, until: output.nowNanoseconds,
            newest: events.compactMap(\.arrivalNanoseconds).max())
        try take(events, output)
        let isFlowing = tracks.contains(where: \.isFlowing)
        if comeback.isToLog(isPlaying: camera.isPlaying, isFlowing: isFlowing) {
            output.noted("the camera \(camera.summary) is back")
        }
        if fruitlessOpenings > 0, isFlowing {
            fruitlessOpenings = 0
            refusedLogins = 0
        }
    }

    private func take(
        _ events: [NetworkCameraEvent], _ output: CaptureOutput
    ) throws(EncodingError) {
        for event in events {
            switch event {
            case .items(let kind, let items):
                try tracks.first { $0.kind == kind }?.take(items, output)
            case .report(let kind, let report, let arrival):
                judge(report, of: kind, arrivalNanoseconds: arrival, output)
                tracks.first { $0.kind == kind }?.note(report, arrivalNanoseconds: arrival)
            case .foreign(let kind, let reason):
                let line = "the camera \(reason)"
                output.noted(line)
                tracks.first { $0.kind == kind }?.progress.explainSilence(line)
            }
        }
    }

    /// Reports findings about the camera's wallclock, which is common to its tracks.
    private func judge(
        _ report: SenderReport, of kind: TrackKind, arrivalNanoseconds arrival: Int64,
        _ output: CaptureOutput
    ) {
        guard kind == tracks.first?.kind, !backlog.isBehind else { return }
        let passed = output.nowNanoseconds - arrival
        let utc = SystemClock.utc.nowNanoseconds - passed
        for finding in clock.note(report, arrivalUTCNanoseconds: utc) {
            output.lost(
                CaptureLoss(
                    track: kind, cause: .damagedInput,
                    startNanoseconds: max(limit.startNanoseconds, arrival), durationNanoseconds: 0,
                    samples: 0,
                    text: "the camera's clock \(finding); recorded times do not depend on it"))
        }
    }

    /// The connection is lost: starts a loss in all tracks.
    private func lose(_ error: DeviceError, _ output: CaptureOutput) throws(EncodingError) {
        // A camera that is opened but sends nothing usable is logged once.
        if fruitlessOpenings == 0 || error != lastLoss {
            output.noted("\(error); connecting again")
        }
        lastLoss = error
        comeback.lost()
        backlog = NetworkBacklog()
        for track in tracks { try track.interrupt(error.description, output) }
        state = .searching
        plan(after: error, output)
    }

    private func plan(after error: DeviceError, _ output: CaptureOutput) {
        var pause = Self.searchNanoseconds << min(fruitlessOpenings / 2, 8)
        pause = min(pause, Self.longestSearchNanoseconds)
        if case .cameraRefused = error { pause = Self.refusedNanoseconds }
        if case .cameraLoginRefused = error {
            refusedLogins += 1
            pause = LoginPause.nanoseconds(refusals: refusedLogins)
        }
        searchAtNanoseconds = output.nowNanoseconds + pause
        fruitlessOpenings += 1
        lastFailure = error
    }

    private func search(_ output: CaptureOutput) throws(EncodingError) {
        tell(output, isConnecting: true)
        let camera: NetworkCamera
        do throws(DeviceError) {
            guard let opened = try NetworkCamera.open(request, while: { !output.isToStop }) else {
                return
            }
            // Without the main track, the camera is not used: it may describe that track after another connection.
            let needed = tracks.contains { $0.kind == .video } ? TrackKind.video : .audio
            guard opened.tracks.contains(where: { $0.kind == needed }) else {
                opened.leave()
                throw .cameraLost(
                    opened.summary,
                    reason: (["it describes no \(needed) that can be recorded"] + opened.refused)
                        .joined(separator: ": "))
            }
            camera = opened
        } catch {
            if error != obstacle { output.noted(error.description) }
            obstacle = error
            return plan(after: error, output)
        }
        comeback.opened(isDoubtful: fruitlessOpenings > 1 && obstacle == nil)
        obstacle = nil
        for reason in camera.refused where !refused.contains(reason) {
            output.noted("\(camera.summary): \(reason)")
        }
        refused = camera.refused
        for description in camera.tracks {
            try tracks.first { $0.kind == description.kind }?.resume(description, output)
        }
        state = .connected(camera)
        hasReconnected = true
        camera.play()
    }
}

extension NetworkCameraEvent {
    /// The latest arrival of what it contains; nil: none.
    fileprivate var arrivalNanoseconds: Int64? {
        switch self {
        case .items(_, let items):
            items.map { item in
                switch item {
                case .unit(let unit): unit.lastArrivalNanoseconds
                case .hole(let hole): hole.arrivalNanoseconds
                }
            }.max()
        case .report(_, _, let arrival): arrival
        case .foreign: nil
        }
    }
}
