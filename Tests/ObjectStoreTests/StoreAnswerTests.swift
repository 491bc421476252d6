import Testing
import XML

@testable import ObjectStore

@Suite struct StoreAnswerTests {
    private func parse(_ text: String) -> XMLElement? {
        do throws(XMLElement.Flaw) {
            return try XMLElement.parse(Array(text.utf8))
        } catch {
            return nil
        }
    }

    @Test func `a listing is read below its prefix`() throws {
        let root = try #require(
            parse(
                """
                <ListBucketResult><IsTruncated>true</IsTruncated>
                <Contents><Key>p/s/a.mp4</Key><Size>12</Size><ETag>"t"</ETag>
                <LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>
                <CommonPrefixes><Prefix>p/s/b/</Prefix></CommonPrefixes></ListBucketResult>
                """))
        let (entries, isTruncated) = try StoreAnswers.listing(root, below: "p/")
        #expect(isTruncated)
        #expect(
            entries == [
                ObjectPage.Entry(
                    key: "s/a.mp4", isFolder: false, sizeBytes: 12, tag: "\"t\"",
                    modifiedNanoseconds: 1_369_353_600_000_000_000),
                ObjectPage.Entry(
                    key: "s/b/", isFolder: true, sizeBytes: 0, tag: "", modifiedNanoseconds: nil),
            ])
        #expect(throws: StoreAnswers.Broken.self) {
            try StoreAnswers.listing(root, below: "other/")
        }
    }

    @Test(arguments: [
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>",
        "<ListBucketResult><CommonPrefixes/></ListBucketResult>", "<html/>",
    ])
    func `a listing that lacks something is refused`(_ text: String) throws {
        let root = try #require(parse(text))
        #expect(throws: StoreAnswers.Broken.self) { try StoreAnswers.listing(root, below: "") }
    }

    @Test func `the parts of an upload are listed and sent back with their digests`() throws {
        let digest = ObjectDigest(sha256: [UInt8](repeating: 7, count: 32))
        let root = try #require(
            parse(
                """
                <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>
                <Part><PartNumber>1</PartNumber><Size>5</Size><ETag>&quot;a&quot;</ETag>
                <ChecksumSHA256>\(digest.base64)</ChecksumSHA256></Part>
                <Part><PartNumber>2</PartNumber><Size>6</Size><ETag>b</ETag></Part></ListPartsResult>
                """))
        let (parts, next) = try StoreAnswers.parts(root)
        #expect(next == 2)
        #expect(parts.map(\.digest) == [digest, nil])
        let sent = try XMLElement.parse(StoreAnswers.completion(parts))
        #expect(sent.children.map { $0.text(of: "ETag") } == ["\"a\"", "b"])
        #expect(sent.children.map { $0.text(of: "ChecksumSHA256") } == [digest.base64, nil])
    }
}
