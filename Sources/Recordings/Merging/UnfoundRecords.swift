package import Archive
import Glibc
import Media

extension MergedStore {
    /// A source's records that a collector has acknowledged although neither its archive, which is read, nor another one has
    /// them.
    ///
    /// First, the files of the collectors that acknowledged the records are read, each content once. The other archives and
    /// sessions are read only if records are still missing. Archives in buckets are trusted: reading all their files would cost
    /// more requests than viewing the recording.
    ///
    /// Files and ledgers that have not changed since an earlier search are not read again.
    /// - Returns: not located on the timeline; empty: there are none, or one archive has the session; nil: some were not
    ///   found, and something that may have them could not be read.
    package func unfound(of source: SourceKey) throws(ArchiveError) -> [HeldRecords]? {
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
        var isWhole = true
        for isOwner in [true, false] where !unfound.isEmpty {
            for file in files {
                let owner = session.copies[file.copy].manifest.collector
                guard owner.map(owners.contains) ?? false == isOwner else { continue }
                let numbers = try numbers(of: file, in: session)
                if !numbers.isReadable { isWhole = false }
                add(numbers, to: &recorded)
            }
            unfound = missing(recorded)
        }
        guard !unfound.isEmpty else { return [] }
        // The records may be in unreadable files: other sessions are not searched.
        guard isWhole, !isIncomplete else { return nil }
        // With `--release mirrored`, the second copy of a lost archive may be in another session.
        let spools = Set(unfound.map(\.spool))
        for entry in try list(.sessions) where entry.isFolder && entry.name != session.name {
            let other = SourceKey(session: entry.name, source: source.source)
            guard try isMentioned(spools, by: other) else { continue }
            if try !add(spools, of: other, to: &recorded) { isWhole = false }
        }
        unfound = missing(recorded)
        return unfound.isEmpty || (isWhole && !isIncomplete) ? unfound : nil
    }

    /// The numbers of a source's records in the files of archives on disk, by spool, hexadecimal. Unreadable files are left out.
    package func numbers(of source: SourceKey) throws(ArchiveError) -> [String: SequenceSet] {
        let session = try session(source.session)
        var recorded: [String: SequenceSet] = [:]
        for file in try files(of: source, in: session).all
        where members[session.copies[file.copy].member].layout != nil {
            add(try numbers(of: file, in: session), to: &recorded)
        }
        return recorded
    }

    private func add(_ numbers: FileNumbers, to recorded: inout [String: SequenceSet]) {
        for (spool, own) in numbers.all {
            recorded[spool.description, default: SequenceSet()].formUnion(own)
        }
    }

    /// Whether a ledger of another session's source has lines about these spools.
    private func isMentioned(
        _ spools: Set<String>, by source: SourceKey
    ) throws(ArchiveError) -> Bool {
        for name in [source.session] + (try attachments().parts(of: source.session)) {
            let own = SourceKey(session: name, source: source.source)
            for member in members.indices {
                let known = try self.spools(in: own, member)
                if !known.isDisjoint(with: spools) { return true }
            }
        }
        return false
    }

    /// The spools that an archive's ledger of a source mentions, hexadecimal.
    private func spools(
        in source: SourceKey, _ member: Int
    ) throws(ArchiveError) -> Set<String> {
        let memory = memory
        return try asked(member) { store throws(ArchiveError) in
            let ledger = MergeMemory.FileState(
                path: store.path(.ledger(source)),
                sizeBytes: try store.open(.ledger(source)).sizeBytes(), modifiedNanoseconds: nil)
            return try memory.spools(in: ledger) { () throws(ArchiveError) in
                Set(try store.ledger(of: source).entries.compactMap(\.spool))
            }
        } ?? []
    }

    /// Adds the records of another session's files and ledgers, if it has records of these spools.
    /// - Returns: whether all of them could be read.
    private func add(
        _ spools: Set<String>, of source: SourceKey, to recorded: inout [String: SequenceSet]
    ) throws(ArchiveError) -> Bool {
        do throws(ArchiveError) {
            let session = try session(source.session)
            var isWhole = true
            for (place, copy) in session.copies.enumerated() {
                let lines = try ledger(of: source, in: copy).entries
                guard lines.contains(where: { $0.spool.map(spools.contains) ?? false })
                else { continue }
                for (spool, numbers) in HeldRecords.noted(lines) {
                    recorded[spool, default: SequenceSet()].formUnion(numbers)
                }
                for file in try files(of: source, in: session).all where file.copy == place {
                    let numbers = try numbers(of: file, in: session)
                    if !numbers.isReadable { isWhole = false }
                    add(numbers, to: &recorded)
                }
            }
            return isWhole
        } catch {
            if error.isForStore || error.code == ECANCELED { throw error }
            return false
        }
    }
}
