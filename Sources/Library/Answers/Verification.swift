package import Archive
import Media
import MP4
import Recordings

extension RecordingLibrary {
    /// Checks a session's files, on the disk or in a store, without decoding.
    /// - Throws: when folders or a store cannot be listed: that is no damage.
    package func verification(of session: String) throws(ArchiveError) -> SessionReport {
        if let merged { return try merged.strict().verification(of: session) }
        guard hasBucket else { return try SessionVerifier.verify(session, in: layout) }
        // Media in an unavailable store is not missing.
        let store = (store as? LayeredStore)?.strict() ?? store
        guard try hasSession(session) else {
            throw .system(
                operation: "open the session", path: store.path(.session(session)), errno: 2)
        }
        return try SessionVerifier.verify(
            session, StoredSession(store: store, session: session, layout: isLocal ? layout : nil))
    }
}

extension MergedStore {
    /// Checks a session's files in all archives, each with its own proofs, and that together they have every record.
    fileprivate func verification(of name: String) throws(ArchiveError) -> SessionReport {
        let session = try session(name)
        var reports: [SessionReport] = []
        var parts: [SessionReport.Part] = []
        var lines: [String: [LedgerEntry]] = [:]
        var ledgers: [String: [LedgerEntry]] = [:]
        for copy in session.copies {
            var report = try SessionVerifier.verify(
                copy.manifest.session, files(of: copy), hasOthers: session.copies.count > 1)
            parts.append(report.place(copy, in: members[copy.member].name, of: name))
            reports.append(report)
            for source in report.sources {
                let key = SourceKey(session: name, source: source.name)
                lines[source.name, default: []] += try ledger(of: key, in: copy).entries
                if ledgers[source.name] == nil {
                    ledgers[source.name] = try ledger(of: key).entries
                }
            }
        }
        guard session.copies.count > 1 else { return reports[0] }
        return try SessionReport.joined(
            reports, parts, session.manifest, path: path(.session(name)), ledgers: ledgers,
            lines: lines,
            collectors: Set(session.copies.compactMap(\.manifest.collector))
        ) { source, spools throws(ArchiveError) in
            try recorded(spools, of: source, inSessionsBesides: name)
        }
    }

    private func files(of copy: MergedSession.Copy) -> any SessionFiles {
        let member = members[copy.member]
        if let layout = member.layout, member.store is DirectoryStore {
            return SessionDirectory(layout: layout, session: copy.manifest.session)
        }
        return StoredSession(
            store: member.store, session: copy.manifest.session, layout: member.layout)
    }

    /// Records in a source's files of other sessions, by spool. Sessions that cannot be read have none.
    private func recorded(
        _ spools: Set<String>, of source: String, inSessionsBesides name: String
    ) throws(ArchiveError) -> [String: SequenceSet] {
        var found: [String: SequenceSet] = [:]
        for entry in try list(.sessions) where entry.name != name {
            do throws(ArchiveError) {
                let key = SourceKey(session: entry.name, source: source)
                for copy in try session(entry.name).copies {
                    // Each source's ledger names its spools: other sessions are not verified.
                    let lines = try ledger(of: key, in: copy).entries
                    guard lines.contains(where: { $0.spool.map(spools.contains) ?? false })
                    else { continue }
                    let report = try SessionVerifier.verify(
                        copy.manifest.session, files(of: copy), hasOthers: true)
                    for own in report.sources where own.name == source {
                        let noted = HeldRecords.noted(lines)
                        for (spool, numbers) in Array(own.numbers.media) + Array(noted) {
                            found[spool, default: SequenceSet()].formUnion(numbers)
                        }
                    }
                }
            } catch {
                if error.isForStore { throw error }
            }
        }
        return found
    }
}

