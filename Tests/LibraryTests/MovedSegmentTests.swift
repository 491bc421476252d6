import Archive
import Catalog
import Foundation
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
        let segment = try Self.prove(paths[1], of: "camera", in: archive.layout)
        let name = segment.fileName
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

    @Test func `all totals of a session count a segment without its media`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        let door = archive.layout.source("s", "door")
        try FileManager.default.copyItem(
            atPath: archive.layout.source("s", "camera"), toPath: door)
        var manifest = try SessionManifest("s", in: DirectoryStore(archive.layout))
        manifest.sources.append(manifest.sources[0])
        manifest.sources[1].name = "door"
        try FileSystem.replace(archive.layout.manifest("s"), with: manifest.encoded())
        let name = try #require(paths[1].split(separator: "/").last.map(String.init))
        let size = try paths.map { try FileSystem.size($0) }.reduce(0, +)
        for (source, path) in [("camera", paths[1]), ("door", "\(door)/\(name)")] {
            let segment = try Self.prove(path, of: source, in: archive.layout)
            #expect(try LocalCopyRemoval.remove(segment, in: archive.layout) == nil)
        }
        /// Totals of the listing, of the listing without "door", and of the session's page.
        func totals(_ library: RecordingLibrary) throws -> [SegmentTotals] {
            let listing = try #require(try library.sessions().first)
            let narrow = try #require(try library.narrowed(listing) { $0 == "camera" })
            let sources = try library.overview(of: "s").sources
            #expect(sources.map(\.name) == ["camera", "door"])
            return [listing, narrow].map {
                SegmentTotals(segments: $0.segments, sizeBytes: $0.sizeBytes)
            } + sources.map { SegmentTotals(segments: $0.segments, sizeBytes: $0.sizeBytes) }
        }
        let one = SegmentTotals(segments: 3, sizeBytes: size)
        let both = SegmentTotals(segments: 6, sizeBytes: size * 2)
        let library = try RecordingLibrary(archive.directory.path) { Issue.record("\($0)") }
        #expect(try totals(library) == [both, one, one, one])
        // Among several archives, too.
        let other = SmallArchive()
        try other.addSession("t", segments: 1)
        let several = ArchiveReference(
            [archive, other].map { ArchiveReference(directory: $0.directory.path) })
        let merged = try RecordingLibrary(several) { Issue.record("\($0)") }
        #expect(try totals(merged) == [both, one, one, one])
        _ = try CatalogReference.own.place(archive.layout).rebuild()
        #expect(try totals(library) == [both, one, one, one])
    }

    /// Writes the proof that a store has a segment.
    private static func prove(
        _ path: String, of source: String, in layout: ArchiveLayout
    ) throws -> SegmentKey {
        let name = try #require(path.split(separator: "/").last.map(String.init))
        let segment = try #require(
            SegmentKey(SourceKey(session: "s", source: source), fileName: name))
        let proof = SegmentProof(
            of: segment, content: try #require(try SegmentContent(path)), partBytes: 1 << 20,
            parts: [Digest(of: try FileSystem.read(path, limit: 1 << 20))],
            store: "s3://test/archive", tag: "\"1\"", at: SmallArchive.zero)
        try FileSystem.replace(layout.path(of: segment, .proof), with: proof.encoded())
        return segment
    }
}
