import Library
import MP4
import Recordings
import Testing
import TestRecordings

@testable import Archive

/// A segment's creation time and the time range of its samples.
@Suite struct SegmentTimeTests {
    @Test func `a segment was created when it begins, not when its session did`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("show", segments: 3)
        let zero = SmallArchive.zero.nanoseconds / 1_000_000_000
        for (index, path) in paths.enumerated() {
            let created = zero + Int64(index) * 10
            let (final, first) = try DescriptorSource.withFile(path) { file in
                (
                    try Movie.read(from: file).createdUnixSeconds,
                    try RecordingLayout(of: file).initialMovie.createdUnixSeconds
                )
            }
            #expect(final == created && first == created)
        }
    }

    @Test func `a segment's span is that of its samples, finished or not`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("show", segments: 2)
        let span = try #require(try RecordedSpan(of: RecordedFile(opening: paths[1])))
        #expect(span.startNanoseconds == 10_000_000_000)
        #expect(span.endNanoseconds == 20_000_000_000)
        // Its state before its end: without the index, and with the placeholder in front.
        let whole = try FileSystem.read(paths[1], limit: 1 << 20)
        let layout = try DescriptorSource.withFile(paths[1]) { try RecordingLayout(of: $0) }
        var growing = Array(whole[..<Int(layout.fragments.upperBound)])
        let front = [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8)
        growing.replaceSubrange(32..<48, with: front)
        try FileSystem.replace(paths[1], with: growing)
        #expect(try RecordedSpan(of: RecordedFile(opening: paths[1])) == span)
    }
}
