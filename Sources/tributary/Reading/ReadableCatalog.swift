import Archive
import Terminal

/// The catalog, as commands that only read find it.
enum ReadableCatalog {
    /// Asks it; nil where there is none that can be believed, which is said. One that is damaged is made again and asked again, unless a
    /// collector records.
    static func ask<Answer>(
        _ layout: ArchiveLayout, _ question: (Catalog) throws(ArchiveError) -> Answer
    ) throws -> Answer? {
        var isDamaged = false
        do throws(ArchiveError) {
            guard let catalog = try Catalog.read(layout) else { return nil }
            // Damage may be anywhere in it: the question itself may be what finds it.
            if Set(try catalog.sessionNames()) == Set(try layout.sessionNames()) {
                return try question(catalog)
            }
        } catch {
            guard case .malformed(let path, _) = error, path == Catalog.path(layout) else {
                throw error
            }
            Program.complain("\(error)")
            isDamaged = true
        }
        guard let lock = try ArchiveLock.take(layout) else {
            if isDamaged {
                Program.complain(
                    "the collector that records here makes it again when it starts next")
            }
            return nil
        }
        return try withExtendedLifetime(lock) {
            if isDamaged { try Catalog.remove(layout) }
            let catalog = try CatalogIndexing.openMended(layout).catalog
            let summary = try CatalogIndexing.update(catalog, layout)
            if isDamaged {
                Program.complain(
                    "made the catalog again from the files of \(summary.sessions) sessions")
            }
            for problem in summary.problems { Program.complain(problem) }
            // A session that cannot be read is in the files and not in the catalog: the files are asked then.
            return summary.problems.isEmpty ? try question(catalog) : nil
        }
    }
}
