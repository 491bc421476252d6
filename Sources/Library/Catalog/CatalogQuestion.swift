package import Archive
package import Catalog
import Recordings

extension RecordingLibrary {
    /// Queries the catalog; nil without a usable one. A damaged or foreign one is replaced first, unless a
    /// collector is recording or the directory is read-only: then it is not used, and a line says so.
    package func askCatalog<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        // A bucket is listed: it has no catalog.
        guard isLocal else { return nil }
        if catalog.isServer { return try askServer(question) }
        do throws(ArchiveError) {
            return isReadOnly ? try askUnchanged(question) : try askMended(question)
        } catch {
            // Without write access for SQLite's files, recordings are read instead.
            if error.isForPermission || isReadOnly && error.isForLock { return nil }
            guard isAboutCatalog(error) else { throw error }
            if catalogInterval.isDue() {
                complain("\(error); reading the files instead: 'tributary index' rebuilds it")
            }
            return nil
        }
    }

    /// Whether it is the archive's own catalog that is wrong.
    func isAboutCatalog(_ error: ArchiveError) -> Bool {
        switch error {
        case .malformed(let path, _), .exceeded(let path, _): path == SQLiteCatalog.path(layout)
        case .system, .badName, .noRoom, .unavailable, .store: false
        }
    }

    private func askMended<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        var damage: ArchiveError?
        let names = try layout.sessionNames()
        do throws(ArchiveError) {
            guard let catalog = try SQLiteCatalog.read(layout) else { return nil }
            try catalog.checkSessions(names.count, isListed: true)
            // Damage may be anywhere in it: the question itself may find it.
            if Set(try catalog.sessionNames()) == Set(names) {
                try takeInUnfinished(catalog)
                return try question(catalog)
            }
        } catch {
            guard case .malformed = error, isAboutCatalog(error) else { throw error }
            damage = error
        }
        let taken: ArchiveLock?
        do throws(ArchiveError) {
            taken = try ArchiveLock.take(layout)
        } catch {
            throw error.isForPermission ? damage ?? error : error
        }
        guard let lock = taken else {
            if let damage, catalogInterval.isDue() {
                complain(
                    "\(damage); reading the files instead: the collector that records here rebuilds it at its next start"
                )
            }
            return nil
        }
        return try withExtendedLifetime(lock) { () throws(ArchiveError) in
            let (catalog, summary) =
                if let damage { try replaced(damage) } else { try updated() }
            for problem in summary.problems { complain(problem) }
            // A session that cannot be read is not in the catalog: its files are read instead.
            return summary.problems.isEmpty ? try question(catalog) : nil
        }
    }

    /// Queries a catalog on a server. It is not written: the collector updates it. If it is outdated or unavailable, files are read
    /// instead.
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

    /// Updates the catalog, or rebuilds it if that finds damage.
    private func updated() throws(ArchiveError) -> (SQLiteCatalog, CatalogIndexing.Summary) {
        do throws(ArchiveError) {
            let catalog = try SQLiteCatalog.open(layout)
            try catalog.checkSessions(layout.sessionNames().count, isListed: false)
            return (catalog, try CatalogIndexing.update(catalog, layout))
        } catch {
            guard case .malformed = error, isAboutCatalog(error) else { throw error }
            return try replaced(error)
        }
    }

    /// Rebuilds the catalog.
    /// - Throws: the error of the old one if that is not possible.
    private func replaced(
        _ damage: ArchiveError
    ) throws(ArchiveError) -> (SQLiteCatalog, CatalogIndexing.Summary) {
        let made: (catalog: SQLiteCatalog, summary: CatalogIndexing.Summary)
        do throws(ArchiveError) {
            made = try CatalogIndexing.rebuild(layout)
        } catch {
            throw .malformed(
                path: SQLiteCatalog.path(layout),
                reason: "\(damage.reason), and cannot be replaced: \(error)")
        }
        complain("\(damage)")
        complain("rebuilt the catalog from the files of \(made.summary.sessions) sessions")
        return made
    }

    private func askUnchanged<Answer>(
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        guard let catalog = try SQLiteCatalog.readUnchanged(layout) else { return nil }
        let names = try layout.sessionNames()
        try catalog.checkSessions(names.count, isListed: true)
        return Set(try catalog.sessionNames()) == Set(names) ? try question(catalog) : nil
    }

    /// A collector that was killed may have written more than the catalog has: reads the sessions that it left unfinished. A running
    /// collector does so itself.
    private func takeInUnfinished(_ catalog: SQLiteCatalog) throws(ArchiveError) {
        let finished = SessionManifest.State.finished.rawValue
        let unfinished = try catalog.sessions().filter { $0.state != finished }.map(\.session)
        guard !unfinished.isEmpty else { return }
        let (answering, silent) = try patience.answering(unfinished, in: layout)
        for problem in silent { complain(problem) }
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
        for problem in try CatalogIndexing.update(catalog, answering, layout) {
            complain(problem)
        }
    }
}
