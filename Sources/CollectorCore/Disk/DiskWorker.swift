import Archive
import Files
import Glibc
import Media
import Operations

/// The state of the disk thread: open files, their data that is not durable yet, and stuck jobs.
///
/// Without space, jobs wait in order and are retried. A file that fails otherwise ends its source's files (``Rescue``).
struct DiskWorker {
    struct OpenSegment {
        var writer: SegmentWriter
        let zero: UTCTime
        /// Appended since the last commit.
        var unsynchronised: [PersistedRecords] = []
    }

    /// Jobs that wait behind a failed one, and the reason.
    struct Backlog {
        var path: String
        var jobs: [DiskJob]
        var error: ArchiveError
    }

    let layout: ArchiveLayout
    private var space: FreeSpace
    let now: @Sendable () -> UTCTime
    /// Receiver of its events.
    private let spine: Spine?
    /// Notified of each operation that waits for the disk.
    private let meter: DiskStatistics?
    private var pendingEvents: [RecordingEvent] = []
    var segments: [SegmentKey: OpenSegment] = [:]
    var ledgers: [SourceKey: LedgerFile] = [:]
    private var newDirectories: Set<String> = []
    var dirty: Set<SegmentKey> = []
    var dirtyLedgers: Set<SourceKey> = []
    var stuck: [String: Backlog] = [:]
    /// Jobs that wait for a session description, by its path.
    var undescribed: [String: [DiskJob]] = [:]
    /// Sources with a failed file.
    var rescues: [SourceKey: Rescue] = [:]
    /// Consecutive failures of each source.
    var failures: [SourceKey: Int] = [:]
    /// Session ends that wait for files.
    var ends: [DiskJob] = []
    var events: [DiskEvent] = []
    /// Paths that could not be made durable or replaced, and have not succeeded since.
    private var complaints: Set<String> = []
    /// The archive's path leads elsewhere (``Disk/isAttached()``): jobs wait, and nothing is made durable.
    private(set) var isDetached = false
    /// State that a restarted collector need not read from files.
    var checkpoints = Checkpoints()
    /// Times of files until durable, for monitoring.
    private(set) var synchronising = LatencyHistogram()

    /// - Parameters:
    ///   - spine: receives events about recordings; nil: none.
    ///   - meter: receives the start of each operation; nil: hangs are not detected.
    ///   - now: UTC, for the ledger.
    init(
        layout: ArchiveLayout, space: FreeSpace, spine: Spine? = nil, meter: DiskStatistics? = nil,
        now: @escaping @Sendable () -> UTCTime = { Instant.now().utc }
    ) {
        self.layout = layout
        self.space = space
        self.spine = spine
        self.meter = meter
        self.now = now
    }

    var isDirty: Bool { !dirty.isEmpty || !dirtyLedgers.isEmpty || !newDirectories.isEmpty }
    var isStuck: Bool {
        isDetached || !stuck.isEmpty || !ends.isEmpty || rescues.values.contains { !$0.isDone }
    }

    /// Whether a file has so much data that is not durable that recovery could not check it with another credit window.
    var mustCommit: Bool {
        dirty.contains { id in
            guard let segment = segments[id] else { return false }
            return segment.writer.sizeBytes - segment.writer.durableBytes
                >= UInt64(SegmentSurvey.unsettledBytes / 2)
        }
    }

    /// Payload bytes written since events were last fetched.
    var writtenBytes: Int {
        events.reduce(0) { sum, event in
            if case .written(_, let amount) = event { sum + amount.sizeBytes } else { sum }
        }
    }

    mutating func takeEvents() -> [DiskEvent] {
        spine?.publish(pendingEvents)
        pendingEvents.removeAll(keepingCapacity: true)
        defer { events.removeAll(keepingCapacity: true) }
        return events
    }

