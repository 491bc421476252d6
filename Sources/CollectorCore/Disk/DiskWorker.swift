import Archive
import Media
import Operations

/// What the disk thread owns: open files, what of them is not durable yet, and what is stuck.
///
/// Where there is no room, jobs wait, in their order, and are tried again. Where a source's file fails in another way, its files
/// end there (``Rescue``).
struct DiskWorker<Payload: MediaPayload> {
    struct OpenSegment {
        var writer: SegmentWriter
        let zero: UTCTime
        /// Appended since the last commit.
        var unsynchronised: [PersistedRecords] = []
    }

    /// Jobs that wait behind one that failed, and why.
    struct Backlog {
        var path: String
        var jobs: [DiskJob<Payload>]
        var error: ArchiveError
    }

    let layout: ArchiveLayout
    private var space: FreeSpace
    let now: @Sendable () -> UTCTime
    var catalog: CatalogKeeper
    var segments: [SegmentID: OpenSegment] = [:]
    var ledgers: [String: LedgerFile] = [:]
    private var newDirectories: Set<String> = []
    var dirty: Set<SegmentID> = []
    var dirtyLedgers: Set<String> = []
    var stuck: [String: Backlog] = [:]
    /// By path of the description that they wait for.
    var undescribed: [String: [DiskJob<Payload>]] = [:]
    /// Sources of which a file failed.
    var rescues: [SourceID: Rescue] = [:]
    /// How often in a row that has happened.
    var failures: [SourceID: Int] = [:]
    /// Ends of sessions that wait for files.
    var ends: [DiskJob<Payload>] = []
    var events: [DiskEvent] = []
    /// What could not be made durable, or not be replaced, and of which nothing better has been heard.
    private var complaints: Set<String> = []
    /// How long files took to become durable, for people who watch.
    private(set) var synchronising = LatencyHistogram()

    /// - Parameters:
    ///   - catalog: the archive's index.
    ///   - wake: called on another thread when ``mendCatalog(now:)`` has something to do before its time.
    ///   - now: UTC, for the ledger.
    init(
        layout: ArchiveLayout, space: FreeSpace, catalog: CatalogStart = .notKept,
        wake: @escaping @Sendable () -> Void = {},
        now: @escaping @Sendable () -> UTCTime = { Instant.now().utc }
    ) {
        self.layout = layout
        self.space = space
        self.catalog = CatalogKeeper(catalog, layout, wake: wake)
        self.now = now
    }

    var isDirty: Bool { !dirty.isEmpty || !dirtyLedgers.isEmpty || !newDirectories.isEmpty }
    var isStuck: Bool { !stuck.isEmpty || !ends.isEmpty || rescues.values.contains { !$0.isDone } }

    /// Payload bytes that have been written since events were taken.
    var writtenBytes: Int {
        events.reduce(0) { sum, event in
            if case .written(_, let amount) = event { sum + amount.sizeBytes } else { sum }
        }
    }

