import Hashing
import Media

/// A URL that grants access to one file of one source, or to its live media, until it expires or the account
/// that made it changes.
///
///     /api/v1/sessions/SESSION/sources/SOURCE/media.mp4?from=83.5&until=90&account=…&expires=1795300000&signature=…
///     /embed/SOURCE?account=…&expires=1795300000&signature=…
///     /live/SOURCE/picture.jpg?width=640&account=…&expires=1795300000&signature=…
///
/// The signature covers all bytes before it: a link is valid only unchanged, without added, removed, repeated or reordered query
/// items.
package struct SignedLink: Hashable, Sendable {
    /// Maximum validity of a link: 30 days.
    package static let maximumLifeSeconds: Int64 = 30 * 86_400
    /// Tolerance for a clock that was set back since a link was made.
    private static let clockToleranceSeconds: Int64 = 60
    /// Files that can be linked.
    private static let files: Set = ["media.mp4", picture]
    /// The newest picture of a live source has this name, too.
    private static let picture = "picture.jpg"
    /// Longer addresses have no link.
    private static let maximumBytes = 1_024
    /// Length limit: the items of the signature have at most 113 bytes.
    private static let maximumSignedBytes = maximumBytes + 128
    /// Items in front of those that a link adds.
    private static let maximumItems = 8

    /// Query items of the signature.
    package static let addedNames: Set = [makerItem, expiresItem, signatureItem]
    private static let makerItem = "account"
    private static let expiresItem = "expires"
    private static let signatureItem = "signature"

    /// The resource of a link.
    package struct Target: Hashable, Sendable {
        /// Without a query.
        package let path: String
        /// The query's items before those that a link adds, as written; may be empty.
        package let query: String
        /// Session in the path; nil for live media.
        package let session: String?
        /// The source in the path.
        package let source: String

        /// - Parameter query: without the items of the signature.
        package init(path: String, query: String) throws(AccessError) {
            guard path.utf8.count + query.utf8.count <= maximumBytes else {
                throw .notLinkable(reason: "the address is longer than \(maximumBytes) bytes")
            }
            guard let (session, source) = names(in: path) else {
                throw .notLinkable(
                    reason: "use /api/v1/sessions/SESSION/sources/SOURCE/ and "
                        + files.sorted().joined(separator: " or ")
                        + ", /live/SOURCE/\(picture) or /embed/SOURCE")
            }
            guard isCanonical(query) else {
                throw .notLinkable(
                    reason:
                        "write the query as name=value&name=value, percent-encoded")
            }
            guard hasEachNameOnce(query) else {
                throw .notLinkable(
                    reason: "give each name of the query once, and none that a link adds itself")
            }
            self.path = path
            self.query = query
            self.session = session
            self.source = source
        }

        /// Path and query.
        package var address: String { query.isEmpty ? path : "\(path)?\(query)" }
    }

    package let target: Target
    package let maker: LinkMaker
    /// Seconds since 1970.
    package let expires: Int64

    /// Whether a link to `/embed/SOURCE`, sent as `Authorization: Link ADDRESS`, authorises a request: for live media only.
    package static func isOfEmbedding(_ path: String, of source: String) -> Bool {
        let sources = [source, SourcePreviews.name(of: source)]
        return path == "/api/v1/live"
            || sources.contains { path == "/api/v1/live/\($0)/\(picture)" }
    }

    /// Rights of the link: its source, within the path and the query.
    package var rights: Rights { Rights(role: .viewer, sources: .named([target.source])) }

    /// Path and query, signed.
    package func text(key: AccessKey) -> String {
        let signed = signedText
        let code = key.code(of: Array(signed.utf8), for: .link)
        return "\(signed)&\(Self.signatureItem)=\(ByteText.base64URL(code))"
    }

    private var signedText: String {
        let items = target.query.isEmpty ? "" : "\(target.query)&"
        return "\(target.path)?\(items)\(Self.makerItem)=\(maker.text)"
            + "&\(Self.expiresItem)=\(expires)"
    }
}

// Verification.
extension SignedLink {
    package enum Verdict: Hashable, Sendable {
        case valid(SignedLink)
        case expired
        case invalid
    }

    /// Whether a query has a link's signature. It is not verified.
    package static func isLink(_ query: String) -> Bool {
        guard query.utf8.count <= maximumSignedBytes else { return false }
        return query.split(separator: "&").contains { $0.hasPrefix("\(signatureItem)=") }
    }

