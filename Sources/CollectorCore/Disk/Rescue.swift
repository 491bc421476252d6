import Archive
import Media

/// The recovery of a source after one of its files failed for any reason but lack of room: an I/O error ends the file, not the
/// recording.
///
/// The source's open files are cut to what is known to be durable, read, and turned into ordinary MP4s, exactly as after a crash.
/// Later records have not been acknowledged, so their agent still has them. Jobs queued in the meantime depend on lost data:
/// they are discarded until the receiving thread has been notified and states where to continue (``DiskJob/goOn(_:)``).
struct Rescue: Sendable {
    /// Maximum pause, in rounds. If every attempt fails, the pause doubles: 1, 2, 4, … seconds, up to twice a minute.
    static let longestPauseRounds = 32

    let error: ArchiveError
    /// The session's zero, to which file names are relative.
    let zero: UTCTime
    /// Retry rounds before the next attempt.
    var pauseRounds: Int
    /// Media of discarded jobs that has left memory. It is reported when the rescue is done, so that an agent does not
    /// send what would be discarded.
    var dropped = MediaAmount()
    /// The files are consistent, and the receiving thread has been notified.
    var isDone = false
    var hasComplained = false
    /// Failed attempts so far.
    var attempts = 0
    /// After this many failed rounds, a file is left unchanged, and its source continues without it.
    static let patientAttempts = 10
}

extension DiskWorker {
    /// Ends a source's files after a job of one of them has failed. Returns whether that is the right reaction: for
    /// lack of space and without the archive a job waits, and so does a job that no open file depends on.
    mutating func giveUp(_ job: DiskJob, _ error: ArchiveError) -> Bool {
        switch job {
        case .append(let id, _), .finish(let id):
            guard error != absence,
                !error.isForRoom || segments[id]?.writer.hasLostPages == true
            else { return false }
            fail(id.owner, error)
            _ = isInVain(job)
            return true
        case .reopen(let id, let segment):
            guard !error.isForRoom else { return false }
            fail(id.owner, error, zero: segment.sessionZero)
            return true
        case .beginSession, .beginSource, .describe, .note, .open, .goOn, .remove, .endSession:
            return false
        }
    }

    /// A source's file has failed.
    mutating func fail(_ id: SourceKey, _ error: ArchiveError, zero: UTCTime? = nil) {
        guard rescues[id] == nil,
            let zero = zero ?? segments.first(where: { $0.key.owner == id })?.value.zero
        else { return }
        let count = failures[id, default: 0]
        failures[id] = count + 1
        rescues[id] = Rescue(
            error: error, zero: zero,
            pauseRounds: min(Rescue.longestPauseRounds, 1 << min(count, 5)) - 1)
        events.append(.failed(id, error))
        if let backlog = stuck.removeValue(forKey: id.description) {
            for job in backlog.jobs { _ = isInVain(job) }
            events.append(.unstuck(path: backlog.path))
        }
    }

    /// Whether a job belongs to a source that is being rescued, and builds on lost data. Its memory is given back.
    mutating func isInVain(_ job: DiskJob) -> Bool {
        switch job {
        case .append(let id, let fragment):
            guard rescues[id.owner] != nil else { return false }
            drop(fragment.amount, of: id.owner)
            return true
        case .open(let id, _, _), .reopen(let id, _), .finish(let id):
            return rescues[id.owner] != nil
        case .note(let source, _, let records):
            // The records of such a line are sent again, and would be stored twice. Lines without records are kept, and so
            // are lines of a session that has ended: no record is sent again into it.
            return records != nil && !hasEnded(source.session) && rescues[source] != nil
        case .beginSession, .beginSource, .describe, .goOn, .remove, .endSession:
            return false
        }
    }

    private mutating func drop(_ amount: MediaAmount, of id: SourceKey) {
        if rescues[id]?.isDone == true {
            events.append(.written(source: id.source, amount))
        } else {
            rescues[id]?.dropped += amount
        }
    }

