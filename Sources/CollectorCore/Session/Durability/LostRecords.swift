import Archive
import Media

/// Causes of loss that only the collector has.
enum LostRecords {
    static let writeFailed = "write failed"
    static let restart = "restart"
    static let tooManyFiles = "too many files"
    static let impossibleTimes = "impossible times"
    static let own = [writeFailed, tooManyFiles, impossibleTimes]
}

// Records that were received and are not on disk: a source's file failed, or an earlier collector was killed.
extension SessionRecorder {
    /// A file of a source has failed: the session does not end before the records to be sent again are known.
    mutating func failed(_ id: SourceKey) {
        if sessionName == id.session { sources[id.source]?.value.isFailing = true }
    }

    /// Whether a source whose file failed is still recorded in the same session.
    func canGoOn(_ rescued: RescuedSource) -> Bool {
        sessionName == rescued.id.session && sources[rescued.id.source]?.value.hasJoined == true
    }

    /// Continues a source with a failed file after the records that are on disk; the rest is sent again.
    mutating func goOn(_ rescued: RescuedSource, at now: Instant) -> [Action] {
        let name = rescued.id.source
        guard let manifest else { return [] }
        let found = learn(rescued)
        durable.restart(name, recorded: rescued.spools)
        let waiting =
            sources[name]?.value.goBack(to: rescued.source, in: manifest) {
                durable.durable(source: name, spool: $0)
            } ?? MediaAmount()
        // An agent that was waiting for the last acknowledgement has to reconnect.
        lastRecordNanoseconds = now.monotonic
        return found + [
            .job(.goOn(rescued.id)), .released(source: name, waiting), writeManifest(),
        ]
    }

    /// A file of a session that has ended failed: its records that are not on disk are lost, and the ledger records that. Its
    /// agent still has them, but the session that they belong to has ended.
    mutating func writeOff(_ rescued: RescuedSource, at now: Instant) -> [Action] {
        let id = rescued.id
        var actions = learn(rescued)
        let session = endedSessions.last { $0.name == id.session }
        for end in session?.spools[id.source] ?? [] where end.through > 0 {
            guard let spool = SpoolID(hexadecimal: end.spool) else { continue }
            for lost in durable.unaccounted(through: end.through, of: id.source, spool: spool) {
                durable.writeOff(lost, of: id.source, spool: spool)
                actions += gap(
                    lost, of: id.source, spool, cause: LostRecords.writeFailed,
                    "a file failed when the session had ended already", in: id.session, at: now)
            }
        }
        // The session's end waits for the source to continue: the lines are written first.
        return actions + [.job(.goOn(id))]
    }

    /// A directory that was removed while it was recorded into exists again, empty: its acknowledged records are lost, because no
    /// agent has them any more, and the new ledgers record that.
    mutating func restored(_ directory: String, at now: Instant) -> [Action] {
        let present = sources.filter(\.value.value.hasJoined).mapValues(\.value.spoolEnds)
        var sessions = endedSessions
        if let sessionName { sessions.append((sessionName, present)) }
        var actions: [Action] = []
        for (session, ends) in sessions {
            for name in ends.keys.sorted() {
                let source = settings.layout.source(session, name)
                guard source == directory || source.hasPrefix(directory + "/") else { continue }
                let lost = (ends[name] ?? []).flatMap {
                    removed($0, of: name, in: session, at: now)
                }
                guard !lost.isEmpty else { continue }
                let key = SourceKey(session: session, source: name)
                actions += [.job(.beginSource(key))] + lost
            }
        }
        // The session's description may have been in the directory.
        return sessionName == nil ? actions : actions + [writeManifest()]
    }

    /// Lines for the records of a spool that were on disk, in a directory that was removed.
    private func removed(
        _ end: SessionManifest.SpoolEnd, of name: String, in session: String, at now: Instant
    ) -> [Action] {
        guard let first = end.first, let spool = SpoolID(hexadecimal: end.spool),
            first <= end.sequences.highest
        else { return [] }
        return durable.onDisk(of: name, spool: spool, in: first...end.sequences.highest).flatMap {
            lost -> [Action] in
            let text = "records \(lost.lowerBound) to \(lost.upperBound) were removed from the disk"
            // The line acknowledges nothing: the records are acknowledged already.
            return gap(
                lost, of: name, spool, cause: LostRecords.writeFailed,
                "the directory was removed while it was recorded into", in: session,
                acknowledges: false, at: now)
                + [.note(Note(level: .warning, source: name, text: text))]
        }
    }

