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
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), let name = parts.last,
            parts.dropLast().allSatisfy(ArchiveLayout.isValidName)
        else { return nil }
        guard parts.count == 3 else {
            guard ([ArchiveLayout.manifestName] + ArchiveLayout.documentNames).contains(name) else {
                return nil
            }
            self = .document(session: parts[0], name: name)
            return
        }
        let owner = SourceKey(session: parts[0], source: parts[1])
        if name == ArchiveLayout.ledgerName {
            self = .ledger(owner)
        } else if let segment = SegmentKey(owner, fileName: name) {
            self = .segment(segment)
        } else if name.hasSuffix(SegmentProof.suffix),
            let segment = SegmentKey(
                owner, fileName: String(name.dropLast(SegmentProof.suffix.count)))
        {
            self = .proof(segment)
        } else {
            return nil
        }
    }
}