    /// Recovers a source's files, if that is possible now.
    mutating func rescue(_ id: SourceKey) {
        guard var rescue = rescues[id], !rescue.isDone else { return }
        guard rescue.pauseRounds == 0 else {
            rescues[id]?.pauseRounds -= 1
            return
        }
        guard settleEarlierSessions(of: id) else { return }
        do throws(ArchiveError) {
            let rescued = try recover(id, rescue)
            if rescue.dropped != MediaAmount() {
                events.append(.written(source: id.source, rescue.dropped))
            }
            rescue.isDone = true
            rescues[id] = rescue
            events.append(.rescued(rescued))
        } catch {
            guard isAttached() else { return }
            // As long as possibly lost data cannot be cut from the file, the source waits: its agent keeps everything.
            if !rescue.hasComplained { events.append(.stuck(path: id.description, error)) }
            rescues[id]?.hasComplained = true
            rescues[id]?.attempts += 1
        }
    }

    /// Determines which records of a source's ended sessions are on disk. Records that are sent again go into the present session,
    /// and would be stored twice otherwise.
    /// - Returns: false if it must be retried.
    private mutating func settleEarlierSessions(of id: SourceKey) -> Bool {
        for session in sessionsEnded(before: id.session) {
            let other = SourceKey(session: session, source: id.source)
            // A completed rescue must have its losses in the ledger: until then they would count as records that the
            // agent still sends, or as losses of every later session.
            guard rescues[other] == nil, stuck[other.description] == nil,
                undescribed[layout.manifest(session)] == nil
            else { return false }
            do throws(ArchiveError) {
                try prepareToPersist(other)
            } catch {
                return false
            }
            for segment in segments.keys.filter({ $0.owner == other }).sorted() {
                do throws(ArchiveError) {
                    try synchronizeSegment(segment)
                } catch {
                    fail(other, error)
                    return false
                }
            }
        }
        return true
    }

    /// Sessions whose end is still unwritten, and that ended before another one.
    private func sessionsEnded(before session: String) -> [String] {
        let ended = ends.compactMap { job -> String? in
            if case .endSession(let manifest) = job { manifest.session } else { nil }
        }
        return Array(ended.prefix { $0 != session })
    }

    private mutating func recover(
        _ id: SourceKey, _ rescue: Rescue
    ) throws(ArchiveError) -> RescuedSource {
        let ledger = layout.ledger(id)
        // Nothing is sent again into a session that has ended.
        if !hasEnded(id.session) { dropRecords(waitingFor: ledger, of: id) }
        try prepareToPersist(id)
        let own = segments.keys.filter { $0.owner == id }.sorted()
        for segment in own { try settle(segment) }
        // Recovery also writes into it.
        ledgers[id] = nil
        for segment in own {
            segments[segment] = nil
            dirty.remove(segment)
        }
        var recovery = SourceRecovery(
            layout: layout, session: id.session, name: id.source, zero: rescue.zero,
            purpose: .rescue(
                "\(rescue.error)", isPatient: rescue.attempts < Rescue.patientAttempts), now: now())
        let outcome = Result { () throws(ArchiveError) in try recovery.run(nil) }
        // Like all lines, these are rewritten after a failed `fdatasync`; also those of a repeated attempt, which finds
        // the files finished.
        for line in recovery.unwritten { perform(.note(id, line, records: nil)) }
        let source = try outcome.get()
        try FileSystem.synchronizeDirectory(
            layout.source(id), on: layout.disk)
        publish(.sessions, .sourceMended(id))
        if rescue.hasComplained { events.append(.unstuck(path: id.description)) }
        return RescuedSource(
            id: id, source: source, spools: recovery.spools, notes: recovery.notes)
    }

    /// Truncates a file to its durable part.
    private mutating func settle(_ id: SegmentKey) throws(ArchiveError) {
        if segments[id]?.writer.hasLostPages == false {
            do throws(ArchiveError) {
                return try synchronizeSegment(id)
            } catch {
                // The file is cut below.
            }
        }
        try segments[id]?.writer.cutToDurable()
    }

    /// Discards lines queued for the ledger that stand for records: those records are sent again.
    private mutating func dropRecords(waitingFor path: String, of id: SourceKey) {
        guard let backlog = stuck[path] else { return }
        stuck[path]?.jobs.removeAll(where: Self.isRecord)
        if stuck[path]?.jobs.isEmpty == true {
            stuck[path] = nil
            events.append(.unstuck(path: backlog.path))
        }
    }

    private static func isRecord(_ job: DiskJob) -> Bool {
        if case .note(_, _, .some) = job { true } else { false }
    }
}
