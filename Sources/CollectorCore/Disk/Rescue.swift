import Archive
import Media

/// A source of which a file failed, with anything but a lack of room: an I/O error ends the file, not the recording.
///
/// The source's open files are cut to what is known to be durable, read, and made ordinary MP4s, exactly as after a crash. What was
/// behind that has not been acknowledged, so its agent still has it. All jobs that are on their way meanwhile build on what is gone:
/// they are in vain until the receiving thread has heard of it and says where it goes on (``DiskJob/goOn(_:)``).
struct Rescue: Sendable {
    /// A disk on which every file fails is tried less and less often: after 1, 2, 4, … seconds, but twice a minute.
    static let longestPauseRounds = 32

    let error: ArchiveError
    /// The session's zero, which file names count from.
    let zero: UTCTime
    /// Rounds of retrying that pass before the next attempt.
    var pauseRounds: Int
    /// Media of jobs in vain that has left memory; told when the rescue is done, so that an agent does not send what
    /// would be thrown away.
    var dropped = MediaAmount()
    /// The files are in order; the receiving thread has been told.
    var isDone = false
    var hasComplained = false
    /// Attempts so far that failed.
    var attempts = 0
    /// A file that cannot be read for so many rounds is left as it is, and its source goes on without it.
    static let patientAttempts = 10
}

extension DiskWorker {
    /// Ends a source's files where the job of one of them has failed, and says whether that is what has to be done: for want of
    /// room a job waits, and so does one that no open file depends on.
    mutating func giveUp(_ job: DiskJob<Payload>, _ error: ArchiveError) -> Bool {
        switch job {
        case .append(let id, _), .finish(let id):
            guard !error.isForRoom || segments[id]?.writer.hasLostPages == true else {
                return false
            }
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

    /// Whether a job is one of a source that is being rescued, and builds on what is gone. Its memory is given back.
    mutating func isInVain(_ job: DiskJob<Payload>) -> Bool {
        switch job {
        case .append(let id, let fragment):
            guard rescues[id.owner] != nil else { return false }
            drop(fragment.amount, of: id.owner)
            return true
        case .open(let id, _, _), .reopen(let id, _), .finish(let id):
            return rescues[id.owner] != nil
        case .note(let source, _, let records):
            // Records come again, and would be there twice; other lines stand for themselves, and so does what is said of a session
            // that has ended: nothing comes again into that.
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

    /// Puts a source's files in order, if that can be done now.
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
            // As long as what may be lost cannot be cut off, the source waits: its agent has it all.
            if !rescue.hasComplained { events.append(.stuck(path: id.description, error)) }
            rescues[id]?.hasComplained = true
            rescues[id]?.attempts += 1
        }
    }

    /// Finds out what is on disk of a source's sessions that have ended: what comes again comes into the present one, and what one of
    /// those has would be there twice.
    /// - Returns: whether that is known; otherwise it is tried again.
    private mutating func settleEarlierSessions(of id: SourceKey) -> Bool {
        for session in sessionsEnded(before: id.session) {
            let other = SourceKey(session: session, source: id.source)
            if let rescue = rescues[other] {
                guard rescue.isDone else { return false }
                continue
            }
            guard stuck[other.description] == nil,
                undescribed[layout.manifest(session)] == nil
            else { return false }
            do throws(ArchiveError) {
                try prepareToPersist(other)
            } catch {
                return false
            }
            for segment in segments.keys where segment.owner == other {
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

    /// Sessions whose end has still to be written, and that were over before another.
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
        dropRecords(waitingFor: ledger, of: id)
        try prepareToPersist(id)
        let own = segments.keys.filter { $0.owner == id }.sorted()
        for segment in own { try settle(segment) }
        // Recovery writes into it too.
        ledgers[id] = nil
        for segment in own {
            segments[segment] = nil
            dirty.remove(segment)
        }
        var recovery = SourceRecovery(
            layout: layout, session: id.session, name: id.source, zero: rescue.zero,
            purpose: .rescue(
                "\(rescue.error)", isPatient: rescue.attempts < Rescue.patientAttempts), now: now())
        let source = try recovery.run(nil)
        try FileSystem.synchronizeDirectory(
            layout.source(id), on: layout.disk)
        say(.sessions, .sourceMended(id))
        if rescue.hasComplained { events.append(.unstuck(path: id.description)) }
        return RescuedSource(
            id: id, source: source, spools: recovery.spools, notes: recovery.notes)
    }

    /// Leaves of a file what is durable, and nothing else.
    private mutating func settle(_ id: SegmentKey) throws(ArchiveError) {
        if segments[id]?.writer.hasLostPages == false {
            do throws(ArchiveError) {
                return try synchronizeSegment(id)
            } catch {
                // Cut, then.
            }
        }
        try segments[id]?.writer.cutToDurable()
    }

    /// Lines that wait for the ledger: those that stand for records come again.
    private mutating func dropRecords(waitingFor path: String, of id: SourceKey) {
        guard let backlog = stuck[path] else { return }
        stuck[path]?.jobs.removeAll(where: Self.isRecord)
        if stuck[path]?.jobs.isEmpty == true {
            stuck[path] = nil
            events.append(.unstuck(path: backlog.path))
        }
    }

    private static func isRecord(_ job: DiskJob<Payload>) -> Bool {
        if case .note(_, _, .some) = job { true } else { false }
    }
}
