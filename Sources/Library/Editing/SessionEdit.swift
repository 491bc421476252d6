package import Archive
import Recordings

/// A change of a session's labels, marks and protection.
package struct SessionEdit: Hashable, Sendable {
    package static let maximumTagBytes = 64

    /// An error in labels.
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        case longName
        case longNote
        /// A name of several lines, or with control characters.
        case badName(String)
        /// A blank name, or one that names another session already.
        case unusableName
        /// A tag that is empty, too long or of several lines.
        case badTag(String)
        /// A mark whose text is too long or of several lines.
        case badMarkText
        /// A mark further from its session than any recording.
        case badMarkTime
        /// A mark whose source or identity cannot be one.
        case badMark

        package var description: String {
            switch self {
            case .longName:
                "the name is too long: use at most \(SessionNotes.maximumTextBytes) bytes"
            case .longNote:
                "the note is too long: use at most \(SessionNotes.maximumTextBytes) bytes"
            case .badName: "the name must be one line"
            case .unusableName:
                "the name must not be blank, nor 'latest', which is the newest session"
            case .badTag: "a tag must be one line of at most \(maximumTagBytes) bytes"
            case .badMarkText:
                "the text of a mark must be one line of at most \(SessionMarks.maximumTextBytes) bytes"
            case .badMarkTime: "the time of a mark is further from its session than any recording"
            case .badMark:
                "a mark needs 16 hexadecimal digits as its id, and the name of a source or none"
            }
        }
    }

    /// Nil: unchanged; empty: removed.
    package let name: String?
    package let note: String?
    package let addedTags: [String]
    package let removedTags: [String]
    package let addedMarks: [SessionMarks.Mark]
    /// Identities.
    package let removedMarks: [String]
    /// Nil: unchanged.
    package let isProtected: Bool?

    package init(
        name: String? = nil, note: String? = nil, addedTags: [String] = [],
        removedTags: [String] = [], isProtected: Bool? = nil,
        addedMarks: [SessionMarks.Mark] = [], removedMarks: [String] = []
    ) throws(Flaw) {
        if let name {
            guard name.utf8.count <= SessionNotes.maximumTextBytes else { throw .longName }
            guard Self.isOneLine(name) else { throw .badName(name) }
            guard name.isEmpty || !Self.isBlank(name), name != "latest" else { throw .unusableName }
        }
        if let note, note.utf8.count > SessionNotes.maximumTextBytes { throw .longNote }
        for tag in addedTags + removedTags {
            guard !tag.isEmpty, tag.utf8.count <= Self.maximumTagBytes, Self.isOneLine(tag) else {
                throw .badTag(tag)
            }
        }
        for mark in addedMarks {
            guard mark.text.utf8.count <= SessionMarks.maximumTextBytes,
                Self.isOneLine(mark.text)
            else { throw .badMarkText }
            guard SessionMarks.timeRange.contains(mark.atNanoseconds) else { throw .badMarkTime }
            guard mark.isPossible else { throw .badMark }
        }
        guard removedMarks.allSatisfy(SessionMarks.Mark.isIdentity) else { throw .badMark }
        self.name = name
        self.note = note
        self.addedTags = addedTags
        self.removedTags = removedTags
        self.isProtected = isProtected
        self.addedMarks = addedMarks
        self.removedMarks = removedMarks
    }

    /// The labels after the edit of these.
    package func applied(to labels: SessionNotes) -> SessionNotes {
        var labels = labels
        if let name { labels.name = name.isEmpty ? nil : name }
        if let note { labels.note = note.isEmpty ? nil : note }
        labels.tags = Set(labels.tags).union(addedTags).subtracting(removedTags).sorted()
        return labels
    }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

    /// Without line breaks and other control characters.
    private static func isOneLine(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}

extension RecordingLibrary {
    /// An edit takes milliseconds.
    private static let lockTimeout = Duration.seconds(5)

    /// Applies an edit, and writes only what changes. A lock serialises edits by several programs, so that none is lost.
    /// - Returns: the session's labels; whether anything was changed.
    package func apply(
        _ edit: SessionEdit, to session: String
    ) throws -> (labels: SessionNotes, hasChanged: Bool) {
        let lock = try DirectoryLock(
            layout.sessions, timeout: Self.lockTimeout,
            busy: "another program has been changing a session for seconds: try again")
        return try apply(edit, to: session, lock)
    }

    private func apply(
        _ edit: SessionEdit, to session: String, _ lock: borrowing DirectoryLock
    ) throws -> (labels: SessionNotes, hasChanged: Bool) {
        let before = try SessionNotes.read(session, in: layout)
        let labels = edit.applied(to: before)
        guard labels.tags.count <= SessionNotes.maximumTags else {
            throw LibraryError.tooManyTags(session)
        }
        var hasChanged = labels != before
        let marksBefore = try storedMarks(of: session)
        let marks = marksBefore.changed(adding: edit.addedMarks, removing: edit.removedMarks)
        guard marks.marks.count <= SessionMarks.maximumMarks else {
            throw LibraryError.tooManyMarks(session)
        }
        if hasChanged { try setLabels(labels, of: session) }
        if marks != marksBefore {
            try setMarks(marks, of: session)
            hasChanged = true
        }
        if let wanted = edit.isProtected, wanted != isProtected(session) {
            try setProtected(wanted, session)
            hasChanged = true
        }
        return (labels, hasChanged)
    }
}
