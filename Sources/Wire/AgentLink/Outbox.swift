package import Media
import Spooling

/// The records of one source that the collector has not released yet: numbered, ordered and bounded.
///
/// Two watermarks. Records up to `persisted` are on the collector's disk: they are not sent, unless a later collector has less.
/// Records up to `released` are not kept.
struct Outbox<Payload: Sendable>: Sendable {
    typealias Record = KeptRecord<Payload>

    let name: String
    var records: [Record] = []
    /// Number of ``records`` sent over the present connection.
    var sentCount = 0
    var nextSequence: UInt64
    /// The last record on the collector's disk. Another collector may have less, but not less than ``released``.
    private(set) var persisted: UInt64
    /// The last deleted record: the collector has released it, or it was deleted for lack of space.
    private(set) var released: UInt64
    /// Formats in force at the record that is sent first: the one after ``persisted``.
    var baseFormats: [TrackFormat]
    /// Formats in force at the oldest of ``records``.
    private(set) var oldestFormats: [TrackFormat]
    /// Formats in force at the next record.
    private var newestFormats: [TrackFormat]
    /// Payload of ``records``.
    private var payloadBytes = 0
    /// Number and payload of ``records`` that are persisted and not released. None with a window: they are on the disk.
    private var durable = (count: 0, payloadBytes: 0)
    /// Memory of the records: payloads, headers and overhead.
    var memoryBytes = 0
    var lostSamples: UInt64 = 0
    var goodbye: UInt64?
    /// Credit limit as granted by the collector, counted from its Welcome.
    private var creditLimit: UInt64 = 0
    private var creditUsed: UInt64 = 0
    /// Records up to this one may be at the collector: they must not change.
    var fixedUpTo: UInt64 = 0
    /// The last record that any collector has reported.
    private(set) var mostReceived: UInt64 = 0
    /// Payload bytes of the records that have been sent over the present connection and are not durable.
    private var inFlightBytes = 0
    /// Nil: ``records`` are all kept records. Otherwise they are a contiguous part, and the rest is on a disk.
    let window: RecordWindow?
    /// The number after the last of ``records``.
    var windowEnd: UInt64
    private var pacer = DrainPacer()
    /// No more records follow.
    private(set) var isRetired = false
    /// Payload bytes on the disk, as its owner reports.
    var storedBytes = 0
    private let hasVideo: Bool
    private var newestGroup = NewestGroup()
    /// The records that may be sent.
    var schedule: SendSchedule
    /// Maximum delay for a watched source; 0: not watched, or unknown.
    var watchMilliseconds: UInt32 = 0

    /// - Parameters:
    ///   - formats: those in force at the oldest record.
    ///   - window: nil: everything is kept in memory.
    ///   - kept: records that are already on the disk, and the formats in force after them.
    init(
        name: String, formats: [TrackFormat], window: RecordWindow? = nil,
        kept: (sequences: Range<UInt64>, newestFormats: [TrackFormat])? = nil
    ) {
        self.name = name
        self.window = window
        baseFormats = formats
        oldestFormats = formats
        newestFormats = kept?.newestFormats ?? formats
        hasVideo = formats.contains { $0.kind == .video }
        nextSequence = kept?.sequences.upperBound ?? 1
        windowEnd = kept?.sequences.lowerBound ?? 1
        persisted = windowEnd - 1
        released = windowEnd - 1
        schedule = SendSchedule(newest: nextSequence - 1)
    }

    /// The oldest record in memory, or the next one.
    var firstSequence: UInt64 { records.first?.sequences.lowerBound ?? windowEnd }
    /// The oldest record that is kept, in memory or on the disk; or the next one.
    var firstKept: UInt64 { min(firstSequence, released + 1) }
    /// Payload in memory that is not on the collector's disk.
    var keptBytes: Int { payloadBytes - durable.payloadBytes }
    /// Whether no more records follow and none has to be kept.
    var isComplete: Bool { hasReachedEnd(released) }
    /// Whether no more records follow and the collector has everything on disk.
    var isPersisted: Bool { hasReachedEnd(persisted) }

    private func hasReachedEnd(_ watermark: UInt64) -> Bool {
        if let goodbye { return watermark >= goodbye }
        return isRetired && watermark + 1 >= nextSequence
    }

