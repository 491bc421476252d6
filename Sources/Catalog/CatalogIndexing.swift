package import Archive

/// Updates the catalog from the archive's files.
package enum CatalogIndexing {
    /// Sessions per transaction that are removed.
    private static let removalsTogether = 256

    /// The result of an update.
    package struct Summary: Codable, Hashable, Sendable {
        package var sessions = 0
        package var segments = 0
        /// Sessions whose entries were missing or out of date.
        package var changed: [String] = []
        /// Unreadable files and sessions, which are not in the catalog, one line each.
        package var problems: [String] = []
    }

    /// Opens an archive's catalog; a damaged one, or another kind of file, is replaced with an empty one.
    /// - Returns: the catalog, and one line if it had to be replaced.
    package static func openMended(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, complaint: String?) {
        do throws(ArchiveError) {
            let catalog = try SQLiteCatalog.open(layout)
            try catalog.checkWritable()
            try catalog.checkSessions(layout.sessionNames().count, isListed: false)
            guard let damage = try catalog.damage() else { return (catalog, nil) }
            throw .malformed(path: catalog.path, reason: "the catalog is damaged: \(damage)")
        } catch {
            guard error.isForContent else { throw error }
            let catalog = try SQLiteCatalog.create(layout) { _ throws(ArchiveError) in }.catalog
            return (catalog, "\(error); rebuilt from the files")
        }
    }

    /// Rebuilds an archive's own catalog in a new file, which then replaces the old one.
    package static func rebuild(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, summary: Summary) {
        let (catalog, summary) = try SQLiteCatalog.create(layout) { catalog throws(ArchiveError) in
            try update(catalog, layout, everything: true)
        }
        // Labels that were changed in the meantime are in the old one.
        var labels: [CatalogChange] = []
        for session in try catalog.sessionNames() {
            do throws(ArchiveError) {
                labels.append(try Self.labels(of: session, layout))
            } catch {
                // An unreadable file changes nothing, as when sessions are read.
                guard case .malformed = error else { throw error }
            }
        }
        try catalog.apply(labels)
        return (catalog, summary)
    }

    /// Applies changes of the files to the catalog. Finished sessions with unchanged file names are assumed to be
    /// unchanged.
    /// - Parameters:
    ///   - everything: whether to read all sessions in any case.
    ///   - isCancelled: called before each session: whether to stop.
    package static func update(
        _ catalog: any CatalogStore, _ layout: ArchiveLayout, everything: Bool = false,
        isCancelled: () -> Bool = { false }
    ) throws(ArchiveError) -> Summary {
        var summary = Summary()
        let finished = Set(
            try catalog.sessions().filter { $0.state == SessionManifest.State.finished.rawValue }
                .map(\.session))
        let names = try layout.sessionNames()
        let gone = try catalog.indexedSessionNames().subtracting(names).sorted()
        summary.changed += gone
        for start in stride(from: 0, to: gone.count, by: removalsTogether) {
            let part = gone[start..<min(start + removalsTogether, gone.count)]
            try catalog.apply(part.map { .sessionRemoved($0) })
        }
        let (answering, silent) = try SessionPatience().answering(names, in: layout)
        summary.problems += silent
        for session in answering where !isCancelled() {
            summary.sessions += 1
            let files: Set<String>
            do throws(ArchiveError) {
                files = try Self.files(of: session, layout)
            } catch {
                guard error.isForEntry else { throw error }
                summary.problems.append("\(error)")
                continue
            }
            summary.segments += files.count
            if !everything, finished.contains(session),
                try catalog.files(of: session) == files
            {
                continue
            }
            if let problem = try take(session, into: catalog, layout) {
                summary.problems.append(problem)
            } else {
                summary.changed.append(session)
            }
        }
        return summary
    }

    /// A session's segments, each as `SOURCE/NAME`.
    private static func files(
        of session: String, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> Set<String> {
        var files: Set<String> = []
        for source in try layout.sourceNames(session) {
            let owner = SourceKey(session: session, source: source)
            for file in try layout.knownSegmentNames(owner) {
                files.insert("\(source)/\(file)")
            }
        }
        return files
    }

    /// Updates the entries of some sessions from their files, or removes them if the sessions are gone.
    /// - Returns: the problems, one line each.
    package static func update(
        _ catalog: any CatalogStore, _ sessions: [String], _ layout: ArchiveLayout
    ) throws(ArchiveError) -> [String] {
        var problems: [String] = []
        for session in sessions {
            if FileSystem.exists(layout.manifest(session)) {
                if let problem = try take(session, into: catalog, layout) {
                    problems.append(problem)
                }
            } else {
                try catalog.apply([.sessionRemoved(session)])
            }
        }
        return problems
    }

    /// - Returns: the problem that keeps it out of the catalog; nil: none.
    private static func take(
        _ session: String, into catalog: any CatalogStore, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> String? {
        do throws(ArchiveError) {
            try catalog.apply([.all(CatalogEntry(session, in: layout))])
            return nil
        } catch {
            // A session without a description cannot be in the catalog either.
            if error.isForEntry || error.isForAbsence { return "\(error)" }
            guard case .malformed(let path, _) = error, path != catalog.name else { throw error }
            return "\(error)"
        }
    }

    /// Updates a session's labels, if there is a catalog.
    package static func noteLabels(
        of session: String, _ layout: ArchiveLayout, in catalog: CatalogReference = .sqlite
    ) throws(ArchiveError) {
        guard let catalog = try catalog.existing(layout) else { return }
        try catalog.apply([labels(of: session, layout)])
    }

    private static func labels(
        of session: String, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> CatalogChange {
        .labels(
            session: session, isProtected: SessionProtection.isProtected(session, in: layout),
            notes: try SessionNotes.read(session, in: layout))
    }

    /// Reads a finished session again, if there is a catalog; a session that is gone is removed from it.
    package static func refresh(
        _ session: String, _ layout: ArchiveLayout, in catalog: CatalogReference = .sqlite
    ) throws(ArchiveError) {
        guard let catalog = try catalog.existing(layout) else { return }
        if FileSystem.exists(layout.manifest(session)) {
            try catalog.apply([.all(CatalogEntry(session, in: layout))])
        } else {
            try catalog.apply([.sessionRemoved(session)])
        }
    }
}