    /// Whether an address is a link that opens it. The answer ``Verdict/expired`` is for links that were valid.
    /// - Parameters:
    ///   - path: as received, not decoded.
    ///   - query: as received, not decoded.
    ///   - now: seconds since 1970.
    package static func verify(path: String, query: String, key: AccessKey, now: Int64) -> Verdict {
        guard path.utf8.count + query.utf8.count <= maximumSignedBytes else { return .invalid }
        var items = query.split(separator: "&", omittingEmptySubsequences: false)
        guard items.count >= addedNames.count, items.count <= maximumItems + addedNames.count,
            let code = value(of: signatureItem, in: String(items.removeLast())),
            let bytes = ByteText.decode(base64URL: code), bytes.count == AccessKey.codeBytes,
            let time = value(of: expiresItem, in: String(items.removeLast())),
            let expires = Int64(time), expires >= 0, "\(expires)" == time,
            let maker = value(of: makerItem, in: String(items.removeLast()))
                .flatMap({ LinkMaker(text: $0) })
        else { return .invalid }
        let link: SignedLink
        do throws(AccessError) {
            link = SignedLink(
                target: try Target(path: path, query: items.joined(separator: "&")), maker: maker,
                expires: expires)
        } catch {
            return .invalid
        }
        guard "\(path)?\(query)" == "\(link.signedText)&\(signatureItem)=\(code)",
            key.isValid(bytes, of: Array(link.signedText.utf8), for: .link)
        else { return .invalid }
        guard now < expires else { return .expired }
        // The expiry is beyond the maximum lifetime: the clock was wrong when the link was made.
        guard expires - now <= maximumLifeSeconds + clockToleranceSeconds else { return .invalid }
        return .valid(link)
    }

    /// The frame's address, if the query of a link to it is used for another file of its source.
    package static func misusedEmbedding(
        path: String, query: String, key: AccessKey, now: Int64
    ) -> String? {
        guard path.utf8.count + query.utf8.count <= maximumSignedBytes,
            let source = names(in: path)?.source
        else { return nil }
        let embedding = "/embed/\(source)"
        // Items of the other address may be in front.
        let signed = query.split(separator: "&").suffix(addedNames.count).joined(separator: "&")
        guard path != embedding,
            verify(path: embedding, query: signed, key: key, now: now) != .invalid
        else { return nil }
        return embedding
    }

    private static func value(of name: String, in item: String) -> String? {
        item.hasPrefix("\(name)=") ? String(item.dropFirst(name.count + 1)) : nil
    }

    /// The name, in addresses, of the newest session that an account may see.
    package static let newestSession = "latest"

    /// Session and source, if this is the canonical path of a file that can be linked.
    private static func names(in path: String) -> (session: String?, source: String)? {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false)
            .map { String($0) }
        guard parts.removeFirst().isEmpty else { return nil }
        if parts.starts(with: ["api", "v1", "live"]) { parts.removeFirst(2) }
        let names: (session: String?, source: String)
        switch parts.count {
        case 2 where parts[0] == "embed": names = (nil, parts[1])
        case 3 where parts[0] == "live" && parts[2] == picture: names = (nil, parts[1])
        case 7
        where parts.starts(with: ["api", "v1", "sessions"]) && parts[4] == "sources"
            && files.contains(parts[6])
            // It would grant access to future sessions.
            && parts[3] != newestSession:
            names = (parts[3], parts[5])
        default: return nil
        }
        let isValid =
            DirectoryName.isValid(names.source) && names.session.map(DirectoryName.isValid) != false
        return isValid ? names : nil
    }

    /// Whether a query's names are lower-case, unique and none of the signature's, and its values are fully encoded.
    private static func isCanonical(_ query: String) -> Bool {
        if query.isEmpty { return true }
        let items = query.split(separator: "&", omittingEmptySubsequences: false)
        guard items.count <= maximumItems else { return false }
        return items.allSatisfy { item in
            let pair = item.split(separator: "=", omittingEmptySubsequences: false)
            return pair.count == 2 && !pair[0].isEmpty && pair[0].utf8.allSatisfy(isSmallLetter)
                && pair[1].utf8.allSatisfy(isForValue)
        }
    }

    private static func hasEachNameOnce(_ query: String) -> Bool {
        var names = addedNames
        return query.split(separator: "&").allSatisfy { item in
            names.insert(String(item.prefix { $0 != "=" })).inserted
        }
    }

    private static func isSmallLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    /// RFC 3986 §2.3, §3.4: unreserved characters, and those that need no encoding in a query. A plus is encoded, because some
    /// parsers read it as a space.
    private static func isForValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: ","),
            UInt8(ascii: "%"):
            true
        default: false
        }
    }
}
