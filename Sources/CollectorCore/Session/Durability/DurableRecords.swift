import Archive
import Media
import Wire

/// What of every source is safe, by spool: the one owner of that knowledge.
///
/// A record that it calls durable is on disk, in a file or as a ledger's line, or the ledger says why it never will be; nothing that it
/// has called durable is ever taken back.
///
/// It outlives sessions, because the last acknowledgement of a source is due after its session has ended. Besides what is durable it
/// keeps, for as long as agents may send it again, what lay on disk when the collector began with a spool: an agent resumes after the
/// last record up to which everything is durable, and of what follows some may be there too. Sound waits for pictures, lines of a
/// ledger wait for nothing, and a message may have been divided between two fragments.
struct DurableRecords: Sendable {
    /// What a message with samples is.
    enum Verdict: Sendable {
        /// Nothing of it is on disk.
        case new
        /// These parts of it are to be recorded; so much is on disk already.
        case partlyKnown([(Samples, PartialMessage)], known: MediaAmount)
    }

    /// An agent has a new spool at every start until it keeps one on disk; older ones never come back in practice.
    private static let maximumSpoolsPerSource = 8

    fileprivate struct Spool: Sendable {
        let id: SpoolID
        var durable = SequenceSet()
        /// The number of its goodbye, if that was on disk when the collector began with it.
        var goodbye: UInt64?
        /// What was on disk when the collector began with it, until its agent has gone past that.
        var archived: RecordedSpool?
        /// What of it the present session has, or says of it that an earlier one has it.
        var told = SequenceSet()
        /// The newest sample of each track that was given out to be recorded although some of its message was on disk.
        var givenOut: [TrackKind: UInt64] = [:]
        /// What files lost that failed when their session had ended already: said in a ledger that need not be durable yet.
        var writtenOff = SequenceSet()
    }

    /// By source; each with the spool that was used last at the end.
    private var spools: [String: [Spool]] = [:]
    /// Whether any spool has something archived: only then is there anything to look up.
    private var hasArchived = false

    init() {}

    /// What an earlier collector has left on disk.
    /// - Parameter session: the session that goes on; its ledgers speak of everything that is on disk of its own spools.
    init(_ recorded: [String: [RecordedSpool]], session: RecoveredSession? = nil) {
        spools = recorded.mapValues { own in
            own.map {
                var spool = Spool(id: $0.spool, durable: $0.sequences)
                spool.goodbye = $0.hasGoodbye ? $0.goodbye : nil
                // Where everything up to the last record is there, agents go on behind it.
                spool.archived = $0.sequences.highest > 0 ? $0 : nil
                return spool
            }
        }
        hasArchived = spools.values.contains { $0.contains { $0.archived != nil } }
        for source in session?.sources ?? [] {
            for id in source.spools {
                change(source.entry.name, id) { $0.told = $0.archived?.sequences ?? $0.told }
            }
        }
        for source in Array(spools.keys) { forgetOldSpools(of: source) }
    }

    // MARK: What is durable

    /// The number up to which every record is durable; 0 for a spool never seen.
    func persisted(source: String, spool: SpoolID) -> UInt64 {
        self[source, spool]?.durable.watermark ?? 0
    }

    /// All that is durable of a spool.
    func durable(source: String, spool: SpoolID) -> SequenceSet {
        self[source, spool]?.durable ?? SequenceSet()
    }

    /// A spool that has not been seen before begins after `received`.
    mutating func begin(source: String, spool: SpoolID, received: UInt64) {
        guard self[source, spool] == nil else { return }
        spools[source, default: []].append(
            Spool(id: spool, durable: SequenceSet(upTo: received)))
        forgetOldSpools(of: source)
    }

    /// Notes that records are durable.
    /// - Returns: the spool's watermark, when it moved.
    mutating func insert(_ records: PersistedRecords) -> UInt64? {
        var own = spools[records.source, default: []]
        var spool =
            own.firstIndex { $0.id == records.spool }.map { own.remove(at: $0) }
            ?? Spool(id: records.spool)
        let before = spool.durable.watermark
        for range in records.sequences { spool.durable.insert(range) }
        let watermark = spool.durable.watermark
        own.append(spool)
        spools[records.source] = own
        forgetOldSpools(of: records.source)
        return watermark > before ? watermark : nil
    }

