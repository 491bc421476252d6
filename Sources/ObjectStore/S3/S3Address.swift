import Threads

/// The address of an archive in a store that speaks S3's protocol: `s3://BUCKET/PREFIX`, with endpoint and region.
struct S3Address: StoreKind, Hashable {
    static let scheme = "s3://"
    static let form = "s3://BUCKET/PREFIX"
    /// As ``CredentialsSource`` finds them.
    static let credentialsHelp = """
        AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the file that AWS_SHARED_CREDENTIALS_FILE names \
        (~/.aws/credentials)
        """
    static let maximumValiditySeconds = RequestSigner.maximumValiditySeconds
    /// The default region. Stores other than AWS accept it.
    static let defaultRegion = "us-east-1"

    /// 3 to 63 characters: `[a-z0-9][a-z0-9.-]*[a-z0-9]` (Amazon S3, "General purpose bucket naming rules").
    let bucket: String
    /// Empty, or names that each end in `/`.
    let prefix: String
    /// `nil` for Amazon's endpoint of the region.
    let endpoint: StoreEndpoint?
    let region: String

    /// Parses an address.
    /// - Parameters:
    ///   - text: `s3://BUCKET`, `s3://BUCKET/PREFIX`; a trailing `/` is ignored.
    ///   - region: nil: ``defaultRegion``.
    init(
        _ text: String, endpoint: StoreEndpoint? = nil, region: String? = nil
    ) throws(StoreAddress.Flaw) {
        var parts = text.dropFirst(Self.scheme.count).split(
            separator: "/", omittingEmptySubsequences: false)
        let bucket = String(parts.removeFirst())
        guard Self.isBucket(bucket) else { throw .bucket }
        while parts.last == "" { parts.removeLast() }
        guard parts.allSatisfy(Self.isName) else { throw .prefix }
        let region = region ?? Self.defaultRegion
        guard Self.isRegion(region) else { throw .region }
        self.bucket = bucket
        prefix = parts.map { "\($0)/" }.joined()
        self.endpoint = endpoint
        self.region = region
    }

    /// `s3://BUCKET/PREFIX`, without a trailing `/`.
    var description: String {
        prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix.dropLast())"
    }

    func open(
        patience: StorePatience, shutdown: Shutdown
    ) throws(ObjectStoreError) -> any ObjectBucket {
        try S3Bucket(self, patience: patience, shutdown: shutdown)
    }

    var target: RequestTarget {
        guard let endpoint else {
            // Certificates of *.s3.REGION.amazonaws.com do not cover names with a dot.
            let host = "s3.\(region).amazonaws.com"
            return bucket.contains(".")
                ? RequestTarget(isSecure: true, host: host, path: "/\(bucket)")
                : RequestTarget(isSecure: true, host: "\(bucket).\(host)", path: "")
        }
        return RequestTarget(
            isSecure: endpoint.isSecure, host: endpoint.authority, path: "/\(bucket)")
    }

    var origin: String { target.origin }

    private static func isBucket(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard (3...63).contains(bytes.count), let first = bytes.first, let last = bytes.last,
            isLowerOrDigit(first), isLowerOrDigit(last)
        else { return false }
        return bytes.allSatisfy {
            isLowerOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        } && !name.contains("..")
    }

    private static func isLowerOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isName(_ part: Substring) -> Bool {
        !part.isEmpty && part != "." && part != ".."
            && part.utf8.allSatisfy { URIEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
    }

    private static func isRegion(_ region: String) -> Bool {
        !region.isEmpty && region.utf8.count <= 64
            && region.utf8.allSatisfy { URIEncoding.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }
}

extension StoreAddress.Flaw {
    /// The name of its bucket is invalid.
    static let bucket = Self(
        "names no bucket: a bucket's name has 3 to 63 lower-case letters, digits, '.' and '-'")
    /// A component of its prefix is not a name of `[A-Za-z0-9._-]`.
    static let prefix = Self(
        "has a prefix with other characters than letters, digits, '.', '_', '-' and '/'")
    static let region = Self("has a region with other characters than letters, digits and '-'")
}

/// Scheme, host and path prefix of a bucket's requests.
struct RequestTarget: Hashable, Sendable {
    var isSecure: Bool
    /// With a port other than the scheme's default.
    var host: String
    /// `/BUCKET` (path-style), or empty if the host names the bucket (virtual-hosted style).
    var path: String

    /// `https://HOST`, the origin in browsers (RFC 6454 §6.1).
    var origin: String { "\(isSecure ? "https" : "http")://\(host)" }
}
