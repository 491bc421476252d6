import Archive
import Glibc
import Library
import Media
import ObjectStore
import Recordings
import Synchronization
import Testing
import TestRecordings

/// Recordings in a bucket give the same answers as a directory, with few bytes read.
@Suite struct ObjectSegmentStoreTests {
    private let bucket = MemoryBucket()
    private let clock = Clock()
    private static let second: Int64 = 1_000_000_000

    /// A stopped clock that records pauses.
    private final class Clock: Sendable {
        let now = Mutex<Int64>(0)
        let pauses = Mutex<[Int64]>([])
    }

    private func store(cacheBytes: Int = 64 << 20) -> ObjectSegmentStore {
        ObjectSegmentStore(
            bucket, cacheBytes: cacheBytes,
            monotonicNow: { [clock] in clock.now.withLock { $0 } },
            pause: { [clock] nanoseconds in clock.pauses.withLock { $0.append(nanoseconds) } })
    }

    private func library(_ store: ObjectSegmentStore) throws -> RecordingLibrary {
        try RecordingLibrary(ArchiveReference(bucket: store)) { Issue.record("\($0)") }
    }

    private func samples(
        _ session: RecordedSession, from: Int64? = nil, to: Int64? = nil
    ) throws -> [RecordedSample] {
        var reader = SampleReader(
            try #require(session.source("camera")), from: from, to: to)
        var samples: [RecordedSample] = []
        while let sample = try reader.next() { samples.append(sample) }
        return samples
    }

    @Test func `a bucket lists, reads and verifies as its directory`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try bucket.add(recorded.layout)
        let library = try library(store())
        let local = try RecordingLibrary(recorded.layout.root) { _ in }
        #expect(try library.sessionNames() == [WrittenSession.name])
        #expect(
            try library.sessions().map {
                [$0.session, $0.state, "\($0.segments)", "\($0.sizeBytes)"]
            }
                == (try local.sessions()).map {
                    [$0.session, $0.state, "\($0.segments)", "\($0.sizeBytes)"]
                })
        #expect(
            try library.segments(of: WrittenSession.name).map(\.start)
                == (try local.segments(of: WrittenSession.name)).map(\.start))
        let here = try samples(local.recording(WrittenSession.name))
        let there = try samples(library.recording(WrittenSession.name))
        #expect(here.map(\.dtsTicks) == there.map(\.dtsTicks))
        #expect(try here.map { try $0.read() } == (try there.map { try $0.read() }))
        let report = try library.verification(of: WrittenSession.name)
        let expected = try local.verification(of: WrittenSession.name)
        #expect(report.isIntact == expected.isIntact)
        let areIntact = report.sources.flatMap(\.files).allSatisfy(\.isIntact)
        #expect(areIntact)
        #expect(report.sources.map(\.recordedSamples) == expected.sources.map(\.recordedSamples))
    }

    /// SeaweedFS keeps the folder of a removed session, and a prefix may have objects of others.
    @Test func `a prefix without files of a session is not listed, at no further request`() throws {
        let recorded = try WrittenSession(segments: 1) { _ in 0 }
        try bucket.add(recorded.layout)
        let before = bucket.traffic.requests
        let listed = try library(store()).sessions()
        let requests = bucket.traffic.requests - before
        bucket.add([1], at: "0backup/readme.txt")
        bucket.add([1], at: "0backup/old/readme.txt")
        bucket.add([], at: "empty/")
        let library = try library(store())
        let begin = bucket.traffic.requests
        #expect(try library.sessions().map(\.session) == listed.map(\.session))
        // Their own listings.
        #expect(bucket.traffic.requests - begin == requests + 2)
        #expect(
            try library.sessionNames().filter { try library.isSession($0) } == [WrittenSession.name]
        )
        // Media without a description is damage.
        let name = try #require(recorded.paths.first?.split(separator: "/").last)
        bucket.add([1], at: "lost/camera/\(name)")
        #expect(try self.library(store()).sessions().map(\.state).contains("unreadable"))
    }

    @Test func `damage in a bucket is distinguished from an unreachable store`() throws {
        let recorded = try WrittenSession(segments: 1) { _ in 0 }
        try bucket.add(recorded.layout)
        let path = try #require(
            try recorded.layout.segmentPaths(WrittenSession.name, "camera").first)
        var bytes = try FileSystem.read(path, limit: 1 << 20)
        bytes[bytes.count / 2] ^= 1
        let name = try #require(path.split(separator: "/").last)
        bucket.add(bytes, at: "\(WrittenSession.name)/camera/\(name)")
        let report = try library(store()).verification(of: WrittenSession.name)
        let areIntact = report.sources.flatMap(\.files).allSatisfy(\.isIntact)
        #expect(!areIntact)
        // Listed, then unreachable.
        let broken = try library(store())
        _ = try broken.recording(WrittenSession.name)
        bucket.fail([ObjectStoreError.Kind](repeating: .denied, count: 100))
        #expect(throws: ArchiveError.self) { try broken.verification(of: WrittenSession.name) }
    }

    @Test func `a session's objects are listed together, and cached for some seconds`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 3)
        try bucket.add(archive.layout)
        bucket.setPageSize(2)
        let library = try library(store())
        #expect(try library.segments(SourceKey(session: "one", source: "camera")).count == 3)
        _ = try library.sourceNames("one")
        let before = bucket.traffic.requests
        #expect(try library.segments(SourceKey(session: "one", source: "camera")).count == 3)
        #expect(try library.sourceNames("one") == ["camera"])
        #expect(bucket.traffic.requests == before)
        bucket.add([], at: "one/door/2026-11-20T22-40-00.000Z.mp4")
        #expect(try library.sourceNames("one") == ["camera"])
        clock.now.withLock { $0 += 10 * Self.second }
        #expect(try library.sourceNames("one") == ["camera", "door"])
    }

    @Test func `listings are read again at once where this program has changed the archive`() throws
    {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        try bucket.add(archive.layout)
        let store = store()
        let library = try library(store)
        #expect(try library.sourceNames("one") == ["camera"])
        bucket.add([], at: "one/door/2026-11-20T22-40-00.000Z.mp4")
        store.forgetListings()
        #expect(try library.sourceNames("one") == ["camera", "door"])
    }

    @Test func `files far from a range of time are not opened`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 40)
        try bucket.add(archive.layout)
        let zero = SmallArchive.zero.nanoseconds
        let range = (from: zero + 150 * Self.second, until: zero + 170 * Self.second)
        let library = try library(store())
        let found = try library.segments(of: "one", from: range.from, until: range.until)
        #expect(found.map(\.startNanoseconds) == [150 * Self.second, 160 * Self.second])
        #expect(bucket.traffic.requests < 15)
        // A range selects sessions; their descriptions cover the whole session.
        let sessions = try library.sessions(from: range.from, until: range.until)
        #expect(sessions.map(\.segments) == [40])
        #expect(bucket.traffic.requests < 30)
        #expect(try library.sessions(from: zero + 4_000 * Self.second).isEmpty)
    }

    @Test func `names that no file has are left out`() throws {
        for key in ["one/..", "one/./x.mp4", "one//x.mp4", "one/camera/../y.mp4", "../z"] {
            bucket.add([1], at: key)
        }
        bucket.add([1], at: "one/camera/a.mp4")
        let store = store()
        #expect(try store.list(.session("one")).map(\.name) == ["camera"])
        #expect(try store.list(.sessions).map(\.name) == ["one"])
        #expect(
            try store.list(.source(SourceKey(session: "one", source: "camera"))).map(\.name)
                == ["a.mp4"])
    }

    /// The first packet of sound precedes the first picture.
    @Test(arguments: [false, true])
    func `a clip of a long file costs little more than its bytes`(beginsWithSound: Bool) throws {
        let recorded = try LongRecording(seconds: 400, beginsWithSound: beginsWithSound)
        try bucket.add(recorded.layout)
        let session = try library(store()).recording(LongRecording.session)
        let source = try #require(session.source("camera"))
        let extent = try #require(try source.extent())
        #expect(extent.endNanoseconds == 400 * Self.second)
        let clip = try samples(session, from: 300 * Self.second, to: 320 * Self.second)
        #expect(clip.map(\.ptsNanoseconds) == (300..<320).map { Int64($0) * Self.second })
        for sample in clip { _ = try sample.read() }
        let wanted = 20 * LongRecording.pictureBytes
        #expect(bucket.traffic.readBytes <= wanted * 13 / 10 + 2_000_000)
    }

    @Test(arguments: [0, 3, 7, 31, 32, 59, 60])
    func `a file that is entered by its index gives the same samples`(_ from: Int) throws {
        let recorded = try LongRecording(seconds: 60, keyframeEvery: 8)
        try bucket.add(recorded.layout)
        let there = try library(store()).recording(LongRecording.session)
        let here = try RecordedSession(LongRecording.session, in: recorded.layout)
        let start = Int64(from) * Self.second + 1
        let expected = try samples(here, from: start)
        let found = try samples(there, from: start)
        #expect(found.map(\.ptsTicks) == expected.map(\.ptsTicks))
        #expect(found.map(\.offset) == expected.map(\.offset))
        #expect(found.map(\.isHidden) == expected.map(\.isHidden))
    }

    /// The fragments found by scanning a file.
    private func walked(_ file: RecordedFile) throws -> [FragmentOutline] {
        let main: TrackKind = file.format(.video) == nil ? .audio : .video
        var cursor = try FileCursor(file)
        var outlines: [FragmentOutline] = []
        while let fragment = try cursor.next() {
            let shown = fragment.samples.filter { !$0.isHidden }
            let priming = fragment.samples.allSatisfy { $0.track == .audio && $0.isHidden }
            let hasMain = fragment.samples.contains { $0.track == main }
            outlines.append(
                FragmentOutline(
                    range: fragment.range,
                    mainEndNanoseconds: shown.filter { $0.track == main }.map(\.endNanoseconds)
                        .max(),
                    lastEndNanoseconds: fragment.endNanoseconds,
                    decodableFromNanoseconds: fragment.decodableFromNanoseconds,
                    soundAloneFromNanoseconds: priming
                        ? fragment.samples.last?.endNanoseconds
                        : hasMain ? nil : fragment.startNanoseconds))
        }
        return outlines
    }

    @Test func `an outline from the index equals one from sequential reading`() throws {
        let sessions = [
            try WrittenSession { _ in 0 }, try WrittenSession(reordered: true) { _ in 0 },
            try WrittenSession(primed: true) { _ in 0 },
            try WrittenSession(primedAlone: true) { _ in 0 },
        ]
        for session in sessions {
            for path in try session.layout.segmentPaths(WrittenSession.name, "camera") {
                let file = try RecordedFile(opening: path)
                #expect(try file.outline() == walked(file))
            }
        }
        let long = try LongRecording(seconds: 30, keyframeEvery: 8)
        let path = try #require(
            try long.layout.segmentPaths(LongRecording.session, "camera").first)
        let file = try RecordedFile(opening: path)
        #expect(try file.outline() == walked(file))
        // The index of a retimed file has the times from before.
        _ = try SessionRetimer(WrittenSession.name, in: sessions[0].layout).retime(isDryRun: false)
        let retimed = try RecordedFile(
            opening: sessions[0].layout.segmentPaths(WrittenSession.name, "camera")[0])
        if retimed.revision != 0 { #expect(try retimed.outline() == nil) }
    }

    @Test func `repeated reads are served from a bounded cache`() throws {
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        bucket.add(bytes, at: "one/a.bin")
        let file = StoredPath.session("one") / "a.bin"
        let roomy = try store().open(file)
        #expect(try roomy.read(at: 0, count: 1_000_000) == bytes)
        let once = bucket.traffic.readBytes
        #expect(try roomy.read(at: 123_456, count: 500_000) == Array(bytes[123_456..<623_456]))
        #expect(bucket.traffic.readBytes == once)
        let narrow = try store(cacheBytes: 2 * BlockCache.blockBytes).open(file)
        for _ in 0..<2 { #expect(try narrow.read(at: 0, count: 1_000_000) == bytes) }
        #expect(bucket.traffic.readBytes >= once + 1_900_000)
        #expect(throws: ArchiveError.self) { try roomy.read(at: 999_999, count: 2) }
        #expect(try roomy.read(at: 999_999, count: 1) == [bytes[999_999]])
    }

    @Test func `read-ahead is proportional to sequential reading`() throws {
        bucket.add([UInt8](repeating: 1, count: 16 << 20), at: "one/a.bin")
        let opened = try store().open(.session("one") / "a.bin")
        var offset: Int64 = 0
        while offset < 8 << 20 {
            _ = try opened.read(at: offset, count: 16_384)
            offset += 16_384
            let spare = Int(offset) / 4 + 2 * BlockCache.blockBytes
            #expect(bucket.traffic.readBytes <= Int(offset) + spare)
        }
        #expect(bucket.traffic.requests < 60)
        // Somewhere else: a block.
        let before = bucket.traffic.readBytes
        _ = try opened.read(at: 15 << 20, count: 10)
        #expect(bucket.traffic.readBytes == before + BlockCache.blockBytes)
    }

    @Test func `requests to a busy store are repeated a few times`() throws {
        bucket.add([1, 2, 3], at: "one/a.bin")
        bucket.fail([.busy, .unreachable])
        let opened = try store().open(.session("one") / "a.bin")
        #expect(clock.pauses.withLock { $0.count } == 2)
        bucket.fail([.busy, .busy, .busy, .busy])
        let error = #expect(throws: ArchiveError.self) { try opened.read(at: 0, count: 3) }
        #expect(error?.isForStore == true)
        #expect(opened.failure == error)
        // Denied requests are not repeated.
        let pauses = clock.pauses.withLock { $0.count }
        bucket.fail([.denied])
        #expect(throws: ArchiveError.self) { try opened.read(at: 0, count: 3) }
        #expect(clock.pauses.withLock { $0.count } == pauses)
    }

    @Test func `a parser's error has the store's reason`() throws {
        let recorded = try LongRecording(seconds: 20)
        try bucket.add(recorded.layout)
        let session = try library(store(cacheBytes: 1)).recording(LongRecording.session)
        let source = try #require(session.source("camera"))
        var cursor = try FileCursor(try #require(source.files.first).opened())
        bucket.fail([ObjectStoreError.Kind](repeating: .denied, count: 100))
        let error = #expect(throws: ArchiveError.self) { while try cursor.next() != nil {} }
        #expect(error?.reason.contains("the store is denied") == true)
    }

    @Test func `an object that is replaced is not read further`() throws {
        bucket.add([UInt8](repeating: 1, count: 200_000), at: "one/a.bin")
        let opened = try store().open(.session("one") / "a.bin")
        #expect(try opened.read(at: 0, count: 1) == [1])
        bucket.add([UInt8](repeating: 2, count: 200_000), at: "one/a.bin")
        let error = #expect(throws: ArchiveError.self) { try opened.read(at: 150_000, count: 1) }
        #expect(error?.reason.contains("was replaced") == true)
    }

    @Test func `an object that was put can be listed, read and deleted`() throws {
        let store = store()
        let file = StoredPath.session("one") / "notes.json"
        #expect(try store.list(.session("one")).isEmpty)
        try store.put([1, 2], at: file)
        #expect(try store.list(.session("one")).map(\.name) == ["notes.json"])
        #expect(try store.contents(file, limit: 2) == [1, 2])
        try store.delete(file)
        #expect(
            throws: ArchiveError.system(
                operation: "open", path: "s3://bucket/prefix/one/notes.json", errno: ENOENT)
        ) { try store.open(file) }
    }

    @Test func `a command that needs local files states how to get them`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 2)
        try bucket.add(archive.layout)
        #expect(throws: LibraryError.self) {
            try library(store()).files(of: "one", to: "retime a session")
        }
        let layered = try RecordingLibrary(
            ArchiveReference(directory: archive.layout.root, bucket: store())
        ) { _ in }
        #expect(try layered.files(of: "one", to: "x").root == archive.layout.root)
        unlink(try archive.layout.segmentPaths("one", "camera")[0])
        #expect(throws: LibraryError.hasMoved("one", what: "x")) {
            try layered.files(of: "one", to: "x")
        }
    }
}
