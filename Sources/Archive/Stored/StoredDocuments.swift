import FoundationEssentials
import Media

/// `.stored`: the other files of a session (description, ledgers, notes, protection) that an object store has, with
/// their digests.
///
/// It is a cache: without it, the files are compared with the store again. In a session that is being removed, it marks
/// that parts of the session have to be deleted from the store, too.
package struct StoredDocuments: Codable, Hashable, Sendable {
    private static let formatVersion = 1
    private static let maximumBytes = 16 << 20

    /// A file in the store.
    package struct Document: Codable, Hashable, Sendable {
        package var sizeBytes: Int64
        package var modifiedNanoseconds: Int64
        /// SHA-256, hexadecimal.
        package var digest: String
        /// The object's entity tag.
        package var tag: String

        package init(_ stamp: FileStamp, digest: Digest, tag: String) {
            sizeBytes = stamp.sizeBytes
            modifiedNanoseconds = stamp.modifiedNanoseconds
            self.digest = digest.description
            self.tag = tag
        }

        package func describes(_ stamp: FileStamp) -> Bool {
            sizeBytes == stamp.sizeBytes && modifiedNanoseconds == stamp.modifiedNanoseconds
        }
    }

    /// Distinguishes a session from another one with the same name: its zero to the nanosecond. Its zero on the
    /// collector's monotonic clock changes with a reboot.
    package struct Identity: Codable, Hashable, Sendable {
        package var zeroUTCNanoseconds: Int64

        package init(_ manifest: SessionManifest) {
            zeroUTCNanoseconds = manifest.zeroUTCNanoseconds
        }
    }

    package var format = Self.formatVersion
    /// `s3://BUCKET/PREFIX`.
    package var store: String
    package var identity: Identity
    /// By their path in the session's folder, such as `stage/ledger.jsonl`.
    package var documents: [String: Document] = [:]

    package init(store: String, identity: Identity) {
        self.store = store
        self.identity = identity
    }

    /// Reads a session's record; nil if it does not exist, is damaged, or belongs to another store.
    package static func read(
        _ path: String, store: String
    ) throws(ArchiveError) -> StoredDocuments? {
        guard let read = try read(path), read.store == store else { return nil }
        return read
    }

    /// The address of the store that has parts of a locally removed session; nil if there is none.
    package static func store(
        ofRemoved session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) -> String? {
        try store(SessionRemoval.record(of: session, in: layout))
    }

    /// The store of a record; nil without a valid one.
    static func store(_ path: String) throws(ArchiveError) -> String? { try read(path)?.store }

    /// The record of any store.
    private static func read(_ path: String) throws(ArchiveError) -> StoredDocuments? {
        guard FileSystem.exists(path) else { return nil }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        do {
            let read = try JSONDecoder().decode(StoredDocuments.self, from: Data(bytes))
            return read.format == formatVersion ? read : nil
        } catch {
            // It will be determined again.
            return nil
        }
    }

    /// Writes it durably.
    package func write(_ path: String, on disk: any Disk) throws(ArchiveError) {
        let bytes = JSONDocument.bytes(of: self, isIndented: false)
        try FileSystem.replace(path, with: bytes, on: disk)
    }
}