    /// Number of kept samples; with a disk, of records of any kind.
    var keptSamples: UInt64 {
        guard window == nil else { return nextSequence - 1 - min(persisted, nextSequence - 1) }
        return records[durable.count...].reduce(0) { total, record in
            record.isSamples ? total + record.sequences.count64 : total
        }
    }
    /// Number of records of any kind that are on the collector's disk and have to be kept.
    var unreleasedRecords: UInt64 { persisted - min(released, persisted) }
    /// Number of the newest record. If the agent's spool has lost its own numbers: at least the collector's.
    var newestSequence: UInt64 { isRetired ? max(nextSequence - 1, fixedUpTo) : nextSequence - 1 }

    // MARK: Adding

    mutating func append(_ record: Record) {
        precondition(goodbye == nil && !isRetired, "nothing follows a goodbye")
        precondition(record.sequences.lowerBound == nextSequence, "numbers have no holes")
        let isContiguous = windowEnd == nextSequence
        nextSequence = record.sequences.upperBound + 1
        switch record.content {
        case .samples: break
        case .gap(let gap): lostSamples += gap.samples
        case .format(let format): newestFormats = newestFormats.replacing(format)
        case .goodbye: goodbye = record.sequences.lowerBound
        }
        if let window {
            guard isContiguous, memoryBytes + record.memoryBytes <= window.memoryBytes else {
                return
            }
        }
        windowEnd = nextSequence
        insert([record], at: records.count..<records.count)
    }

    /// No more records follow: the kept records are sent, and then the outbox is complete.
    mutating func retire() { isRetired = true }

    /// Replaces records, and updates the byte counts.
    mutating func insert(_ new: [Record], at range: Range<Int>) {
        for record in records[range] {
            payloadBytes -= record.payloadBytes
            memoryBytes -= record.memoryBytes
        }
        for record in new {
            payloadBytes += record.payloadBytes
            memoryBytes += record.memoryBytes
        }
        records.replaceSubrange(range, with: new)
    }

    // MARK: Sending

    /// A connection has begun: everything that is not durable is sent again. It may be another collector than before, whose disk
    /// has less.
    mutating func resume(_ state: SourceState) {
        let start = max(min(state.persisted, nextSequence - 1), released)
        if start < persisted || lacksRecords(after: start, received: state.received) {
            goBack(to: start)
        }
        sentCount = durable.count
        inFlightBytes = 0
        creditUsed = 0
        creditLimit = state.creditLimitBytes
        // Records that were in flight and did not arrive were lost with the connection.
        fixedUpTo = state.received
        mostReceived = max(mostReceived, state.received)
        watchMilliseconds = state.watchMilliseconds
        // Records that waited for the collector are sent now.
        schedule.release(through: nextSequence - 1)
        persist(through: start)
        release(through: state.released ?? state.persisted)
        trimGaps()
    }

    /// Whether there is a hole in memory: a gap was shortened to what an earlier collector had received (``trimGaps()``), which may be
    /// more than the present one has.
    private func lacksRecords(after start: UInt64, received: UInt64) -> Bool {
        guard window != nil else { return false }
        var next = start + 1
        for record in records {
            let first = record.sequences.lowerBound
            if first > next, first - 1 > received { return true }
            next = max(next, record.sequences.upperBound + 1)
        }
        return false
    }

    /// The collector has less than an earlier one had: the records still kept are sent again.
    private mutating func goBack(to start: UInt64) {
        persisted = start
        guard window == nil else {
            // Read from the disk again; the formats come with them.
            insert([], at: 0..<records.count)
            windowEnd = start + 1
            return
        }
        durable = (0, 0)
        baseFormats = oldestFormats
        coverDurable()
    }

    /// The next record that the credit allows.
    mutating func nextToSend(now: Int64) -> Record? {
        guard sentCount < records.count else { return nil }
        let record = records[sentCount]
        guard record.sequences.upperBound <= schedule.releasedThrough else { return nil }
        guard creditUsed + record.creditBytes <= creditLimit else { return nil }
        if let window {
            guard inFlightBytes == 0 || inFlightBytes + record.payloadBytes <= window.inFlightBytes
            else { return nil }
            if let time = record.samples?.runs.first?.dtsNanoseconds.first {
                guard pacer.admits(mediaNanoseconds: time, now: now) else { return nil }
            }
        }
        creditUsed += record.creditBytes
        inFlightBytes += record.payloadBytes
        sentCount += 1
        fixedUpTo = max(fixedUpTo, record.sequences.upperBound)
        return record
    }

