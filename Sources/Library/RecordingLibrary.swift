package import Archive
package import Catalog
import Glibc
import Media
package import Recordings
import Threads

/// An archive's recordings, for everything that reads them: the commands, the viewer.
///
/// It reads through a ``SegmentStore``, and searches with the catalog if there is one. The files are authoritative: a
/// catalog that is missing or damaged makes answers slower, not different. Any thread may call; nothing is kept between
/// calls.
package struct RecordingLibrary: Sendable {
    /// The archive in messages: its directory, or its address.
    package let name: String
    package let store: any SegmentStore
    /// Paths on the local disk; unused for an archive in a bucket (``isLocal``).
    package let layout: ArchiveLayout
    /// Whether the archive has a directory on the local disk.
    package let isLocal: Bool
    /// Whether media may be in a bucket.
    package let hasBucket: Bool
    /// Where the archive has its catalog.
    let catalog: CatalogReference
    /// Minimum interval of lines about an unusable catalog.
    let catalogInterval: ComplaintInterval
    /// Timeouts for reading many sessions.
    let patience: SessionPatience
    /// Whether nothing may be written, the catalog included, and no lock taken.
    let isReadOnly: Bool
    /// The archives that are read as one; empty: it is one.
    package private(set) var members: [RecordingLibrary] = []
    /// Receives one line for each error that did not prevent an answer.
    let complain: @Sendable (String) -> Void
    /// Whether at least one of several archives is unavailable.
    private var hasAbsentMembers = false

    /// - Throws: where there is no archive.
    package init(
        _ directory: String, catalog: CatalogReference = .own,
        complain: @escaping @Sendable (String) -> Void
    ) throws(LibraryError) {
        let layout = ArchiveLayout(root: directory)
        if let absence = LibraryError.absence(of: layout, directory) { throw absence }
        self.init(layout, name: directory, catalog: catalog, complain: complain)
    }

    /// An archive that is never written to: for a program without the right to do so.
    /// - Throws: where there is no archive.
    package init(
        readingOnly directory: String, catalog: CatalogReference = .own,
        complain: @escaping @Sendable (String) -> Void
    ) throws(LibraryError) {
        let layout = ArchiveLayout(root: directory)
        if let absence = LibraryError.absence(of: layout, directory) { throw absence }
        self.init(
            layout, name: directory, catalog: catalog, isReadOnly: true, complain: complain)
    }

    /// An archive in a directory, a bucket, or both. One in a bucket alone is read-only, and has no catalog.
    /// - Parameter waiting: whether reads wait for a directory's bucket; nil: only commands that may change the archive wait.
    /// - Throws: if the archive does not exist. A bucket is not queried yet.
    package init(
        _ archive: ArchiveReference, catalog: CatalogReference = .own, isReadOnly: Bool = false,
        waiting: StoreWaiting? = nil,
        complain: @escaping @Sendable (String) -> Void
    ) throws(LibraryError) {
        if !archive.members.isEmpty {
            try self.init(
                several: archive, catalog: catalog, isReadOnly: isReadOnly, waiting: waiting,
                complain: complain)
            return
        }
        if let layout = archive.layout,
            let absence = LibraryError.absence(of: layout, archive.text)
        {
            throw absence
        }
        self.init(
            archive.layout ?? ArchiveLayout(root: archive.text), name: archive.text,
            catalog: catalog, isReadOnly: isReadOnly || archive.layout == nil,
            isLocal: archive.layout != nil, bucket: archive.bucket,
            waiting: waiting ?? (isReadOnly ? .impatient : .strict), interval: archive.interval,
            catalogInterval: archive.catalogInterval, patience: archive.patience,
            shutdown: archive.shutdown, complain: complain)
        hasAbsentMembers = archive.isPartial
    }

    /// Several archives as one, read-only.
    /// - Throws: if none of them exists.
    private init(
        several archive: ArchiveReference, catalog: CatalogReference, isReadOnly: Bool,
        waiting: StoreWaiting?, complain: @escaping @Sendable (String) -> Void
    ) throws(LibraryError) {
        var members: [RecordingLibrary] = []
        var absent: LibraryError?
        for reference in archive.members {
            do throws(LibraryError) {
                members.append(
                    try RecordingLibrary(
                        reference, catalog: catalog, isReadOnly: isReadOnly, waiting: waiting,
                        complain: complain))
            } catch {
                absent = absent ?? error
                if archive.merged.isDue(reference.text) {
                    complain(
                        error == .noArchive(reference.text)
                            ? "no archive at \(reference.text): it is left out"
                            : "\(error); it is left out")
                }
            }
        }
        guard !members.isEmpty else { throw absent ?? .noArchive(archive.text) }
        name = archive.text
        self.catalog = catalog
        catalogInterval = archive.catalogInterval
        patience = archive.patience
        self.isReadOnly = true
        // A path without files: queries by this path alone find nothing.
        layout = ArchiveLayout(root: archive.text)
        isLocal = false
        hasBucket = true
        self.members = members
        self.complain = complain
        hasAbsentMembers = absent != nil || archive.isPartial
        store = MergedStore(
            members.map {
                MergedStore.Member(
                    name: $0.name, store: $0.store, layout: $0.isLocal ? $0.layout : nil,
                    patience: $0.patience)
            }, memory: archive.merged,
            waiting: waiting ?? (isReadOnly ? .impatient : .strict), complain: complain)
    }

    init(
        _ layout: ArchiveLayout, name: String, catalog: CatalogReference, isReadOnly: Bool = false,
        isLocal: Bool = true, bucket: ObjectSegmentStore? = nil,
        waiting: StoreWaiting = .strict, interval: ComplaintInterval = ComplaintInterval(),
        catalogInterval: ComplaintInterval = ComplaintInterval(),
        patience: SessionPatience = SessionPatience(), shutdown: Shutdown? = nil,
        complain: @escaping @Sendable (String) -> Void
    ) {
        precondition(isLocal || bucket != nil)
        self.name = name
        self.catalog = catalog
        self.catalogInterval = catalogInterval
        self.patience = patience
        self.isReadOnly = isReadOnly
        self.layout = layout
        self.isLocal = isLocal
        self.complain = complain
        hasBucket = bucket != nil
        if isLocal, let bucket {
            store = LayeredStore(
                DirectoryStore(layout, shutdown: shutdown), over: bucket, waiting: waiting,
                interval: interval,
                complain: complain)
        } else if let bucket {
            store = bucket
        } else {
            store = DirectoryStore(layout, shutdown: shutdown)
        }
    }

    /// Maximum wait for one session's files; nil: the usual one. A bucket has its own, longer limits.
    var patienceNanoseconds: Int64? { hasBucket ? Self.bucketPatienceNanoseconds : nil }
    private static let bucketPatienceNanoseconds: Int64 = 60_000_000_000

    /// Whether an answer is incomplete because an archive or a bucket was unavailable.
    package var isIncomplete: Bool { isIncomplete(since: 0) }

    /// Number of times that one of several archives, or a part of one, was left out.
    package var omissions: Int { merged?.omissions ?? 0 }

    /// Whether answers since ``omissions`` had this value are incomplete.
    package func isIncomplete(since omissions: Int) -> Bool {
        hasAbsentMembers || members.contains(where: \.isIncomplete)
            || self.omissions > omissions || (store as? LayeredStore)?.isIncomplete == true
    }

    /// Several archives as one; nil: it is one archive.
    package var merged: MergedStore? { store as? MergedStore }

    /// The archive's directory, for operations that need files.
    /// - Parameter what: the operation, such as "retime a session".
    package func directory(to what: String) throws(LibraryError) -> ArchiveLayout {
        guard isLocal else { throw .needsFiles(name, what: what) }
        return layout
    }

    /// The same for one session, all of whose files have to be in the directory.
    package func files(of session: String, to what: String) throws -> ArchiveLayout {
        let layout = try directory(to: what)
        guard hasBucket else { return layout }
        for source in try sourceNames(session) {
            let key = SourceKey(session: session, source: source)
            for file in try segments(key)
            where !FileSystem.exists("\(layout.source(key))/\(file.name)") {
                throw LibraryError.hasMoved(session, what: what)
            }
        }
        return layout
    }

    /// Whether there is such a session.
    /// - Throws: also if its name is that of another kind of file.
    package func hasSession(_ name: String) throws(ArchiveError) -> Bool {
        guard ArchiveLayout.isValidName(name) else { return false }
        if isLocal, try FileSystem.hasDirectory(layout.session(name)) { return true }
        return hasBucket ? try !store.list(.session(name)).isEmpty : false
    }

    /// The session that `session` is a part of; `session` itself if it is not a part. Collectors of a site can record parts
    /// of one session.
    package func whole(of session: String) throws(ArchiveError) -> String {
        try merged?.whole(of: session) ?? session
    }

    /// Names of the sessions, oldest first.
    package func sessionNames() throws(ArchiveError) -> [String] {
        try store.list(.sessions).filter { $0.isFolder && ArchiveLayout.isValidName($0.name) }
            .map(\.name)
    }

    /// Whether one of ``sessionNames()`` has files of a session. A prefix of a bucket may contain anything else, and
    /// SeaweedFS keeps the folders of removed sessions.
    ///
    /// It needs the session's listing, which is cached for those who read the session next.
    package func isSession(_ name: String) throws(ArchiveError) -> Bool {
        if !members.isEmpty {
            var hasOther = false
            for member in members where try member.hasSession(name) {
                if try member.isSession(name) { return true }
                hasOther = true
            }
            return !hasOther
        }
        guard hasBucket, !isLocal || !FileSystem.exists(layout.session(name)) else { return true }
        let entries = try store.list(.session(name))
        if entries.contains(where: { $0.name == ArchiveLayout.manifestName }) { return true }
        for source in try sourceNames(name) {
            if try !segments(SourceKey(session: name, source: source)).isEmpty { return true }
        }
        return false
    }

    /// Names of a session's sources, in order.
    package func sourceNames(_ session: String) throws(ArchiveError) -> [String] {
        try store.list(.session(session)).filter {
            $0.isFolder && ArchiveLayout.isValidName($0.name)
        }.map(\.name)
    }

    /// Names and sizes of a source's segments, in the order of their origins.
    package func segments(_ source: SourceKey) throws(ArchiveError) -> [StoredEntry] {
        try store.list(.source(source)).filter {
            !$0.isFolder && SegmentName($0.name) != nil
        }
    }

    package func manifest(_ session: String) throws(ArchiveError) -> SessionManifest {
        try SessionManifest(session, in: store)
    }

    package func recording(_ session: String) throws(ArchiveError) -> RecordedSession {
        try RecordedSession(session, in: store)
    }

    /// The name, tags and note of a session; none, and a complaint, where they cannot be read.
    ///
    /// Of several archives: the name and the note of the first one that has any, and the tags of all.
    package func labels(_ session: String) -> SessionNotes {
        let all = allLabels(session)
        var joined = SessionNotes()
        joined.name = all.lazy.compactMap(\.name).first
        joined.note = all.lazy.compactMap(\.note).first
        joined.tags = Set(all.flatMap(\.tags)).sorted()
        return joined
    }

    /// The labels of a session in each archive that has it, the one whose name sorts first at the beginning.
    package func allLabels(_ session: String) -> [SessionNotes] {
        guard let merged else { return [ownLabels(session)] }
        do throws(ArchiveError) {
            return try merged.session(session).copies.map { copy in
                members[copy.member].ownLabels(copy.manifest.session)
            }
        } catch {
            if !error.isForAbsence { complain("\(error)") }
            return []
        }
    }

    private func ownLabels(_ session: String) -> SessionNotes {
        do throws(ArchiveError) {
            guard hasBucket else { return try SessionNotes.read(session, in: layout) }
            let path = StoredPath.session(session) / SessionNotes.fileName
            return try .parse(
                store.contents(path, limit: SessionNotes.maximumBytes), path: store.path(path))
        } catch {
            if !error.isForAbsence { complain("\(error)") }
            return SessionNotes()
        }
    }

    /// The marks of a session; if they cannot be read, complains and returns none.
    package func marks(_ session: String) -> SessionMarks {
        do throws(ArchiveError) {
            return try storedMarks(of: session)
        } catch {
            complain("\(error)")
            return SessionMarks()
        }
    }

    /// The marks of a session; empty without a file. With several archives: the union of their marks.
    func storedMarks(of session: String) throws(ArchiveError) -> SessionMarks {
        guard let merged else { return try Self.marks(of: session, in: store) }
        let whole = try merged.session(session)
        var all = SessionMarks()
        for copy in whole.copies {
            let own: SessionMarks
            do throws(ArchiveError) {
                own = try Self.marks(
                    of: copy.manifest.session, in: merged.members[copy.member].store)
            } catch {
                complain("\(error)")
                continue
            }
            let known = Set(all.marks.map(\.id))
            let others = own.marks.filter { !known.contains($0.id) }.map { mark in
                var mark = mark
                // Collectors have the same mark at the same time; the part of an attached one has a timeline of its own.
                if copy.manifest.session != whole.name {
                    mark.atNanoseconds.addClamped(copy.shift.at(mark.atNanoseconds).nanoseconds)
                }
                return mark
            }
            all = all.changed(adding: others, removing: [])
        }
        return all
    }

    private static func marks(
        of session: String, in store: any SegmentStore
    ) throws(ArchiveError) -> SessionMarks {
        let path = StoredPath.session(session) / SessionMarks.fileName
        do throws(ArchiveError) {
            return try .parse(
                store.contents(path, limit: SessionMarks.maximumBytes), path: store.path(path))
        } catch {
            if error.isForAbsence { return SessionMarks() }
            throw error
        }
    }

    /// Whether retention does not remove a session. Of several archives: from none of those that have it.
    package func isProtected(_ session: String) -> Bool {
        if let copies = protectedCopies(session) {
            return !copies.isEmpty && copies.allSatisfy(\.isProtected)
        }
        guard !isLocal else { return SessionProtection.isProtected(session, in: layout) }
        do throws(ArchiveError) {
            return try store.list(.session(session)).contains {
                $0.name == ArchiveLayout.protectionName
            }
        } catch {
            complain("\(error)")
            return false
        }
    }

    /// The archives that protect a session although others that have it do not; empty: all or none do.
    package func archivesProtecting(_ session: String) -> [String] {
        let copies = protectedCopies(session) ?? []
        let names = copies.filter(\.isProtected).map(\.archive)
        return names.count < copies.count ? names : []
    }

    /// Whether each of several archives protects a session; nil: one archive is read, or the session is unreadable.
    private func protectedCopies(_ session: String) -> [(archive: String, isProtected: Bool)]? {
        guard let merged else { return nil }
        do throws(ArchiveError) {
            let copies = try merged.session(session).copies
            return copies.map {
                ($0.archive, members[$0.member].isProtected($0.manifest.session))
            }
        } catch {
            if !error.isForAbsence { complain("\(error)") }
            return nil
        }
    }

    /// The session that a collector records into the archive; nil: none.
    package func sessionBeingRecorded() throws(ArchiveError) -> String? {
        guard try isCollectorRunning(), let newest = try sessionNames().last,
            try manifest(newest).state == .recording
        else { return nil }
        return newest
    }

    /// Whether a collector runs in the archive. Without one, nothing is recorded, even if a session's description has
    /// `recording`.
    package func isCollectorRunning() throws(ArchiveError) -> Bool {
        if let merged { return merged.isCollectorRunning() }
        return isLocal ? try ArchiveLock.isTaken(layout) : false
    }
}