    /// Reports an event after the write, if anything listens.
    mutating func publish(
        _ kinds: RecordingEvent.Kinds, _ event: @autoclosure () -> RecordingEvent
    ) {
        if spine?.hasListener(for: kinds) == true { pendingEvents.append(event()) }
    }

    /// Checks that the archive's path leads to the archive, and reports a change.
    mutating func isAttached() -> Bool {
        guard layout.disk.isAttached() == isDetached else { return !isDetached }
        isDetached.toggle()
        events.append(isDetached ? .detached : .attached)
        return !isDetached
    }

    /// Whether a job has to wait until the archive is back. Before bytes are appended to an open file, nothing is checked: they
    /// do not count before the next commit, which checks.
    private mutating func waitsForArchive(_ job: DiskJob) -> Bool {
        if case .append(let id, _) = job, segments[id]?.writer.sizeBytes != 0 { return isDetached }
        return !isAttached()
    }

    /// The reason of jobs that wait until the archive is back; jobs that depend on them wait, too.
    var absence: ArchiveError { Self.absence(of: layout.lock) }

    /// Performs one job, or queues it behind the jobs that it depends on.
    mutating func perform(_ job: DiskJob) {
        if case .remove(let removal) = job {
            meter?.beginOperation(mayTakeLong: true)
            remove(removal)
            return
        }
        meter?.beginOperation()
        if case .endSession = job {
            ends.append(job)
            endSessions()
            return
        }
        if isInVain(job) || waitsForDescription(job) { return }
        let queue = job.queue(in: layout)
        if stuck[queue] != nil {
            stuck[queue]?.jobs.append(job)
            return
        }
        if waitsForArchive(job) {
            stuck[queue] = Backlog(path: job.path(in: layout), jobs: [job], error: absence)
            return
        }
        do throws(ArchiveError) {
            try attempt(job)
        } catch {
            guard isAttached(), error != absence else {
                stuck[queue] = Backlog(path: job.path(in: layout), jobs: [job], error: absence)
                return
            }
            if giveUp(job, error) { return }
            let path = job.path(in: layout)
            events.append(.stuck(path: path, error))
            stuck[queue] = Backlog(path: path, jobs: [job], error: error)
        }
    }

    /// Holds back jobs of a session whose description could not be written yet.
    ///
    /// Without the description, only the session's name would be known if the collector were killed. The session could not be
    /// resumed, and its records that were not on disk would be recorded into another session.
    private mutating func waitsForDescription(_ job: DiskJob) -> Bool {
        guard !stuck.isEmpty, let session = job.session else { return false }
        let path = layout.manifest(session)
        guard stuck[path] != nil, undescribed[path] != nil || !FileSystem.exists(path) else {
            return false
        }
        undescribed[path, default: []].append(job)
        return true
    }

    /// Performs the jobs that waited for a description that has now been written.
    private mutating func performDescribed() {
        for path in undescribed.keys.sorted() where FileSystem.exists(path) {
            for job in undescribed.removeValue(forKey: path) ?? [] { perform(job) }
        }
    }

    /// Retries stuck jobs.
    mutating func retry() {
        space.forget()
        guard isAttached() else { return }
        for (queue, backlog) in stuck.sorted(by: { $0.key < $1.key }) {
            stuck[queue] = nil
            var rest = backlog.jobs[...]
            do throws(ArchiveError) {
                while let job = rest.first {
                    meter?.beginOperation()
                    if !isInVain(job) { try attempt(job) }
                    rest = rest.dropFirst()
                }
                events.append(.unstuck(path: backlog.path))
            } catch {
                if isAttached(), let job = rest.first, giveUp(job, error) {
                    for job in rest.dropFirst() { _ = isInVain(job) }
                    events.append(.unstuck(path: backlog.path))
                } else {
                    stuck[queue] = Backlog(path: backlog.path, jobs: Array(rest), error: error)
                }
            }
        }
        performDescribed()
        for id in rescues.keys.sorted(by: { $0.description < $1.description }) {
            meter?.beginOperation()
            rescue(id)
        }
        endSessions()
    }

