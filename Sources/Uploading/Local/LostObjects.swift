import Archive
import ObjectStore

/// Finds objects that the store has lost since they were proven, and removes their proofs, so that they are uploaded again.
///
/// One listing is compared with all proofs of a session. Like a proof, the record of a document is dropped if its object is
/// missing.
package struct LostObjects {
    /// Result for a session.
    package struct Outcome: Hashable, Sendable {
        /// Segments that are uploaded again.
        package var segments = 0
        /// Documents that are uploaded again.
        package var documents = 0
        /// One line for each segment that cannot be uploaded again, because the disk does not have it.
        package var problems: [String] = []
    }

    private let place: UploadTarget

    package init(of place: UploadTarget) { self.place = place }

    /// Compares a session of the archive with the store. A session without proofs needs no request.
    package func dropProofs(of session: String) throws(UploadError) -> Outcome {
        let layout = place.layout
        // Read before the listing: another program may upload segments at the same time.
        let proofs = try place.disk { () throws(ArchiveError) in try self.proofs(of: session) }
        let record = try place.disk { () throws(ArchiveError) in
            try StoredDocuments.read(layout.stored(session), store: place.bucket.name)
        }
        let documents = record?.documents ?? [:]
        var outcome = Outcome()
        if proofs.isEmpty, documents.isEmpty { return outcome }
        var objects: [String: ObjectPage.Entry] = [:]
        try StoreListing(of: "\(session)/", folders: false, in: place).forEach { entry in
            objects[entry.key] = entry
        }
        for (segment, proof) in proofs {
            let object = objects[segment.description]
            let isThere =
                object.map {
                    $0.sizeBytes == proof.sizeBytes && EntityTag.isSame($0.tag, proof.tag)
                }
                ?? false
            if isThere, objects[segment.path(.proof)] != nil { continue }
            guard FileSystem.exists(layout.segment(segment)) else {
                if object == nil {
                    outcome.problems.append(
                        "\(place.bucket.name) no longer has \(segment), and neither does the disk")
                }
                continue
            }
            try place.disk { () throws(ArchiveError) in
                try FileSystem.remove(layout.path(of: segment, .proof), on: layout.disk)
            }
            outcome.segments += 1
        }
        let lost = documents.keys.filter { objects["\(session)/\($0)"] == nil }
        if var record, !lost.isEmpty {
            for name in lost { record.documents[name] = nil }
            try place.disk { () throws(ArchiveError) in
                try record.write(layout.stored(session), on: layout.disk)
            }
            outcome.documents = lost.count
        }
        return outcome
    }

    /// The valid proofs of a session that are about this store.
    private func proofs(
        of session: String
    ) throws(ArchiveError) -> [(segment: SegmentKey, proof: SegmentProof)] {
        let layout = place.layout
        var proofs: [(SegmentKey, SegmentProof)] = []
        for source in try layout.sourceNames(session) {
            let owner = SourceKey(session: session, source: source)
            for name in try layout.knownSegmentNames(owner) {
                guard let segment = SegmentKey(owner, fileName: name) else { continue }
                do throws(ArchiveError) {
                    guard let proof = try SegmentProof.read(segment, in: layout),
                        proof.store == place.bucket.name
                    else { continue }
                    proofs.append((segment, proof))
                } catch {
                    // A damaged proof is none.
                    guard case .malformed = error else { throw error }
                }
            }
        }
        return proofs
    }
}
