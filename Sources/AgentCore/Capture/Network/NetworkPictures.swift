import Encoding
import Media
import RTSP

/// A network camera's own pictures, bit for bit.
///
/// A picture of which something is missing is not recorded, nor are those that follow it, up to the next one at which decoding can
/// start.
final class NetworkPictures: NetworkTrack {
    let kind = TrackKind.video
    let text: String
    private(set) var isDone = false
    private(set) var isFlowing = false
    private var copier: VideoCopier
    private var times: UnitTimes
    private var progress: NetworkProgress
    private var orientation: PictureOrientation
    /// Another orientation holds from the next keyframe on.
    private var isTurned = false
    /// A description's parameter sets that are not taken yet.
    private var newConfiguration: [UInt8]?
    private let clockRate: UInt32
    private let delay: Int64

    private static let usualDuration: Int64 = 40_000_000

    /// - Parameter format: with the parameter sets that the camera has described or sent.
    init(
        _ description: CameraTrackDescription, _ format: VideoFormat,
        orientation: PictureOrientation, durationNanoseconds: Int64?, delayNanoseconds: Int64 = 0
    ) throws(EncodingError) {
        let track = CodedTrack(
            codec: format.codec.libraryName, codecTag: 0,
            configuration: try Self.configuration(format),
            content: .picture(
                CodedTrack.Picture(
                    width: Int(format.width), height: Int(format.height), format: nil, colour: nil,
                    rate: nil, hasConstantRate: false, sampleAspectRatio: nil)))
        copier = try VideoCopier(track)
        self.orientation = orientation
        clockRate = description.clockRate
        delay = delayNanoseconds
        times = Self.times(format, clockRate, delayNanoseconds)
        progress = NetworkProgress(
            .video, durationNanoseconds: durationNanoseconds,
            intervalNanoseconds: Self.usualDuration)
        text = CaptureDescription.copiedVideo(track, copier.format)
    }

    /// As a container would have it: samples with lengths of four bytes.
    private static func configuration(_ format: VideoFormat) throws(EncodingError) -> [UInt8] {
        do throws(BitstreamError) {
            return try format.record()
        } catch {
            throw .damagedSample(
                codec: format.codec.libraryName, atNanoseconds: 0, reason: error.description)
        }
    }

    private static func times(
        _ format: VideoFormat, _ clockRate: UInt32, _ delay: Int64
    ) -> UnitTimes {
        var depth = 0
        do throws(BitstreamError) {
            depth = Int(try format.maximumReorderedFrames() ?? 0)
        } catch {
            // The first pictures show it.
            depth = 0
        }
        return UnitTimes(clockRate: clockRate, reorderDepth: depth, delayNanoseconds: delay)
    }

    var format: TrackFormat { oriented(copier.format) }

    private func oriented(_ format: VideoFormat) -> TrackFormat {
        var format = format
        format.orientation = orientation
        return .video(format)
    }

    func begin(startNanoseconds: Int64) {
        progress.limit.begin(startNanoseconds: startNanoseconds)
        times.notBeforeNanoseconds = startNanoseconds
    }

    func follow(_ wishes: PictureRequests.Wishes) {
        for wish in wishes.rates where wish.answer.begin() {
            wish.answer.give(.fixedRate("the camera"))
        }
        if let wanted = wishes.orientation, wanted != orientation {
            orientation = wanted
            isTurned = true
        }
    }

    func take(_ items: [DepacketizedItem], _ output: CaptureOutput) throws(EncodingError) {
        for item in items {
            try record(times.add(item, now: output.nowNanoseconds), output)
        }
    }

    func tick(_ output: CaptureOutput) throws(EncodingError) {
        try record(times.tick(now: output.nowNanoseconds), output)
        progress.tick(output)
    }

    func interrupt(_ reason: String, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        copier.interrupt()
        progress.miss(.deviceLost, reason)
        isFlowing = false
    }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        guard case .video(let codec, let described) = description.coding,
            codec == copier.format.codec
        else { return }
        times = Self.times(described ?? copier.format, clockRate, delay)
        times.notBeforeNanoseconds = progress.dueNanoseconds
        newConfiguration = try described.map { (format) throws(EncodingError) in
            try Self.configuration(format)
        }
    }

    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        progress.finish(atNanoseconds: end, output)
    }

    // MARK: Units

    private func record(
        _ items: [UnitTimes.Item], _ output: CaptureOutput
    ) throws(EncodingError) {
        for item in items {
            switch item {
            case .unit(let timed): try record(timed, output)
            case .hole(let hole):
                progress.note(hole)
                if !hole.isHarmless { copier.interrupt() }
            }
        }
    }

    private func record(
        _ timed: UnitTimes.Timed, _ output: CaptureOutput
    ) throws(EncodingError) {
        progress.note(times.takeFindings(), atNanoseconds: timed.ptsNanoseconds, output)
        if isDone || progress.limit.isReached(atNanoseconds: timed.ptsNanoseconds) {
            isDone = true
            return
        }
        guard timed.ptsNanoseconds >= progress.limit.startNanoseconds else {
            // From before the start; what follows needs it.
            return copier.interrupt()
        }
        let bytes = timed.unit.data.withUnsafeBytes { PaddedBytes($0) }
        let packet = CodedPacket(
            track: .video, ptsNanoseconds: timed.ptsNanoseconds,
            dtsNanoseconds: timed.dtsNanoseconds, durationNanoseconds: timed.durationNanoseconds,
            isKeyframe: false, isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0,
            newConfiguration: newConfiguration, bytes: bytes.bytes, owner: bytes)
        newConfiguration = nil
        let result: VideoCopier.Output
        do throws(EncodingError) {
            result = try copier.copy(packet)
        } catch .damagedSample(_, _, let reason) {
            progress.miss(.damagedInput, "the camera sent a picture that cannot be read: \(reason)")
            progress.drop("")
            return copier.interrupt()
        }
        guard let sample = result.sample else {
            return progress.drop("the pictures before the camera's first keyframe were dropped")
        }
        progress.record(sample, output)
        if let format = result.newFormat {
            output.formatChanged(oriented(format))
        } else if isTurned, sample.flags.contains(.keyframe) {
            output.formatChanged(format)
        }
        if sample.flags.contains(.keyframe) { isTurned = false }
        isFlowing = true
        output.sample(sample)
    }
}
