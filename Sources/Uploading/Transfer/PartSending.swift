import Archive
import ObjectStore
import Synchronization
import Threads

/// Brings one part of a segment into the store: reads and hashes it, and sends it unless the store has it already.
struct PartSending: Sendable {
    /// A part that is in the store.
    struct Sent: Sendable {
        var digest: Digest
        var part: UploadedPart
    }

    let place: UploadPlace
    let path: String
    let key: String
    let upload: String
    /// Counted from 0.
    let index: Int
    let range: Range<Int64>
    /// Of the file that is sent.
    let stamp: FileStamp
    /// What the store has in this part's place; nil: nothing is known.
    let known: UploadedPart?

    func run() throws(UploadError) -> Sent {
        let bytes = try FileParts.read(range, of: path, stamp)
        let digest = Digest(of: bytes)
        if let known, known.holds(bytes, digest: digest) {
            return Sent(digest: digest, part: known)
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
        return Sent(digest: digest, part: part)
    }

    /// Does several at the same time: the first on this thread, each of the others on one of its own.
    /// - Returns: what came of each, in their order.
    static func run(_ parts: [PartSending]) -> [Result<Sent, UploadError>] {
        let others = parts.dropFirst().map { part in
            let helper = Helper()
            helper.thread.start("upload part") { helper.outcome.withLock { $0 = part.outcome() } }
            return helper
        }
        let first = parts.first.map { [$0.outcome()] } ?? []
        return first
            + others.map { helper in
                helper.thread.join()
                guard let outcome = helper.outcome.withLock({ $0 }) else {
                    preconditionFailure("a thread that has ended has an outcome")
                }
                return outcome
            }
    }

    private final class Helper: Sendable {
        let thread = JoinableThread()
        let outcome = Mutex<Result<Sent, UploadError>?>(nil)
    }

    private func outcome() -> Result<Sent, UploadError> {
        do throws(UploadError) {
            return .success(try run())
        } catch {
            return .failure(error)
        }
    }
}
