import Testing

@testable import ObjectStore

@Suite struct XMLTests {
    private func parse(_ text: String) -> XMLElement? {
        do throws(XMLElement.Flaw) {
            return try XMLElement.parse(Array(text.utf8))
        } catch {
            return nil
        }
    }

    @Test func `elements, text and references are read`() throws {
        let root = try #require(
            parse(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- a comment -->
                <s3:List xmlns:s3="x>y" a='1'>
                  <Key>a&amp;b&#60;&#x3E;&quot;</Key><Empty/><Data><![CDATA[<&>]]></Data>
                </s3:List>

                """))
        #expect(root.name == "List")
        #expect(root.children.map(\.name) == ["Key", "Empty", "Data"])
        #expect(root.text(of: "Key") == "a&b<>\"")
        #expect(root.text(of: "Empty") == "")
        #expect(root.text(of: "Data") == "<&>")
    }

    @Test(arguments: [
        "", " ", "x", "<a>", "<a></b>", "</a>", "<a/><b/>", "<a>&b;</a>", "<a>&#xD800;</a>",
        "<a>&", "<a><![CDATA[x</a>", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "<a b=\"></a>",
        "<a", "< a></a>", "<a>x</a>y", "<a><</a>", "<>", "<a></a", "<!-- x",
    ])
    func `what is not well formed is refused`(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test func `what is too much is refused`() {
        let deep = { (levels: Int) in
            String(repeating: "<a>", count: levels) + String(repeating: "</a>", count: levels)
        }
        #expect(parse(deep(XMLElement.maximumDepth)) != nil)
        #expect(parse(deep(XMLElement.maximumDepth + 1)) == nil)
        let wide = { (count: Int) in "<a>" + String(repeating: "<b/>", count: count) + "</a>" }
        #expect(parse(wide(XMLElement.maximumElements - 1)) != nil)
        #expect(parse(wide(XMLElement.maximumElements)) == nil)
        let long = { (count: Int) in "<a>" + String(repeating: "x", count: count) + "</a>" }
        #expect(parse(long(XMLElement.maximumTextBytes)) != nil)
        #expect(parse(long(XMLElement.maximumTextBytes + 1)) == nil)
        #expect(parse("<a>" + String(repeating: "&lt;", count: 20_000) + "</a>") == nil)
    }

    @Test func `every cut of a document is refused, not trapped on`() {
        let text = Array(
            "<?xml version='1.0'?><a b=\"c\"><d>&amp;&#x41;</d><![CDATA[e]]><!--f--></a>".utf8)
        for length in 0..<text.count {
            #expect(throws: XMLElement.Flaw.self) { try XMLElement.parse(Array(text[..<length])) }
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
