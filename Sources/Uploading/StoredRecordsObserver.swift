package import Archive
package import Media

/// Who wants to know which records the store has: all of them, also those that it had before this program was started.
///
/// It is called on uploading threads, must not block them, and may receive the same records more than once.
package protocol StoredRecordsObserver: AnyObject, Sendable {
    /// The store has a segment, whole and proven, and the proof is beside its file or in its place.
    /// - Parameter isNew: it was proven just now.
    func proven(_ proof: SegmentProof, isNew: Bool)

    /// The store has the first `sizeBytes` bytes of a source's ledger.
    func stored(ledger source: SourceKey, sizeBytes: Int64)

    /// The number up to which the store has every record of a spool, or never has to have it; 0: unknown.
    func storedThrough(_ source: String, _ spool: SpoolID) -> UInt64
}