    /// Writes the ends of sessions that nothing delays any more.
    private mutating func endSessions() {
        guard !ends.isEmpty, isAttached() else { return }
        for job in ends {
            guard case .endSession(let manifest) = job else { continue }
            let session = manifest.session
            let path = layout.manifest(session)
            guard
                // A pending earlier description would overwrite this one.
                stuck[path] == nil,
                !segments.keys.contains(where: { $0.session == session }),
                // The ledger lists what a failed file has lost before its source may continue.
                !rescues.keys.contains(where: { $0.session == session }),
                !stuck.values.contains(where: { $0.jobs.contains { $0.session == session } })
            else { continue }
            do throws(ArchiveError) {
                // A power cut must not damage a finished session.
                // In a fixed order, so that a failure always leaves the same files behind.
                for source in dirtyLedgers.filter({ $0.session == session }).sorted() {
                    try synchronize(ledger: source)
                }
                try FileSystem.replace(path, with: manifest.encoded(), on: layout.disk)
                publish(.sessions, .sessionEnded(manifest))
                ledgers = ledgers.filter { $0.key.session != session }
                checkpoints.remove(manifest, in: layout)
            } catch {
                // Retried with the stuck jobs, and at the next commit.
                complain(of: path, error)
                continue
            }
            takeBackComplaint(of: path)
            ends.removeAll { Self.isEnd($0, of: session) }
            events.append(.ended(session: session))
        }
    }

    /// Whether all jobs of a session have been issued, except those that follow from failed files.
    func hasEnded(_ session: String) -> Bool {
        ends.contains { Self.isEnd($0, of: session) }
    }

    private static func isEnd(_ job: DiskJob, of session: String) -> Bool {
        if case .endSession(let manifest) = job { manifest.session == session } else { false }
    }

    /// Gives up the jobs that are still stuck.
    mutating func abandon() {
        if isDetached, isDirty || !stuck.isEmpty || !ends.isEmpty {
            events.append(.abandoned(path: layout.root, absence))
            stuck.removeAll()
            rescues.removeAll()
        }
        for backlog in stuck.values.sorted(by: { $0.path < $1.path }) {
            events.append(.abandoned(path: backlog.path, backlog.error))
        }
        stuck.removeAll()
        undescribed.removeAll()
        // The end of a session that waits for the losses of a failed file is not written either.
        for (id, rescue) in rescues.sorted(by: { $0.key < $1.key })
        where !rescue.isDone || hasEnded(id.session) {
            events.append(.abandoned(path: id.description, rescue.error))
        }
        rescues.removeAll()
        // Session ends are not written: they would claim complete sessions. The next collector finishes the files.
        ends.removeAll()
    }

