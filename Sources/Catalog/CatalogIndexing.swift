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

    /// A catalog in memory, filled from the files.
    package static func inMemory(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: any CatalogStore, summary: Summary) {
        let catalog = try SQLiteCatalog.inMemory()
        return (catalog, try update(catalog, layout, everything: true))
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
        of session: String, _ layout: ArchiveLayout, in catalog: CatalogReference = .own
    ) throws(ArchiveError) {
        guard let catalog = try catalog.place(layout).existing() else { return }
        try catalog.apply([labels(of: session, layout)])
    }

    static func labels(
        of session: String, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> CatalogChange {
        .labels(
            session: session, isProtected: SessionProtection.isProtected(session, in: layout),
            notes: try SessionNotes.read(session, in: layout))
    }

    /// Reads a finished session again, if there is a catalog; a session that is gone is removed from it.
    package static func refresh(
        _ session: String, _ layout: ArchiveLayout, in catalog: CatalogReference = .own
    ) throws(ArchiveError) {
        guard let catalog = try catalog.place(layout).existing() else { return }
        if FileSystem.exists(layout.manifest(session)) {
            try catalog.apply([.all(CatalogEntry(session, in: layout))])
        } else {
            try catalog.apply([.sessionRemoved(session)])
        }
    }
}
