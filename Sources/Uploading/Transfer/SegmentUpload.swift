import Archive
import Media
import ObjectStore

/// Uploads one segment: performs the steps of its ``SegmentTransfer``.
///
/// After a store error it can be continued with ``run()`` while the file is unchanged; otherwise a new object detects what
/// was done.
final class SegmentUpload {
    /// Metadata of a multipart object: the last digest of the media's chain, and the revision of the index.
    private static let chainName = "tributary-chain"
    private static let revisionName = "tributary-revision"

    /// Limit of consecutive wrong digests from the store.
    private static let maximumDigestErrors = 3

    let segment: SegmentKey
    private let place: UploadTarget
    private let content: SegmentContent
    private let path: String
    private let storedThrough: (SpoolID) -> UInt64
    private var transfer: SegmentTransfer
    private var parts = PartsOnTheirWay()
    private var digestErrors = 0
    /// The proof, after the upload; it is put into the store and beside the file.
    private var proof: SegmentProof?
    /// An upload of other content, or with parts that the store refuses: it will not be completed.
    private var obsolete: String?

    /// Reads the segment's file.
    /// - Parameter storedThrough: up to which record of a spool the store has everything; 0: unknown.
    /// - Throws: ``UploadError/nothing`` when there is nothing to upload.
    init(
        _ segment: SegmentKey, to place: UploadTarget,
        storedThrough: @escaping (SpoolID) -> UInt64 = { _ in 0 }
    ) throws(UploadError) {
        self.segment = segment
        self.storedThrough = storedThrough
        self.place = place
        let path = place.layout.segment(segment)
        self.path = path
        guard FileSystem.exists(path) else { throw .nothing }
        let (content, note) = try place.disk { () throws(ArchiveError) in
            (
                try SegmentContent(path),
                try UploadNote.read(
                    place.layout.path(of: segment, .upload), store: place.bucket.name)
            )
        }
        guard let content else { throw .nothing }
        self.content = content
        let partBytes = SegmentProof.partBytes(
            for: content.stamp.sizeBytes, usual: place.settings.partBytes)
        guard partBytes <= SegmentProof.maximumPartBytes else {
            throw .setAside(
                "\(path) is larger than an object can be (671 GB): record with a shorter --segment")
        }
        let isKnown = note?.describes(content.stamp, partBytes: partBytes) ?? false
        transfer = SegmentTransfer(
            sizeBytes: content.stamp.sizeBytes, partBytes: partBytes,
            upload: isKnown ? note?.upload : nil, readBack: place.settings.readBack,
            draw: place.surroundings.random())
        if let note, let upload = note.upload, !isKnown { obsolete = upload }
    }

    private var key: String { segment.description }

    /// Works until the segment is proven.
    /// - Returns: its proof.
    func run() throws(UploadError) -> SegmentProof {
        // After an error, parts that were uploaded are reused later.
        defer { for sent in parts.waitForAll() { transfer.sentAhead(sent) } }
        while let step = transfer.step {
            try place.pass(step)
            try perform()
        }
        guard let proof else { preconditionFailure("a transfer ends with its proof") }
        return proof
    }