    /// Makes everything written durable, then reports it.
    mutating func commit() {
        space.forget()
        guard isAttached() else { return }
        for id in Set(dirty.map(\.owner)).sorted() {
            meter?.beginOperation()
            restoreDirectory(of: id)
        }
        let ids = dirty.sorted()
        for id in ids {
            meter?.beginOperation()
            segments[id]?.writer.startWriteback()
        }
        // Directories first, then ledgers: where a source begins, its ledger says which records are not expected, and nothing of
        // the source counts as durable without that line. A failure of one source stops only that source.
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
        // The restoration of another directory may have handled it.
        guard newDirectories.contains(directory) else { return }
        meter?.beginOperation()
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

    /// The directory of a source, or of its session, if it was removed while it was recorded into; otherwise nil.
    private func removedDirectory(of id: SourceKey) throws(ArchiveError) -> String? {
        let session = layout.session(id.session)
        guard try FileSystem.hasDirectory(session) else { return session }
        let source = layout.source(id)
        return try FileSystem.hasDirectory(source) ? nil : source
    }

    /// Recreates the directory of a source with data to be made durable. Without it, its open files have no names: data in them
    /// would count as durable and be lost when they are closed.
    private mutating func restoreDirectory(of id: SourceKey) {
        do throws(ArchiveError) {
            if let directory = try removedDirectory(of: id) {
                try restore(directory, Self.absence(of: directory))
            }
            takeBackComplaint(of: layout.source(id))
        } catch {
            complain(of: layout.source(id), error)
        }
    }

    private static func absence(of path: String) -> ArchiveError {
        .system(operation: "find", path: path, errno: ENOENT)
    }

    /// Recreates a directory that was removed while it was recorded into. Ledger lines that were not durable are written again;
    /// the agent sends again whatever else was not durable.
    private mutating func restore(
        _ directory: String, _ error: ArchiveError
    ) throws(ArchiveError) {
        guard isAttached() else { throw absence }
        let own = segments.keys.filter {
            let source = layout.source($0.owner)
            return source == directory || source.hasPrefix(directory + "/")
        }
        // The content of unlinked files is lost, whatever their descriptors report.
        for id in own { segments[id]?.unsynchronised = [] }
        let owners = Set(own.map(\.owner)).sorted()
        for id in owners { fail(id, error) }
        try FileSystem.makeDirectories(directory, on: layout.disk)
        for id in owners { try FileSystem.makeDirectories(layout.source(id), on: layout.disk) }
        events.append(.restored(directory: directory))
        for source in ledgers.keys.sorted() where layout.ledger(source).hasPrefix(directory + "/") {
            guard let ledger = ledgers[source] else { continue }
            // If the next steps fail, its lines are not durable and are not reported as durable.
            ledgers[source] = nil
            let path = layout.ledger(source)
            try FileSystem.makeDirectories(Path.directory(of: path), on: layout.disk)
            let anew = try LedgerFile(path: path, on: layout.disk)
            try anew.takeOver(ledger)
            ledgers[source] = anew
            dirtyLedgers.insert(source)
        }
        try FileSystem.synchronizeDirectory(Path.directory(of: directory), on: layout.disk)
        try FileSystem.synchronizeDirectory(directory, on: layout.disk)
    }

    /// Whether a directory on the path to a file has a name that is not durable.
    private func isDirectoryBehind(of path: String) -> Bool {
        !newDirectories.isEmpty
            && newDirectories.contains { $0 != layout.root && path.hasPrefix($0 + "/") }
    }

    /// Whether the source's ledger has lines that are not durable.
    private func isLedgerBehind(of id: SourceKey) -> Bool {
        let path = layout.ledger(id)
        return dirtyLedgers.contains(id) || stuck[path] != nil || isDirectoryBehind(of: path)
    }

    /// Synchronises the new directories and the ledger of a source: they must be durable before its records are.
    mutating func prepareToPersist(_ id: SourceKey) throws(ArchiveError) {
        let own = layout.source(id)
        if rescues[id] != nil, let directory = try removedDirectory(of: id) {
            try restore(directory, Self.absence(of: directory))
        }
        try synchronizeDirectories { own == $0 || own.hasPrefix($0 + "/") }
        if let backlog = stuck[layout.ledger(id)] { throw backlog.error }
        if dirtyLedgers.contains(id) { try synchronize(ledger: id) }
    }

    /// Makes the names of new files and directories durable.
    mutating func synchronizeDirectories(
        where isMeant: (String) -> Bool
    ) throws(ArchiveError) {
        for directory in newDirectories.sorted() where isMeant(directory) {
            try FileSystem.synchronizeDirectory(directory, on: layout.disk)
            newDirectories.remove(directory)
            takeBackComplaint(of: directory)
        }
    }

    mutating func synchronize(ledger source: SourceKey) throws(ArchiveError) {
        meter?.beginOperation()
        for records in try ledgers[source]?.synchronize() ?? [] {
            events.append(.persisted(records))
        }
        dirtyLedgers.remove(source)
        takeBackComplaint(of: layout.ledger(source))
    }

    /// Reports a failure outside of a job.
    private mutating func complain(of path: String, _ error: ArchiveError) {
        // The archive's absence is reported already.
        guard isAttached() else { return }
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
            if isAttached() { fail(id.owner, error) }
        }
    }

