package import Archive
package import Media

/// Observes which records are in the store, including those from before this program was started.
///
/// It is called on uploading threads, and must not block. The same records may be reported repeatedly.
package protocol StoredRecordsObserver: AnyObject, Sendable {
    /// The store has a complete, proven segment, and the proof is on disk.
    /// - Parameter isNew: it was proven just now.
    func proven(_ proof: SegmentProof, isNew: Bool)

    /// The store has the first `sizeBytes` bytes of a source's ledger.
    func stored(ledger source: SourceKey, sizeBytes: Int64)

    /// The number up to which the store has every record of a spool, or never has to have it; 0: unknown.
    func storedThrough(_ source: String, _ spool: SpoolID) -> UInt64
}
