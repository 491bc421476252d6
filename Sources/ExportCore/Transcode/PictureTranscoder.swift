import Archive
import Containers
import Encoding
import Recordings
import Media

/// Transcodes a recording's pictures into a container. Owned by one thread.
final class PictureTranscoder {
    /// Tolerance for times that are rounded to nanoseconds and to ticks.
    private static let toleranceNanoseconds: Int64 = 20_000

    let index: Int
    private let timeline: OutputTimeline
    private var decoder = RecordedPictures()
    private var encoder: PictureEncoder
    /// The last picture before the output's start, which is shown there.
    private var held: RawFrame?
    private var hasBegun = false
    private let stamp: TimeStamp?

    /// - Parameters:
    ///   - first: the recording's first sample in the range.
    ///   - stamp: painted on each picture; nil: none.
    ///   - index: of the track in the output.
    init(
        _ first: RecordedSample, codec: PictureCodec, settings: TranscodeSettings,
        timeline: OutputTimeline, index: Int, stamp: TimeStamp? = nil
    ) throws {
        self.index = index
        self.stamp = stamp
        self.timeline = timeline
        guard case .picture(let picture) = try CodedTrack(first.format).content else {
            preconditionFailure("a video sample's format is a picture's")
        }
        guard picture.width > 1, picture.height > 1 else {
            throw ExportError.refused(path: first.file.path, reason: "its video has no frame size")
        }
        let orientation = first.format.orientation
        let own = PictureSize(width: picture.width & ~1, height: picture.height & ~1)
            .turned(orientation)
        let size = settings.size ?? own
        var options = settings.encoder(codec, size: size, frameRate: first.nominalRate)
        options.colour = picture.colour
        options.sampleAspectRatio = SampleAspectRatio.keepingShape(
            picture.sampleAspectRatio?.turned(orientation), of: own, at: size)
        encoder = try PictureEncoder(options)
    }

    var track: ContainerTrack {
        ContainerTrack(encoder.track, timescale: PictureEncoder.timescale)
    }

    /// Adds the next sample.
    func take(_ sample: RecordedSample, into output: MuxedOutput) throws {
        var frames: [RawFrame] = []
        try decoder.decode(sample) { frames.append($0) }
        for frame in frames { try encode(frame, into: output) }
    }

    /// Ends the stream; returns the number of packets that could not be decoded.
    func finish(into output: MuxedOutput) throws -> Int {
        var frames: [RawFrame] = []
        try decoder.finish { frames.append($0) }
        for frame in frames { try encode(frame, into: output) }
        if !hasBegun, let held { try send(held, at: 0, into: output) }
        let index = index
        try encoder.finish { try Self.write($0, index, output) }
        return decoder.damaged
    }

    private func encode(_ frame: RawFrame, into output: MuxedOutput) throws {
        let time = frame.captureNanoseconds - timeline.start
        if time < -Self.toleranceNanoseconds {
            held = frame
            return
        }
        // Only needed for decoding others.
        if let end = timeline.end, time > end - timeline.start - Self.toleranceNanoseconds {
            return
        }
        if !hasBegun, time > Self.toleranceNanoseconds, let held {
            try send(held, at: 0, into: output)
        }
        held = nil
        try send(frame, at: max(0, time), into: output)
    }

    private func send(_ frame: RawFrame, at time: Int64, into output: MuxedOutput) throws {
        var frame = try stamp?.stamped(frame) ?? frame
        frame.captureNanoseconds = time
        hasBegun = true
        let index = index
        try encoder.encode(frame) { try Self.write($0, index, output) }
    }

    private static func write(
        _ packet: EncodedPacket, _ index: Int, _ output: MuxedOutput
    ) throws {
        try output.write(
            packet.bytes, track: index, pts: packet.pts, dts: packet.dts,
            duration: packet.duration, isKeyframe: packet.isKeyframe)
    }
}

extension RecordedSample {
    /// The rate of pictures with this duration.
    var nominalRate: FrameRate {
        guard let ticks = Int32(exactly: durationTicks), ticks > 0, durationTicks < 90_000 * 10
        else { return FrameRate(30) }
        // Durations are rounded to ticks, and cameras jitter: the nearest common rate.
        let usual: [FrameRate] =
            [5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 90, 100, 120].map { FrameRate($0) }
            + [
                FrameRate(24_000, per: 1001), FrameRate(30_000, per: 1001),
                FrameRate(60_000, per: 1001),
            ]
        let exact = 90_000 / Double(ticks)
        func distance(_ rate: FrameRate) -> Double {
            abs(Double(rate.numerator) / Double(rate.denominator) - exact)
        }
        if let nearest = usual.min(by: { distance($0) < distance($1) }),
            distance(nearest) < exact / 100
        {
            return nearest
        }
        return FrameRate(90_000, per: ticks)
    }
}
