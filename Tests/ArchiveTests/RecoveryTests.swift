import Archive
import Foundation
import Glibc
import Media
import MP4
import TestRecordings
import Testing
import Timing

private typealias Scene = RecoveryScene

@Suite struct RecoveryTests {
    @Test func `an open session continues in its open file`() throws {
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
        #expect(source.clocks.last?.clock.offsetNanoseconds == 300)
        // Numbers 31 to 100 are in no file.
        #expect(scene.watermark(archive) == 30)
        #expect(archive.spools["camera"]?.first?.sequences.highest == 120)
        let end = archive.spools["camera"]?.first?.end(of: .video, before: 101)?.end
        #expect(end?.dtsTicks == Int64(29 * 9_000))
    }

    @Test func `a session that was left open is found among any number of later ones`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<2, finished: false)
        for index in 0..<1_100 {
            let zero = UTCTime(
                nanoseconds: Scene.zero.nanoseconds + Int64(index + 1) * 60_000_000_000)
            var manifest = SessionManifest(
                session: zero.fileName, zero: zero, zeroMonotonicNanoseconds: 0,
                startAt: .firstSample, startWindowNanoseconds: 0,
                segmentNanoseconds: 10_000_000_000, software: "test")
            manifest.state = .finished
            try FileSystem.makeDirectories(scene.layout.session(zero.fileName))
            try FileSystem.replace(
                scene.layout.manifest(zero.fileName), with: manifest.encoded())
        }
        let archive = try scene.recover()
        #expect(archive.session?.manifest.session == scene.session)
        #expect(archive.session?.sources.first?.open?.fragments == 2)
    }

    @Test func `a resumed file equals one that was written without interruption`() throws {
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
        try whole.write(segment: 0, fragments: 0..<3, finished: true, durable: 2)
        #expect(try scene.bytes(open.path) == whole.bytes(whole.path(0)))
    }

    @Test func `a resumed file of more than 4 GiB has a complete index`() throws {
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

    @Test func `whole fragments are kept at any length of the file on disk`() throws {
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
        // Also cut within the index of an interrupted finish.
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

    @Test func `a session that is not continued is finished, and this can be repeated`() throws {
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

    @Test func `media lost in a power cut are detected behind an intact head`() throws {
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

    /// The pages of a long fragment's head reach the disk in any order.
    @Test func `a fragment head with a lost middle ends the file`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<2, finished: false)
        let open = try #require(try scene.recover().session?.sources.first?.open)
        var fragment = Scene.fragment(2)
        for index in fragment.pieces[0].runs[0].samples.indices {
            fragment.pieces[0].runs[0].samples[index].duration += Int64(index)
        }
        try SegmentWriter(continuing: open).append(fragment)
        var bytes = try scene.bytes(scene.path(0))
        let trun = try #require(
            bytes.indices.last { bytes[$0...].starts(with: Array("trun".utf8)) })
        // How long the second picture lasts, and its size: behind type, flags, count, offset and the first one's flags.
        let second = trun + 20 + 8..<trun + 20 + 16
        #expect(bytes[second] == [0, 0, 0x23, 0x29, 0, 0, 0, 25])
        bytes.replaceSubrange(second, with: repeatElement(0, count: second.count))
        try FileSystem.replace(scene.path(0), with: bytes)
        let source = try #require(try scene.recover().session?.sources.first)
        #expect(source.open?.fragments == 2)
        #expect(source.ends[.video]?.dtsTicks == Int64(19 * 9_000))
    }

    @Test func `a lost page ends the file, whatever follows it`() throws {
        for page in [4_096, 8_192] {
            let scene = try Scene()
            try scene.writeManifest()
            try scene.write(segment: 0, fragments: 0..<60, finished: false)
            var bytes = try scene.bytes(scene.path(0))
            bytes.replaceSubrange(page..<page + 4_096, with: repeatElement(0, count: 4_096))
            try FileSystem.replace(scene.path(0), with: bytes)
            let archive = try scene.recover()
            #expect(!archive.notes.contains { $0.level == .error })
            let open = try #require(archive.session?.sources.first?.open)
            #expect(open.fragments > 2 && open.sizeBytes <= UInt64(page))
            #expect(page - Int(open.sizeBytes) < 1_000)
            #expect(FileVerifier.verify(open.path).report.isIntact)
        }
    }

    @Test func `a fragment head changed by a power cut ends the file, whatever follows it`()
        throws
    {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.write(segment: 0, fragments: 0..<3, finished: false)
        let open = try #require(try scene.recover().session?.sources.first?.open)
        // A record longer than a page, of clock exchanges.
        var fragment = Scene.fragment(3)
        fragment.context.exchanges = (0..<256).map { index in
            let time = Int64(index) << 40
            return ClockExchange(
                t1Nanoseconds: time, t2Nanoseconds: time + (1 << 30),
                t3Nanoseconds: time + (1 << 31), t4Nanoseconds: time + (1 << 33))
        }
        let writer = try SegmentWriter(continuing: open)
        try writer.append(fragment)
        let begin = Int(open.sizeBytes)
        for index in 4..<30 { try writer.append(Scene.fragment(index)) }
        var bytes = try scene.bytes(scene.path(0))
        let page = (begin / 4_096 + 1) * 4_096
        bytes.replaceSubrange(page..<page + 4_096, with: repeatElement(0, count: 4_096))
        try FileSystem.replace(scene.path(0), with: bytes)
        let recovered = try #require(try scene.recover().session?.sources.first?.open)
        #expect(recovered.fragments == 3 && recovered.sizeBytes == open.sizeBytes)
    }

    @Test func `a file with bit rot is set aside, and the others continue`() throws {
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

    @Test func `parallel recovery of sources equals sequential recovery`() throws {
        let names = (0..<24).map { "camera\($0)" }
        func scene() throws -> Scene {
            let scene = try Scene()
            try scene.write(segment: 0, fragments: 0..<10, finished: true)
            try scene.write(segment: 1, fragments: 10..<14, finished: false)
            for (number, name) in names.enumerated() {
                let directory = scene.layout.source(scene.session, name)
                try FileManager.default.copyItem(
                    atPath: scene.layout.source(scene.session, "camera"), toPath: directory)
                // Each was cut elsewhere.
                let file = try directory + "/" + #require(scene.path(1).split(separator: "/").last)
                let bytes = try scene.bytes(file)
                try FileSystem.replace(file, with: Array(bytes.dropLast(number * 37)))
            }
            try scene.writeManifest { manifest in
                // One of them has no directory.
                manifest.sources += (names + ["nowhere"]).map {
                    .init(name: $0, agent: "box", address: "here", tracks: [], isComplete: false)
                }
            }
            return scene
        }
        func summary(_ scene: Scene, atOnce: Int) throws -> [String] {
            let archive = try ArchiveRecovery.run(
                scene.layout, now: Scene.zero, idleTimeoutNanoseconds: 0, sourcesAtOnce: atOnce)
            let sources = try #require(archive.session).sources
            #expect(sources.map(\.entry.name) == sources.map(\.entry.name).sorted())
            return sources.map { source in
                let name = source.entry.name
                return "\(name) \(archive.spools[name] ?? []) \(source.open?.sizeBytes ?? 0)"
            } + archive.notes.map { $0.text.replacing(scene.root, with: "") }
        }
        let one = try summary(scene(), atOnce: 1)
        #expect(one.count > names.count)
        #expect(try summary(scene(), atOnce: 4) == one)
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
        #expect(archive.notes.contains { $0.text.contains("line 3 is damaged") })
        let contents = try Ledger.read(scene.layout.ledger(scene.session, "camera"))
        #expect(!contents.hasTornTail && contents.damagedLines == [3])
    }

    @Test func `losses before the first record on disk are not assumed`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 3))
        try scene.write(segment: 0, fragments: 1..<2, finished: false)
        // 4 to 10 were never durable; they may be a gap whose line was lost.
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
    func `an empty session is removed, one with files but no description is kept`() throws {
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

        // A store may have its description, which is then removed, too. Of a record that was being written it has nothing.
        for isStored in [true, false] {
            let stored = try Scene()
            try FileSystem.removeTree(stored.layout.source(stored.session, "camera"))
            try stored.writeManifest { $0.sources = [] }
            let (layout, session) = (stored.layout, stored.session)
            if isStored {
                let manifest = try SessionManifest.read(layout.manifest(session))
                try StoredDocuments(store: "s3://test/archive", identity: .init(manifest))
                    .write(layout.stored(session), on: layout.disk)
            } else {
                try FileSystem.replace("\(layout.session(session))/.stored.new", with: [])
            }
            #expect(try stored.recover().session == nil)
            #expect(try stored.layout.sessionNames() == [])
            let waiting = try SessionRemoval.waiting(in: stored.layout)
            #expect(waiting == (isStored ? [stored.session] : []))
        }

        // Where agents have several collectors, the name of the one that began it; a second session of one zero has a number.
        for suffix in ["", "-2", "-17", "-north", "-north-2"] {
            let scene = try Scene(suffix: suffix)
            try scene.write(segment: 0, fragments: 0..<2, finished: false)
            _ = try scene.recover()
            let report = try SessionVerifier.verify(scene.session, in: scene.layout)
            #expect(report.isIntact && report.state == "finished")
            #expect(report.sources.first?.recordedSamples == 20)
        }
        // A foreign directory is left unchanged.
        for suffix in ["-", "x", ".copy"] {
            let scene = try Scene(suffix: suffix)
            try scene.write(segment: 0, fragments: 0..<2, finished: false)
            _ = try scene.recover()
            #expect(!FileSystem.exists(scene.layout.manifest(scene.session)))
        }
    }

    @Test func `an invalid description is set aside and replaced`() throws {
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

    @Test func `a session that was idle for too long does not continue`() throws {
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

    @Test func `the newest files are those with the highest numbers`() throws {
        // The clock was set back meanwhile: the later half has the earlier files.
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

    @Test func `records of an earlier spool are not requested again`() throws {
        let scene = try Scene()
        let earlier = SpoolID(high: 3, low: 3)
        try scene.writeManifest()
        var opened = Scene.line(.opened, after: 0)
        opened.spool = earlier.description
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
    func `older files of a spool are found behind a file in which another begins`() throws {
        let scene = try Scene()
        let earlier = SpoolID(high: 3, low: 3)
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

    @Test func `late audio is found behind any number of shorter files`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        // Sequences 1 to 20 are complete; the long file holds 21 to 30 and the late records 91 to 100.
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
                // Renamed, and killed before the ledger line.
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
            #expect(report.findings == [] && report.isIntact)
        }
    }

    @Test func `finished sessions state the watermark of each spool`() throws {
        let scene = try Scene()
        try scene.writeManifest { manifest in
            manifest.state = .finished
            manifest.sources[0].spools = [
                .init(spool: Scene.spool.description, sequences: SequenceSet(upTo: 41))
            ]
        }
        #expect(scene.watermark(try scene.recover()) == 41)
    }

    /// Not a check: prints the figures of the module's article. `TRIBUTARY_MEASURE=1 swift test --filter gigabyte`.
    @Test(.enabled(if: getenv("TRIBUTARY_MEASURE") != nil, "TRIBUTARY_MEASURE is not set"))
    func `a gigabyte that was left open is measured`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Scene.format, originTicks: 0, shiftTicks: 0)])
        let writer = try SegmentWriter(
            path: scene.path(0), plan: plan, sessionZero: Scene.zero)
        // One fragment's media repeatedly, at other times.
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
        #expect(try #require(report).isIntact)
        let seconds = Double(proof.components.seconds) + Double(proof.components.attoseconds) / 1e18
        let rate = Int(Double(writer.sizeBytes) / seconds / 1e6)
        print("verified \(writer.sizeBytes) bytes in \(proof): \(rate) MB/s")
    }
}