    /// Makes a file durable, and reports it.
    mutating func synchronizeSegment(_ id: SegmentKey) throws(ArchiveError) {
        guard let segment = segments[id] else { return }
        meter?.beginOperation()
        synchronising.add(try ContinuousClock().measureThrowing(segment.writer.synchronize))
        segments[id]?.unsynchronised.removeAll(keepingCapacity: true)
        dirty.remove(id)
        publish(.fragments, .durable(id, upTo: segment.writer.sizeBytes))
        for records in segment.unsynchronised { events.append(.persisted(records)) }
        if !segment.unsynchronised.isEmpty { failures[id.owner] = nil }
        checkpoints.isDurable(id, segment.writer.summary, in: layout)
    }

    private mutating func attempt(_ job: DiskJob) throws(ArchiveError) {
        switch job {
        case .beginSession(let session):
            try makeDirectory(layout.session(session))
        case .beginSource(let source):
            try makeDirectory(layout.source(source))
            publish(.sessions, .sourceBegan(source))
        case .describe(let manifest):
            try FileSystem.replace(
                layout.manifest(manifest.session), with: manifest.encoded(), on: layout.disk)
            publish(.sessions, .sessionDescribed(manifest))
        case .note(let source, let entry, let records):
            try note(entry, of: source, records: records)
        case .open(let id, let plan, let zero):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(
                    path: layout.segment(id), plan: plan, sessionZero: zero, on: layout.disk),
                zero: zero)
            publish(.segments, .segmentBegan(id, plan, sessionZero: zero))
        case .reopen(let id, let segment):
            segments[id] = OpenSegment(
                writer: try SegmentWriter(continuing: segment, on: layout.disk),
                zero: segment.sessionZero)
            checkpoints.goOn(from: segment.checkpoint, of: id.owner)
        case .append(let id, let fragment):
            guard let segment = segments[id] else { return }
            try space.claim(fragment.sizeBytes, for: segment.writer.path)
            // A file gets its name with its first fragment.
            if segment.writer.sizeBytes == 0 {
                newDirectories.insert(Path.directory(of: segment.writer.path))
            }
            let begin = segment.writer.sizeBytes
            try segment.writer.append(fragment)
            publish(
                .fragments,
                .fragmentAppended(
                    id,
                    AppendedFragment(
                        fragment, of: segment.writer.plan,
                        bytes: begin..<segment.writer.sizeBytes)))
            events.append(.written(source: id.source, fragment.amount))
            segments[id]?.unsynchronised.append(
                PersistedRecords(
                    source: id.source, spool: fragment.context.spool,
                    sequences: fragment.sequences,
                    capturedNanoseconds: fragment.capturedNanoseconds))
            dirty.insert(id)
        case .finish(let id):
            guard let segment = segments[id] else { return }
            try prepareToPersist(id.owner)
            meter?.beginOperation()
            let duration = try ContinuousClock().measureThrowing(segment.writer.finish)
            for records in segment.unsynchronised { events.append(.persisted(records)) }
            checkpoints.finished(id, segment.writer.summary)
            segments[id] = nil
            dirty.remove(id)
            publish(
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
        // The name of a new directory is durable when its parent is synchronised.
        newDirectories.insert(Path.directory(of: path))
    }

    private mutating func note(
        _ entry: LedgerEntry, of source: SourceKey, records: PersistedRecords?
    ) throws(ArchiveError) {
        if ledgers[source] == nil {
            let path = layout.ledger(source)
            ledgers[source] = try LedgerFile(path: path, on: layout.disk)
            newDirectories.insert(Path.directory(of: path))
        }
        guard let ledger = ledgers[source] else { return }
        let offset = try ledger.append(Ledger.line(entry), records: records)
        dirtyLedgers.insert(source)
        publish(.ledgers, .noted(source, entry, offset: offset))
        if entry.kind == .goodbye { publish(.sessions, .sourceEnded(source)) }
    }

    /// Removes an item if possible. Otherwise the next survey finds it again: nothing waits for it.
    private mutating func remove(_ removal: Removal) {
        guard isAttached() else { return }
        do throws(ArchiveError) {
            try attempt(removal)
        } catch {
            events.append(.notRemoved(removal, error))
        }
    }

    /// Does not remove files that no longer exist or are in use.
    private mutating func attempt(_ removal: Removal) throws(ArchiveError) {
        let now = now()
        switch removal {
        case .segment(let expired):
            let segment = expired.segment
            let source = segment.owner
            let proof = try proof(of: segment)
            // It was uploaded after the survey: the next one detects that.
            if proof != nil, segment.place == .disk { return }
            guard FileSystem.exists(segment.path) else {
                guard let proof else { return }
                try SegmentRemoval.remove(
                    proof, of: segment.path, on: layout.disk, cause: expired.cause.rawValue,
                    ledger: Ledger.read(layout.ledger(source)), now: now
                ) { lines throws(ArchiveError) in try appendDurably(lines, to: source)
                }
                sayRemoved(segment.path, source, expired.cause.rawValue)
                return
            }
            guard !isOpen(segment.path) else { return }
            try SegmentRemoval.remove(
                segment.path, on: layout.disk, cause: expired.cause.rawValue, now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: source)
            }
            sayRemoved(
                segment.path, source, expired.cause.rawValue)
        case .localCopy(let segment):
            guard !isOpen(layout.segment(segment)) else { return }
            // The next survey detects a refusal.
            if try LocalCopyRemoval.remove(segment, in: layout) == nil {
                publish(.sessions, .segmentMoved(segment))
            }
        case .rest(let staged):
            guard FileSystem.exists(staged.path) else { return }
            let source = staged.owner
            try SegmentRemoval.complete(
                staged.path, on: layout.disk, ledger: Ledger.read(layout.ledger(source)), now: now
            ) { lines throws(ArchiveError) in try appendDurably(lines, to: source)
            }
            sayRemoved(
                staged.path, source, "its removal was cut short")
        case .session(let session):
            guard FileSystem.exists(layout.session(session)) else { return }
            try SessionRemoval.remove(session, from: layout)
            publish(.sessions, .sessionRemoved(session))
        }
        space.forget()
    }