    /// Registers the durable records of a source that nothing else acknowledges.
    private mutating func learn(_ rescued: RescuedSource) -> [Action] {
        let name = rescued.id.source
        return rescued.spools.compactMap { recorded in
            durable.insert(
                PersistedRecords(
                    source: name, spool: recorded.spool, sequences: recorded.sequences.ranges)
            ).map { .durable(source: name, spool: recorded.spool, through: $0) }
        }
    }

    /// Handles records that are not on disk and that their agent no longer has. They are a gap if the session has other
    /// records of their spool; otherwise the session records nothing about them.
    func neverCame(
        _ missing: ClosedRange<UInt64>, of name: String, _ spool: SpoolID, at now: Instant
    ) -> [Action] {
        guard let session = sessionName, let source = sources[name]?.value, source.hasJoined,
            source.hasRecorded(spool) || durable.archivedSpools(of: name).contains(spool)
        else {
            return [
                .unrecorded(PersistedRecords(source: name, spool: spool, sequences: [missing]))
            ]
        }
        return durable.durable(source: name, spool: spool).missing(in: missing).flatMap {
            gap(
                $0, of: name, spool, cause: LostRecords.restart,
                "the box has lost what the collector did not have on disk", in: session, at: now)
        }
    }

    /// Lines for records of other spools that an earlier collector did not have on disk and that were not sent again.
    ///
    /// Agents send spools in order: an agent that has returned with a later spool has lost the earlier ones. One that
    /// has not returned may still have them. So may one that keeps spools until they are stored: it returns with
    /// earlier spools before the present one.
    func neverReturned(to session: String, at now: Instant) -> [Action] {
        sources.keys.sorted().flatMap { name -> [Action] in
            guard let source = sources[name]?.value, source.hasJoined else { return [] }
            let mayReturn = source.isAwaited || settings.release.waitsForStore
            return durable.archivedSpools(of: name).filter { $0 != source.spool }.flatMap { spool in
                durable.durable(source: name, spool: spool).holes.flatMap { hole in
                    mayReturn
                        ? [later(hole, of: name, spool, than: session, at: now)]
                        : gap(
                            hole, of: name, spool, cause: LostRecords.restart,
                            "not sent again after the collector was restarted: the box had lost "
                                + "it, too", in: session, at: now)
                }
            }
        }
    }

    /// Lines for records that a session lacks at its end before records that it has: an earlier collector did not have
    /// them on disk, and their agent has not sent them in time.
    func comesLater(than session: String, at now: Instant) -> [Action] {
        sources.keys.sorted().flatMap { name -> [Action] in
            guard let source = sources[name]?.value, source.hasJoined else { return [] }
            return durable.holes(of: name, spool: source.spool, behind: source.through).map {
                later($0, of: name, source.spool, than: session, at: now)
            }
        }
    }

    /// A ledger line about records that may be in a later session.
    private func later(
        _ sequences: ClosedRange<UInt64>, of source: String, _ spool: SpoolID,
        than session: String, at now: Instant
    ) -> Action {
        var entry = LedgerEntry(kind: .later, at: now.utc)
        entry.firstSequence = sequences.lowerBound
        entry.lastSequence = sequences.upperBound
        entry.spool = spool.description
        entry.text = "not sent again before the session ended"
        return .job(.note(SourceKey(session: session, source: source), entry, records: nil))
    }

    /// A ledger line about records that are lost everywhere.
    private func gap(
        _ sequences: ClosedRange<UInt64>, of source: String, _ spool: SpoolID, cause: String,
        _ text: String, in session: String, acknowledges: Bool = true, at now: Instant
    ) -> [Action] {
        var entry = LedgerEntry(kind: .gap, at: now.utc)
        entry.firstSequence = sequences.lowerBound
        entry.lastSequence = sequences.upperBound
        entry.spool = spool.description
        entry.cause = cause
        entry.text = text
        return [
            .job(
                .note(
                    SourceKey(session: session, source: source), entry,
                    records: acknowledges
                        ? PersistedRecords(source: source, spool: spool, sequences: [sequences])
                        : nil)),
            .lost(source: source, cause: cause),
        ]
    }
}
