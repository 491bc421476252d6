import Archive
import Library
import Media
import MP4
import NIOCore
import Recordings
import Testing
import TestRecordings
import TestSpools

@testable import ViewerCore

/// Files that were retimed, as players read their fragments.
@Suite struct RetimedBytesTests {
    private static let seeds: ClosedRange<UInt64> = 1...5

    /// The decode time fields of a file's fragments.
    private func decodeTimes(_ bytes: [UInt8]) throws -> [DecodeTimes.Field] {
        var scanner = try FragmentScanner(MemorySource(bytes))
        var places: [DecodeTimes.Field] = []
        while let fragment = try scanner.next() {
            let moof = bytes[Int(fragment.moof.lowerBound)..<Int(fragment.moof.upperBound)]
            places += try DecodeTimes(of: Array(moof), at: fragment.moof.lowerBound).fields
        }
        return places
    }

    /// The clock error bounds in a file's fragment records, nanoseconds, and their offsets.
    private func bounds(_ bytes: [UInt8]) throws -> [(place: Int, nanoseconds: UInt64)] {
        var scanner = try FragmentScanner(MemorySource(bytes))
        var found: [(place: Int, nanoseconds: UInt64)] = []
        while let fragment = try scanner.next() {
            let box = try #require(
                fragment.userBoxes.first { $0.userType == FragmentRecord.userType })
            let record = try FragmentRecord(parsing: box.payload)
            let start = Int(fragment.moof.lowerBound)
            let moof = bytes[start..<Int(fragment.moof.upperBound)]
            let place = try #require(moof.firstRange(of: FragmentRecord.userType)).upperBound
            found.append((place + FragmentRecord.boundOffset, record.clock.boundNanoseconds))
        }
        return found
    }

    @Test func `the records have the bounds of the retiming`() throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        let before = try session.bytes().map { try bounds($0) }
        try session.retime()
        for (index, file) in try session.files().enumerated() {
            let retiming = try #require(file.retiming)
            let retimed = try RetimedBytes(file)
            let served = try bounds(retimed.read(at: 0, count: Int(retimed.sizeBytes)))
            let known = Set(retiming.tracks.flatMap(\.knots).map(\.boundNanoseconds))
            #expect(served.allSatisfy { known.contains($0.nanoseconds) })
            #expect(served.count == before[index].count && !served.isEmpty)
            #expect(served.map(\.nanoseconds) != before[index].map(\.nanoseconds))
            #expect(served.allSatisfy { $0.nanoseconds <= retiming.after.greatest })
        }
    }

    @Test func `only decoding times and bounds in the fragments' heads differ from the file`()
        throws
    {
        let session = try WrittenSession(error: WrittenSession.settling)
        try session.retime()
        let stored = try session.bytes()
        let files = try session.files()
        #expect(files.count == 2 && stored.count == 2)
        for (file, bytes) in zip(files, stored) {
            let retimed = try RetimedBytes(file)
            #expect(retimed.sizeBytes == Int64(bytes.count))
            let served = try retimed.read(at: 0, count: bytes.count)
            try #require(served.count == bytes.count)
            let places = try decodeTimes(bytes)
            // Two tracks of five fragments.
            #expect(places.count == 10)
            var allowed: Set<Int> = []
            for place in places {
                let start = Int(place.offset)
                // The number follows the box's size, type, version and flags.
                #expect(place.sizeBytes == 8)
                #expect(Array(bytes[start - 8..<start]) == Array("tfdt".utf8) + [1, 0, 0, 0])
                allowed.formUnion(start..<start + 8)
            }
            for bound in try bounds(bytes) { allowed.formUnion(bound.place..<bound.place + 8) }
            let changed = bytes.indices.filter { bytes[$0] != served[$0] }
            #expect(!changed.isEmpty)
            #expect(changed.allSatisfy { allowed.contains($0) })
        }
    }

    @Test(arguments: seeds)
    func `reading in any pieces is reading the whole`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let session = try WrittenSession(segments: 1, error: WrittenSession.settling)
        try session.retime()
        let files = try session.files()
        let retimed = try RetimedBytes(try #require(files.first))
        let size = Int(retimed.sizeBytes)
        let whole = try retimed.read(at: 0, count: size)
        for _ in 0..<10 {
            var read: [UInt8] = []
            while read.count < size {
                let count = Int.random(in: 1...2_000, using: &random)
                let piece = try retimed.read(at: Int64(read.count), count: count)
                #expect(piece.count == min(count, size - read.count), "seed \(seed)")
                read += piece
            }
            #expect(read == whole, "seed \(seed)")
        }
        for _ in 0..<500 {
            let start = Int.random(in: 0..<size, using: &random)
            let count = Int.random(in: 0...20_000, using: &random)
            let piece = try retimed.read(at: Int64(start), count: count)
            #expect(
                piece == Array(whole[start..<min(size, start + count)]),
                "seed \(seed): \(count) bytes at \(start)")
        }
    }

    @Test func `a piece may begin and end in the middle of a decoding time`() throws {
        let session = try WrittenSession(segments: 1, error: WrittenSession.settling)
        try session.retime()
        let stored = try #require(try session.bytes().first)
        let files = try session.files()
        let retimed = try RetimedBytes(try #require(files.first))
        let whole = try retimed.read(at: 0, count: stored.count)
        for place in try decodeTimes(stored) {
            for start in Int(place.offset) - 9...Int(place.offset) + 9 {
                for count in 0...20 {
                    let piece = try retimed.read(at: Int64(start), count: count)
                    #expect(piece == Array(whole[start..<start + count]), "\(count) at \(start)")
                }
            }
        }
    }

    @Test func `reading after the end gives no bytes`() throws {
        let session = try WrittenSession(segments: 1, error: WrittenSession.settling)
        try session.retime()
        let file = try #require(try session.files().first)
        let stored = try #require(try session.bytes().first)
        let both: [any VirtualFile] = [try RetimedBytes(file), try PlainBytes(file)]
        for virtual in both {
            #expect(virtual.sizeBytes == Int64(stored.count))
            #expect(try virtual.read(at: virtual.sizeBytes, count: 5) == [])
            #expect(try virtual.read(at: virtual.sizeBytes + 100, count: 5) == [])
            let last = try virtual.read(at: virtual.sizeBytes - 3, count: 100)
            #expect(last == Array(stored.suffix(3)))
        }
    }

    @Test func `fragments read as a file that grows have the times of the index`() throws {
        for isReordered in [false, true] {
            // Captured a little after its beginning, so that nothing is decoded before it.
            let session = try WrittenSession(
                lead: -10_000_000, reordered: isReordered, error: WrittenSession.settling)
            try session.retime()
            let stored = try session.bytes()
            for (file, bytes) in zip(try session.files(), stored) {
                try compare(file, bytes)
            }
        }
    }

    /// A decoding time cannot be negative. With reordering, the first picture is presented at the file's start and
    /// decoded before it.
    @Test func `a decoding time before its file begins is moved to the beginning`() throws {
        let lead: Int64 = 80_000_000
        let session = try WrittenSession(
            segments: 1, lead: lead, reordered: true, boundNanoseconds: 100_000_000
        ) { _ in lead + 3_000_000 }
        try session.retime()
        let file = try #require(try session.files().first)
        var cursor = try FileCursor(file)
        let recorded = try cursor.next()
        let first = try #require(recorded?.samples.first { $0.track == .video })
        try #require(first.dtsTicks < 0)
        let size = Int(try file.source().sizeBytes)
        let places = try decodeTimes(try RetimedBytes(file).read(at: 0, count: size))
        #expect(places.first?.trackID == 1 && places.first?.ticks == 0)
    }

    @Test func `sound that is only decoded at first is where it was`() throws {
        let session = try WrittenSession(
            segments: 1, primed: true, error: WrittenSession.settling)
        try session.retime()
        let stored = try session.bytes()
        for (file, bytes) in zip(try session.files(), stored) { try compare(file, bytes) }
    }

    /// Compares the fragments of a retimed file with its own index.
    private func compare(_ file: RecordedFile, _ stored: [UInt8]) throws {
        let retimed = try RetimedBytes(file)
        let range = file.layout.fragments
        let media = try retimed.read(
            at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        var scanner = try FragmentScanner(MemorySource(try file.growing(media)))
        var cursor = try FileCursor(file)
        var counts: [TrackKind: Int] = [:]
        while let recorded = try cursor.next() {
            let next = try scanner.next()
            let scanned = try #require(next)
            for kind in [TrackKind.video, .audio] {
                let track = try #require(file.layout.initialMovie.track(kind))
                let format = try #require(file.format(kind))
                let origin = saturatingRescale(
                    file.originNanoseconds ?? 0, from: .nanoseconds, to: format.timescale)
                let found = scanned.runs.filter { $0.track == kind }.flatMap(\.samples)
                let wanted = recorded.samples.filter { $0.track == kind }.map {
                    $0.dtsTicks - origin + track.mediaTimeShift
                }
                #expect(found.count == wanted.count && !found.isEmpty)
                #expect(found.first?.dts == wanted.first, "\(kind)")
                // A fragment has one time for each track, and its samples keep their recorded distances. The error
                // changes by half a millisecond a second.
                let millisecond = Int64(format.timescale.ticksPerSecond) / 1_000
                for (one, other) in zip(found, wanted) {
                    #expect(abs(one.dts - other) <= millisecond, "\(kind)")
                }
                let times = try WrittenSession.times(stored, kind)
                let first = try #require(found.first)
                let shown = saturatingRescale(
                    first.pts - track.mediaTimeShift, from: format.timescale, to: .nanoseconds)
                let index = counts[kind, default: 0]
                // A tick of rounding, and one of the movie's.
                #expect(abs(shown - times[index]) < 50_000, "\(kind) \(index)")
                counts[kind] = index + found.count
            }
        }
        let rest = try scanner.next()
        // The finished file's index follows.
        guard rest == nil, case .finalMovie = scanner.stop else {
            Issue.record("the walk ended with \(String(describing: scanner.stop))")
            return
        }
        #expect(counts[.video] == 100 && counts[.audio] ?? 0 >= 250)
    }

    @Test func `a file that was not retimed, or is again as it was, is read as it is`() throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        let before = try session.bytes()
        for (file, bytes) in zip(try session.files(), before) {
            #expect(try RetimedBytes(file).read(at: 0, count: bytes.count + 7) == bytes)
        }
        try session.retime()
        try session.undoRetiming()
        for (file, bytes) in zip(try session.files(), before) {
            let retimed = try RetimedBytes(file)
            #expect(try retimed.read(at: 0, count: bytes.count + 7) == bytes)
            #expect(try PlainBytes(file).read(at: 0, count: bytes.count) == bytes)
        }
    }

    @Test func `the recorded bytes of a retimed file can still be read`() throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        try session.retime()
        let stored = try session.bytes()
        for (file, bytes) in zip(try session.files(), stored) {
            #expect(try PlainBytes(file).read(at: 0, count: bytes.count) == bytes)
        }
    }

    @Test func `a file is prepared once for each of its revisions`() throws {
        let session = try WrittenSession(segments: 1, error: WrittenSession.settling)
        let store = RetimedFiles()
        func bytes() throws -> RetimedBytes {
            let file = try #require(try session.files().first)
            return try #require(try store.bytes(of: file) as? RetimedBytes)
        }
        let recorded = try bytes()
        #expect(try bytes() === recorded)
        try session.retime()
        let retimed = try bytes()
        #expect(retimed !== recorded)
        #expect(try bytes() === retimed)
        try session.undoRetiming()
        #expect(try bytes() !== retimed)
    }

    @Test func `partitioning finds the first element that is not before the limit`() {
        let numbers = [1, 3, 3, 5, 9]
        for limit in 0...10 {
            let index = numbers.partitioned { $0 < limit }
            let wanted = numbers.firstIndex { $0 >= limit } ?? numbers.count
            #expect(index == wanted)
        }
        let none = [Int]().partitioned { _ in true }
        #expect(none == 0)
    }
}

extension VirtualFile {
    /// Bytes from `offset`, fewer at the end, which must equal those in memory.
    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        let bytes = Array(buffer: try self.bytes(at: offset, count: count))
        var cached = [UInt8](repeating: 0, count: count)
        let filled = cached.withUnsafeMutableBytes { readCached(at: offset, into: $0) }
        #expect(cached.prefix(filled) == bytes.prefix(filled))
        return bytes
    }
}
