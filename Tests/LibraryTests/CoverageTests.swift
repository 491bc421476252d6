import Archive
import Catalog
import Foundation
import Glibc
import Media
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// A timeline's coverage of a session.
@Suite struct CoverageTests {
    private static let second: Int64 = 1_000_000_000
    private static let session = "2026-09-21T14-13-20.000Z"
    private let archive = SmallArchive()

    private func library() throws -> RecordingLibrary {
        try SessionFinder(archive.layout.root) { Issue.record("\($0)") }.library()
    }

    /// A gap's line in the ledger; the archive's files have pictures from 0 to 30 s.
    private func addGap(
        _ cause: String, at start: Int64?, seconds: Int64 = 0, nanoseconds: Int64 = 0,
        samples: UInt64 = 1, track: String? = nil
    ) throws {
        var entry = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        entry.cause = cause
        entry.startNanoseconds = start.map { $0 * Self.second }
        entry.durationNanoseconds = UInt64(seconds * Self.second + nanoseconds)
        entry.samples = samples
        entry.track = track
        try archive.append(Ledger.line(entry), session: Self.session)
    }

    private func coverage(
        _ range: ClosedRange<Int64>, resolution: Int64 = 0
    ) throws -> SourceCoverage {
        let all = try library().coverage(
            of: Self.session, in: range.lowerBound * Self.second..<range.upperBound * Self.second,
            resolutionNanoseconds: resolution * Self.second)
        #expect(all.count == 1)
        return try #require(all.first)
    }

    private func seconds(_ spans: [SourceCoverage.Span]) -> [ClosedRange<Int64>] {
        spans.map { $0.startNanoseconds / Self.second...$0.endNanoseconds / Self.second }
    }

    @Test func `a camera's statements in a range begin with the last one before it`() throws {
        try archive.addSession(Self.session, segments: 3)
        #expect(try coverage(0...30).stated == nil)
        for (start, offset, track) in [
            (0, -1, "video"), (10, -2, "video"), (12, -9, "audio"), (20, 3_600, "video"),
        ] as [(Int64, Int64, String)] {
            var entry = LedgerEntry(kind: .stated, at: SmallArchive.zero)
            entry.track = track
            entry.startNanoseconds = start * Self.second
            entry.offsetNanoseconds = offset * Self.second
            entry.aheadNanoseconds = offset * Self.second + 1
            try archive.append(Ledger.line(entry), session: Self.session)
        }
        func offsets(_ range: ClosedRange<Int64>) throws -> [Int64]? {
            try coverage(range).stated?.map { $0.offsetNanoseconds / Self.second }
        }
        #expect(try offsets(0...30) == [-1, -2, 3_600])
        #expect(try offsets(11...15) == [-2])
        #expect(try offsets(15...25) == [-2, 3_600])
        #expect(try coverage(25...30).stated?.first?.aheadNanoseconds == 3_600 * Self.second + 1)
    }

    @Test func `consecutive files are one span, cut to the range`() throws {
        try archive.addSession(Self.session, segments: 3)
        #expect(seconds(try coverage(0...100).recorded) == [0...30])
        #expect(seconds(try coverage(5...12).recorded) == [5...12])
        #expect(try coverage(30...40).recorded == [])
        #expect(try !coverage(0...100).recorded[0].isGrowing)
        let others = try library().coverage(
            of: Self.session, sources: ["other"], in: 0..<1, resolutionNanoseconds: 0)
        #expect(others.isEmpty)
    }

    @Test func `gaps have a cause and a count, and are not recorded`() throws {
        try archive.addSession(Self.session, segments: 3)
        try addGap("disconnected", at: 4, seconds: 3, samples: 90)
        try addGap("driver drop", at: 12, seconds: 0)
        try addGap("late", at: 13, seconds: 2, samples: 7, track: "audio")
        try addGap("spool full", at: nil, seconds: 0, samples: 5)
        let whole = try coverage(0...30)
        // Without sound the pictures remain.
        #expect(seconds(whole.recorded) == [0...4, 7...30])
        #expect(whole.missing.map(\.cause) == ["disconnected", "driver drop", "late"])
        #expect(whole.missing.map(\.samples) == [90, 1, 7])
        #expect(whole.missing[2].track == "audio")
        #expect(whole.unplaced.map(\.cause) == ["spool full"])
        #expect(whole.unplaced.map(\.samples) == [5])
        #expect(try coverage(8...11).missing == [])
    }

