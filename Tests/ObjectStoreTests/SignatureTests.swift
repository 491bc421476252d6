import Hashing
import Testing

@testable import ObjectStore

/// The examples of the Amazon S3 API Reference, "Signature Calculations for the Authorization Header" and "Authenticating Requests: Using
/// Query Parameters".
@Suite struct SignatureTests {
    private static let host = "examplebucket.s3.amazonaws.com"
    private static let emptyDigest =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private let signer = RequestSigner(
        credentials: StoreCredentials(
            accessKey: "AKIAIOSFODNN7EXAMPLE",
            secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), region: "us-east-1")
    /// 2013-05-24T00:00:00Z.
    private let time = RequestTime(nanoseconds: 1_369_353_600_000_000_000)

    private func authorization(_ headers: [RequestSigner.Header]) -> String? {
        headers.first { $0.name == "Authorization" }?.value
    }

    private func expected(_ names: String, _ signature: String) -> String {
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            + "SignedHeaders=\(names), Signature=\(signature)"
    }

    @Test func `a range of an object is signed as published`() {
        let headers = signer.signed(
            method: "GET", path: "/test.txt", query: [],
            headers: [
                ("Host", Self.host), ("Range", "bytes=0-9"),
                ("x-amz-content-sha256", Self.emptyDigest),
            ], payloadDigest: Self.emptyDigest, at: time)
        #expect(
            authorization(headers)
                == expected(
                    "host;range;x-amz-content-sha256;x-amz-date",
                    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
        #expect(headers.contains { $0.name == "x-amz-date" && $0.value == "20130524T000000Z" })
    }

    @Test func `the signature of a PUT equals Amazon's published example`() {
        let digest = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
        let headers = signer.signed(
            method: "PUT",
            path: "/" + URIEncoding.encoded("test$file.text", keepsSlashes: true), query: [],
            headers: [
                ("Host", Self.host), ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-content-sha256", digest), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ], payloadDigest: digest, at: time)
        #expect(
            authorization(headers)
                == expected(
                    "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test(arguments: [
        ([("lifecycle", "")], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        (
            [("prefix", "J"), ("max-keys", "2")],
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        ),
    ])
    func `a query is signed as published`(_ query: [(String, String)], _ signature: String) {
        let headers = signer.signed(
            method: "GET", path: "/", query: query.map { (name: $0.0, value: $0.1) },
            headers: [("Host", Self.host), ("x-amz-content-sha256", Self.emptyDigest)],
            payloadDigest: Self.emptyDigest, at: time)
        #expect(
            authorization(headers)
                == expected("host;x-amz-content-sha256;x-amz-date", signature))
    }

    @Test func `the signature of a presigned URL equals Amazon's published example`() {
        let query = signer.presignedQuery(
            method: "GET", host: Self.host, path: "/test.txt", query: [], validSeconds: 86_400,
            at: time)
        #expect(
            query
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        )
    }

    @Test func `the token of temporary credentials is signed too`() {
        var temporary = signer.credentials
        temporary.sessionToken = "token"
        let headers = RequestSigner(credentials: temporary, region: "us-east-1").signed(
            method: "GET", path: "/", query: [], headers: [("Host", Self.host)],
            payloadDigest: Self.emptyDigest, at: time)
        #expect(
            authorization(headers)?.contains(
                "SignedHeaders=host;x-amz-date;x-amz-security-token,") == true)
    }

    @Test func `times are read and written`() throws {
        let http = try #require(RequestTime(httpDate: "Fri, 24 May 2013 00:00:00 GMT"))
        #expect(http == time)
        let listed = try #require(RequestTime(extended: "2024-02-29T23:59:59.250Z"))
        #expect(listed.basic == "20240229T235959Z")
        #expect(listed.nanoseconds % 1_000_000_000 == 250_000_000)
        #expect(RequestTime(nanoseconds: 951_782_400_000_000_000).basic == "20000229T000000Z")
        for text in ["", "2024-02-29", "2024-13-01T00:00:00Z", "9999-01-01T00:00:00Z", "x"] {
            #expect(RequestTime(extended: text) == nil)
        }
        #expect(RequestTime(httpDate: "Fri, 24 Mai 2013 00:00:00 GMT") == nil)
    }
}
