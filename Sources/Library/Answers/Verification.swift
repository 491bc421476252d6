package import Archive
import Media
import MP4
import Recordings
import Terminal

extension RecordingLibrary {
    /// Checks a session's files, on the disk or in a store, without decoding.
    /// - Throws: when folders or a store cannot be listed: that is no damage.
    package func verification(of session: String) throws(ArchiveError) -> SessionReport {
        if let merged { return try merged.strict().verification(of: session) }
        guard hasBucket else {
            let report = try SessionVerifier.verify(session, in: layout)
            return try isBeginning(report) ? report.beginning(layout) : report
        }
        // Media in an unavailable store is not missing.
        let store = (store as? LayeredStore)?.strict() ?? store
        guard try hasSession(session) else {
            throw .system(
                operation: "open the session", path: store.path(.session(session)), errno: 2)
        }
        return try SessionVerifier.verify(
            session, StoredSession(store: store, session: session, layout: isLocal ? layout : nil))
    }

    /// Whether a running collector has made the session's directory, and has written nothing else: the disk may be full.
    private func isBeginning(_ report: SessionReport) throws(ArchiveError) -> Bool {
        guard report.sources.isEmpty, try isCollectorRunning() else { return false }
        return !FileSystem.exists(layout.manifest(report.session))
    }

    /// The parts of a session whose files are read one by one; nil: one archive is read. As ``copies(of:)``, and also for a
    /// session that one of several archives has alone.
    package func measuredCopies(of session: String) throws(ArchiveError) -> [SessionCopy]? {
        guard let merged else { return nil }
        return try merged.session(session).copies.map { copy in
            let member = merged.members[copy.member]
            return SessionCopy(
                archive: copy.archive, place: member.name, session: copy.manifest.session,
                layout: member.store is DirectoryStore ? member.layout : nil,
                zero: copy.manifest.zeroTime, shift: copy.shift)
        }
    }
}

extension MergedStore {
    /// Checks a session's files in all archives, each with its own proofs, and that together they have every record.
    fileprivate func verification(of name: String) throws(ArchiveError) -> SessionReport {
        let session: MergedSession
        do throws(ArchiveError) {
            session = try self.session(name)
        } catch {
            guard !error.isForStore, let report = try verificationWithoutDescription(of: name)
            else { throw error }
            return report
        }
        // What may not be read is left out like an archive that is away.
        let damaged = session.damaged.filter { !$0.error.isForPermission }.map { copy in
            Finding(
                .damage, members[copy.member].store.path(.manifest(copy.session)),
                "\(copy.error.reason); what \(members[copy.member].name) has of the session is left out"
            )
        }
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
        let elsewhere = try elsewhere(reports, lines, session, name)
        guard session.copies.count > 1 else {
            reports[0].findings += damaged
            return reports[0].withoutHeld(elsewhere, lines, collectors: []) {
                path(.source(SourceKey(session: name, source: $0)))
            }
        }
        let collectors = Set(session.copies.compactMap(\.manifest.collector))
        var joined = try SessionReport.joined(
            reports, parts, session.manifest, ledgers: ledgers, lines: lines,
            collectors: collectors,
            folder: { archive, source in
                let copy = session.copies[archive]
                return members[copy.member].store.path(
                    .source(SourceKey(session: copy.manifest.session, source: source)))
            }
        ) { source, _ throws(ArchiveError) in
            elsewhere[source]?.all ?? [:]
        }
        joined.findings += damaged + notes(on: elsewhere, reports, name)
        for source in joined.sources {
            let key = SourceKey(session: name, source: source.name)
            guard let boxes = try simultaneousBoxes(of: key, from: nil, until: nil) else {
                continue
            }
            joined.findings.append(
                Finding(
                    .note, "\(name)/\(source.name)",
                    "was recorded by two boxes at once from "
                        + "\(TimelinePoint.text(boxes.startNanoseconds)) on, in "
                        + "\(boxes.archives.joined(separator: " and ")): read each archive alone"))
        }
        let named = Set(session.copies.flatMap(\.manifest.sources).map(\.name))
        joined.findings += SessionReport.absenceFindings(
            named.subtracting(joined.sources.map(\.name)).sorted(), besides: joined.findings
        ) { path(.source(SourceKey(session: name, source: $0))) }
        return joined.withoutHeld(elsewhere, lines, collectors: collectors) {
            path(.source(SourceKey(session: name, source: $0)))
        }
    }