    private func perform() throws(UploadError) {
        switch transfer.state {
        case .looking: try look()
        case .beginning(let condition): try begin(condition)
        case .noting(let upload, _):
            try note(upload)
            transfer.noted()
        case .asking(let upload, _):
            let found = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.parts(of: upload, key: key)
            }
            transfer.asked(found)
        case .sending(let upload, let part, _): try send(part, of: upload)
        case .completing(let upload, let condition): try complete(upload, condition)
        case .putting(let condition): try put(condition)
        case .hashing(let part, _):
            let bytes = try read(part)
            transfer.hashed(part, Digest(of: bytes))
        case .confirming: try confirm()
        case .readingBack(let part, let tag): try readBack(part, tag: tag)
        case .proving(let tag): try prove(tag)
        case .recording: try record()
        case .telling: try tell()
        case .done: break
        }
    }

    // MARK: Steps

    private func look() throws(UploadError) {
        let found = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.properties(of: key)
        }
        let isSame = found.map { object in
            content.chain != nil
                && object.metadata[Self.chainName] == content.chain?.description
                && object.metadata[Self.revisionName] == "\(content.revision)"
        }
        transfer.looked(found, isSameContent: isSame ?? false)
        // A small object has no multipart upload, but may exist in the store from now on.
        if case .putting = transfer.state { try note(nil) }
    }

    private func begin(_ condition: PutCondition) throws(UploadError) {
        try checkUnchanged()
        var metadata = [Self.revisionName: "\(content.revision)"]
        metadata[Self.chainName] = content.chain?.description
        let upload = try place.store { (bucket) throws(ObjectStoreError) in
            if let obsolete { try bucket.abandonUpload(obsolete, key: key) }
            return try bucket.beginUpload(of: key, metadata: metadata)
        }
        obsolete = nil
        transfer.began(upload, condition)
    }

    private func note(_ upload: String?) throws(UploadError) {
        let note = UploadNote(
            store: place.bucket.name, upload: upload, stamp: content.stamp,
            partBytes: transfer.partBytes)
        try place.disk { () throws(ArchiveError) in
            try note.write(place.layout.path(of: segment, .upload), on: place.layout.disk)
        }
    }

    /// Sends a part and waits for it; later parts are sent in parallel.
    private func send(_ part: Int, of upload: String) throws(UploadError) {
        let end = min(part + max(1, place.settings.partsAtOnce), transfer.digests.count)
        for index in part..<end where !parts.contains(index) {
            parts.start(
                PartSending(
                    place: place, path: path, key: key, upload: upload, index: index,
                    range: transfer.range(ofPart: index), stamp: content.stamp,
                    known: transfer.known(index)))
        }
        do throws(UploadError) {
            let sent = try parts.wait(for: part)
            digestErrors = 0
            transfer.sent(part, sent)
        } catch {
            switch error.kind {
            case .gone:
                _ = parts.waitForAll()
                try begin(insteadOf: upload, error)
            case .digest: try countDigestError(error)
            default: throw error
            }
        }
    }

    private func complete(_ upload: String, _ condition: PutCondition) throws(UploadError) {
        try checkUnchanged()
        do throws(UploadError) {
            let made = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.completeUpload(
                    upload, key: key, parts: transfer.orderedParts, condition: condition)
            }
            transfer.completed(tag: made.tag)
        } catch {
            switch error.kind {
            // Completed before with a lost response, or vanished: a HEAD request decides.
            case .gone: try begin(insteadOf: upload, error)
            case .exists, .changed: try lookAgain(upload, error)
            case .digest: try countDigestError(error)
            case .refused where transfer.isResumed:
                // The same parts would be refused for ever: the content is sent once more, in a new upload.
                try begin(insteadOf: upload, error)
            default:
                // The answer may be lost, and the object there.
                transfer.lookAgain()
                throw error
            }
        }
    }

    private func put(_ condition: PutCondition) throws(UploadError) {
        let bytes = try read(0)
        try checkUnchanged()
        let digest = Digest(of: bytes)
        try place.pace(bytes.count)
        do throws(UploadError) {
            let made = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.put(
                    bytes, at: key, digest: ObjectDigest(digest), condition: condition)
            }
            digestErrors = 0
            place.sent(bytes.count)
            transfer.put(digest: digest, tag: made.tag)
        } catch {
            switch error.kind {
            case .exists, .changed: try lookAgain(nil, error)
            case .digest: try countDigestError(error)
            default:
                transfer.lookAgain()
                throw error
            }
        }
    }

    private func confirm() throws(UploadError) {
        let found = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.properties(of: key)
        }
        guard transfer.confirmed(found) else { throw mismatch() }
    }

    private func readBack(_ part: Int, tag: String) throws(UploadError) {
        let range = transfer.range(ofPart: part)
        let bytes: [UInt8]
        do throws(UploadError) {
            try place.pace(range.count)
            bytes = try place.store { (bucket) throws(ObjectStoreError) in
                range.isEmpty ? [] : try bucket.read(key, range: range, tag: tag)
            }
        } catch {
            switch error.kind {
            case .changed, .gone: return try lookAgain(nil, error)
            default: throw error
            }
        }
        let isEqual = Digest(of: bytes) == transfer.digests[part]
        guard transfer.compared(part, isEqual: isEqual) else { throw mismatch() }
    }

    private func prove(_ tag: String) throws(UploadError) {
        try checkUnchanged()
        var proof = SegmentProof(
            of: segment, content: content, partBytes: transfer.partBytes,
            parts: transfer.digests.compactMap { $0 }, store: place.bucket.name, tag: tag,
            at: place.surroundings.utc())
        let through = content.records.map { ($0.spool.description, storedThrough($0.spool)) }
            .filter { $0.1 > 0 }
        if !through.isEmpty {
            proof.storedThrough = Dictionary(through, uniquingKeysWith: { first, _ in first })
        }
        let bytes = proof.encoded()
        // No precondition: the session's owner was checked before, and the proof of an earlier revision has to be replaced.
        _ = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.put(
                bytes, at: segment.path(.proof), digest: ObjectDigest(Digest(of: bytes)),
                condition: .none)
        }
        self.proof = proof
        transfer.proved()
    }

    private func record() throws(UploadError) {
        try checkUnchanged()
        let bytes = proof?.encoded() ?? []
        try place.disk { () throws(ArchiveError) in
            try FileSystem.replace(
                place.layout.path(of: segment, .proof), with: bytes, on: place.layout.disk)
        }
        transfer.recorded()
    }

    private func tell() throws(UploadError) {
        try place.disk { () throws(ArchiveError) in
            try FileSystem.remove(place.layout.path(of: segment, .upload), on: place.layout.disk)
        }
        transfer.told()
    }

    // MARK: Parts of steps

    /// The upload is lost, or its parts are: a new one replaces it, a limited number of times. It is abandoned, because
    /// a store that denies an upload may still have its parts.
    private func begin(
        insteadOf upload: String, _ error: UploadError
    ) throws(UploadError) {
        obsolete = upload
        guard transfer.uploadIsGone() else {
            throw try givenUp(
                error, "check the store, and whether something aborts its multipart uploads")
        }
    }

    /// The object was changed, as the store states: it is looked up again, a limited number of times.
    /// - Parameter upload: the one that was to be completed; nil: none.
    private func lookAgain(_ upload: String?, _ error: UploadError) throws(UploadError) {
        guard transfer.objectIsChanged() else {
            obsolete = upload
            throw try givenUp(
                error,
                "check that no other program writes there, and that no proxy changes ETag, If-Match or If-None-Match"
            )
        }
    }

    /// The error that sets the segment aside. No upload stays open.
    private func givenUp(_ error: UploadError, _ advice: String) throws(UploadError) -> UploadError
    {
        guard case .store(let refusal) = error else { return error }
        if let obsolete {
            try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.abandonUpload(obsolete, key: key)
            }
            self.obsolete = nil
        }
        return .setAside(
            "\(refusal.message), as in \(transfer.repetitions) attempts: \(advice)")
    }

    private func read(_ part: Int) throws(UploadError) -> ObjectBytes {
        try FileParts.read(transfer.range(ofPart: part), of: path, content.stamp)
    }

    /// Whether the file is still the one that is being sent.
    private func checkUnchanged() throws(UploadError) {
        guard FileStamp(path) == content.stamp else { throw .changedMeanwhile }
    }

    private func countDigestError(_ error: UploadError) throws(UploadError) {
        digestErrors += 1
        guard digestErrors >= Self.maximumDigestErrors else { return }
        digestErrors = 0
        throw error
    }

    private func mismatch() -> UploadError {
        .setAside(
            "\(place.bucket.name) answers other bytes of \(key) than were sent; check the store with 'tributary store verify'"
        )
    }
}
