/// A file of a session, by its path below the directory of sessions: the same path in an archive and in a bucket.
///
///     SESSION/session.json            and labels, and clocks.jsonl
///     SESSION/SOURCE/ledger.jsonl
///     SESSION/SOURCE/SEGMENT.mp4
///     SESSION/SOURCE/SEGMENT.mp4.json
package enum SessionFile: Hashable, Sendable {
    /// The session's description, or a file of its labels.
    case document(session: String, name: String)
    case ledger(SourceKey)
    case segment(SegmentKey)
    case proof(SegmentKey)

    /// - Returns: nil for any other path.
    package init?(_ path: String) {
        guard let path = SessionPath(path) else { return nil }
        guard let owner = path.owner else {
            guard SessionPath.documentNames.contains(path.name) else { return nil }
            self = .document(session: path.session, name: path.name)
            return
        }
        if path.name == ArchiveLayout.ledgerName {
            self = .ledger(owner)
        } else if let segment = SegmentKey(owner, fileName: path.name) {
            self = .segment(segment)
        } else if let (name, companion) = SegmentCompanion.parse(path.name), companion == .proof,
            let segment = SegmentKey(owner, name)
        {
            self = .proof(segment)
        } else {
            return nil
        }
    }
}

/// A path below the directory of sessions: `SESSION/NAME`, or `SESSION/SOURCE/NAME`. Session and source have valid names; the
/// file's name was not checked.
package struct SessionPath: Hashable, Sendable {
    /// Names of a session's own files.
    package static let documentNames = Set(
        [ArchiveLayout.manifestName] + ArchiveLayout.documentNames)

    package let session: String
    /// Nil: a file of the session's own.
    package let source: String?
    package let name: String

    /// - Returns: nil for a path of another form.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), parts.dropLast().allSatisfy(ArchiveLayout.isValidName)
        else { return nil }
        session = parts[0]
        source = parts.count == 3 ? parts[1] : nil
        name = parts[parts.count - 1]
    }

    package var owner: SourceKey? { source.map { SourceKey(session: session, source: $0) } }
}
