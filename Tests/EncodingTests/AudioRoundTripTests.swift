import Devices
import Media
import Testing

@testable import Encoding

/// The test sound through the encoder and back through the decoder.
@Suite struct AudioRoundTripTests {
    /// Decoded sound: samples of the first channel from `start`.
    private struct Decoded {
        var start: Int64?
        var samples: [Float] = []

        /// The time of the first loud sample in this second.
        func onset(inSecond second: Int64, rate: Int) -> Int64? {
            guard let start else { return nil }
            let from = Int((second - 100_000_000 - start) * Int64(rate) / 1_000_000_000)
            guard from >= 0, from < samples.count else { return nil }
            guard let index = samples[from...].firstIndex(where: { abs($0) > 0.1 }) else {
                return nil
            }
            return start + Int64(index) * 1_000_000_000 / Int64(rate)
        }
    }

    private func decode(_ format: AudioFormat, _ samples: [EncodedSample]) throws -> Decoded {
        var decoder = try AudioDecoder(SampleReader.track(format))
        var decoded = Decoded()
        for sample in samples {
            try decoder.decode(SampleReader.packet(sample)) { sound in
                if decoded.start == nil { decoded.start = sound.captureNanoseconds }
                let plane = sound.planes[0].assumingMemoryBound(to: Float.self)
                decoded.samples += UnsafeBufferPointer(start: plane, count: sound.frameCount)
            }
        }
        return decoded
    }

    private func encode(
        seconds: Int, start: Int64, _ settings: AudioEncoderSettings, sourceRate: Int = 48_000,
        channels: Int = 2
    ) throws -> (format: AudioFormat, samples: [EncodedSample]) {
        var encoder = try AudioEncoder(settings)
        var sound = TestAudio(
            sampleRate: sourceRate, channels: channels, startNanoseconds: start)
        var samples: [EncodedSample] = []
        var left = seconds * sourceRate
        while left > 0 {
            // Deliberately not a packet's size.
            let part = sound.next(min(left, 700))
            try encoder.encode(part) { samples.append($0) }
            left -= part.frameCount
        }
        try encoder.finish { samples.append($0) }
        return (encoder.format, samples)
    }

    @Test(arguments: [0, 77_123_456_789])
    func `beeps are at whole seconds within a millisecond after encoding`(start: Int64) throws {
        let (format, samples) = try encode(
            seconds: 4, start: start, AudioEncoderSettings(sampleRate: 48_000, channels: 2))
        #expect(samples.first?.flags.contains(.priming) == true)
        let decoded = try decode(format, samples)
        for index in 1...3 as ClosedRange<Int64> {
            let second = (start / 1_000_000_000 + index) * 1_000_000_000
            let onset = try #require(decoded.onset(inSecond: second, rate: 48_000))
            #expect(abs(onset - second) < 1_000_000, "off by \(onset - second) ns")
        }
    }

    @Test(arguments: [(44_100, 48_000, 1, 2), (16_000, 44_100, 2, 1), (48_000, 16_000, 2, 2)])
    func `resampled sound stays where it was captured`(
        sourceRate: Int, rate: Int, sourceChannels: Int, channels: Int
    ) throws {
        let (format, samples) = try encode(
            seconds: 3, start: 5_500_000_000,
            AudioEncoderSettings(sampleRate: rate, channels: channels), sourceRate: sourceRate,
            channels: sourceChannels)
        #expect(format.sampleRate == UInt32(rate) && format.channels == UInt32(channels))
        let decoded = try decode(format, samples)
        for second in [6_000_000_000, 7_000_000_000, 8_000_000_000] as [Int64] {
            let onset = try #require(decoded.onset(inSecond: second, rate: rate))
            #expect(abs(onset - second) < 1_000_000, "off by \(onset - second) ns")
        }
        let captured = samples.filter { !$0.flags.contains(.priming) }
        let end = captured.last.map { $0.ptsNanoseconds + $0.durationNanoseconds }
        #expect(abs((end ?? 0) - 8_500_000_000) < 1_000_000)
    }

