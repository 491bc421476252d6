import Encoding
import Media
import Testing

/// The encoder that `auto` selects, and changes to an open one.
@Suite struct EncoderSearchTests {
    private let obstacles: [String: EncodingError] = [
        "h264_vaapi": .encoderRefused("h264_vaapi", reason: "No VA display found"),
        "h264_v4l2m2m": .noEncoder("h264_v4l2m2m"),
    ]

    @Test func `the first encoder that opens is used, and the refused ones are listed`() throws {
        var tried: [String] = []
        var refusals: [EncoderSearch.Refusal] = []
        let found = try EncoderSearch.first(refusals: &refusals) {
            (name) throws(EncodingError) in
            tried.append(name)
            if let obstacle = obstacles[name] { throw obstacle }
            return name
        }
        #expect(found == "h264_nvenc")
        #expect(tried == ["h264_vaapi", "h264_v4l2m2m", "h264_nvenc"])
        let line = try #require(EncoderSearch.summary(refusals, using: found))
        #expect(
            line == "encoding with h264_nvenc; not usable: h264_vaapi: No VA display found; "
                + "h264_v4l2m2m: not in this libavcodec")
        #expect(EncoderSearch.summary([], using: "libx264") == nil)
    }

    @Test func `if no encoder opens, the last refusal is the error`() {
        var refusals: [EncoderSearch.Refusal] = []
        let last = EncodingError.encoderRefused("b", reason: "no")
        #expect(throws: last) {
            try EncoderSearch.first(of: ["a", "b"], refusals: &refusals) {
                (name) throws(EncodingError) -> String in
                throw .encoderRefused(name, reason: "no")
            }
        }
        #expect(refusals.map(\.encoder) == ["a"])
    }

    @Test func `an encoder without its hardware gives a readable reason`() throws {
        CodecLibrary.keepOffTerminal()
        for name in EncoderSearch.candidates where name != VideoEncoderSettings.x264 {
            var settings = Self.settings(bitrate: 500_000)
            settings.encoder = name
            do {
                _ = try VideoEncoder(settings)
            } catch {
                switch error {
                case .noEncoder(name): break
                case .encoderRefused(name, let reason):
                    #expect(!reason.isEmpty && !reason.contains("0x"), "\(reason)")
                default: Issue.record("\(error)")
                }
            }
        }
    }

    private static func settings(bitrate: Int) -> VideoEncoderSettings {
        var settings = VideoEncoderSettings(
            size: PictureSize(width: 320, height: 180), frameRate: FrameRate(30),
            hasConstantRate: true)
        settings.rate = VideoRate(
            average: bitrate, maximum: bitrate, bufferBits: bitrate / 2)
        settings.preset = "ultrafast"
        settings.threads = 1
        return settings
    }

    /// Incompressible pictures.
    private static func noise(_ number: Int64, _ generator: inout Noise) -> RawFrame {
        let buffer = PictureBuffer(width: 320, height: 180)
        for (plane, rows) in zip(buffer.planes, [180, 90, 90]) {
            let bytes = UnsafeMutableRawBufferPointer(
                start: plane.baseAddress, count: plane.bytesPerRow * rows)
            for index in bytes.indices { bytes[index] = generator.next() }
        }
        return buffer.frame(
            captureNanoseconds: number * 33_333_333, durationNanoseconds: 33_333_333,
            colour: .bt709)
    }

    private struct Noise {
        var state: UInt32 = 2_463_534_242
        mutating func next() -> UInt8 {
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            return UInt8(truncatingIfNeeded: state >> 8)
        }
    }

    @Test func `a lower bitrate is in force from the next pictures on, in place`() throws {
        var encoder = try VideoEncoder(Self.settings(bitrate: 4_000_000))
        var generator = Noise()
        var samples: [EncodedSample] = []
        for number in 0..<60 as Range<Int64> {
            try encoder.encode(Self.noise(number, &generator)) { samples.append($0) }
        }
        let slow = VideoRate(average: 1_000_000, maximum: 1_000_000, bufferBits: 500_000)
        let isInPlace = encoder.change(to: slow)
        #expect(isInPlace)
        for number in 60..<180 as Range<Int64> {
            try encoder.encode(Self.noise(number, &generator)) { samples.append($0) }
        }
        try encoder.finish { samples.append($0) }
        func bitsPerSecond(_ range: Range<Int>) -> Double {
            let bytes = samples[range].reduce(0) { $0 + $1.data.count }
            return Double(bytes * 8) / (Double(range.count) / 30)
        }
        let before = bitsPerSecond(15..<60)
        let after = bitsPerSecond(90..<180)
        #expect(abs(before - 4e6) < 1e6, "\(before) bit/s")
        #expect(abs(after - 1e6) < 0.3e6, "\(after) bit/s")
        // The stream continues without keyframes outside the interval.
        let keyframes = samples.indices.filter { samples[$0].flags.contains(.keyframe) }
        #expect(keyframes == [0, 60, 120])
    }

    @Test func `a bitrate beyond the level is not changed in place`() throws {
        var encoder = try VideoEncoder(Self.settings(bitrate: 500_000))
        let fast = VideoRate(average: 2_000_000, maximum: 3_000_000, bufferBits: 3_000_000)
        let isInPlace = encoder.change(to: fast)
        let bitrate = encoder.settings.bitrate
        #expect(!isInPlace && bitrate == 500_000)
    }
}
