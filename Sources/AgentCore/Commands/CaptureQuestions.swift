import Devices
import Encoding
import Media
import Synchronization
import Wire

/// Queries of a running capture.
extension CaptureSession {
    /// Maximum wait for the next picture.
    private static let nextPictureMilliseconds = 5_000

    /// Whether a command has stopped the capture.
    package var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Whether the capture has come to its end.
    var hasEnded: Bool { hub.hasEnded }

    /// The current settings.
    var settings: CaptureSettings { state.withLock { $0.settings } }

    /// Settings and state.
    func status() -> CaptureStatus {
        let state = state.withLock { $0 }
        var status = CaptureStatus()
        let hasEnded = hub.hasEnded
        status.isCapturing = !state.isPaused && !hasEnded
        status.video = state.settings.video.summary
        status.audio = state.settings.audio.summary
        status.descriptions = descriptions
        if case .video(let format) = hub.format(of: .video), !state.isPaused {
            status.size = PictureSize(width: Int(format.width), height: Int(format.height))
        }
        if state.settings.encoder != .copy, !state.settings.isVideoCopied {
            status.videoBitrate = UInt64(clamping: state.settings.videoBitrate)
        }
        status.crop = state.settings.crop
        status.orientation = state.settings.orientation
        // A small preview has its source's orientation.
        if state.settings.isSmallPreview, case .video(let format) = hub.format(of: .video) {
            status.orientation = format.orientation
        }
        let counts = hub.counts
        status.pictures = counts.pictures
        status.soundPackets = counts.soundPackets
        status.lostSamples = counts.lostSamples
        if hasEnded {
            status.trouble = "the capture has ended; the agent sends the remaining samples"
        } else if let trouble = Self.trouble(of: state) {
            let now = hub.clock.nowNanoseconds
            status.trouble = trouble.text(now: now)
            status.retrySeconds = trouble.retrySeconds(now: now)
        }
        return status
    }

    /// Why nothing is captured of some tracks at present; nil: all are captured, or the capture was stopped by a command.
    var trouble: CaptureTrouble? { state.withLock { Self.trouble(of: $0) } }

    private static func trouble(of state: State) -> CaptureTrouble? {
        guard !state.isPaused else { return nil }
        return state.pipelines.lazy.compactMap(\.output.trouble).first
    }

    /// Makes the next picture a keyframe.
    func requestKeyframe() throws(ChangeError) {
        let running = try pictures()
        guard running.pipeline.makesKeyframes else {
            throw .refused(
                state.withLock { $0.settings.isVideoCopied }
                    ? "the pictures of a network camera are recorded unchanged, so keyframes cannot be requested: set "
                        + "their distance at the camera"
                    : "the video is copied, so keyframes cannot be requested: use --encoder libx264"
            )
        }
        running.output.requests.add { $0.isKeyframeWanted = true }
    }

    /// The next picture as JPEG, as it is displayed. Blocks until it is encoded.
    func snapshot(
        maximumBytes: Int
    ) throws(ChangeError) -> (description: SnapshotDescription, jpeg: [UInt8]) {
        let running = try pictures()
        guard running.pipeline.encoder != nil else {
            let remedy =
                state.withLock { $0.settings.isVideoCopied } ? "use " : "use --encoder libx264, or "
            throw .refused(
                "the video is copied without decoding, so no snapshot is possible: \(remedy)"
                    + "'tributary extract --jpeg' on the recording")
        }
        let answer = CancellableCall<PictureRequests.Snapshot>()
        running.output.requests.add { $0.snapshots.append(answer) }
        guard let snapshot = answer.wait(milliseconds: Self.nextPictureMilliseconds) else {
            throw .refused("no picture for \(Self.nextPictureMilliseconds / 1_000) s")
        }
        let frame = snapshot.frame
        do throws(EncodingError) {
            let jpeg = try StillPicture.encode(
                frame, as: .jpeg, orientation: snapshot.orientation, maximumBytes: maximumBytes)
            let size = PictureSize(width: frame.width, height: frame.height)
                .turned(snapshot.orientation)
            return (
                SnapshotDescription(
                    width: UInt32(clamping: size.width), height: UInt32(clamping: size.height),
                    captureNanoseconds: frame.captureNanoseconds, sizeBytes: jpeg.count), jpeg
            )
        } catch {
            throw .refused(error.description)
        }
    }

    /// The camera's controls.
    func controls() throws(ChangeError) -> [DeviceControl] {
        let pipelines = state.withLock { $0.pipelines }
        guard let device = pipelines.compactMap(\.pipeline.device).first else {
            throw .refused("no camera is being captured, so there are no controls")
        }
        do throws(CaptureError) {
            return try device.controls()
        } catch {
            throw .refused(error.description)
        }
    }

    /// The pipeline of the video track.
    private func pictures() throws(ChangeError) -> Running {
        let state = state.withLock { $0 }
        if state.isPaused { throw .refused("the capture is stopped: 'start' resumes it") }
        guard let running = state.pipelines.first(where: { $0.plan.kinds.contains(.video) }) else {
            throw .refused("no video is being captured")
        }
        return running
    }
}
