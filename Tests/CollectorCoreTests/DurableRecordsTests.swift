import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

@Suite struct DurableRecordsTests {
    private let spool = SpoolID(high: 1, low: 1)

    private func insert(
        _ ranges: [ClosedRange<UInt64>], _ durable: inout DurableRecords, spool: SpoolID? = nil
    ) -> UInt64? {
        durable.insert(
            PersistedRecords(source: "camera", spool: spool ?? self.spool, sequences: ranges))
    }

    private func samples(_ first: UInt64, count: Int) -> Samples {
        Samples(
            source: 0, firstSequence: first, epoch: 1, payloadDigest: [],
            runs: [
                SampleRun(
                    track: .video, sizes: [UInt32](repeating: 10, count: count),
                    dtsNanoseconds: (0..<count).map { Int64($0) }, ptsOffsetsNanoseconds: [],
                    durationsNanoseconds: [1], flags: [.keyframe])
            ])
    }

    @Test func `an agent may release all records before the first hole`() {
        var durable = DurableRecords()
        #expect(durable.persisted(source: "camera", spool: spool) == 0)
        #expect(insert([2...3], &durable) == nil)
        #expect(durable.persisted(source: "camera", spool: spool) == 0)
        #expect(insert([1...1], &durable) == 3)
        #expect(durable.persisted(source: "camera", spool: spool) == 3)
        // It has no effect on another spool or source.
        #expect(durable.persisted(source: "camera", spool: SpoolID(high: 2, low: 2)) == 0)
        #expect(durable.persisted(source: "other", spool: spool) == 0)
        // Repeated records change nothing.
        #expect(insert([1...3], &durable) == nil)
    }

