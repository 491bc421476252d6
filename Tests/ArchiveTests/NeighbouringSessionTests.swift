import Media
import Archive
import Testing

private typealias Scene = RecoveryScene

/// Records that are on either side of a session's end.
@Suite struct NeighbouringSessionTests {
    @Test
    func `a hole at a crash is in the ledger, and the records after it are known`() throws {
        let scene = try Scene()
        try scene.writeManifest { $0.end = .init(reason: .stopped, at: Scene.zero) }
        // Records 11 to 20 had not reached the disk.
        try scene.write(segment: 0, fragments: 0..<1, finished: true)
        try scene.write(segment: 1, fragments: 10..<11, finished: false, first: 21)
        for _ in 1...2 {
            let archive = try scene.recover()
            #expect(scene.watermark(archive) == 10 && archive.session == nil)
            #expect(archive.spools["camera"]?.first?.sequences.ranges == [1...10, 21...30])
            let later = try Ledger.read(scene.layout.ledger(scene.session, "camera")).entries
                .filter { $0.kind == .later }
            #expect(later.map(\.firstSequence) == [11] && later.map(\.lastSequence) == [20])
            let report = try SessionVerifier.verify(scene.session, in: scene.layout)
            #expect(report.findings == [] && report.isIntact)
        }
    }

    @Test func `a resumed session states the numbers that an earlier session has`() throws {
        let scene = try Scene()
        let earlier = UTCTime(nanoseconds: Scene.zero.nanoseconds - 60_000_000_000)
        try FileSystem.makeDirectories(scene.layout.source(earlier.fileName, "camera"))
        var manifest = SessionManifest(
            session: earlier.fileName, zero: earlier, zeroMonotonicNanoseconds: 5_000,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: 10_000_000_000, software: "test")
        manifest.sources = [
            .init(name: "camera", agent: "box", address: "here", tracks: [], isComplete: false)
        ]
        var known = SequenceSet(upTo: 10)
        known.insert(21...30)
        known.insert(41...44)
        manifest.sources[0].spools = [.init(spool: Scene.spool.description, sequences: known)]
        manifest.state = .finished
        try FileSystem.replace(
            scene.layout.manifest(earlier.fileName), with: manifest.encoded())
        // This session has 11 to 20 and 31 to 40.
        try scene.writeManifest()
        try scene.write(segment: 1, fragments: 10..<11, finished: true, first: 11)
        try scene.write(segment: 3, fragments: 30..<31, finished: false, first: 31)
        for _ in 1...2 {
            let archive = try scene.recover()
            #expect(scene.watermark(archive) == 44)
            let lines = try Ledger.read(scene.layout.ledger(scene.session, "camera")).entries
                .filter { $0.kind == .earlier }
            #expect(
                lines.map(\.firstSequence) == [21, 41] && lines.map(\.lastSequence) == [30, 44])
            let report = try SessionVerifier.verify(scene.session, in: scene.layout)
            #expect(report.findings == [] && report.isIntact)
        }
    }
}
