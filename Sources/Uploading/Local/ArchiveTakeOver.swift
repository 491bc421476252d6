package import Archive
import Files
import Media
import ObjectStore

/// Initialises an empty archive from the bucket, for a collector whose machine or disk is lost.
///
/// Descriptions, ledgers and proofs of the newest sessions are fetched, but no media. Ordinary recovery then continues the open
/// session with its zero and its numbers. Agents still have records that the bucket lacks, and send them again.
///
/// **Trusted data.** Proofs state which records segments have, ledger lines which ones they replace, and the newest proofs up to
/// which record everything was in the store. Other statements refer to another collector's disk, and are ignored: `after` in
/// earlier ledger lines, lines about earlier sessions, and the ends of spools in descriptions. Ledgers get lines that state
/// this (``Archive/LedgerEntry/takenOver``), and a session that was finished but is not complete in the bucket is open
/// again.
///
/// **Interruption.** A mark on the disk names the store of a take-over that has begun. A session's description is written last; a
/// session without one is fetched again. Nothing is recorded while the mark exists, with any settings.
package struct ArchiveTakeOver {
    /// Limit of sessions, newest first by name. Boxes do not keep records of older ones.
    package static let maximumSessions = 64
    /// Requests at the same time: a session of an hour with 64 sources has four thousand proofs.
    package static let usualConnections = 8
    /// In the archive's directory during the take-over.
    private static let markName = ".taking-over"
    /// Longer than the name of any store.
    private static let maximumMarkBytes = 4_096

    /// Result of a take-over.
    package struct Outcome: Hashable, Sendable {
        package var sessions = 0
        package var segments = 0
        /// One line per omission; past a limit, the last one counts the rest.
        package var problems: [String] = []
    }

    private let place: UploadTarget
    private let layout: ArchiveLayout
    private let now: UTCTime
    private let idleTimeoutNanoseconds: Int64
    private let connections: Int
    private var outcome = Outcome()
    private var problems = ProblemLines()

    /// - Parameters:
    ///   - now: the time of the ledger lines.
    ///   - idleTimeoutNanoseconds: a session without records for this long is not continued; 0: every session is.
    ///   - connections: number of parallel requests.
    package init(
        from place: UploadTarget, now: UTCTime, idleTimeoutNanoseconds: Int64,
        connections: Int = Self.usualConnections
    ) {
        self.place = place
        self.connections = connections
        layout = place.layout
        self.now = now
        self.idleTimeoutNanoseconds = idleTimeoutNanoseconds
    }

    /// Whether the archive has to be fetched from the store: it has no session, or an earlier run was interrupted.
    package static func isNeeded(_ layout: ArchiveLayout) throws(ArchiveError) -> Bool {
        if FileSystem.exists(mark(layout)) { return true }
        return try layout.sessionNames().isEmpty
    }

    private static func mark(_ layout: ArchiveLayout) -> String { "\(layout.root)/\(markName)" }

    /// The store in the mark of an interrupted run: `s3://BUCKET/PREFIX`, or empty; nil without a mark.
    package static func unfinished(in layout: ArchiveLayout) throws(ArchiveError) -> String? {
        guard FileSystem.exists(mark(layout)) else { return nil }
        let bytes = try FileSystem.read(mark(layout), limit: maximumMarkBytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Fetches everything. It can be repeated after an error.
    /// - Throws: ``UploadError/stopped`` if the checkpoint throws it, which is called before each object and file.
    package mutating func run() throws(UploadError) -> Outcome {
        outcome = Outcome()
        problems = ProblemLines()
        let found = try StoredSessionFetch(from: place).sessionNames()
        let removed = try place.disk { () throws(ArchiveError) in
            // They are being removed from the store, too.
            Set(try SessionRemoval.waiting(in: layout))
        }
        let names = found.filter { !removed.contains($0) }.sorted().suffix(Self.maximumSessions)
        let mark = Self.mark(layout)
        // Not earlier: an unusable store may be the wrong one.
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.sessions, on: layout.disk)
            try FileSystem.replace(mark, with: Array(place.bucket.name.utf8), on: layout.disk)
        }
        var isNewest = true
        for name in names.reversed() where try take(name, isNewest: isNewest) { isNewest = false }
        try place.disk { () throws(ArchiveError) in
            try FileSystem.synchronizeDirectory(layout.sessions, on: layout.disk)
            try FileSystem.remove(mark, on: layout.disk)
            try FileSystem.synchronizeDirectory(layout.root, on: layout.disk)
        }
        outcome.problems = problems.all
        return outcome
    }

    // MARK: A session

    /// - Parameter isNewest: whether there is no later session.
    /// - Returns: whether it is a session: after an early crash of a collector, there is only a name.
    private mutating func take(_ session: String, isNewest: Bool) throws(UploadError) -> Bool {
        // Complete: its description was written last.
        guard !FileSystem.exists(layout.manifest(session)) else { return true }
        let objects = try StoredSessionFetch(from: place).objects(of: session)
        guard
            let description = objects.first(where: {
                $0.key == "\(session)/\(ArchiveLayout.manifestName)"
            }), let bytes = try readUnlessWrong(description),
            var manifest = parse(bytes, description)
        else { return false }
        manifest.session = session
        // A crash directly after the first step: the session stays empty.
        guard objects.count > 1 || !manifest.sources.isEmpty || manifest.state == .finished else {
            try place.store { (bucket) throws(ObjectStoreError) in
                try bucket.delete(description.key)
            }
            return false
        }
        try forgetInterrupted(session)
        let sources = try fetch(session, objects)
        if isIdle(objects), manifest.state == .recording, manifest.end == nil {
            manifest.end = SessionManifest.End(reason: .idle, at: now)
        }
        judge(&manifest, sources.mapValues(\.source), isNewest: isNewest)
        var record = StoredDocuments(
            store: place.bucket.name, identity: StoredDocuments.Identity(manifest))
        let proofs = StoredProofs(in: place, objects: [], connections: connections)
        // For sources without objects in the bucket, the ledger states that records are sent again, too.
        let named = manifest.sources.map(\.name).filter(ArchiveLayout.isValidName)
        let known = manifest.state == .recording ? named : []
        for name in Set(sources.keys).union(known).sorted() {
            let owner = SourceKey(session: session, source: name)
            let found = sources[name]
            try finishLedger(of: found?.source ?? StoredSource(), owner, manifest)
            try proofs.settle(found?.segments ?? [], of: owner)
            if let ledger = found?.source.ledger {
                record.documents["\(name)/\(ArchiveLayout.ledgerName)"] = ledger
            }
        }
        try fetchLabels(of: session, objects, &record)
        record.documents[ArchiveLayout.manifestName] = document(description, bytes)
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.session(session), on: layout.disk)
            try record.write(layout.stored(session), on: layout.disk)
        }
        try write(manifest.encoded(), to: layout.manifest(session))
        outcome.sessions += 1
        return true
    }

    private mutating func parse(
        _ bytes: [UInt8], _ description: ObjectPage.Entry
    ) -> SessionManifest? {
        do throws(ArchiveError) {
            return try SessionManifest.parse(
                bytes, path: "\(place.bucket.name)/\(description.key)")
        } catch {
            problems.add("\(error)")
            return nil
        }
    }

    /// Removes the remains of an interrupted run: they may not have been durable, and the bucket may have changed.
    private func forgetInterrupted(_ session: String) throws(UploadError) {
        try place.disk { () throws(ArchiveError) in
            for source in try layout.sourceNames(session) {
                let directory = layout.source(session, source)
                for name in try FileSystem.names(in: directory)
                where name == ArchiveLayout.ledgerName
                    || SegmentCompanion.parse(name)?.companion == .proof
                {
                    try FileSystem.remove("\(directory)/\(name)", on: layout.disk)
                }
            }
        }
    }

    /// Fetches ledgers and proofs of a session, one source at a time.
    private mutating func fetch(
        _ session: String, _ objects: [ObjectPage.Entry]
    ) throws(UploadError) -> [String: StoredProofs.Found] {
        var ledgers: [String: ObjectPage.Entry] = [:]
        var wanted: [String: [StoredProofs.Wanted]] = [:]
        for object in objects {
            switch SessionFile(object.key) {
            case .ledger(let owner): ledgers[owner.source] = object
            case .proof(let segment):
                wanted[segment.source, default: []].append(
                    StoredProofs.Wanted(object: object, segment: segment))
            case .document, .segment, nil: break
            }
        }
        let proofs = StoredProofs(in: place, objects: objects, connections: connections)
        var sources: [String: StoredProofs.Found] = [:]
        for name in Set(ledgers.keys).union(wanted.keys).sorted() {
            var source = StoredSource()
            if let object = ledgers[name] {
                try fetchLedger(object, of: SourceKey(session: session, source: name), &source)
            }
            let found = try proofs.run(wanted[name] ?? [], into: source)
            problems.add(found.problems)
            outcome.segments += found.segments.count
            // Otherwise the source has no usable data.
            if source.ledger != nil || !found.segments.isEmpty { sources[name] = found }
        }
        return sources
    }

    /// Fetches the complete lines of a ledger, without synchronising them; creates the file if necessary.
    private mutating func fetchLedger(
        _ object: ObjectPage.Entry, of owner: SourceKey, _ source: inout StoredSource
    ) throws(UploadError) {
        guard let bytes = try readUnlessWrong(object) else { return }
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let whole = Array(bytes[..<end])
        source.ledger = document(object, bytes)
        for entry in Ledger.parse(whole).entries { source.add(entry) }
        try place.pass(.record)
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.source(owner), on: layout.disk)
            let file = try RecordingFile(creating: layout.ledger(owner), on: layout.disk)
            try file.append(whole)
            file.startWriteback()
        }
    }

    /// Fetches a session's labels.
    private mutating func fetchLabels(
        of session: String, _ objects: [ObjectPage.Entry], _ record: inout StoredDocuments
    ) throws(UploadError) {
        for name in ArchiveLayout.documentNames {
            guard let object = objects.first(where: { $0.key == "\(session)/\(name)" }),
                let bytes = try readUnlessWrong(object)
            else { continue }
            let path = "\(layout.session(session))/\(name)"
            try write(bytes, to: path)
            if let stamp = FileStamp(path) {
                record.documents[name] = StoredDocuments.Document(
                    stamp, digest: Digest(of: bytes), tag: object.tag)
            }
        }
    }

    /// Whether the last object of a session is too old, by the store's clock.
    private func isIdle(_ objects: [ObjectPage.Entry]) -> Bool {
        guard idleTimeoutNanoseconds > 0,
            let last = objects.compactMap(\.modifiedNanoseconds).max()
        else { return false }
        return now.nanoseconds - last >= idleTimeoutNanoseconds
    }

    /// Corrects statements of a description about another collector's disk.
    private func judge(
        _ manifest: inout SessionManifest, _ sources: [String: StoredSource], isNewest: Bool
    ) {
        // Every source has a ledger.
        let isIncomplete = manifest.sources.contains { source in
            guard let stored = sources[source.name] else { return true }
            return (source.spools ?? []).contains { stored.lacks($0) }
        }
        if manifest.state == .finished, isIncomplete {
            manifest.state = .recording
            // Its agents resume it, unless it was ended or there is a later one.
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

    /// Adds the take-over lines to a ledger that is continued, and makes it durable.
    private func finishLedger(
        of source: StoredSource, _ owner: SourceKey, _ manifest: SessionManifest
    ) throws(UploadError) {
        let added =
            manifest.state == .recording ? lines(for: source).flatMap(Ledger.line) : []
        guard !added.isEmpty || FileSystem.exists(layout.ledger(owner)) else { return }
        try place.pass(.record)
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.source(owner), on: layout.disk)
            let file = try RecordingFile(growing: layout.ledger(owner), on: layout.disk)
            if !added.isEmpty { try file.append(added) }
            try file.synchronize()
        }
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

    /// The stored version of a document; the local file differs, or will.
    private func document(
        _ object: ObjectPage.Entry, _ bytes: [UInt8]
    ) -> StoredDocuments.Document {
        StoredDocuments.Document(
            FileStamp(sizeBytes: Int64(bytes.count), modifiedNanoseconds: 0),
            digest: Digest(of: bytes), tag: object.tag)
    }

    private func write(_ bytes: [UInt8], to path: String) throws(UploadError) {
        try place.pass(.record)
        try place.disk { () throws(ArchiveError) in
            let directory = Path.directory(of: path)
            try FileSystem.makeDirectories(directory, on: layout.disk)
            try FileSystem.replace(path, with: bytes, on: layout.disk)
        }
    }

    /// Reads an object; nil and a line for an error that concerns only this object.
    private mutating func readUnlessWrong(
        _ object: ObjectPage.Entry
    ) throws(UploadError) -> [UInt8]? {
        do throws(UploadError) {
            return try StoredSessionFetch(from: place).read(object)
        } catch {
            guard let problem = error.aboutOneObject else { throw error }
            problems.add(problem)
            return nil
        }
    }
}
