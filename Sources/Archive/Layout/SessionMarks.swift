import FoundationEssentials

/// `marks.json`: bookmarked instants of a session, each with a line of text. They are in a separate file beside the
/// description, like the labels, so that neither a running collector nor a rewritten description can lose them.
package struct SessionMarks: Codable, Hashable, Sendable {
    package static let fileName = "marks.json"
    /// More than all marks of a session need: a larger file was not written by this program.
    package static let maximumBytes = 16 << 20
    package static let maximumMarks = 10_000
    package static let maximumTextBytes = 512
    /// Length of an identity: hexadecimal digits.
    package static let identityDigits = 16
    /// A hundred and twenty years on either side of zero: no recording is as long, and sums of times do not overflow.
    package static let timeRange: ClosedRange<Int64> =
        -4_000_000_000_000_000_000...4_000_000_000_000_000_000

    /// One mark.
    package struct Mark: Codable, Hashable, Sendable {
        /// Chosen at random by the creator of the mark, so that a repeated request creates one mark; lower-case
        /// hexadecimal.
        package var id: String
        /// Session time, nanoseconds from zero.
        package var atNanoseconds: Int64
        /// One line; may be empty.
        package var text: String
        /// The source concerned; nil: all of them.
        package var source: String?

        package init(id: String, atNanoseconds: Int64, text: String, source: String? = nil) {
            self.id = id
            self.atNanoseconds = atNanoseconds
            self.text = text
            self.source = source
        }

        /// A new identity.
        package static func newIdentity() -> String {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: identityDigits - digits.count) + digits
        }

        package static func isIdentity(_ text: String) -> Bool {
            text.utf8.count == identityDigits
                && text.utf8.allSatisfy {
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
                }
        }

        /// Whether it is valid; marks from a file or a peer are checked by this.
        package var isPossible: Bool {
            Self.isIdentity(id) && text.utf8.count <= maximumTextBytes
                && timeRange.contains(atNanoseconds)
                && source.map(ArchiveLayout.isValidName) ?? true
        }
    }

    /// By time, then by identity.
    package private(set) var marks: [Mark] = []

    package init() {}

    /// Reads no more marks than a session can have.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        marks = try container.decodeFirst(Self.maximumMarks + 1, forKey: .marks)
    }

    /// The marks after some are removed and others added. A mark replaces the one with its identity; removing an unknown
    /// identity has no effect.
    package func changed(adding added: [Mark], removing removed: [String]) -> SessionMarks {
        let gone = Set(removed).union(added.map(\.id))
        var changed = SessionMarks()
        changed.marks = (marks.filter { !gone.contains($0.id) } + added).sorted {
            ($0.atNanoseconds, $0.id) < ($1.atNanoseconds, $1.id)
        }
        return changed
    }

    /// Reads the bytes of a session's marks.
    /// - Parameter path: the file in errors.
    package static func parse(_ bytes: [UInt8], path: String) throws(ArchiveError) -> SessionMarks {
        let reason = "was not written by 'tributary mark': restore or remove it"
        let marks: SessionMarks
        do {
            marks = try JSONDecoder().decode(SessionMarks.self, from: Data(bytes))
        } catch {
            throw .malformed(path: path, reason: reason)
        }
        guard marks.marks.count <= maximumMarks, marks.marks.allSatisfy(\.isPossible),
            Set(marks.marks.map(\.id)).count == marks.marks.count
        else { throw .malformed(path: path, reason: reason) }
        return SessionMarks().changed(adding: marks.marks, removing: [])
    }

    /// The bytes of its file.
    package func encoded() -> [UInt8] { JSONDocument.bytes(of: self) }
}
