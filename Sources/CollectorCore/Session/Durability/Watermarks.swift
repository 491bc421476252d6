import Archive

/// Which records of which spool are durable.
struct Watermarks: Sendable {
    /// An agent has a new spool at every start until it keeps one on disk; older ones never come back in practice.
    private static let maximumSpoolsPerSource = 8

    private struct Spool: Sendable {
        var identity: [UInt8]
        var sequences: SequenceSet
    }

    /// By source; each with the spool used last at the end.
    private var spools: [String: [Spool]] = [:]

    init() {}

    /// What an earlier collector has left on disk.
    init(_ recorded: [String: [RecordedSpool]]) {
        spools = recorded.mapValues { own in
            own.suffix(Self.maximumSpoolsPerSource).map {
                Spool(identity: $0.spool, sequences: $0.sequences)
            }
        }
    }

    /// The number up to which every record is durable; 0 for a spool never seen.
    func persisted(source: String, spool: [UInt8]) -> UInt64 {
        spools[source]?.first { $0.identity == spool }?.sequences.watermark ?? 0
    }

    /// All that is durable of a spool.
    func durable(source: String, spool: [UInt8]) -> SequenceSet {
        spools[source]?.first { $0.identity == spool }?.sequences ?? SequenceSet()
    }

    /// A spool that has not been seen before begins after `received`.
    mutating func begin(source: String, spool: [UInt8], received: UInt64) {
        var own = spools[source, default: []]
        guard !own.contains(where: { $0.identity == spool }) else { return }
        own.append(Spool(identity: spool, sequences: SequenceSet(upTo: received)))
        if own.count > Self.maximumSpoolsPerSource { own.removeFirst() }
        spools[source] = own
    }

    /// Notes that records are durable.
    /// - Returns: the spool's watermark, when it moved.
    mutating func insert(_ records: PersistedRecords) -> UInt64? {
        var own = spools[records.source, default: []]
        let index = own.firstIndex { $0.identity == records.spool }
        var spool =
            index.map { own.remove(at: $0) }
            ?? Spool(identity: records.spool, sequences: SequenceSet())
        let before = spool.sequences.watermark
        for range in records.sequences { spool.sequences.insert(range) }
        own.append(spool)
        if own.count > Self.maximumSpoolsPerSource { own.removeFirst() }
        spools[records.source] = own
        return spool.sequences.watermark > before ? spool.sequences.watermark : nil
    }
}
