/// The objects of one bucket below one prefix: the few operations that keeping an archive in an S3-compatible store needs.
///
/// Any thread may call that is not an event loop's. Calls block until the store has answered, and are not repeated: whoever calls decides
/// by ``ObjectStoreError/kind`` whether and when to try again. Keys are relative to the prefix.
package protocol ObjectBucket: Sendable {
    /// The bucket in messages: `s3://BUCKET/PREFIX`. Without secrets.
    var name: String { get }

    /// The objects whose keys begin with `prefix`, in the order of their keys, at most 1,000 of them.
    /// - Parameters:
    ///   - after: Only keys behind this one.
    ///   - folders: Objects with a further `/` behind the prefix are answered as one folder each.
    func list(prefix: String, after: String?, folders: Bool) throws(ObjectStoreError) -> ObjectPage

    /// What the store says of an object; nil where there is none.
    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties?

    /// A range of an object's bytes. The answer has exactly `range.count` bytes.
    /// - Parameter tag: What ``properties(of:)`` said; an object that was replaced meanwhile is ``ObjectStoreError/Kind/changed``.
    func read(_ key: String, range: Range<Int64>, tag: String?) throws(ObjectStoreError) -> [UInt8]

    /// An address at which everybody who has it can read an object until it expires, without credentials. The store is not asked.
    /// - Parameters:
    ///   - validSeconds: 1 to 604,800.
    ///   - contentType: What the store says that the object is.
    func presignedAddress(
        of key: String, validSeconds: Int, contentType: String
    ) throws(ObjectStoreError) -> String

    /// Writes a small object at once. The store checks the bytes against `digest` before it answers.
    /// - Parameter condition: What must be there before; otherwise ``ObjectStoreError/Kind/exists`` or `changed`.
    func put(
        _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties

    /// Begins an object in parts. `metadata` is kept with it.
    /// - Returns: The upload's name in the store.
    func beginUpload(of key: String, metadata: [String: String]) throws(ObjectStoreError) -> String

    /// Sends one part; the store checks its bytes against `digest`. Sending a part again replaces it.
    /// - Parameter number: 1 to 10,000. Parts but the last have at least 5 MiB.
    func putPart(
        _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
    ) throws(ObjectStoreError) -> UploadedPart

    /// The parts that the store has of an upload, by number; nil where the upload is gone.
    func parts(of upload: String, key: String) throws(ObjectStoreError) -> [UploadedPart]?

    /// Makes the parts an object. Afterwards it is there whole, or not at all.
    func completeUpload(
        _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties

    /// Forgets an upload and its parts. An upload that is gone is no error.
    func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError)

    /// Deletes an object. An object that is not there is no error.
    func delete(_ key: String) throws(ObjectStoreError)
}

extension ObjectBucket {
    /// Puts a small object whose bytes are in an array.
    package func put(
        _ bytes: [UInt8], at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        try put(ObjectBytes(bytes), at: key, digest: digest, condition: condition)
    }
}

/// SHA-256 of bytes that are sent: the store refuses others (`x-amz-checksum-sha256`, `x-amz-content-sha256`).
package struct ObjectDigest: Hashable, Sendable {
    /// 32 bytes.
    package var sha256: [UInt8]

    package init(sha256: [UInt8]) { self.sha256 = sha256 }
}

package enum PutCondition: Hashable, Sendable {
    case none
    /// `If-None-Match: *`. Some stores ignore it when an upload is completed: look at ``ObjectBucket/properties(of:)`` before, too.
    case absent
    /// `If-Match`.
    case tag(String)
}

/// What a store says of an object.
package struct ObjectProperties: Hashable, Sendable {
    package var sizeBytes: Int64
    /// The entity tag, with its quotes. No digest: stores differ in what it is.
    package var tag: String
    /// What ``ObjectBucket/beginUpload(of:metadata:)`` kept; empty for small objects.
    package var metadata: [String: String]
    /// Nanoseconds since 1970, of the store's clock.
    package var modifiedNanoseconds: Int64?
    /// Of all its bytes, as the store computed it; nil where it does not tell, which is so of objects in parts.
    package var digest: ObjectDigest?

    package init(
        sizeBytes: Int64, tag: String, metadata: [String: String] = [:],
        modifiedNanoseconds: Int64? = nil, digest: ObjectDigest? = nil
    ) {
        self.sizeBytes = sizeBytes
        self.tag = tag
        self.metadata = metadata
        self.modifiedNanoseconds = modifiedNanoseconds
        self.digest = digest
    }
}

package struct UploadedPart: Hashable, Sendable {
    package var number: Int
    package var sizeBytes: Int64
    package var tag: String
    /// As the store computed it; nil where it does not tell.
    package var digest: ObjectDigest?

    package init(number: Int, sizeBytes: Int64, tag: String, digest: ObjectDigest?) {
        self.number = number
        self.sizeBytes = sizeBytes
        self.tag = tag
        self.digest = digest
    }
}

/// A page of a listing.
package struct ObjectPage: Sendable {
    package struct Entry: Hashable, Sendable {
        package var key: String
        package var isFolder: Bool
        package var sizeBytes: Int64
        package var tag: String
        package var modifiedNanoseconds: Int64?

        package init(
            key: String, isFolder: Bool, sizeBytes: Int64, tag: String, modifiedNanoseconds: Int64?
        ) {
            self.key = key
            self.isFolder = isFolder
            self.sizeBytes = sizeBytes
            self.tag = tag
            self.modifiedNanoseconds = modifiedNanoseconds
        }
    }

    package var entries: [Entry]
    /// Whether there is more behind the last entry.
    package var isTruncated: Bool

    package init(entries: [Entry], isTruncated: Bool) {
        self.entries = entries
        self.isTruncated = isTruncated
    }
}

/// Why a store did not do what it was asked.
package struct ObjectStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// No connection, no answer, a broken answer: the operation may or may not have happened.
        case unreachable
        /// 500, 502, 503 (slow down), 504: try again later, and less often.
        case busy
        /// 401, 403, wrong signature, expired credentials.
        case denied
        /// The difference of the clocks is too large (`RequestTimeTooSkewed`).
        case clock
        /// The bucket is gone, or there never was one.
        case noBucket
        /// The upload is gone (`NoSuchUpload`), or its object is.
        case gone
        /// There is an object already (412 for ``PutCondition/absent``).
        case exists
        /// The object is not the one that was meant (412 for a tag).
        case changed
        /// The store got other bytes than it was told (`BadDigest`, `XAmzContentSHA256Mismatch`).
        case digest
        /// The store is full, or over a quota (507, `QuotaExceeded`).
        case full
        /// The program ends: the store was not asked, or not waited for.
        case stopped
        /// Anything else that the store refuses: the same request will be refused again.
        case refused
    }

    package var kind: Kind
    /// One line: what was asked of which store, what it said, what to do. Without secrets.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}