    mutating func takeEvents() -> [DiskEvent] {
        // What is acknowledged from here on is in the catalog.
        if let error = catalog.flush() { events.append(.catalogLost(error)) }
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    /// Makes a lost catalog again, as soon as that can be done.
    mutating func mendCatalog(now: ContinuousClock.Instant) {
        if let event = catalog.mend(now: now) { events.append(event) }
    }

    /// Does one job, or puts it behind those that it has to wait for.
    mutating func perform(_ job: DiskJob<Payload>) {
        if case .remove(let removal) = job {
            remove(removal)
            return
        }
        if case .endSession = job {
            ends.append(job)
            endSessions()
            return
        }
        if isInVain(job) || waitsForDescription(job) { return }
        let queue = queue(of: job)
        if stuck[queue] != nil {
            stuck[queue]?.jobs.append(job)
            return
        }
        do throws(ArchiveError) {
            try attempt(job)
        } catch {
            if giveUp(job, error) { return }
            let path = path(of: job)
            events.append(.stuck(path: path, error))
            stuck[queue] = Backlog(path: path, jobs: [job], error: error)
        }
    }

    /// Keeps back what belongs to a session that could not be described yet.
    ///
    /// Were the collector killed, its files would be those of a session of which nothing is known but its name: it could not go on, and
    /// what of it is not on disk would come again into another one.
    private mutating func waitsForDescription(_ job: DiskJob<Payload>) -> Bool {
        guard !stuck.isEmpty, let session = job.session else { return false }
        let path = layout.manifest(session)
        guard stuck[path] != nil, undescribed[path] != nil || !FileSystem.exists(path) else {
            return false
        }
        undescribed[path, default: []].append(job)
        return true
    }

    /// Does what waited for a description that is there now.
    private mutating func performDescribed() {
        for path in undescribed.keys.sorted() where FileSystem.exists(path) {
            for job in undescribed.removeValue(forKey: path) ?? [] { perform(job) }
        }
    }

    /// Tries stuck jobs again.
    mutating func retry() {
        space.forget()
        for (queue, backlog) in stuck.sorted(by: { $0.key < $1.key }) {
            stuck[queue] = nil
            var rest = backlog.jobs[...]
            do throws(ArchiveError) {
                while let job = rest.first {
                    if !isInVain(job) { try attempt(job) }
                    rest = rest.dropFirst()
                }
                events.append(.unstuck(path: backlog.path))
            } catch {
                if let job = rest.first, giveUp(job, error) {
                    for job in rest.dropFirst() { _ = isInVain(job) }
                    events.append(.unstuck(path: backlog.path))
                } else {
                    stuck[queue] = Backlog(path: backlog.path, jobs: Array(rest), error: error)
                }
            }
        }
        performDescribed()
        for id in rescues.keys.sorted(by: { $0.description < $1.description }) { rescue(id) }
        endSessions()
    }

    /// Writes the ends of sessions that nothing is in the way of any more.
    private mutating func endSessions() {
        for job in ends {
            guard case .endSession(let session, let path, let bytes) = job,
                // An earlier description that waits would be written over this one.
                stuck[path] == nil,
                !segments.keys.contains(where: { $0.session == session }),
                // What a failed file has lost is in the ledger when its source may go on.
                !rescues.keys.contains(where: { $0.session == session }),
                !stuck.values.contains(where: { $0.jobs.contains { $0.session == session } })
            else { continue }
            do throws(ArchiveError) {
                // A finished session has nothing that a power cut could take away.
                for ledger in dirtyLedgers where ArchiveLayout.session(ofLedger: ledger) == session
                {
                    try synchronize(ledger: ledger)
                }
                try FileSystem.replace(path, with: bytes, on: layout.disk)
                catalog.described(path)
                ledgers = ledgers.filter { ArchiveLayout.session(ofLedger: $0.key) != session }
            } catch {
                // Tried again with what is stuck, and at the next commit.
                complain(of: path, error)
                continue
            }
            takeBackComplaint(of: path)
            ends.removeAll { if case .endSession(session, _, _) = $0 { true } else { false } }
            events.append(.ended(session: session))
        }
    }

    /// Whether all jobs of a session have been given, but what follows on failed files.
    func hasEnded(_ session: String) -> Bool {
        ends.contains { if case .endSession(session, _, _) = $0 { true } else { false } }
    }

    /// Gives up what is still stuck, and a catalog that is not whole.
    mutating func abandon() {
        for backlog in stuck.values {
            events.append(.abandoned(path: backlog.path, backlog.error))
        }
        stuck.removeAll()
        undescribed.removeAll()
        // A session's end that waits for what a file has lost is not written either.
        for (id, rescue) in rescues where !rescue.isDone || hasEnded(id.session) {
            events.append(.abandoned(path: id.description, rescue.error))
        }
        rescues.removeAll()
        // What they would have said is not so; the next collector finishes what it finds.
        ends.removeAll()
        if let error = catalog.end() { events.append(.catalogLost(error)) }
    }

    /// Makes all that was written durable, then says so.
    mutating func commit() {
        space.forget()
        let ids = dirty.sorted { $0.description < $1.description }
        for id in ids { segments[id]?.writer.startWriteback() }
        // Directories, then ledgers: where a source begins, its ledger says what is not expected here, and nothing of the source
        // counts as durable without that. What fails of one source stops that one alone.
        for directory in newDirectories.sorted() { synchronize(directory: directory) }
        for path in dirtyLedgers.sorted() where !isDirectoryBehind(of: path) {
            do throws(ArchiveError) {
                try synchronize(ledger: path)
            } catch {
                complain(of: path, error)
            }
        }
        for id in ids where !isLedgerBehind(of: id.origin) { synchronize(id) }
    }

    private mutating func synchronize(directory: String) {
        // Restoring another one may have dealt with it.
        guard newDirectories.contains(directory) else { return }
        do throws(ArchiveError) {
            do throws(ArchiveError) {
                try FileSystem.synchronizeDirectory(directory, on: layout.disk)
            } catch {
                guard error.isForAbsence else { throw error }
                try restore(directory, error)
            }
            newDirectories.remove(directory)
            takeBackComplaint(of: directory)
        } catch {
            complain(of: directory, error)
        }
    }

    /// Makes a directory again that somebody has removed while it was recorded into. Lines of a ledger that were not durable are
    /// written again; what else was not comes again from its agent.
    private mutating func restore(
        _ directory: String, _ error: ArchiveError
    ) throws(ArchiveError) {
        let own = segments.keys.filter {
            let source = layout.source($0.session, $0.source)
            return source == directory || source.hasPrefix(directory + "/")
        }
        // What is in files that have no name any more is gone, whatever their descriptors say.
        for id in own { segments[id]?.unsynchronised = [] }
        for id in Set(own.map(\.origin)) { fail(id, error) }
        try FileSystem.makeDirectories(directory, on: layout.disk)
        for (path, ledger) in ledgers where path.hasPrefix(directory + "/") {
            // Should the next steps fail: its lines are not durable, and are not called so.
            ledgers[path] = nil
            try FileSystem.makeDirectories(parent(path), on: layout.disk)
            let anew = try LedgerFile(path: path, on: layout.disk)
            try anew.takeOver(ledger)
            ledgers[path] = anew
            dirtyLedgers.insert(path)
        }
        try FileSystem.synchronizeDirectory(parent(directory), on: layout.disk)
        try FileSystem.synchronizeDirectory(directory, on: layout.disk)
    }

    /// Whether the name of a directory on the way to a file is not durable.
    private func isDirectoryBehind(of path: String) -> Bool {
        !newDirectories.isEmpty
            && newDirectories.contains { $0 != layout.root && path.hasPrefix($0 + "/") }
    }

    /// Whether the source's ledger has lines that are not durable.
    private func isLedgerBehind(of id: SourceID) -> Bool {
        let path = layout.ledger(id.session, id.name)
        return dirtyLedgers.contains(path) || stuck[path] != nil || isDirectoryBehind(of: path)
    }

    /// Makes durable what has to be so before anything of a source is called durable.
    mutating func prepareToPersist(_ id: SourceID) throws(ArchiveError) {
        let own = layout.source(id.session, id.name)
        if rescues[id] != nil, !FileSystem.isDirectory(own) {
            try restore(own, .system(operation: "find", path: own, errno: 2))
        }
        try synchronizeDirectories { own == $0 || own.hasPrefix($0 + "/") }
        let path = layout.ledger(id.session, id.name)
        if let backlog = stuck[path] { throw backlog.error }
        if dirtyLedgers.contains(path) { try synchronize(ledger: path) }
    }

    /// Makes names of new files and directories durable.
    mutating func synchronizeDirectories(
        where isMeant: (String) -> Bool
    ) throws(ArchiveError) {
        for directory in newDirectories.sorted() where isMeant(directory) {
            try FileSystem.synchronizeDirectory(directory, on: layout.disk)
            newDirectories.remove(directory)
        }
    }

    mutating func synchronize(ledger path: String) throws(ArchiveError) {
        for records in try ledgers[path]?.synchronize() ?? [] { events.append(.persisted(records)) }
        dirtyLedgers.remove(path)
        takeBackComplaint(of: path)
    }

    /// Says that something other than a job is in the way.
    private mutating func complain(of path: String, _ error: ArchiveError) {
        complaints.insert(path)
        events.append(.stuck(path: path, error))
    }

    private mutating func takeBackComplaint(of path: String) {
        if complaints.remove(path) != nil { events.append(.unstuck(path: path)) }
    }

    private mutating func synchronize(_ id: SegmentID) {
        guard segments[id] != nil, rescues[id.origin] == nil else {
            dirty.remove(id)
            return
        }
        do throws(ArchiveError) {
            try synchronizeSegment(id)
        } catch {
            fail(id.origin, error)
        }
    }

    /// Makes a file durable, and says so.
    mutating func synchronizeSegment(_ id: SegmentID) throws(ArchiveError) {
        guard let segment = segments[id] else { return }
        synchronising.add(try ContinuousClock().measureThrowing(segment.writer.synchronize))
        segments[id]?.unsynchronised.removeAll(keepingCapacity: true)
        dirty.remove(id)
        for records in segment.unsynchronised { events.append(.persisted(records)) }
        if !segment.unsynchronised.isEmpty { failures[id.origin] = nil }
    }

    private mutating func attempt(_ job: DiskJob<Payload>) throws(ArchiveError) {
        switch job {
        case .makeDirectory(let path):
            try FileSystem.makeDirectories(path, on: layout.disk)
            // The name of a new directory is durable when the one above it is.
            newDirectories.insert(parent(path))
        case .manifest(let path, let bytes):
            try FileSystem.replace(path, with: bytes, on: layout.disk)
            catalog.described(path)
        case .ledger(let source, let path, let bytes, let records):
            if ledgers[path] == nil {
                ledgers[path] = try LedgerFile(path: path, on: layout.disk)
                newDirectories.insert(parent(path))
            }
            try ledgers[path]?.append(bytes, records: records)
            catalog.wrote(bytes, toLedger: path, of: source)
            dirtyLedgers.insert(path)
        case .open(let id, let path, let plan, let zero):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(
                    path: path, plan: plan, sessionZero: zero, on: layout.disk), zero: zero)
            catalog.changed(path, id, zero: zero)
        case .reopen(let id, let segment):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(continuing: segment, on: layout.disk),
                zero: segment.sessionZero)
        case .append(let id, let fragment):
            guard let segment = segments[id] else { return }
            try space.claim(fragment.sizeBytes, for: segment.writer.path)
            // A file has its name from its first fragment on.
            if segment.writer.sizeBytes == 0 { newDirectories.insert(parent(segment.writer.path)) }
            try segment.writer.append(fragment)
            events.append(.written(source: id.source, fragment.amount))
            segments[id]?.unsynchronised.append(
                PersistedRecords(
                    source: id.source, spool: fragment.context.spool, sequences: fragment.sequences)
            )
            dirty.insert(id)
        case .finish(let id):
            guard let segment = segments[id] else { return }
            try prepareToPersist(id.origin)
            let duration = try ContinuousClock().measureThrowing(segment.writer.finish)
            for records in segment.unsynchronised { events.append(.persisted(records)) }
            segments[id] = nil
            dirty.remove(id)
            catalog.changed(segment.writer.path, id, zero: segment.zero)
            events.append(
                .finished(
                    id, path: segment.writer.path, sizeBytes: segment.writer.sizeBytes, duration))
        case .goOn(let id):
            rescues[id] = nil
        case .remove(let removal):
            remove(removal)
        case .endSession:
            preconditionFailure("ends of sessions wait in a queue of their own")
        }
    }

    /// Removes what it can. What cannot be removed is found again by the retention's next look: nothing waits for it.
    private mutating func remove(_ removal: Removal) {
        do throws(ArchiveError) {
            guard try attempt(removal) else { return }
            events.append(.removed(removal))
        } catch {
            events.append(.notRemoved(removal, error))
        }
    }

    /// - Returns: whether something was removed; not what is gone already, or in use.
    private mutating func attempt(_ removal: Removal) throws(ArchiveError) -> Bool {
        let now = now()
        switch removal {
        case .segment(let expired):
            let segment = expired.segment
            guard FileSystem.exists(segment.path),
                !segments.values.contains(where: { $0.writer.path == segment.path })
            else { return false }
            let ledger = layout.ledger(segment.session, segment.source)
            try SegmentRemoval.remove(
                segment.path, on: layout.disk, cause: expired.cause.rawValue, now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: ledger)
            }
            catalog.removed(segment.path, of: segment.source, in: segment.session)
        case .rest(let staged):
            guard FileSystem.exists(staged.path) else { return false }
            let ledger = layout.ledger(staged.session, staged.source)
            try SegmentRemoval.complete(
                staged.path, on: layout.disk, ledger: Ledger.read(ledger), now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: ledger)
            }
            catalog.removed(staged.path, of: staged.source, in: staged.session)
        case .session(let session):
            guard FileSystem.exists(layout.session(session)) else { return false }
            try SessionRemoval.remove(session, from: layout)
            catalog.removed(session: session)
        }
        space.forget()
        return true
    }

    private mutating func appendDurably(
        _ lines: [UInt8], to path: String
    ) throws(ArchiveError) {
        let ledger: LedgerFile
        if let open = ledgers[path] {
            ledger = open
        } else {
            ledger = try LedgerFile(path: path, on: layout.disk)
        }
        try ledger.append(lines, records: nil)
        for records in try ledger.synchronize() { events.append(.persisted(records)) }
    }

    /// Jobs of one queue keep their order: those of one source's segments, or of one path. A later segment of a source waits for the
    /// one before it: with a full disk, small fragments would else overtake large ones, and leave holes where they were.
    private func queue(of job: DiskJob<Payload>) -> String {
        switch job {
        case .makeDirectory(let path), .manifest(let path, _), .ledger(_, let path, _, _),
            .endSession(_, let path, _):
            path
        case .open(let id, _, _, _), .reopen(let id, _), .append(let id, _), .finish(let id):
            id.origin.description
        case .goOn(let id): id.description
        case .remove: ""
        }
    }

    private func path(of job: DiskJob<Payload>) -> String {
        switch job {
        case .makeDirectory(let path), .manifest(let path, _), .ledger(_, let path, _, _),
            .endSession(_, let path, _):
            path
        case .open(_, let path, _, _): path
        case .reopen(_, let segment): segment.path
        case .append(let id, _), .finish(let id): segments[id]?.writer.path ?? id.description
        case .goOn(let id): id.description
        case .remove: ""
        }
    }

    private func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

extension ContinuousClock {
    /// How long `body` takes, with its typed error.
    fileprivate func measureThrowing(
        _ body: () throws(ArchiveError) -> Void
    ) throws(ArchiveError) -> Duration {
        let start = now
        try body()
        return now - start
    }
}