    @Test func `packet k begins at k times 1024 frames after the first captured one`() throws {
        let start: Int64 = 1_234_567_891
        let (_, samples) = try encode(
            seconds: 2, start: start, AudioEncoderSettings(sampleRate: 48_000, channels: 1))
        for (k, sample) in samples.enumerated() {
            let exact = Double((k - 1) * 1024) * 1e9 / 48_000
            #expect(abs(Double(sample.ptsNanoseconds - start) - exact) <= 0.5)
            #expect(sample.dtsNanoseconds == sample.ptsNanoseconds)
            #expect(sample.flags.contains(.priming) == (k == 0))
        }
        let captured = samples.dropFirst()
        #expect(captured.first?.ptsNanoseconds == start)
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 2_000_000_000)
        // 96000 frames and the delay of 1024, in packets of 1024.
        #expect(samples.count == 95)
    }

    @Test func `a gap is filled with silence, and later audio keeps its time`() throws {
        var encoder = try AudioEncoder(AudioEncoderSettings(sampleRate: 48_000, channels: 1))
        var samples: [EncodedSample] = []
        for start in [0, 1_500_000_000] as [Int64] {
            var sound = TestAudio(sampleRate: 48_000, channels: 1, startNanoseconds: start)
            try encoder.encode(sound.next(48_000)) { samples.append($0) }
        }
        try encoder.finish { samples.append($0) }
        let captured = samples.filter { !$0.flags.contains(.priming) }
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 2_500_000_000)
        let onset = try decode(encoder.format, samples).onset(
            inSecond: 2_000_000_000, rate: 48_000)
        #expect(abs((onset ?? 0) - 2_000_000_000) < 1_000_000)
    }

    @Test func `audio after 29 s of silence keeps its time`() throws {
        var encoder = try AudioEncoder(AudioEncoderSettings(sampleRate: 48_000, channels: 2))
        var samples: [EncodedSample] = []
        var sound = TestAudio(sampleRate: 48_000, channels: 2, startNanoseconds: 0)
        try encoder.encode(sound.next(48_000)) { samples.append($0) }
        // 29 seconds are missing.
        _ = sound.next(29 * 48_000)
        for _ in 0..<100 { try encoder.encode(sound.next(960)) { samples.append($0) } }
        try encoder.finish { samples.append($0) }
        #expect(samples.count == 1 + (32 * 48_000 + 1_023) / 1_024)
        for (index, sample) in samples.enumerated() {
            #expect(sample.ptsNanoseconds / 1_000 == Int64(index - 1) * 64_000 / 3)
        }
        let silent = samples.dropFirst(60).prefix(1_300).map(\.data)
        #expect(Set(silent).count == 1)
        let decoded = try decode(encoder.format, samples)
        let onset = try #require(decoded.onset(inSecond: 31_000_000_000, rate: 48_000))
        #expect(abs(onset - 31_000_000_000) < 1_000_000, "off by \(onset - 31_000_000_000) ns")
        let start = try #require(decoded.start)
        let quiet = decoded.samples[Int((2_000_000_000 - start) * 48 / 1_000_000)...].prefix(
            27 * 48_000)
        #expect(quiet.allSatisfy { abs($0) < 1e-4 })
    }

    @Test func `repeated silent packets are reused until the next audio`() {
        var quiet = QuietStretch()
        func encode(_ isQuiet: Bool, _ packet: [UInt8]) {
            quiet.willEncode(isQuiet: isQuiet)
            quiet.didEncode(packet)
        }
        for _ in 0..<10 { encode(false, [1]) }
        #expect(quiet.packet == nil)
        for packet in [[1], [2], [3], [3], [3]] as [[UInt8]] { encode(true, packet) }
        #expect(quiet.packet == nil)
        encode(true, [3])
        #expect(quiet.packet == [3])
        encode(false, [3])
        #expect(quiet.packet == nil)
    }

    @Test func `an overlap is cut`() throws {
        var encoder = try AudioEncoder(AudioEncoderSettings(sampleRate: 48_000, channels: 1))
        var samples: [EncodedSample] = []
        for start in [0, 500_000_000] as [Int64] {
            var sound = TestAudio(sampleRate: 48_000, channels: 1, startNanoseconds: start)
            try encoder.encode(sound.next(48_000)) { samples.append($0) }
        }
        try encoder.finish { samples.append($0) }
        let captured = samples.filter { !$0.flags.contains(.priming) }
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 1_500_000_000)
    }

    @Test func `a sample rate that AAC does not support is refused`() {
        #expect(throws: EncodingError.self) {
            _ = try AudioEncoder(AudioEncoderSettings(sampleRate: 47_999, channels: 2))
        }
    }
}
