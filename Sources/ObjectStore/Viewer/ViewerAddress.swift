/// The address of a viewer: `https://HOST[:PORT]`, or `http://` on the reader's own machine.
package struct ViewerAddress: Hashable, Sendable, CustomStringConvertible {
    private let endpoint: StoreEndpoint

    /// The error of an address. Each text continues "the address …".
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        case malformed(StoreEndpoint.Flaw)
        /// `http://` of another machine: codes and media could be read and changed on the way.
        case insecure

        package var description: String {
            switch self {
            case .malformed(.credentials):
                "must not contain a user or password: readers use --site-token-file"
            case .malformed(.path): "must not have a path: write https://HOST:PORT"
            case .malformed(let flaw): "\(flaw)"
            case .insecure:
                "is http:// of another machine: give that viewer a certificate, and write https://"
            }
        }
    }

    package init(_ text: String) throws(Flaw) {
        do throws(StoreEndpoint.Flaw) {
            endpoint = try StoreEndpoint(text)
        } catch {
            throw .malformed(error)
        }
        guard endpoint.isSecure || Self.isLoopback(endpoint.host) else { throw .insecure }
    }

    /// `HOST[:PORT]`, for the `Host` header.
    var authority: String { endpoint.authority }

    package var description: String { endpoint.description }

    /// The block 127.0.0.0/8, ::1 and `localhost` (RFC 6761 §6.3).
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
