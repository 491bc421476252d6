package import Messaging
package import Wire

/// What an agent's key allows, as its file on the server says.
package struct Authorization: Hashable, Sendable {
    /// What the agent is called here; also the name of its file.
    package var name: String
    package var key: PublicKey
    /// The sources that it may write.
    package var sources: [SourcePattern]
    /// Whether it has been shut out.
    package var isRevoked: Bool
    /// Nil: this is the box's own key. Otherwise it is a one-time key for enrolling the box, until then: seconds since 1970.
    package var expires: Int64?

    /// - Throws: when the name cannot be one.
    package init(
        name: String, key: PublicKey, sources: [SourcePattern], isRevoked: Bool = false,
        expires: Int64? = nil
    ) throws(TrustError) {
        guard SourceName.isValid(name) else { throw .notAName(name) }
        self.name = name
        self.key = key
        self.sources = sources
        self.isRevoked = isRevoked
        self.expires = expires
    }

    /// What its connections may do.
    package var right: WritingRight {
        WritingRight(name: name, sources: sources, isForEnrolment: expires != nil)
    }

    /// Sources as a list in text: `stage, door-*`.
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

// Its file.
extension Authorization {
    private static let keyName = "key"
    private static let sourcesName = "sources"
    private static let revokedName = "revoked"
    private static let expiresName = "enrols-until"

    init(name: String, file text: String, path: String) throws(TrustError) {
        let names: Set = [
            Self.keyName, Self.sourcesName, Self.revokedName, Self.expiresName,
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
        let isRevoked: Bool
        switch file.optional(Self.revokedName) {
        case nil, "no": isRevoked = false
        case "yes": isRevoked = true
        case .some: throw file.flaw(in: Self.revokedName, "revoked must be yes or no")
        }
        let expires = file.optional(Self.expiresName).map(ExpiryTime.seconds)
        if case .some(.none) = expires {
            throw file.flaw(
                in: Self.expiresName, "write the time as \(ExpiryTime.text(1_795_254_000))")
        }
        try self.init(
            name: name, key: key, sources: sources, isRevoked: isRevoked,
            expires: expires.flatMap { $0 })
    }

    var fileText: String {
        let remark =
            expires.map {
                "# A one-time key: 'tributary-agent enrol' on the box replaces it with the box's own key.\n"
                    + "\(Self.expiresName) = \(ExpiryTime.text($0))\n"
            } ?? ""
        return """
            # An agent's public key, and the sources that it may write: names, or beginnings of names with '*'. A running
            # collector follows changes of this file; 'revoked = yes', or no file at all, shuts the agent out.
            \(Self.keyName) = \(key.text)
            \(Self.sourcesName) = \(sources.map(\.description).joined(separator: ", "))
            \(remark)\(isRevoked ? "\(Self.revokedName) = yes\n" : "")
            """
    }
}
