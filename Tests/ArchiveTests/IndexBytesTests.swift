import Foundation
import MP4
import Media
import TestRecordings
import Testing

@testable import Archive

/// The final index is the one that the fragments require, to the byte.
@Suite struct IndexBytesTests {
    private func index(_ bytes: [UInt8]) throws -> BoxHeader {
        let source = MemorySource(bytes)
        var scanner = try FragmentScanner(source)
        while try scanner.next() != nil {}
        return try IndexReplacement(
            of: source, layout: scanner.layout, fragmentsEnd: scanner.validEnd
        ).current
    }

    private func verify(_ bytes: [UInt8], _ path: String) -> FileReport {
        FileVerifier.examine(path, in: MemorySource(bytes), ledger: nil).report
    }

    @Test func `every flipped bit of an index is detected`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 1)[0]
        let whole = try FileSystem.read(path, limit: 1 << 20)
        #expect(verify(whole, path).isIntact)
        let moov = try index(whole)
        for place in Int(moov.offset)..<Int(moov.end) {
            var bytes = whole
            bytes[place] ^= UInt8(1) << UInt8(place % 8)
            let isIntact = verify(bytes, path).isIntact
            #expect(!isIntact, "byte \(place) of the index at \(moov.offset)")
        }
    }

    @Test func `every flipped bit of a retimed index is detected`() throws {
        let session = try WrittenSession(segments: 1, secondsEach: 2) { _ in 2_000_000 }
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).retime(isDryRun: false)
        let path = try session.paths[0]
        let whole = try session.bytes()[0]
        #expect(verify(whole, path).retiming != nil)
        #expect(verify(whole, path).isIntact)
        let moov = try index(whole)
        let movie = try Movie(reading: moov, from: MemorySource(whole))
        let record = movie.userBoxes.map(\.bytes.count).reduce(0, +)
        for place in stride(from: Int(moov.offset), to: Int(moov.end) - record, by: 3) {
            var bytes = whole
            bytes[place] ^= UInt8(1) << UInt8(place % 8)
            let isIntact = verify(bytes, path).isIntact
            #expect(!isIntact, "byte \(place) of the index at \(moov.offset)")
        }
    }

    @Test func `bytes after the index are not those of an interrupted retiming`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 1)[0]
        let whole = try FileSystem.read(path, limit: 1 << 20)
        let garbage = verify(whole + (0..<250).map { UInt8($0) ^ 0x5A }, path)
        #expect(
            garbage.findings.map(\.text)
                == ["250 bytes after the index are not part of the recording"])
        #expect(!garbage.isIntact)
        #expect(verify(whole + [UInt8](repeating: 0, count: 250), path).isIntact)
    }

    /// 0.1.0 wrote no timecode track where a track begins with the file.
    @Test func `an index without a timecode track is that of an earlier version`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 1)[0]
        let whole = try FileSystem.read(path, limit: 1 << 20)
        let moov = try index(whole)
        let found = Array(whole[Int(moov.offset)..<Int(moov.end)])
        let source = MemorySource(whole)
        var scanner = try FragmentScanner(source)
        var initial = scanner.layout.initialMovie
        let hadTimecode = initial.timecode != nil
        initial.timecode = nil
        var builder = try FinalMovieBuilder(initialMovie: initial)
        while let fragment = try scanner.next() { try builder.append(fragment) }
        let earlier = try builder.movie()
        #expect((earlier != found) == hadTimecode)
        #expect(
            try MovieComparison.difference(earlier, at: moov.offset, expected: found) == nil)
        var damaged = earlier
        damaged[damaged.count - 1] ^= 1
        #expect(
            try MovieComparison.difference(damaged, at: moov.offset, expected: found)?.box
                == "stco")
    }
}