    @Test func `a gap has its lost records, up to a maximum of ranges`() throws {
        try archive.addSession(Self.session, segments: 1)
        var entry = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        entry.firstSequence = 7
        entry.lastSequence = 9
        try archive.append(Ledger.line(entry), session: Self.session)
        entry.firstSequence = nil
        entry.lastSequence = nil
        try archive.append(Ledger.line(entry), session: Self.session)
        // The second range is invalid: its bounds are reversed.
        entry.ranges = [[1, 1], [5, 4]] + (10..<60).map { [$0 * 2, $0 * 2] }
        try archive.append(Ledger.line(entry), session: Self.session)
        let gaps = try #require(try library().recording(Self.session).sources.first).gaps()
        #expect(gaps.map(\.records).prefix(2) == [[7...9], []])
        #expect(gaps[2].records.prefix(2) == [1...1, 20...20])
        #expect(gaps[2].records.count == RecordedGap.maximumRanges)
    }

    @Test func `gaps closer than the resolution are joined, with their counts added`() throws {
        try archive.addSession(Self.session, segments: 3)
        for second in 3...9 {
            try addGap("driver drop", at: Int64(second), seconds: 0, samples: 2)
        }
        try addGap("driver drop", at: 25, seconds: 0, samples: 2)
        #expect(try coverage(0...30).missing.count == 8)
        let coarse = try coverage(0...30, resolution: 2)
        #expect(coarse.missing.map(\.count) == [7, 1])
        #expect(coarse.missing.map(\.samples) == [14, 2])
        #expect(seconds(coarse.recorded) == [0...30])
    }

    @Test func `lines of one cause and time are one gap, and tiny gaps are omitted`() throws {
        try archive.addSession(Self.session, segments: 3)
        // A stop and a start: a line for the beginning and one for the end, of each track.
        try addGap("command", at: 12, seconds: 0, samples: 0, track: "video")
        try addGap("command", at: 11, seconds: 0, samples: 0, track: "audio")
        try addGap("command", at: 11, seconds: 7, samples: 0, track: "audio")
        try addGap("command", at: 12, seconds: 6, samples: 0, track: "video")
        // A change of size, without a stop.
        try addGap("command", at: 22, nanoseconds: 681_000, samples: 0, track: "video")
        try addGap("driver drop", at: 24, nanoseconds: 681_000, samples: 1)
        let gaps = try coverage(0...30).missing
        #expect(gaps.map(\.cause) == ["command", "driver drop"])
        #expect(gaps.map(\.count) == [1, 1])
        #expect(gaps[0].startNanoseconds == 11 * Self.second)
        #expect(gaps[0].endNanoseconds == 18 * Self.second)
        #expect(gaps[0].track == nil)
    }

    @Test func `a range and resolution out of bounds are limited`() throws {
        try archive.addSession(Self.session, segments: 1)
        for second in 0..<50 { try addGap("late", at: Int64(second) * 2, seconds: 1) }
        let all = try library().coverage(
            of: Self.session, in: .min..<Int64.max, resolutionNanoseconds: -5)
        #expect(all[0].missing.map(\.count) == [50])
    }

    @Test func `a file that is a pipe shows nothing until it is a file again`() throws {
        let paths = try archive.addSession(Self.session, segments: 3)
        let memory = CoverageMemory()
        func recorded() throws -> [ClosedRange<Int64>] {
            let library = try library()
            _ = try library.overview(of: Self.session)
            return seconds(
                try library.coverage(
                    of: Self.session, sources: nil, from: nil, until: nil, pixels: 1_000,
                    remembering: memory, where: { _ in true }
                ).first?.recorded ?? [])
        }
        let aside = paths[2] + ".aside"
        try FileManager.default.moveItem(atPath: paths[2], toPath: aside)
        #expect(mkfifo(paths[2], 0o600) == 0)
        #expect(try recorded() == [0...20])
        try FileManager.default.removeItem(atPath: paths[2])
        try FileManager.default.moveItem(atPath: aside, toPath: paths[2])
        #expect(try recorded() == [0...30])
    }

    @Test func `an unreadable file is not recorded`() throws {
        let paths = try archive.addSession(Self.session, segments: 3)
        try FileSystem.replace(paths[1], with: Array("nonsense".utf8))
        #expect(seconds(try coverage(0...30).recorded) == [0...10, 20...30])
    }