    mutating func acknowledge(_ state: SourceState) {
        creditLimit = max(creditLimit, state.creditLimitBytes)
        watchMilliseconds = state.watchMilliseconds
        persist(through: state.persisted)
        release(through: state.released ?? state.persisted)
    }

    /// Records are on the collector's disk: they are not sent any more. A number in the middle of a record does not
    /// cover it: records are never split.
    private mutating func persist(through sequence: UInt64) {
        persisted = max(persisted, min(sequence, nextSequence - 1))
        let before = durable.count
        coverDurable()
        for record in records[before..<max(before, min(durable.count, sentCount))] {
            inFlightBytes -= record.payloadBytes
        }
        sentCount = max(sentCount, durable.count)
        if window != nil { forgetDurable(durable.count) }
        guard records.isEmpty, windowEnd <= persisted else { return }
        // The collector has more than has been read from the disk since the start.
        windowEnd = persisted + 1
        if windowEnd == nextSequence { baseFormats = newestFormats }
    }

    /// Counts the persisted records in memory, and advances the base formats past them.
    private mutating func coverDurable() {
        for record in records[durable.count...] {
            guard record.sequences.upperBound <= persisted else { return }
            durable.count += 1
            durable.payloadBytes += record.payloadBytes
            if case .format(let format) = record.content {
                baseFormats = baseFormats.replacing(format)
            }
        }
    }

    /// Records need not be kept.
    private mutating func release(through sequence: UInt64) {
        released = max(released, min(sequence, persisted))
        forgetDurable(records.prefix { $0.sequences.upperBound <= released }.count)
    }

    /// Removes this many of the first persisted records from memory.
    private mutating func forgetDurable(_ count: Int) {
        let count = min(count, durable.count)
        guard count > 0 else { return }
        for record in records[..<count] {
            durable.payloadBytes -= record.payloadBytes
            if case .format(let format) = record.content {
                oldestFormats = oldestFormats.replacing(format)
            }
        }
        durable.count -= count
        sentCount -= count
        insert([], at: 0..<count)
    }

    // MARK: Dropping

    /// Deletes the oldest record in memory that is persisted and not released, for lack of space: it is lost only with
    /// the collector's disk.
    /// - Returns: whether there was one.
    mutating func forgetOldestDurable() -> Bool {
        guard durable.count > 0 else { return false }
        released = max(released, records[0].sequences.upperBound)
        forgetDurable(1)
        return true
    }

    /// Records up to this one, all of them persisted, were deleted from the disk for lack of space.
    mutating func forgot(through sequence: UInt64) { release(through: sequence) }

    /// Drops the oldest samples that no collector can have, up to the next record at which decoding can start, and
    /// replaces them with a gap, joined with a preceding gap. Formats, other gaps and a Goodbye in between are kept.
    ///
    /// If only gaps remain, they become one.
    /// - Parameters:
    ///   - source: the source's index, for the gap.
    ///   - encode: the gap's header.
    /// - Returns: number of dropped samples; nil if nothing can be dropped.
    mutating func dropOldest(source: Int, encode: (GapRecord) -> [UInt8]) -> UInt64? {
        guard let range = oldestGroup() else {
            joinGaps(encode: encode)
            return nil
        }
        var samples: UInt64 = 0
        replace(range, encode: encode) { record, before in
            if record.isSamples {
                let gap = Self.gap(standingFor: record, source: source)
                samples += gap.samples
                return before.flatMap { $0.cause == .spoolFull ? $0.joined(with: gap) : nil } ?? gap
            }
            guard case .gap(let gap) = record.content, let before,
                before.cause == .spoolFull, gap.cause == .spoolFull
            else { return nil }
            return before.joined(with: gap)
        }
        lostSamples += samples
        return samples
    }

    /// Drops the newest record's samples if the start of their group was dropped.
    mutating func skipIfUndecodable(
        source: Int, encode: (GapRecord) -> [UInt8]
    ) -> UInt64? {
        guard let newest = records.last, newest.isSamples,
            newestGroup.drops(canBeDecoded: newest.beginsWithKeyframe)
        else { return nil }
        let place = max(firstFree, records.count - 2)
        let gap = Self.gap(standingFor: newest, source: source)
        replace(place..<records.count, encode: encode) { record, before in
            guard record.isSamples else { return nil }
            return before.flatMap { $0.cause == .spoolFull ? $0.joined(with: gap) : nil } ?? gap
        }
        lostSamples += gap.samples
        return gap.samples
    }

