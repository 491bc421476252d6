import Archive
import Glibc
import Media
import MP4
import TestRecordings
import Testing

/// An archive with one session in which one source records, in a directory of its own.
private final class Scene {
    static let zero = UTCTime(nanoseconds: 1_790_000_000_123_000_000)
    static let spool = [UInt8](repeating: 7, count: 16)
    static let format = TrackFormat.h264(
        H264Format(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    let root: String
    let layout: ArchiveLayout
    let session: String

    /// - Parameter suffix: behind the session's name.
    init(suffix: String = "") throws {
        session = Self.zero.fileName + suffix
        var template = Array("/tmp/tributary-test-XXXXXX".utf8CString)
        root = template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, let made = mkdtemp(start) else {
                preconditionFailure("no temporary directory: errno \(errno)")
            }
            return String(cString: made)
        }
        layout = ArchiveLayout(root: root)
        try FileSystem.makeDirectories(layout.source(session, "camera"))
    }

    deinit {
        Self.remove(root)
    }

    private static func remove(_ path: String) {
        for name in (try? FileSystem.names(in: path)) ?? [] {
            let inner = "\(path)/\(name)"
            if FileSystem.isDirectory(inner) { remove(inner) } else { unlink(inner) }
        }
        rmdir(path)
    }

    func writeManifest(_ change: (inout SessionManifest) -> Void = { _ in }) throws {
        var manifest = SessionManifest(
            session: session, zero: Self.zero, zeroMonotonicNanoseconds: 5_000,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: 10_000_000_000, software: "test")
        manifest.sources = [
            .init(name: "camera", agent: "box", address: "here", tracks: [], isComplete: false)
        ]
        change(&manifest)
        try FileSystem.replace(layout.manifest(session), with: manifest.encoded())
    }

    /// Fragments `range` of ten pictures each, one a second, in the segment of that number.
    /// - Parameter first: the first picture's number; none: ten times its fragment's, and one.
    func write(
        segment: Int, fragments range: Range<Int>, finished: Bool, spool: [UInt8] = Scene.spool,
        first: UInt64? = nil
    ) throws {
        let numbers = range.indices.map { index in
            first.map { $0 + UInt64(10 * (index - range.lowerBound)) } ?? UInt64(10 * index + 1)
        }
        try write(
            segment: segment, fragments: range, finished: finished,
            of: numbers.map { (spool, $0) })
    }

    /// - Parameter records: of each fragment, the spool and the first picture's number.
    func write(
        segment: Int, fragments range: Range<Int>, finished: Bool,
        of records: [(spool: [UInt8], first: UInt64)]
    ) throws {
        let origin = Int64(segment) * 10_000_000_000
        let path = path(segment)
        let plan = SegmentPlan(
            originNanoseconds: origin,
            tracks: [
                .init(
                    format: Self.format, originTicks: origin / 1_000_000 * 90, shiftTicks: 0)
            ])
        let writer = try SegmentWriter(path: path, plan: plan, sessionZero: Self.zero)
        for (index, record) in zip(range, records) {
            var fragment = Self.fragment(index)
            fragment.context.spool = record.spool
            fragment.pieces[0].runs[0].firstSequence = record.first
            try writer.append(fragment)
        }
        if finished { try writer.finish() }
    }

    /// Says of a segment that it was last written to some minutes ago.
    func age(segment: Int, minutes: Int) {
        var times = [timespec](repeating: timespec(), count: 2)
        clock_gettime(CLOCK_REALTIME, &times[1])
        times[1].tv_sec -= minutes * 60
        times[0] = times[1]
        #expect(utimensat(AT_FDCWD, path(segment), times, 0) == 0)
    }

    func path(_ segment: Int) -> String {
        let origin = Int64(segment) * 10_000_000_000
        return layout.segment(
            session, "camera", origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin))
    }

