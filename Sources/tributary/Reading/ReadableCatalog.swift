import Archive
import Terminal

/// The catalog, as commands that only read find it.
enum ReadableCatalog {
    /// Asks it; nil where there is none that can be believed, which is said. One that is damaged is made again and asked again, unless a
    /// collector records.
    static func ask<Answer>(
        _ layout: ArchiveLayout, _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws -> Answer? {
        var isDamaged = false
        do throws(ArchiveError) {
            guard let catalog = try SQLiteCatalog.read(layout) else { return nil }
            // Damage may be anywhere in it: the question itself may be what finds it.
            if Set(try catalog.sessionNames()) == Set(try layout.sessionNames()) {
                try takeInUnfinished(catalog, layout)
                return try question(catalog)
            }
        } catch {
            guard case .malformed(let path, _) = error, path == SQLiteCatalog.path(layout) else {
                throw error
            }
            Program.complain("\(error)")
            isDamaged = true
        }
        guard let lock = try ArchiveLock.take(layout) else {
            if isDamaged {
                Program.complain(
                    "the collector that records here rebuilds it at its next start")
            }
            return nil
        }
        return try withExtendedLifetime(lock) {
            if isDamaged { try SQLiteCatalog.remove(layout) }
            let catalog = try CatalogIndexing.openMended(layout).catalog
            let summary = try CatalogIndexing.update(catalog, layout)
            if isDamaged {
                Program.complain(
                    "rebuilt the catalog from the files of \(summary.sessions) sessions")
            }
            for problem in summary.problems { Program.complain(problem) }
            // A session that cannot be read is in the files and not in the catalog: the files are asked then.
            return summary.problems.isEmpty ? try question(catalog) : nil
        }
    }

    /// A collector that was killed may have written more than it had told the catalog: reads what it left unfinished. One that runs
    /// does so itself.
    private static func takeInUnfinished(
        _ catalog: SQLiteCatalog, _ layout: ArchiveLayout
    ) throws(ArchiveError) {
        let finished = SessionManifest.State.finished.rawValue
        let unfinished = try catalog.sessions().filter { $0.state != finished }.map(\.session)
        guard !unfinished.isEmpty else { return }
        let lock: ArchiveLock?
        do throws(ArchiveError) {
            lock = try ArchiveLock.take(layout)
        } catch {
            // Whoever may only read gets what is there.
            guard error.isForPermission else { throw error }
            return
        }
        guard let lock else { return }
        defer { withExtendedLifetime(lock) {} }
        for problem in try CatalogIndexing.update(catalog, unfinished, layout) {
            Program.complain(problem)
        }
    }
}
