import FoundationEssentials
import Glibc

/// What people say of a session: a name, tags, a note. A file of its own beside the description, so that neither a running
/// collector nor a rewritten description can lose it, and the catalog can be rebuilt from files alone.
package struct SessionNotes: Codable, Hashable, Sendable {
    package static let fileName = "notes.json"
    private static let maximumBytes = 1 << 20
    package static let maximumTextBytes = 4_096
    package static let maximumTags = 64

    package var name: String?
    /// In alphabetical order, none twice.
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

    /// What is said of a session; nothing where nobody has said anything.
    package static func read(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) -> SessionNotes {
        let path = path(session, layout)
        guard FileSystem.exists(path) else { return SessionNotes() }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        do {
            return try JSONDecoder().decode(SessionNotes.self, from: Data(bytes))
        } catch {
            throw .malformed(path: path, reason: "is not what 'tributary note' writes")
        }
    }

    /// Writes what is said; nothing is no file.
    package func write(_ session: String, in layout: ArchiveLayout) throws(ArchiveError) {
        let path = Self.path(session, layout)
        if self == SessionNotes() {
            guard unlink(path) == 0 || errno == ENOENT else {
                throw .system(operation: "remove", path: path, errno: errno)
            }
            return try FileSystem.synchronizeDirectory(layout.session(session))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let bytes = Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
            try FileSystem.replace(path, with: bytes)
        } catch let error as ArchiveError {
            throw error
        } catch {
            preconditionFailure("notes of plain values always encode: \(error)")
        }
    }
}