    @Test func `records that another collector holds are not reported as being here`() {
        var durable = DurableRecords()
        durable.begin(source: "camera", spool: spool, received: 100, missing: 1...100)
        durable.note(absent: 1...100, source: "camera", spool: spool)
        #expect(durable.held.isEmpty)
        #expect(insert([101...150], &durable) == 150)
        #expect(durable.held.map(\.durable.ranges) == [[101...150]])
        // Afterwards the ledger says so.
        var recorded = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 150))
        recorded.held.insert(1...90)
        durable = DurableRecords(["camera": [recorded]])
        #expect(durable.held.map(\.durable.ranges) == [[91...150]])
        #expect(durable.persisted(source: "camera", spool: spool) == 150)
        recorded.held.insert(91...95)
        durable.restart("camera", recorded: [recorded])
        #expect(durable.held.map(\.durable.ranges) == [[96...150]])
    }

    @Test
    func `an agent may release what is durable and stored, up to the first hole`() {
        func released(_ durable: DurableRecords, keptFrom: UInt64 = 1) -> UInt64? {
            durable.released(source: "camera", spool: spool, keptFrom: keptFrom)
        }
        func stored(_ ranges: ClosedRange<UInt64>..., in durable: inout DurableRecords) -> Bool {
            var records = SequenceSet()
            for range in ranges { records.insert(range) }
            return durable.insertStored(records, source: "camera", spool: spool)
        }
        var durable = DurableRecords(policy: .stored)
        #expect(released(durable) == 0)
        // Records of an unknown spool are ignored.
        #expect(!stored(1...4, in: &durable))
        #expect(insert([1...9], &durable) == 9)
        #expect(released(durable) == 0)
        #expect(stored(1...4, 7...8, in: &durable))
        #expect(released(durable) == 4)
        #expect(!stored(2...3, in: &durable))
        #expect(stored(5...6, in: &durable))
        #expect(released(durable) == 8)
        // Records stored before they are durable here, after a rescue, wait.
        #expect(stored(9...20, in: &durable))
        #expect(released(durable) == 9)
        #expect(durable.stored(source: "camera", spool: spool) == 20)
        // Without a store, there is no second watermark.
        #expect(DurableRecords().released(source: "camera", spool: spool, keptFrom: 1) == nil)
    }

    @Test func `holes in the store among records that no agent keeps do not matter`() {
        let recorded = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 30))
        var durable = DurableRecords(["camera": [recorded]], policy: .stored)
        var stored = SequenceSet()
        stored.insert(12...20)
        _ = durable.insertStored(stored, source: "camera", spool: spool)
        #expect(durable.released(source: "camera", spool: spool, keptFrom: 1) == 0)
        #expect(durable.released(source: "camera", spool: spool, keptFrom: 12) == 20)
        #expect(durable.released(source: "camera", spool: spool, keptFrom: 31) == 30)
        // But it is not reported as stored.
        #expect(durable.stored(source: "camera", spool: spool) == 0)
    }

    @Test func `all unreleased spools are remembered`() {
        var durable = DurableRecords(policy: .stored)
        let spools = (1...30).map { SpoolID(high: 9, low: $0) }
        for spool in spools {
            durable.begin(source: "camera", spool: spool, received: 0)
            _ = insert([1...5], &durable, spool: spool)
        }
        for spool in spools {
            // A reconnecting box is asked to keep it but need not send it again.
            durable.begin(source: "camera", spool: spool, received: 5)
            #expect(durable.persisted(source: "camera", spool: spool) == 5)
            #expect(durable.released(source: "camera", spool: spool, keptFrom: 1) == 0)
        }
        for spool in spools {
            _ = durable.insertStored(SequenceSet(upTo: 5), source: "camera", spool: spool)
        }
        durable.begin(source: "camera", spool: spool, received: 0)
        #expect(durable.persisted(source: "camera", spool: spools[0]) == 0)
        #expect(durable.persisted(source: "camera", spool: spools[29]) == 5)
    }

    @Test func `a forgotten spool is not released because its end is remembered`() {
        var durable = DurableRecords(policy: .stored)
        durable.begin(source: "camera", spool: spool, received: 7)
        #expect(durable.persisted(source: "camera", spool: spool) == 7)
        #expect(durable.released(source: "camera", spool: spool, keptFrom: 1) == 0)
        // Records that the box no longer has are not awaited.
        let other = SpoolID(high: 2, low: 2)
        durable.begin(source: "camera", spool: other, received: 7, missing: 1...7)
        #expect(durable.released(source: "camera", spool: other, keptFrom: 8) == 7)
        #expect(durable.stored(source: "camera", spool: other) == 7)
    }

    @Test func `the store need not have lost records, but those on disk`() {
        var durable = DurableRecords(policy: .stored)
        durable.begin(source: "camera", spool: spool, received: 0)
        _ = insert([3...4], &durable)
        let records = PersistedRecords(source: "camera", spool: spool, sequences: [1...6])
        let isNew = durable.forgo(records)
        #expect(isNew)
        _ = durable.insert(records)
        #expect(durable.released(source: "camera", spool: spool, keptFrom: 1) == 2)
        let isNewAgain = durable.forgo(records)
        #expect(!isNewAgain)
    }

    @Test func `a durable goodbye is remembered as long as its spool`() {
        var durable = DurableRecords(policy: .stored)
        durable.begin(source: "camera", spool: spool, received: 0)
        durable.noteGoodbye(4, source: "camera", spool: spool)
        _ = insert([1...3], &durable)
        #expect(durable.archived(source: "camera", spool: spool).goodbye == nil)
        _ = insert([4...4], &durable)
        #expect(durable.archived(source: "camera", spool: spool).goodbye == 4)
    }

    @Test func `the latest spools and those of the archive are remembered`() {
        let recorded = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 5))
        var durable = DurableRecords(["camera": [recorded]])
        for number in 10..<30 as Range<UInt64> {
            _ = insert([1...number], &durable, spool: SpoolID(high: number, low: 0))
        }
        #expect(durable.persisted(source: "camera", spool: spool) == 5)
        #expect(durable.persisted(source: "camera", spool: SpoolID(high: 29, low: 0)) == 29)
        #expect(durable.persisted(source: "camera", spool: SpoolID(high: 10, low: 0)) == 0)
    }

    @Test func `only the missing records of a repeated message are recorded`() {
        var sequences = SequenceSet(upTo: 4)
        sequences.insert(6...7)
        var durable = DurableRecords(
            ["camera": [RecordedSpool(spool: spool, sequences: sequences)]])
        guard
            case .partlyKnown(let parts, let known) = durable.judge(
                samples(3, count: 6), of: "camera", spool: spool)
        else {
            Issue.record("taken for new")
            return
        }
        #expect(parts.map(\.0.firstSequence) == [5, 8])
        #expect(parts.map(\.1.offsetBytes) == [20, 50])
        #expect(known.samples == 4)
        #expect(durable.missing(4...9, of: "camera", spool: spool) == [5...5, 8...9])
        // Records after all recovered ones need no lookup.
        _ = durable.judge(samples(9, count: 1), of: "camera", spool: spool)
        guard case .new = durable.judge(samples(10, count: 1), of: "camera", spool: spool) else {
            Issue.record("still looked up")
            return
        }
        #expect(durable.archivedSpools(of: "camera").isEmpty)
    }

    @Test func `records of earlier sessions are reported once in each session`() {
        var durable = DurableRecords(
            ["camera": [RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 4))]])
        #expect(durable.takeUnreported(3...6, of: "camera", spool: spool) == [3...4])
        #expect(durable.takeUnreported(3...6, of: "camera", spool: spool).isEmpty)
        durable.sessionEnded()
        #expect(durable.takeUnreported(1...4, of: "camera", spool: spool) == [1...4])
    }

    @Test func `records that were written off are not missing after a restart of the source`() {
        var durable = DurableRecords()
        _ = insert([1...4], &durable)
        durable.writeOff(5...6, of: "camera", spool: spool)
        // No ledger records it yet, so the agent keeps it.
        #expect(durable.persisted(source: "camera", spool: spool) == 4)
        durable.restart(
            "camera", recorded: [RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 3))])
        #expect(durable.persisted(source: "camera", spool: spool) == 4)
        #expect(durable.missing(1...8, of: "camera", spool: spool) == [7...8])
    }

    @Test func `a goodbye on disk is reported to the protocol`() {
        let recorded = RecordedSpool(
            spool: spool, sequences: SequenceSet(upTo: 9), goodbye: 9)
        let durable = DurableRecords(["camera": [recorded]])
        let archived = durable.archived(source: "camera", spool: spool)
        #expect(archived == ArchivedRecords(persisted: 9, goodbye: 9))
        let early = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: 7), goodbye: 9)
        #expect(
            DurableRecords(["camera": [early]]).archived(source: "camera", spool: spool).goodbye
                == nil)
    }
}
