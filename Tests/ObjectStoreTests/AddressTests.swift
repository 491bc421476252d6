import Testing

@testable import ObjectStore

@Suite struct AddressTests {
    private func flaw(_ text: String) -> StoreAddress.Flaw? {
        do throws(StoreAddress.Flaw) {
            _ = try StoreAddress(text)
            return nil
        } catch {
            return error
        }
    }

    private func flaw(endpoint text: String) -> StoreEndpoint.Flaw? {
        do throws(StoreEndpoint.Flaw) {
            _ = try StoreEndpoint(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an address names a bucket and a prefix`() throws {
        let address = try S3Address("s3://tributary/site/one/")
        #expect(address.bucket == "tributary")
        #expect(address.prefix == "site/one/")
        #expect(address.description == "s3://tributary/site/one")
        #expect(try S3Address("s3://tributary").prefix == "")
    }

    @Test(arguments: [
        ("tributary", StoreAddress.Flaw.noAddress), ("s3://", .bucket), ("s3://Aaa", .bucket),
        ("s3://ab", .bucket), ("s3://a..b", .bucket), ("s3://-abc", .bucket),
        ("s3://user:secret@abc", .bucket), ("s3://abc//x", .prefix), ("s3://abc/../x", .prefix),
        ("s3://abc/x y", .prefix), ("s3://abc/" + String(repeating: "x", count: 2_000), .tooLong),
    ])
    func `an invalid address is refused`(_ text: String, _ expected: StoreAddress.Flaw) {
        #expect(flaw(text) == expected)
    }

    @Test func `Amazon's buckets have their own hosts, others a path`() throws {
        let amazon = try S3Address("s3://tributary/x", region: "eu-central-1").target
        #expect(
            amazon
                == RequestTarget(
                    isSecure: true, host: "tributary.s3.eu-central-1.amazonaws.com", path: ""))
        // No certificate covers a name with one more dot.
        #expect(
            try S3Address("s3://a.b.c").target
                == RequestTarget(
                    isSecure: true, host: "s3.us-east-1.amazonaws.com", path: "/a.b.c"))
        let other = try S3Address(
            "s3://tributary", endpoint: StoreEndpoint("http://127.0.0.1:8333/")
        ).target
        #expect(
            other == RequestTarget(isSecure: false, host: "127.0.0.1:8333", path: "/tributary"))
    }

    @Test func `an endpoint's own port is left out`() throws {
        #expect(
            try StoreEndpoint("https://Store.Example:443").description == "https://store.example")
        #expect(try StoreEndpoint("http://[::1]:9000").authority == "[::1]:9000")
        #expect(try StoreEndpoint("http://[::1]").port == nil)
    }

    @Test(arguments: [
        ("store.example", StoreEndpoint.Flaw.scheme), ("ftp://store", .scheme),
        ("https://", .host), ("https://-x", .host), ("http://a b", .host),
        ("http://a:0", .port), ("http://a:99999", .port), ("http://u:p@a", .credentials),
        ("http://a/path", .path), ("http://a?x", .path), ("http://[zz]", .host),
    ])
    func `an invalid endpoint is refused`(_ text: String, _ expected: StoreEndpoint.Flaw) {
        #expect(flaw(endpoint: text) == expected)
    }

    @Test func `an error message never has the password`() {
        #expect(flaw(endpoint: "http://u:hunter2@a")?.description.contains("hunter2") == false)
    }

    @Test func `keys are encoded as signatures want them`() {
        #expect(URIEncoding.encoded("a/b c+é~", keepsSlashes: true) == "a/b%20c%2B%C3%A9~")
        #expect(URIEncoding.encoded("a/b:c") == "a%2Fb%3Ac")
    }
}
