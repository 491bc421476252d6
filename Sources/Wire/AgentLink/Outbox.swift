import Media

/// The records of one source that the collector does not have on disk yet: numbered, in order, and bounded.
struct Outbox<Payload: Sendable>: Sendable {
    /// A numbered record, as it will be sent, as often as need be.
    struct Record: Sendable {
        enum Content: Sendable {
            case samples(Samples, Payload)
            case gap(GapRecord)
            case format(TrackFormat)
            case goodbye
        }

        var sequences: ClosedRange<UInt64>
        var content: Content
        var header: [UInt8]
        var payloadBytes: Int

        var payload: Payload? {
            if case .samples(_, let payload) = content { payload } else { nil }
        }
        /// What it costs of the credit.
        var creditBytes: UInt64 { UInt64(payloadBytes) + WireLimits.recordCostBytes }
        /// Whether decoding can start with it.
        var beginsDecodable: Bool {
            if case .samples(let samples, _) = content { samples.beginsDecodable } else { true }
        }
    }

    let name: String
    private(set) var records: [Record] = []
    /// How many of ``records`` have been sent over the present connection.
    private(set) var sentCount = 0
    private(set) var nextSequence: UInt64 = 1
    private(set) var persisted: UInt64 = 0
    /// Formats in force at the oldest record that is kept.
    private(set) var baseFormats: [TrackFormat]
    private(set) var keptBytes = 0
    private(set) var lostSamples: UInt64 = 0
    private(set) var goodbye: UInt64?
    /// Credit as the collector grants it: counted from its Welcome.
    private var creditLimit: UInt64 = 0
    private var creditUsed: UInt64 = 0

    init(name: String, formats: [TrackFormat]) {
        self.name = name
        baseFormats = formats
    }

    /// The oldest record that is kept, or the next there will be.
    var firstSequence: UInt64 { records.first?.sequences.lowerBound ?? nextSequence }
    /// Whether the source has said goodbye and the collector has everything on disk.
    var isComplete: Bool { goodbye.map { persisted >= $0 } ?? false }
    /// Samples that are kept.
    var keptSamples: UInt64 {
        records.reduce(0) { total, record in
            if case .samples = record.content { return total + record.sequences.count64 }
            return total
        }
    }

    // MARK: Adding

    mutating func append(_ content: Record.Content, count: UInt64, header: (UInt64) -> [UInt8]) {
        precondition(goodbye == nil, "nothing follows a goodbye")
        let sequences = nextSequence...nextSequence + count - 1
        nextSequence += count
        var payloadBytes = 0
        if case .samples(let samples, _) = content { payloadBytes = samples.payloadSizeBytes }
        if case .gap(let gap) = content { lostSamples += gap.samples }
        if case .goodbye = content { goodbye = sequences.lowerBound }
        records.append(
            Record(
                sequences: sequences, content: content, header: header(sequences.lowerBound),
                payloadBytes: payloadBytes))
        keptBytes += payloadBytes
    }

    // MARK: Sending

    /// A connection has begun: everything that is not durable is sent again.
    mutating func resume(_ state: SourceState) {
        sentCount = 0
        creditUsed = 0
        creditLimit = state.creditLimitBytes
        forget(upTo: state.persisted)
    }

    /// The next record that the credit allows.
    mutating func nextToSend() -> Record? {
        guard sentCount < records.count else { return nil }
        let record = records[sentCount]
        guard creditUsed + record.creditBytes <= creditLimit else { return nil }
        creditUsed += record.creditBytes
        sentCount += 1
        return record
    }

    mutating func acknowledge(_ state: SourceState) {
        creditLimit = max(creditLimit, state.creditLimitBytes)
        forget(upTo: state.persisted)
    }

    /// Lets go of what is durable. A number in the middle of a record does not free it: records are never cut.
    private mutating func forget(upTo sequence: UInt64) {
        persisted = max(persisted, min(sequence, nextSequence - 1))
        let count = records.prefix { $0.sequences.upperBound <= persisted }.count
        guard count > 0 else { return }
        for record in records[..<count] {
            keptBytes -= record.payloadBytes
            if case .format(let format) = record.content { setBase(format) }
        }
        records.removeFirst(count)
        sentCount = max(0, sentCount - count)
    }

    private mutating func setBase(_ format: TrackFormat) {
        baseFormats.removeAll { $0.kind == format.kind }
        baseFormats.append(format)
        baseFormats.sort { $0.kind.rawValue < $1.kind.rawValue }
    }

    // MARK: Giving up

    /// Drops the oldest samples that are not on their way, up to the next record with which decoding can start, and puts
    /// one gap in their place, joined with the gap before it.
    ///
    /// - Parameters:
    ///   - source: the source's index, for the gap.
    ///   - encode: the gap's header.
    /// - Returns: how many samples were dropped; nil when there is nothing to drop.
    mutating func dropOldest(source: Int, encode: (GapRecord) -> [UInt8]) -> UInt64? {
        let isSamples = { (record: Record) in
            if case .samples = record.content { true } else { false }
        }
        guard let start = records[sentCount...].firstIndex(where: isSamples) else { return nil }
        var end = start + 1
        while end < records.count, isSamples(records[end]), !records[end].beginsDecodable {
            end += 1
        }
        var gap = Self.gap(standingFor: records[start..<end], source: source)
        let samples = gap.samples
        var place = start
        if start > sentCount, case .gap(let before) = records[start - 1].content,
            before.cause == .spoolFull
        {
            gap = before.joined(with: gap)
            place = start - 1
        }
        keptBytes -= records[start..<end].reduce(0) { $0 + $1.payloadBytes }
        lostSamples += samples
        records.replaceSubrange(
            place..<end,
            with: [
                Record(
                    sequences: gap.sequences, content: .gap(gap), header: encode(gap),
                    payloadBytes: 0)
            ])
        return samples
    }

    /// What the ledger has to know of dropped samples.
    private static func gap(standingFor dropped: ArraySlice<Record>, source: Int) -> GapRecord {
        var epoch: UInt32 = 0
        var start = Int64.max
        var end = Int64.min
        for record in dropped {
            guard case .samples(let samples, _) = record.content else { continue }
            epoch = samples.epoch
            for run in samples.runs {
                guard let first = run.dtsNanoseconds.first, let last = run.dtsNanoseconds.last
                else { continue }
                start = min(start, first)
                end = max(end, last + run.durationNanoseconds(at: run.count - 1))
            }
        }
        let first = dropped.first?.sequences.lowerBound ?? 1
        let last = dropped.last?.sequences.upperBound ?? first
        return GapRecord(
            source: source, sequences: first...last, track: nil, cause: .spoolFull, epoch: epoch,
            startNanoseconds: start, durationNanoseconds: max(0, end - start),
            samples: last - first + 1,
            text: "the collector was away for longer than the box's memory lasts")
    }
}

extension ClosedRange<UInt64> {
    fileprivate var count64: UInt64 { upperBound - lowerBound + 1 }
}

extension GapRecord {
    /// One gap for two that follow each other.
    fileprivate func joined(with next: GapRecord) -> GapRecord {
        var joined = self
        joined.sequences = sequences.lowerBound...next.sequences.upperBound
        joined.durationNanoseconds =
            next.startNanoseconds + next.durationNanoseconds - startNanoseconds
        joined.samples += next.samples
        return joined
    }
}
