package import Threads

/// The address of an archive in an object store: `s3://BUCKET/PREFIX`, with endpoint and region.
package struct StoreAddress: Hashable, Sendable, CustomStringConvertible {
    package static let scheme = "s3://"
    /// The default region. Stores other than AWS accept it.
    package static let defaultRegion = "us-east-1"
    private static let maximumBytes = 1_024

    /// 3 to 63 characters: `[a-z0-9][a-z0-9.-]*[a-z0-9]` (Amazon S3, "General purpose bucket naming rules").
    package let bucket: String
    /// Empty, or names that each end in `/`.
    package let prefix: String
    /// `nil` for Amazon's endpoint of the region.
    package let endpoint: StoreEndpoint?
    package let region: String

    /// The error of an address. Each text continues "the address …".
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        /// It does not begin with `s3://`.
        case noAddress
        /// The name of its bucket is invalid.
        case bucket
        /// A component of its prefix is not a name of `[A-Za-z0-9._-]`.
        case prefix
        case tooLong
        case region

        package var description: String {
            switch self {
            case .noAddress: "must have the form s3://BUCKET/PREFIX"
            case .bucket:
                "names no bucket: a bucket's name has 3 to 63 lower-case letters, digits, '.' and '-'"
            case .prefix:
                "has a prefix with other characters than letters, digits, '.', '_', '-' and '/'"
            case .tooLong: "is longer than \(maximumBytes) bytes"
            case .region: "has a region with other characters than letters, digits and '-'"
            }
        }
    }

    /// Parses an address.
    /// - Parameters:
    ///   - text: `s3://BUCKET`, `s3://BUCKET/PREFIX`; a trailing `/` is ignored.
    ///   - region: nil: ``defaultRegion``.
    package init(
        _ text: String, endpoint: StoreEndpoint? = nil, region: String? = nil
    ) throws(Flaw) {
        guard text.utf8.count <= Self.maximumBytes else { throw .tooLong }
        guard text.hasPrefix(Self.scheme) else { throw .noAddress }
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

    /// Whether a text is a store address rather than a directory.
    package static func isAddress(_ text: String) -> Bool { text.hasPrefix(scheme) }

    /// `s3://BUCKET/PREFIX`, without a trailing `/`.
    package var description: String {
        prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix.dropLast())"
    }

    /// Its bucket, with this process's credentials. A new kind of store is constructed here.
    /// - Parameters:
    ///   - patience: timeout.
    ///   - shutdown: ends waits for it.
    package func open(
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

    /// The origin of its objects' URLs: `https://HOST[:PORT]`.
    package var origin: String { target.origin }

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
