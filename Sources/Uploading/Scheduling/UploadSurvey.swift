import Archive

/// Finds files of an archive that are not proven to be in the store, by names, inodes and proofs. The store is not queried.
///
/// It finds changes that were missed, and those by other programs.
struct UploadSurvey {
    /// A segment to be uploaded or checked.
    struct Found: Hashable, Sendable {
        var segment: SegmentKey
        var stamp: FileStamp
    }

    private(set) var segments: [Found] = []
    /// Sessions with documents that are missing in the store, or differ.
    private(set) var sessions: [String] = []
    /// Notes of uploads that were completed: their program ended before it deleted them.
    private(set) var obsoleteNotes: [String] = []
    /// The survey is incomplete: enough work was found.
    private(set) var isCutShort = false
    /// One line for each unreadable file.
    private(set) var problems: [String] = []

    private let layout: ArchiveLayout
    private let store: String
    private let limit: Int
    private let records: (any StoredRecordsObserver)?
    /// Proofs of segments that are only in the store are read until this many in a row have no new records: older ones were
    /// released long ago.
    private static let proofsWithoutNews = 8
    /// Maximum of these proofs for one source.
    private static let movedProofs = 4_096

    /// - Parameters:
    ///   - session: nil: all sessions.
    ///   - limit: maximum number of segments.
    ///   - records: receives the records that are in the store.
    init(
        _ session: String?, of layout: ArchiveLayout, store: String, limit: Int,
        records: (any StoredRecordsObserver)? = nil
    ) {
        self.records = records
        self.layout = layout
        self.store = store
        self.limit = limit
        if let session {
            survey(session)
            return
        }
        do throws(ArchiveError) {
            let (names, silent) = try SessionPatience().answering(
                layout.sessionNames(), in: layout)
            problems += silent
            for name in names where !isCutShort { survey(name) }
        } catch {
            problems.append("\(error)")
        }
    }

    private mutating func survey(_ session: String) {
        guard FileSystem.exists(layout.manifest(session)) else { return }
        do throws(ArchiveError) {
            let record = try StoredDocuments.read(layout.stored(session), store: store)
            var names = [ArchiveLayout.manifestName] + ArchiveLayout.documentNames
            let known = segments.count
            for source in try layout.sourceNames(session) {
                let ledger = "\(source)/\(ArchiveLayout.ledgerName)"
                names.append(ledger)
                let owner = SourceKey(session: session, source: source)
                try survey(owner)
                guard let records else { continue }
                if let document = record?.documents[ledger] {
                    records.stored(ledger: owner, sizeBytes: document.sizeBytes)
                }
                try readMoved(owner, records)
            }
            let isChanged = names.contains { name in
                let stamp = FileStamp("\(layout.session(session))/\(name)")
                let document = record?.documents[name]
                guard let stamp else { return document != nil }
                return document?.describes(stamp) != true
            }
            if isChanged || segments.count > known { sessions.append(session) }
        } catch {
            problems.append("\(error)")
        }
    }

    /// Reports the segments that are in the store only, newest first.
    private mutating func readMoved(
        _ source: SourceKey, _ records: any StoredRecordsObserver
    ) throws(ArchiveError) {
        var withoutNews = 0
        for segment in try layout.movedSegments(source).reversed().prefix(Self.movedProofs) {
            do throws(ArchiveError) {
                guard let proof = try SegmentProof.read(segment, in: layout), proof.store == store
                else { continue }
                let isNews = proof.ranges.contains { spool, ranges in
                    ranges.last?.upperBound ?? 0 > records.storedThrough(source.source, spool)
                }
                withoutNews = isNews ? 0 : withoutNews + 1
                records.proven(proof, isNew: false)
                if withoutNews >= Self.proofsWithoutNews { return }
            } catch {
                guard case .malformed = error else { throw error }
                problems.append("\(error)")
            }
        }
    }

    private mutating func survey(_ source: SourceKey) throws(ArchiveError) {
        for name in try layout.segmentNames(source) {
            guard segments.count < limit else {
                isCutShort = true
                return
            }
            // A file of another name is not a segment: nothing would find it in the store.
            guard let segment = SegmentKey(source, fileName: name) else { continue }
            guard let stamp = FileStamp(layout.segment(segment)) else { continue }
            do throws(ArchiveError) {
                if let proof = try SegmentProof.read(segment, in: layout), proof.store == store,
                    proof.describes(stamp)
                {
                    records?.proven(proof, isNew: false)
                    let note = layout.path(of: segment, .upload)
                    if FileSystem.exists(note) { obsoleteNotes.append(note) }
                    continue
                }
            } catch {
                // A damaged proof is none.
                guard case .malformed = error else { throw error }
            }
            segments.append(Found(segment: segment, stamp: stamp))
        }
    }
}
