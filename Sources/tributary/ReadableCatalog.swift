import Archive
import Terminal

/// The catalog, as commands that only read find it.
enum ReadableCatalog {
    /// Opens it; nil where there is none that can be believed, which is said. One that is damaged is made again, unless a collector records.
    static func open(_ layout: ArchiveLayout) throws -> Catalog? {
        var isDamaged = false
        do throws(ArchiveError) {
            guard let catalog = try Catalog.read(layout) else { return nil }
            let known = Set(try catalog.sessions().map(\.session))
            guard known != Set(try layout.sessionNames()) else { return catalog }
        } catch {
            Program.complain("\(error)")
            guard case .malformed = error else { return nil }
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
            let catalog = try CatalogIndexing.openMended(layout).catalog
            let summary = try CatalogIndexing.update(catalog, layout)
            if isDamaged {
                Program.complain(
                    "made the catalog again from the files of \(summary.sessions) sessions")
            }
            for problem in summary.problems { Program.complain(problem) }
            // A session that cannot be read is in the files and not in the catalog: the files are asked then.
            return summary.problems.isEmpty ? catalog : nil
        }
    }
}
