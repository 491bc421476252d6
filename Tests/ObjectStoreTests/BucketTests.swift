import Hashing
import Synchronization
import Testing

@testable import ObjectStore

/// Gives prepared answers and records the requests.
private final class WrittenTransport: StoreTransport {
    private let answers: Mutex<[Result<StoreAnswer, TransportFailure>]>
    private let asked = Mutex<[StoreRequest]>([])

    init(_ answers: [Result<StoreAnswer, TransportFailure>]) { self.answers = Mutex(answers) }

    var requests: [StoreRequest] { asked.withLock { $0 } }

    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer {
        asked.withLock { $0.append(request) }
        let next = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { throw TransportFailure("nothing is written down") }
        return try next.get()
    }
}

extension Result where Success == StoreAnswer, Failure == TransportFailure {
    fileprivate static func answer(
        _ status: Int, _ headers: [String: String] = [:], _ body: String = ""
    ) -> Result {
        .success(StoreAnswer(status: status, headers: headers, body: Array(body.utf8)))
    }

    fileprivate static func error(_ status: Int, _ code: String, _ message: String = "") -> Result {
        answer(status, [:], "<Error><Code>\(code)</Code><Message>\(message)</Message></Error>")
    }
}

extension StoreRequest {
    fileprivate func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }
}

@Suite struct BucketTests {
    private static let secret = "hunter2hunter2"

    private func bucket(
        _ transport: WrittenTransport, keys: [String] = ["key"]
    ) throws -> S3Bucket {
        let rest = Mutex(keys)
        return S3Bucket(
            try S3Address("s3://tributary/p", endpoint: StoreEndpoint("http://store:8333")),
            credentials: CredentialsSource(
                environment: ["HOME": "/home/a"],
                readFile: { _ in
                    let key = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                    return Array(
                        "[default]\naws_access_key_id=\(key)\naws_secret_access_key=\(Self.secret)\n"
                            .utf8)
                }, monotonicNow: { 0 }), transport: transport,
            utcNow: { 1_369_353_600_000_000_000 })
    }

    /// The error that a bucket returns for the answers.
    private func failure(
        _ answers: [Result<StoreAnswer, TransportFailure>],
        _ work: (S3Bucket) throws(ObjectStoreError) -> Void
    ) throws -> ObjectStoreError? {
        let bucket = try bucket(WrittenTransport(answers))
        do throws(ObjectStoreError) {
            try work(bucket)
            return nil
        } catch {
            return error
        }
    }

    private func digest(_ bytes: [UInt8]) -> ObjectDigest {
        ObjectDigest(sha256: HashFunction.sha256.hash(bytes))
    }

