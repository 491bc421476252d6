package import Archive

extension RecordingLibrary {
    /// Asks the catalog; nil where there is none that can be used, with a complaint. A damaged one is rebuilt first, unless a
    /// collector is recording. Where nothing may be written, a catalog that is damaged, of another version or out of date is not used.
    package func askCatalog<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        // A bucket is listed: it has no catalog.
        guard isLocal else { return nil }
        if catalog.isServer { return try askServer(question) }
        if isReadOnly { return try askUnchanged(question) }
        var isDamaged = false
        do throws(ArchiveError) {
            guard let catalog = try SQLiteCatalog.read(layout) else { return nil }
            // Damage may be anywhere in it: the question itself may find it.
            if Set(try catalog.sessionNames()) == Set(try layout.sessionNames()) {
                try takeInUnfinished(catalog)
                return try question(catalog)
            }
        } catch {
            guard case .malformed(let path, _) = error, path == SQLiteCatalog.path(layout) else {
                throw error
            }
            complain("\(error)")
            isDamaged = true
        }
        guard let lock = try ArchiveLock.take(layout) else {
            if isDamaged {
                complain(
                    "the collector that records here rebuilds it at its next start")
            }
            return nil
        }
        return try withExtendedLifetime(lock) { () throws(ArchiveError) in
            if isDamaged { try SQLiteCatalog.remove(layout) }
            let catalog = try CatalogIndexing.openMended(layout).catalog
            let summary = try CatalogIndexing.update(catalog, layout)
            if isDamaged {
                complain(
                    "rebuilt the catalog from the files of \(summary.sessions) sessions")
            }
            for problem in summary.problems { complain(problem) }
            // A session that cannot be read is not in the catalog: the files are asked then.
            return summary.problems.isEmpty ? try question(catalog) : nil
        }
    }

    /// Asks a catalog on a server. Nothing is written: one that does not have what the files have is the collector's to update, and one
    /// that cannot be asked makes answers slower.
    private func askServer<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        guard case .postgreSQL(let database) = catalog else { return nil }
        do throws(ArchiveError) {
            guard let catalog = try catalog.existing(layout) else { return nil }
            let known = try catalog.sessions()
            guard Set(known.map(\.session)) == Set(try layout.sessionNames()) else { return nil }
            // A collector that was killed may have written more than the catalog has.
            let finished = SessionManifest.State.finished.rawValue
            if known.contains(where: { $0.state != finished }), try !isCollectorRunning() {
                return nil
            }
            return try question(catalog)
        } catch {
            let isForCatalog =
                if case .malformed(let path, _) = error { path == database.name } else { false }
            guard error.isForServer || isForCatalog else { throw error }
            if database.isComplaintDue() { complain("\(error); reading the files instead") }
            return nil
        }
    }

    private func askUnchanged<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        do throws(ArchiveError) {
            guard let catalog = try SQLiteCatalog.readUnchanged(layout),
                Set(try catalog.sessionNames()) == Set(try layout.sessionNames())
            else { return nil }
            return try question(catalog)
        } catch {
            if case .malformed = error { return nil }
            guard error.isForPermission || error.isForLock else { throw error }
            return nil
        }
    }

    /// A collector that was killed may have written more than the catalog has: reads the sessions that it left unfinished. A running
    /// collector does so itself.
    private func takeInUnfinished(_ catalog: SQLiteCatalog) throws(ArchiveError) {
        let finished = SessionManifest.State.finished.rawValue
        let unfinished = try catalog.sessions().filter { $0.state != finished }.map(\.session)
        guard !unfinished.isEmpty else { return }
        let lock: ArchiveLock?
        do throws(ArchiveError) {
            lock = try ArchiveLock.take(layout)
        } catch {
            // Without permission to write, the catalog is used as it is.
            guard error.isForPermission else { throw error }
            return
        }
        guard let lock else { return }
        defer { withExtendedLifetime(lock) {} }
        for problem in try CatalogIndexing.update(catalog, unfinished, layout) {
            complain(problem)
        }
    }
}
