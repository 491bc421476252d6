import Media
import Testing
import Wire

@testable import CollectorCore

@Suite struct AccessUnitCheckTests {
    private func flaw(_ bytes: [UInt8], sizes: [UInt32], track: TrackKind = .video) -> String? {
        let samples = Samples(
            source: 0, firstSequence: 5, epoch: 1,
            payloadDigest: [UInt8](repeating: 0, count: 32),
            runs: [
                SampleRun(
                    track: track, sizes: sizes,
                    dtsNanoseconds: sizes.indices.map { Int64($0) }, ptsOffsetsNanoseconds: [],
                    durationsNanoseconds: [1], flags: [.keyframe])
            ])
        return bytes.withUnsafeBytes { AccessUnitCheck.flaw(in: samples, payload: $0) }
    }

    @Test func `whole access units pass`() {
        #expect(
            flaw([0, 0, 0, 2, 0x65, 1, 0, 0, 0, 1, 0x41, 0, 0, 0, 1, 9], sizes: [11, 5]) == nil)
    }

    @Test func `a NAL unit beyond its sample is reported with its record`() {
        #expect(
            flaw([0, 0, 0, 1, 9, 0, 0, 0, 9, 1], sizes: [5, 5])?.hasPrefix("record 6") == true)
        #expect(flaw([0, 0, 0, 0], sizes: [4]) != nil)
        #expect(flaw([0, 0, 0], sizes: [3]) != nil)
        #expect(flaw([0xFF, 0xFF, 0xFF, 0xFF, 1], sizes: [5]) != nil)
    }

    @Test func `a keyframe flag that contradicts the bitstream is cleared`() {
        func flags(_ bytes: [UInt8], _ told: SampleFlags) -> SampleFlags {
            let samples = Samples(
                source: 0, firstSequence: 5, epoch: 1,
                payloadDigest: [UInt8](repeating: 0, count: 32),
                runs: [
                    SampleRun(
                        track: .video, sizes: [UInt32(bytes.count)], dtsNanoseconds: [0],
                        ptsOffsetsNanoseconds: [], durationsNanoseconds: [1], flags: [told])
                ])
            return bytes.withUnsafeBytes {
                AccessUnitCheck.withTrueKeyframes(samples, payload: $0, codec: .h264).runs[0].flags[
                    0]
            }
        }
        let inter: [UInt8] = [0, 0, 0, 2, 0x41, 0x9A]  // a P slice
        let intra: [UInt8] = [0, 0, 0, 3, 0x41, 0x88, 0x80]  // an I slice
        let point: [UInt8] = [0, 0, 0, 5, 6, 6, 1, 0xC4, 0x80]  // recovery_frame_cnt 0
        let gradual: [UInt8] = [0, 0, 0, 5, 6, 6, 1, 0x64, 0x80]  // recovery_frame_cnt 2
        #expect(flags([0, 0, 0, 2, 0x65, 0x88], .keyframe) == .keyframe)
        #expect(flags(point + intra, .keyframe) == .keyframe)
        #expect(flags(intra, .keyframe) == [])
        #expect(flags(inter, .keyframe) == [])
        #expect(flags(point + inter, .keyframe) == [])
        #expect(flags(gradual + inter, .keyframe) == [])
        #expect(flags(gradual + inter, [.keyframe, .priming]) == [.keyframe, .priming])
    }

    @Test func `audio is not parsed as NAL units`() {
        #expect(flaw([0xFF, 0xFF, 0xFF, 0xFF, 1], sizes: [5], track: .audio) == nil)
    }
}
