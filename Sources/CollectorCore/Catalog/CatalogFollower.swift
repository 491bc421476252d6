import Archive

/// What has become of a collector's catalog.
enum CatalogReport: Sendable {
    /// It could not be opened, read or written: it is taken away, and made again from the files.
    case lost(ArchiveError)
    /// It says what the files say, all but what `problems` say, in a line each.
    /// - sessions: of which something was not in it as it is.
    case made(sessions: Int, problems: [String])
    /// Sessions that cannot be read are not in it as they are; they are read again. One line each.
    case incomplete([String])
    /// They could be read.
    case complete
    /// It was damaged and is made again, as the line says.
    case mended(String)
    /// Another program keeps it locked; what has changed waits.
    case locked(ArchiveError)
    /// What has changed is in it again.
    case unlocked
}

/// Keeps an archive's catalog in step with what the spine says. A value: it owns no thread and no clock.
///
/// Nothing waits for it. It is behind the files by what has not been taken in yet; what it has missed it reads from them. A catalog that
/// another program keeps locked is tried again; any other that cannot be written is taken away, because it would not be true any more, and
/// made again from the files until that succeeds: after ``firstPause``, then less and less often.
struct CatalogFollower {
    /// Before the first attempt to make it again; each one that fails doubles it.
    static let firstPause = Duration.seconds(2)
    /// Reading 100,000 files every ten minutes is work that nobody notices.
    static let longestPause = Duration.seconds(600)
    /// How often a locked one is tried.
    static let lockPause = Duration.seconds(1)
    /// Changes that are written together: more of them would keep readers of the catalog waiting.
    private static let changesTogether = 1_024

    private enum State {
        /// There is none: it is to be opened or made when that is due.
        /// - Parameter isBelieved: whether what is there may be true, as at the start.
        case away(isBelieved: Bool, pause: Duration, due: ContinuousClock.Instant?)
        case kept(any CatalogStore)
    }

    private let place: any CatalogPlace
    private let layout: ArchiveLayout
    private let isCancelled: @Sendable () -> Bool
    private var state = State.away(isBelieved: true, pause: firstPause, due: nil)
    /// What has happened and is not in it.
    private var changes: [CatalogChange] = []
    /// Sessions of which something was missed: to be read again.
    private var stale = SpineListener.Lost.nothing
    /// When a locked one is to be tried again.
    private var unlockDue: ContinuousClock.Instant?
    /// What was wrong with sessions when they were read last, and when they are to be read again.
    private var flaws: (lines: [String], pause: Duration, due: ContinuousClock.Instant)?

    /// - Parameter isCancelled: asked while files are read: whether to leave it at that.
    init(
        _ place: any CatalogPlace, _ layout: ArchiveLayout,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.place = place
        self.layout = layout
        self.isCancelled = isCancelled
    }

    /// Whether it has taken in all that it was told.
    var isInStep: Bool {
        guard case .kept = state else { return false }
        return changes.isEmpty && stale == .nothing
    }

    /// Whether more may be told: what cannot be written yet waits where it is bounded.
    var isReady: Bool { unlockDue == nil }

    /// When ``follow(_:now:)`` is to be called, though nothing has happened; nil: not before something has.
    var due: ContinuousClock.Instant? {
        switch state {
        case .away(_, _, let due): due
        case .kept: unlockDue ?? flaws?.due
        }
    }

    /// Takes in what has happened.
    mutating func follow(
        _ heard: SpineListener.Heard, now: ContinuousClock.Instant
    ) -> [CatalogReport] {
        var reports: [CatalogReport] = []
        if case .away(let isBelieved, let pause, let due) = state {
            guard now >= due ?? now else {
                // The files will be read.
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

    /// Nothing more comes.
    /// - Returns: what could not be done: a catalog that does not say all is taken away.
    mutating func end() -> [CatalogReport] {
        switch state {
        case .away(isBelieved: true, _, _):
            // What it lacks is seen by whoever opens it next.
            return []
        case .away(isBelieved: false, _, _): break
        case .kept(let catalog):
            do throws(ArchiveError) {
                var reports: [CatalogReport] = []
                flaws = nil
                try write(to: catalog)
                try readStale(into: catalog, now: .now, &reports)
                if stale != .everything { return reports }
                // Nobody would ever see which of its sessions are not as they are.
            } catch {
                // Then it goes.
            }
        }
        do throws(ArchiveError) {
            try place.remove()
            return []
        } catch {
            return [.lost(error)]
        }
    }

    // MARK: Making it

    private mutating func open(
        isBelieved: Bool, pause: Duration, now: ContinuousClock.Instant,
        _ reports: inout [CatalogReport]
    ) {
        do throws(ArchiveError) {
            if !isBelieved { try place.remove() }
            let (catalog, complaint) = try place.open()
            if let complaint { reports.append(.mended(complaint)) }
            let summary = try CatalogIndexing.update(
                catalog, layout, everything: !isBelieved, isCancelled: isCancelled)
            // Not all of it was read then.
            guard !isCancelled() else { return }
            // What is said of this time is in the files already, and changes nothing when it is taken in.
            changes = []
            stale = .nothing
            state = .kept(catalog)
            reports.append(.made(sessions: summary.changed.count, problems: summary.problems))
        } catch {
            let isLocked = isBelieved && error.isForLock
            reports.append(isLocked ? .locked(error) : .lost(error))
            state = .away(
                isBelieved: isLocked, pause: min(pause * 2, Self.longestPause), due: now + pause)
        }
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
            try place.remove()
        } catch let other {
            reports.append(.lost(other))
        }
    }

    // MARK: What has changed

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
        }
    }

    /// Reads sessions again of which something was missed. After what was said of them was written: what is read now is newer than that.
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
        // Not all of it was read then.
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
