package import Archive
package import ObjectStore

/// Compares an archive's proofs with the objects in the store.
package struct StoreInspection {
    /// Result for a session.
    package struct Report: Encodable, Hashable, Sendable {
        package var session: String
        /// Segments that the store has, unchanged since their proofs.
        package var provenSegments = 0
        package var provenBytes: Int64 = 0
        /// Segments whose media is in the store only.
        package var movedSegments = 0
        /// Segments that are not in the store yet.
        package var waitingSegments = 0
        /// Bytes that were read back and compared.
        package var comparedBytes: Int64 = 0
        /// Segments that were not checked, because the store had not answered for others, or they are in another store.
        package var uncheckedSegments = 0
        package var findings: [Finding] = []

        /// Whether the store has everything that the proofs list.
        package var isIntact: Bool { !findings.contains { $0.severity == .damage } }
    }

    /// Segments that are in another store, according to their proofs.
    private struct Elsewhere {
        /// The number of them, by store.
        var stores: [String: Int] = [:]
        /// The bucket exists.
        var isBucketKnown = false
    }

    private let place: UploadTarget
    private let readsBack: Bool

    /// - Parameter readsBack: whether all media is read back and compared.
    package init(of place: UploadTarget, readsBack: Bool) {
        self.place = place
        self.readsBack = readsBack
    }

    /// Checks a session of the archive.
    /// - Returns: the result, and the error that ended the check early; nil if it is complete.
    package func run(
        _ session: String
    ) throws(UploadError) -> (report: Report, failure: ObjectStoreError?) {
        let layout = place.layout
        var report = Report(session: session)
        var failure: ObjectStoreError?
        var elsewhere = Elsewhere()
        func attempt(_ segment: SegmentKey, _ proof: SegmentProof, isMoved: Bool)
            throws(UploadError)
        {
            guard failure == nil else {
                report.uncheckedSegments += 1
                return
            }
            do throws(UploadError) {
                try check(segment, proof, isMoved: isMoved, &report, &elsewhere)
            } catch {
                guard case .store(let error) = error else { throw error }
                failure = error
                report.uncheckedSegments += 1
            }
        }
        let sources = try place.disk { () throws(ArchiveError) in try layout.sourceNames(session) }
        for source in sources {
            let owner = SourceKey(session: session, source: source)
            let (present, moved) = try place.disk { () throws(ArchiveError) in
                (try layout.segmentNames(owner), try layout.movedSegments(owner))
            }
            for name in present {
                guard let segment = SegmentKey(owner, fileName: name) else { continue }
                let path = layout.segment(segment)
                let proof = try self.proof(of: segment, &report)
                guard let proof, let stamp = FileStamp(path), proof.describes(stamp) else {
                    report.waitingSegments += 1
                    continue
                }
                try attempt(segment, proof, isMoved: false)
            }
            for segment in moved {
                report.movedSegments += 1
                if let proof = try proof(of: segment, &report) {
                    try attempt(segment, proof, isMoved: true)
                }
            }
        }
        for (store, count) in elsewhere.stores.sorted(by: { $0.key < $1.key }) {
            report.findings.append(
                Finding(
                    .note, "\(place.bucket.name)/\(session)",
                    "it does not have \(count) segments that are in \(store): check them with --store \(store)"
                ))
        }
        return (report, failure)
    }

    private func proof(
        of segment: SegmentKey, _ report: inout Report
    ) throws(UploadError) -> SegmentProof? {
        do throws(ArchiveError) {
            return try SegmentProof.read(segment, in: place.layout)
        } catch {
            guard case .malformed(let path, let reason) = error else { throw .archive(error) }
            report.findings.append(Finding(.damage, path, reason))
            return nil
        }
    }

    private func check(
        _ segment: SegmentKey, _ proof: SegmentProof, isMoved: Bool, _ report: inout Report,
        _ elsewhere: inout Elsewhere
    ) throws(UploadError) {
        let key = segment.description
        let name = "\(place.bucket.name)/\(key)"
        // With a local copy, nothing is lost: it goes up again.
        let severity: Finding.Severity = isMoved ? .damage : .note
        let (object, evidence) = try place.store { (bucket) throws(ObjectStoreError) in
            (
                try bucket.properties(of: key),
                try bucket.properties(of: segment.path(.proof))
            )
        }
        guard let object else {
            if !elsewhere.isBucketKnown {
                // S3 answers HEAD without a reason: a missing bucket looks the same.
                _ = try place.store { (bucket) throws(ObjectStoreError) in
                    try bucket.list(prefix: key, after: nil, folders: false)
                }
                elsewhere.isBucketKnown = true
            }
            guard proof.store == place.bucket.name else {
                elsewhere.stores[proof.store, default: 0] += 1
                report.uncheckedSegments += 1
                return
            }
            report.findings.append(Finding(severity, name, "it is not in the store"))
            return
        }
        guard object.sizeBytes == proof.sizeBytes else {
            report.findings.append(
                Finding(
                    severity, name,
                    "it has \(object.sizeBytes) bytes, and \(proof.sizeBytes) were proven"))
            return
        }
        if evidence == nil {
            report.findings.append(Finding(.note, name, "its proof is not in the store"))
        }
        if readsBack || !EntityTag.isSame(object.tag, proof.tag) {
            // A bucket that was copied has other tags: the content decides.
            for index in proof.parts.indices {
                let range = proof.range(ofPart: index)
                try place.pace(range.count)
                let bytes = try place.store { (bucket) throws(ObjectStoreError) in
                    range.isEmpty ? [] : try bucket.read(key, range: range, tag: object.tag)
                }
                report.comparedBytes += Int64(bytes.count)
                guard Digest(of: bytes).description == proof.parts[index] else {
                    report.findings.append(
                        Finding(
                            severity, name, at: range.lowerBound,
                            "part \(index + 1) is not what was proven"))
                    return
                }
            }
        }
        report.provenSegments += 1
        report.provenBytes += proof.sizeBytes
    }
}
