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
    /// Who listens to what it does.
    private let spine: Spine?
    private var sayings: [RecordingEvent] = []
    var segments: [SegmentKey: OpenSegment] = [:]
    var ledgers: [SourceKey: LedgerFile] = [:]
    private var newDirectories: Set<String> = []
    var dirty: Set<SegmentKey> = []
    var dirtyLedgers: Set<SourceKey> = []
    var stuck: [String: Backlog] = [:]
    /// By path of the description that they wait for.
    var undescribed: [String: [DiskJob<Payload>]] = [:]
    /// Sources of which a file failed.
    var rescues: [SourceKey: Rescue] = [:]
    /// How often in a row that has happened.
    var failures: [SourceKey: Int] = [:]
    /// Ends of sessions that wait for files.
    var ends: [DiskJob<Payload>] = []
    var events: [DiskEvent] = []
    /// What could not be made durable, or not be replaced, and of which nothing better has been heard.
    private var complaints: Set<String> = []
    /// How long files took to become durable, for people who watch.
    private(set) var synchronising = LatencyHistogram()

    /// - Parameters:
    ///   - spine: is told what has been done to recordings; nil: nobody is.
    ///   - now: UTC, for the ledger.
    init(
        layout: ArchiveLayout, space: FreeSpace, spine: Spine? = nil,
        now: @escaping @Sendable () -> UTCTime = { Instant.now().utc }
    ) {
        self.layout = layout
        self.space = space
        self.spine = spine
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
        spine?.say(sayings)
        sayings.removeAll(keepingCapacity: true)
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    /// Has listeners hear of something that is written, if there are any.
    mutating func say(
        _ kinds: RecordingEvent.Kinds, _ event: @autoclosure () -> RecordingEvent
    ) {
        if spine?.hears(kinds) == true { sayings.append(event()) }
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
            guard case .endSession(let manifest) = job else { continue }
            let session = manifest.session
            let path = layout.manifest(session)
            guard
                // An earlier description that waits would be written over this one.
                stuck[path] == nil,
                !segments.keys.contains(where: { $0.session == session }),
                // What a failed file has lost is in the ledger when its source may go on.
                !rescues.keys.contains(where: { $0.session == session }),
                !stuck.values.contains(where: { $0.jobs.contains { $0.session == session } })
            else { continue }
            do throws(ArchiveError) {
                // A finished session has nothing that a power cut could take away.
                for source in dirtyLedgers where source.session == session {
                    try synchronize(ledger: source)
                }
                try FileSystem.replace(path, with: manifest.encoded(), on: layout.disk)
                say(.sessions, .sessionEnded(manifest))
                ledgers = ledgers.filter { $0.key.session != session }
            } catch {
                // Tried again with what is stuck, and at the next commit.
                complain(of: path, error)
                continue
            }
            takeBackComplaint(of: path)
            ends.removeAll { Self.isEnd($0, of: session) }
            events.append(.ended(session: session))
        }
    }

    /// Whether all jobs of a session have been given, but what follows on failed files.
    func hasEnded(_ session: String) -> Bool {
        ends.contains { Self.isEnd($0, of: session) }
    }

    private static func isEnd(_ job: DiskJob<Payload>, of session: String) -> Bool {
        if case .endSession(let manifest) = job { manifest.session == session } else { false }
    }

    /// Gives up what is still stuck.
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
    }

    /// Makes all that was written durable, then says so.
    mutating func commit() {
        space.forget()
        let ids = dirty.sorted()
        for id in ids { segments[id]?.writer.startWriteback() }
        // Directories, then ledgers: where a source begins, its ledger says what is not expected here, and nothing of the source
        // counts as durable without that. What fails of one source stops that one alone.
        for directory in newDirectories.sorted() { synchronize(directory: directory) }
        for source in dirtyLedgers.sorted() where !isDirectoryBehind(of: layout.ledger(source)) {
            do throws(ArchiveError) {
                try synchronize(ledger: source)
            } catch {
                complain(of: layout.ledger(source), error)
            }
        }
        for id in ids where !isLedgerBehind(of: id.owner) { synchronize(id) }
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
            let source = layout.source($0.owner)
            return source == directory || source.hasPrefix(directory + "/")
        }
        // What is in files that have no name any more is gone, whatever their descriptors say.
        for id in own { segments[id]?.unsynchronised = [] }
        for id in Set(own.map(\.owner)) { fail(id, error) }
        try FileSystem.makeDirectories(directory, on: layout.disk)
        for (source, ledger) in ledgers where layout.ledger(source).hasPrefix(directory + "/") {
            // Should the next steps fail: its lines are not durable, and are not called so.
            ledgers[source] = nil
            let path = layout.ledger(source)
            try FileSystem.makeDirectories(parent(path), on: layout.disk)
            let anew = try LedgerFile(path: path, on: layout.disk)
            try anew.takeOver(ledger)
            ledgers[source] = anew
            dirtyLedgers.insert(source)
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
    private func isLedgerBehind(of id: SourceKey) -> Bool {
        let path = layout.ledger(id)
        return dirtyLedgers.contains(id) || stuck[path] != nil || isDirectoryBehind(of: path)
    }

    /// Makes durable what has to be so before anything of a source is called durable.
    mutating func prepareToPersist(_ id: SourceKey) throws(ArchiveError) {
        let own = layout.source(id)
        if rescues[id] != nil, !FileSystem.isDirectory(own) {
            try restore(own, .system(operation: "find", path: own, errno: 2))
        }
        try synchronizeDirectories { own == $0 || own.hasPrefix($0 + "/") }
        if let backlog = stuck[layout.ledger(id)] { throw backlog.error }
        if dirtyLedgers.contains(id) { try synchronize(ledger: id) }
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

    mutating func synchronize(ledger source: SourceKey) throws(ArchiveError) {
        for records in try ledgers[source]?.synchronize() ?? [] {
            events.append(.persisted(records))
        }
        dirtyLedgers.remove(source)
        takeBackComplaint(of: layout.ledger(source))
    }

    /// Says that something other than a job is in the way.
    private mutating func complain(of path: String, _ error: ArchiveError) {
        complaints.insert(path)
        events.append(.stuck(path: path, error))
    }

    private mutating func takeBackComplaint(of path: String) {
        if complaints.remove(path) != nil { events.append(.unstuck(path: path)) }
    }

    private mutating func synchronize(_ id: SegmentKey) {
        guard segments[id] != nil, rescues[id.owner] == nil else {
            dirty.remove(id)
            return
        }
        do throws(ArchiveError) {
            try synchronizeSegment(id)
        } catch {
            fail(id.owner, error)
        }
    }

    /// Makes a file durable, and says so.
    mutating func synchronizeSegment(_ id: SegmentKey) throws(ArchiveError) {
        guard let segment = segments[id] else { return }
        synchronising.add(try ContinuousClock().measureThrowing(segment.writer.synchronize))
        segments[id]?.unsynchronised.removeAll(keepingCapacity: true)
        dirty.remove(id)
        say(.fragments, .durable(id, upTo: segment.writer.sizeBytes))
        for records in segment.unsynchronised { events.append(.persisted(records)) }
        if !segment.unsynchronised.isEmpty { failures[id.owner] = nil }
    }

    private mutating func attempt(_ job: DiskJob<Payload>) throws(ArchiveError) {
        switch job {
        case .beginSession(let session):
            try makeDirectory(layout.session(session))
        case .beginSource(let source):
            try makeDirectory(layout.source(source))
            say(.sessions, .sourceBegan(source))
        case .describe(let manifest):
            try FileSystem.replace(
                layout.manifest(manifest.session), with: manifest.encoded(), on: layout.disk)
            say(.sessions, .sessionDescribed(manifest))
        case .note(let source, let entry, let records):
            try note(entry, of: source, records: records)
        case .open(let id, let plan, let zero):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(
                    path: layout.segment(id), plan: plan, sessionZero: zero, on: layout.disk),
                zero: zero)
            say(.segments, .segmentBegan(id, plan, sessionZero: zero))
        case .reopen(let id, let segment):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(continuing: segment, on: layout.disk),
                zero: segment.sessionZero)
        case .append(let id, let fragment):
            guard let segment = segments[id] else { return }
            try space.claim(fragment.sizeBytes, for: segment.writer.path)
            // A file has its name from its first fragment on.
            if segment.writer.sizeBytes == 0 { newDirectories.insert(parent(segment.writer.path)) }
            let begin = segment.writer.sizeBytes
            try segment.writer.append(fragment)
            say(
                .fragments,
                .fragmentAppended(
                    id,
                    AppendedFragment(
                        fragment, of: segment.writer.plan,
                        bytes: begin..<segment.writer.sizeBytes)))
            events.append(.written(source: id.source, fragment.amount))
            segments[id]?.unsynchronised.append(
                PersistedRecords(
                    source: id.source, spool: fragment.context.spool, sequences: fragment.sequences)
            )
            dirty.insert(id)
        case .finish(let id):
            guard let segment = segments[id] else { return }
            try prepareToPersist(id.owner)
            let duration = try ContinuousClock().measureThrowing(segment.writer.finish)
            for records in segment.unsynchronised { events.append(.persisted(records)) }
            segments[id] = nil
            dirty.remove(id)
            say(
                .segments,
                .segmentFinished(
                    id, sizeBytes: segment.writer.sizeBytes, sessionZero: segment.zero,
                    took: duration))
        case .goOn(let id):
            rescues[id] = nil
        case .remove(let removal):
            remove(removal)
        case .endSession:
            preconditionFailure("ends of sessions wait in a queue of their own")
        }
    }

    private mutating func makeDirectory(_ path: String) throws(ArchiveError) {
        try FileSystem.makeDirectories(path, on: layout.disk)
        // The name of a new directory is durable when the one above it is.
        newDirectories.insert(parent(path))
    }

    private mutating func note(
        _ entry: LedgerEntry, of source: SourceKey, records: PersistedRecords?
    ) throws(ArchiveError) {
        if ledgers[source] == nil {
            let path = layout.ledger(source)
            ledgers[source] = try LedgerFile(path: path, on: layout.disk)
            newDirectories.insert(parent(path))
        }
        guard let ledger = ledgers[source] else { return }
        let offset = try ledger.append(Ledger.line(entry), records: records)
        dirtyLedgers.insert(source)
        say(.ledgers, .noted(source, entry, offset: offset))
        if entry.kind == .goodbye { say(.sessions, .sourceEnded(source)) }
    }

    /// Removes what it can. What cannot be removed is found again by the retention's next look: nothing waits for it.
    private mutating func remove(_ removal: Removal) {
        do throws(ArchiveError) {
            try attempt(removal)
        } catch {
            events.append(.notRemoved(removal, error))
        }
    }

    /// Not what is gone already, or in use.
    private mutating func attempt(_ removal: Removal) throws(ArchiveError) {
        let now = now()
        switch removal {
        case .segment(let expired):
            let segment = expired.segment
            guard FileSystem.exists(segment.path),
                !segments.values.contains(where: { $0.writer.path == segment.path })
            else { return }
            let source = SourceKey(session: segment.session, source: segment.source)
            try SegmentRemoval.remove(
                segment.path, on: layout.disk, cause: expired.cause.rawValue, now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: source)
            }
            sayRemoved(
                segment.path, source, expired.cause.rawValue)
        case .rest(let staged):
            guard FileSystem.exists(staged.path) else { return }
            let source = SourceKey(session: staged.session, source: staged.source)
            try SegmentRemoval.complete(
                staged.path, on: layout.disk, ledger: Ledger.read(layout.ledger(source)), now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: source)
            }
            sayRemoved(
                staged.path, source, "its removal was cut short")
        case .session(let session):
            guard FileSystem.exists(layout.session(session)) else { return }
            try SessionRemoval.remove(session, from: layout)
            say(.sessions, .sessionRemoved(session))
        }
        space.forget()
    }

    private mutating func sayRemoved(_ path: String, _ source: SourceKey, _ cause: String) {
        let name = SegmentRemoval.segmentName(path)
        if let segment = SegmentKey(source, fileName: name) {
            say(.sessions, .segmentRemoved(segment, cause: cause))
        } else {
            // Somebody has put it there under a name of his own.
            say(.sessions, .sourceMended(source))
        }
    }

    private mutating func appendDurably(
        _ lines: [UInt8], to source: SourceKey
    ) throws(ArchiveError) {
        let ledger: LedgerFile
        if let open = ledgers[source] {
            ledger = open
        } else {
            ledger = try LedgerFile(path: layout.ledger(source), on: layout.disk)
        }
        let offset = try ledger.append(lines, records: nil)
        if spine?.hears(.ledgers) == true {
            let written = Ledger.parse(lines)
            for (entry, place) in zip(written.entries, written.offsets) {
                say(.ledgers, .noted(source, entry, offset: offset + place))
            }
        }
        for records in try ledger.synchronize() { events.append(.persisted(records)) }
    }

    /// Jobs of one queue keep their order: those of one source's segments, or of one path. A later segment of a source waits for the
    /// one before it: with a full disk, small fragments would else overtake large ones, and leave holes where they were.
    private func queue(of job: DiskJob<Payload>) -> String {
        switch job {
        case .open(let id, _, _), .reopen(let id, _), .append(let id, _), .finish(let id):
            id.owner.description
        case .goOn(let id): id.description
        case .beginSession, .beginSource, .describe, .note, .remove, .endSession: path(of: job)
        }
    }

    /// What it is that cannot be written, for people.
    private func path(of job: DiskJob<Payload>) -> String {
        switch job {
        case .beginSession(let session): layout.session(session)
        case .beginSource(let source): layout.source(source)
        case .describe(let manifest), .endSession(let manifest): layout.manifest(manifest.session)
        case .note(let source, _, _): layout.ledger(source)
        case .open(let id, _, _), .append(let id, _), .finish(let id): layout.segment(id)
        case .reopen(_, let segment): segment.path
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