extension SessionReport {
    /// Moves the times of one archive's report to the session's timeline, and adds the error of that to its bounds.
    /// - Returns: the archive's line.
    fileprivate mutating func place(
        _ copy: MergedSession.Copy, in place: String, of session: String
    ) -> Part {
        var part = Part(
            name: copy.archive, place: place, shiftNanoseconds: copy.shift.nanoseconds,
            boundNanoseconds: copy.shift.boundNanoseconds, isMeasured: copy.shift.isMeasured,
            recordedSamples: 0,
            session: copy.manifest.session == session ? nil : copy.manifest.session)
        guard copy.shift.isByCollectors else { return part }
        var greatest: UInt64?
        var ends: (first: Int64, last: Int64)?
        for source in sources.indices {
            var own: UInt64 = 0
            for file in sources[source].files.indices {
                guard let seconds = sources[source].files[file].originSeconds,
                    seconds.magnitude < 9e9
                else { continue }
                let origin = Int64((seconds * 1e9).rounded())
                let length = max(1, copy.manifest.segmentNanoseconds)
                let correction = TimeCorrection(copy.shift, from: origin, length: length)
                let bound = correction.boundNanoseconds
                sources[source].files[file].move(
                    byNanoseconds: correction.shiftNanoseconds, boundNanoseconds: bound)
                own = max(own, bound)
                let end = origin.clampedAdding(length)
                ends = (min(ends?.first ?? origin, origin), max(ends?.last ?? end, end))
            }
            sources[source].clock.widen(by: Int64(clamping: own))
            greatest = max(greatest ?? own, own)
        }
        guard let ends, let greatest else { return part }
        let (from, to) = (copy.shift.at(ends.first), copy.shift.at(ends.last))
        part.shiftNanoseconds = from.nanoseconds
        part.boundNanoseconds = greatest
        let change = Double(to.nanoseconds.clampedSubtracting(from.nanoseconds))
        part.skewPartsPerBillion = Int64(
            (change / Double(ends.last.clampedSubtracting(ends.first)) * 1e9).rounded())
        return part
    }
}

extension FileReport {
    /// - Parameter boundNanoseconds: maximum error of the move.
    fileprivate mutating func move(byNanoseconds shift: Int64, boundNanoseconds: UInt64) {
        originSeconds = originSeconds.map { $0 + Double(shift) / 1e9 }
        clockBoundMilliseconds = clockBoundMilliseconds.map {
            $0 > 0 ? $0 + Double(boundNanoseconds) / 1e6 : $0
        }
    }
}

/// A session's files in a store.
private struct StoredSession: SessionFiles {
    let store: any SegmentStore
    let session: String
    /// Where some of them may be in a directory; nil: none are.
    let layout: ArchiveLayout?

    var path: String { store.path(.session(session)) }
    var manifestPath: String { store.path(.manifest(session)) }

    func path(of source: String) -> String { store.path(.source(key(source))) }

    func ledgerPath(of source: String) -> String { store.path(.ledger(key(source))) }

    func manifest() throws(ArchiveError) -> SessionManifest {
        try SessionManifest(session, in: store)
    }

    func sourceNames() throws(ArchiveError) -> [String] {
        try store.list(.session(session)).filter {
            $0.isFolder && ArchiveLayout.isValidName($0.name)
        }.map(\.name)
    }

    func segmentNames(of source: String) throws(ArchiveError) -> [String] {
        try store.list(.source(key(source))).filter {
            !$0.isFolder && SegmentName($0.name) != nil
        }.map(\.name)
    }

    func ledger(of source: String) throws(ArchiveError) -> Ledger.Contents {
        try store.ledger(of: key(source))
    }

    func examine(
        _ segment: String, of source: String, ledger: [LedgerEntry]
    ) throws(ArchiveError) -> FileVerifier {
        let file = try store.open(.source(key(source)) / segment)
        let verifier = FileVerifier.examine(file.path, in: try StoredBytes(file), ledger: ledger)
        // Not the file's fault.
        if let failure = file.failure { throw failure }
        return verifier
    }

    func interruptedRemovals(of source: String) throws(ArchiveError) -> [InterruptedRemoval] {
        guard let layout else { return [] }
        return try SessionDirectory(layout: layout, session: session).interruptedRemovals(
            of: source)
    }

    private func key(_ source: String) -> SourceKey {
        SourceKey(session: session, source: source)
    }
}