    /// A ledger is to say that records never will be on disk.
    mutating func writeOff(_ records: ClosedRange<UInt64>, of source: String, spool: SpoolID) {
        change(source, spool) { $0.writtenOff.insert(records) }
    }

    // MARK: What comes again

    /// A source goes on behind what is on disk of it, as if the collector had just been started.
    /// - Parameter recorded: what was found on disk of its spools; the present session has that.
    mutating func restart(_ source: String, recorded: [RecordedSpool]) {
        for index in spools[source]?.indices ?? 0..<0 {
            // All that was given out is on disk, or comes again.
            spools[source]?[index].givenOut = [:]
            let id = spools[source]?[index].id
            if !recorded.contains(where: { $0.spool == id }) {
                spools[source]?[index].archived = nil
            }
        }
        for found in recorded {
            if self[source, found.spool] == nil {
                spools[source, default: []].append(Spool(id: found.spool))
            }
            change(source, found.spool) { spool in
                var known = found
                known.sequences.formUnion(spool.durable)
                // Explained, though the line may not be durable yet.
                known.sequences.formUnion(spool.writtenOff)
                // Where nothing was to be looked up any more, everything was told.
                if spool.archived == nil { spool.told = known.sequences }
                spool.told.formUnion(found.sequences)
                spool.archived = known.sequences.highest > 0 ? known : nil
            }
        }
        hasArchived = true
        forgetOldSpools(of: source)
    }

    /// The spools of a source whose agent has not gone past what was on disk of them.
    func archivedSpools(of source: String) -> [SpoolID] {
        spools[source]?.filter { $0.archived != nil }.map(\.id) ?? []
    }

    /// Looks at samples that have come.
    mutating func judge(_ samples: Samples, of source: String, spool: SpoolID) -> Verdict {
        guard hasArchived, let own = self[source, spool], let archived = own.archived else {
            return .new
        }
        guard samples.firstSequence <= archived.sequences.highest else {
            // The first that is past all of it; from here on nothing has to be looked up.
            let rest = PartialMessage(
                ends: own.ends(of: TrackKind.allCases, before: samples.firstSequence, archived))
            change(source, spool) {
                $0.archived = nil
                $0.told = SequenceSet()
                $0.givenOut = [:]
            }
            return .partlyKnown([(samples, rest)], known: MediaAmount())
        }
        var verdict = Verdict.new
        change(source, spool) { verdict = $0.divide(samples, by: archived) }
        return verdict
    }

    /// The numbers of a record that are not on disk.
    func missing(
        _ sequences: ClosedRange<UInt64>, of source: String, spool: SpoolID
    ) -> [ClosedRange<UInt64>] {
        guard let archived = archived(source, spool) else { return [sequences] }
        return archived.sequences.missing(in: sequences)
    }

    /// Parts of a record that are on disk, and of which the present session says nothing yet: an earlier one has them.
    mutating func takeUntold(
        _ sequences: ClosedRange<UInt64>, of source: String, spool: SpoolID
    ) -> [ClosedRange<UInt64>] {
        guard let archived = archived(source, spool) else { return [] }
        var untold: [ClosedRange<UInt64>] = []
        change(source, spool) { own in
            var said = own.told
            for missing in archived.sequences.missing(in: sequences) { said.insert(missing) }
            untold = said.missing(in: sequences)
            for range in untold { own.told.insert(range) }
        }
        return untold
    }

    /// What the present session lacks of a spool in front of something that it has.
    func holes(of source: String, spool: SpoolID, behind last: UInt64) -> [ClosedRange<UInt64>] {
        guard archived(source, spool) != nil, let told = self[source, spool]?.told,
            told.highest > last
        else { return [] }
        return told.missing(in: last + 1...told.highest)
    }

