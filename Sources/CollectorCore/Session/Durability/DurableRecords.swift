import Archive
import Media
import Wire

/// The durable records of every source, by spool: the only authority about them.
///
/// A durable record is on disk, in a file or as a ledger line, or the ledger has the reason why it never will be. A record that
/// was reported as durable stays so.
///
/// It outlives sessions, because the last acknowledgement of a source is due after its session has ended. It also keeps
/// the records that were on disk when the collector began with a spool, for as long as agents may send them again. An
/// agent resumes after the watermark, and later records may be on disk too: audio waits for pictures, ledger lines wait
/// for nothing, and a message may have been divided between two fragments.
///
/// With the policy ``ReleasePolicy/stored`` it also tracks the records in the object store: those of proven segments,
/// and those of stored ledger lines. An agent may delete a record when it is both durable and stored.
struct DurableRecords: Sendable {
    /// The state of a message with samples.
    enum Verdict: Sendable {
        /// None of it is on disk.
        case new
        /// These parts of it are to be recorded; the amount `known` is already on disk.
        case partlyKnown([(Samples, PartialMessage)], known: MediaAmount)
    }

    /// An agent has a new spool at every start until it keeps one on disk; older ones practically never come back.
    private static let maximumSpoolsPerSource = 8
    /// With ``ReleasePolicy/stored``, an agent returns with every unreleased spool, one per boot. Without their state,
    /// their samples would be recorded a second time.
    static let maximumUnreleasedSpools = 256

    fileprivate struct Spool: Sendable {
        let id: SpoolID
        var durable = SequenceSet()
        /// Those of them that are not on disk here, because another collector holds them or they are lost everywhere.
        var absent = SequenceSet()
        /// The records that the object store has, or need not have; may temporarily exceed ``durable``.
        var stored = SequenceSet()
        /// The number of its Goodbye, if known: it was on disk when the collector began with the spool, or, with
        /// ``ReleasePolicy/stored``, it has arrived since.
        var goodbye: UInt64?
        /// The highest term under which it was sent.
        var term: UInt64 = 0
        /// The records that were on disk when the collector began with the spool, until its agent has passed them.
        var archived: RecordedSpool?
        /// The records that the present session has, or that its ledger attributes to an earlier session.
        var reported = SequenceSet()
        /// The newest sample of each track that was passed on to be recorded although part of its message was on disk.
        var givenOut: [TrackKind: UInt64] = [:]
        /// Records lost in files that failed after their session had ended: a ledger records them, in a line that need not be
        /// durable yet.
        var writtenOff = SequenceSet()
    }

    /// By source; the most recently used spool is last.
    private var spools: [String: [Spool]] = [:]
    /// Whether any spool has archived records; otherwise no lookup is needed.
    private var hasArchived = false
    private let policy: ReleasePolicy

    init(policy: ReleasePolicy = .local) { self.policy = policy }

    /// Takes over the records that an earlier collector left on disk.
    /// - Parameter session: the resumed session, with the records it accounts for.
    init(
        _ recorded: [String: [RecordedSpool]], session: RecoveredSession? = nil,
        policy: ReleasePolicy = .local
    ) {
        self.policy = policy
        spools = recorded.mapValues { own in
            own.map {
                var spool = Spool(id: $0.spool, durable: $0.sequences)
                spool.goodbye = $0.hasGoodbye ? $0.goodbye : nil
                spool.term = $0.term
                spool.absent = $0.held
                // If every record up to the last one is on disk, agents continue after it.
                spool.archived = $0.sequences.highest > 0 ? $0 : nil
                return spool
            }
        }
        hasArchived = spools.values.contains { $0.contains { $0.archived != nil } }
        for source in session?.sources ?? [] {
            for id in source.spools {
                // Not all records on disk: an earlier session may have some before the first one here, and lower ones
                // may follow.
                change(source.entry.name, id) {
                    $0.reported = source.accounted[id] ?? $0.archived?.sequences ?? $0.reported
                }
            }
        }
        for source in Array(spools.keys) { forgetOldSpools(of: source) }
    }

    // MARK: Durable records

    /// The number up to which every record is durable; 0 for an unknown spool.
    func persisted(source: String, spool: SpoolID) -> UInt64 {
        self[source, spool]?.durable.watermark ?? 0
    }

    /// All durable records of a spool.
    func durable(source: String, spool: SpoolID) -> SequenceSet {
        self[source, spool]?.durable ?? SequenceSet()
    }

    /// The durable records of a spool in a range that are, or were, on disk here.
    func onDisk(
        of source: String, spool: SpoolID, in range: ClosedRange<UInt64>
    ) -> [ClosedRange<UInt64>] {
        self[source, spool]?.present.present(in: range) ?? []
    }

    /// The records of all spools that are on disk here, by source; with ``ReleasePolicy/stored``, also those that the
    /// object store has.
    var held: [(source: String, spool: SpoolID, durable: SequenceSet, stored: SequenceSet?)] {
        spools.keys.sorted().flatMap { source in
            (spools[source] ?? []).map {
                (source, $0.id, $0.present, policy.waitsForStore ? $0.stored : nil)
            }.filter { $0.2.highest > 0 }
        }
    }

