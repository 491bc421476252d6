import Archive

/// How a collector begins with its archive's catalog.
enum CatalogStart: Sendable {
    /// None is kept.
    case notKept
    case kept(Catalog)
    /// It could not be opened, or not be brought up to the files.
    case lost(ArchiveError)
}

/// Keeps the archive's catalog in step with what the disk thread writes. Owned by that thread.
///
/// Rows are written where files begin and end and where ledgers and descriptions change, not for every fragment: what is in a growing file the
/// file itself says. They are durable before what they speak of is acknowledged (``flush()`` comes before events go out).
///
/// A catalog that could not be written is taken away, because it would not be true any more, and made again from the files
/// (``CatalogRemaking``), until that succeeds: after ``firstPause``, then less and less often.
struct CatalogKeeper {
    /// Before the first attempt to make it again; each one that fails doubles it.
    static let firstPause = Duration.seconds(2)
    /// Reading 100,000 files every ten minutes is work that nobody notices.
    static let longestPause = Duration.seconds(600)

    private enum State {
        case notKept
        case kept(Catalog)
        /// - Parameters:
        ///   - pause: before the next attempt.
        ///   - due: when that is; nil: the pause has not begun.
        case lost(pause: Duration, due: ContinuousClock.Instant?)
        /// - Parameters:
        ///   - pause: the one before this attempt.
        ///   - changed: sessions of which something has changed since it began: read once more at its end.
        case remaking(CatalogRemaking, pause: Duration, changed: Set<String>)
    }

    private let layout: ArchiveLayout
    private let wake: @Sendable () -> Void
    private var state: State
    private var changes: [CatalogChange] = []
    /// Why what has changed could not be read, or why there is no catalog.
    private var failure: ArchiveError?

    /// - Parameter wake: called on another thread when ``mend(now:)`` has something to do before its time.
    init(_ start: CatalogStart, _ layout: ArchiveLayout, wake: @escaping @Sendable () -> Void) {
        self.layout = layout
        self.wake = wake
        switch start {
        case .notKept: state = .notKept
        case .kept(let catalog): state = .kept(catalog)
        case .lost(let error):
            state = .lost(pause: Self.firstPause, due: nil)
            failure = error
        }
    }

    // MARK: What has changed

    /// A session's description has been written.
    mutating func described(_ path: String) {
        let parts = path.split(separator: "/")
        guard parts.count > 1 else { return }
        let session = String(parts[parts.count - 2])
        guard isKept(orChanges: session) else { return }
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
        guard let session = ArchiveLayout.session(ofLedger: path), isKept(orChanges: session)
        else { return }
        for entry in Ledger.parse(lines).entries {
            if let event = CatalogEvent(entry, session: session, source: source) {
                changes.append(.event(event))
            }
        }
    }

    /// A file has begun, or ended.
    mutating func changed(_ path: String, _ id: SegmentID, zero: UTCTime) {
        guard isKept(orChanges: id.session) else { return }
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
        guard isKept(orChanges: id.session), case .kept(let catalog) = state else { return }
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
        guard isKept(orChanges: session) else { return }
        let file = SegmentRemoval.segmentName(path)
        changes.append(.segmentRemoved(session: session, source: source, file: file))
    }

    mutating func removed(session: String) {
        if isKept(orChanges: session) { changes.append(.sessionRemoved(session)) }
    }

    /// Whether changes are written as they happen. One that is being made again hears of them at its end.
    private mutating func isKept(orChanges session: String) -> Bool {
        switch state {
        case .notKept, .lost: return false
        case .kept: return true
        case .remaking(let remaking, let pause, var changed):
            changed.insert(session)
            state = .remaking(remaking, pause: pause, changed: changed)
            return false
        }
    }

    /// Writes what has changed.
    /// - Returns: why it could not. The catalog is taken away then; recording goes on without it.
    mutating func flush() -> ArchiveError? {
        guard !changes.isEmpty || failure != nil else { return nil }
        defer {
            changes.removeAll(keepingCapacity: true)
            failure = nil
        }
        guard case .kept(let catalog) = state else { return failure }
        do throws(ArchiveError) {
            if let failure { throw failure }
            try catalog.apply(changes)
            return nil
        } catch {
            return lose(error, pause: Self.firstPause)
        }
    }

    private mutating func lose(_ error: ArchiveError, pause: Duration) -> ArchiveError {
        state = .lost(pause: pause, due: nil)
        do throws(ArchiveError) {
            try Catalog.remove(layout)
            return error
        } catch let other {
            return other
        }
    }

    // MARK: Making it again

    /// When ``mend(now:)`` is to be called again; nil: not before somebody calls.
    var due: ContinuousClock.Instant? {
        if case .lost(_, let due) = state { due } else { nil }
    }

    /// The attempt that is going on.
    var remaking: CatalogRemaking? {
        if case .remaking(let remaking, _, _) = state { remaking } else { nil }
    }

    /// Makes a lost catalog again, step by step.
    mutating func mend(now: ContinuousClock.Instant) -> DiskEvent? {
        switch state {
        case .notKept, .kept: return nil
        case .lost(let pause, nil):
            state = .lost(pause: pause, due: now + pause)
        case .lost(let pause, let due?):
            guard now >= due else { return nil }
            state = .remaking(CatalogRemaking(layout, wake: wake), pause: pause, changed: [])
        case .remaking(let remaking, let pause, let changed):
            guard let result = remaking.result else { return nil }
            let next = min(pause * 2, Self.longestPause)
            switch result {
            case .made(let catalog, var problems):
                do throws(ArchiveError) {
                    problems += try CatalogIndexing.update(catalog, changed.sorted(), layout)
                    state = .kept(catalog)
                    return .catalogMade(problems: problems)
                } catch {
                    return .catalogLost(lose(error, pause: next))
                }
            case .failed(let error):
                return .catalogLost(lose(error, pause: next))
            }
        }
        return nil
    }

    /// Lets go of a catalog that is not whole: nobody tells it any more what changes.
    /// - Returns: why that could not be done.
    mutating func end() -> ArchiveError? {
        guard case .remaking(let remaking, let pause, _) = state else { return nil }
        remaking.cancel()
        state = .lost(pause: pause, due: nil)
        do throws(ArchiveError) {
            try Catalog.remove(layout)
            return nil
        } catch {
            return error
        }
    }
}
