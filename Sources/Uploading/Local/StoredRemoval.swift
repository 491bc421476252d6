import Archive
import ObjectStore

/// Removes a segment or a session from the store, then the local documents about it: an interruption leaves no object that no
/// document names.
struct StoredRemoval {
    private let place: UploadTarget

    init(in place: UploadTarget) { self.place = place }

    /// Asks the store whether it has the segment of a proof. To be called directly before the local copy is removed.
    /// - Returns: why it is not proven; nil: it is.
    func recheck(_ segment: SegmentKey) throws(UploadError) -> String? {
        try place.pass(.recheck)
        let proof = try place.disk { () throws(ArchiveError) in
            try SegmentProof.read(segment, in: place.layout)
        }
        // It is still being uploaded, or was in another store.
        guard let proof, proof.store == place.bucket.name else { throw .nothing }
        guard let stamp = FileStamp(place.layout.segment(segment)), proof.describes(stamp) else {
            return "its size or time is not the one that was proven"
        }
        let key = segment.description
        let (object, evidence) = try place.store { (bucket) throws(ObjectStoreError) in
            (
                try bucket.properties(of: key),
                try bucket.properties(of: segment.path(.proof))
            )
        }
        guard let object else {
            // S3 answers HEAD without a reason: a missing bucket looks the same, and does not concern this segment.
            _ = try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.list(prefix: key, after: nil, folders: false)
            }
            return "\(place.bucket.name) no longer has it"
        }
        guard object.sizeBytes == proof.sizeBytes, EntityTag.isSame(object.tag, proof.tag) else {
            return "\(place.bucket.name) has another object in its place"
        }
        guard let evidence, evidence.sizeBytes > 0 else {
            return "\(place.bucket.name) no longer has its proof"
        }
        return nil
    }

    /// Deletes the objects of a segment; the proof first, so that it never exists without the media.
    func delete(_ segment: SegmentKey) throws(UploadError) {
        let key = segment.description
        try place.passRemoval(.deleteProof)
        try place.store { (bucket) throws(ObjectStoreError) in
            try bucket.delete(segment.path(.proof))
        }
        try place.passRemoval(.deleteObject)
        try place.store { (bucket) throws(ObjectStoreError) in try bucket.delete(key) }
        let note = try place.disk { () throws(ArchiveError) in
            try UploadNote.read(place.layout.path(of: segment, .upload), store: place.bucket.name)
        }
        if let upload = note?.upload {
            try place.passRemoval(.abandonUpload)
            try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.abandonUpload(upload, key: key)
            }
        }
    }

    /// Deletes a locally removed session from the store, then the rest of it locally. The description is deleted last, because it
    /// names the owner of the rest.
    func deleteSession(_ session: String) throws(UploadError) {
        let path = SessionRemoval.record(of: session, in: place.layout)
        let record = try place.disk { () throws(ArchiveError) in
            try StoredDocuments.read(path, store: place.bucket.name)
        }
        // A record of another store stays until that store is used again.
        guard let record else { return }
        try place.pass(.identify)
        let found = try StoredSession.identity(of: session, in: place)
        if found == record.identity {
            let description = "\(session)/\(ArchiveLayout.manifestName)"
            try StoreListing(of: "\(session)/", folders: false, in: place).forEach {
                entry throws(UploadError) in
                guard entry.key != description else { return }
                try place.passRemoval(.deleteObject)
                try place.store { (bucket) throws(ObjectStoreError) in
                    try bucket.delete(entry.key)
                }
            }
            try place.passRemoval(.deleteDocument)
            try place.store { (bucket) throws(ObjectStoreError) in try bucket.delete(description) }
        }
        try place.pass(.forget)
        try place.disk { () throws(ArchiveError) in
            try SessionRemoval.complete(session, in: place.layout)
        }
    }
}
