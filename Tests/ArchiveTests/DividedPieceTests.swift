import Media
import Testing

@testable import Archive

@Suite struct DividedPieceTests {
    @Test func `camera stamps stay with their samples when a message is divided`() throws {
        let samples = (0..<10).map { index in
            PlannedSample(
                sizeBytes: 2, dts: index * 1_024, pts: index * 1_024, duration: 1_024,
                flags: .keyframe, agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
        }
        let stamps = (0..<10 as Range<UInt32>).map {
            CameraStamp(
                timestamp: $0, arrivalNanoseconds: 0, arrivalSpanNanoseconds: 0, firstPacket: 0,
                packets: 1)
        }
        let report = CameraReport(source: 1, ntp: 2, timestamp: 3, arrivalNanoseconds: 4)
        let piece = PlannedPiece([
            PlannedRun(
                track: .audio, firstSequence: 1, samples: samples,
                camera: CameraStamps(clockRate: 48_000, stamps: stamps, reports: [report]))
        ])
        let parts = piece.divided { _, sample in sample.dts >= 4 * 1_024 }
        let before = try #require(parts.before.first?.runs.first?.camera)
        let after = try #require(parts.after.first?.runs.first?.camera)
        #expect(before.stamps.map(\.timestamp) == Array(0..<4) && before.reports == [report])
        #expect(after.stamps.map(\.timestamp) == Array(4..<10) && after.reports.isEmpty)
    }
}
