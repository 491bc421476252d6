/// Objects that can be listed and read: those of an object store, or of an archive behind a viewer.
///
/// Thread-safe, but not for event-loop threads: calls block until the server has responded. Calls are not retried: the
/// caller decides by ``ObjectStoreError/kind`` whether and when to retry.
package protocol ReadableBucket: Sendable {
    /// The name in messages: `s3://BUCKET/PREFIX`, or `https://HOST/COLLECTOR`; without secrets.
    var name: String { get }

    /// The objects whose keys begin with `prefix`, in the order of their keys, at most 1,000 of them.
    /// - Parameters:
    ///   - after: only keys after this one.
    ///   - folders: whether objects with a further `/` after the prefix are grouped as folders.
    func list(prefix: String, after: String?, folders: Bool) throws(ObjectStoreError) -> ObjectPage

    /// An object's properties; nil if it does not exist.
    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties?

    /// A range of an object's bytes; exactly `range.count` bytes.
    /// - Parameter tag: from ``properties(of:)``; if the object was replaced since, the error is
    ///   ``ObjectStoreError/Kind/changed``.
    func read(_ key: String, range: Range<Int64>, tag: String?) throws(ObjectStoreError) -> [UInt8]
}

/// The objects of one bucket below one prefix, with the operations that an archive in an S3-compatible store needs.
/// Keys are relative to the prefix.
package protocol ObjectBucket: ReadableBucket {
    /// A presigned URL: anyone who has it can read the object without credentials until it expires. Makes no request.
    /// - Parameters:
    ///   - validSeconds: 1 to ``StoreAddress/maximumValiditySeconds``.
    ///   - contentType: the content type in the store's response.
    func presignedAddress(
        of key: String, validSeconds: Int, contentType: String
    ) throws(ObjectStoreError) -> String

    /// Writes a small object in one request. The store verifies `digest` before it responds.
    /// - Parameter condition: the required previous state; otherwise the error is ``ObjectStoreError/Kind/exists`` or
    ///   `changed`.
    func put(
        _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties

    /// Begins a multipart upload. `metadata` is stored with the object.
    /// - Returns: the upload ID.
    func beginUpload(of key: String, metadata: [String: String]) throws(ObjectStoreError) -> String

    /// Uploads one part; the store verifies `digest`. Uploading a part again replaces it.
    /// - Parameter number: 1 to 10,000. Parts but the last have at least 5 MiB.
    func putPart(
        _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
    ) throws(ObjectStoreError) -> UploadedPart

    /// The uploaded parts by number; nil if the upload no longer exists.
    func parts(of upload: String, key: String) throws(ObjectStoreError) -> [UploadedPart]?

    /// Completes an upload. The object appears atomically.
    func completeUpload(
        _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties

    /// Aborts an upload and deletes its parts. An upload that no longer exists is no error.
    func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError)

    /// Deletes an object. An object that does not exist is no error.
    func delete(_ key: String) throws(ObjectStoreError)
}

extension ObjectBucket {
    /// Writes a small object from an array.
    package func put(
        _ bytes: [UInt8], at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        try put(ObjectBytes(bytes), at: key, digest: digest, condition: condition)
    }
}

/// SHA-256 of a request's body, which the store verifies (`x-amz-checksum-sha256`, `x-amz-content-sha256`).
package struct ObjectDigest: Hashable, Sendable {
    /// 32 bytes.
    package var sha256: [UInt8]

    package init(sha256: [UInt8]) { self.sha256 = sha256 }
}

package enum PutCondition: Hashable, Sendable {
    case none
    /// `If-None-Match: *`. Some stores ignore it when an upload is completed: check ``ObjectBucket/properties(of:)``
    /// first, too.
    case absent
    /// `If-Match`, with the tag's strong form (``EntityTag``).
    case tag(String)
}

package struct ObjectProperties: Hashable, Sendable {
    package var sizeBytes: Int64
    /// The entity tag, with its quotes, without the mark of a weak one (``EntityTag``). Not a digest: stores compute it differently.
    package var tag: String
    /// The metadata of ``ObjectBucket/beginUpload(of:metadata:)``; empty for small objects.
    package var metadata: [String: String]
    /// Nanoseconds since 1970, by the store's clock.
    package var modifiedNanoseconds: Int64?
    /// The store's SHA-256 of the whole object; nil if unavailable, as for multipart objects.
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
    /// The SHA-256 that completing the upload names; nil if the store has not stated one.
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
    /// Whether there are entries after the last one.
    package var isTruncated: Bool

    package init(entries: [Entry], isTruncated: Bool) {
        self.entries = entries
        self.isTruncated = isTruncated
    }
}

/// The reason of a failed request.
package struct ObjectStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// No connection, no response, or a broken one: the operation may or may not have been executed.
        case unreachable
        /// 500, 502, 503 (slow down), 504: retry later, and less often.
        case busy
        /// 401, 403, wrong signature, expired credentials.
        case denied
        /// The difference of the clocks is too large (`RequestTimeTooSkewed`).
        case clock
        /// The bucket does not exist.
        case noBucket
        /// The upload (`NoSuchUpload`) or its object no longer exists.
        case gone
        /// The object exists already (412 for ``PutCondition/absent``).
        case exists
        /// The object was replaced (412 for a tag).
        case changed
        /// The store received bytes with another digest (`BadDigest`, `XAmzContentSHA256Mismatch`).
        case digest
        /// The store is full, or over a quota (507, `QuotaExceeded`).
        case full
        /// The program ends: the request was not sent, or its response not awaited.
        case stopped
        /// Any other rejection: a retry would be rejected again.
        case refused
    }

    package var kind: Kind
    /// One line: the operation, the store, its error, and a remedy. Without secrets.
    package var message: String
    /// The least pause that a busy store asks for (`Retry-After`, RFC 9110 §10.2.3); nil: it does not.
    package var retryAfterNanoseconds: Int64?

    package init(_ kind: Kind, _ message: String, retryAfterNanoseconds: Int64? = nil) {
        self.kind = kind
        self.message = message
        self.retryAfterNanoseconds = retryAfterNanoseconds
    }

    package var description: String { message }
}
