/// Updates the catalog from the archive's files.
package enum CatalogIndexing {
    /// The result of an update.
    package struct Summary: Codable, Hashable, Sendable {
        package var sessions = 0
        package var segments = 0
        /// Sessions whose entries were missing or out of date.
        package var changed: [String] = []
        /// One line each: what cannot be read, and is not in the catalog.
        package var problems: [String] = []
    }

    /// Opens an archive's catalog; a damaged one is rebuilt.
    /// - Returns: the catalog, and one line if it had to be rebuilt.
    package static func openMended(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, complaint: String?) {
        do throws(ArchiveError) {
            let catalog = try SQLiteCatalog.open(layout)
            guard let damage = try catalog.damage() else { return (catalog, nil) }
            throw .malformed(path: catalog.path, reason: "the catalog is damaged: \(damage)")
        } catch {
            guard case .malformed = error else { throw error }
            try SQLiteCatalog.remove(layout)
            return (try SQLiteCatalog.open(layout), "\(error); rebuilt from the files")
        }
    }

    /// Applies changes of the files to the catalog. Finished sessions with unchanged file names are assumed to be unchanged.
    /// - Parameters:
    ///   - everything: read all sessions in any case.
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
        for session in try catalog.indexedSessionNames().subtracting(names).sorted() {
            try catalog.apply([.sessionRemoved(session)])
            summary.changed.append(session)
        }
        for session in names where !isCancelled() {
            summary.sessions += 1
            var files: Set<String> = []
            for source in try layout.sourceNames(session) {
                let owner = SourceKey(session: session, source: source)
                for file in try layout.knownSegmentNames(owner) {
                    files.insert("\(source)/\(file)")
                }
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

    /// Updates the entries of some sessions from their files, or removes them if the sessions are gone.
    /// - Returns: what cannot be read, one line each.
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

    /// - Returns: what cannot be read, and is therefore not in the catalog.
    private static func take(
        _ session: String, into catalog: any CatalogStore, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> String? {
        do throws(ArchiveError) {
            try catalog.apply([.all(CatalogEntry(session, in: layout))])
            return nil
        } catch {
            guard case .malformed(let path, _) = error, path != catalog.name else { throw error }
            return "\(error)"
        }
    }

    /// Updates a session's labels, if there is a catalog.
    package static func noteLabels(
        of session: String, _ layout: ArchiveLayout, in catalog: CatalogReference = .sqlite
    ) throws(ArchiveError) {
        guard let catalog = try catalog.existing(layout) else { return }
        try catalog.apply([
            .labels(
                session: session,
                isProtected: SessionProtection.isProtected(session, in: layout),
                notes: SessionNotes.read(session, in: layout))
        ])
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
