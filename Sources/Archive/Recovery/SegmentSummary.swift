import Media
import Timing

/// Data for recovery about a file's durable part, instead of its fragments.
///
/// The writer and the survey of a file make the same summary of the same fragments.
package struct SegmentSummary: Hashable, Sendable {
    /// Consecutive fragments of one spool and one clock.
    struct Part: Hashable, Sendable {
        var spool: SpoolID
        var numbers = SequenceSet()
        /// The last run of each track, in the order of their bytes.
        var runs: [RunOnDisk] = []
        var clock: RecordedClock?
        /// The newest exchanges with that clock.
        var exchanges: [ClockExchange] = []
        var collectorZeroNanoseconds: Int64?
    }

    /// Exchanges of a part: at the usual pace, of some minutes. Up to twice as many are kept, so that they are rarely moved.
    static let exchangesPerPart = 128
    /// Maximum parts and ranges of a summary that is stored: a file with more is read completely.
    static let maximumParts = 16
    static let maximumRanges = 256

    /// Number of fragments.
    package private(set) var fragments: UInt32 = 0
    /// The last `moof`.
    private(set) var head: Range<Int64> = 0..<0
    /// The byte after the last fragment.
    private(set) var end: Int64 = 0
    /// The digest of the last `moof`.
    private(set) var chain: Digest = .zero
    private(set) var parts: [Part] = []

    init() {}

    init(
        fragments: UInt32, head: Range<Int64>, end: Int64, chain: Digest, parts: [Part]
    ) {
        self.fragments = fragments
        self.head = head
        self.end = end
        self.chain = chain
        self.parts = parts
    }

    /// Whether it is within the limits of a stored one.
    var isStorable: Bool {
        fragments > 0 && parts.count <= Self.maximumParts
            && parts.allSatisfy {
                $0.numbers.ranges.count <= Self.maximumRanges && $0.runs.count <= UInt8.max
            }
    }

    /// Adds the next fragment.
    /// - Parameter chain: the digest of its `moof`.
    mutating func add(_ fragment: SegmentSurvey.Fragment, chain: Digest) {
        fragments += 1
        head = fragment.head
        end = fragment.range.upperBound
        self.chain = chain
        let isNew =
            parts.last.map {
                $0.spool != fragment.spool || $0.clock?.epoch != fragment.clock?.epoch
                    || $0.collectorZeroNanoseconds != fragment.collectorZeroNanoseconds
            } ?? true
        if isNew {
            parts.append(
                Part(
                    spool: fragment.spool,
                    collectorZeroNanoseconds: fragment.collectorZeroNanoseconds))
        }
        let last = parts.count - 1
        for run in fragment.runs {
            parts[last].numbers.insert(run.sequences)
            parts[last].runs.removeAll { $0.track == run.track }
            parts[last].runs.append(run)
        }
        parts[last].clock = fragment.clock
        parts[last].exchanges += fragment.exchanges
        if parts[last].exchanges.count > 2 * Self.exchangesPerPart {
            parts[last].exchanges.removeFirst(
                parts[last].exchanges.count - Self.exchangesPerPart)
        }
    }

    /// The summary of a finished file. Clock models replace the exchanges, because a collector keeps several such summaries.
    package func withoutExchanges() -> SegmentSummary {
        var finished = self
        for index in parts.indices {
            finished.parts[index].clock = parts[index].clock.map {
                $0.extrapolable(with: parts[index].exchanges)
            }
            finished.parts[index].exchanges = []
        }
        return finished
    }
}

// MARK: - Coding

extension SegmentSummary {
    /// Layout, big-endian:
    ///
    ///     u32 fragments, i64 offset of the last `moof`, u32 its size, i64 end, 32 bytes chain, u8 parts, each:
    ///         16 bytes spool, u16 ranges, each: u64 first, u64 last
    ///         u8 runs, each: u8 track, u64 first, u64 last, i64 DTS, i64 duration, u32 ticks per second
    ///         u8 1: a clock follows: 16 bytes epoch, i64 offset, u64 bound, i64 skew, i64 agent's time, i64 growth
    ///         u8 1: i64 the collector's zero follows
    ///         u16 exchanges, each: i64 t1, t2, t3, t4
    func encoded() -> [UInt8] {
        precondition(isStorable, "a stored summary is limited")
        var bytes: [UInt8] = []
        bytes.appendBigEndian(fragments)
        bytes.appendSigned(head.lowerBound)
        bytes.appendBigEndian(UInt32(head.count))
        bytes.appendSigned(end)
        bytes += chain.bytes
        bytes.append(UInt8(parts.count))
        for part in parts {
            bytes += part.spool.bytes
            let ranges = part.numbers.ranges
            bytes.appendBigEndian(UInt16(ranges.count))
            for range in ranges {
                bytes.appendBigEndian(range.lowerBound)
                bytes.appendBigEndian(range.upperBound)
            }
            bytes.append(UInt8(part.runs.count))
            for run in part.runs {
                bytes.append(run.track.rawValue)
                bytes.appendBigEndian(run.sequences.lowerBound)
                bytes.appendBigEndian(run.sequences.upperBound)
                bytes.appendSigned(run.end.dtsTicks)
                bytes.appendSigned(run.end.durationTicks)
                bytes.appendBigEndian(run.end.timescale.ticksPerSecond)
            }
            bytes.append(part.clock == nil ? 0 : 1)
            if let clock = part.clock {
                bytes += clock.epoch.bytes
                bytes.appendSigned(clock.clock.offsetNanoseconds)
                bytes.appendBigEndian(clock.clock.boundNanoseconds)
                bytes.appendSigned(clock.clock.skewPartsPerBillion)
                bytes.appendSigned(clock.agentNanoseconds)
                bytes.appendSigned(clock.growthPartsPerBillion)
            }
            bytes.append(part.collectorZeroNanoseconds == nil ? 0 : 1)
            if let zero = part.collectorZeroNanoseconds { bytes.appendSigned(zero) }
            bytes.appendBigEndian(UInt16(part.exchanges.count))
            for exchange in part.exchanges {
                bytes.appendSigned(exchange.t1Nanoseconds)
                bytes.appendSigned(exchange.t2Nanoseconds)
                bytes.appendSigned(exchange.t3Nanoseconds)
                bytes.appendSigned(exchange.t4Nanoseconds)
            }
        }
        return bytes
    }