    /// All that was on disk of a spool when the collector began with it, if its agent has not gone past that.
    func archivedSequences(of source: String, spool: SpoolID) -> SequenceSet {
        archived(source, spool)?.sequences ?? SequenceSet()
    }

    /// The next session has nothing yet.
    mutating func sessionEnded() {
        for source in spools.keys {
            for index in spools[source]?.indices ?? 0..<0 {
                spools[source]?[index].told = SequenceSet()
            }
        }
    }

    // MARK: Inside

    private subscript(source: String, spool: SpoolID) -> Spool? {
        spools[source]?.first { $0.id == spool }
    }

    private func archived(_ source: String, _ spool: SpoolID) -> RecordedSpool? {
        hasArchived ? self[source, spool]?.archived : nil
    }

    private mutating func change(
        _ source: String, _ spool: SpoolID, _ body: (inout Spool) -> Void
    ) {
        guard let place = spools.index(forKey: source),
            let index = spools.values[place].firstIndex(where: { $0.id == spool })
        else { return }
        body(&spools.values[place][index])
    }

    /// Of those whose agents have gone past what was on disk, the last are kept.
    private mutating func forgetOldSpools(of source: String) {
        guard var own = spools[source] else { return }
        var excess = own.count { $0.archived == nil } - Self.maximumSpoolsPerSource
        guard excess > 0 else { return }
        own.removeAll { spool in
            guard excess > 0, spool.archived == nil else { return false }
            excess -= 1
            return true
        }
        spools[source] = own
    }
}

extension DurableRecords: DurabilityLookup {
    func archived(source: String, spool: SpoolID) -> ArchivedRecords {
        guard let own = self[source, spool] else { return ArchivedRecords() }
        return ArchivedRecords(persisted: own.durable.watermark, goodbye: own.goodbye)
    }
}

extension DurableRecords.Spool {
    /// Where tracks stand before a record, if that is on disk: a track of which something was recorded since goes on behind it.
    fileprivate func ends(
        of tracks: [TrackKind], before sequence: UInt64, _ archived: RecordedSpool
    ) -> [TrackKind: TrackEnd] {
        var ends: [TrackKind: TrackEnd] = [:]
        for track in tracks {
            guard let (end, number) = archived.end(of: track, before: sequence) else { continue }
            let newest = givenOut[track] ?? 0
            if newest < number || newest >= sequence { ends[track] = end }
        }
        return ends
    }

    fileprivate mutating func divide(
        _ samples: Samples, by archived: RecordedSpool
    ) -> DurableRecords.Verdict {
        var parts: [(Samples, PartialMessage)] = []
        var amount = samples.amount
        var offset = 0
        var sequence = samples.firstSequence
        for run in samples.runs {
            let numbers = sequence...sequence + UInt64(run.count) - 1
            for missing in archived.sequences.missing(in: numbers) {
                let start = Int(missing.lowerBound - sequence)
                let range = start..<start + Int(missing.upperBound - missing.lowerBound) + 1
                var part = samples
                part.firstSequence = missing.lowerBound
                part.runs = [run.part(range)]
                let rest = PartialMessage(
                    offsetBytes: offset + run.sizes[..<start].reduce(0) { $0 + Int($1) },
                    ends: ends(of: [run.track], before: missing.lowerBound, archived))
                givenOut[run.track] = missing.upperBound
                parts.append((part, rest))
                amount -= part.amount
            }
            offset += run.sizeBytes
            sequence = numbers.upperBound + 1
        }
        return .partlyKnown(parts, known: amount)
    }
}

extension SampleRun {
    /// Some of the run's samples.
    fileprivate func part(_ range: Range<Int>) -> SampleRun {
        SampleRun(
            track: track, sizes: Array(sizes[range]), dtsNanoseconds: Array(dtsNanoseconds[range]),
            ptsOffsetsNanoseconds: ptsOffsetsNanoseconds.isEmpty
                ? [] : Array(ptsOffsetsNanoseconds[range]),
            durationsNanoseconds: durationsNanoseconds.count == 1
                ? durationsNanoseconds : Array(durationsNanoseconds[range]),
            flags: flags.count == 1 ? flags : Array(flags[range]))
    }
}
