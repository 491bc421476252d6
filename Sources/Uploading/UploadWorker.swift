package import Archive
import Media
import ObjectStore
import Synchronization

/// An uploader's notifications.
package struct UploadHooks: Sendable {
    package enum Level: Sendable {
        case info
        case warning
    }

    /// A line for the log.
    package var log: @Sendable (Level, String) -> Void
    /// A segment is in the store, was verified there, and its proof is on the local disk.
    package var stored: @Sendable (SegmentKey, SegmentProof) -> Void
    /// The local copy of a segment can be removed: the store has just confirmed its object.
    package var evict: @Sendable (SegmentKey) -> Void
    /// A segment was removed from the store: its local documents can be removed.
    package var forget: @Sendable (ExpiredSegment) -> Void
    /// Receives the records that are in the store; nil: not tracked.
    package var records: (any StoredRecordsObserver)?

    package init(
        log: @escaping @Sendable (Level, String) -> Void,
        stored: @escaping @Sendable (SegmentKey, SegmentProof) -> Void = { _, _ in },
        evict: @escaping @Sendable (SegmentKey) -> Void = { _ in },
        forget: @escaping @Sendable (ExpiredSegment) -> Void = { _ in }
    ) {
        self.log = log
        self.stored = stored
        self.evict = evict
        self.forget = forget
    }
}

/// Shared state of workers: the queue, and pending surveys.
final class UploadBoard: Sendable {
    struct State: Sendable {
        var queue: UploadQueue
        /// Sessions to be surveyed; nil in it: all.
        var surveys: Set<String?> = []
        /// Number of workers in a survey.
        var surveying = 0
        /// The last survey was incomplete.
        var isCutShort = false
    }

    let state: Mutex<State>

    init(_ queue: UploadQueue) { state = Mutex(State(queue: queue)) }
}

/// A worker that takes work from ``UploadBoard``, performs it, and reports the outcome. It owns no thread: tests call it
/// step by step.
struct UploadWorker {
    enum Turn: Hashable, Sendable {
        /// Work was done; there may be more.
        case worked
        /// No work until then (nanoseconds of the monotonic clock); nil: until some is added.
        case idle(until: Int64?)
        case stopped
    }

    /// Maximum number of uploads that are continued after an outage.
    private static let maximumInterrupted = 8

    private let place: UploadTarget
    private let desk: UploadBoard
    private let figures: UploadFigures
    private let hooks: UploadHooks
    private var interrupted: [SegmentKey: SegmentUpload] = [:]

    init(
        _ place: UploadTarget, desk: UploadBoard, figures: UploadFigures, hooks: UploadHooks
    ) {
        self.place = place
        self.desk = desk
        self.figures = figures
        self.hooks = hooks
    }

    /// Does one work item.
    mutating func turn() -> Turn {
        if let survey = takeSurvey() {
            look(survey)
            return .worked
        }
        let now = place.surroundings.now()
        let (work, due) = desk.state.withLock { state in
            (state.queue.take(now: now), state.queue.due(now: now))
        }
        guard let work else { return .idle(until: due) }
        let answers = figures.answers
        do throws(UploadError) {
            try perform(work)
            // Unchanged documents need no request, so their success does not show that the store is available.
            let hasAnswer = figures.answers > answers
            settle { $0.finished(work, hasAnswer: hasAnswer, now: $1) }
        } catch {
            return settle(work, error)
        }
        return .worked
    }

    // MARK: Surveys

    private func takeSurvey() -> String?? {
        desk.state.withLock { state in
            if state.surveys.isEmpty, state.isCutShort, state.queue.hasHalfItsRoom {
                state.surveys.insert(nil)
            }
            guard let next = state.surveys.first else { return nil }
            state.surveys.remove(next)
            state.surveying += 1
            return .some(next)
        }
    }

    private func look(_ session: String?) {
        let survey = UploadSurvey(
            session, of: place.layout, store: place.bucket.name,
            limit: UploadQueue.maximumSegments, records: hooks.records)
        var removed: [String] = []
        do throws(ArchiveError) {
            removed = try SessionRemoval.waiting(in: place.layout)
            for path in survey.obsoleteNotes {
                try FileSystem.remove(path, on: place.layout.disk)
            }
        } catch {
            hooks.log(.warning, "\(error)")
        }
        for problem in survey.problems { hooks.log(.warning, problem) }
        let now = place.surroundings.now()
        desk.state.withLock { state in
            state.surveying -= 1
            if session == nil { state.isCutShort = survey.isCutShort }
            for session in removed {
                state.queue.sessionRemoved(session)
                state.queue.add(.forgetSession(session), now: now)
            }
            for session in survey.sessions {
                state.queue.add(.documents(session: session), now: now)
            }
            for found in survey.segments {
                if !state.queue.hasRoom { state.isCutShort = true }
                state.queue.add(
                    .segment(found.segment), sizeBytes: found.stamp.sizeBytes,
                    endedNanoseconds: found.stamp.modifiedNanoseconds, now: now)
            }
        }
    }