    /// Joins consecutive gaps into one, whatever their causes.
    private mutating func joinGaps(encode: (GapRecord) -> [UInt8]) {
        replace(firstFree..<records.count, encode: encode) { record, before in
            guard case .gap(let gap) = record.content, let before else { return nil }
            return before.joined(with: gap)
        }
    }

    /// Lets `change` replace each record with a gap; a gap that begins where the previous one begins replaces that one too.
    private mutating func replace(
        _ range: Range<Int>, encode: (GapRecord) -> [UInt8],
        _ change: (_ record: Record, _ before: GapRecord?) -> GapRecord?
    ) {
        var result: [Record] = []
        // Indices of changed gaps: their headers are encoded once, at the end.
        var changed: Set<Int> = []
        for record in records[range] {
            var before: GapRecord?
            if case .gap(let gap)? = result.last?.content { before = gap }
            guard let gap = change(record, before) else {
                result.append(record)
                continue
            }
            if gap.sequences.lowerBound < record.sequences.lowerBound { result.removeLast() }
            changed.insert(result.count)
            result.append(
                Record(sequences: gap.sequences, content: .gap(gap), header: []))
        }
        for place in changed {
            if case .gap(let gap) = result[place].content { result[place].header = encode(gap) }
        }
        insert(result, at: range)
    }

    /// Index of the first record that no collector can have.
    private var firstFree: Int {
        var place = sentCount
        while place < records.count, records[place].sequences.lowerBound <= fixedUpTo { place += 1 }
        return place
    }

    /// Indices of the records to drop next, including a gap directly before them.
    private mutating func oldestGroup() -> Range<Int>? {
        let free = firstFree
        guard let first = records[free...].firstIndex(where: \.isSamples) else { return nil }
        let end = records[(first + 1)...].firstIndex { record in
            hasVideo ? record.beginsWithKeyframe : record.isSamples
        }
        if end == nil, hasVideo { newestGroup.dropBeginning() }
        return max(free, first - 1)..<(end ?? records.count)
    }

    /// The gap that replaces dropped samples.
    private static func gap(standingFor record: Record, source: Int) -> GapRecord {
        guard case .samples(let samples, _) = record.content else {
            preconditionFailure("only samples are dropped")
        }
        var start = Int64.max
        var end = Int64.min
        for run in samples.runs {
            guard let first = run.dtsNanoseconds.first, let last = run.dtsNanoseconds.last
            else { continue }
            start = min(start, first)
            end = max(end, last + run.durationNanoseconds(at: run.count - 1))
        }
        return GapRecord(
            source: source, sequences: record.sequences, track: nil, cause: .spoolFull,
            epoch: samples.epoch, startNanoseconds: start,
            durationNanoseconds: max(0, end - start), samples: record.sequences.count64,
            text: "the collector was away for longer than the box's memory lasts")
    }
}

extension [TrackFormat] {
    /// The formats after one has changed.
    package func replacing(_ format: TrackFormat) -> [TrackFormat] {
        (filter { $0.kind != format.kind } + [format]).sorted {
            $0.kind.rawValue < $1.kind.rawValue
        }
    }
}

extension ClosedRange<UInt64> {
    fileprivate var count64: UInt64 { upperBound - lowerBound + 1 }
}

extension GapRecord {
    /// One gap for two consecutive ones; of two causes, the full memory is the reason why they were joined.
    fileprivate func joined(with next: GapRecord) -> GapRecord {
        precondition(next.sequences.lowerBound == sequences.upperBound + 1, "gaps are consecutive")
        let end = max(
            startNanoseconds + durationNanoseconds,
            next.startNanoseconds + next.durationNanoseconds)
        var joined = self
        joined.sequences = sequences.lowerBound...next.sequences.upperBound
        joined.startNanoseconds = min(startNanoseconds, next.startNanoseconds)
        joined.durationNanoseconds = min(
            end - joined.startNanoseconds, WireLimits.gapNanoseconds)
        joined.samples += next.samples
        if track != next.track { joined.track = nil }
        if cause != next.cause {
            joined.cause = .spoolFull
            joined.text = "several losses, joined because the box's memory was full"
        }
        return joined
    }
}