    /// Records of each source that one of the archives has according to another one's ledger, and that are in other sessions
    /// of these archives. Collectors without the site's database begin a session each.
    private func elsewhere(
        _ reports: [SessionReport], _ lines: [String: [LedgerEntry]], _ session: MergedSession,
        _ name: String
    ) throws(ArchiveError) -> [String: OtherSessions] {
        var collectors: Set<String>?
        var elsewhere: [String: OtherSessions] = [:]
        for (source, entries) in lines {
            var recorded: [String: SequenceSet] = [:]
            for own in reports.flatMap(\.sources) where own.name == source {
                for (spool, numbers) in own.numbers.media {
                    recorded[spool, default: SequenceSet()].formUnion(numbers)
                }
            }
            var spools = Set(Self.holes(of: source, in: reports).map(\.spool))
            let held = HeldRecords.all(entries, recorded: recorded)
            if !held.isEmpty {
                // Not with '??', whose errors have no type.
                let read =
                    if let collectors { collectors } else { try self.collectors(besides: session) }
                collectors = read
                spools.formUnion(held.filter { read.contains($0.collector) }.map(\.spool))
            }
            guard !spools.isEmpty else { continue }
            elsewhere[source] = try self.recorded(spools, of: source, inSessionsBesides: name)
        }
        return elsewhere
    }

    /// Records that none of several archives has in a session.
    private static func holes(
        of source: String, in reports: [SessionReport]
    ) -> [(spool: String, ranges: [ClosedRange<UInt64>])] {
        guard reports.count > 1 else { return [] }
        let own = reports.flatMap(\.sources).filter { $0.name == source }
        return SourceNumbers.joined(own.map(\.numbers)).numbers.holes.filter { !$0.ranges.isEmpty }
    }

    /// Notes about records that are in other sessions of these archives.
    private func notes(
        on elsewhere: [String: OtherSessions], _ reports: [SessionReport], _ name: String
    ) -> [Finding] {
        elsewhere.sorted { $0.key < $1.key }.flatMap { source, others -> [Finding] in
            let holes = Self.holes(of: source, in: reports)
            return others.sessions.sorted { $0.key < $1.key }.compactMap {
                session, numbers -> Finding? in
                let found = holes.flatMap { spool, ranges in
                    ranges.flatMap { numbers[spool]?.present(in: $0) ?? [] }
                }
                guard !found.isEmpty else { return nil }
                let records = found.lazy.map { $0.upperBound - $0.lowerBound + 1 }.clampedSum
                return Finding(
                    .note, path(.source(SourceKey(session: name, source: source))),
                    "\(records) records of \(source) are in another session of these archives: "
                        + "read them in \(session)")
            }
        }
    }

    /// Names of the archives' collectors; for an archive without the session, from another session's description.
    private func collectors(besides session: MergedSession) throws(ArchiveError) -> Set<String> {
        var collectors = Set(session.copies.compactMap(\.manifest.collector))
        for member in members.indices where !session.copies.contains(where: { $0.member == member })
        {
            do throws(ArchiveError) {
                let store = members[member].store
                let names = try store.list(.sessions).filter {
                    $0.isFolder && ArchiveLayout.isValidName($0.name)
                }.map(\.name).sorted(by: >)
                // A damaged description is not the only one.
                for name in names.prefix(Self.descriptionsRead) {
                    do throws(ArchiveError) {
                        let manifest = try SessionManifest(name, in: store)
                        if let collector = manifest.collector { collectors.insert(collector) }
                        break
                    } catch {
                        if error.isForStore { throw error }
                    }
                }
            } catch {
                if error.isForStore { throw error }
            }
        }
        return collectors
    }

    /// Descriptions of sessions that are read for a collector's name: most are readable.
    private static var descriptionsRead: Int { 8 }

    /// Checks the files of a session that has no readable description in any archive; nil: no archive has it.
    private func verificationWithoutDescription(
        of name: String
    ) throws(ArchiveError) -> SessionReport? {
        var found: SessionReport?
        for copy in try copies(named: name).damaged {
            let report = try SessionVerifier.verify(name, files(of: copy.session, copy.member))
            found?.sources += report.sources
            found?.findings += report.findings
            found = found ?? report
        }
        return found
    }

    private func files(of copy: MergedSession.Copy) -> any SessionFiles {
        files(of: copy.manifest.session, copy.member)
    }

    private func files(of session: String, _ member: Int) -> any SessionFiles {
        let member = members[member]
        if let layout = member.layout, member.store is DirectoryStore {
            return SessionDirectory(layout: layout, session: session)
        }
        return StoredSession(store: member.store, session: session, layout: member.layout)
    }