    @Test func `a PUT has every digest that any store checks`() throws {
        let transport = WrittenTransport([.answer(200, ["etag": "\"t\""])])
        let bytes = Array("Welcome to Amazon S3.".utf8)
        let properties = try bucket(transport).put(
            bytes, at: "s/session.json", digest: digest(bytes), condition: .absent)
        #expect(properties.tag == "\"t\"")
        #expect(properties.sizeBytes == 21)
        let request = try #require(transport.requests.first)
        #expect(request.address == "http://store:8333/tributary/p/s/session.json")
        #expect(request.header("host") == "store:8333")
        #expect(
            request.header("x-amz-content-sha256")
                == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
        #expect(request.header("x-amz-checksum-sha256") == digest(bytes).base64)
        #expect(
            request.header("content-md5")
                == ByteText.base64(HashFunction.md5.hash(bytes)))
        #expect(request.header("if-none-match") == "*")
        // All of them are signed.
        let names =
            "content-md5;content-type;host;if-none-match;x-amz-checksum-sha256;x-amz-content-sha256;x-amz-date"
        #expect(request.header("authorization")?.contains("SignedHeaders=\(names),") == true)
    }

    @Test func `weak entity tags are used without their mark`() throws {
        let transport = WrittenTransport([
            .answer(200, ["etag": "W/\"t\"", "content-length": "3"]),
            .answer(200, ["etag": "W/\"u\""]), .answer(200, ["etag": "W/\"v\""]),
            .answer(206, ["content-range": "bytes 0-0/1"], "a"),
        ])
        let bucket = try bucket(transport)
        #expect(try bucket.properties(of: "a")?.tag == "\"t\"")
        let made = try bucket.put([1], at: "a", digest: digest([1]), condition: .tag("W/\"t\""))
        #expect(made.tag == "\"u\"")
        #expect(transport.requests.last?.header("if-match") == "\"t\"")
        let part = try bucket.putPart(
            1, of: "b", key: "a", bytes: ObjectBytes([1]), digest: digest([1]))
        #expect(part.tag == "\"v\"")
        #expect(try bucket.read("a", range: 0..<1, tag: "W/\"t\"") == Array("a".utf8))
        #expect(transport.requests.last?.header("if-match") == "\"t\"")
    }

    @Test(
        arguments: [
            ("7", 7), ("Fri, 24 May 2013 00:00:09 GMT", 9), ("3600", 300), ("soon", nil),
            ("-1", nil),
            ("Thu, 23 May 2013 00:00:00 GMT", nil), ("99999999999999999999", nil), (nil, nil),
        ] as [(String?, Int64?)])
    func `a busy store's Retry-After is seconds or a date, and bounded`(
        _ value: String?, _ seconds: Int64?
    ) throws {
        var headers = ["date": "Fri, 24 May 2013 00:00:00 GMT"]
        headers["retry-after"] = value
        let error = try failure([.answer(503, headers)]) { bucket throws(ObjectStoreError) in
            try bucket.delete("a")
        }
        #expect(error?.kind == .busy)
        #expect(error?.retryAfterNanoseconds == seconds.map { $0 * 1_000_000_000 })
    }

    @Test func `a store that returns its digest gets no other digest`() throws {
        let bytes = Array("Welcome to Amazon S3.".utf8)
        let told = ["etag": "t", "x-amz-checksum-sha256": digest(bytes).base64]
        let transport = WrittenTransport([
            .answer(200, told), .answer(200, told), .answer(200, ["etag": "t"]),
            .answer(200, told), .answer(200, told),
        ])
        let bucket = try bucket(transport)
        func put() throws(ObjectStoreError) {
            _ = try bucket.put(bytes, at: "a", digest: digest(bytes), condition: .none)
        }
        try put()
        try put()
        // Without the store's digest, there is no evidence of its check.
        let error = #expect(throws: ObjectStoreError.self) { try put() }
        #expect(error?.kind == .digest)
        try put()
        try put()
        #expect(
            transport.requests.map { $0.header("content-md5") != nil }
                == [true, false, false, true, true])
        #expect(transport.requests.allSatisfy { $0.header("x-amz-checksum-sha256") != nil })
    }

    @Test func `a different digest in the store's answer is an error`() throws {
        let other = digest([1]).base64
        let error = try failure([
            .answer(200, ["etag": "t", "x-amz-checksum-sha256": other])
        ]) { bucket throws(ObjectStoreError) in
            _ = try bucket.put([2], at: "a", digest: digest([2]), condition: .none)
        }
        #expect(error?.kind == .digest)
    }

    @Test(arguments: [
        (500, "InternalError", ObjectStoreError.Kind.busy), (502, "", .busy),
        (503, "SlowDown", .busy), (504, "", .busy), (429, "", .busy),
        (403, "AccessDenied", .denied),
        (403, "SignatureDoesNotMatch", .denied), (401, "", .denied), (400, "ExpiredToken", .denied),
        (403, "RequestTimeTooSkewed", .clock), (404, "NoSuchBucket", .noBucket),
        (404, "NoSuchUpload", .gone), (412, "PreconditionFailed", .exists),
        (409, "ConditionalRequestConflict", .busy), (400, "BadDigest", .digest),
        (400, "XAmzContentSHA256Mismatch", .digest), (507, "", .full),
        (403, "QuotaExceeded", .full),
        (400, "InvalidArgument", .refused), (301, "PermanentRedirect", .refused),
        (501, "", .refused),
    ])
    func `refusals have kinds`(
        _ status: Int, _ code: String, _ expected: ObjectStoreError.Kind
    ) throws {
        let answer: Result<StoreAnswer, TransportFailure> =
            code.isEmpty ? .answer(status) : .error(status, code, "why")
        let error = try failure([answer]) { bucket throws(ObjectStoreError) in
            _ = try bucket.put([], at: "a", digest: digest([]), condition: .absent)
        }
        #expect(error?.kind == expected)
        #expect(
            error?.message.hasPrefix("s3://tributary/p: cannot put a: the store answers \(status)")
                == true)
    }

    @Test func `a failed condition has its own kind of error`() throws {
        let error = try failure([.error(412, "PreconditionFailed")]) {
            bucket throws(ObjectStoreError) in
            _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("t"))
        }
        #expect(error?.kind == .changed)
    }

    @Test func `a PUT's condition uses the tag's form that the store accepts`() throws {
        let transport = WrittenTransport([
            .error(412, "PreconditionFailed"), .answer(200, ["etag": "\"u\""]),
            .answer(200, ["etag": "\"v\""]), .error(412, "PreconditionFailed"),
        ])
        let bucket = try bucket(transport)
        _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("\"t\""))
        _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("\"u\""))
        #expect(transport.requests.map { $0.header("if-match") } == ["\"t\"", "t", "u"])
        let error = try #require(throws: ObjectStoreError.self) {
            _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("\"u\""))
        }
        #expect(error.kind == .changed)
        #expect(transport.requests.count == 4)
    }

    @Test func `a tag that was replaced fails in both forms`() throws {
        let transport = WrittenTransport([
            .error(412, "PreconditionFailed"), .error(412, "PreconditionFailed"),
            .answer(200, ["etag": "\"u\""]),
        ])
        let bucket = try bucket(transport)
        let error = try #require(throws: ObjectStoreError.self) {
            _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("\"t\""))
        }
        #expect(error.kind == .changed)
        // The failure does not affect the next request.
        _ = try bucket.put([], at: "a", digest: digest([]), condition: .tag("\"t\""))
        #expect(transport.requests.last?.header("if-match") == "\"t\"")
    }

    @Test(arguments: ["\"x-2\"", "x-2", ""])
    func `a completed upload has a tag, whatever the response contains`(_ told: String) throws {
        let transport = WrittenTransport([
            .answer(
                200, [:],
                "<CompleteMultipartUploadResult><ETag>\(told)</ETag></CompleteMultipartUploadResult>"
            ), .answer(200, ["content-length": "5", "etag": "\"x-2\""]),
        ])
        let parts = [UploadedPart(number: 1, sizeBytes: 5, tag: "\"a\"", digest: nil)]
        let made = try bucket(transport).completeUpload(
            "u", key: "a", parts: parts, condition: .absent)
        #expect(made == ObjectProperties(sizeBytes: 5, tag: "\"x-2\""))
        #expect(transport.requests.count == (told.isEmpty ? 2 : 1))
    }

    @Test func `a wrong clock is distinguished from missing rights`() throws {
        // An answer to HEAD has no body: the store's clock is half an hour on.
        let error = try failure([.answer(403, ["date": "Fri, 24 May 2013 00:30:00 GMT"])]) {
            bucket throws(ObjectStoreError) in _ = try bucket.properties(of: "a")
        }
        #expect(error?.kind == .clock)
        let other = try failure([.answer(403, ["date": "Fri, 24 May 2013 00:01:00 GMT"])]) {
            bucket throws(ObjectStoreError) in _ = try bucket.properties(of: "a")
        }
        #expect(other?.kind == .denied)
    }

    @Test func `errors have no secrets, no line breaks and an end`() throws {
        let said = "string to sign: \(Self.secret)\n" + String(repeating: "x", count: 5_000)
        let error = try failure([.error(403, "SignatureDoesNotMatch", said)]) {
            bucket throws(ObjectStoreError) in try bucket.delete("a")
        }
        let message = try #require(error?.message)
        #expect(!message.contains("hunter"))
        #expect(!message.contains("\n"))
        #expect(message.utf8.count < 400)
    }

    @Test func `a denied request is repeated once if the credentials have changed`() throws {
        let transport = WrittenTransport([
            .error(400, "ExpiredToken"), .answer(204),
        ])
        try bucket(transport, keys: ["old", "new"]).delete("a")
        #expect(transport.requests.count == 2)
        #expect(
            transport.requests.map {
                $0.header("authorization")?.contains("Credential=new/") == true
            } == [false, true])
        let same = WrittenTransport([.error(403, "AccessDenied"), .answer(204)])
        let bucket = try bucket(same)
        #expect(throws: ObjectStoreError.self) { try bucket.delete("a") }
        #expect(same.requests.count == 1)
    }

    @Test func `a range has to be the one that was asked for`() throws {
        let right = WrittenTransport([.answer(206, ["content-range": "bytes 2-4/9"], "cde")])
        #expect(
            try bucket(right).read("a", range: 2..<5, tag: "\"t\"") == Array("cde".utf8))
        #expect(right.requests.first?.header("range") == "bytes=2-4")
        #expect(right.requests.first?.header("if-match") == "\"t\"")
        let wrong: [Result<StoreAnswer, TransportFailure>] = [
            .answer(206, ["content-range": "bytes 3-5/9"], "cde"),
            .answer(206, ["content-range": "bytes 2-4/9"], "cd"),
            .answer(200, [:], "abc"), .answer(206, [:], "cde"),
        ]
        for answer in wrong {
            let error = try failure([answer]) { bucket throws(ObjectStoreError) in
                _ = try bucket.read("a", range: 2..<5, tag: nil)
            }
            #expect(error?.kind == .unreachable)
        }
        let replaced = try failure([.error(412, "PreconditionFailed")]) {
            bucket throws(ObjectStoreError) in _ = try bucket.read("a", range: 2..<5, tag: "t")
        }
        #expect(replaced?.kind == .changed)
    }

    @Test func `an absent object has no properties`() throws {
        #expect(try bucket(WrittenTransport([.answer(404)])).properties(of: "a") == nil)
        let there = try bucket(
            WrittenTransport([
                .answer(
                    200,
                    [
                        "content-length": "12", "etag": "\"t\"", "x-amz-meta-part": "8",
                        "last-modified": "Fri, 24 May 2013 00:00:00 GMT",
                        "x-amz-checksum-sha256": digest([1]).base64 + "-2",
                    ])
            ])
        ).properties(of: "a")
        #expect(
            there
                == ObjectProperties(
                    sizeBytes: 12, tag: "\"t\"", metadata: ["part": "8"],
                    modifiedNanoseconds: 1_369_353_600_000_000_000))
    }

    @Test func `an upload that fails after the status was sent has failed`() throws {
        let parts = [UploadedPart(number: 1, sizeBytes: 5, tag: "\"a\"", digest: nil)]
        let error = try failure([.error(200, "InternalError", "try again")]) {
            bucket throws(ObjectStoreError) in
            _ = try bucket.completeUpload("u", key: "a", parts: parts, condition: .absent)
        }
        #expect(error?.kind == .busy)
        let torn = try failure([.answer(200, [:], "<CompleteMultipartUploadResult><ETag>")]) {
            bucket throws(ObjectStoreError) in
            _ = try bucket.completeUpload("u", key: "a", parts: parts, condition: .absent)
        }
        #expect(torn?.kind == .unreachable)
    }

    @Test func `an upload's parts are listed in pages, and an absent upload has none`() throws {
        func page(_ number: Int, _ next: Int?) -> Result<StoreAnswer, TransportFailure> {
            .answer(
                200, [:],
                "<ListPartsResult><IsTruncated>\(next != nil)</IsTruncated>"
                    + "<NextPartNumberMarker>\(next ?? 0)</NextPartNumberMarker><Part><PartNumber>\(number)"
                    + "</PartNumber><Size>5</Size><ETag>t</ETag></Part></ListPartsResult>")
        }
        let transport = WrittenTransport([page(1, 1), page(2, nil)])
        #expect(try bucket(transport).parts(of: "u/1", key: "a")?.map(\.number) == [1, 2])
        #expect(
            transport.requests.last?.address.hasSuffix(
                "?max-parts=1000&part-number-marker=1&uploadId=u%2F1") == true)
        #expect(
            try bucket(WrittenTransport([.error(404, "NoSuchUpload")])).parts(of: "u", key: "a")
                == nil)
        let stuck = try failure([page(1, 1), page(1, 1)]) { bucket throws(ObjectStoreError) in
            _ = try bucket.parts(of: "u", key: "a")
        }
        #expect(stuck?.kind == .unreachable)
    }

    @Test func `a page of a listing begins after the given key`() throws {
        func listing(_ keys: [String], isTruncated: Bool) -> Result<StoreAnswer, TransportFailure> {
            .answer(
                200, [:],
                "<ListBucketResult><IsTruncated>\(isTruncated)</IsTruncated>"
                    + keys.map { "<Contents><Key>p/\($0)</Key><Size>1</Size></Contents>" }.joined()
                    + "</ListBucketResult>")
        }
        let transport = WrittenTransport([
            listing(["s/", "s/b", "s/a", "s/c"], isTruncated: false)
        ])
        let page = try bucket(transport).list(prefix: "s/", after: "s/a", folders: false)
        #expect(page.entries.map(\.key) == ["s/b", "s/c"])
        #expect(
            transport.requests.first?.address
                == "http://store:8333/tributary?list-type=2&max-keys=1000&prefix=p%2Fs%2F&start-after=p%2Fs%2Fa"
        )
        let stuck = try failure([listing(["s/a"], isTruncated: true)]) {
            bucket throws(ObjectStoreError) in
            _ = try bucket.list(prefix: "s/", after: "s/a", folders: false)
        }
        #expect(stuck?.kind == .unreachable)
    }

    @Test(arguments: ["", "a//b", "../a", "a/./b", String(repeating: "a", count: 1_100)])
    func `keys that would change in a URL are refused`(_ key: String) throws {
        let error = try failure([]) { bucket throws(ObjectStoreError) in try bucket.delete(key) }
        #expect(error?.kind == .refused)
    }

    @Test func `a presigned URL signs only the host header`() throws {
        let bucket = try bucket(WrittenTransport([]))
        let address = try bucket.presignedAddress(
            of: "s/a.mp4", validSeconds: 60, contentType: "video/mp4")
        #expect(
            address.hasPrefix(
                "http://store:8333/tributary/p/s/a.mp4?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
        #expect(
            address.contains(
                "&X-Amz-Expires=60&X-Amz-SignedHeaders=host&response-content-type=video%2Fmp4&X-Amz-Signature="
            ))
        #expect(!address.contains("hunter"))
    }

    @Test func `deleting an absent object succeeds`() throws {
        let transport = WrittenTransport([
            .error(404, "NoSuchKey"), .error(404, "NoSuchUpload"), .error(404, "NoSuchBucket"),
        ])
        let bucket = try bucket(transport)
        try bucket.delete("a")
        try bucket.abandonUpload("u", key: "a")
        #expect(throws: ObjectStoreError.self) { try bucket.delete("a") }
    }

    @Test func `metadata that breaks headers is refused`() throws {
        for metadata in [["a": "b\r\nx: y"], ["A": "b"], ["a b": "c"], ["": "c"]] {
            let error = try failure([]) { bucket throws(ObjectStoreError) in
                _ = try bucket.beginUpload(of: "a", metadata: metadata)
            }
            #expect(error?.kind == .refused)
        }
    }
}