/// An error of a search or of a request.
package enum LibraryError: Error, Hashable, CustomStringConvertible {
    case noArchive(String)
    /// No session has that ID, name or tag.
    case noSession(String, archive: String)
    /// An archive without sessions.
    case empty(archive: String)
    /// Several sessions have the name or tag.
    case ambiguous(String, [String])
    case noFile(String)
    /// A directory that is neither an archive nor a session.
    case neither(String)
    /// A file was given where a session is needed.
    case file(String)
    /// A directory was given in a list of files.
    case directory(String)
    /// An archive was given where one session is needed.
    case archive(String)
    /// A session that must not be removed.
    case protected(String)
    /// A session that is not over.
    case unfinished(String)
    /// More tags than a session may have.
    case tooManyTags(String)
    /// More marks than a session may have.
    case tooManyMarks(String)
    /// A time range needs a catalog.
    case noCatalog
    /// An archive's directory that this user may not read.
    case forbidden(String)
    /// An object store's address was given where a session or file is needed.
    case address(String)
    /// A directory is needed, and the archive is not a single one.
    case needsFiles(String, what: String)
    /// A session with media in a bucket, if files are needed.
    case hasMoved(String, what: String)

    /// Why there is no archive to read in a directory; nil: there is one.
    /// - Parameter path: the directory as it was given.
    fileprivate static func absence(of layout: ArchiveLayout, _ path: String) -> LibraryError? {
        do throws(ArchiveError) {
            if try FileSystem.hasDirectory(layout.sessions) {
                let isForbidden =
                    access(layout.sessions, R_OK | X_OK) != 0 && errno == EACCES
                return isForbidden ? .forbidden(path) : nil
            }
        } catch {
            if error.code == EACCES { return .forbidden(path) }
        }
        return .noArchive(path)
    }

    package var description: String {
        switch self {
        case .noArchive(let path):
            "no archive at \(path): it holds no recordings; give another --archive"
        case .forbidden(let path):
            "the archive \(path) may not be read: permission denied; run this as a user with read access to it"
        case .noSession(let name, let archive):
            "no session '\(name)' in \(archive), by ID, name or tag: 'tributary ls' lists the sessions"
        case .empty(let archive): "no session in \(archive)"
        case .ambiguous(let name, let sessions):
            "\(sessions.count) sessions have the name or tag '\(name)': "
                + sessions.prefix(5).joined(separator: ", ") + (sessions.count > 5 ? ", …" : "")
                + "; give one of these IDs"
        case .noFile(let path): "no file '\(path)'"
        case .neither(let path):
            "'\(path)' is neither a session directory (it has no \(ArchiveLayout.manifestName)) nor an archive "
                + "(it has no sessions)"
        case .file(let path): "'\(path)' is a file: give a session or a session directory"
        case .directory(let path):
            "'\(path)' is a directory: give one session, or files of one session"
        case .archive(let path):
            "'\(path)' is an archive: give one of its sessions, with --archive \(path)"
        case .protected(let session):
            "\(session) is protected: 'tributary protect --off \(session)' removes the protection"
        case .unfinished(let session):
            "\(session) is not finished: end it with 'tributary stop', or start the collector to finish it after a crash"
        case .tooManyTags(let session):
            "\(session) would have more than \(SessionNotes.maximumTags) tags: remove some with --untag"
        case .tooManyMarks(let session):
            "\(session) would have more than \(SessionMarks.maximumMarks) marks: remove some first"
        case .address(let text):
            "'\(text)' is an object store: give it in --archive, and one of its sessions here"
        case .needsFiles(let archive, let what):
            "cannot \(what) in \(archive), which is no single directory: give one directory in --archive; 'tributary store fetch' copies a session from an object store"
        case .hasMoved(let session, let what):
            "cannot \(what): media of \(session) is in the object store; bring it back with 'tributary store fetch \(session)'"
        case .noCatalog:
            "--from and --until need a catalog that can be used: create it with 'tributary index', or start the collector"
        }
    }
}