    /// Records in a source's files of other sessions. Sessions that cannot be read have none.
    private func recorded(
        _ spools: Set<String>, of source: String, inSessionsBesides name: String
    ) throws(ArchiveError) -> OtherSessions {
        var found = OtherSessions()
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
                            found.add(numbers, of: spool, in: entry.name)
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

/// A source's records in other sessions of the same archives.
private struct OtherSessions {
    /// By session and spool.
    private(set) var sessions: [String: [String: SequenceSet]] = [:]
    /// By spool.
    private(set) var all: [String: SequenceSet] = [:]

    mutating func add(_ numbers: SequenceSet, of spool: String, in session: String) {
        sessions[session, default: [:]][spool, default: SequenceSet()].formUnion(numbers)
        all[spool, default: SequenceSet()].formUnion(numbers)
    }
}

extension SessionReport {
    /// Without the finding about its missing description.
    fileprivate func beginning(_ layout: ArchiveLayout) -> SessionReport {
        var report = self
        let path = layout.manifest(session)
        report.findings.removeAll { $0.path == path }
        report.findings.append(
            Finding(
                .note, path, "is not written yet: the session is beginning, or the disk is full"))
        return report
    }

    /// Records in other sessions of the archives that were read are not held by a collector whose archive is to be given: a
    /// note names the session.
    /// - Parameters:
    ///   - elsewhere: by source.
    ///   - lines: each source's ledger lines of all archives.
    ///   - collectors: whose archives have the session: records that they lack are findings.
    ///   - path: of a source, for messages.
    fileprivate func withoutHeld(
        _ elsewhere: [String: OtherSessions], _ lines: [String: [LedgerEntry]],
        collectors: Set<String>, path: (String) -> String
    ) -> SessionReport {
        var report = self
        for index in report.sources.indices {
            let source = report.sources[index]
            guard let others = elsewhere[source.name], let lines = lines[source.name] else {
                continue
            }
            func held(with numbers: [String: SequenceSet]) -> [HeldRecords] {
                HeldRecords.all(
                    lines,
                    recorded: source.numbers.media.merging(numbers) { one, other in
                        var both = one
                        both.formUnion(other)
                        return both
                    })
            }
            let before = held(with: [:]).lazy.map(\.records).clampedSum
            for (session, numbers) in others.sessions.sorted(by: { $0.key < $1.key }) {
                let left = held(with: numbers).lazy.map(\.records).clampedSum
                guard left < before else { continue }
                report.findings.append(
                    Finding(
                        .note, path(source.name),
                        "\(before - left) records of \(source.name) are in another session of these archives: "
                            + "read them in \(session)"))
            }
            let away = held(with: others.all).filter { !collectors.contains($0.collector) }
            report.sources[index].held = away.isEmpty ? nil : away
        }
        return report
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
        guard copy.shift.isByCollectors else {
            move(by: copy.shift)
            return part
        }
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

    /// Moves all times by a constant shift.
    private mutating func move(by shift: SessionShift) {
        guard shift.nanoseconds != 0 || shift.boundNanoseconds > 0 else { return }
        for source in sources.indices {
            for file in sources[source].files.indices {
                sources[source].files[file].move(
                    byNanoseconds: shift.nanoseconds, boundNanoseconds: shift.boundNanoseconds)
            }
            sources[source].clock.widen(by: Int64(clamping: shift.boundNanoseconds))
        }
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
    /// The directory that may have some of the files; nil: none has.
    let layout: ArchiveLayout?

    var path: String { store.path(.session(session)) }
    var manifestPath: String { store.path(.manifest(session)) }

    func path(of source: String) -> String { store.path(.source(key(source))) }

    func ledgerPath(of source: String) -> String { store.path(.ledger(key(source))) }

    func manifest() throws(ArchiveError) -> SessionManifest {
        try SessionManifest(session, in: store)
    }

    func contents(of file: String, limit: Int) throws(ArchiveError) -> [UInt8]? {
        do throws(ArchiveError) {
            return try store.contents(.session(session) / file, limit: limit)
        } catch {
            guard error.isForAbsence else { throw error }
            return nil
        }
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

    func clocks() throws(ArchiveError) -> Ledger.Contents { try store.clocks(of: session) }

    func examine(
        _ segment: String, of source: String, ledger: [LedgerEntry]
    ) throws(ArchiveError) -> FileVerifier {
        let file = try store.open(.source(key(source)) / segment)
        let verifier = FileVerifier.examine(file.path, in: try StoredBytes(file), ledger: ledger)
        // The failure is the store's, not damage of the file.
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
