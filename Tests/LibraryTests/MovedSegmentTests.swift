import Archive
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// Listings of segments whose media is only in an object store that is not read.
@Suite struct MovedSegmentTests {
    @Test func `a segment without its media is listed from its proof`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        let library = try RecordingLibrary(archive.directory.path) { Issue.record("\($0)") }
        let before = try library.segments(of: "s")
        let owner = SourceKey(session: "s", source: "camera")
        let name = try #require(paths[1].split(separator: "/").last.map(String.init))
        let segment = try #require(SegmentKey(owner, fileName: name))
        let content = try #require(try SegmentContent(paths[1]))
        let proof = SegmentProof(
            of: segment, content: content, partBytes: 1 << 20,
            parts: [Digest(of: try FileSystem.read(paths[1], limit: 1 << 20))],
            store: "s3://test/archive", tag: "\"1\"", at: SmallArchive.zero)
        try FileSystem.replace(archive.layout.path(of: segment, .proof), with: proof.encoded())
        #expect(try library.segments(of: "s").map(\.path) == before.map(\.path))
        #expect(try LocalCopyRemoval.remove(segment, in: archive.layout) == nil)
        let after = try library.segments(of: "s")
        #expect(after.map(\.segment) == before.map(\.segment))
        #expect(after.map(\.startNanoseconds) == before.map(\.startNanoseconds))
        #expect(after.map(\.endNanoseconds) == before.map(\.endNanoseconds))
        #expect(after.map(\.sizeBytes) == before.map(\.sizeBytes))
        #expect(after[1].path == "s3://test/archive/s/camera/\(name)")
        // The list of sessions counts it, as a catalog does.
        let listed = try library.sessions()
        #expect(listed.map(\.segments) == [3])
        #expect(listed.map(\.sizeBytes) == [before.map(\.sizeBytes).reduce(0, +)])
        let absent = try library.absentMedia(of: "s")
        #expect(absent.map(\.segment) == [segment] && absent.map(\.store) == ["s3://test/archive"])
        #expect(absent.first?.startNanoseconds == before[1].startNanoseconds)
        #expect(absent.first?.endNanoseconds == before[1].endNanoseconds)
        let (start, end) = (before[1].startNanoseconds, before[1].endNanoseconds)
        #expect(absent.first?.mayOverlap(from: nil, until: start) == false)
        #expect(absent.first?.mayOverlap(from: end, until: nil) == false)
        #expect(absent.first?.mayOverlap(from: start, until: end) == true)
        // One with a damaged proof is left out: `verify` reports it.
        try FileSystem.replace(archive.layout.path(of: segment, .proof), with: [1, 2, 3])
        #expect(try library.segments(of: "s").count == 2)
    }
}
