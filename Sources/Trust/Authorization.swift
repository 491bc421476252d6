package import Messaging
package import Wire

/// The rights of an agent's key, as its file on the server states them.
package struct Authorization: Hashable, Sendable {
    /// The agent's registered name; also the name of its file.
    package var name: String
    package var key: PublicKey
    /// The sources that it may write.
    package var sources: [SourcePattern]
    /// Whether it may watch live: receive the feed of all sources. A viewer's key has this right and no sources.
    package var mayWatch: Bool
    /// Whether the key is revoked.
    package var isRevoked: Bool
    /// The expiry of a one-time key for enrolment, seconds since 1970; nil: the box's own key.
    package var expires: Int64?

    /// - Throws: for an invalid name.
    package init(
        name: String, key: PublicKey, sources: [SourcePattern], mayWatch: Bool = false,
        isRevoked: Bool = false, expires: Int64? = nil
    ) throws(TrustError) {
        guard SourceName.isValid(name) else { throw .notAName(name) }
        self.name = name
        self.key = key
        self.sources = sources
        self.mayWatch = mayWatch
        self.isRevoked = isRevoked
        self.expires = expires
    }

    /// Whether it is a viewer's key: no agent connects with it.
    package var isViewer: Bool { mayWatch && sources.isEmpty }

    /// The rights of its connections.
    package var right: WritingRight {
        WritingRight(name: name, sources: sources, isForEnrolment: expires != nil)
    }

    /// Parses a list of sources: `stage, door-*`.
    package static func patterns(_ text: String) throws(TrustError) -> [SourcePattern] {
        var patterns: [SourcePattern] = []
        for word in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            guard let pattern = SourcePattern(String(word)) else {
                throw .notAPattern(String(word))
            }
            patterns.append(pattern)
        }
        return patterns
    }
}

// The file format.
extension Authorization {
    private static let keyName = "key"
    private static let sourcesName = "sources"
    private static let watchName = "watch"
    private static let revokedName = "revoked"
    private static let expiresName = "enrols-until"

    init(name: String, file text: String, path: String) throws(TrustError) {
        let names: Set = [
            Self.keyName, Self.sourcesName, Self.watchName, Self.revokedName, Self.expiresName,
        ]
        let file = try FieldFile(text, names: names, path: path)
        let key: PublicKey
        let sources: [SourcePattern]
        do throws(TrustError) {
            key = try PublicKey(text: try file.required(Self.keyName))
        } catch {
            throw file.flaw(in: Self.keyName, "\(error)")
        }
        do throws(TrustError) {
            sources = try Self.patterns(try file.required(Self.sourcesName))
        } catch {
            throw file.flaw(in: Self.sourcesName, "\(error)")
        }
        let mayWatch = try Self.decision(Self.watchName, in: file)
        let isRevoked = try Self.decision(Self.revokedName, in: file)
        let expires = file.optional(Self.expiresName).map(ExpiryTime.seconds)
        if case .some(.none) = expires {
            throw file.flaw(
                in: Self.expiresName, "write the time as \(ExpiryTime.text(1_795_254_000))")
        }
        try self.init(
            name: name, key: key, sources: sources, mayWatch: mayWatch, isRevoked: isRevoked,
            expires: expires.flatMap { $0 })
    }

    /// `yes` or `no`; a missing line means no.
    private static func decision(
        _ name: String, in file: FieldFile
    ) throws(TrustError) -> Bool {
        switch file.optional(name) {
        case nil, "no": return false
        case "yes": return true
        case .some: throw file.flaw(in: name, "\(name) must be yes or no")
        }
    }

    var fileText: String {
        let remark =
            expires.map {
                "# A one-time key: 'tributary-agent enrol' on the box replaces it with the box's own key.\n"
                    + "\(Self.expiresName) = \(ExpiryTime.text($0))\n"
            } ?? ""
        return """
            # An agent's or a viewer's public key, and the sources that it may write: names, or beginnings of names with '*'.
            # 'watch = yes' lets it receive the feed of all sources. A running collector follows changes of this file;
            # 'revoked = yes', or no file at all, shuts it out.
            \(Self.keyName) = \(key.text)
            \(Self.sourcesName) = \(sources.map(\.description).joined(separator: ", "))
            \(mayWatch ? "\(Self.watchName) = yes\n" : "")\(remark)\(isRevoked ? "\(Self.revokedName) = yes\n" : "")
            """
    }
}
