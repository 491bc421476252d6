import Archive
import ObjectStore

/// Uploads one part of a segment: reads and hashes it, and sends it unless the store already has it.
struct PartSending: Sendable {
    /// A part that is in the store.
    struct Sent: Sendable {
        var digest: Digest
        /// With its digest, if completing the upload has to name one.
        var part: UploadedPart
        /// Whether the store has stated the digest.
        var isChecked: Bool
        /// Its buffer, which is free again.
        var bytes: ObjectBytes
    }

    let place: UploadTarget
    let path: String
    let key: String
    let upload: String
    /// Counted from 0.
    let index: Int
    let range: Range<Int64>
    /// Stamp of the file that is sent.
    let stamp: FileStamp
    /// The part that the store has at this index; nil if unknown.
    let known: UploadedPart?

    /// - Parameter spare: bytes of another part, whose memory can be reused.
    func run(in spare: consuming ObjectBytes?) throws(UploadError) -> Sent {
        let bytes = try FileParts.read(range, of: path, stamp, in: spare)
        let digest = Digest(of: bytes)
        if let known, known.holds(bytes, digest: digest) {
            // SeaweedFS lists parts without their digests, and completes no upload without them.
            var part = known
            part.digest = ObjectDigest(digest)
            return Sent(
                digest: digest, part: part, isChecked: known.digest != nil, bytes: bytes)
        }
        try place.pace(bytes.count)
        let part = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.putPart(
                index + 1, of: upload, key: key, bytes: bytes, digest: ObjectDigest(digest))
        }
        guard part.number == index + 1, part.sizeBytes == Int64(bytes.count),
            part.digest.map({ $0.sha256 == digest.bytes }) ?? true
        else {
            throw .store(
                ObjectStoreError(
                    .digest,
                    "\(place.bucket.name) has other bytes than were sent to it, of \(key)"))
        }
        place.sent(bytes.count)
        return Sent(
            digest: digest, part: part, isChecked: part.digest != nil, bytes: bytes)
    }
}
