import Hashing

/// Signs requests with AWS Signature Version 4 for the service `s3`: in the `Authorization` header, or in the query
/// (presigned).
///
/// A value: it reads no clock and no credentials file. It implements S3's two exceptions from the general rules: paths
/// are encoded once and not normalised (Amazon S3 API Reference, "Authenticating Requests").
struct RequestSigner: Sendable {
    /// The digest of a presigned request's body, which is unknown when the URL is created.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"
    /// Maximum validity of a presigned URL: seven days (Amazon S3 User Guide, "Sharing objects with presigned URLs").
    static let maximumValiditySeconds = 604_800
    private static let algorithm = "AWS4-HMAC-SHA256"

    let credentials: StoreCredentials
    let region: String

    typealias Header = (name: String, value: String)

    /// The headers of a request with the signature's: `x-amz-date`, `x-amz-security-token`, `Authorization`.
    /// - Parameters:
    ///   - path: encoded, with a leading `/`.
    ///   - query: names and values, not encoded.
    ///   - headers: all headers of the request, including `Host` and `x-amz-content-sha256`.
    func signed(
        method: String, path: String, query: [(name: String, value: String)], headers: [Header],
        payloadDigest: String, at time: RequestTime
    ) -> [Header] {
        var headers = headers
        headers.append(("x-amz-date", time.basic))
        if let token = credentials.sessionToken {
            headers.append(("x-amz-security-token", token))
        }
        let (canonical, names) = Self.canonicalHeaders(headers)
        let request = [
            method, path, Self.canonicalQuery(query), canonical, names, payloadDigest,
        ].joined(separator: "\n")
        let signature = signature(of: request, at: time)
        headers.append(
            (
                "Authorization",
                "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope(time)), "
                    + "SignedHeaders=\(names), Signature=\(signature)"
            ))
        return headers
    }

    /// The query of a presigned URL.
    /// - Parameter query: further names and values, not encoded.
    /// - Returns: encoded, sorted, with the signature.
    func presignedQuery(
        method: String, host: String, path: String, query others: [(name: String, value: String)],
        validSeconds: Int, at time: RequestTime
    ) -> String {
        precondition((1...Self.maximumValiditySeconds).contains(validSeconds))
        var query = others
        query += [
            ("X-Amz-Algorithm", Self.algorithm),
            ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(time))"),
            ("X-Amz-Date", time.basic),
            ("X-Amz-Expires", "\(validSeconds)"),
            ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token)) }
        let text = Self.canonicalQuery(query)
        let (canonical, names) = Self.canonicalHeaders([("host", host)])
        let request = [method, path, text, canonical, names, Self.unsignedPayload]
            .joined(separator: "\n")
        return "\(text)&X-Amz-Signature=\(signature(of: request, at: time))"
    }

    /// The canonical query, which is also sent: encoded and sorted.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (URIEncoding.encoded($0.name), URIEncoding.encoded($0.value)) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Sorted lower-case names with values, one per line; and the names.
    private static func canonicalHeaders(_ headers: [Header]) -> (text: String, names: String) {
        let sorted = headers.map { ($0.name.lowercased(), trimmed($0.value)) }
            .sorted { $0.0 < $1.0 }
        return (
            sorted.map { "\($0.0):\($0.1)\n" }.joined(),
            sorted.map(\.0).joined(separator: ";")
        )
    }

    /// Without spaces at the ends, and with repeated spaces joined.
    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }

    private func scope(_ time: RequestTime) -> String { "\(time.day)/\(region)/s3/aws4_request" }

    private func signature(of request: String, at time: RequestTime) -> String {
        let text = [
            Self.algorithm, time.basic, scope(time),
            ByteText.hexadecimal(HashFunction.sha256.hash(Array(request.utf8))),
        ].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [time.day, region, "s3", "aws4_request"] {
            key = AuthenticationCode.code(of: Array(part.utf8), key: key)
        }
        return ByteText.hexadecimal(AuthenticationCode.code(of: Array(text.utf8), key: key))
    }
}
