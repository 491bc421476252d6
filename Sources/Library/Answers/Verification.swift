package import Archive
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
        var lines: [String: [LedgerEntry]] = [:]
        var ledgers: [String: [LedgerEntry]] = [:]
        for copy in session.copies {
            let member = members[copy.member]
            let files: any SessionFiles =
                if let layout = member.layout, member.store is DirectoryStore {
                    SessionDirectory(layout: layout, session: copy.manifest.session)
                } else {
                    StoredSession(
                        store: member.store, session: copy.manifest.session, layout: member.layout)
                }
            let report = try SessionVerifier.verify(
                copy.manifest.session, files, hasOthers: session.copies.count > 1)
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
        return SessionReport.joined(
            reports,
            session.copies.map { copy in
                SessionReport.Part(
                    name: copy.archive, place: members[copy.member].name,
                    shiftNanoseconds: copy.shift.nanoseconds,
                    boundNanoseconds: copy.shift.boundNanoseconds,
                    isMeasured: copy.shift.isMeasured, recordedSamples: 0,
                    session: copy.manifest.session == session.name
                        ? nil : copy.manifest.session)
            }, session.manifest, path: path(.session(name)), ledgers: ledgers, lines: lines,
            collectors: Set(session.copies.compactMap(\.manifest.collector)))
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
            !$0.isFolder && ArchiveLayout.isSegmentName($0.name)
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