    static func fragment(_ index: Int, bytesPerPicture: Int = 25) -> FragmentPlan<ArrayPayload> {
        var bytes: [UInt8] = []
        var samples: [PlannedSample] = []
        for picture in 0..<10 {
            let length = bytesPerPicture - 4
            bytes += [0, 0, UInt8(length >> 8), UInt8(length & 255), picture == 0 ? 0x65 : 0x41]
            bytes += (0..<length - 1).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0) }
            let time = Int64(index * 10 + picture) * 9_000
            samples.append(
                PlannedSample(
                    sizeBytes: UInt32(bytesPerPicture), dts: time, pts: time, duration: 9_000,
                    flags: picture == 0 ? .keyframe : [], agentDTSNanoseconds: time,
                    appliedOffsetNanoseconds: 400))
        }
        let run = PlannedRun(
            track: .video, firstSequence: UInt64(index * 10 + 1), samples: samples)
        let context = FragmentContext(
            spool: spool, epoch: [UInt8](repeating: 2, count: 16),
            clock: .init(offsetNanoseconds: 400, boundNanoseconds: 90, skewPartsPerBillion: 3),
            collectorZeroNanoseconds: 100)
        return FragmentPlan(
            context: context,
            pieces: [
                PlannedPiece(
                    payload: ArrayPayload(bytes), range: 0..<bytes.count,
                    digest: Digest(of: bytes), runs: [run])
            ])
    }

    func ledger(_ entries: LedgerEntry..., tail: String = "") throws {
        let bytes = entries.flatMap(Ledger.line) + Array(tail.utf8)
        try FileSystem.replace(layout.ledger(session, "camera"), with: bytes)
    }

    static func line(
        _ kind: LedgerEntry.Kind, _ sequences: ClosedRange<UInt64>? = nil, after: UInt64? = nil
    ) -> LedgerEntry {
        var entry = LedgerEntry(kind: kind, at: zero)
        entry.firstSequence = sequences?.lowerBound
        entry.lastSequence = sequences?.upperBound
        entry.spool = hexadecimal(spool)
        entry.after = after
        return entry
    }

    func bytes(_ path: String) throws(ArchiveError) -> [UInt8] {
        try FileSystem.read(path, limit: 64 << 20)
    }

    /// - Parameter idle: how long nothing has been written, and how long that may be; nanoseconds.
    func recover(idle: (for: Int64, timeout: Int64)? = nil) throws -> RecoveredArchive {
        let written = try FileSystem.modified(layout.session(session))
        return try ArchiveRecovery.run(
            layout, now: UTCTime(nanoseconds: written.nanoseconds + (idle?.for ?? 0)),
            idleTimeoutNanoseconds: idle?.timeout ?? 0)
    }

    func watermark(_ archive: RecoveredArchive) -> UInt64? {
        archive.spools["camera"]?.first?.sequences.watermark
    }
}

