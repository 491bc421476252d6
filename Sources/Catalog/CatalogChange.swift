package import Archive

/// A change of an archive's files.
package enum CatalogChange: Sendable {
    /// A session's description, with its sources.
    case session(CatalogSession, [CatalogSource])
    /// A file that has begun, or ended.
    case segment(CatalogSegment)
    case segmentRemoved(session: String, source: String, file: String)
    case event(CatalogEvent)
    /// A source's ledger events; replaces the previous ones.
    case events(session: String, source: String, [CatalogEvent])
    case sessionRemoved(String)
    /// A session's name, tags, note and protection.
    case labels(session: String, isProtected: Bool, notes: SessionNotes)
    /// All rows of a session; replaces the previous ones.
    case all(CatalogEntry)
}
