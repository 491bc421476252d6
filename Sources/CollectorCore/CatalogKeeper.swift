import Archive

/// Keeps the archive's catalog in step with what the disk thread writes. Owned by that thread.
///
/// Rows are written where files begin and end and where ledgers and descriptions change, not for every fragment: what is in a growing file the
/// file itself says. They are durable before what they speak of is acknowledged (``flush()`` comes before events go out).
struct CatalogKeeper {
    private let layout: ArchiveLayout
    private var catalog: Catalog?
    private var changes: [CatalogChange] = []
    /// Why what has changed could not be read.
    private var failure: ArchiveError?

    /// - Parameter catalog: nil: none is kept.
    init(_ catalog: Catalog?, _ layout: ArchiveLayout) {
        self.catalog = catalog
        self.layout = layout
    }

    /// A session's description has been written.
    mutating func described(_ path: String) {
        guard catalog != nil else { return }
        let parts = path.split(separator: "/")
        guard parts.count > 1 else { return }
        let session = String(parts[parts.count - 2])
        do throws(ArchiveError) {
            let manifest = try SessionManifest.read(path)
            changes.append(
                .session(
                    try CatalogSession(manifest, named: session, in: layout),
                    manifest.sources.map(CatalogSource.init)))
        } catch {
            // Recording does not depend on it.
            failure = error
        }
    }

    mutating func wrote(_ lines: [UInt8], toLedger path: String, of source: String) {
        guard catalog != nil, let session = ArchiveLayout.session(ofLedger: path) else { return }
        for entry in Ledger.parse(lines).entries {
            if let event = CatalogEvent(entry, session: session, source: source) {
                changes.append(.event(event))
            }
        }
    }

    /// A file has begun, or ended.
    mutating func changed(_ path: String, _ id: SegmentID, zero: UTCTime) {
        guard catalog != nil else { return }
        changes.append(
            .segment(
                CatalogSegment(
                    session: id.session, source: id.source, path: path,
                    zeroUTCNanoseconds: zero.nanoseconds)))
    }

    /// A source's files have been put in order after one of them failed: recovery has finished or removed those that had not ended,
    /// and may have cut the ledger or added to it.
    /// - Parameter paths: files that were open.
    mutating func rescued(_ id: SourceID, _ paths: [String], zero: UTCTime) {
        guard let catalog else { return }
        do throws(ArchiveError) {
            let unfinished = try catalog.growingSegments(of: id.session)
                .filter { $0.source == id.name }
                .map { "\(layout.source(id.session, id.name))/\($0.file)" }
            for path in Set(paths + unfinished) {
                guard FileSystem.exists(path) else {
                    removed(path, of: id.name, in: id.session)
                    continue
                }
                changes.append(
                    .segment(
                        CatalogSegment(
                            session: id.session, source: id.name, path: path,
                            zeroUTCNanoseconds: zero.nanoseconds)))
            }
            let lines = try Ledger.read(layout.ledger(id.session, id.name)).entries
            let events = lines.compactMap {
                CatalogEvent($0, session: id.session, source: id.name)
            }
            changes.append(.events(session: id.session, source: id.name, events))
        } catch {
            failure = error
        }
    }

    mutating func removed(_ path: String, of source: String, in session: String) {
        guard catalog != nil else { return }
        let file = SegmentRemoval.segmentName(path)
        changes.append(.segmentRemoved(session: session, source: source, file: file))
    }

    mutating func removed(session: String) {
        if catalog != nil { changes.append(.sessionRemoved(session)) }
    }

    /// Writes what has changed.
    /// - Returns: why it could not. The catalog is taken away then, because it would not be true any more; recording goes on without it.
    mutating func flush() -> ArchiveError? {
        guard let catalog, !changes.isEmpty || failure != nil else { return nil }
        defer { changes.removeAll(keepingCapacity: true) }
        do throws(ArchiveError) {
            if let failure { throw failure }
            try catalog.apply(changes)
            return nil
        } catch {
            self.catalog = nil
            do throws(ArchiveError) {
                try Catalog.remove(layout)
            } catch let other {
                return other
            }
            return error
        }
    }
}
