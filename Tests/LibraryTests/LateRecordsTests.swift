import Archive
import Media
import Testing

@testable import Recordings

/// Records at the boundaries of segments, in several archives.
@Suite struct LateRecordsTests {
    private static let spool = SpoolID(high: 1, low: 1)

    private func file(_ name: String) -> MergeMemory.FileState {
        MergeMemory.FileState(path: name, sizeBytes: 1, modifiedNanoseconds: nil)
    }

    private func part(
        _ records: ClosedRange<UInt64>, _ name: String, _ segment: Int,
        track: TrackKind = .video, spool: SpoolID = spool
    ) -> LateRecords.Part {
        LateRecords.Part(
            spool: spool, track: track, records: records, file: file(name), segment: segment)
    }

    private func ranges(
        _ late: LateRecords, _ name: String, to segment: Int? = nil
    ) -> [ClosedRange<UInt64>] {
        late.moved(from: file(name), to: segment)[Self.spool]?.ranges ?? []
    }

    @Test func `a record is read with the segment of an earlier one`() {
        let late = LateRecords([
            part(1...10, "east 0", 0), part(16...20, "east 0", 0), part(11...15, "west 1", 1),
            part(21...30, "west 1", 1), part(41...45, "west 1", 1), part(31...40, "east 2", 2),
            part(46...50, "east 2", 2),
        ])
        #expect(ranges(late, "east 0") == [16...20])
        #expect(ranges(late, "east 0", to: 1) == [16...20])
        #expect(ranges(late, "east 0", to: 2) == [])
        #expect(ranges(late, "west 1", to: 2) == [41...45])
        #expect(ranges(late, "west 1", to: 1) == [])
        #expect(ranges(late, "east 2") == [])
    }

    @Test func `tracks and spools are separate`() {
        // Sound is sent after the picture of its time.
        let late = LateRecords([
            part(1...10, "east 0", 0), part(12...20, "east 1", 1),
            part(21...22, "east 0", 0, track: .audio),
            part(23...24, "east 0", 0, spool: SpoolID(high: 2, low: 2)),
        ])
        #expect(late.moved(from: file("east 0")).isEmpty)
    }
}