    /// Records count as durable although they are not on disk here: another collector holds them, or no agent has them.
    mutating func note(absent records: ClosedRange<UInt64>, source: String, spool: SpoolID) {
        change(source, spool) { $0.absent.insert(records) }
    }

    /// Registers a new spool that begins after `received`.
    /// - Parameter missing: earlier records that are lost everywhere, and are not waited for.
    mutating func begin(
        source: String, spool: SpoolID, received: UInt64, missing: ClosedRange<UInt64>? = nil
    ) {
        guard self[source, spool] == nil else { return }
        var new = Spool(id: spool, durable: SequenceSet(upTo: received))
        if let missing { new.stored.insert(missing) }
        spools[source, default: []].append(new)
        forgetOldSpools(of: source)
    }

    /// A spool is sent under a term.
    mutating func note(term: UInt64, source: String, spool: SpoolID) {
        change(source, spool) { $0.term = max($0.term, term) }
    }

    // MARK: Records in the object store

    /// The number up to which every record of a spool is in the object store, or need not be; 0 for an unknown spool.
    func stored(source: String, spool: SpoolID) -> UInt64 {
        self[source, spool]?.stored.watermark ?? 0
    }

    /// Adds records of the object store. Those of an unknown spool are ignored: its agent sends all its records.
    /// - Returns: whether any of them is new.
    mutating func insertStored(_ records: SequenceSet, source: String, spool: SpoolID) -> Bool {
        guard policy.waitsForStore else { return false }
        var hasMoved = false
        change(source, spool) { own in
            let before = own.stored
            own.stored.formUnion(records)
            hasMoved = own.stored != before
        }
        return hasMoved
    }

    /// Excludes records from the object store that are in no file and in no ledger. Durable records are in one, and
    /// wait for its upload.
    /// - Returns: whether any of them is new.
    mutating func forgo(_ records: PersistedRecords) -> Bool {
        var nowhere = SequenceSet()
        let durable = durable(source: records.source, spool: records.spool)
        for range in records.sequences {
            for missing in durable.missing(in: range) { nowhere.insert(missing) }
        }
        return insertStored(nowhere, source: records.source, spool: records.spool)
    }

    /// A spool ends with this record, as soon as it is durable.
    mutating func noteGoodbye(_ sequence: UInt64, source: String, spool: SpoolID) {
        guard policy.waitsForStore else { return }
        change(source, spool) { $0.goodbye = sequence }
    }

    /// Adds durable records.
    /// - Returns: the spool's watermark, if it moved.
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

    /// The ledger is about to record that records will never be on disk.
    mutating func writeOff(_ records: ClosedRange<UInt64>, of source: String, spool: SpoolID) {
        change(source, spool) { $0.writtenOff.insert(records) }
    }

    /// The records up to one that are neither durable nor written off.
    func unaccounted(
        through last: UInt64, of source: String, spool: SpoolID
    ) -> [ClosedRange<UInt64>] {
        (self[source, spool]?.accounted ?? SequenceSet()).missing(in: 1...last)
    }

    // MARK: Repeated records

    /// A source continues after its records on disk, as if the collector had just been started.
    /// - Parameter recorded: the records found on disk of its spools; the present session has them.
    mutating func restart(_ source: String, recorded: [RecordedSpool]) {
        for found in recorded where self[source, found.spool] == nil {
            spools[source, default: []].append(Spool(id: found.spool))
        }
        for id in spools[source]?.map(\.id) ?? [] {
            let found = recorded.first { $0.spool == id }
            change(source, id) { $0.restart(found) }
        }
        hasArchived = true
        forgetOldSpools(of: source)
    }

    /// The spools of a source whose agent has not passed the records that were on disk.
    func archivedSpools(of source: String) -> [SpoolID] {
        spools[source]?.filter { $0.archived != nil }.map(\.id) ?? []
    }

