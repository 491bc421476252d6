package import Archive
import Files
import ObjectStore

/// Fetches missing files of a session from the store, for example all of them on a new server.
///
/// Labels, ledgers and proofs are fetched first, then the description, then the media: an interruption leaves a session
/// whose media is in the store, and never one without its records.
package struct StoredSessionFetch {
    /// Result of a fetch.
    package struct Outcome: Hashable, Sendable {
        package var segments = 0
        package var bytes: Int64 = 0
        /// Whether there is such a session, in the store or on the disk.
        package var isSession = true
        /// One line for each object that was not fetched.
        package var problems: [String] = []
        /// Why no further requests were sent; nil: the store has answered.
        package var failure: String?
        /// Segments that were not requested then.
        package var missing = 0
    }

    /// Nothing reads it.
    private static let maximumProtectionBytes = 64 << 10

    private let place: UploadTarget
    private let withMedia: Bool

    /// - Parameter withMedia: whether media is fetched, too; otherwise it stays in the store only.
    package init(from place: UploadTarget, withMedia: Bool = true) {
        self.place = place
        self.withMedia = withMedia
    }

    /// Names of the sessions that the store has.
    package func sessionNames() throws(UploadError) -> [String] {
        try StoreListing(of: "", folders: true, in: place).entries().filter(\.isFolder).map {
            String($0.key.dropLast())
        }
        .filter(ArchiveLayout.isValidName)
    }

    /// Names of the sessions that the store has, then of those on the disk with media that the disk does not have.
    package func allSessionNames() throws(UploadError) -> [String] {
        let stored = try sessionNames()
        let known = Set(stored)
        let layout = place.layout
        return try stored
            + place.disk { () throws(ArchiveError) in
                guard try FileSystem.hasDirectory(layout.sessions) else { return [] }
                var others: [String] = []
                for session in try layout.sessionNames() where !known.contains(session) {
                    if try !moved(session).isEmpty { others.append(session) }
                }
                return others
            }
    }

    /// Segments whose proof is on the disk without their media.
    private func moved(_ session: String) throws(ArchiveError) -> [SegmentKey] {
        let layout = place.layout
        var moved: [SegmentKey] = []
        for source in try layout.sourceNames(session) {
            moved += try layout.movedSegments(SourceKey(session: session, source: source))
        }
        return moved
    }

    /// Why a session must not be fetched; nil: it may. Its pending removal from this store would delete the media that the
    /// fetched session needs.
    package func hindrance(_ session: String) throws(UploadError) -> String? {
        let path = SessionRemoval.record(of: session, in: place.layout)
        let record = try place.disk { () throws(ArchiveError) in
            try StoredDocuments.read(path, store: place.bucket.name)
        }
        guard record != nil else { return nil }
        return
            "\(session) is being removed from \(place.bucket.name): a collector with --store completes that; to keep the session, delete \(Path.directory(of: path))"
    }

    /// Fetches a session. If the store stops answering while media is fetched, the outcome has the reason.
    /// - Parameter report: called before each segment.
    package func run(
        _ session: String, report: (SegmentKey) -> Void
    ) throws(UploadError) -> Outcome {
        let layout = place.layout
        if let hindrance = try hindrance(session) { throw .setAside(hindrance) }
        var outcome = Outcome()
        let objects = try objects(of: session)
        let manifest = "\(session)/\(ArchiveLayout.manifestName)"
        let description = objects.first { $0.key == manifest }
        if !FileSystem.exists(layout.manifest(session)), description == nil {
            // Some stores keep the folder of a removed session, and others may have put their objects there.
            guard !objects.contains(where: { SessionFile($0.key) != nil }) else {
                throw .setAside(
                    "\(place.bucket.name)/\(session) has files of a session, and no \(ArchiveLayout.manifestName): it is not fetched"
                )
            }
            outcome.isSession = false
            return outcome
        }
        var media: [SegmentKey] = []
        for object in objects where object.key != manifest {
            switch SessionFile(object.key) {
            case .document(_, let name):
                try document(object, at: "\(layout.session(session))/\(name)")
            case .ledger(let owner): try document(object, at: layout.ledger(owner))
            case .segment(let segment): media.append(segment)
            case .proof(let segment) where !FileSystem.exists(layout.segment(segment)):
                try document(object, at: layout.path(of: segment, .proof))
            case .proof, nil: break
            }
        }
        if let description { try document(description, at: layout.manifest(session)) }
        let stored = Set(media)
        let lost = try place.disk { () throws(ArchiveError) in
            try moved(session).filter { !stored.contains($0) }
        }
        for segment in lost {
            let proof = try proof(of: segment, &outcome)
            guard let proof else { continue }
            outcome.problems.append(
                proof.store == place.bucket.name
                    ? "\(place.bucket.name) no longer has \(segment), and neither does the disk"
                    : "\(segment) is in \(proof.store), not in \(place.bucket.name): fetch it from there"
            )
        }
        guard withMedia else { return outcome }
        for segment in media where !FileSystem.exists(layout.segment(segment)) {
            guard outcome.failure == nil else {
                outcome.missing += 1
                continue
            }
            guard FileSystem.exists(layout.path(of: segment, .proof)) else {
                outcome.problems.append(
                    "\(place.bucket.name)/\(segment) has no proof: its upload was not completed")
                continue
            }
            guard let proof = try proof(of: segment, &outcome) else { continue }
            report(segment)
            do throws(UploadError) {
                try SegmentFetch(from: place).run(segment, proof)
                outcome.segments += 1
                outcome.bytes += proof.sizeBytes
            } catch {
                switch error {
                case .setAside(let problem): outcome.problems.append(problem)
                case .store(let error):
                    // Fetched files are kept.
                    outcome.failure = error.message
                    outcome.missing += 1
                case .archive, .stopped, .notEntitled, .changedMeanwhile, .nothing: throw error
                }
            }
        }
        return outcome
    }

    /// The proof on the disk; nil, with a problem, if it is damaged.
    private func proof(
        of segment: SegmentKey, _ outcome: inout Outcome
    ) throws(UploadError) -> SegmentProof? {
        do throws(ArchiveError) {
            return try SegmentProof.read(segment, in: place.layout)
        } catch {
            guard case .malformed = error else { throw .archive(error) }
            outcome.problems.append("\(error)")
            return nil
        }
    }

    /// Fetches a small file, if it is not there.
    private func document(
        _ object: ObjectPage.Entry, at path: String
    ) throws(UploadError) {
        guard !FileSystem.exists(path) else { return }
        let bytes = try read(object)
        try place.disk { () throws(ArchiveError) in
            let directory = Path.directory(of: path)
            try FileSystem.makeDirectories(directory, on: place.layout.disk)
            try FileSystem.replace(path, with: bytes, on: place.layout.disk)
        }
    }

    /// The stored objects of a session.
    func objects(of session: String) throws(UploadError) -> [ObjectPage.Entry] {
        try StoreListing(of: "\(session)/", folders: false, in: place).entries()
    }

    /// The most bytes that a small object can have, by its name.
    private static func maximumBytes(of key: String) -> Int {
        switch Path.name(of: key) {
        case ArchiveLayout.manifestName: SessionManifest.maximumBytes
        case ArchiveLayout.ledgerName: Ledger.maximumBytes
        case SessionMarks.fileName: SessionMarks.maximumBytes
        case SessionNotes.fileName: SessionNotes.maximumBytes
        // It has no content.
        case ArchiveLayout.protectionName: maximumProtectionBytes
        default: SegmentProof.maximumBytes
        }
    }

    /// Reads a small object.
    /// - Throws: ``UploadError/setAside(_:)`` where it is larger than such a file can be.
    func read(_ object: ObjectPage.Entry) throws(UploadError) -> [UInt8] {
        guard object.sizeBytes <= Int64(Self.maximumBytes(of: object.key)) else {
            throw .setAside("\(place.bucket.name)/\(object.key) is larger than such a file can be")
        }
        let step = place.settings.partBytes
        var bytes: [UInt8] = []
        while Int64(bytes.count) < object.sizeBytes {
            try place.pass(.look)
            let begin = Int64(bytes.count)
            bytes += try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.read(
                    object.key, range: begin..<min(begin + step, object.sizeBytes), tag: object.tag)
            }
        }
        return bytes
    }
}
