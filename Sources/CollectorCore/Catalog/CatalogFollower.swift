import Archive
import Catalog

/// A change in the state of a collector's catalog.
enum CatalogReport: Sendable {
    /// It could not be opened, read or written: it is deleted, and rebuilt from the files.
    case lost(ArchiveError)
    /// It matches the files, except for `problems`, one line each.
    /// - sessions: number of sessions that were missing or out of date.
    case made(sessions: Int, problems: [String])
    /// Sessions that cannot be read are not up to date in it; they are read again later. One line each.
    case incomplete([String])
    /// Those sessions could be read.
    case complete
    /// It was damaged and is being rebuilt, as the line says.
    case mended(String)
    /// Another program keeps it locked, or its server is unavailable; changes are queued.
    case locked(ArchiveError)
    /// The queued changes are written.
    case unlocked
}

/// Keeps an archive's catalog in step with the events of the spine. A value: it owns no thread and no clock.
///
/// No other part of the collector waits for it. It lags behind the files by the queued events; what the queue has lost
/// is read from the files. If another program keeps the catalog locked, or its server is unavailable, writing is
/// retried. A catalog that cannot be written for another reason would be out of date: it is deleted and rebuilt from
/// the files. Rebuilding is retried after ``firstPause``, then at growing intervals.
struct CatalogFollower {
    /// Pause before the first rebuild; each failed attempt doubles it.
    static let firstPause = Duration.seconds(2)
    /// Maximum pause: reading 100,000 files every ten minutes is a negligible load.
    static let longestPause = Duration.seconds(600)
    /// Maximum pause between connection attempts to a server that was unavailable at the start: no files have to be
    /// read.
    static let longestServerPause = Duration.seconds(30)
    /// Interval of retries for a locked catalog.
    static let lockPause = Duration.seconds(1)
    /// Changes per transaction: more would block readers of the catalog.
    private static let changesTogether = 1_024

    private enum State {
        /// There is no catalog: it is opened or created when due.
        /// - Parameter isBelieved: whether an existing catalog may be up to date, as at the start.
        case away(isBelieved: Bool, pause: Duration, due: ContinuousClock.Instant?)
        case kept(any CatalogStore)
    }

    private let place: any CatalogLocation
    private let layout: ArchiveLayout
    private let isCancelled: @Sendable () -> Bool
    private var state = State.away(isBelieved: true, pause: firstPause, due: nil)
    /// Events that are not in it yet.
    private var changes: [CatalogChange] = []
    /// Sessions with lost events, to be read again.
    private var stale = SpineListener.Lost.nothing
    /// The next attempt to write a locked catalog.
    private var unlockDue: ContinuousClock.Instant?
    /// Whether an unavailable server has been reported.
    private var saidAway = false
    /// Problems found when sessions were last read, and the time of the next attempt.
    private var flaws: (lines: [String], pause: Duration, due: ContinuousClock.Instant)?

    /// - Parameter isCancelled: called while files are read: whether to stop.
    init(
        _ place: any CatalogLocation, _ layout: ArchiveLayout,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.place = place
        self.layout = layout
        self.isCancelled = isCancelled
    }

    /// Whether it has processed all events.
    var isInStep: Bool {
        guard case .kept = state else { return false }
        return changes.isEmpty && stale == .nothing
    }

    /// Whether it accepts more events: otherwise they stay in the bounded queue.
    var isReady: Bool { unlockDue == nil }

    /// The next time at which to call ``follow(_:now:)`` without an event; nil: only after an event.
    var due: ContinuousClock.Instant? {
        switch state {
        case .away(_, _, let due): due
        case .kept: unlockDue ?? flaws?.due
        }
    }

    /// Processes events.
    mutating func follow(
        _ heard: SpineListener.Batch, now: ContinuousClock.Instant
    ) -> [CatalogReport] {
        var reports: [CatalogReport] = []
        if case .away(let isBelieved, let pause, let due) = state {
            guard now >= due ?? now else {
                return []
            }
            open(isBelieved: isBelieved, pause: pause, now: now, &reports)
        }
        guard case .kept(let catalog) = state else { return reports }
        for event in heard.events { note(event) }
        stale.formUnion(heard.lost)
        do throws(ArchiveError) {
            if let unlockDue, now < unlockDue { return reports }
            try write(to: catalog)
            try readStale(into: catalog, now: now, &reports)
            if unlockDue != nil { reports.append(.unlocked) }
            unlockDue = nil
        } catch {
            if error.isForLock {
                if unlockDue == nil { reports.append(.locked(error)) }
                unlockDue = now + Self.lockPause
            } else {
                lose(error, pause: Self.firstPause, now: now, &reports)
            }
        }
        return reports
    }

    /// Processes the end of events.
    /// - Returns: errors; an incomplete catalog is deleted.
    mutating func end() -> [CatalogReport] {
        switch state {
        case .away(isBelieved: true, _, _):
            // The next collector to open it detects what it lacks.
            return []
        case .away(isBelieved: false, _, _): break
        case .kept(let catalog):
            do throws(ArchiveError) {
                var reports: [CatalogReport] = []
                flaws = nil
                try write(to: catalog)
                try readStale(into: catalog, now: .now, &reports)
                if stale != .everything { return reports }
                // Otherwise, its outdated sessions would not be detected.
            } catch {
                // A catalog on a server is not deleted: the next collector detects queued changes by file names, or because
                // the session is unfinished there. It would miss edits of finished sessions, hence the second condition.
                if error.isForServer, stale == .nothing { return [] }
            }
        }
        do throws(ArchiveError) {
            try removeCatalog()
            return []
        } catch {
            return [.lost(error)]
        }
    }

