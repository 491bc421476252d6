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
        let place = catalog.place(layout)
        if let server = catalog.server { return try ask(place, on: server, question) }
        do throws(ArchiveError) {
            return isReadOnly ? try askUnchanged(place, question) : try askMended(place, question)
        } catch {
            // Without write access for the catalog's own files, recordings are read instead.
            if error.isForPermission || isReadOnly && error.isForLock { return nil }
            if place.isPlace(of: error) {
                if catalogInterval.isDue() { complain("\(error); reading the files instead") }
                return nil
            }
            guard place.isCause(of: error) else { throw error }
            if catalogInterval.isDue() {
                complain("\(error); reading the files instead: 'tributary index' rebuilds it")
            }
            return nil
        }
    }

    private func askMended<Answer>(
        _ place: any CatalogBackend, _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        var damage: ArchiveError?
        let names = try layout.sessionNames()
        do throws(ArchiveError) {
            guard let catalog = try place.existing() else { return nil }
            try catalog.checkSessions(names.count, isListed: true)
            // Damage may be anywhere in it: the question itself may find it.
            if Set(try catalog.sessionNames()) == Set(names) {
                try takeInUnfinished(catalog)
                return try question(catalog)
            }
        } catch {
            guard case .malformed = error, place.isCause(of: error) else { throw error }
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
                if let damage { try replaced(place, damage) } else { try updated(place) }
            for problem in summary.problems { complain(problem) }
            // A session that cannot be read is not in the catalog: its files are read instead.
            return summary.problems.isEmpty ? try question(catalog) : nil
        }
    }

    /// Queries a catalog on a server. It is not written: the collector updates it. If it is outdated or unavailable, files
    /// are read instead.
    private func ask<Answer>(
        _ place: any CatalogBackend, on server: any CatalogServer,
        _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        do throws(ArchiveError) {
            guard let catalog = try place.existing() else { return nil }
            let known = try catalog.sessions()
            guard Set(known.map(\.session)) == Set(try layout.sessionNames()) else { return nil }
            // A collector that was killed may have written more than the catalog has.
            let finished = SessionManifest.State.finished.rawValue
            if known.contains(where: { $0.state != finished }), try !isCollectorRunning() {
                return nil
            }
            return try question(catalog)
        } catch {
            guard error.isForServer || place.isCause(of: error) else { throw error }
            if server.isComplaintDue() { complain("\(error); reading the files instead") }
            return nil
        }
    }

    /// Updates the catalog, or rebuilds it if that finds damage.
    private func updated(
        _ place: any CatalogBackend
    ) throws(ArchiveError) -> (any CatalogStore, CatalogIndexing.Summary) {
        do throws(ArchiveError) {
            let catalog: any CatalogStore
            if let kept = try place.existing() {
                catalog = kept
            } else {
                catalog = try place.open().catalog
            }
            try catalog.checkSessions(layout.sessionNames().count, isListed: false)
            return (catalog, try CatalogIndexing.update(catalog, layout))
        } catch {
            guard case .malformed = error, place.isCause(of: error) else { throw error }
            return try replaced(place, error)
        }
    }

    /// Rebuilds the catalog.
    /// - Throws: the error of the old one if that is not possible.
    private func replaced(
        _ place: any CatalogBackend, _ damage: ArchiveError
    ) throws(ArchiveError) -> (any CatalogStore, CatalogIndexing.Summary) {
        do throws(ArchiveError) {
            let made = try place.rebuild()
            complain("\(damage)")
            complain("rebuilt the catalog from the files of \(made.summary.sessions) sessions")
            return (made.catalog, made.summary)
        } catch {
            throw .malformed(
                path: place.name, reason: "\(damage.reason), and cannot be replaced: \(error)")
        }
    }

    private func askUnchanged<Answer>(
        _ place: any CatalogBackend, _ question: (any CatalogStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        guard let catalog = try place.existing(isReadOnly: true) else { return nil }
        let names = try layout.sessionNames()
        try catalog.checkSessions(names.count, isListed: true)
        return Set(try catalog.sessionNames()) == Set(names) ? try question(catalog) : nil
    }

    /// A collector that was killed may have written more than the catalog has: reads the sessions that it left unfinished. A
    /// running collector does so itself.
    private func takeInUnfinished(_ catalog: any CatalogStore) throws(ArchiveError) {
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
