import Encoding
import Media
import RTSP

/// Records a network camera's video without transcoding.
///
/// After a loss, pictures are dropped up to the next one at which decoding can start.
final class NetworkPictures: NetworkTrack {
    let kind = TrackKind.video
    private(set) var text: String
    var times: UnitTimes
    var progress: NetworkProgress
    var reports: [CameraReport] = []
    private var copier: VideoCopier
    private var fields: FieldPairs
    /// A field that waits for the other one of its frame.
    private var field: UnitTimes.Timed?
    private var orientation: PictureOrientation
    /// A new orientation or codec is not announced yet: it applies from the next keyframe.
    private var isUnannounced = false
    /// The camera's new codec, whose parameter sets have not come yet.
    private var awaited: VideoCodec?
    /// Parameter sets of a new description, for the next picture.
    private var newConfiguration: [UInt8]?
    private let clockRate: UInt32
    private let delay: Int64

    /// - Parameter format: with the parameter sets from the description or the stream.
    init(
        _ description: CameraTrackDescription, _ format: VideoFormat,
        orientation: PictureOrientation, durationNanoseconds: Int64?, delayNanoseconds: Int64 = 0
    ) throws(EncodingError) {
        let track = try Self.track(format)
        copier = try VideoCopier(track)
        fields = try Self.fields(format)
        self.orientation = orientation
        clockRate = description.clockRate
        delay = delayNanoseconds
        times = Self.times(format, clockRate, delayNanoseconds)
        progress = NetworkProgress(
            .video, durationNanoseconds: durationNanoseconds, intervalNanoseconds: 0,
            delayNanoseconds: delay)
        text = CaptureDescription.copiedVideo(track, copier.format)
    }

    private static func track(_ format: VideoFormat) throws(EncodingError) -> CodedTrack {
        CodedTrack(
            codec: format.codec.libraryName, codecTag: 0, configuration: try configuration(format),
            content: .picture(
                CodedTrack.Picture(
                    width: Int(format.width), height: Int(format.height), format: nil, colour: nil,
                    rate: nil, hasConstantRate: false, sampleAspectRatio: nil)))
    }

    private static func fields(_ format: VideoFormat) throws(EncodingError) -> FieldPairs {
        do throws(BitstreamError) {
            return try FieldPairs(format)
        } catch {
            throw .damagedSample(
                codec: format.codec.libraryName, atNanoseconds: 0, reason: error.description)
        }
    }

    /// The codec configuration as in a container, with 4-byte NAL unit lengths.
    private static func configuration(_ format: VideoFormat) throws(EncodingError) -> [UInt8] {
        do throws(BitstreamError) {
            return try format.record()
        } catch {
            throw .damagedSample(
                codec: format.codec.libraryName, atNanoseconds: 0, reason: error.description)
        }
    }