    // MARK: Work

    private mutating func perform(_ work: UploadWork) throws(UploadError) {
        switch work {
        case .documents(let session):
            let isKnown = desk.state.withLock { $0.queue.isKnown(session) }
            try SessionDocuments(session, to: place).run(isKnown: isKnown) { source, sizeBytes in
                hooks.records?.stored(ledger: source, sizeBytes: sizeBytes)
            }
        case .segment(let segment):
            let proof = try upload(segment)
            figures.addSegment()
            hooks.records?.proven(proof, isNew: true)
            hooks.stored(proof.key ?? segment, proof)
        case .evict(let segment):
            if let flaw = try StoredRemoval(in: place).recheck(segment) {
                try doubt(segment, flaw)
                return
            }
            try place.pass(.evict)
            figures.addEviction()
            hooks.evict(segment)
        case .forget(let expired):
            if let segment = expired.segment.key {
                guard place.surroundings.mayRemove() else {
                    try makeRoom(for: segment)
                    throw .nothing
                }
                try StoredRemoval(in: place).delete(segment)
            }
            try place.pass(.forget)
            hooks.forget(expired)
        case .forgetSession(let session):
            try StoredRemoval(in: place).deleteSession(session)
        }
    }

    /// Removes the local copy of an expired segment while another program may remove from the store, if the store is proven to
    /// have the segment. The next survey of the archive finds the segment again.
    private func makeRoom(for segment: SegmentKey) throws(UploadError) {
        guard FileStamp(place.layout.segment(segment)) != nil,
            try StoredRemoval(in: place).recheck(segment) == nil
        else { return }
        try place.pass(.evict)
        figures.addEviction()
        hooks.evict(segment)
    }

    private mutating func upload(_ segment: SegmentKey) throws(UploadError) -> SegmentProof {
        let upload: SegmentUpload
        let records = hooks.records
        if let begun = interrupted.removeValue(forKey: segment) {
            upload = begun
        } else {
            upload = try SegmentUpload(segment, to: place) { spool in
                records?.storedThrough(segment.source, spool) ?? 0
            }
        }
        do throws(UploadError) {
            return try upload.run()
        } catch {
            if error.kind?.isForStore == true, interrupted.count < Self.maximumInterrupted {
                interrupted[segment] = upload
            }
            throw error
        }
    }

    /// The proof does not hold any more: the segment is uploaded again, and stays on the disk until then.
    private func doubt(_ segment: SegmentKey, _ flaw: String) throws(UploadError) {
        let layout = place.layout
        guard let stamp = FileStamp(layout.segment(segment)) else { return }
        hooks.log(
            .warning, "\(layout.segment(segment)) stays on the disk: \(flaw); it is sent again")
        try place.disk { () throws(ArchiveError) in
            try FileSystem.remove(layout.path(of: segment, .proof), on: layout.disk)
        }
        let now = place.surroundings.now()
        desk.state.withLock { state in
            state.queue.add(
                .segment(segment), sizeBytes: stamp.sizeBytes,
                endedNanoseconds: stamp.modifiedNanoseconds, now: now)
        }
    }

    // MARK: Results

    private func settle(_ change: (inout UploadQueue, _ now: Int64) -> String?) {
        let now = place.surroundings.now()
        let line = desk.state.withLock { change(&$0.queue, now) }
        if let line { hooks.log(.info, line) }
    }

    private func settle(_ work: UploadWork, _ error: UploadError) -> Turn {
        let now = place.surroundings.now()
        var line: String?
        switch error {
        case .stopped:
            desk.state.withLock { $0.queue.stopped(work, now: now) }
            return .stopped
        case .notEntitled:
            desk.state.withLock { $0.queue.postponed(work, now: now) }
        case .nothing:
            desk.state.withLock { $0.queue.dropped(work, now: now) }
        case .changedMeanwhile:
            desk.state.withLock { $0.queue.repeated(work, now: now) }
        case .setAside(let message):
            figures.addFailure("refused")
            line = desk.state.withLock { $0.queue.setAside(work, message, now: now) }
        case .archive(let error):
            figures.addFailure("disk")
            line = desk.state.withLock { state in
                let message = "cannot upload: \(error)"
                // The same bytes would fail again.
                if case .malformed = error {
                    return state.queue.setAside(work, message, now: now)
                }
                return state.queue.failed(work, message, hasAnswer: false, now: now)
            }
        case .store(let error):
            figures.addFailure(error.kind.name)
            line = desk.state.withLock { state in
                if error.kind.isForStore { return state.queue.failed(work, error, now: now) }
                if error.kind == .refused {
                    return state.queue.setAside(work, error.message, now: now)
                }
                return state.queue.failed(work, error.message, hasAnswer: true, now: now)
            }
        }
        if let line { hooks.log(.warning, line) }
        return .worked
    }
}
