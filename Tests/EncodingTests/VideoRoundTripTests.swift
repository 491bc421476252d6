import Devices
import Encoding
import Media
import Testing

/// The test pattern through the encoder and back through the decoder.
@Suite struct VideoRoundTripTests {
    private func settings(
        _ size: PictureSize = PictureSize(width: 640, height: 360), bFrames: Int = 0,
        bitrate: Int = 1_000_000, tune: VideoTune = .zeroLatency, isConstant: Bool = true
    ) -> VideoEncoderSettings {
        var settings = VideoEncoderSettings(
            size: size, frameRate: FrameRate(30), hasConstantRate: isConstant)
        settings.bitrate = bitrate
        settings.maximumBitrate = bitrate * 3 / 2
        settings.bufferBits = bitrate
        settings.bFrames = bFrames
        settings.tune = tune
        settings.threads = 1
        return settings
    }

    /// Encodes the test pattern with a picture at each of `times`.
    private func encode(
        _ times: [Int64], _ settings: VideoEncoderSettings,
        size: PictureSize? = nil, keyframeAt requested: Int? = nil
    ) throws -> (format: VideoFormat, samples: [EncodedSample]) {
        var painter = TestPicture(
            size: size ?? settings.size, sourceName: "round-trip", utcOffsetNanoseconds: 0)
        var encoder = try VideoEncoder(settings)
        var samples: [EncodedSample] = []
        for (number, time) in times.enumerated() {
            if number == requested { encoder.requestKeyframe() }
            let frame = painter.paint(
                number: Int64(number), captureNanoseconds: time, durationNanoseconds: 33_333_333)
            try encoder.encode(frame) { samples.append($0) }
        }
        try encoder.finish { samples.append($0) }
        return (encoder.format, samples)
    }

    private func regular(_ count: Int, from start: Int64 = 123_456_789_012_345) -> [Int64] {
        (0..<count).map { start + FrameRate(30).nanoseconds(ofPicture: Int64($0)) }
    }

    private func decode(
        _ format: VideoFormat, _ samples: [EncodedSample]
    ) throws -> [(time: Int64, code: TimeCode?)] {
        var decoder = try VideoDecoder(SampleReader.track(format))
        var pictures: [(Int64, TimeCode?)] = []
        for sample in samples {
            try decoder.decode(SampleReader.packet(sample)) { frame in
                pictures.append((frame.captureNanoseconds, TimeCode(readingLumaOf: frame)))
            }
        }
        try decoder.finish { frame in
            pictures.append((frame.captureNanoseconds, TimeCode(readingLumaOf: frame)))
        }
        return pictures
    }

    @Test(arguments: [(0, VideoTune.zeroLatency), (0, .none), (3, .none)])
    func `every picture decodes with its code and its exact capture time`(
        bFrames: Int, tune: VideoTune
    ) throws {
        let times = regular(90)
        let (format, samples) = try encode(times, settings(bFrames: bFrames, tune: tune))
        #expect(samples.count == times.count)
        #expect(samples.map(\.ptsNanoseconds).sorted() == times)
        let steps = zip(samples.dropFirst(), samples).map { $0.dtsNanoseconds - $1.dtsNanoseconds }
        #expect(steps.allSatisfy { $0 > 0 })
        #expect(samples.allSatisfy { $0.ptsNanoseconds >= $0.dtsNanoseconds })
        #expect((bFrames > 0) == samples.contains { $0.ptsNanoseconds != $0.dtsNanoseconds })
        let pictures = try decode(format, samples)
        #expect(pictures.map(\.time) == times)
        #expect(pictures.map { $0.code?.captureNanoseconds } == times.map { UInt64($0) })
    }

    @Test(arguments: [(1280, 720, 200_000), (320, 180, 100_000), (160, 90, 80_000)])
    func `codes survive a starved encoder`(width: Int, height: Int, bitrate: Int) throws {
        let times = regular(45)
        let size = PictureSize(width: width, height: height)
        let (format, samples) = try encode(
            times, settings(size, bitrate: bitrate))
        let pictures = try decode(format, samples)
        #expect(pictures.map { $0.code?.captureNanoseconds } == times.map { UInt64($0) })
    }

    @Test func `times between microseconds are kept to the nanosecond`() throws {
        let times = (0..<40 as Range<Int64>).map { (number: Int64) -> Int64 in
            1_000_000_007 + number * 33_333_001 + number % 7 * 1013
        }
        for tune in VideoTune.allCases {
            let (_, samples) = try encode(times, settings(tune: tune, isConstant: false))
            #expect(samples.map(\.ptsNanoseconds) == times)
        }
    }