    /// - Parameter duration: of the pictures before; nil: unknown.
    private static func times(
        _ format: VideoFormat, _ clockRate: UInt32, _ delay: Int64, duration: Int64? = nil
    ) -> UnitTimes {
        var depth = 0
        do throws(BitstreamError) {
            depth = Int(try format.maximumReorderedFrames() ?? 0)
        } catch {
            // The first pictures determine it.
            depth = 0
        }
        return UnitTimes(
            clockRate: clockRate, reorderDepth: depth, usualDuration: duration,
            delayNanoseconds: delay)
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

    func follow(_ requests: PictureRequests.Pending) {
        for wanted in requests.rates where wanted.answer.begin() {
            wanted.answer.give(.fixedRate("the camera"))
        }
        if let wanted = requests.orientation, wanted != orientation {
            orientation = wanted
            isUnannounced = true
        }
    }

    func discontinue(isHarmless: Bool, _ output: CaptureOutput) throws(EncodingError) {
        try recordField(output)
        fields.interrupt()
        if !isHarmless { copier.interrupt() }
    }

    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        try recordField(output)
        progress.finish(atNanoseconds: end, output)
    }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        guard case .video(let codec, let described) = description.coding else { return }
        awaited = nil
        guard codec == copier.format.codec else {
            times = UnitTimes(
                clockRate: clockRate, usualDuration: times.knownDuration, delayNanoseconds: delay)
            times.notBeforeNanoseconds = progress.dueNanoseconds
            if let described { try change(to: described) } else { awaited = codec }
            return
        }
        times = Self.times(
            described ?? copier.format, clockRate, delay, duration: times.knownDuration)
        times.notBeforeNanoseconds = progress.dueNanoseconds
        newConfiguration = try described.map { (format) throws(EncodingError) in
            try Self.configuration(format)
        }
        guard let described else { return }
        do throws(BitstreamError) {
            try fields.configure(described)
        } catch {
            throw .damagedSample(
                codec: codec.libraryName, atNanoseconds: 0, reason: error.description)
        }
    }

    /// Records another codec from now on.
    private func change(to format: VideoFormat) throws(EncodingError) {
        copier = try VideoCopier(Self.track(format))
        fields = try Self.fields(format)
        newConfiguration = nil
        isUnannounced = true
        awaited = nil
    }

    /// Changes the codec at the first picture with its parameter sets.
    /// - Returns: false before that picture.
    private func isReady(for unit: AccessUnit) throws(EncodingError) -> Bool {
        guard let awaited else { return true }
        var format: VideoFormat?
        do throws(BitstreamError) {
            format = try VideoFormat(awaited, inBand: unit.data.span)
        } catch {
            // Its parameter sets cannot be read: others may follow.
            format = nil
        }
        guard let format else {
            progress.drop("the camera's new \(awaited) had no parameter sets yet")
            return false
        }
        try change(to: format)
        return true
    }

    func record(_ timed: UnitTimes.Timed, _ output: CaptureOutput) throws(EncodingError) {
        guard try isReady(for: timed.unit) else { return }
        switch fields.role(of: timed.unit.data.span) {
        case .secondField:
            guard let first = field else { return try recordFrame(timed, output) }
            field = nil
            try recordFrame(first.joined(by: timed), output)
        case .firstField:
            try recordField(output)
            field = timed
        case .whole:
            try recordField(output)
            try recordFrame(timed, output)
        }
    }

    /// Records a field without the other one of its frame.
    private func recordField(_ output: CaptureOutput) throws(EncodingError) {
        guard let own = field else { return }
        field = nil
        try recordFrame(own, output)
    }

    private func recordFrame(
        _ timed: UnitTimes.Timed, _ output: CaptureOutput
    ) throws(EncodingError) {
        guard timed.ptsNanoseconds >= progress.limit.startNanoseconds else {
            // It precedes the start, and the next pictures reference it.
            return copier.interrupt()
        }
        let packet = CodedPacket(timed, .video, newConfiguration: newConfiguration)
        newConfiguration = nil
        let result: VideoCopier.Output
        do throws(EncodingError) {
            result = try copier.copy(packet)
        } catch .damagedSample(_, _, let reason) {
            progress.miss(.damagedInput, "the camera sent a picture that cannot be read: \(reason)")
            progress.drop("")
            return copier.interrupt()
        }
        guard var sample = result.sample else {
            return progress.dropUndecodable(atNanoseconds: timed.ptsNanoseconds)
        }
        stamp(&sample, timed.unit, clockRate: clockRate)
        progress.record(sample, intervalNanoseconds: timed.durationNanoseconds, output)
        if let format = result.newFormat {
            text = CaptureDescription.copiedVideo(try Self.track(format), format)
            output.formatChanged(oriented(format))
        } else if isUnannounced, sample.flags.contains(.keyframe) {
            output.formatChanged(format)
        }
        if sample.flags.contains(.keyframe) { isUnannounced = false }
        output.sample(sample)
    }
}

extension UnitTimes.Timed {
    /// Both fields of a frame, with the times of the first one.
    fileprivate func joined(by second: UnitTimes.Timed) -> UnitTimes.Timed {
        var frame = self
        frame.unit.data += second.unit.data
        frame.unit.lastNumber = second.unit.lastNumber
        frame.unit.lastArrivalNanoseconds = second.unit.lastArrivalNanoseconds
        frame.durationNanoseconds += second.durationNanoseconds
        return frame
    }
}
