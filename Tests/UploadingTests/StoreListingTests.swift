import ObjectStore
import Synchronization
import TestRecordings
import Testing

@testable import Uploading

/// Listings that do not end.
@Suite struct StoreListingTests {
    /// A store with an endless number of objects and slow pages.
    private final class EndlessBucket: ObjectBucket {
        let name = "s3://endless/archive"
        let pageObjects: Int
        let pageNanoseconds: Int64
        let clock: VirtualClock
        private let listed = Atomic(0)

        init(pageObjects: Int, pageNanoseconds: Int64, clock: VirtualClock) {
            self.pageObjects = pageObjects
            self.pageNanoseconds = pageNanoseconds
            self.clock = clock
        }

        func list(
            prefix: String, after: String?, folders: Bool
        ) throws(ObjectStoreError) -> ObjectPage {
            clock.sleep(pageNanoseconds)
            let last = listed.add(pageObjects, ordering: .relaxed).newValue
            let keys = (last - pageObjects..<last).map { "\(prefix)\(1_000_000_000 + $0)" }
            return ObjectPage(
                entries: keys.map {
                    ObjectPage.Entry(
                        key: $0, isFolder: false, sizeBytes: 1, tag: "", modifiedNanoseconds: nil)
                }, isTruncated: true)
        }

        private static let refusal = ObjectStoreError(.refused, "it only lists")

        func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
            throw Self.refusal
        }
        func read(
            _ key: String, range: Range<Int64>, tag: String?
        ) throws(ObjectStoreError) -> [UInt8] { throw Self.refusal }
        func presignedAddress(
            of key: String, validSeconds: Int, contentType: String
        ) throws(ObjectStoreError) -> String { throw Self.refusal }
        func put(
            _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectProperties { throw Self.refusal }
        func beginUpload(
            of key: String, metadata: [String: String]
        ) throws(ObjectStoreError) -> String { throw Self.refusal }
        func putPart(
            _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
        ) throws(ObjectStoreError) -> UploadedPart { throw Self.refusal }
        func parts(
            of upload: String, key: String
        ) throws(ObjectStoreError) -> [UploadedPart]? { throw Self.refusal }
        func completeUpload(
            _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectProperties { throw Self.refusal }
        func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError) {
            throw Self.refusal
        }
        func delete(_ key: String) throws(ObjectStoreError) { throw Self.refusal }
    }

    private func count(
        pageObjects: Int, pageNanoseconds: Int64
    ) -> (objects: Int, seconds: Int64, failure: UploadError?) {
        let clock = VirtualClock()
        let began = clock.now
        let archive = SmallArchive()
        let place = UploadTarget(
            EndlessBucket(
                pageObjects: pageObjects, pageNanoseconds: pageNanoseconds, clock: clock),
            archive.layout, settings: UploadSettings(),
            surroundings: UploadSurroundings(
                now: { clock.now }, utc: { SmallArchive.zero }, sleep: { clock.sleep($0) },
                random: { 0 }), figures: UploadFigures())
        var objects = 0
        var failure: UploadError?
        do throws(UploadError) {
            try StoreListing(of: "s/", folders: false, in: place).forEach { _ in objects += 1 }
        } catch {
            failure = error
        }
        return (objects, (clock.now - began) / 1_000_000_000, failure)
    }

    @Test func `a quick endless listing ends at a number of objects`() {
        let found = count(pageObjects: 100_000, pageNanoseconds: 100_000_000)
        #expect(found.objects == StoreListing.maximumObjects + 100_000)
        guard case .setAside(let line) = found.failure else {
            Issue.record("\(String(describing: found.failure))")
            return
        }
        #expect(line.contains("s3://endless/archive/s/ has no end"))
    }

    @Test func `a listing that advances too slowly ends after a minute`() {
        // Each page needs the maximum time of an exchange.
        let found = count(pageObjects: 1, pageNanoseconds: 20_000_000_000)
        #expect(found.seconds == 80 && found.failure != nil)
    }

    @Test func `a slow listing that advances continues`() {
        let found = count(pageObjects: 1_000, pageNanoseconds: 900_000_000)
        #expect(found.objects > StoreListing.maximumObjects)
    }
}
