package import Archive
package import ObjectStore

/// Settings of an archive's uploads.
package struct UploadSettings: Hashable, Sendable {
    /// The stored bytes that are read back before a segment counts as proven.
    package enum ReadBack: String, CaseIterable, Hashable, Sendable {
        /// None: the store's own checks are trusted, if it returns the digests that it has computed.
        case none
        /// One part of each segment, drawn at random, where the store reports no digests. At the default segment length that
        /// is about 3 % of the bytes.
        case sample
        /// All.
        case all
    }

    /// Maximum bytes per second, over all connections; nil: no limit.
    package var bytesPerSecond: Int64?
    /// Size of a part, unless the object would have more than 10,000. An object of one part is sent at once.
    package var partBytes: Int64 = 8 << 20
    package var readBack = ReadBack.sample
    /// Uploads at the same time.
    package var connections = 2
    /// Parts of one segment in flight, each with its own connection, all of them in memory.
    package var partsAtOnce = 3
    /// Whether the uploader ends when everything is done or cannot be done, as a command does; a collector's waits.
    package var endsWithWork = false

    package init() {}
}

/// Dependencies of an uploader, which tests simulate.
package struct UploadSurroundings: Sendable {
    /// A monotonic clock, nanoseconds.
    package var now: @Sendable () -> Int64
    package var utc: @Sendable () -> UTCTime
    /// Waits for this many nanoseconds.
    package var sleep: @Sendable (Int64) -> Void
    package var random: @Sendable () -> UInt64
    /// Whether uploads have to give way to recording now.
    package var mustGiveWay: @Sendable () -> Bool = { false }
    /// Whether expired segments may be removed from the store now: another program may be the one that does so.
    package var mayRemove: @Sendable () -> Bool = { true }
    /// Called before each step; ends the work there by throwing.
    package var checkpoint: @Sendable (UploadStep) throws(UploadStop) -> Void = { _ in }
}

/// The steps from a file on the disk to its local removal. Between two steps, all state is in the store or on the disk, so work
/// that is interrupted before any step can be resumed.
package enum UploadStep: String, CaseIterable, Hashable, Sendable {
    // A session.
    /// Notes on the disk that the store will have objects of the session.
    case noteSession
    /// Asks the store whether it has another session of the same name.
    case identify
    /// Puts a description, a ledger, notes.
    case putDocument
    /// Deletes a document in the store that does not exist on the disk any more.
    case deleteDocument
    /// Notes which documents the store has.
    case noteDocuments

    // A segment.
    /// Looks up the segment's object.
    case look
    /// Reads the file's digests, without sending it.
    case hash
    /// Begins a multipart upload.
    case begin
    /// Notes the upload's name on the disk.
    case note
    /// Asks which parts of an earlier upload the store has.
    case ask
    /// Sends a part.
    case part
    /// Completes the multipart upload.
    case complete
    /// Sends a small segment at once.
    case put
    /// Verifies the object.
    case confirm
    /// Reads a part back, and compares it.
    case readBack
    /// Puts the proof into the store.
    case prove
    /// Writes the proof beside the segment.
    case record
    /// Removes the note of the upload, and reports that the segment is stored.
    case tell

    // The removal of a local copy.
    /// Confirms that the store still has the proven segment.
    case recheck
    /// Requests removal of the local copy.
    case evict

    // The removal from everywhere.
    case deleteProof
    case deleteObject
    case abandonUpload
    /// Removes the local remains.
    case forget
}

/// The work ends here: the program is stopping.
package struct UploadStop: Error, Hashable, Sendable {
    package init() {}
}

/// An error of an upload or of other work with the store.
package enum UploadError: Error, Hashable, Sendable {
    case store(ObjectStoreError)
    case archive(ArchiveError)
    case stopped
    /// Another program may be the one that removes from the store now, or may have become it.
    case notEntitled
    /// The file has changed since it was read: it was retimed, or is still written. The work restarts.
    case changedMeanwhile
    /// There is nothing to upload: the file is gone, or still grows.
    case nothing
    /// A retry would fail again. One line with the reason and what to do.
    case setAside(String)
}
