import FoundationEssentials

/// A session's labels: a name, tags, a note. They are in a separate file beside the description, so that neither a running
/// collector nor a rewritten description can lose them, and the catalog can be rebuilt from files alone.
package struct SessionNotes: Codable, Hashable, Sendable {
    package static let fileName = "notes.json"
    package static let maximumBytes = 1 << 20
    package static let maximumTextBytes = 4_096
    package static let maximumTags = 64

    package var name: String?
    /// In alphabetical order, without duplicates.
    package var tags: [String]
    package var note: String?

    package init(name: String? = nil, tags: [String] = [], note: String? = nil) {
        self.name = name
        self.tags = tags
        self.note = note
    }

    private static func path(_ session: String, _ layout: ArchiveLayout) -> String {
        "\(layout.session(session))/\(fileName)"
    }

    /// Reads a session's labels; empty labels if there are none.
    package static func read(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) -> SessionNotes {
        let path = path(session, layout)
        guard FileSystem.exists(path) else { return SessionNotes() }
        return try parse(try FileSystem.read(path, limit: maximumBytes), path: path)
    }

    /// Reads the bytes of a session's labels.
    package static func parse(
        _ bytes: [UInt8], path: String
    ) throws(ArchiveError) -> SessionNotes {
        do {
            return try JSONDecoder().decode(SessionNotes.self, from: Data(bytes))
        } catch {
            throw .malformed(
                path: path, reason: "was not written by 'tributary note': restore or remove it")
        }
    }

    /// The bytes of its file.
    package func encoded() -> [UInt8] { JSONDocument.bytes(of: self) }
}
