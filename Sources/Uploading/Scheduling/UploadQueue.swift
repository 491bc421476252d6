package import Archive
import Files
import Media
package import ObjectStore

/// A work item of an uploader.
package enum UploadWork: Hashable, Sendable {
    /// Upload a session's description, labels and ledgers.
    case documents(session: String)
    /// Upload a segment; revision 0 means the file's current one.
    case segment(SegmentKey)
    /// Remove a segment's local copy, if the store is proven to have it.
    case evict(SegmentKey)
    /// Remove a segment from the store and from the disk, because it has expired.
    case forget(ExpiredSegment)
    /// Remove a locally removed session from the store.
    case forgetSession(String)

    package var session: String {
        switch self {
        case .documents(let session), .forgetSession(let session): session
        case .segment(let segment), .evict(let segment): segment.session
        case .forget(let expired): expired.segment.owner.session
        }
    }

    /// The segment's path in the archive, unique among queued work.
    var place: String {
        switch self {
        case .documents(let session), .forgetSession(let session): session
        case .segment(let segment), .evict(let segment): segment.description
        case .forget(let expired):
            "\(expired.segment.owner)/\(Path.name(of: expired.segment.path))"
        }
    }

    fileprivate var isSegment: Bool {
        if case .segment = self { true } else { false }
    }

    /// Priority: work that frees space first, then work that others depend on.
    fileprivate var rank: Int {
        switch self {
        case .evict: 0
        case .forget, .forgetSession: 1
        case .documents: 2
        case .segment: 3
        }
    }
}

