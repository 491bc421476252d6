import Archive

/// What of an archive the store is not proven to have, from names, inodes and the proofs beside the segments. The store is not asked.
///
/// The files are the truth: this finds what was missed while nothing listened, and what another program has changed.
struct UploadSurvey {
    /// A segment that has to go up, or to be looked at.
    struct Found: Hashable, Sendable {
        var segment: SegmentKey
        var stamp: FileStamp
    }

    private(set) var segments: [Found] = []
    /// Sessions with documents that the store has otherwise, or not.
    private(set) var sessions: [String] = []
    /// Notes of uploads that were completed: their program ended before it deleted them.
    private(set) var obsoleteNotes: [String] = []
    /// Not everything was looked at: there is enough for now.
    private(set) var isCutShort = false
    /// One line for each thing that cannot be read.
    private(set) var problems: [String] = []

    private let layout: ArchiveLayout
    private let store: String
    private let limit: Int

    /// - Parameters:
    ///   - session: only this one; nil: all.
    ///   - limit: how many segments are wanted.
    init(_ session: String?, of layout: ArchiveLayout, store: String, limit: Int) {
        self.layout = layout
        self.store = store
        self.limit = limit
        if let session {
            survey(session)
            return
        }
        do throws(ArchiveError) {
            for name in try layout.sessionNames() where !isCutShort { survey(name) }
        } catch {
            problems.append("\(error)")
        }
    }

    private mutating func survey(_ session: String) {
        guard FileSystem.exists(layout.manifest(session)) else { return }
        do throws(ArchiveError) {
            let record = try StoredDocuments.read(layout.stored(session), store: store)
            var names = [ArchiveLayout.manifestName] + ArchiveLayout.labelNames
            let known = segments.count
            for source in try layout.sourceNames(session) {
                names.append("\(source)/\(ArchiveLayout.ledgerName)")
                try survey(SourceKey(session: session, source: source))
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
                    let note = layout.upload(segment)
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