    private func isOpen(_ path: String) -> Bool {
        segments.values.contains { $0.writer.path == path }
    }

    /// The proof that a store has a segment; nil without a readable one.
    private func proof(of segment: ArchivedSegment) throws(ArchiveError) -> SegmentProof? {
        guard let key = segment.key else { return nil }
        do throws(ArchiveError) {
            return try SegmentProof.read(key, in: layout)
        } catch {
            guard case .malformed = error else { throw error }
            return nil
        }
    }

    private mutating func sayRemoved(_ path: String, _ source: SourceKey, _ cause: String) {
        let name = SegmentName.segment(of: path)
        if let segment = SegmentKey(source, fileName: name) {
            publish(.sessions, .segmentRemoved(segment, cause: cause))
        } else {
            // Another program has put it there under a different name.
            publish(.sessions, .sourceMended(source))
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
        if spine?.hasListener(for: .ledgers) == true {
            let written = Ledger.parse(lines)
            for (entry, place) in zip(written.entries, written.offsets) {
                publish(.ledgers, .noted(source, entry, offset: offset + place))
            }
        }
        for records in try ledger.synchronize() { events.append(.persisted(records)) }
    }
}

extension ContinuousClock {
    /// The duration of `body`, with its typed error.
    fileprivate func measureThrowing(
        _ body: () throws(ArchiveError) -> Void
    ) throws(ArchiveError) -> Duration {
        let start = now
        try body()
        return now - start
    }
}
