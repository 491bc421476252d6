package import Archive
import Glibc
import MP4
import Media
import Synchronization

/// Several archives as one: sessions of one name are merged, with each record once, and so are those that a site's
/// collectors began without its database (``SessionAttachments``).
///
/// Files of a segment that is in several archives are merged from their fragments (``FragmentJoiner``); ``RecordCopies``
/// selects the copy of each record. Nothing is written.
package final class MergedStore: SegmentStore {
    /// An archive.
    package struct Member: Sendable {
        package var name: String
        package var store: any SegmentStore
        /// Nil for an archive in a bucket.
        package var layout: ArchiveLayout?
        /// Timeouts for reading many sessions.
        package var patience: SessionPatience

        package init(
            name: String, store: any SegmentStore, layout: ArchiveLayout?,
            patience: SessionPatience = SessionPatience()
        ) {
            self.name = name
            self.store = store
            self.layout = layout
            self.patience = patience
        }
    }

    package let members: [Member]
    let memory: MergeMemory
    private let waiting: StoreWaiting
    private let complain: @Sendable (String) -> Void
    private let leftOut: LeftOut

    /// Number of omitted parts, for a store and the stores made from it.
    private final class LeftOut: Sendable {
        private let all = Atomic(0)
        private let temporary = Atomic(0)
        var omissions: Int { all.load(ordering: .relaxed) }
        var temporaryOmissions: Int { temporary.load(ordering: .relaxed) }

        /// - Parameter isTemporary: whether it may be readable later without a change of its files.
        func note(isTemporary: Bool) {
            all.wrappingAdd(1, ordering: .relaxed)
            if isTemporary { temporary.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    private struct State {
        var sessions: [String: MergedSession] = [:]
        var files: [SourceKey: CopiedFiles] = [:]
        var terms: [String: RecordTerms] = [:]
        var attachments: SessionAttachments?
    }

    private let state = Mutex(State())

    package init(
        _ members: [Member], memory: MergeMemory, waiting: StoreWaiting,
        complain: @escaping @Sendable (String) -> Void
    ) {
        precondition(!members.isEmpty)
        self.members = members
        self.memory = memory
        self.waiting = waiting
        self.complain = complain
        leftOut = LeftOut()
    }

    private init(of other: MergedStore, waiting: StoreWaiting) {
        members = other.members
        memory = other.memory
        self.waiting = waiting
        complain = other.complain
        leftOut = other.leftOut
    }

    package var name: String { members.map(\.name).joined(separator: ", ") }

    /// Whether an archive, or a part of one, was left out because it could not be read. A line has reported it.
    package var isIncomplete: Bool { omissions > 0 }

    /// Number of times that an archive, or a part of one, was left out.
    package var omissions: Int { leftOut.omissions }

    /// The part of ``omissions`` that may be readable later without a change of files: answers that lack it are not final.
    package var temporaryOmissions: Int { leftOut.temporaryOmissions }

    /// Whether a line about an archive that does not answer is due.
    package func isDue(_ member: String) -> Bool { memory.isDue(member) }

    /// A store for which an unavailable archive is an error.
    package func strict() -> MergedStore {
        MergedStore(of: self, waiting: .strict)
    }

    /// Queries an archive; nil, with a complaint, if it cannot be read.
    func asked<Answer>(
        _ member: Int, _ question: (any SegmentStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        do throws(ArchiveError) {
            return try question(members[member].store)
        } catch {
            if error.isForStore, waiting == .strict { throw error }
            if error.code == ECANCELED { throw error }
            guard !error.isForAbsence else { return nil }
            leftOut.note(isTemporary: !error.isForContent)
            if memory.isDue(members[member].name) {
                complain("\(error); what else is in \(members[member].name) is left out")
            }
            return nil
        }
    }

    private func isRecording(_ member: Int) -> Bool? {
        guard let layout = members[member].layout else { return nil }
        do throws(ArchiveError) {
            return try ArchiveLock.isTaken(layout)
        } catch {
            return nil
        }
    }

    /// Whether a collector is running in one of the archives.
    package func isCollectorRunning() -> Bool {
        members.indices.contains { isRecording($0) ?? false }
    }

    /// The attachments of sessions to other sessions.
    func attachments() throws(ArchiveError) -> SessionAttachments {
        if let known = state.withLock({ $0.attachments }) { return known }
        var found: [SessionAttachments.Described] = []
        for member in members.indices {
            found +=
                try asked(member) { store throws(ArchiveError) in
                    try SessionAttachments.read(
                        store.list(.sessions), of: members[member], memory: memory,
                        waiting: waiting)
                } ?? []
        }
        let attachments = SessionAttachments(found)
        state.withLock { $0.attachments = attachments }
        return attachments
    }

    /// The session that a session is a part of, or itself.
    package func whole(of session: String) throws(ArchiveError) -> String {
        try attachments().whole(of: session)
    }

    /// The merged session, by its name or that of a part.
    package func session(_ name: String) throws(ArchiveError) -> MergedSession {
        if let known = state.withLock({ $0.sessions[name] }) { return known }
        let attachments = try attachments()
        let whole = attachments.whole(of: name)
        let found = try self.copies(named: whole)
        guard !found.copies.isEmpty else {
            // The error of an existing description is more informative than the absence of one.
            throw (found.damaged.last { !$0.error.isForAbsence } ?? found.damaged.last)?.error
                ?? .system(
                    operation: "open the session", path: members[0].store.path(.session(name)),
                    errno: ENOENT)
        }
        var copies = found.copies.sorted { ($0.archive, $0.member) < ($1.archive, $1.member) }
        var damaged = found.damaged
        for part in attachments.parts(of: whole) {
            let others = try self.copies(named: part)
            damaged += others.damaged
            var own = others.copies
            for index in own.indices {
                own[index].shift = attachments.place(of: part).map(SessionShift.init) ?? .none
            }
            copies += own.sorted { ($0.archive, $0.member) < ($1.archive, $1.member) }
        }
        if copies.count > 1 { copies = try placed(copies, of: whole) }
        let session = MergedSession(copies, damaged: damaged) { isRecording($0) }
        state.withLock { state in
            state.sessions[whole] = session
            state.sessions[name] = session
        }
        return session
    }

    /// The archives' sessions of a name, and those whose description cannot be read.
    package func copies(
        named name: String
    ) throws(ArchiveError) -> (copies: [MergedSession.Copy], damaged: [MergedSession.Damaged]) {
        var copies: [MergedSession.Copy] = []
        var damaged: [MergedSession.Damaged] = []
        for member in members.indices {
            do throws(ArchiveError) {
                let manifest = try SessionManifest(name, in: members[member].store)
                guard manifest.session == name else {
                    throw .malformed(
                        path: members[member].store.path(.manifest(name)),
                        reason: "describes another session")
                }
                copies.append(
                    MergedSession.Copy(
                        member: member, archive: manifest.collector ?? members[member].name,
                        manifest: manifest, shift: .none))
            } catch {
                if error.isForStore, waiting == .strict { throw error }
                if error.code == ECANCELED { throw error }
                guard !error.isForAbsence || hasFolder(of: name, member) else { continue }
                damaged.append(
                    MergedSession.Damaged(member: member, session: name, error: error))
            }
        }
        // A folder without a description in any archive is not a session.
        for copy in damaged where !copies.isEmpty || !copy.error.isForAbsence {
            leftOut.note(isTemporary: true)
            let archive = members[copy.member].name
            if memory.isDue(copy.error.isForStore ? archive : "\(archive)/\(name)") {
                complain("\(copy.error); what \(archive) has of the session is left out")
            }
        }
        return (copies, damaged)
    }

    /// Whether an archive has a directory for a session. A bucket gets the description after the media.
    private func hasFolder(of session: String, _ member: Int) -> Bool {
        guard let layout = members[member].layout, members[member].store is DirectoryStore,
            ArchiveLayout.isValidName(session)
        else { return false }
        return FileSystem.isDirectory(layout.session(session))
    }

    /// Copies with their timeline shifts; copies of another session with the same name are omitted.
    private func placed(
        _ copies: [MergedSession.Copy], of name: String
    ) throws(ArchiveError) -> [MergedSession.Copy] {
        let key = try shiftsKey(copies, of: name)
        let shifts = try memory.shifts(of: key) { () throws(ArchiveError) in
            try measuredShifts(copies, of: name)
        }
        var placed: [MergedSession.Copy] = []
        for (var copy, shift) in zip(copies, shifts) {
            guard let shift,
                copy.manifest.segmentNanoseconds == copies[0].manifest.segmentNanoseconds
                    || copy.manifest.session != name
            else {
                leftOut.note(isTemporary: false)
                if memory.isDue("\(members[copy.member].name)/\(name)") {
                    complain(
                        "\(members[copy.member].store.path(.session(name))) is another session with the name of that in "
                            + "\(members[copies[0].member].name); it is left out: read that archive alone"
                    )
                }
                continue
            }
            copy.shift = shift
            placed.append(copy)
        }
        return placed
    }

    package func path(_ file: StoredPath) -> String {
        let parts = file.text.split(separator: "/").map(String.init)
        guard let session = parts.first else { return members[0].store.path(file) }
        do throws(ArchiveError) {
            let found = try self.session(session)
            if parts.count == 3 {
                let source = SourceKey(session: session, source: parts[1])
                if let own = try files(of: source, in: found).file(named: parts[2]) {
                    return members[found.copies[own.copy].member].store.path(own.path)
                }
            }
            for copy in found.copies {
                let store = members[copy.member].store
                let own = copy.own(file)
                let listed = try store.list(own.parts.folder)
                if listed.contains(where: { $0.name == own.name }) { return store.path(own) }
            }
            return members[found.copies[0].member].store.path(file)
        } catch {
            // The path is for an error message.
            return members[0].store.path(file)
        }
    }

    package func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        let parts = folder.text.split(separator: "/").map(String.init)
        if parts.count == 2 {
            return try entries(SourceKey(session: parts[0], source: parts[1]), isExact: false)
        }
        guard let session = parts.first else {
            let attachments = try attachments()
            return try listed(folder, by: nil).filter { attachments.place(of: $0.name) == nil }
        }
        return try listed(folder, by: copies(of: session))
    }

    /// A folder's entries in these copies of its session; nil: in all archives.
    private func listed(
        _ folder: StoredPath, by copies: [MergedSession.Copy]?
    ) throws(ArchiveError) -> [StoredEntry] {
        let places =
            copies?.map { ($0.member, $0.own(folder)) } ?? members.indices.map { ($0, folder) }
        var found: [String: StoredEntry] = [:]
        var answers = 0
        for (member, folder) in places {
            let own = try asked(member) { store throws(ArchiveError) in try store.list(folder) }
            if own != nil { answers += 1 }
            for entry in own ?? [] where found[entry.name] == nil { found[entry.name] = entry }
        }
        guard answers > 0 else { return try members[0].store.list(folder) }
        return found.values.sorted { $0.name < $1.name }
    }

    /// The copies of a session; nil if its description is unreadable.
    private func copies(of session: String) throws(ArchiveError) -> [MergedSession.Copy]? {
        do throws(ArchiveError) {
            return try self.session(session).copies
        } catch {
            if error.isForStore { throw error }
            return nil
        }
    }

    package func files(of source: SourceKey) throws(ArchiveError) -> [StoredEntry] {
        try entries(source, isExact: true)
    }

    package func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        var sum: UInt64 = 0
        var places = members.indices.map { ($0, folder) }
        if let session = folder.session?.text {
            let parts = try copies(of: session) ?? []
            places += parts.filter { $0.manifest.session != session }.map {
                ($0.member, $0.own(folder))
            }
        }
        for (member, folder) in places {
            guard
                let state = try asked(
                    member,
                    { store throws(ArchiveError) in
                        try store.state(of: folder)
                    })
            else { continue }
            guard let state else { return nil }
            sum &+= state
        }
        return sum
    }

    /// The entries of a source's folder.
    /// - Parameter isExact: lists the merged files; otherwise the archives' files by name.
    private func entries(
        _ source: SourceKey, isExact: Bool
    ) throws(ArchiveError) -> [StoredEntry] {
        let session: MergedSession
        do throws(ArchiveError) {
            session = try self.session(source.session)
        } catch {
            guard !error.isForStore, !isExact else { throw error }
            return try listed(.source(source), by: nil)
        }
        if session.copies.count == 1 {
            let copy = session.copies[0]
            return try members[copy.member].store.list(.source(copy.own(source)))
        }
        var found: [String: StoredEntry] = [:]
        let files = try files(of: source, in: session)
        for group in files.segments {
            var own: [String: StoredEntry] = [:]
            for file in group {
                var entry = file.entry
                entry.name = file.name
                if let other = own[file.name] {
                    entry.sizeBytes.addClamped(other.sizeBytes)
                    entry.modifiedNanoseconds = max(
                        entry.modifiedNanoseconds ?? 0, other.modifiedNanoseconds ?? 0)
                }
                own[file.name] = entry
            }
            if isExact, try !isSimple(group, in: session) {
                let names = try segment(group, files, source, session).keys
                let last = own.values.max { $0.name < $1.name }
                var exact: [String: StoredEntry] = [:]
                for name in names {
                    guard var entry = own[name] ?? last else { continue }
                    entry.name = name
                    exact[name] = entry
                }
                own = exact
            }
            found.merge(own) { one, _ in one }
        }
        for copy in session.copies {
            let others = try asked(copy.member) { store throws(ArchiveError) in
                try store.list(.source(copy.own(source)))
            }
            for entry in others ?? []
            where SegmentName(entry.name) == nil && found[entry.name] == nil {
                found[entry.name] = entry
            }
        }
        return found.values.sorted { $0.name < $1.name }
    }

    /// All archives' files of a source, in the order of their starts.
    func files(
        of source: SourceKey, in session: MergedSession
    ) throws(ArchiveError) -> CopiedFiles {
        if let known = state.withLock({ $0.files[source] }) { return known }
        var files: [CopiedFile] = []
        for (place, copy) in session.copies.enumerated() {
            let source = copy.own(source)
            let listed =
                try asked(copy.member) { store throws(ArchiveError) in
                    try store.list(.source(source))
                } ?? []
            let store = members[copy.member].store
            files += CopiedFile.all(listed, of: source, copy: place, in: session) {
                store.path($0)
            }
        }
        let found = CopiedFiles(files)
        state.withLock { $0.files[source] = found }
        return found
    }

    /// Whether a segment is one file without merging: of one archive, or with equal names and formats in each.
    private func isSimple(
        _ group: [CopiedFile], in session: MergedSession
    ) throws(ArchiveError) -> Bool {
        guard Set(group.map(\.copy)).count > 1 else { return true }
        guard Set(group.map(\.name)).count == 1, Set(group.map(\.copy)).count == group.count else {
            return false
        }
        var found: [TrackKind: TrackFormat] = [:]
        for file in group {
            for format in try formats(of: file, in: session) {
                if let known = found[format.kind], known != format { return false }
                found[format.kind] = format
            }
        }
        return true
    }

    package func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        let parts = file.text.split(separator: "/").map(String.init)
        guard let name = parts.first else { return try members[0].store.open(file) }
        let session = try session(name)
        if parts.count == 2, parts[1] == ArchiveLayout.manifestName {
            return MemoryStoredFile(path: path(file), bytes: session.manifest.encoded())
        }
        if parts.count == 3, session.copies.count > 1 {
            let source = SourceKey(session: name, source: parts[1])
            if parts[2] == ArchiveLayout.ledgerName {
                return MemoryStoredFile(
                    path: path(file), bytes: try ledger(of: source).entries.flatMap(Ledger.line))
            }
            if SegmentName(parts[2]) != nil {
                return try open(parts[2], of: source, in: session)
            }
        }
        var failure: ArchiveError?
        for copy in session.copies {
            do throws(ArchiveError) {
                return try members[copy.member].store.open(copy.own(file))
            } catch {
                if failure == nil || !error.isForAbsence { failure = error }
            }
        }
        throw failure ?? .system(operation: "open", path: path(file), errno: ENOENT)
    }

    private func open(
        _ name: String, of source: SourceKey, in session: MergedSession
    ) throws(ArchiveError) -> any StoredFile {
        let files = try files(of: source, in: session)
        guard let group = files.segment(of: name) else {
            throw .system(operation: "open", path: path(.source(source) / name), errno: ENOENT)
        }
        let around = Self.around(group, files, session)
        if around.isEmpty, Set(group.map(\.copy)).count == 1 {
            guard let own = group.first(where: { $0.name == name }) else {
                throw .system(operation: "open", path: path(.source(source) / name), errno: ENOENT)
            }
            return try placed(own, in: session)
        }
        if let found = try segment(group, files, source, session)[name] { return found }
        guard let own = group.first(where: { $0.name == name }) else {
            throw .system(operation: "open", path: path(.source(source) / name), errno: ENOENT)
        }
        // All of its records are read from other archives.
        return MergedFile(empty: try recorded(own, in: session), zero: session.zero)
    }

    /// Files of other archives that start near a segment and may have the same records.
    static func around(
        _ group: [CopiedFile], _ files: CopiedFiles, _ session: MergedSession
    ) -> [CopiedFile] {
        let window = window(group, session)
        let own = Set(group.map(\.state))
        let copies = Set(group.map(\.copy))
        return files.files(from: window.lowerBound, through: window.upperBound).filter { file in
            !own.contains(file.state) && (copies.count > 1 || !copies.contains(file.copy))
        }
    }

    /// The starts of files that may have records of a segment.
    private static func window(
        _ group: [CopiedFile], _ session: MergedSession
    ) -> ClosedRange<Int64> {
        let length = session.manifest.segmentNanoseconds
            .clampedAdding(RecordedSession.overlapNanoseconds)
        let first = (group.first?.originNanoseconds ?? 0).clampedSubtracting(length)
        let last = (group.last?.originNanoseconds ?? 0).clampedAdding(length)
        return first...max(first, last)
    }

    /// Other files whose records determine to which segment late records belong.
    ///
    /// When a source returns to a collector, audio from before its first picture is at the end of that archive's previous file,
    /// from before the source left. The files between that file and the segment determine with which segment it is read.
    private func context(
        _ group: [CopiedFile], _ files: CopiedFiles, in session: MergedSession
    ) throws(ArchiveError) -> [CopiedFile] {
        let window = Self.window(group, session)
        let own = Set(group.map(\.state))
        var context = files.files(from: window.lowerBound, through: window.upperBound).filter {
            !own.contains($0.state)
        }
        let (before, after) = files.beyond(window)
        context += after
        var lowest: [SpoolID: UInt64] = [:]
        for file in group {
            for (spool, numbers) in try records(of: file, in: session).all {
                guard let first = numbers.ranges.first?.lowerBound else { continue }
                lowest[spool] = min(first, lowest[spool] ?? first)
            }
        }
        for file in before {
            let reaches = try records(of: file, in: session).all.contains { spool, numbers in
                guard let first = lowest[spool], let last = numbers.ranges.last else {
                    return false
                }
                return last.upperBound >= first
            }
            if reaches { context.append(file) }
        }
        return context
    }

    func recorded(
        _ file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> RecordedFile {
        try RecordedFile { [self] () throws(ArchiveError) in try placed(file, in: session) }
    }

    /// Sequence numbers of a file's readable records, with a complaint if it is damaged; empty if it is unreadable.
    func records(
        of file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> FileRecords {
        do throws(ArchiveError) {
            let records = try readRecords(of: file, in: session)
            if let damage = records.damage { omit(damage, file.state.path) }
            return records
        } catch {
            try leaveOut(error, file, session)
            return FileRecords()
        }
    }

    private func readRecords(
        of file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> FileRecords {
        try memory.records(file.state) { () throws(ArchiveError) in
            let opened = try recorded(file, in: session)
            let source = try opened.source()
            let tracks = opened.layout.initialMovie.tracks
            var records = FileRecords()
            var count = 0
            var last: [FragmentRecord] = []
            do throws(MP4Error) {
                // Fragments before damage are valid.
                var scanner = try FragmentScanner(source)
                while let fragment = try scanner.next() {
                    guard let record = FragmentRecord(of: fragment) else { continue }
                    records.add(record)
                    records.addSpan(of: fragment, record.spool, tracks)
                    count += 1
                    if count <= FileRecords.endFragments { records.addEnd(record) }
                    last.append(record)
                    if last.count > FileRecords.endFragments { last.removeFirst() }
                }
                records.damage = FileCursor.error(
                    at: scanner.stop, isFinished: opened.isFinished
                ).map(opened.error)
            } catch {
                throw opened.error(error)
            }
            for record in last { records.addEnd(record) }
            return records
        }
    }

    /// Sequence numbers of a file's records, for a search in all files of a source: files that have not changed are not read
    /// again, those with damage included.
    ///
    /// A file that cannot be read is a complaint, and not an error.
    func numbers(
        of file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> FileNumbers {
        if let known = memory.numbers(of: file.state) { return known }
        var numbers = FileNumbers(isReadable: true)
        do throws(ArchiveError) {
            let records = try readRecords(of: file, in: session)
            numbers.all = records.all
            if let damage = records.damage {
                omit(damage, file.state.path)
                numbers.isReadable = false
            }
        } catch {
            if error.isForStore, waiting == .strict { throw error }
            if error.code == ECANCELED { throw error }
            omit(error, file.state.path)
            numbers.isReadable = false
            guard error.isForContent else { return numbers }
        }
        memory.keep(numbers, of: file.state)
        return numbers
    }

    /// Formats of a file; empty if it is unreadable.
    private func formats(
        of file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> [TrackFormat] {
        do throws(ArchiveError) {
            return try memory.formats(file.state) { () throws(ArchiveError) in
                try recorded(file, in: session).formats
            }
        } catch {
            try leaveOut(error, file, session)
            return []
        }
    }

    /// Omits an unreadable file with a complaint.
    func leaveOut(
        _ error: ArchiveError, _ file: CopiedFile, _ session: MergedSession
    ) throws(ArchiveError) {
        if error.isForStore, waiting == .strict { throw error }
        guard error.isForContent || error.isForAbsence || error.isForEntry || error.isForStore
        else { throw error }
        omit(error, file.state.path)
    }

    /// - Parameter path: path of the file that is partly left out.
    private func omit(_ error: ArchiveError, _ path: String) {
        leftOut.note(isTemporary: !error.isForContent)
        if memory.isDue(path) { complain("\(error)") }
    }

    /// The copies to read of some files' records.
    private func chosen(
        _ files: [CopiedFile], _ source: SourceKey, _ session: MergedSession
    ) throws(ArchiveError) -> ChosenRecords {
        var copies = RecordCopies()
        for file in files {
            let terms = try terms(of: source, file.copy, session)
            for (spool, records) in try records(of: file, in: session).all {
                for range in records.ranges {
                    for part in terms.divided(range, of: spool) {
                        copies.add(part.records, of: spool, term: part.term, archive: file.copy)
                    }
                }
            }
        }
        return copies.chosen()
    }

    private func terms(
        of source: SourceKey, _ copy: Int, _ session: MergedSession
    ) throws(ArchiveError) -> RecordTerms {
        let key = "\(source) \(copy)"
        if let known = state.withLock({ $0.terms[key] }) { return known }
        let terms = RecordTerms(try ledger(of: source, in: session.copies[copy]).entries)
        state.withLock { $0.terms[key] = terms }
        return terms
    }

    /// The merged files of a segment, by name.
    private func segment(
        _ group: [CopiedFile], _ files: CopiedFiles, _ source: SourceKey,
        _ session: MergedSession
    ) throws(ArchiveError) -> [String: MergedFile] {
        let others = try context(group, files, in: session)
        let key = MergeMemory.SegmentState(own: group.map(\.state), around: others.map(\.state))
        if let known = memory.segment(key) { return known }
        let omissions = temporaryOmissions
        let chosen = try chosen(group + others, source, session)
        let late = try late(group + others, chosen, session)
        var inputs: [FragmentJoiner.Input] = []
        for file in group {
            if let input = try input(file, without: late.moved(from: file.state), in: session) {
                inputs.append(input)
            }
        }
        guard !inputs.isEmpty else { return [:] }
        let isOver =
            session.manifest.state == .finished || inputs.allSatisfy { $0.file.isFinished }
        for file in others {
            let only = late.moved(from: file.state, to: group[0].segment)
            if !only.isEmpty, let input = try input(file, only: only, in: session) {
                inputs.append(input)
            }
        }
        var joiner = try FragmentJoiner(inputs) { [self] error, path in omit(error, path) }
        try joiner.advance(chosen, isOver: isOver)
        var found: [String: MergedFile] = [:]
        for section in joiner.sections {
            var name = section.name
            var origin = section.originNanoseconds
            while found[name] != nil {
                origin = max(origin, section.beginNanoseconds).clampedAdding(1_000_000)
                name = SegmentKey(source, origin: session.zero.advanced(by: origin)).fileName
            }
            let placement = section.placement(zero: session.zero)
            let path = path(.source(source) / section.name)
            if !isOver, joiner.sections.count == 1 {
                found[name] = try MergedFile(
                    path: path, joiner: joiner, inputs: inputs.map(\.file), placement: placement
                ) { [self] () throws(ArchiveError) in
                    try MergedStore(of: self, waiting: waiting)
                        .chosen(of: source, named: section.name)
                }
            } else {
                found[name] = MergedFile(
                    path: path,
                    bytes: try isOver ? section.finished() ?? section.bytes : section.bytes,
                    isDistant: isOver && inputs.contains { $0.file.isDistant },
                    placement: placement)
            }
        }
        if isOver, temporaryOmissions == omissions { memory.keep(found, of: key) }
        return found
    }

    /// A file to merge; nil, with a complaint, if it cannot be read.
    private func input(
        _ file: CopiedFile, only: [SpoolID: SequenceSet]? = nil,
        without: [SpoolID: SequenceSet] = [:], in session: MergedSession
    ) throws(ArchiveError) -> FragmentJoiner.Input? {
        do throws(ArchiveError) {
            let opened = try recorded(file, in: session)
            guard opened.originNanoseconds != nil else { return nil }
            return FragmentJoiner.Input(
                copy: file.copy, archive: session.copies[file.copy].archive, name: file.name,
                shiftNanoseconds: opened.shiftNanoseconds, file: opened, only: only,
                without: without)
        } catch {
            try leaveOut(error, file, session)
            return nil
        }
    }

    /// The records of some files that are read with a later segment than their file's.
    private func late(
        _ files: [CopiedFile], _ chosen: ChosenRecords, _ session: MergedSession
    ) throws(ArchiveError) -> LateRecords {
        var parts: [LateRecords.Part] = []
        for file in files where files.contains(where: { $0.segment != file.segment }) {
            for (track, spools) in try records(of: file, in: session).ends {
                for (spool, range) in spools.flatMap({ spool, records in
                    records.ranges.map { (spool, $0) }
                }) {
                    parts += chosen.parts(of: range, spool: spool, archive: file.copy).map {
                        LateRecords.Part(
                            spool: spool, track: track, records: $0.records, file: file.state,
                            segment: file.segment)
                    }
                }
            }
        }
        return LateRecords(parts)
    }

    /// The copies to read of a segment, by the present contents of its files.
    private func chosen(
        of source: SourceKey, named name: String
    ) throws(ArchiveError) -> ChosenRecords {
        let session = try session(source.session)
        let files = try files(of: source, in: session)
        let group = files.segment(of: name) ?? []
        return try chosen(group + context(group, files, in: session), source, session)
    }

    package func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        throw .system(operation: "write", path: path(file), errno: EROFS)
    }

    package func delete(_ file: StoredPath) throws(ArchiveError) {
        throw .system(operation: "remove", path: path(file), errno: EROFS)
    }
}
