import Dispatch
import Glibc
import Media
import Synchronization

/// Recovers an archive before a collector records into it. No other program may be writing to it.
///
/// A session is open if its description does not mark it as finished. The files of open sessions are read, and their torn tails
/// are cut off. The newest open session that has not ended is resumed: its newest files stay open, and the numbers of the records
/// on disk are determined. All other open sessions are finished. Every step can be interrupted and repeated.
///
/// A session's name may be wrong, because it depends on the clock; therefore every session is checked, whatever its name. Of a
/// finished session, only the end of the description is read.
package struct ArchiveRecovery {
    /// Number of finished sessions whose description is read completely: the newest by name, and the newest by
    /// modification time. Agents that missed the end of such a session are notified of the records that need not be
    /// sent again, long before there are a thousand newer sessions.
    private static let rememberedSessions = 1_000

    private let layout: ArchiveLayout
    private let now: UTCTime
    private let idleTimeoutNanoseconds: Int64
    private let sourcesAtOnce: Int
    private var archive = RecoveredArchive()
    /// All files have been synchronised since an earlier collector wrote them.
    private var areFilesSynchronized = false

    /// Recovers the archive.
    /// - Parameter idleTimeoutNanoseconds: a session without a write for this long is not resumed; 0: every session is.
    /// - Parameter sourcesAtOnce: maximum number of sources that are recovered in parallel, at most one per processor.
    /// - Throws: when the archive's directories cannot be read or written; an error in one file, and an entry of the
    ///   wrong kind, become a note.
    package static func run(
        _ layout: ArchiveLayout, now: UTCTime, idleTimeoutNanoseconds: Int64,
        sourcesAtOnce: Int = 1
    ) throws(ArchiveError) -> RecoveredArchive {
        var recovery = ArchiveRecovery(
            layout: layout, now: now, idleTimeoutNanoseconds: idleTimeoutNanoseconds,
            sourcesAtOnce: sourcesAtOnce)
        var open: [SessionManifest] = []
        let (names, silent) = try SessionPatience().answering(layout.sessionNames(), in: layout)
        recovery.archive.notes += silent.map { RecoveryNote(.error, $0) }
        for session in recovery.sessionsToRead(names) {
            try recovery.attempt { (recovery) throws(ArchiveError) in
                guard var manifest = try recovery.manifest(session) else { return }
                if manifest.state == .recording, manifest.end == nil, try recovery.isIdle(session) {
                    manifest.end = SessionManifest.End(reason: .idle, at: now)
                }
                if manifest.state == .finished {
                    recovery.remember(manifest)
                } else {
                    open.append(manifest)
                }
            }
        }
        // One call for all files: each `fdatasync` waits for the disk. If it fails, each file is synchronised by itself, so that
        // an error costs only its own file.
        recovery.areFilesSynchronized =
            !open.isEmpty && layout.disk.synchronizeFileSystem(of: layout.sessions) == 0
        let newest = open.last { $0.end == nil }
        for manifest in open {
            try recovery.attempt { (recovery) throws(ArchiveError) in
                if manifest.session == newest?.session {
                    try recovery.goOn(with: manifest)
                } else {
                    try recovery.finish(manifest)
                }
            }
        }
        if let strays = try layout.strays() {
            recovery.archive.notes.append(RecoveryNote(.warning, strays))
        }
        return recovery.archive
    }

    /// Runs `work` for one session. An entry of the wrong kind only affects this session.
    private mutating func attempt(
        _ work: (inout ArchiveRecovery) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        do throws(ArchiveError) {
            try work(&self)
        } catch {
            guard error.isForEntry else { throw error }
            archive.notes.append(RecoveryNote(.error, "\(error); its session is left alone"))
        }
    }

    private init(
        layout: ArchiveLayout, now: UTCTime, idleTimeoutNanoseconds: Int64, sourcesAtOnce: Int
    ) {
        self.sourcesAtOnce = sourcesAtOnce
        self.layout = layout
        self.now = now
        self.idleTimeoutNanoseconds = idleTimeoutNanoseconds
    }

    /// Sessions that are open or whose state cannot be determined quickly, and the newest finished ones; oldest first.
    /// - Parameter names: all sessions, oldest first.
    private func sessionsToRead(_ names: [String]) -> [String] {
        let newest = names.suffix(Self.rememberedSessions).startIndex
        var finished: [(written: UTCTime, index: Int)] = []
        var wanted = Array(newest..<names.count)
        for index in names.indices.prefix(newest) {
            if let session = FinishedSession(layout.manifest(names[index])) {
                finished.append((session.written, index))
            } else {
                wanted.append(index)
            }
        }
        finished.sort { $0.written > $1.written }
        wanted += finished.prefix(Self.rememberedSessions).map(\.index)
        return wanted.sorted().map { names[$0] }
    }

    /// Whether the last write into a session is too old, by the modification times of its files.
    private func isIdle(_ session: String) throws(ArchiveError) -> Bool {
        guard idleTimeoutNanoseconds > 0 else { return false }
        var last = try FileSystem.modified(layout.manifest(session))
        for name in try layout.sourceNames(session) {
            let directory = layout.source(session, name)
            for file in try FileSystem.names(in: directory) {
                last = max(last, try FileSystem.modified("\(directory)/\(file)"))
            }
        }
        return now.nanoseconds - last.nanoseconds >= idleTimeoutNanoseconds
    }

    /// A session's description. If it is not readable, a new one is created from the session's name, and the session is
    /// finished. Nil if there is nothing to recover.
    private mutating func manifest(_ session: String) throws(ArchiveError) -> SessionManifest? {
        let path = layout.manifest(session)
        // Left by an interrupted replacement.
        try FileSystem.remove("\(path).new", on: layout.disk)
        guard FileSystem.exists(path) else { return try orphan(session) }
        let manifest: SessionManifest
        do throws(ArchiveError) {
            manifest = try SessionManifest.read(path)
        } catch {
            archive.notes.append(RecoveryNote(.error, "\(error)"))
            guard case .malformed(_, SessionManifest.unreadable) = error,
                let zero = UTCTime(sessionName: session)
            else { return nil }
            guard layout.disk.rename(path, to: "\(path).damaged") == 0 else {
                throw .system(operation: "rename", path: path, errno: errno)
            }
            return interrupted(session, zero: zero)
        }
        // A copied directory is recovered under its present name.
        var own = manifest
        own.session = session
        guard try isBlank(session, manifest) else { return own }
        try FileSystem.remove(path, on: layout.disk)
        return try orphan(session)
    }

    /// Whether a crash came directly after a session's description was written, which is the first step.
    private func isBlank(
        _ session: String, _ manifest: SessionManifest
    ) throws(ArchiveError) -> Bool {
        guard manifest.state == .recording, manifest.sources.isEmpty,
            UTCTime(sessionName: session) != nil
        else { return false }
        return try layout.sourceNames(session).isEmpty
    }

    /// A session without a description, or with only a description: a crash in its first moment.
    private mutating func orphan(_ session: String) throws(ArchiveError) -> SessionManifest? {
        guard let zero = UTCTime(sessionName: session) else { return nil }
        var hasContent = false
        for name in try layout.sourceNames(session) {
            var source = SourceRecovery(
                layout: layout, session: session, name: name, zero: zero, purpose: .finish,
                now: now)
            _ = try source.run(nil)
            hasContent = hasContent || source.hasContent
            archive.notes += source.notes
        }
        if hasContent { return interrupted(session, zero: zero) }
        for name in try layout.sourceNames(session) {
            try FileSystem.remove(layout.ledger(session, name), on: layout.disk)
            _ = layout.disk.removeDirectory(layout.source(session, name))
        }
        // Left by an interrupted upload of the description.
        try FileSystem.remove("\(layout.stored(session)).new", on: layout.disk)
        // Only an empty directory is removed; unknown content prevents that. If a store has the description, it deletes that, too.
        let names = try FileSystem.names(in: layout.session(session))
        let isStored = names == [ArchiveLayout.storedName]
        if isStored { try SessionRemoval.remove(session, from: layout) }
        if isStored || layout.disk.removeDirectory(layout.session(session)) == 0 {
            archive.notes.append(
                RecoveryNote(.info, "removed session \(session): nothing was recorded in it"))
        }
        return nil
    }

    private func interrupted(_ session: String, zero: UTCTime) -> SessionManifest {
        var manifest = SessionManifest(
            session: session, zero: zero, zeroMonotonicNanoseconds: 0, startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: 0, software: "unknown")
        manifest.end = SessionManifest.End(reason: .interrupted, at: now)
        return manifest
    }

    /// Collects the records of a finished session that agents which missed its end need not send again.
    private mutating func remember(_ manifest: SessionManifest) {
        for source in manifest.sources {
            for end in source.spools ?? [] where end.sequences.highest > 0 {
                guard let spool = SpoolID(hexadecimal: end.spool) else { continue }
                add(
                    RecordedSpool(
                        spool: spool, sequences: end.sequences,
                        goodbye: source.isComplete ? end.through : nil, term: end.term ?? 0),
                    of: source.name)
            }
        }
    }

    /// Joins the records of a spool from several sessions.
    private mutating func add(_ recorded: RecordedSpool, of source: String) {
        var all = archive.spools[source, default: []]
        if let index = all.firstIndex(where: { $0.spool == recorded.spool }) {
            all[index].join(recorded)
        } else {
            all.append(recorded)
        }
        archive.spools[source] = all
    }

    private mutating func sources(
        of manifest: SessionManifest, goesOn: Bool
    ) throws(ArchiveError) -> [RecoveredSource] {
        let found = Set(try layout.sourceNames(manifest.session))
        let entries = Dictionary(
            manifest.sources.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let names = found.union(entries.keys).filter(ArchiveLayout.isValidName).sorted()
        let tasks = names.map { name in
            var recovery = SourceRecovery(
                layout: layout, session: manifest.session, name: name, zero: manifest.zeroTime,
                purpose: goesOn ? .goOn : .finish, now: now)
            recovery.areFilesSynchronized = areFilesSynchronized
            recovery.elsewhere = archive.spools[name] ?? []
            return SourceTask(
                recovery: recovery, entry: entries[name], isFound: found.contains(name))
        }
        var sources: [RecoveredSource] = []
        // In the order of their names, independent of the order of completion.
        for done in run(tasks) {
            let done = try done.get()
            archive.notes += done.notes
            guard let source = done.source else { continue }
            sources.append(source)
            for spool in done.spools { add(spool, of: source.entry.name) }
        }
        return sources
    }

    /// The result of one source's recovery, without the data that was read for it.
    private struct DoneSource: Sendable {
        /// Nil without a directory.
        var source: RecoveredSource?
        var spools: [RecordedSpool] = []
        var notes: [RecoveryNote] = []
    }

    /// One source's recovery, which only accesses the source's directory.
    private struct SourceTask: Sendable {
        var recovery: SourceRecovery
        var entry: SessionManifest.Source?
        /// Whether the source has a directory.
        var isFound: Bool

        func run() throws(ArchiveError) -> DoneSource {
            guard isFound else { return DoneSource() }
            var recovery = recovery
            do throws(ArchiveError) {
                let source = try recovery.run(entry)
                let layout = recovery.layout
                // A removal that is not durable is repeated by the next start.
                if recovery.purpose != .goOn || !recovery.areFilesSynchronized {
                    try FileSystem.synchronizeDirectory(
                        layout.source(recovery.session, recovery.name), on: layout.disk)
                }
                return DoneSource(
                    source: source, spools: recovery.spools, notes: recovery.notes)
            } catch {
                guard error.isForEntry else { throw error }
                let text = "\(error); the source is left alone"
                let note = RecoveryNote(.error, source: recovery.name, text)
                return DoneSource(notes: recovery.notes + [note])
            }
        }
    }

    /// Runs tasks, in parallel if requested. Sequentially, they end at the first error.
    private func run(_ tasks: [SourceTask]) -> [Result<DoneSource, ArchiveError>] {
        guard sourcesAtOnce > 1, tasks.count > 1 else {
            var done: [Result<DoneSource, ArchiveError>] = []
            for task in tasks {
                done.append(Result { () throws(ArchiveError) in try task.run() })
                if case .failure = done.last { break }
            }
            return done
        }
        let done = Mutex([Int: Result<DoneSource, ArchiveError>]())
        let next = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: min(sourcesAtOnce, tasks.count)) { _ in
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < tasks.count else { return }
                let result = Result { () throws(ArchiveError) in try tasks[index].run() }
                done.withLock { $0[index] = result }
            }
        }
        let results = done.withLock { $0 }
        return tasks.indices.compactMap { results[$0] }
    }

    private mutating func goOn(with manifest: SessionManifest) throws(ArchiveError) {
        archive.session = RecoveredSession(
            manifest: manifest, sources: try sources(of: manifest, goesOn: true))
    }

    private mutating func finish(_ manifest: SessionManifest) throws(ArchiveError) {
        var manifest = manifest
        let sources = try sources(of: manifest, goesOn: false)
        manifest.sources = sources.map(\.entry)
        for index in manifest.sources.indices {
            let name = manifest.sources[index].name
            let own = sources[index].accounted
            let firsts = sources[index].firsts
            manifest.sources[index].spools = archive.spools[name]?.map {
                // Later records are in later sessions.
                let all = $0.sequences.limited(to: own[$0.spool]?.highest ?? .max)
                return SessionManifest.SpoolEnd(
                    spool: $0.spool.description, first: firsts[$0.spool], sequences: all,
                    term: $0.term == 0 ? nil : $0.term)
            }
        }
        // Without lines about later sessions, holes would have no cause: the next start writes them.
        let isWritten = sources.allSatisfy(\.unwritten.isEmpty)
        if isWritten { manifest.state = .finished }
        manifest.end =
            manifest.end ?? SessionManifest.End(reason: .interrupted, at: now)
        try FileSystem.replace(
            layout.manifest(manifest.session), with: manifest.encoded(), on: layout.disk)
        guard isWritten else { return }
        archive.notes.append(
            RecoveryNote(
                .warning,
                "finished session \(manifest.session), left open by the previous collector"))
    }
}
