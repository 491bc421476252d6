import Archive
import ObjectStore

/// Uploads a session's small files: its description, labels and protection, and the ledgers of its sources.
///
/// They precede the session's segments, because the upload identifies the session in the store. If two collectors use one prefix,
/// both report an error, and neither replaces the other's recordings.
struct SessionDocuments {
    /// Attempts, if another program writes the same document at the same time.
    private static let attempts = 3

    private let session: String
    private let place: UploadTarget
    private let layout: ArchiveLayout

    init(_ session: String, to place: UploadTarget) {
        self.session = session
        self.place = place
        layout = place.layout
    }

    /// Uploads the documents that changed since the last upload.
    /// - Parameters:
    ///   - isKnown: the session in the store was identified before.
    ///   - hasLedger: receives the number of stored bytes of each ledger.
    /// - Throws: ``UploadError/setAside(_:)`` if the store has another session of this name, ``UploadError/nothing`` if
    ///   there is no such local session.
    func run(
        isKnown: Bool, hasLedger: (SourceKey, Int64) -> Void = { _, _ in }
    ) throws(UploadError) {
        guard FileSystem.exists(layout.manifest(session)) else { throw .nothing }
        let manifest = try place.disk { () throws(ArchiveError) in
            try SessionManifest.read(layout.manifest(session))
        }
        let identity = StoredDocuments.Identity(manifest)
        var record = try noted(identity)
        if !isKnown { try identify(identity) }
        let present = try documents()
        for name in present {
            try bring(name, &record)
            guard let source = ledgerSource(name), let document = record.documents[name] else {
                continue
            }
            hasLedger(source, document.sizeBytes)
        }
        for name in record.documents.keys.sorted() where !present.contains(name) {
            try place.pass(.deleteDocument)
            try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.delete("\(session)/\(name)")
            }
            record.documents[name] = nil
            try note(record)
        }
    }

    /// The source of a ledger; nil for other documents.
    private func ledgerSource(_ name: String) -> SourceKey? {
        if case .ledger(let owner) = SessionFile("\(session)/\(name)") { owner } else { nil }
    }

    /// Names of the session's documents, in its folder: first the description, so that the others are a session's.
    private func documents() throws(UploadError) -> [String] {
        var names = [ArchiveLayout.manifestName]
        for name in ArchiveLayout.documentNames
        where FileSystem.exists("\(layout.session(session))/\(name)") {
            names.append(name)
        }
        let sources = try place.disk { () throws(ArchiveError) in
            try layout.sourceNames(session)
        }
        return names
            + sources.map { "\($0)/\(ArchiveLayout.ledgerName)" }.filter {
                FileSystem.exists("\(layout.session(session))/\($0)")
            }
    }

    /// Lists the stored documents. Written before the upload, so that removing the session also removes them from the store.
    private func noted(
        _ identity: StoredDocuments.Identity
    ) throws(UploadError) -> StoredDocuments {
        let known = try place.disk { () throws(ArchiveError) in
            try StoredDocuments.read(layout.stored(session), store: place.bucket.name)
        }
        if let known, known.identity == identity { return known }
        try place.pass(.noteSession)
        // The session's directory entry must be durable first: after a power cut, the store must not have a session that
        // the disk lacks. Done before the record is written, because a known record skips this.
        try place.disk { () throws(ArchiveError) in
            try FileSystem.synchronizeDirectory(layout.sessions, on: layout.disk)
        }
        let new = StoredDocuments(store: place.bucket.name, identity: identity)
        try note(new)
        return new
    }

    private func note(_ record: StoredDocuments) throws(UploadError) {
        try place.pass(.noteDocuments)
        try place.disk { () throws(ArchiveError) in
            try record.write(layout.stored(session), on: layout.disk)
        }
    }

    /// Asks the store whether its session of this name is this one.
    private func identify(_ identity: StoredDocuments.Identity) throws(UploadError) {
        try place.pass(.identify)
        let found = try StoredSession.identity(of: session, in: place)
        guard let found, found != identity else { return }
        throw .setAside(
            "\(place.bucket.name) has another session of the name \(session): give each archive a prefix of its own"
        )
    }

    /// Sends a document that is missing in the store, or differs.
    private func bring(
        _ name: String, _ record: inout StoredDocuments
    ) throws(UploadError) {
        let path = "\(layout.session(session))/\(name)"
        guard let stamp = FileStamp(path) else { return }
        if record.documents[name]?.describes(stamp) == true { return }
        var condition = record.documents[name].map { PutCondition.tag($0.tag) } ?? .absent
        for attempt in 1...Self.attempts {
            do throws(UploadError) {
                try place.pass(.putDocument)
                let (digest, properties) = try send(path, stamp, "\(session)/\(name)", condition)
                record.documents[name] = StoredDocuments.Document(
                    stamp, digest: digest, tag: properties.tag)
                return try note(record)
            } catch {
                switch error.kind {
                case .exists, .changed, .gone:
                    if attempt == Self.attempts { throw error }
                default: throw error
                }
            }
            // The object may exist: it was written before, and the response or the record was lost. Then it belongs to this session, and is
            // replaced. The description may also come from another archive, since the last request.
            if name == ArchiveLayout.manifestName { try identify(record.identity) }
            let found = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.properties(of: "\(session)/\(name)")
            }
            condition = found.map { .tag($0.tag) } ?? .absent
        }
    }

    /// Uploads the current content of a file. A ledger that grows during the upload is uploaded again.
    private func send(
        _ path: String, _ stamp: FileStamp, _ key: String, _ condition: PutCondition
    ) throws(UploadError) -> (Digest, ObjectProperties) {
        let size = stamp.sizeBytes
        let partBytes = SegmentProof.partBytes(for: size, usual: place.settings.partBytes)
        func read(_ range: Range<Int64>) throws(UploadError) -> ObjectBytes {
            do throws(ArchiveError) {
                return try FileParts(path).read(range)
            } catch {
                if FileStamp(path) != stamp { throw .changedMeanwhile }
                throw .archive(error)
            }
        }
        guard size > partBytes else {
            let bytes = try read(0..<size)
            let digest = Digest(of: bytes)
            try place.pace(bytes.count)
            let made = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.put(
                    bytes, at: key, digest: ObjectDigest(digest), condition: condition)
            }
            place.sent(bytes.count)
            return (digest, made)
        }
        let upload = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.beginUpload(of: key, metadata: [:])
        }
        var parts: [UploadedPart] = []
        var digests: [Digest] = []
        for begin in stride(from: Int64(0), to: size, by: Int64.Stride(partBytes)) {
            try place.pass(.putDocument)
            let bytes = try read(begin..<min(begin + partBytes, size))
            let digest = Digest(of: bytes)
            try place.pace(bytes.count)
            parts.append(
                try place.store { (bucket) throws(ObjectStoreError) in
                    try bucket.putPart(
                        parts.count + 1, of: upload, key: key, bytes: bytes,
                        digest: ObjectDigest(digest))
                })
            digests.append(digest)
            place.sent(bytes.count)
        }
        let made = try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.completeUpload(upload, key: key, parts: parts, condition: condition)
        }
        return (SegmentProof.digest(of: digests), made)
    }
}

/// A session in the store.
enum StoredSession {
    /// The identity of the stored session of a name; nil if the store has none.
    /// - Throws: ``UploadError/setAside(_:)`` if the object is not a session's description.
    static func identity(
        of session: String, in place: UploadTarget
    ) throws(UploadError) -> StoredDocuments.Identity? {
        let key = "\(session)/\(ArchiveLayout.manifestName)"
        let found: (ObjectProperties, [UInt8])? = try place.store {
            (bucket) throws(ObjectStoreError) in
            guard let found = try bucket.properties(of: key) else { return nil }
            guard (1...Int64(SessionManifest.maximumBytes)).contains(found.sizeBytes) else {
                return (found, [])
            }
            return (found, try bucket.read(key, range: 0..<found.sizeBytes, tag: found.tag))
        }
        guard let (_, bytes) = found else { return nil }
        do throws(ArchiveError) {
            return StoredDocuments.Identity(
                try SessionManifest.parse(bytes, path: "\(place.bucket.name)/\(key)"))
        } catch {
            throw .setAside(
                "\(error), so nothing is sent to it: move it away, or use another prefix")
        }
    }
}
