import FoundationEssentials
import Media

/// `.stored`: which of a session's other files (description, ledgers, notes, protection) an object store has, and as what.
///
/// It is knowledge, not content: without it, the files are compared with the store again. In a session that is being removed, it says
/// that the store has something of the session that has to be deleted, too.
package struct StoredDocuments: Codable, Hashable, Sendable {
    private static let formatVersion = 1
    private static let maximumBytes = 16 << 20

    /// A file as the store has it.
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

    /// What distinguishes a session from another one of the same name: its zero to the nanosecond. Its zero on the collector's monotonic
    /// clock would not do: it is another one after a reboot.
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

    /// Reads a session's record; nil where there is none, it is damaged, or another store is meant.
    package static func read(
        _ path: String, store: String
    ) throws(ArchiveError) -> StoredDocuments? {
        guard FileSystem.exists(path) else { return nil }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        do {
            let read = try JSONDecoder().decode(StoredDocuments.self, from: Data(bytes))
            return read.format == formatVersion && read.store == store ? read : nil
        } catch {
            // What it said is found out again.
            return nil
        }
    }

    /// Makes it durable.
    package func write(_ path: String, on disk: any Disk) throws(ArchiveError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
        } catch {
            preconditionFailure("a record of plain values always encodes: \(error)")
        }
        try FileSystem.replace(path, with: bytes, on: disk)
    }
}