    init(reading reader: inout RecordReader) throws(MalformedRecord) {
        fragments = try reader.integer(UInt32.self)
        let start = try reader.signed()
        let size = Int64(try reader.integer(UInt32.self))
        end = try reader.signed()
        chain = try reader.digest()
        guard fragments > 0, start >= 0, start < 1 << 62, end > start + size else {
            throw MalformedRecord(description: "a summary of an impossible place")
        }
        head = start..<start + size
        parts = []
        let count = Int(try reader.integer(UInt8.self))
        guard (1...Self.maximumParts).contains(count) else {
            throw MalformedRecord(description: "a summary of \(count) parts")
        }
        for _ in 0..<count { parts.append(try reader.part()) }
    }
}

extension RecordReader {
    fileprivate mutating func part() throws(MalformedRecord) -> SegmentSummary.Part {
        var part = SegmentSummary.Part(spool: try identity())
        for _ in 0..<(try integer(UInt16.self)) { part.numbers.insert(try numbers()) }
        for _ in 0..<(try integer(UInt8.self)) { part.runs.append(try runOnDisk()) }
        if try integer(UInt8.self) == 1 { part.clock = try recordedClock() }
        if try integer(UInt8.self) == 1 {
            let zero = try signed()
            guard zero.magnitude <= RecordLimits.timeNanoseconds.magnitude else {
                throw MalformedRecord(description: "a summary with impossible times")
            }
            part.collectorZeroNanoseconds = zero
        }
        let count = Int(try integer(UInt16.self))
        guard count <= 2 * SegmentSummary.exchangesPerPart else {
            throw MalformedRecord(description: "\(count) clock exchanges")
        }
        for _ in 0..<count {
            part.exchanges.append(
                ClockExchange(
                    t1Nanoseconds: try signed(), t2Nanoseconds: try signed(),
                    t3Nanoseconds: try signed(), t4Nanoseconds: try signed()))
        }
        return part
    }

    private mutating func numbers() throws(MalformedRecord) -> ClosedRange<UInt64> {
        let first = try integer(UInt64.self)
        let last = try integer(UInt64.self)
        guard first <= last, last <= RecordLimits.sequence else {
            throw MalformedRecord(description: "impossible record numbers")
        }
        return first...last
    }

    private mutating func runOnDisk() throws(MalformedRecord) -> RunOnDisk {
        guard let track = TrackKind(rawValue: try integer(UInt8.self)) else {
            throw MalformedRecord(description: "a run of an unknown track")
        }
        let sequences = try numbers()
        let dts = try signed()
        let duration = try signed()
        let scale = try integer(UInt32.self)
        guard scale > 0, dts.magnitude < 1 << 56, (0...1 << 40).contains(duration) else {
            throw MalformedRecord(description: "a run with impossible times")
        }
        return RunOnDisk(
            track: track, sequences: sequences,
            end: TrackEnd(
                dtsTicks: dts, durationTicks: duration, timescale: Timescale(scale)))
    }

    private mutating func recordedClock() throws(MalformedRecord) -> RecordedClock {
        let epoch: EpochID = try identity()
        let clock = FragmentRecord.Clock(
            offsetNanoseconds: try signed(), boundNanoseconds: try integer(UInt64.self),
            skewPartsPerBillion: try signed())
        let agent = try signed()
        let growth = try signed()
        // An offset is from the session's zero, which is itself within the limit.
        guard clock.offsetNanoseconds.magnitude <= 2 * RecordLimits.timeNanoseconds.magnitude,
            agent.magnitude <= RecordLimits.timeNanoseconds.magnitude,
            clock.skewPartsPerBillion.magnitude
                <= RecordLimits.skewPartsPerBillion.magnitude,
            (0...ClockLimits.skewPPB).contains(growth)
        else { throw MalformedRecord(description: "a clock with impossible times") }
        return RecordedClock(
            epoch: epoch, clock: clock, agentNanoseconds: agent, growthPartsPerBillion: growth)
    }
}

extension [UInt8] {
    fileprivate mutating func appendSigned(_ value: Int64) {
        appendBigEndian(UInt64(bitPattern: value))
    }
}
