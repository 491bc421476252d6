import Archive
import Foundation
import HTTPTypes
import Hummingbird
import Library
import ObjectStore
import Recordings
import Testing
import TestRecordings
import TestStores

@testable import ViewerCore

/// Media that is fetched from the object store directly.
@Suite struct StoreRedirectTests {
    private let archive = SmallArchive()
    private let bucket = SimulatedBucket()
    private let source = SourceKey(session: "s", source: "camera")

    /// An archive of two segments, the first of which is in the bucket alone.
    /// - Returns: the names of both, without suffixes.
    private func moved() throws -> (away: String, here: String) {
        let paths = try archive.addSession("s", segments: 2)
        let names = paths.map { URL(filePath: $0).deletingPathExtension().lastPathComponent }
        let bytes = try FileSystem.read(paths[0], limit: 1 << 20)
        _ = try bucket.put(
            bytes, at: "s/camera/\(names[0]).mp4",
            digest: ObjectDigest(sha256: Digest(of: bytes).bytes), condition: .none)
        try FileManager.default.removeItem(atPath: paths[0])
        return (names[0], names[1])
    }

    private func answer(
        _ resource: SegmentResource, seconds: Int?
    ) throws -> PlaylistAPI.Answer {
        let library = try RecordingLibrary(
            ArchiveReference(
                directory: archive.layout.root,
                bucket: ObjectSegmentStore(bucket, cacheBytes: 1 << 20, pause: { _ in })),
            isReadOnly: true
        ) { _ in }
        return try PlaylistAPI.answer(
            resource, of: source, redirectSeconds: seconds, retimed: RetimedFiles(), library)
    }

    @Test func `media that only the store has is redirected there, if allowed`() throws {
        let (away, here) = try moved()
        guard
            case .elsewhere(let address) = try answer(
                .media(file: away, revision: 0), seconds: 60)
        else {
            Issue.record("the viewer sends it")
            return
        }
        #expect(address == "https://store.test/s/camera/\(away).mp4?valid=60&type=video/mp4")
        let others: [(SegmentResource, Int?)] = [
            // It was not allowed.
            (.media(file: away, revision: 0), nil),
            // It is on the disk.
            (.media(file: here, revision: 0), 60),
            // It is no range of the file.
            (.initialization(file: away), 60), (.initialization(file: here), 60),
        ]
        for (resource, seconds) in others {
            guard case .file = try answer(resource, seconds: seconds) else {
                Issue.record("\(resource) is fetched elsewhere")
                continue
            }
        }
    }

    @Test func `media of another revision, and media that is nowhere, have no address`() throws {
        let (away, _) = try moved()
        #expect(throws: Problem.self) {
            try answer(.media(file: away, revision: 7), seconds: 60)
        }
        #expect(throws: ArchiveError.self) {
            try answer(.media(file: "2026-01-01T00-00-00.000Z", revision: 0), seconds: 60)
        }
    }

    @Test func `a redirect keeps the method and is not cached`() {
        let response = PlaylistAPI.redirect(to: "https://store.test/a?X-Amz-Signature=1")
        #expect(response.status.code == 307)
        #expect(response.headers[.location] == "https://store.test/a?X-Amz-Signature=1")
        #expect(response.headers[.cacheControl] == "private, no-store")
    }

    @Test func `only pages of configured origins may frame the embedded page`() {
        let closed = AnswerHeaders.policy(mediaOrigin: nil)
        #expect(closed.hasSuffix("frame-ancestors 'none'"))
        let open = AnswerHeaders.policy(
            mediaOrigin: nil, framedBy: ["https://a.example", "https://b.example:8443"])
        #expect(open.hasSuffix("frame-ancestors https://a.example https://b.example:8443"))
    }

    @Test func `the page may load from the store only where the viewer redirects to it`() {
        let closed = AnswerHeaders.policy(mediaOrigin: nil)
        #expect(closed.contains("default-src 'self';") && !closed.contains("http"))
        #expect(!closed.contains("connect-src"))
        let open = AnswerHeaders.policy(mediaOrigin: "https://store.example:9000")
        #expect(open.contains("; connect-src 'self' https://store.example:9000;"))
        #expect(open.contains("; media-src 'self' blob: https://store.example:9000;"))
        #expect(open.components(separatedBy: "store.example").count == 3)
    }
}
