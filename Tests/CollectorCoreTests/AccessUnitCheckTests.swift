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

    @Test func `a NAL unit past its sample is named by its record`() {
        #expect(
            flaw([0, 0, 0, 1, 9, 0, 0, 0, 9, 1], sizes: [5, 5])?.hasPrefix("record 6") == true)
        #expect(flaw([0, 0, 0, 0], sizes: [4]) != nil)
        #expect(flaw([0, 0, 0], sizes: [3]) != nil)
        #expect(flaw([0xFF, 0xFF, 0xFF, 0xFF, 1], sizes: [5]) != nil)
    }

    @Test func `sound is not taken for NAL units`() {
        #expect(flaw([0xFF, 0xFF, 0xFF, 0xFF, 1], sizes: [5], track: .audio) == nil)
    }
}