/// Scheduler of uploads and removals. A value without clock and store.
///
/// It queues a bounded number of segments, and is refilled by ``UploadSurvey``. Segments wait for their session's documents.
/// While the store is unavailable, only an occasional attempt is started.
package struct UploadQueue: Sendable {
    /// Maximum number of queued segments: a day of 28 sources at the default length.
    package static let maximumSegments = 4_096
    /// Delay of a session's documents, to combine their changes, nanoseconds.
    private static let gatherNanoseconds: Int64 = 2_000_000_000
    /// Pause before work that another program may do is checked again.
    private static let postponedNanoseconds: Int64 = 5_000_000_000
    /// Failures of one file before they are logged.
    private static let quietFailures = 3
    /// An outage that may pass by itself counts as lasting after this time: stores answer 503 for seconds, as a routine.
    static let briefOutageNanoseconds: Int64 = 60_000_000_000

    private struct Entry: Sendable {
        var due: Int64
        var order: UInt64
        var failures = 0
        var sizeBytes: Int64 = 0
        /// When the segment ended, nanoseconds since 1970 (UTC).
        var endedNanoseconds: Int64?
        /// The logged reason of a permanent failure; nil without one.
        var flaw: String?

        var isSetAside: Bool { flaw != nil }
        /// Whether another program may be doing this.
        var isPostponed = false
    }

    /// Queued work, with the number of its segments.
    private struct Waiting: Sendable {
        private(set) var entries: [UploadWork: Entry] = [:]
        private(set) var segments = 0

        subscript(work: UploadWork) -> Entry? {
            get { entries[work] }
            set {
                if work.isSegment {
                    segments += (newValue == nil ? 0 : 1) - (entries[work] == nil ? 0 : 1)
                }
                entries[work] = newValue
            }
        }
    }

    /// The store cannot be used.
    private struct Outage: Sendable {
        var kind: ObjectStoreError.Kind
        var message: String
        var failures: Int
        /// When it began.
        var since: Int64
        var due: Int64
        /// The attempt whose answer ends it. Answers to earlier requests do not: those were sent before it began.
        var attempt: UploadWork?
    }

    private var waiting = Waiting()
    private var running: [UploadWork: Entry] = [:]
    /// Added again while it ran.
    private var again: Set<UploadWork> = []
    /// Sessions whose documents are in the store.
    private var known: Set<String> = []
    private var outage: Outage?
    private var latest: UInt64 = 0
    private let random: @Sendable () -> UInt64
    private let endsWithWork: Bool

    /// - Parameter endsWithWork: as in ``UploadSettings/endsWithWork``.
    package init(random: @escaping @Sendable () -> UInt64, endsWithWork: Bool = false) {
        self.random = random
        self.endsWithWork = endsWithWork
    }

    /// Whether more segments may be added.
    package var hasRoom: Bool { segmentCount < Self.maximumSegments }

    /// Whether the queue has space for the result of a survey.
    var hasHalfItsRoom: Bool { segmentCount <= Self.maximumSegments / 2 }

    private var segmentCount: Int { waiting.segments }

    /// Nothing is queued or running, apart from work that was set aside.
    package var isIdle: Bool { running.isEmpty && waiting.entries.values.allSatisfy(\.isSetAside) }

    /// Whether nothing runs, and all queued work is set aside, has failed by itself several times, or waits for such documents.
    package var isExhausted: Bool {
        running.isEmpty
            && waiting.entries.allSatisfy { work, entry in
                if !isReady(work), let documents = waiting[.documents(session: work.session)] {
                    return isExhausted(documents)
                }
                return isExhausted(entry)
            }
    }

    private func isExhausted(_ entry: Entry) -> Bool {
        entry.isSetAside || entry.isPostponed || entry.failures >= Self.quietFailures
    }

    /// Whether nothing of the session can be sent: its documents are set aside.
    private func isRefused(_ session: String) -> Bool {
        waiting[.documents(session: session)]?.isSetAside ?? false
    }

    /// Whether the archive of the store's session is known.
    func isKnown(_ session: String) -> Bool { known.contains(session) }

    // MARK: Adding

    /// Adds work; work that waits already stays as it is.
    /// - Parameter sizeBytes, endedNanoseconds: of a segment's file.
    package mutating func add(
        _ work: UploadWork, sizeBytes: Int64 = 0, endedNanoseconds: Int64? = nil, now: Int64
    ) {
        if running[work] != nil {
            again.insert(work)
            return
        }
        if var entry = waiting[work] {
            guard entry.endedNanoseconds != endedNanoseconds || entry.sizeBytes != sizeBytes else {
                return
            }
            // Its file has changed, so the error may be resolved.
            entry.endedNanoseconds = endedNanoseconds
            entry.sizeBytes = sizeBytes
            entry.due = now
            waiting[work] = entry
            return
        }
        if case .segment = work {
            guard hasRoom, !isRefused(work.session) else { return }
            if !known.contains(work.session) {
                add(.documents(session: work.session), now: now)
                waiting[.documents(session: work.session)]?.due = now
            }
        }
        latest += 1
        var due = now
        if case .documents(let session) = work, known.contains(session) {
            due += Self.gatherNanoseconds
        }
        waiting[work] = Entry(
            due: due, order: latest, sizeBytes: sizeBytes, endedNanoseconds: endedNanoseconds)
    }

    // MARK: Taking

    /// The next work to do; nil: nothing now.
    package mutating func take(now: Int64) -> UploadWork? {
        if let outage, outage.attempt != nil || now < outage.due { return nil }
        let busy = Set(running.keys.map(\.place))
        let sessions = Set(running.keys.map(\.session))
        let next = waiting.entries.filter { work, entry in
            guard entry.due <= now, !busy.contains(work.place), isReady(work) else { return false }
            // Running uploads would add objects after the removal.
            if case .forgetSession(let session) = work { return !sessions.contains(session) }
            return true
        }.min {
            ($0.key.rank, $0.value.endedNanoseconds ?? 0, $0.value.order)
                < ($1.key.rank, $1.value.endedNanoseconds ?? 0, $1.value.order)
        }
        guard let next else { return nil }
        waiting[next.key] = nil
        running[next.key] = next.value
        outage?.attempt = next.key
        return next.key
    }

    /// Segments wait for their session; evictions do not, because their segments are in the store.
    private func isReady(_ work: UploadWork) -> Bool {
        if case .segment = work { known.contains(work.session) } else { true }
    }

    /// The next time at which ``take(now:)`` may return work; nil: only after another event.
    package func due(now: Int64) -> Int64? {
        if let outage { return outage.attempt != nil || waiting.entries.isEmpty ? nil : outage.due }
        return waiting.entries.lazy.filter { isReady($0.key) }.map(\.value.due).min()
    }

    // MARK: Events

    /// Work is done, or there was nothing to do.
    /// - Parameter hasAnswer: whether the store has answered.
    /// - Returns: a line for the log, if the store can be used again.
    package mutating func finished(
        _ work: UploadWork, hasAnswer: Bool, now: Int64
    ) -> String? {
        let line = hasAnswer ? storeAnswered(work) : nil
        endAttempt(work)
        end(work, now: now)
        if case .documents(let session) = work { known.insert(session) }
        if case .forgetSession(let session) = work { known.remove(session) }
        return line
    }

    /// There was nothing to do, and no request.
    package mutating func dropped(_ work: UploadWork, now: Int64) {
        endAttempt(work)
        end(work, now: now)
        if case .documents(let session) = work { dropSegments(of: session) }
    }

    private mutating func dropSegments(of session: String) {
        for waiter in waiting.entries.keys where waiter.session == session {
            if case .segment = waiter { waiting[waiter] = nil }
        }
    }

    /// The work has to be restarted, because its file has changed.
    package mutating func repeated(_ work: UploadWork, now: Int64) {
        endAttempt(work)
        end(work, now: now)
        add(work, now: now)
    }

    /// The store cannot be used: the work waits, and so does everything else.
    /// - Returns: a log line, the first time.
    package mutating func failed(
        _ work: UploadWork, _ error: ObjectStoreError, now: Int64
    ) -> String? {
        precondition(error.kind.isForStore)
        let failures = (outage?.failures ?? 0) + 1
        let isNews = outage?.kind != error.kind
        outage = Outage(
            kind: error.kind, message: error.message, failures: failures,
            since: outage?.since ?? now,
            due: now
                + max(
                    Backoff.store.pause(after: failures, draw: random()),
                    error.retryAfterNanoseconds ?? 0),
            attempt: outage?.attempt == work ? nil : outage?.attempt)
        putBack(work) { $0.due = now }
        guard isNews else { return nil }
        guard endsWithWork else {
            return
                "\(error.message); uploads wait, and recordings stay on the disk until the store can be used"
        }
        // The command ends with the reason of a lasting outage.
        return hasLastingOutage(now: now) ? nil : "\(error.message); trying again for a minute"
    }

    /// Whether the store cannot be used, and waiting longer is not likely to change that.
    func hasLastingOutage(now: Int64) -> Bool {
        guard let outage else { return false }
        return !outage.kind.mayPass || now - outage.since >= Self.briefOutageNanoseconds
    }

    /// The work failed by itself: it is tried again later.
    /// - Parameter hasAnswer: whether the store has answered.
    /// - Returns: a log line, if one is due.
    package mutating func failed(
        _ work: UploadWork, _ message: String, hasAnswer: Bool, now: Int64
    ) -> String? {
        let line = hasAnswer ? storeAnswered(work) : nil
        endAttempt(work)
        var failures = 0
        let draw = random()
        putBack(work) { entry in
            entry.failures += 1
            failures = entry.failures
            entry.due = now + Backoff.file.pause(after: failures, draw: draw)
        }
        return failures == Self.quietFailures ? message : line
    }

    /// The same work would fail again: it is tried again in an hour, or when its file changes.
    /// - Returns: a line for the log, the first time.
    package mutating func setAside(_ work: UploadWork, _ message: String, now: Int64) -> String? {
        endAttempt(work)
        var isNews = false
        putBack(work) { entry in
            isNews = entry.flaw != message
            entry.flaw = message
            entry.due = now + Backoff.file.longest
        }
        // They would use queue space; the next survey finds them.
        if case .documents(let session) = work { dropSegments(of: session) }
        return isNews ? message : nil
    }

    /// The work was not finished because the program is stopping.
    package mutating func stopped(_ work: UploadWork, now: Int64) {
        endAttempt(work)
        putBack(work) { $0.due = now }
    }

    /// Postpones work that another program does now.
    package mutating func postponed(_ work: UploadWork, now: Int64) {
        endAttempt(work)
        putBack(work) {
            $0.due = now + Self.postponedNanoseconds
            $0.isPostponed = true
        }
    }

    /// The state of a session's documents is unknown again, because another session may use the name.
    package mutating func sessionRemoved(_ session: String) {
        known.remove(session)
        for work in waiting.entries.keys where work.session == session {
            if case .forgetSession = work { continue }
            waiting[work] = nil
        }
    }

    private mutating func putBack(_ work: UploadWork, _ change: (inout Entry) -> Void) {
        guard var entry = running.removeValue(forKey: work) else { return }
        again.remove(work)
        entry.isPostponed = false
        change(&entry)
        // The session was removed in the meantime.
        if work.isSegment, !known.contains(work.session) { return }
        waiting[work] = entry
    }

    private mutating func end(_ work: UploadWork, now: Int64) {
        running[work] = nil
        if again.remove(work) != nil { add(work, now: now) }
    }

    private mutating func endAttempt(_ work: UploadWork) {
        if outage?.attempt == work { outage?.attempt = nil }
    }

    private mutating func storeAnswered(_ work: UploadWork) -> String? {
        guard let outage, outage.attempt == work else { return nil }
        self.outage = nil
        return "the store can be used again: \(segmentCount) segments wait"
    }

    // MARK: Status

    /// - Parameter utcNanoseconds: the wall clock, nanoseconds since 1970.
    package func describe(_ status: inout UploadStatus, utcNanoseconds: Int64) {
        let segments = waiting.entries.merging(running) { first, _ in first }.filter(
            \.key.isSegment)
        status.waiting = UInt64(segments.count)
        status.waitingBytes = UInt64(segments.values.lazy.map { max(0, $0.sizeBytes) }.clampedSum)
        let oldest = segments.values.compactMap(\.endedNanoseconds).min()
        status.oldestSeconds = oldest.map { max(0, Double(utcNanoseconds - $0) / 1e9) } ?? 0
        status.setAside = UInt64(waiting.entries.values.count(where: \.isSetAside))
        status.trouble = outage?.message
    }
}