    @Test func `coverage begins at the first picture, with or without reading the files`() throws {
        let paths = try archive.addSession(Self.session, segments: 4, firstPicture: 3)
        func expectFirstPicture() throws {
            let spans = try coverage(-5...100).recorded
            #expect(spans.map(\.startNanoseconds) == [3 * Self.second])
            #expect(spans.map(\.endNanoseconds) == [40 * Self.second])
        }
        try expectFirstPicture()
        _ = try CatalogIndexing.update(SQLiteCatalog.open(archive.layout), archive.layout)
        // Recently changed files are read.
        for path in paths {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: path)
        }
        try expectFirstPicture()
    }

    @Test func `a range without media has the cause and the nearest times`() throws {
        let paths = try archive.addSession(Self.session, segments: 3)
        try FileSystem.replace(paths[1], with: Array("nonsense".utf8))
        try addGap("restart", at: 10, seconds: 10, samples: 0)
        let (library, memory) = (try library(), CoverageMemory())
        func missing(_ range: ClosedRange<Int64>) throws -> MissingRange? {
            try library.missing(
                range.lowerBound * Self.second...range.upperBound * Self.second, of: "camera",
                in: Self.session, remembering: memory)
        }
        let gap = try #require(try missing(12...13))
        #expect(
            gap.text(asking: "picture")
                == "no picture of camera there: missing from 0:10.000 to 0:20.000, cause: restart; "
                + "recorded up to 0:10.000, and from 0:20.000")
        #expect(gap.nearest(to: 12 * Self.second) == 10 * Self.second - 1)
        #expect(try missing(5...6) == nil && missing(5...12) == nil)
        #expect(try missing(-5 ... -4)?.isBeforeBeginning == true && !gap.isBeforeBeginning)
        let after = try #require(try missing(40...50))
        #expect(!after.isBeforeBeginning)
        #expect(after.gap == nil && after.nextStartNanoseconds == nil)
        #expect(after.nearest(to: 40 * Self.second) == 30 * Self.second - 1)
        #expect(
            after.text(asking: "clip")
                == "no clip of camera there: nothing is recorded; recorded up to 0:30.000")
    }

    /// Removes the first segments of the session, as retention does.
    private func remove(_ paths: some Sequence<String>) throws {
        for path in paths {
            try SegmentRemoval.remove(
                path, cause: "more bytes than are kept", now: SmallArchive.zero
            ) {
                lines throws(ArchiveError) in
                try archive.append(lines, session: Self.session)
            }
        }
    }

    @Test func `removed files are gaps with the cause 'removed'`() throws {
        let paths = try archive.addSession(Self.session, segments: 3)
        // Also where a removed file had a gap of its own.
        try addGap("driver drop", at: 12, seconds: 2)
        try remove(paths.prefix(2))
        let gaps = try #require(try library().recording(Self.session).sources.first).gaps()
        #expect(gaps.map(\.cause) == ["driver drop", "removed", "removed"])
        #expect(gaps.last?.text == "removed from the recording: more bytes than are kept")
        let lane = try coverage(0...30)
        #expect(seconds(lane.recorded) == [20...30])
        let removed = try #require(lane.missing.last)
        #expect(removed.cause == "removed" && removed.samples == 20)
        #expect(removed.startNanoseconds == 0 && removed.endNanoseconds == 20 * Self.second)
        let missing = try #require(
            try library().missing(
                12 * Self.second...13 * Self.second, of: "camera", in: Self.session,
                remembering: CoverageMemory()))
        #expect(missing.isRemoved)
        #expect(
            missing.text(asking: "clip")
                == "no clip of camera there: removed from 0:00.000 to 0:20.000; recorded from 0:20.000"
        )
    }

    @Test func `a source whose files were all removed is on the timeline`() throws {
        try remove(try archive.addSession(Self.session, segments: 2))
        let lane = try coverage(0...30)
        #expect(lane.recorded.isEmpty)
        #expect(lane.missing.map(\.cause) == ["removed"])
        #expect(lane.missing.map(\.samples) == [20])
        let missing = try library().missing(
            0...Self.second, of: "camera", in: Self.session, remembering: CoverageMemory())
        #expect(missing?.isRemoved == true)
    }

    // MARK: Asked again

    /// The coverage from a warm cache, which must equal that of a cold one.
    private func rememberedCoverage(_ memory: CoverageMemory) throws -> [SourceCoverage] {
        func ask(_ memory: CoverageMemory?) throws -> [SourceCoverage] {
            try library().coverage(
                of: Self.session, sources: nil, from: nil, until: nil, pixels: 1_000,
                remembering: memory, where: { _ in true })
        }
        let answer = try ask(memory)
        let fresh = try ask(nil)
        #expect(answer == fresh)
        return answer
    }

    @Test func `a repeated query includes all changes since the last one`() throws {
        let paths = try archive.addSession(Self.session, segments: 6)
        let memory = CoverageMemory()
        #expect(seconds(try rememberedCoverage(memory)[0].recorded) == [0...60])
        #expect(seconds(try rememberedCoverage(memory)[0].recorded) == [0...60])
        try addGap("driver drop", at: 12, seconds: 3)
        #expect(seconds(try rememberedCoverage(memory)[0].recorded) == [0...12, 15...60])
        try FileSystem.replace(paths[2], with: Array("nonsense".utf8))
        #expect(seconds(try rememberedCoverage(memory)[0].recorded) == [0...12, 15...20, 30...60])
        #expect(unlink(paths[5]) == 0)
        #expect(seconds(try rememberedCoverage(memory)[0].recorded) == [0...12, 15...20, 30...50])
    }

    @Test func `a source is read again when its folder has changed, and only then`() throws {
        let paths = try archive.addSession(Self.session, segments: 2)
        let store = DirectoryStore(archive.layout)
        let source = SourceKey(
            session: Self.session,
            source: try #require(try library().sourceNames(Self.session).first))
        let memory = CoverageMemory(capacity: 10)
        var read = 0
        func ask(parts: Int = 3) throws {
            _ = try memory.lane(of: source, in: store) { _ throws(ArchiveError) in
                read += 1
                let file = SourceLane.File(entry: nil, span: nil, isOpen: false)
                return SourceLane(
                    source: source.source, files: Array(repeating: file, count: parts), gaps: [])
            }
        }
        try ask()
        try ask()
        #expect(read == 1)
        try FileSystem.replace(paths[0], with: Array("nonsense".utf8))
        try ask()
        #expect(read == 2)
        #expect(unlink(paths[1]) == 0)
        // More than the cache holds.
        try ask(parts: 10)
        try ask(parts: 10)
        #expect(read == 4)
    }

    // MARK: Byte ranges

    private func playback(
        _ range: Range<Int64>, in session: WrittenSession
    ) throws -> PlaybackRange {
        let recording = try RecordedSession(WrittenSession.name, in: session.layout)
        return try #require(recording.source("camera")).playback(range)
    }

    @Test func `a range is played from the keyframe before it, in whole fragments`() throws {
        let session = try WrittenSession { _ in 0 }
        let second = Self.second
        let found = try playback(2 * second + 7..<4 * second, in: session)
        #expect(found.files.count == 1)
        let fragments = found.files[0].fragments
        #expect(fragments.map(\.startNanoseconds) == [2 * second, 3 * second])
        #expect(fragments.map(\.decodableFromNanoseconds) == [2 * second, 3 * second])
        for (one, next) in zip(fragments, fragments.dropFirst()) {
            #expect(one.range.upperBound == next.range.lowerBound)
            #expect(one.endNanoseconds == next.startNanoseconds)
        }
        let over = try playback(4 * second..<6 * second, in: session)
        #expect(over.files.map(\.fragments.count) == [1, 1])
        #expect(over.files.map { $0.key != nil } == [true, true])
        #expect(try playback(20 * second..<30 * second, in: session).files.count == 1)
        #expect(try playback(0..<30 * second, in: session).files.map(\.fragments.count) == [5, 5])
    }

    @Test func `a range's media are decodable from the first picture on`() throws {
        for reordered in [false, true] {
            let session = try WrittenSession(reordered: reordered) { _ in 0 }
            for start in stride(from: 0, to: 9 * Self.second, by: 130_000_000) {
                let found = try playback(start..<start + 1, in: session)
                let first = try #require(found.files.first?.fragments.first)
                #expect(first.decodableFromNanoseconds != nil)
                let shown = found.files.flatMap(\.fragments).flatMap(\.samples).contains {
                    $0.track == .video && !$0.isHidden && $0.ptsNanoseconds <= start
                        && $0.endNanoseconds > start
                }
                // With reordering, the first picture is presented after the recording's start.
                #expect(shown || start < 100_000_000, "\(start)")
            }
        }
    }

    @Test func `finishing a file keeps byte ranges, retiming changes the revision`() throws {
        let growing = try WrittenSession(finished: false) { _ in 3_000_000 }
        let finished = try WrittenSession { _ in 3_000_000 }
        let all = 0..<20 * Self.second
        let before = try playback(all, in: finished)
        let young = try playback(all, in: growing)
        #expect(
            young.files.flatMap(\.fragments).map(\.range)
                == before.files.flatMap(\.fragments).map(\.range))
        #expect(before.files.map(\.file.revision) == [0, 0])
        _ = try SessionRetimer(WrittenSession.name, in: finished.layout).retime(isDryRun: false)
        let after = try playback(all, in: finished)
        #expect(after.files.allSatisfy { $0.file.revision != 0 })
        #expect(
            after.files.flatMap(\.fragments).map(\.range)
                == before.files.flatMap(\.fragments).map(\.range))
        let rows = try CatalogEntry(WrittenSession.name, in: finished.layout).segments
        #expect(rows.map(\.revision) == after.files.map(\.file.revision))
        _ = try SessionRetimer(WrittenSession.name, in: finished.layout).undo(isDryRun: false)
        #expect(try playback(all, in: finished).files.map(\.file.revision) == [0, 0])
    }
}