    /// Classifies received samples.
    mutating func judge(_ samples: Samples, of source: String, spool: SpoolID) -> Verdict {
        guard hasArchived, let own = self[source, spool], let archived = own.archived else {
            return .new
        }
        guard samples.firstSequence <= archived.sequences.highest else {
            // The first samples after all archived records; no further lookup is needed.
            let rest = PartialMessage(
                ends: own.ends(of: TrackKind.allCases, before: samples.firstSequence, archived))
            change(source, spool) {
                $0.archived = nil
                $0.reported = SequenceSet()
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

    /// The parts of a record that are on disk in an earlier session, and that the present session does not account for
    /// yet.
    mutating func takeUnreported(
        _ sequences: ClosedRange<UInt64>, of source: String, spool: SpoolID
    ) -> [ClosedRange<UInt64>] {
        guard let archived = archived(source, spool) else { return [] }
        var unreported: [ClosedRange<UInt64>] = []
        change(source, spool) { own in
            var known = own.reported
            for missing in archived.sequences.missing(in: sequences) { known.insert(missing) }
            unreported = known.missing(in: sequences)
            for range in unreported { own.reported.insert(range) }
        }
        return unreported
    }

    /// Records of a spool that the present session lacks before a record that it has.
    func holes(of source: String, spool: SpoolID, behind last: UInt64) -> [ClosedRange<UInt64>] {
        guard archived(source, spool) != nil, let reported = self[source, spool]?.reported,
            reported.highest > last
        else { return [] }
        return reported.missing(in: last + 1...reported.highest)
    }

    /// The records of a spool that were on disk when the collector began with it, and that the present session accounts for,
    /// if its agent has not passed them. Others are in earlier sessions, whose descriptions count them.
    func reportedSequences(of source: String, spool: SpoolID) -> SequenceSet {
        archived(source, spool) == nil
            ? SequenceSet() : self[source, spool]?.reported ?? SequenceSet()
    }

    /// The next session has no records yet.
    mutating func sessionEnded() {
        for source in spools.keys {
            for index in spools[source]?.indices ?? 0..<0 {
                spools[source]?[index].reported = SequenceSet()
            }
        }
    }

    // MARK: Implementation

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

    /// Keeps the latest of the spools whose agents have passed the archived records, and all that are not released.
    private mutating func forgetOldSpools(of source: String) {
        guard var own = spools[source] else { return }
        let passed = own.count { $0.archived == nil }
        var excess = passed - Self.maximumSpoolsPerSource
        guard excess > 0 else { return }
        let isCrowded = passed > Self.maximumUnreleasedSpools
        let newest = own.last?.id
        own.removeAll { spool in
            // The newest spool has nothing to release yet.
            guard excess > 0, spool.archived == nil, spool.id != newest else { return false }
            if policy.waitsForStore, !isCrowded, !spool.isReleased { return false }
            excess -= 1
            return true
        }
        spools[source] = own
    }
}

extension DurableRecords: DurabilityLookup {
    /// No agent has records before `keptFrom`: those are not waited for, although they may still be uploaded.
    func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64? {
        guard policy.waitsForStore else { return nil }
        guard let own = self[source, spool] else { return 0 }
        let first = max(keptFrom, 1)
        let durable = own.durable.watermark
        guard first <= durable else { return durable }
        return (own.stored.firstMissing(in: first...durable) ?? durable + 1) - 1
    }

    func archived(source: String, spool: SpoolID) -> ArchivedRecords {
        guard let own = self[source, spool] else { return ArchivedRecords() }
        let persisted = own.durable.watermark
        let goodbye = own.goodbye.flatMap { $0 <= persisted || !policy.waitsForStore ? $0 : nil }
        return ArchivedRecords(persisted: persisted, goodbye: goodbye, term: own.term)
    }
}

extension DurableRecords.Spool {
    /// Durable, and on disk here.
    fileprivate var present: SequenceSet {
        guard absent.highest > 0 else { return durable }
        var present = SequenceSet()
        for range in durable.ranges {
            for part in absent.missing(in: range) { present.insert(part) }
        }
        return present
    }

    /// Durable or written off, although the line may not be durable yet.
    fileprivate var accounted: SequenceSet {
        var all = durable
        all.formUnion(writtenOff)
        return all
    }

    /// - Parameter found: the present session's records on disk; nil: none. Earlier sessions may have later records
    ///   than some that they lack.
    fileprivate mutating func restart(_ found: RecordedSpool?) {
        // Everything that was passed on is on disk, or will be sent again.
        givenOut = [:]
        var known = found ?? RecordedSpool(spool: id, sequences: SequenceSet())
        known.sequences.formUnion(accounted)
        absent.formUnion(known.held)
        // If nothing was left to look up, everything was accounted for.
        if archived == nil { reported = known.sequences }
        if let found { reported.formUnion(found.sequences) }
        let isLookedUp =
            found != nil || archived != nil || known.sequences.highest > durable.watermark
        archived = isLookedUp && known.sequences.highest > 0 ? known : nil
    }

    /// Whether the object store has everything that is durable.
    fileprivate var isReleased: Bool {
        durable.highest == 0 || stored.firstMissing(in: 1...durable.highest) == nil
    }

    /// The end of each track before a record, if that record is on disk: tracks that were recorded since continue
    /// there.
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
    fileprivate func part(_ range: Range<Int>) -> SampleRun {
        SampleRun(
            track: track, sizes: Array(sizes[range]), dtsNanoseconds: Array(dtsNanoseconds[range]),
            ptsOffsetsNanoseconds: ptsOffsetsNanoseconds.isEmpty
                ? [] : Array(ptsOffsetsNanoseconds[range]),
            durationsNanoseconds: durationsNanoseconds.count == 1
                ? durationsNanoseconds : Array(durationsNanoseconds[range]),
            flags: flags.count == 1 ? flags : Array(flags[range]), camera: camera?.part(range))
    }
}
