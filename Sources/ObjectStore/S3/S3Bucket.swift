import Hashing
import Glibc
import Media
import Synchronization
import Threads
import XML

/// A bucket of an S3-compatible store, over HTTP.
///
/// Every request has the digest of its body in all forms that stores verify. Responses are bounded and parsed with
/// limits. A denied request is retried once if the credentials have changed; no other request is retried.
package final class S3Bucket: ObjectBucket {
    /// Limits of the protocol and of memory.
    package enum Limits {
        /// Parts of an upload (Amazon S3 User Guide, "Multipart upload limits").
        package static let parts = 10_000
        /// Minimum size of a part, except for the last.
        package static let minimumPartBytes = 5 << 20
        /// Maximum bytes per request or response, which are held in memory.
        package static let bodyBytes = 64 << 20
        /// A page of a listing, with escaped keys of 1,024 bytes.
        static let answerBytes = 8 << 20
        static let keyBytes = 1_024
        static let metadataBytes = 2_048
        /// Objects per page of a listing.
        static let page = 1_000
        /// A store may need minutes to assemble the parts.
        static let completionNanoseconds: Int64 = 300_000_000_000
        /// A slower connection counts as stalled.
        static let slowestBytesPerSecond: Int64 = 16 << 10
    }

    private let address: S3Address
    private let credentials: CredentialsSource
    private let transport: any StoreTransport
    /// Deadline of a small request and its response.
    private let deadlineNanoseconds: Int64
    private let utcNow: @Sendable () -> Int64

    /// Whether the store returns its own digest of uploaded bytes.
    private enum DigestSupport {
        /// Nothing was uploaded yet.
        case unknown
        /// It has returned its SHA-256: an MD5 would be one more digest of every byte, on both sides.
        case returned
        /// It has not always returned one.
        case unreliable
    }

    private let digestSupport = Mutex(DigestSupport.unknown)
    /// Whether writes are compared with a tag without its quotes (Ceph 16; reads accept both forms).
    private let comparesBareTags = Mutex(false)

    /// A bucket with this process's credentials; `AWS_CA_BUNDLE` names a file of trusted authorities, instead of the
    /// system's.
    /// - Parameter shutdown: ends every wait for the store.
    convenience init(
        _ address: S3Address, credentials: CredentialsSource = CredentialsSource(),
        patience: StorePatience, shutdown: Shutdown
    ) throws(ObjectStoreError) {
        let authorities = getenv("AWS_CA_BUNDLE").map { String(cString: $0) }
        let transport: HTTPTransport
        do throws(TransportFailure) {
            transport = try HTTPTransport(
                authorities: authorities.flatMap { $0.isEmpty ? nil : $0 },
                setting: "AWS_CA_BUNDLE",
                timeouts: TransportTimeouts(patience), shutdown: shutdown)
        } catch {
            throw ObjectStoreError(.refused, "\(address): \(error)")
        }
        self.init(
            address, credentials: credentials, transport: transport,
            deadlineNanoseconds: patience.deadlineNanoseconds)
    }

    init(
        _ address: S3Address, credentials: CredentialsSource, transport: any StoreTransport,
        deadlineNanoseconds: Int64 = StorePatience.writing.deadlineNanoseconds,
        utcNow: @escaping @Sendable () -> Int64 = { SystemClock.utc.nowNanoseconds }
    ) {
        self.address = address
        self.credentials = credentials
        self.transport = transport
        self.deadlineNanoseconds = deadlineNanoseconds
        self.utcNow = utcNow
    }

    package var name: String { address.description }

    // MARK: - Reading

    package func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        var query: [(name: String, value: String)] = [
            ("list-type", "2"), ("max-keys", "\(Limits.page)"),
            ("prefix", address.prefix + prefix),
        ]
        if folders { query.append(("delimiter", "/")) }
        if let after {
            // Skips all keys of a folder. Names in an archive have no character above '~'.
            let isFolder = folders && after.hasSuffix("/")
            query.append(("start-after", address.prefix + after + (isFolder ? "~" : "")))
        }
        let what = "list \(prefix.isEmpty ? "the bucket" : prefix)"
        let answer = try ask(Call(.get, what, query: query))
        let (found, isTruncated) = try parsed(answer, what) { root throws(StoreAnswers.Broken) in
            try StoreAnswers.listing(root, below: self.address.prefix)
        }
        // Folder markers have the folder's own key; some stores include the key after which a page begins.
        let entries = found.filter { entry in
            entry.key != prefix && !entry.key.isEmpty
                && after.map { $0.utf8.lexicographicallyPrecedes(entry.key.utf8) } ?? true
                && entry.key.hasPrefix(prefix)
        }.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        if isTruncated, entries.isEmpty {
            throw broken("its listing does not get on", what)
        }
        return ObjectPage(entries: entries, isTruncated: isTruncated)
    }

    package func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        let what = "look at \(key)"
        let answer: StoreAnswer
        do throws(ObjectStoreError) {
            answer = try ask(
                Call(.head, what, key: key, headers: [("x-amz-checksum-mode", "ENABLED")]))
        } catch {
            if error.kind == .gone { return nil }
            throw error
        }
        guard let size = answer.headers["content-length"].flatMap({ Int64($0) }), size >= 0,
            let tag = answer.headers["etag"]
        else { throw broken("it tells no size or tag", what) }
        var metadata: [String: String] = [:]
        for (name, value) in answer.headers where name.hasPrefix("x-amz-meta-") {
            metadata[String(name.dropFirst("x-amz-meta-".count))] = value
        }
        return ObjectProperties(
            sizeBytes: size, tag: EntityTag.strong(tag), metadata: metadata,
            modifiedNanoseconds: answer.headers["last-modified"].flatMap {
                RequestTime(httpDate: $0)?.nanoseconds
            }, digest: answer.headers["x-amz-checksum-sha256"].flatMap(ObjectDigest.init(base64:)))
    }

    package func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        precondition(range.lowerBound >= 0 && range.count <= Limits.bodyBytes)
        if range.isEmpty { return [] }
        var headers = [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        if let tag { headers.append(("If-Match", EntityTag.strong(tag))) }
        let what = "read \(key)"
        let answer = try ask(
            Call(
                .get, what, key: key, headers: headers, maximumAnswerBytes: range.count,
                slowBytes: Int64(range.count)))
        if answer.status == 206 {
            let wanted = "bytes \(range.lowerBound)-\(range.upperBound - 1)/"
            guard answer.headers["content-range"]?.hasPrefix(wanted) ?? false else {
                throw broken("it sends another range than was asked for", what)
            }
        } else if range.lowerBound > 0 {
            throw broken("it sends the whole object instead of a range", what)
        }
        guard answer.body.count == range.count else {
            throw broken("it sends \(answer.body.count) bytes of \(range.count)", what)
        }
        return answer.body
    }

    package func presignedAddress(
        of key: String, validSeconds: Int, contentType: String
    ) throws(ObjectStoreError) -> String {
        let signer = RequestSigner(
            credentials: try credentials.credentials(), region: address.region)
        let target = address.target
        let path = try path(of: key)
        let query = signer.presignedQuery(
            method: "GET", host: target.host, path: path,
            query: [("response-content-type", contentType)], validSeconds: validSeconds,
            at: RequestTime(nanoseconds: utcNow()))
        return "\(target.origin)\(path)?\(query)"
    }

    // MARK: - Writing

    package func put(
        _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        let what = "put \(key)"
        let expectsDigest = returnsDigests
        let answer = try ask(
            Call(
                .put, what, key: key, headers: digestHeaders(bytes, digest, expectsDigest),
                body: bytes,
                digest: digest, condition: condition, slowBytes: Int64(bytes.count)))
        return ObjectProperties(
            sizeBytes: Int64(bytes.count), tag: try tag(answer, digest, what, expectsDigest),
            digest: digest)
    }

    package func beginUpload(
        of key: String, metadata: [String: String]
    ) throws(ObjectStoreError) -> String {
        let what = "begin an upload of \(key)"
        var headers = [("x-amz-checksum-algorithm", "SHA256")]
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            guard Self.isMetadata(name, value) else {
                throw ObjectStoreError(
                    .refused, "\(name): cannot \(what): its metadata is not printable ASCII")
            }
            headers.append(("x-amz-meta-\(name)", value))
        }
        let answer = try ask(
            Call(.post, what, key: key, query: [("uploads", "")], headers: headers))
        return try parsed(answer, what) { root throws(StoreAnswers.Broken) in
            try StoreAnswers.upload(root)
        }
    }

    package func putPart(
        _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
    ) throws(ObjectStoreError) -> UploadedPart {
        precondition((1...Limits.parts).contains(number))
        let what = "put part \(number) of \(key)"
        let expectsDigest = returnsDigests
        let answer = try ask(
            Call(
                .put, what, key: key,
                query: [("partNumber", "\(number)"), ("uploadId", upload)],
                headers: digestHeaders(bytes, digest, expectsDigest), body: bytes, digest: digest,
                slowBytes: Int64(bytes.count)))
        return UploadedPart(
            number: number, sizeBytes: Int64(bytes.count),
            tag: try tag(answer, digest, what, expectsDigest),
            digest: answer.headers["x-amz-checksum-sha256"].flatMap(ObjectDigest.init(base64:)))
    }

    package func parts(
        of upload: String, key: String
    ) throws(ObjectStoreError) -> [UploadedPart]? {
        let what = "list the parts of \(key)"
        var parts: [UploadedPart] = []
        var marker: Int? = 0
        while let after = marker {
            var query = [("max-parts", "\(Limits.page)"), ("uploadId", upload)]
            if after > 0 { query.append(("part-number-marker", "\(after)")) }
            let answer: StoreAnswer
            do throws(ObjectStoreError) {
                answer = try ask(Call(.get, what, key: key, query: query))
            } catch {
                if error.kind == .gone { return nil }
                throw error
            }
            let (page, next) = try parsed(answer, what) { root throws(StoreAnswers.Broken) in
                try StoreAnswers.parts(root)
            }
            parts += page.filter { $0.number > after }
            if let next, next <= after || next >= Limits.parts {
                throw broken("its list of parts does not get on", what)
            }
            marker = next
        }
        return parts.sorted { $0.number < $1.number }
    }

    package func completeUpload(
        _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        let what = "complete the upload of \(key)"
        let answer = try ask(
            Call(
                .post, what, key: key, query: [("uploadId", upload)],
                headers: [("Content-Type", "application/xml")],
                body: ObjectBytes(StoreAnswers.completion(parts)), condition: condition,
                isKeptAlive: true))
        // The status was sent before the parts were assembled, so the error may be in the body.
        if let error = StoreAnswers.error(answer.body) {
            throw refused(
                StoreRefusal(status: 200, code: error.code, message: error.message), what,
                condition)
        }
        var tag = try parsed(answer, what) { root throws(StoreAnswers.Broken) in
            try StoreAnswers.completed(root)
        }
        if tag == nil { tag = try properties(of: key)?.tag }
        guard let tag else { throw broken("the object is not there", what) }
        return ObjectProperties(
            sizeBytes: parts.reduce(0) { $0 &+ $1.sizeBytes }, tag: tag)
    }

    package func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError) {
        try ignoringAbsence(
            Call(.delete, "abandon the upload of \(key)", key: key, query: [("uploadId", upload)]))
    }

    package func delete(_ key: String) throws(ObjectStoreError) {
        try ignoringAbsence(Call(.delete, "delete \(key)", key: key))
    }

    private func ignoringAbsence(_ call: Call) throws(ObjectStoreError) {
        do throws(ObjectStoreError) {
            _ = try ask(call)
        } catch {
            guard error.kind == .gone else { throw error }
        }
    }

    /// Whether the store is known to return its SHA-256 of uploads.
    private var returnsDigests: Bool { digestSupport.withLock { $0 == .returned } }

    /// - Parameter expectsDigest: whether the response will have the store's own digest.
    private func digestHeaders(
        _ bytes: ObjectBytes, _ digest: ObjectDigest, _ expectsDigest: Bool
    ) -> [RequestSigner.Header] {
        var headers: [RequestSigner.Header] = [
            ("Content-Type", "application/octet-stream"), ("x-amz-checksum-sha256", digest.base64),
        ]
        if !expectsDigest {
            headers.append(
                ("Content-MD5", ByteText.base64(bytes.hash(with: .md5))))
        }
        return headers
    }

    /// The tag of an uploaded object. A different digest of the store means different bytes.
    /// - Parameter expectsDigest: whether the store's own digest is the only proof that it has verified the bytes.
    private func tag(
        _ answer: StoreAnswer, _ digest: ObjectDigest, _ what: String, _ expectsDigest: Bool
    ) throws(ObjectStoreError) -> String {
        let returned = answer.headers["x-amz-checksum-sha256"].flatMap(ObjectDigest.init(base64:))
        if let returned, returned != digest {
            throw ObjectStoreError(
                .digest, "\(name): cannot \(what): the store has computed another digest")
        }
        digestSupport.withLock { digestSupport in
            if returned == nil {
                digestSupport = .unreliable
            } else if digestSupport == .unknown {
                digestSupport = .returned
            }
        }
        if expectsDigest, returned == nil {
            throw ObjectStoreError(
                .digest,
                "\(name): cannot \(what): the store does not tell the digest, as it has done before"
            )
        }
        guard let tag = answer.headers["etag"], !tag.isEmpty else {
            throw broken("it tells no tag", what)
        }
        return EntityTag.strong(tag)
    }

    private static func isMetadata(_ name: String, _ value: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { URIEncoding.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
            && name == name.lowercased()
            && name.utf8.count + value.utf8.count <= Limits.metadataBytes
            && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

// MARK: - Requests

extension S3Bucket {
    /// A request to the store.
    private struct Call {
        var method: StoreRequest.Method
        /// After "cannot".
        var what: String
        /// `nil` for the bucket.
        var key: String?
        var query: [(name: String, value: String)]
        var headers: [RequestSigner.Header]
        var body: ObjectBytes
        /// Digest of the body; nil: to be computed.
        var digest: ObjectDigest?
        var condition: PutCondition
        var maximumAnswerBytes: Int
        /// Bytes sent or received, for a deadline at the slowest permitted rate.
        var slowBytes: Int64
        /// Whether the store may send keep-alive bytes before it responds.
        var isKeptAlive: Bool

        init(
            _ method: StoreRequest.Method, _ what: String, key: String? = nil,
            query: [(name: String, value: String)] = [], headers: [RequestSigner.Header] = [],
            body: ObjectBytes = ObjectBytes([]), digest: ObjectDigest? = nil,
            condition: PutCondition = .none,
            maximumAnswerBytes: Int = 0, slowBytes: Int64 = 0,
            isKeptAlive: Bool = false
        ) {
            self.method = method
            self.what = what
            self.key = key
            self.query = query
            self.headers = headers
            self.body = body
            self.digest = digest
            if case .tag(let tag) = condition {
                self.condition = .tag(EntityTag.strong(tag))
            } else {
                self.condition = condition
            }
            // Errors have a body, too.
            self.maximumAnswerBytes = max(maximumAnswerBytes, Limits.answerBytes)
            self.slowBytes = slowBytes
            self.isKeptAlive = isKeptAlive
        }
    }

    /// - Returns: a successful response.
    private func ask(_ call: Call) throws(ObjectStoreError) -> StoreAnswer {
        precondition(call.body.count <= Limits.bodyBytes)
        let used = try credentials.credentials()
        let answer = try exchange(call, used)
        guard let refusal = refusal(answer) else { return answer }
        if refusal.kind(call.condition) == .changed, let answer = try withBareTag(call, used) {
            return answer
        }
        if refusal.kind(call.condition) == .denied {
            // They may have been renewed since they were read.
            let fresh = try credentials.credentials(isRenewing: true)
            if fresh != used {
                let answer = try exchange(call, fresh)
                guard let refusal = self.refusal(answer) else { return answer }
                throw refused(refusal, call.what, call.condition)
            }
        }
        throw refused(refusal, call.what, call.condition)
    }

    /// Retries with the other form of the condition's tag, until the form that the store compares is known.
    /// - Returns: nil if that form is rejected as well.
    private func withBareTag(
        _ call: Call, _ credentials: StoreCredentials
    ) throws(ObjectStoreError) -> StoreAnswer? {
        guard case .tag(let tag) = call.condition, Self.bare(tag) != tag,
            !comparesBareTags.withLock({ $0 })
        else { return nil }
        var call = call
        call.condition = .tag(Self.bare(tag))
        let answer = try exchange(call, credentials)
        guard refusal(answer) == nil else { return nil }
        comparesBareTags.withLock { $0 = true }
        return answer
    }

    /// An entity tag without its quotes.
    private static func bare(_ tag: String) -> String {
        guard tag.utf8.count > 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return tag }
        return String(tag.dropFirst().dropLast())
    }

    private func exchange(
        _ call: Call, _ credentials: StoreCredentials
    ) throws(ObjectStoreError) -> StoreAnswer {
        let target = address.target
        let path = try path(of: call.key)
        let digest = ByteText.hexadecimal(
            call.digest?.sha256 ?? call.body.hash(with: .sha256))
        var headers = call.headers
        headers.append(("Host", target.host))
        headers.append(("x-amz-content-sha256", digest))
        switch call.condition {
        case .none: break
        case .absent: headers.append(("If-None-Match", "*"))
        case .tag(let tag):
            let isBare = comparesBareTags.withLock { $0 }
            headers.append(("If-Match", isBare ? Self.bare(tag) : tag))
        }
        let signed = RequestSigner(credentials: credentials, region: address.region).signed(
            method: call.method.rawValue, path: path, query: call.query, headers: headers,
            payloadDigest: digest, at: RequestTime(nanoseconds: utcNow()))
        let query = RequestSigner.canonicalQuery(call.query)
        do throws(TransportFailure) {
            return try transport.exchange(
                StoreRequest(
                    method: call.method,
                    address: "\(target.origin)\(path)\(query.isEmpty ? "" : "?\(query)")",
                    headers: signed, body: call.body, maximumAnswerBytes: call.maximumAnswerBytes,
                    deadlineNanoseconds: deadlineNanoseconds(of: call),
                    isKeptAlive: call.isKeptAlive))
        } catch {
            if error == .cancelled {
                throw ObjectStoreError(.stopped, "\(name): cannot \(call.what): \(error)")
            }
            throw broken("\(error)", call.what)
        }
    }

    private func deadlineNanoseconds(of call: Call) -> Int64 {
        (call.isKeptAlive ? Limits.completionNanoseconds : deadlineNanoseconds)
            + call.slowBytes * 1_000_000_000 / Limits.slowestBytesPerSecond
    }

    /// The encoded path of an object, or of the bucket.
    private func path(of key: String?) throws(ObjectStoreError) -> String {
        let target = address.target
        guard let key else { return target.path.isEmpty ? "/" : target.path }
        let whole = address.prefix + key
        // Paths with these are normalised in transit, which invalidates their signatures.
        let parts = whole.split(separator: "/", omittingEmptySubsequences: false)
        guard !key.isEmpty, whole.utf8.count <= Limits.keyBytes,
            parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else {
            throw ObjectStoreError(
                .refused, "\(name): '\(StoreRefusal.oneLine(key))' is not a valid key")
        }
        return "\(target.path)/\(URIEncoding.encoded(whole, keepsSlashes: true))"
    }

    /// The error in a response; nil for status 200 to 299.
    private func refusal(_ answer: StoreAnswer) -> StoreRefusal? {
        guard !(200..<300).contains(answer.status) else { return nil }
        let error = StoreAnswers.error(answer.body)
        let theirs = answer.headers["date"].flatMap { RequestTime(httpDate: $0)?.nanoseconds }
        return StoreRefusal(
            status: answer.status, code: error?.code ?? "", message: error?.message ?? "",
            clockDifferenceNanoseconds: theirs.map { $0 &- utcNow() },
            retryAfterNanoseconds: answer.headers["retry-after"].flatMap {
                StoreRefusal.pause(retryAfter: $0, serverNanoseconds: theirs ?? utcNow())
            })
    }

    private func refused(
        _ refusal: StoreRefusal, _ what: String, _ condition: PutCondition
    ) -> ObjectStoreError {
        let kind = refusal.kind(condition)
        var secrets: [String] = []
        do throws(ObjectStoreError) {
            let used = try credentials.credentials()
            secrets = [used.secretKey, used.sessionToken ?? "", used.accessKey]
        } catch {
            // Without credentials there is no secret to hide.
        }
        return ObjectStoreError(
            kind, "\(name): cannot \(what): \(refusal.text(kind, hiding: secrets))",
            retryAfterNanoseconds: kind == .busy ? refusal.retryAfterNanoseconds : nil)
    }

    private func broken(_ reason: String, _ what: String) -> ObjectStoreError {
        ObjectStoreError(.unreachable, "\(name): cannot \(what): \(reason)")
    }

    private func parsed<Value>(
        _ answer: StoreAnswer, _ what: String,
        _ read: (XMLElement) throws(StoreAnswers.Broken) -> Value
    ) throws(ObjectStoreError) -> Value {
        do throws(StoreAnswers.Broken) {
            return try read(StoreAnswers.document(answer.body))
        } catch {
            throw broken(error.reason, what)
        }
    }
}
