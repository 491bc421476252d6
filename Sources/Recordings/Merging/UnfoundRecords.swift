package import Archive
import Glibc
import Media

extension MergedStore {
    /// A source's records that a collector has acknowledged although neither its archive, which is read, nor another one has them.
    ///
    /// Without such records, the files of the collectors that acknowledged some are read, once per content; with such records, those
    /// of the other archives and sessions too. Archives in buckets are trusted: reading all their files would cost more than the
    /// recording is watched for.
    /// - Returns: not located on the timeline; empty: there are none, or one archive has the session.
    package func unfound(of source: SourceKey) throws(ArchiveError) -> [HeldRecords] {
        let session = try session(source.session)
        guard session.copies.count > 1 else { return [] }
        let local = session.copies.indices.filter {
            members[session.copies[$0].member].layout != nil
        }
        var lines: [LedgerEntry] = []
        for copy in session.copies {
            lines += try ledger(of: source, in: copy).entries.filter { $0.spool != nil }
        }
        let collectors = Set(local.compactMap { session.copies[$0].manifest.collector })
        func missing(_ recorded: [String: SequenceSet]) -> [HeldRecords] {
            HeldRecords.all(lines, recorded: recorded).filter {
                collectors.contains($0.collector)
            }
        }
        var recorded: [String: SequenceSet] = [:]
        var unfound = missing(recorded)
        guard !unfound.isEmpty else { return [] }
        let owners = Set(unfound.map(\.collector))
        let files = try files(of: source, in: session).all
        for isOwner in [true, false] where !unfound.isEmpty {
            for file in files {
                let owner = session.copies[file.copy].manifest.collector
                guard owner.map(owners.contains) ?? false == isOwner else { continue }
                add(try records(of: file, in: session), to: &recorded)
            }
            unfound = missing(recorded)
        }
        guard !unfound.isEmpty else { return [] }
        // With `--release mirrored`, the second copy of a lost archive may be in another session.
        let spools = Set(unfound.map(\.spool))
        for entry in try list(.sessions) where entry.name != session.name {
            try add(spools, of: source.source, in: entry.name, to: &recorded)
        }
        return missing(recorded)
    }

    private func add(_ records: FileRecords, to recorded: inout [String: SequenceSet]) {
        for (spool, numbers) in records.all {
            recorded[spool.description, default: SequenceSet()].formUnion(numbers)
        }
    }

    /// Adds the records of another session's files and ledgers, if it has records of these spools.
    private func add(
        _ spools: Set<String>, of source: String, in name: String,
        to recorded: inout [String: SequenceSet]
    ) throws(ArchiveError) {
        let key = SourceKey(session: name, source: source)
        do throws(ArchiveError) {
            let session = try session(name)
            for (place, copy) in session.copies.enumerated() {
                let lines = try ledger(of: key, in: copy).entries
                guard lines.contains(where: { $0.spool.map(spools.contains) ?? false })
                else { continue }
                for (spool, numbers) in HeldRecords.noted(lines) {
                    recorded[spool, default: SequenceSet()].formUnion(numbers)
                }
                for file in try files(of: key, in: session).all where file.copy == place {
                    add(try records(of: file, in: session), to: &recorded)
                }
            }
        } catch {
            // A session that cannot be read has none.
            if error.isForStore || error.code == ECANCELED { throw error }
        }
    }
}
