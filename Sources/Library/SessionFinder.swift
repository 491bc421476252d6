package import Archive
package import Catalog
import ObjectStore
package import Recordings
import Synchronization

/// Resolves command line arguments: a session by its ID, name, tag or directory, an archive by its directory, recorded files by
/// their paths.
package struct SessionFinder: Sendable {
    /// The object of an argument.
    package enum Subject: Sendable {
        /// By a path without symbolic links.
        case file(String)
        case session(FoundSession)
        case archive(RecordingLibrary)
    }

    /// The archive in which names are looked for, as it was given.
    package let archive: String
    private let reference: ArchiveReference
    private let catalog: CatalogReference
    private let waiting: StoreWaiting?
    private let complain: @Sendable (String) -> Void
    private let opened = OpenedLibrary()

    /// The archive's library, once it is open.
    private final class OpenedLibrary: Sendable {
        private let library = Mutex<RecordingLibrary?>(nil)
        private let hasOmission = Mutex(false)

        var isIncomplete: Bool {
            hasOmission.withLock { $0 } || library.withLock { $0?.isIncomplete ?? false }
        }

        func noteOmission() { hasOmission.withLock { $0 = true } }

        /// Two threads may both open it; the library opened first is used.
        func library(
            open: () throws(LibraryError) -> RecordingLibrary
        ) throws(LibraryError) -> RecordingLibrary {
            if let known = library.withLock({ $0 }) { return known }
            let new = try open()
            return library.withLock { library in
                let first = library ?? new
                library = first
                return first
            }
        }
    }

    /// - Parameter archive: its directory; it need not be there where paths are given.
    package init(
        _ archive: String, catalog: CatalogReference = .own,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.init(ArchiveReference(directory: archive), catalog: catalog, complain: complain)
    }

    /// - Parameters:
    ///   - archive: it need not be there where paths are given.
    ///   - waiting: see ``RecordingLibrary``.
    package init(
        _ archive: ArchiveReference, catalog: CatalogReference = .own,
        waiting: StoreWaiting? = nil,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.archive = archive.text
        self.catalog = catalog
        reference = archive
        self.waiting = waiting
        self.complain = complain
    }

    /// The archive, which must exist. All calls return the same library.
    package func library() throws(LibraryError) -> RecordingLibrary {
        try opened.library { () throws(LibraryError) in
            try RecordingLibrary(reference, catalog: catalog, waiting: waiting, complain: complain)
        }
    }

    /// Whether something was left out of an answer because an archive, or a part of one, could not be read. There was a line
    /// about it.
    package var isIncomplete: Bool { opened.isIncomplete }

    /// The caller has left out media, and printed a line about it.
    package func noteOmission() { opened.noteOmission() }

    /// One session of the archive: by its ID, the name or a tag that was given to it, or `latest` for the newest.
    package func session(named name: String) throws -> FoundSession {
        let library = try library()
        let found = try Self.sessions(named: name, in: library)
        guard let only = found.first, found.count == 1 else {
            throw LibraryError.ambiguous(name, found)
        }
        return FoundSession(name: only, library: library)
    }

    /// Sessions by a name, oldest first: the one with that ID; else those with that name; else those with that tag.
    private static func sessions(named name: String, in library: RecordingLibrary) throws
        -> [String]
    {
        if name == "latest" {
            // A folder of the archive without a description is not a session.
            for session in try library.sessionNames().reversed() {
                do throws(ArchiveError) {
                    _ = try library.manifest(session)
                } catch {
                    if error.isForAbsence { continue }
                }
                return [session]
            }
            throw LibraryError.empty(archive: library.name)
        }
        if try library.hasSession(name) { return [try library.whole(of: name)] }
        let found = try named(name, in: library)
        guard !found.isEmpty else { throw LibraryError.noSession(name, archive: library.name) }
        return found
    }

    /// Sessions with that name; else those with that tag.
    private static func named(_ name: String, in library: RecordingLibrary) throws -> [String] {
        var named: [String] = []
        var tagged: [String] = []
        let sessions = try library.sessionNames()
        let answers = try library.patience.each(
            sessions, in: library.layout, nanoseconds: library.patienceNanoseconds
        ) { session in library.allLabels(session) }
        for (session, answer) in zip(sessions, answers) {
            switch answer {
            case .value(let labels):
                if labels.contains(where: { $0.name == name }) { named.append(session) }
                if labels.contains(where: { $0.tags.contains(name) }) { tagged.append(session) }
            case .silence(let error): library.complain("\(error)")
            }
        }
        return named.isEmpty ? tagged : named
    }

    /// Resolves one argument.
    package func subject(_ what: String) throws -> Subject {
        if let place = try place(what) { return place }
        return .session(try session(named: what))
    }

    /// All objects of an argument: all sessions of an archive's directory, or with a tag.
    package func subjects(_ what: String) throws -> (files: [String], sessions: [FoundSession]) {
        switch try place(what) {
        case .file(let path): return ([path], [])
        case .session(let session): return ([], [session])
        case .archive(let library):
            let names = try library.sessionNames()
            if names.isEmpty { throw LibraryError.empty(archive: what) }
            return ([], names.map { FoundSession(name: $0, library: library) })
        case nil:
            let library = try library()
            return (
                [],
                try Self.sessions(named: what, in: library).map {
                    FoundSession(name: $0, library: library)
                }
            )
        }
    }

    /// The session of an argument; for an archive's directory, its newest session.
    package func oneSession(_ what: String) throws -> FoundSession {
        switch try subject(what) {
        case .session(let session): return session
        case .archive(let library):
            guard let newest = try library.sessionNames().last else {
                throw LibraryError.empty(archive: what)
            }
            return FoundSession(name: newest, library: library)
        case .file: throw LibraryError.file(what)
        }
    }

    /// Resolves arguments of commands that read media: a session, or recorded files of one.
    /// - Parameter inputs: one or more.
    package func recording(_ inputs: [String]) throws -> RecordedSession {
        if inputs.count == 1, let first = inputs.first {
            switch try subject(first) {
            case .session(let session): return try session.recording()
            case .archive: throw LibraryError.archive(first)
            case .file(let path): return try RecordedSession(files: [path])
            }
        }
        for input in inputs {
            guard NamedPath.exists(input) else { throw LibraryError.noFile(input) }
            if NamedPath.isDirectory(input) { throw LibraryError.directory(input) }
        }
        return try RecordedSession(files: inputs.map(NamedPath.resolved))
    }

    /// The object with that path; nil if the argument is a name.
    package func place(_ what: String) throws -> Subject? {
        let isPath =
            what.contains("/") || what == "." || what == ".."
            || SegmentName(what) != nil
        // A session of the archive comes before a file or directory of that name.
        if !isPath {
            if what == "latest" { return nil }
            if let layout = reference.layout, FileSystem.isDirectory(layout.session(what)) {
                return nil
            }
        }
        if StoreAddress.isAddress(what) { throw LibraryError.address(what) }
        guard NamedPath.exists(what) else {
            // A name that was given to a session may look like a path. Without a readable archive, it is a path.
            if isPath, (try? Self.named(what, in: library()).isEmpty) ?? true {
                throw LibraryError.noFile(what)
            }
            return nil
        }
        guard NamedPath.isDirectory(what) else { return .file(NamedPath.resolved(what)) }
        if let (layout, name) = ArchiveLayout.session(directory: what) {
            return .session(
                FoundSession(
                    name: name,
                    library: RecordingLibrary(
                        layout, name: layout.root, catalog: catalog, complain: complain)))
        }
        let inside = ArchiveLayout(root: what)
        if FileSystem.isDirectory(inside.sessions) {
            return .archive(
                RecordingLibrary(inside, name: what, catalog: catalog, complain: complain))
        }
        if isPath { throw LibraryError.neither(what) }
        return nil
    }
}

/// A session, and the library that has it.
package struct FoundSession: Sendable {
    package let name: String
    package let library: RecordingLibrary

    package init(name: String, library: RecordingLibrary) {
        self.name = name
        self.library = library
    }

    package func recording() throws(ArchiveError) -> RecordedSession {
        try library.recording(name)
    }
}
