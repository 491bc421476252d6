package import Archive
import Media
import ObjectStore
import Synchronization
import Threads

/// Begins an archive without any session with what the bucket has: for a collector whose machine, or whose disk, is gone.
///
/// Descriptions, ledgers and proofs of the newest sessions are fetched, no media: proofs stand for it. Ordinary recovery then goes on with
/// the open session, its zero and its numbers. What the bucket does not have, agents still have and send again.
///
/// **What is believed.** Proofs say which records segments hold, ledger lines which ones they replace, and the newest proofs
/// up to which record everything was in the store. Nothing else counts: `after` in earlier ledger lines, lines about earlier sessions
/// and the ends of spools in descriptions speak of another collector's disk. Ledgers get lines that say so
/// (``Archive/LedgerEntry/takenOver``), and a session that was finished there, but is not complete in the bucket, is open again.
///
/// **Interrupted.** A mark on the disk says that it has begun. Of each session the description comes last; a session without one is
/// fetched again. Nothing is recorded before the mark is gone.
package struct ArchiveTakeOver {
    /// Sessions, the newest by name, that are looked at. Boxes do not keep what was recorded longer ago.
    package static let maximumSessions = 64
    /// Requests at the same time: a session of an hour with 64 sources has four thousand proofs.
    package static let usualConnections = 8
    /// In the archive's directory while it is going on.
    private static let markName = ".taking-over"

    /// What was found.
    package struct Outcome: Hashable, Sendable {
        package var sessions = 0
        package var segments = 0
        /// One line for each thing that was left out.
        package var problems: [String] = []
    }

    private let place: UploadPlace
    private let layout: ArchiveLayout
    private let now: UTCTime
    private let idleTimeoutNanoseconds: Int64
    private let connections: Int
    private var outcome = Outcome()

    /// - Parameters:
    ///   - now: the time of the ledger lines.
    ///   - idleTimeoutNanoseconds: a session that nothing has come of for so long is not gone on with; 0: every session is.
    ///   - connections: requests at the same time.
    package init(
        from place: UploadPlace, now: UTCTime, idleTimeoutNanoseconds: Int64,
        connections: Int = Self.usualConnections
    ) {
        self.place = place
        self.connections = connections
        layout = place.layout
        self.now = now
        self.idleTimeoutNanoseconds = idleTimeoutNanoseconds
    }

    /// Whether an archive has no session, or only what an interrupted run left.
    package static func isNeeded(_ layout: ArchiveLayout) throws(ArchiveError) -> Bool {
        if FileSystem.exists(mark(layout)) { return true }
        return try layout.sessionNames().isEmpty
    }

    private static func mark(_ layout: ArchiveLayout) -> String { "\(layout.root)/\(markName)" }

    /// Fetches everything. It can be repeated after an error.
    package mutating func run() throws(UploadError) -> Outcome {
        outcome = Outcome()
        let mark = Self.mark(layout)
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.sessions, on: layout.disk)
            try FileSystem.replace(mark, with: [], on: layout.disk)
        }
        let names = try StoredSessionFetch(from: place).sessionNames().sorted()
            .suffix(Self.maximumSessions)
        for name in names { try take(name, isNewest: name == names.last) }
        try place.disk { () throws(ArchiveError) in
            try FileSystem.remove(mark, on: layout.disk)
            try FileSystem.synchronizeDirectory(layout.root, on: layout.disk)
        }
        return outcome
    }

    // MARK: A session

    private mutating func take(_ session: String, isNewest: Bool) throws(UploadError) {
        // Complete: its description was written last.
        guard !FileSystem.exists(layout.manifest(session)) else { return }
        let objects = try StoredSessionFetch(from: place).objects(of: session)
        guard
            let description = objects.first(where: {
                $0.key == "\(session)/\(ArchiveLayout.manifestName)"
            })
        else { return }
        let bytes = try read(description)
        var manifest: SessionManifest
        do throws(ArchiveError) {
            manifest = try SessionManifest.parse(
                bytes, path: "\(place.bucket.name)/\(description.key)")
        } catch {
            outcome.problems.append("\(error)")
            return
        }
        manifest.session = session
        // A crash came directly after the first step: nothing will ever follow.
        guard objects.count > 1 || !manifest.sources.isEmpty || manifest.state == .finished else {
            return try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.delete(description.key)
            }
        }
        let sources = try fetch(session, objects)
        if isIdle(objects), manifest.state == .recording, manifest.end == nil {
            manifest.end = SessionManifest.End(reason: .idle, at: now)
        }
        judge(&manifest, sources, isNewest: isNewest)
        var record = StoredDocuments(
            store: place.bucket.name, identity: StoredDocuments.Identity(manifest))
        for (name, source) in sources.sorted(by: { $0.key < $1.key }) {
            try write(source, of: SourceKey(session: session, source: name), manifest)
            if let ledger = source.ledger {
                record.documents["\(name)/\(ArchiveLayout.ledgerName)"] = ledger
            }
        }
        for name in [SessionNotes.fileName, ArchiveLayout.protectionName] {
            guard let object = objects.first(where: { $0.key == "\(session)/\(name)" }) else {
                continue
            }
            let path = "\(layout.session(session))/\(name)"
            let bytes = try read(object)
            try write(bytes, to: path)
            if let stamp = FileStamp(path) {
                record.documents[name] = StoredDocuments.Document(
                    stamp, digest: Digest(of: bytes), tag: object.tag)
            }
        }
        record.documents[ArchiveLayout.manifestName] = document(description, bytes)
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.session(session), on: layout.disk)
            try record.write(layout.stored(session), on: layout.disk)
        }
        try write(manifest.encoded(), to: layout.manifest(session))
        outcome.sessions += 1
    }

    /// What the bucket has of a source.
    private struct StoredSource {
        var proofs: [(segment: SegmentKey, proof: SegmentProof, bytes: [UInt8])] = []
        /// Whole lines.
        var ledgerBytes: [UInt8] = []
        var ledger: StoredDocuments.Document?
        /// Records of this session that the store has, by spool.
        var own: [SpoolID: SequenceSet] = [:]
        /// Those, and what the proofs say of earlier ones.
        var known: [SpoolID: SequenceSet] = [:]
        /// Records that an earlier session is said to have.
        var earlier: [SpoolID: SequenceSet] = [:]
        /// What was not expected of each spool when it began here.
        var after: [SpoolID: UInt64] = [:]

        mutating func add(_ proof: SegmentProof) {
            for (spool, ranges) in proof.ranges {
                for range in ranges where range.lowerBound > 0 {
                    own[spool, default: SequenceSet()].insert(range)
                    known[spool, default: SequenceSet()].insert(range)
                }
            }
            for (name, number) in proof.storedThrough ?? [:] where number > 0 {
                guard let spool = SpoolID(hexadecimal: name) else { continue }
                known[spool, default: SequenceSet()].insert(1...number)
            }
        }

        mutating func add(_ entry: LedgerEntry) {
            for (spool, sequences) in entry.replacedRecords {
                if entry.kind == .earlier {
                    earlier[spool, default: SequenceSet()].insert(sequences)
                } else {
                    own[spool, default: SequenceSet()].insert(sequences)
                    known[spool, default: SequenceSet()].insert(sequences)
                }
            }
            guard let after = entry.after,
                let spool = entry.spool.flatMap(SpoolID.init(hexadecimal:))
            else { return }
            if self.after[spool] == nil { self.after[spool] = after }
            if entry.cause == LedgerEntry.takenOver, after > 0 {
                known[spool, default: SequenceSet()].insert(1...after)
            }
        }

        /// Up to which record the store has everything.
        func base(of spool: SpoolID) -> UInt64 {
            known[spool]?.watermark ?? 0
        }

        /// Whether records are missing that the session's description says to have been on a disk.
        func lacks(_ end: SessionManifest.SpoolEnd) -> Bool {
            guard let spool = SpoolID(hexadecimal: end.spool) else { return false }
            var there = known[spool] ?? SequenceSet()
            there.formUnion(earlier[spool] ?? SequenceSet())
            // What is below belongs to earlier sessions.
            let lowestOwn: UInt64 = own[spool]?.ranges.first?.lowerBound ?? .max
            let expected: UInt64 = after[spool].map { $0.clampedAdding(1) } ?? .max
            let lowest = min(lowestOwn, expected) == .max ? 1 : min(lowestOwn, expected)
            return end.sequences.ranges.contains { range in
                guard range.upperBound >= lowest else { return false }
                return !there.missing(in: max(range.lowerBound, lowest)...range.upperBound).isEmpty
            }
        }
    }

    private mutating func fetch(
        _ session: String, _ objects: [ObjectPage.Entry]
    ) throws(UploadError) -> [String: StoredSource] {
        var sources: [String: StoredSource] = [:]
        let sizes = Dictionary(objects.map { ($0.key, $0.sizeBytes) }, uniquingKeysWith: { $1 })
        var wanted: [(object: ObjectPage.Entry, segment: SegmentKey)] = []
        for object in objects {
            let parts = object.key.split(separator: "/").map(String.init)
            guard parts.count == 3, ArchiveLayout.isValidName(parts[1]) else { continue }
            let owner = SourceKey(session: session, source: parts[1])
            if parts[2] == ArchiveLayout.ledgerName {
                let bytes = try read(object)
                let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
                sources[parts[1], default: StoredSource()].ledgerBytes = Array(bytes[..<whole])
                sources[parts[1]]?.ledger = document(object, bytes)
                for entry in Ledger.parse(Array(bytes[..<whole])).entries {
                    sources[parts[1]]?.add(entry)
                }
            } else if parts[2].hasSuffix(SegmentProof.suffix),
                let segment = SegmentKey(
                    owner, fileName: String(parts[2].dropLast(SegmentProof.suffix.count)))
            {
                wanted.append((object, segment))
            }
        }
        let found = try read(wanted.map(\.object))
        for ((object, segment), bytes) in zip(wanted, found) {
            do throws(ArchiveError) {
                let proof = try SegmentProof.parse(bytes, path: object.key)
                guard proof.source == segment.source, proof.segment == segment.fileName,
                    sizes[place.key(of: segment)] == proof.sizeBytes
                else {
                    outcome.problems.append(
                        "\(place.bucket.name)/\(object.key) is not about the object beside it")
                    continue
                }
                sources[segment.source, default: StoredSource()].add(proof)
                sources[segment.source]?.proofs.append((segment, proof, bytes))
                outcome.segments += 1
            } catch {
                outcome.problems.append("\(error)")
            }
        }
        return sources
    }

    /// Whether nothing has come of a session for too long, as the store's clock says.
    private func isIdle(_ objects: [ObjectPage.Entry]) -> Bool {
        guard idleTimeoutNanoseconds > 0,
            let last = objects.compactMap(\.modifiedNanoseconds).max()
        else { return false }
        return now.nanoseconds - last >= idleTimeoutNanoseconds
    }

    /// Corrects what a description says of another collector's disk.
    private func judge(
        _ manifest: inout SessionManifest, _ sources: [String: StoredSource], isNewest: Bool
    ) {
        let isIncomplete = manifest.sources.contains { source in
            (source.spools ?? []).contains { end in
                (sources[source.name] ?? StoredSource()).lacks(end)
            }
        }
        if manifest.state == .finished, isIncomplete {
            manifest.state = .recording
            // Its boxes come back to it, where nobody has ended it and there is no later one.
            if isNewest, manifest.end?.reason == .complete { manifest.end = nil }
        }
        for index in manifest.sources.indices where manifest.sources[index].spools != nil {
            let known = sources[manifest.sources[index].name]?.known ?? [:]
            manifest.sources[index].spools =
                manifest.state == .recording
                ? nil
                : known.sorted { $0.key < $1.key }.map {
                    SessionManifest.SpoolEnd(spool: $0.key.description, sequences: $0.value)
                }
        }
    }

    private func write(
        _ source: StoredSource, of owner: SourceKey, _ manifest: SessionManifest
    ) throws(UploadError) {
        for (segment, _, bytes) in source.proofs {
            try write(bytes, to: layout.proof(segment))
        }
        var ledger = source.ledgerBytes
        if manifest.state == .recording {
            for line in lines(for: source) { ledger += Ledger.line(line) }
        }
        if !ledger.isEmpty { try write(ledger, to: layout.ledger(owner)) }
    }

    private func lines(for source: StoredSource) -> [LedgerEntry] {
        var line = LedgerEntry(kind: .resumed, at: now)
        line.cause = LedgerEntry.takenOver
        line.text =
            "another collector goes on with what \(place.bucket.name) has; the rest is sent again"
        let spools = source.known.keys.sorted()
        guard !spools.isEmpty else { return [line] }
        return spools.map { spool in
            var line = line
            line.spool = spool.description
            line.after = source.base(of: spool)
            return line
        }
    }

    // MARK: Objects and files

    /// What the store has of a document; the file on the disk is another one, or will be.
    private func document(
        _ object: ObjectPage.Entry, _ bytes: [UInt8]
    ) -> StoredDocuments.Document {
        StoredDocuments.Document(
            FileStamp(sizeBytes: Int64(bytes.count), modifiedNanoseconds: 0),
            digest: Digest(of: bytes), tag: object.tag)
    }

    private func write(_ bytes: [UInt8], to path: String) throws(UploadError) {
        try place.disk { () throws(ArchiveError) in
            let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            try FileSystem.makeDirectories(directory, on: layout.disk)
            try FileSystem.replace(path, with: bytes, on: layout.disk)
        }
    }

    private func read(_ object: ObjectPage.Entry) throws(UploadError) -> [UInt8] {
        try StoredSessionFetch(from: place).read(object)
    }

    /// Reads several objects at the same time.
    private func read(_ objects: [ObjectPage.Entry]) throws(UploadError) -> [[UInt8]] {
        struct State {
            var next = 0
            var found: [[UInt8]]
            var error: UploadError?
        }
        let fetch = StoredSessionFetch(from: place)
        let state = Mutex(State(found: Array(repeating: [], count: objects.count)))
        let work: @Sendable () -> Void = {
            while true {
                let index = state.withLock { state -> Int? in
                    guard state.error == nil, state.next < objects.count else { return nil }
                    defer { state.next += 1 }
                    return state.next
                }
                guard let index else { return }
                do throws(UploadError) {
                    let bytes = try fetch.read(objects[index])
                    state.withLock { $0.found[index] = bytes }
                } catch {
                    state.withLock { $0.error = $0.error ?? error }
                }
            }
        }
        // This thread is one of them.
        let others = (0..<max(0, min(connections, objects.count) - 1)).map { _ in JoinableThread() }
        for thread in others { thread.start("take-over", work) }
        work()
        for thread in others { thread.join() }
        return try state.withLock { state throws(UploadError) in
            if let error = state.error { throw error }
            return state.found
        }
    }
}