    @Test func `samples carry length-prefixed NAL units, and no parameter sets of the track`()
        throws
    {
        let (format, samples) = try encode(regular(61), settings())
        #expect(format.width == 640 && format.height == 360)
        #expect(!format.sets(.sequence).isEmpty && !format.sets(.picture).isEmpty)
        for sample in samples {
            let picture = try CodedPicture(of: sample.data.span, format.codec)
            #expect(picture.slices >= 1)
            #expect((picture.accessPoint == .sync) == sample.flags.contains(.keyframe))
            let units = try NALUnitFraming.lengthPrefixed(size: 4).units(in: sample.data.span)
            #expect(!units.contains { format.codec.kind(of: $0).isParameterSet })
        }
    }

    @Test(arguments: [0, 2])
    func `H.265 is encoded on request and decodes with the same times`(bFrames: Int) throws {
        let times = regular(40)
        var settings = settings(
            PictureSize(width: 320, height: 180), bFrames: bFrames,
            tune: bFrames == 0 ? .zeroLatency : .none)
        settings.encoder = "libx265"
        settings.preset = "ultrafast"
        #expect(settings.codec == .h265)
        let (format, samples) = try encode(times, settings, keyframeAt: 11)
        #expect(format.codec == .h265 && format.width == 320 && format.height == 180)
        #expect(ParameterSetKind.allCases.allSatisfy { !format.sets($0).isEmpty })
        let keyframes = samples.filter { $0.flags.contains(.keyframe) }
        #expect(keyframes.map(\.ptsNanoseconds) == [times[0], times[11]])
        for sample in samples {
            let units = try NALUnitFraming.lengthPrefixed(size: 4).units(in: sample.data.span)
            #expect(!units.contains { format.codec.kind(of: $0).isParameterSet })
            let picture = try CodedPicture(of: sample.data.span, .h265)
            #expect((picture.accessPoint == .sync) == sample.flags.contains(.keyframe))
            #expect(sample.dtsNanoseconds <= sample.ptsNanoseconds)
        }
        #expect(try decode(format, samples).map(\.time) == times)
    }

    @Test func `keyframes are spaced by time, also at a lower picture rate`() throws {
        // Ten pictures per second where thirty were announced.
        let times = (0..<60).map { Int64($0) * 100_000_000 }
        let (_, samples) = try encode(times, settings(isConstant: false))
        let keyframes = samples.filter { $0.flags.contains(.keyframe) }.map(\.ptsNanoseconds)
        #expect(keyframes == [0, 2_000_000_000, 4_000_000_000])
    }

    @Test func `a requested keyframe is the next picture`() throws {
        let (_, samples) = try encode(regular(30), settings(), keyframeAt: 11)
        let keyframes = samples.indices.filter { samples[$0].flags.contains(.keyframe) }
        #expect(keyframes == [0, 11])
        let data = samples[11].data
        #expect(try CodedPicture(of: data.span, .h264).accessPoint == .sync)
    }

    @Test func `rate control follows the pictures' times`() throws {
        func bits(_ interval: Int64) throws -> Double {
            var settings = settings(bitrate: 300_000, isConstant: false)
            settings.preset = "ultrafast"
            let times = (0..<120).map { Int64($0) * interval }
            let (_, samples) = try encode(times, settings)
            let bytes = samples.dropFirst(30).reduce(0) { $0 + $1.data.count }
            return Double(bytes * 8) / (Double(90 * interval) / 1e9)
        }
        let announced = try bits(33_333_333)
        let third = try bits(100_000_000)
        // Rate control by picture count would give a third of the bit rate.
        #expect(third > announced * 0.6, "\(announced) and \(third) bit/s")
    }

    @Test func `pictures of another size are scaled to the one that was asked for`() throws {
        let times = regular(10)
        let (format, samples) = try encode(
            times, settings(PictureSize(width: 480, height: 272)),
            size: PictureSize(width: 960, height: 544))
        #expect(format.width == 480 && format.height == 272)
        let pictures = try decode(format, samples)
        #expect(pictures.map { $0.code?.captureNanoseconds } == times.map { UInt64($0) })
    }

    @Test func `an encoder that does not exist, or an invalid preset, is refused`() {
        var unknown = settings()
        unknown.encoder = "libnothing"
        #expect(throws: EncodingError.noEncoder("libnothing")) { _ = try VideoEncoder(unknown) }
        var sound = settings()
        sound.encoder = "aac"
        #expect(throws: EncodingError.noEncoder("aac")) { _ = try VideoEncoder(sound) }
        var preset = settings()
        preset.preset = "leisurely"
        #expect(throws: EncodingError.self) { _ = try VideoEncoder(preset) }
    }
}