    // MARK: Rebuilding

    private mutating func open(
        isBelieved: Bool, pause: Duration, now: ContinuousClock.Instant,
        _ reports: inout [CatalogReport]
    ) {
        guard layout.disk.isAttached() else {
            state = .away(
                isBelieved: isBelieved, pause: min(pause * 2, Self.longestPause), due: now + pause)
            return
        }
        do throws(ArchiveError) {
            if !isBelieved { try removeCatalog() }
            let (catalog, complaint) = try place.open()
            if let complaint { reports.append(.mended(complaint)) }
            let summary = try CatalogIndexing.update(
                catalog, layout, everything: !isBelieved, isCancelled: isCancelled)
            // The scan was interrupted.
            guard !isCancelled() else { return }
            // Events since then are already in the files; applying them again is harmless.
            changes = []
            stale = .nothing
            state = .kept(catalog)
            saidAway = false
            reports.append(.made(sessions: summary.changed.count, problems: summary.problems))
        } catch {
            if error.isForServer {
                if !saidAway { reports.append(.locked(error)) }
                saidAway = true
                state = .away(
                    isBelieved: isBelieved, pause: min(pause * 2, Self.longestServerPause),
                    due: now + pause)
                return
            }
            let isLocked = isBelieved && error.isForLock
            reports.append(isLocked ? .locked(error) : .lost(error))
            state = .away(
                isBelieved: isLocked, pause: min(pause * 2, Self.longestPause), due: now + pause)
        }
    }

    /// Deletes the archive's catalog. A catalog at the path of a detached archive is not the archive's.
    private func removeCatalog() throws(ArchiveError) {
        if layout.disk.isAttached() { try place.remove() }
    }

    private mutating func lose(
        _ error: ArchiveError, pause: Duration, now: ContinuousClock.Instant,
        _ reports: inout [CatalogReport]
    ) {
        changes = []
        stale = .nothing
        unlockDue = nil
        flaws = nil
        state = .away(isBelieved: false, pause: min(pause * 2, Self.longestPause), due: now + pause)
        reports.append(.lost(error))
        do throws(ArchiveError) {
            try removeCatalog()
        } catch let other {
            reports.append(.lost(other))
        }
    }

    // MARK: Updating

    private mutating func note(_ event: RecordingEvent) {
        switch event {
        case .sessionDescribed(let manifest), .sessionEnded(let manifest):
            do throws(ArchiveError) {
                changes.append(
                    .session(
                        try CatalogSession(manifest, named: manifest.session, in: layout),
                        manifest.sources.map(CatalogSource.init)))
            } catch {
                stale.add(manifest.session)
            }
        case .sessionRemoved(let session):
            changes.append(.sessionRemoved(session))
        case .sessionChanged(let session):
            stale.add(session)
        case .sourceMended(let source):
            stale.add(source.session)
        case .segmentBegan(let segment, _, let zero), .segmentFinished(let segment, _, let zero, _):
            changes.append(
                .segment(
                    CatalogSegment(segment, in: layout, zeroUTCNanoseconds: zero.nanoseconds)))
        case .segmentRemoved(let segment, _):
            changes.append(
                .segmentRemoved(
                    session: segment.session, source: segment.source, file: segment.fileName))
        case .noted(let source, let entry, let offset):
            if let event = CatalogEvent(entry, at: offset, of: source) {
                changes.append(.event(event))
            }
        case .sourceBegan, .sourceEnded, .fragmentAppended, .durable:
            break
        case .segmentStored, .segmentMoved:
            // The row stays unchanged: the proof agrees with the file.
            break
        }
    }

    /// Reads sessions with lost events again, after the remaining events were written: the files are newer.
    private mutating func readStale(
        into catalog: any CatalogStore, now: ContinuousClock.Instant,
        _ reports: inout [CatalogReport]
    ) throws(ArchiveError) {
        guard stale != .nothing, now >= flaws?.due ?? now else { return }
        let problems: [String]
        switch stale {
        case .nothing: problems = []
        case .sessions(let sessions):
            problems = try CatalogIndexing.update(catalog, sessions.sorted(), layout)
        case .everything:
            problems = try CatalogIndexing.update(
                catalog, layout, everything: true, isCancelled: isCancelled
            ).problems
        }
        // The scan was interrupted.
        if stale == .everything, isCancelled() { return }
        if problems.isEmpty {
            stale = .nothing
            if flaws != nil { reports.append(.complete) }
            flaws = nil
        } else {
            if problems != flaws?.lines { reports.append(.incomplete(problems)) }
            let pause = flaws.map { min($0.pause * 2, Self.longestPause) } ?? Self.firstPause
            flaws = (problems, pause, now + pause)
        }
    }

    private mutating func write(to catalog: any CatalogStore) throws(ArchiveError) {
        while !changes.isEmpty {
            let part = Array(changes.prefix(Self.changesTogether))
            try catalog.apply(part)
            changes.removeFirst(part.count)
        }
    }
}
