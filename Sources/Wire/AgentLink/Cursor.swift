package import Media

/// The position of one collector in the log of one source: sent, persisted and released records, credit, and the schedule of
/// sending.
///
/// Two watermarks: records up to `persisted` are on the collector's disk, and are not sent, unless a later collector has fewer.
/// Records up to `released` need not be kept for this collector.
///
/// The log stores the records. The next records to send are also here, by reference: a contiguous part, which ends when the
/// window is full, and is extended by reading the log.
package struct Cursor<Payload: Sendable>: Sendable {
    typealias Record = KeptRecord<Payload>

    /// Records are read ahead of sending, so that a disk is read in files and not in records.
    private static var readAheadBytes: Int { 1 << 20 }

    let name: String
    /// The records that are sent next, and those in flight.
    private(set) var records: [Record] = []
    /// How many of ``records`` have been sent over the present connection.
    private(set) var sentCount = 0
    /// The number after the log's last record.
    private(set) var nextSequence: UInt64
    /// The last record on the collector's disk. Another collector may have less, but not less than ``released``.
    package private(set) var persisted: UInt64
    /// The last record that is not kept any more: the collector has released it, or it was forgotten for lack of room.
    package private(set) var released: UInt64
    /// The last record that this cursor's collector has released; another collector may still need it.
    package private(set) var releasable: UInt64
    /// The last record that the log's other cursor has released; nil without another cursor.
    private var otherReleased: UInt64?
    /// Formats in force at the record that is sent first: the one after ``persisted``.
    private(set) var baseFormats: [TrackFormat]
    /// Formats in force at the next record.
    private var newestFormats: [TrackFormat]
    /// Payload of ``records``.
    private(set) var payloadBytes = 0
    /// Memory of ``records``: payloads, headers and overhead.
    private(set) var memoryBytes = 0
    private(set) var lostSamples: UInt64 = 0
    package private(set) var goodbye: UInt64?
    /// No more records will come.
    private var isRetired = false
    /// Credit limit as granted by the collector, counted from its Welcome.
    private var creditLimit: UInt64 = 0
    private var creditUsed: UInt64 = 0
    /// Records up to this one may be at the collector: they must not change.
    private(set) var fixedUpTo: UInt64 = 0
    /// The last record that any collector has reported.
    private var mostReceived: UInt64 = 0
    /// The last record that was sent to another collector than the present one.
    private var sentElsewhere: UInt64 = 0
    /// Released records that other collectors than the present one hold, ascending.
    package var held: [HeldRange] = []
    /// The present collector lacks released records before this one.
    package var ownFirst: UInt64 = 1
    /// Records that the log's other cursor reports to be at other collectors, for the next Hello.
    package var alsoHeld: [HeldRange] = []
    /// Payload bytes of the records that have been sent over the present connection and are not durable.
    private var inFlightBytes = 0
    private let window: RecordWindow
    /// The number after the last of ``records``.
    package private(set) var windowEnd: UInt64
    private var pacer = DrainPacer()
    /// Bytes that the log keeps, as it reports; nil: the records are nowhere else.
    package var storedBytes: Int?
    /// Which records may be sent.
    var schedule: SendSchedule
    /// The delay that live viewers request, milliseconds; 0 without viewers, or if unknown.
    private(set) var watchMilliseconds: UInt32 = 0

    /// - Parameters:
    ///   - formats: those in force at the oldest record.
    ///   - kept: records that are already in the log, and the formats in force after them.
    init(
        name: String, formats: [TrackFormat], window: RecordWindow,
        kept: (sequences: Range<UInt64>, newestFormats: [TrackFormat])? = nil
    ) {
        self.name = name
        self.window = window
        baseFormats = formats
        newestFormats = kept?.newestFormats ?? formats
        nextSequence = kept?.sequences.upperBound ?? 1
        windowEnd = kept?.sequences.lowerBound ?? 1
        persisted = windowEnd - 1
        released = windowEnd - 1
        releasable = released
        schedule = SendSchedule(newest: nextSequence - 1)
    }

    /// A second cursor in the same log, at its oldest record.
    /// - Parameter formats: the formats at that record.
    init(beside other: Cursor, from first: UInt64, formats: [TrackFormat]) {
        self.init(
            name: other.name, formats: formats, window: other.window,
            kept: (min(first, other.nextSequence)..<other.nextSequence, other.newestFormats))
        goodbye = other.goodbye
        isRetired = other.isRetired
        held = other.held
        ownFirst = windowEnd
        sentElsewhere = other.highestSent
    }

    /// The oldest record that is kept, or the next one.
    var firstKept: UInt64 { min(firstSequence, released + 1) }
    /// The oldest record in memory, or the next one.
    private var firstSequence: UInt64 { records.first?.sequences.lowerBound ?? windowEnd }
    /// Whether no more records follow and none has to be kept.
    var isComplete: Bool { hasReachedEnd(released) }
    /// Whether no more records follow and the collector has everything on disk.
    var isPersisted: Bool { hasReachedEnd(persisted) }

    private func hasReachedEnd(_ watermark: UInt64) -> Bool {
        if let goodbye { return watermark >= goodbye }
        return isRetired && watermark + 1 >= nextSequence
    }

    /// Number of records of any kind that are not on the collector's disk; a record of samples counts each of them.
    package var keptSamples: UInt64 { nextSequence - 1 - min(persisted, nextSequence - 1) }
    /// Number of records of any kind that are on the collector's disk and have to be kept.
    var unreleasedRecords: UInt64 { persisted - min(released, persisted) }
    /// Number of the newest record. If the agent's spool has forgotten its own numbers: at least what the collector has.
    var newestSequence: UInt64 { isRetired ? max(nextSequence - 1, fixedUpTo) : nextSequence - 1 }
    /// The highest number that was sent, or that a collector reported to have: if one has a higher number, it has it from another
    /// agent.
    package var highestSent: UInt64 { max(fixedUpTo, persisted, mostReceived, sentElsewhere) }
    /// The first number that may be dropped: after all records that a collector may have.
    package var firstDroppable: UInt64 { max(fixedUpTo + 1, sentElsewhere + 1, firstSequence) }
    /// As much of ``alsoHeld`` and ``held`` as a Hello has room for: the latest. Records that are kept as well are not stated.
    var heldElsewhere: [HeldRange] {
        let first = firstKept
        var stated: [HeldRange] = []
        for range in alsoHeld + held { stated.addMissing(of: range, before: first) }
        return stated.suffix(WireLimits.heldRanges)
    }

    // MARK: Adding

    /// A record was added to the log.
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
        guard isContiguous, record.memoryBytes <= window.memoryBytes - memoryBytes else { return }
        windowEnd = nextSequence
        insert([record], at: records.count..<records.count)
    }

    /// No more records follow: those that are kept are sent, and then the cursor is complete.
    mutating func retire() { isRetired = true }

    /// Replaces records, and updates the byte counts.
    private mutating func insert(_ new: [Record], at range: Range<Int>) {
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

    // MARK: Reading on from the log

    /// The number of the first record to read from the log now; nil: none.
    var wanted: UInt64? {
        guard windowEnd < nextSequence, memoryBytes < window.memoryBytes else { return nil }
        var unsentBytes = 0
        for record in records[sentCount...] {
            unsentBytes += record.memoryBytes
            if unsentBytes >= Self.readAheadBytes { return nil }
        }
        return windowEnd
    }

    /// Adds records that were read.
    /// - Parameters:
    ///   - read: consecutive records; the first is, or contains, the requested one.
    ///   - formats: the formats before the first.
    mutating func load(_ read: [Record], formats: [TrackFormat]) {
        guard let first = read.first, first.sequences.contains(windowEnd) else { return }
        if records.isEmpty { baseFormats = formats }
        for record in read {
            if case .gap(let gap) = record.content, gap.cause == .corruptRecord {
                lostSamples += gap.samples
            }
            if case .goodbye = record.content { goodbye = record.sequences.lowerBound }
        }
        insert(read, at: records.count..<records.count)
        windowEnd = min(nextSequence, (records.last?.sequences.upperBound ?? 0) + 1)
        trimGaps()
    }

    /// Records from a number on were dropped from the log, or replaced there: they are read again.
    /// - Parameter samples: how many samples are lost by that.
    package mutating func dropped(from sequence: UInt64, samples: UInt64) {
        lostSamples += samples
        guard sequence < windowEnd else { return }
        let place = records.firstIndex { $0.sequences.lowerBound >= sequence } ?? records.count
        precondition(place >= sentCount, "what was sent stays as it is")
        insert([], at: place..<records.count)
        windowEnd = records.last.map { $0.sequences.upperBound + 1 } ?? sequence
    }

    /// Makes a gap start after the records that the collector has.
    ///
    /// Only the gap of a restarted agent may overlap those, because it covers records that the previous run may have sent.
    /// The other records in it are lost.
    private mutating func trimGaps() {
        for (place, record) in records.enumerated() {
            guard case .gap(var gap) = record.content, gap.sequences.lowerBound <= fixedUpTo,
                gap.sequences.upperBound > fixedUpTo
            else { continue }
            // Arrived records are counted as samples, one per number: a change of format among them makes this too low.
            let arrived = fixedUpTo + 1 - gap.sequences.lowerBound
            gap.samples -= min(gap.samples, arrived)
            gap.sequences = fixedUpTo + 1...gap.sequences.upperBound
            insert([KeptRecord(gap)], at: place..<place + 1)
            return
        }
    }

    // MARK: Changing collectors

    /// Ends the use of the present collector. The records that it has released are noted as held by it.
    /// - Parameter collector: its name; nil: there was none.
    package mutating func leave(_ collector: String?) {
        sentElsewhere = max(sentElsewhere, fixedUpTo)
        guard let collector else { return }
        let first = max((held.last?.sequences.upperBound ?? 0) + 1, ownFirst)
        ownFirst = released + 1
        guard first <= released else { return }
        noteHeld(first...released, by: collector)
    }

    /// Records on the present collector's disk; nil: none.
    package var ownPersisted: ClosedRange<UInt64>? {
        ownFirst <= persisted ? ownFirst...persisted : nil
    }

    /// Adds records after those of ``held``; adjacent ones of the same collector are merged into one range.
    private mutating func noteHeld(_ sequences: ClosedRange<UInt64>, by collector: String) {
        var first = sequences.lowerBound
        if let last = held.last, last.collector == collector,
            last.sequences.upperBound + 1 == first
        {
            held.removeLast()
            first = last.sequences.lowerBound
        }
        held.append(HeldRange(collector: collector, sequences: first...sequences.upperBound))
    }

    /// Counts released records that the log still has as kept: the next collector is to begin with a whole group of pictures.
    package mutating func keepAgain(from sequence: UInt64) {
        guard sequence > 0, sequence <= released else { return }
        released = sequence - 1
        releasable = min(releasable, released)
        held = held.compactMap { range in
            guard range.sequences.upperBound >= sequence else { return range }
            guard range.sequences.lowerBound < sequence else { return nil }
            return HeldRange(
                collector: range.collector, sequences: range.sequences.lowerBound...released)
        }
    }

    /// Goes back to the oldest kept record, because the next collector may have none of them.
    package mutating func rewind() {
        persisted = released
        releasable = released
        sentCount = 0
        inFlightBytes = 0
        insert([], at: 0..<records.count)
        windowEnd = released + 1
        if windowEnd == nextSequence { baseFormats = newestFormats }
    }

    /// Another cursor of the log has sent records, which must not change any more.
    package mutating func noteSent(through sequence: UInt64) {
        sentElsewhere = max(sentElsewhere, min(sequence, nextSequence - 1))
    }

    /// Whether the collector has everything, and only the source's other collector is waited for.
    package var awaitsOther: Bool { isPersisted && otherReleased.map { $0 < releasable } ?? false }

    /// The log's other cursor has released records up to this one.
    package mutating func setOtherReleased(_ sequence: UInt64?) {
        otherReleased = sequence
        released = max(released, min(releasable, sequence ?? .max))
    }

    /// Records were deleted for lack of space, although this cursor's collector lacks some of them; another collector has
    /// persisted them. They are skipped.
    package mutating func forget(through sequence: UInt64, heldBy collector: String?) {
        let last = min(sequence, nextSequence - 1)
        if last > persisted {
            let first = max(persisted, held.last?.sequences.upperBound ?? 0) + 1
            if let collector, first <= last { noteHeld(first...last, by: collector) }
            persist(through: last)
            ownFirst = last + 1
        }
        releasable = max(releasable, min(last, persisted))
        released = max(released, min(last, persisted))
    }

    /// Copies another cursor's state about other collectors.
    package mutating func follow(_ other: Cursor) {
        held = other.held
        ownFirst = other.ownFirst
        sentElsewhere = max(sentElsewhere, other.sentElsewhere)
    }

    // MARK: Sending

    /// A connection has begun: everything that is not durable is sent again. It may be another collector than before, whose disk
    /// has less.
    mutating func resume(_ state: SourceState) {
        let start = max(min(state.persisted, nextSequence - 1), released)
        // A collector whose disk was replaced, or another one.
        if state.persisted < released { ownFirst = released + 1 }
        releasable = released
        if start < persisted || lacksRecords(after: start, received: state.received) {
            // Kept records are read again, with their formats.
            persisted = start
            insert([], at: 0..<records.count)
            windowEnd = start + 1
        }
        sentCount = 0
        inFlightBytes = 0
        creditUsed = 0
        creditLimit = state.creditLimitBytes
        // Records that were in flight and did not arrive were lost with the connection.
        fixedUpTo = state.received
        mostReceived = max(mostReceived, state.received)
        watchMilliseconds = state.watchMilliseconds
        // Records in the schedule were waiting for this collector only.
        schedule.release(through: nextSequence - 1)
        persist(through: start)
        release(through: state.released ?? state.persisted)
        trimGaps()
    }

    /// Whether a record after `received` is missing in memory. ``trimGaps()`` shortens a gap by the records that an earlier
    /// collector had received; the present collector may lack them.
    private func lacksRecords(after start: UInt64, received: UInt64) -> Bool {
        var next = start + 1
        for record in records {
            let first = record.sequences.lowerBound
            if first > next, first - 1 > received { return true }
            next = max(next, record.sequences.upperBound + 1)
        }
        return false
    }

    /// The next record that the credit allows.
    mutating func nextToSend(now: Int64) -> Record? {
        guard sentCount < records.count else { return nil }
        let record = records[sentCount]
        guard record.sequences.upperBound <= schedule.releasedThrough,
            creditUsed + record.creditBytes <= creditLimit,
            inFlightBytes == 0 || inFlightBytes + record.payloadBytes <= window.inFlightBytes
        else { return nil }
        if window.isPaced, let time = record.samples?.runs.first?.dtsNanoseconds.first {
            guard pacer.admits(mediaNanoseconds: time, now: now) else { return nil }
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

    /// Records are on the collector's disk: they are not sent any more. A number in the middle of a record does not count for it:
    /// records are never split.
    private mutating func persist(through sequence: UInt64) {
        persisted = max(persisted, min(sequence, nextSequence - 1))
        let count = records.prefix { $0.sequences.upperBound <= persisted }.count
        for (place, record) in records[..<count].enumerated() {
            if place < sentCount { inFlightBytes -= record.payloadBytes }
            if let format = record.format { baseFormats = baseFormats.replacing(format) }
        }
        sentCount = max(0, sentCount - count)
        insert([], at: 0..<count)
        guard records.isEmpty, windowEnd <= persisted else { return }
        // The collector has more than has been read from the log since the start.
        windowEnd = persisted + 1
        if windowEnd == nextSequence { baseFormats = newestFormats }
    }

    /// The collector has released records: they are deleted unless another collector still needs them.
    private mutating func release(through sequence: UInt64) {
        releasable = max(releasable, min(sequence, persisted))
        released = max(released, min(releasable, otherReleased ?? .max))
    }
}

extension [HeldRange] {
    /// Adds those records of a range that no other range has. The ranges stay ascending.
    /// - Parameter limit: the number after the last record to add.
    fileprivate mutating func addMissing(of range: HeldRange, before limit: UInt64) {
        var next = range.sequences.lowerBound
        let end = Swift.min(range.sequences.upperBound + 1, limit)
        var added: [HeldRange] = []
        func add(before bound: UInt64) {
            guard next < bound else { return }
            added.append(HeldRange(collector: range.collector, sequences: next...bound - 1))
        }
        for known in self {
            add(before: Swift.min(known.sequences.lowerBound, end))
            next = Swift.max(next, known.sequences.upperBound + 1)
        }
        add(before: end)
        guard !added.isEmpty else { return }
        self = (self + added).sorted { $0.sequences.lowerBound < $1.sequences.lowerBound }
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