@Suite struct RecoveryTests {
    @Test func `an open session goes on, in the file that was open`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        try scene.write(segment: 0, fragments: 0..<3, finished: true)
        try scene.write(segment: 1, fragments: 10..<12, finished: false)
        let archive = try scene.recover()
        let source = try #require(archive.session?.sources.first)
        #expect(source.open?.path == scene.path(1))
        #expect(source.open?.fragments == 2)
        #expect(source.ends[.video] == TrackEnd(dtsTicks: 119 * 9_000, durationTicks: 9_000))
        #expect(source.origins == [0, 10_000_000_000])
        #expect(source.spool == Scene.spool)
        // Zero was at 100 on the collector's clock.
        #expect(source.clock?.clock.offsetNanoseconds == 300)
        // Numbers 31 to 100 are nowhere.
        #expect(scene.watermark(archive) == 30)
        #expect(archive.spools["camera"]?.first?.sequences.highest == 120)
        let end = archive.spools["camera"]?.first?.end(of: .video, before: 101)
        #expect(end?.dtsTicks == Int64(29 * 9_000))
    }

    @Test func `a file that goes on is as if nobody had left it`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<2, finished: false)
        let open = try #require(try scene.recover().session?.sources.first?.open)
        let writer = try SegmentWriter(continuing: open)
        try writer.append(Scene.fragment(2))
        try writer.finish()
        let (report, sequences) = FileVerifier.verify(open.path)
        #expect(report.findings == [])
        #expect(report.state == .finished)
        #expect(sequences[Scene.spool] == [1...10, 11...20, 21...30])

        let whole = try Scene()
        try whole.write(segment: 0, fragments: 0..<3, finished: true)
        #expect(try scene.bytes(open.path) == whole.bytes(whole.path(0)))
    }

    @Test func `a file of more than four gigabytes goes on, and its index finds everything`() throws
    {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<2, finished: false)
        try DistantRecording.push(scene.path(0))
        let open = try #require(try scene.recover().session?.sources.first?.open)
        #expect(open.fragments == 2)
        let writer = try SegmentWriter(continuing: open)
        try writer.append(Scene.fragment(2))
        try writer.finish()
        let (report, sequences) = FileVerifier.verify(open.path)
        #expect(report.findings == [])
        #expect(report.state == .finished)
        #expect(sequences[Scene.spool] == [1...10, 11...20, 21...30])
        let movie = try DescriptorSource.withFile(open.path) { try Movie.read(from: $0) }
        let offsets = try #require(movie.tracks.first).samples.offsets
        #expect(offsets.count == 30 && offsets.allSatisfy { $0 > Int64(UInt32.max) })
    }

    @Test func `whatever the last byte that reached the disk, whole fragments are kept`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<3, finished: true)
        let path = scene.path(0)
        let bytes = try scene.bytes(path)
        unlink(path)
        try scene.write(segment: 0, fragments: 0..<3, finished: false)
        let growing = try scene.bytes(path)
        let ends = try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            var ends = [Int(scanner.validEnd)]
            while let fragment = try scanner.next() { ends.append(Int(fragment.range.upperBound)) }
            return ends
        }
        // Also cut within the index of a finishing that was interrupted.
        let finishing = Array(growing) + bytes[growing.count...]
        let near = ends.flatMap { [$0 - 1, $0, $0 + 1, $0 + 7, $0 + 8, $0 + 9] }
        let counts = Set(stride(from: 1, through: finishing.count, by: 31)).union(near)
        for count in counts.sorted() where count <= finishing.count {
            unlink(scene.layout.ledger(scene.session, "camera"))
            try FileSystem.replace(path, with: Array(finishing.prefix(count)))
            let archive = try scene.recover()
            let whole = ends.count { $0 <= count } - 1
            if whole <= 0 {
                #expect(!FileSystem.exists(path), "cut at \(count)")
            } else {
                #expect(try scene.bytes(path) == Array(growing.prefix(ends[whole])))
                #expect(archive.session?.sources.first?.open?.fragments == UInt32(whole))
                #expect(scene.watermark(archive) == UInt64(whole * 10))
            }
        }
    }

    @Test func `a session that does not go on is finished, and each step can be done again`() throws
    {
        let scene = try Scene()
        // It had ended; the collector was killed before it could finish.
        try scene.writeManifest { $0.end = .init(reason: .idle, at: Scene.zero) }
        try scene.ledger(Scene.line(.opened, after: 0))
        try scene.write(segment: 0, fragments: 0..<2, finished: false)
        for _ in 0..<2 {
            let archive = try scene.recover()
            #expect(archive.session == nil)
            #expect(scene.watermark(archive) == 20)
            #expect(FileVerifier.verify(scene.path(0)).report.state == .finished)
            let manifest = try SessionManifest.read(scene.layout.manifest(scene.session))
            #expect(manifest.state == .finished && manifest.end?.reason == .idle)
            #expect(manifest.sources.first?.spools?.first?.through == 20)
        }
    }

    @Test func `media that a power cut took away are noticed behind their whole head`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<4, finished: false)
        let path = scene.path(0)
        var bytes = try scene.bytes(path)
        let media = try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            var media: [Range<Int64>] = []
            while let fragment = try scanner.next() { media.append(fragment.media) }
            return media
        }
        for index in media[2] { bytes[Int(index)] = 0 }
        try FileSystem.replace(path, with: bytes)
        let archive = try scene.recover()
        #expect(scene.watermark(archive) == 20)
        #expect(archive.session?.sources.first?.open?.fragments == 2)
        #expect(FileVerifier.verify(path).report.findings == [])
    }

    @Test func `bit rot sets a file aside, and the others go on`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<20, finished: false)
        try scene.write(segment: 1, fragments: 20..<22, finished: false)
        let path = scene.path(0)
        var bytes = try scene.bytes(path)
        let second = try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            _ = try scanner.next()
            return try #require(try scanner.next()).moof
        }
        bytes[Int(second.lowerBound) + 30] ^= 1
        try FileSystem.replace(path, with: bytes)
        for _ in 0..<2 {
            let archive = try scene.recover()
            #expect(try scene.bytes(path) == bytes)
            #expect(archive.notes.contains { $0.level == .error })
            #expect(archive.session?.sources.first?.open?.path == scene.path(1))
            #expect(scene.watermark(archive) == 10)
        }
        let ledger = try Ledger.read(scene.layout.ledger(scene.session, "camera"))
        #expect(ledger.entries.filter { $0.kind == .damaged }.count == 1)
    }

    @Test func `a torn line is cut, a damaged one reported, and the others count`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<1, finished: false)
        try scene.ledger(
            Scene.line(.opened, after: 0), Scene.line(.gap, 11...14),
            tail: "{\"kind\":\"gap\"}\n"
                + String(decoding: Ledger.line(Scene.line(.gap, 15...16)).dropLast(), as: UTF8.self)
        )
        let archive = try scene.recover()
        #expect(scene.watermark(archive) == 14)
        #expect(archive.notes.contains { $0.text.contains("line 3 is not what was written") })
        let contents = try Ledger.read(scene.layout.ledger(scene.session, "camera"))
        #expect(!contents.hasTornTail && contents.damagedLines == [3])
    }

    @Test func `what was lost before the first record on disk is not claimed`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 3))
        try scene.write(segment: 0, fragments: 1..<2, finished: false)
        // 4 to 10 were never durable: perhaps a gap whose line was lost.
        #expect(scene.watermark(try scene.recover()) == 3)
    }

    @Test func `a source whose goodbye is here is complete, unless something before it is missing`()
        throws
    {
        for (goodbye, isComplete) in [(UInt64(11), true), (13, false)] {
            let scene = try Scene()
            try scene.writeManifest()
            try scene.ledger(
                Scene.line(.opened, after: 0), Scene.line(.goodbye, goodbye...goodbye))
            try scene.write(segment: 0, fragments: 0..<1, finished: false)
            let source = try #require(try scene.recover().session?.sources.first)
            #expect(source.entry.isComplete == isComplete)
            #expect((source.open == nil) == isComplete)
        }
    }

    @Test
    func `a session in which nothing was recorded is removed, one without its description kept`()
        throws
    {
        let empty = try Scene()
        try empty.ledger(Scene.line(.opened, after: 0))
        #expect(try empty.recover().session == nil)
        #expect(try empty.layout.sessionNames() == [])

        // It is described before it has a source.
        let blank = try Scene()
        try FileSystem.removeTree(blank.layout.source(blank.session, "camera"))
        try blank.writeManifest { $0.sources = [] }
        #expect(try blank.recover().session == nil)
        #expect(try blank.layout.sessionNames() == [])

        // The second session of one zero has a number behind it.
        for suffix in ["", "-2", "-17"] {
            let scene = try Scene(suffix: suffix)
            try scene.write(segment: 0, fragments: 0..<2, finished: false)
            _ = try scene.recover()
            let report = try SessionVerifier.verify(scene.session, in: scene.layout)
            #expect(report.isSound && report.state == "finished")
            #expect(report.sources.first?.recordedSamples == 20)
        }
        // Somebody's own directory is left alone.
        for suffix in ["-1", "-", "-copy", "x"] {
            let scene = try Scene(suffix: suffix)
            try scene.write(segment: 0, fragments: 0..<2, finished: false)
            _ = try scene.recover()
            #expect(!FileSystem.exists(scene.layout.manifest(scene.session)))
        }
    }

    @Test func `a description that is no description is put aside and made anew`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<1, finished: false)
        let path = scene.layout.manifest(scene.session)
        try FileSystem.replace(path, with: Array("{\"format\":1".utf8))
        let archive = try scene.recover()
        #expect(archive.session == nil)
        #expect(FileSystem.exists("\(path).damaged"))
        #expect(try SessionManifest.read(path).end?.reason == .interrupted)
        #expect(FileVerifier.verify(scene.path(0)).report.state == .finished)
    }

    @Test func `a session into which nothing was written for too long does not go on`() throws {
        for (idle, goesOn) in [(Int64(50_000_000_000), true), (70_000_000_000, false)] {
            let scene = try Scene()
            try scene.writeManifest()
            try scene.write(segment: 0, fragments: 0..<1, finished: false)
            try scene.ledger(Scene.line(.opened, after: 0))
            let archive = try scene.recover(idle: (idle, 60_000_000_000))
            #expect((archive.session != nil) == goesOn)
            let manifest = try SessionManifest.read(scene.layout.manifest(scene.session))
            #expect(manifest.end?.reason == (goesOn ? nil : .idle))
        }
    }

    @Test func `the newest files are those with the last numbers, whatever their names`() throws {
        // The clock was put back in the midst: the later half has the earlier files.
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        for (segment, first) in [(5, UInt64(1)), (6, 21), (0, 41), (1, 61), (2, 81)] {
            try scene.write(
                segment: segment, fragments: segment * 10..<segment * 10 + 2, finished: true,
                first: first)
            scene.age(segment: segment, minutes: 10 - 2 * Int(first / 20))
        }
        try scene.write(segment: 3, fragments: 30..<31, finished: false, first: 101)
        let archive = try scene.recover()
        #expect(scene.watermark(archive) == 110)
        let source = try #require(archive.session?.sources.first)
        #expect(source.ends[.video]?.dtsTicks == Int64(309 * 9_000))
    }

    @Test func `an earlier spool's records are not asked for again`() throws {
        let scene = try Scene()
        let earlier = [UInt8](repeating: 3, count: 16)
        try scene.writeManifest()
        var opened = Scene.line(.opened, after: 0)
        opened.spool = hexadecimal(earlier)
        try scene.ledger(opened, Scene.line(.opened, after: 0))
        for segment in 0..<6 {
            let isEarlier = segment < 2
            try scene.write(
                segment: segment, fragments: segment * 10..<segment * 10 + 1, finished: true,
                spool: isEarlier ? earlier : Scene.spool,
                first: UInt64(10 * (isEarlier ? segment : segment - 2) + 1))
            scene.age(segment: segment, minutes: 12 - 2 * segment)
        }
        let spools = try #require(try scene.recover().spools["camera"])
        #expect(spools.first { $0.spool == earlier }?.sequences.watermark == 20)
        #expect(spools.first { $0.spool == Scene.spool }?.sequences.watermark == 40)
    }

    @Test
    func `a file in which another spool begins does not make older files of that one unknown`()
        throws
    {
        let scene = try Scene()
        let earlier = [UInt8](repeating: 3, count: 16)
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        try scene.write(
            segment: 0, fragments: 0..<2, finished: true, of: [(earlier, 1), (Scene.spool, 1)])
        try scene.write(segment: 1, fragments: 10..<11, finished: true, first: 11)
        // Sound at the end of a file has later numbers than the next file's pictures.
        try scene.write(
            segment: 2, fragments: 20..<22, finished: true,
            of: [(Scene.spool, 21), (Scene.spool, 51)])
        for (segment, first) in [(3, UInt64(31)), (4, 61), (5, 71)] {
            try scene.write(
                segment: segment, fragments: segment * 10..<segment * 10 + (segment == 3 ? 2 : 1),
                finished: true, first: first)
        }
        for segment in 0...5 { scene.age(segment: segment, minutes: 12 - 2 * segment) }
        let spools = try #require(try scene.recover().spools["camera"])
        #expect(spools.first { $0.spool == Scene.spool }?.sequences.watermark == 80)
    }

    @Test func `sound that comes late is found behind shorter files, however many`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        // Numbers 1 to 20 are long settled; the long file holds 21 to 30 and what came late, 91 to 100.
        try scene.write(segment: 0, fragments: 0..<2, finished: true, first: 1)
        scene.age(segment: 0, minutes: 5)
        try scene.write(
            segment: 1, fragments: 10..<12, finished: true,
            of: [(Scene.spool, 21), (Scene.spool, 91)])
        for segment in 2..<8 {
            try scene.write(
                segment: segment, fragments: segment * 10..<segment * 10 + 1, finished: true,
                first: UInt64(segment * 10 + 11))
        }
        #expect(scene.watermark(try scene.recover()) == 100)
    }

    @Test func `segments that retention has removed are not asked for again`() throws {
        for isCutShort in [false, true] {
            let scene = try Scene()
            try scene.writeManifest()
            try scene.ledger(Scene.line(.opened, after: 0))
            for segment in 0..<4 {
                try scene.write(
                    segment: segment, fragments: segment * 10..<segment * 10 + 1,
                    finished: segment < 3, first: UInt64(10 * segment + 1))
            }
            let ledger = scene.layout.ledger(scene.session, "camera")
            try SegmentRemoval.remove(scene.path(0), cause: "age", now: Scene.zero) {
                lines throws(ArchiveError) in
                try FileSystem.replace(ledger, with: try scene.bytes(ledger) + lines)
            }
            if isCutShort {
                // Renamed, and killed before the ledger knew.
                #expect(rename(scene.path(1), scene.path(1) + ".removing") == 0)
            }
            let archive = try scene.recover()
            #expect(scene.watermark(archive) == 40)
            let source = try #require(archive.session?.sources.first)
            let open = try #require(source.open)
            #expect(open.path == scene.path(3))
            let writer = try SegmentWriter(continuing: open)
            var next = Scene.fragment(31)
            next.pieces[0].runs[0].firstSequence = 41
            try writer.append(next)
            try writer.finish()
            if isCutShort {
                try SegmentRemoval.complete(
                    scene.path(1) + ".removing", ledger: try Ledger.read(ledger), now: Scene.zero
                ) { lines throws(ArchiveError) in
                    try FileSystem.replace(ledger, with: try scene.bytes(ledger) + lines)
                }
            }
            let report = try SessionVerifier.verify(scene.session, in: scene.layout)
            #expect(report.findings == [] && report.isSound)
        }
    }

    @Test
    func `a session that ends in a crash with a hole says so, and the next one what is there`()
        throws
    {
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
            #expect(report.findings == [] && report.isSound)
        }
    }

    @Test func `a session that goes on says which of its numbers an earlier one has`() throws {
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
        manifest.sources[0].spools = [.init(spool: hexadecimal(Scene.spool), sequences: known)]
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
            #expect(report.findings == [] && report.isSound)
        }
    }

    @Test func `finished sessions tell how far each spool had come`() throws {
        let scene = try Scene()
        try scene.writeManifest { manifest in
            manifest.state = .finished
            manifest.sources[0].spools = [
                .init(spool: hexadecimal(Scene.spool), sequences: SequenceSet(upTo: 41))
            ]
        }
        #expect(scene.watermark(try scene.recover()) == 41)
    }

    /// Not a check: prints what the module's article says. `TRIBUTARY_MEASURE=1 swift test --filter gigabyte`.
    @Test(.enabled(if: getenv("TRIBUTARY_MEASURE") != nil, "TRIBUTARY_MEASURE is not set"))
    func `a gigabyte that was left open is measured`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Scene.format, originTicks: 0, shiftTicks: 0)])
        let writer = try SegmentWriter(
            path: scene.path(0), plan: plan, sessionZero: Scene.zero)
        // One fragment's media again and again, at other times.
        var fragment = Scene.fragment(0, bytesPerPicture: 25_000)
        while writer.sizeBytes < 1 << 30 {
            try writer.append(fragment)
            fragment.pieces[0].runs[0].firstSequence += 10
            for index in 0..<10 { fragment.pieces[0].runs[0].samples[index].dts += 90_000 }
            for index in 0..<10 { fragment.pieces[0].runs[0].samples[index].pts += 90_000 }
        }
        try writer.synchronize()
        let clock = ContinuousClock()
        let recovery = try clock.measure { _ = try scene.recover() }
        print("recovered \(writer.sizeBytes) bytes in \(recovery)")
        try writer.finish()
        var report: SessionReport?
        let proof = try clock.measure {
            report = try SessionVerifier.verify(scene.session, in: scene.layout)
        }
        #expect(try #require(report).isSound)
        let seconds = Double(proof.components.seconds) + Double(proof.components.attoseconds) / 1e18
        let rate = Int(Double(writer.sizeBytes) / seconds / 1e6)
        print("verified \(writer.sizeBytes) bytes in \(proof): \(rate) MB/s")
    }
}
