import Media

/// Media of a live source that arrives at once: a fragment of one or a few pictures, and audio.
///
/// `Payload` is the type of its bytes.
package struct LiveUnit<Payload: Sendable>: Sendable {
    package var payload: Payload
    package var sizeBytes: Int
    /// Time of presentation, nanoseconds of session time: of its pictures, or of its sound without pictures. The end is
    /// where the next unit is expected.
    package var nanoseconds: Range<Int64>
    /// It begins with a keyframe; where the source has no pictures, always.
    package var isIndependent = false
    /// Number of its media initialization section. A different number starts a segment after a discontinuity.
    package var initialization = 0
    /// Media is missing before it, or its times jump.
    package var isDiscontinuous = false

    package init(_ payload: Payload, sizeBytes: Int, nanoseconds: Range<Int64>) {
        self.payload = payload
        self.sizeBytes = sizeBytes
        self.nanoseconds = nanoseconds
    }
}

/// A part, and the units that it is made of.
package struct GatheredPart<Payload: Sendable>: Sendable {
    package var part: LivePart
    /// At least one, in their order.
    package var payloads: [Payload]
}

/// Gathers units into parts whose durations comply with `EXT-X-PART`, whenever units arrive and however long they are.
///
/// A part must not be longer than the part target, and not shorter than 85 % of it, unless it is independent or the last of its
/// segment (draft-pantos-hls-rfc8216bis §4.4.4.9). Units are indivisible, and no number of pictures at 29.97 fps lasts from 170 to
/// 200 ms. So a part's written duration differs from that of its pictures:
///
/// - A part ends when its units reach 85 % of the part target, counted from the written end of the previous part.
/// - Its written duration extends to the end of its units, but at most to the part target. The excess is added to the next part.
///
/// Written and real ends differ by less than a unit, the difference does not accumulate, and both are equal at the end of each
/// segment. Only with units longer than a part target, the sum of the parts is less than the segment's duration.
///
/// A segment starts with a keyframe when the target duration is reached (``GroupJoining``), or anywhere before it would be exceeded.
/// After a gap, units are dropped up to the next keyframe.
package struct PartGatherer<Payload: Sendable>: Sendable {
    /// Limit of units in a part, which is reached only by a source whose time does not advance.
    package static var maximumUnits: Int { 256 }
    /// A duration has to be positive.
    private static var minimumNanoseconds: Int64 { 1_000_000 }

    /// The segment to which units are added.
    private struct OpenSegment: Sendable {
        var sequence: UInt64
        var startNanoseconds: Int64
        /// When its last group of pictures begins; that may be in the segment before.
        var groupStartNanoseconds: Int64
        /// Written end of the previous part.
        var partStartNanoseconds: Int64
        /// End of the last unit.
        var endNanoseconds: Int64
        var initialization: Int
        var isDiscontinuous: Bool
        /// Number of its parts so far.
        var parts = 0
    }

    package let timing: LiveTiming
    /// Units that were left out, because decoding could not begin with them.
    package private(set) var skippedUnits: UInt64 = 0
    private var joining: GroupJoining
    /// Nil: the next segment begins with a keyframe.
    private var segment: OpenSegment?
    private var pending: [LiveUnit<Payload>] = []
    package private(set) var nextSequence: UInt64
    private var nextName: PartAddress
    private var hasBegun = false

    /// - Parameter firstSequence: media sequence number of the first segment, which must be greater after a restart of the server.
    package init(_ timing: LiveTiming, firstSequence: UInt64 = 0) {
        self.timing = timing
        joining = GroupJoining(targetNanoseconds: timing.targetNanoseconds)
        nextSequence = firstSequence
        nextName = PartAddress(sequence: firstSequence, part: 0)
    }

    /// Adds the next unit.
    /// - Returns: the parts that it completes: none, one or two.
    package mutating func append(_ unit: LiveUnit<Payload>) -> [GatheredPart<Payload>] {
        guard let open = segment else {
            guard unit.isIndependent else {
                skippedUnits += 1
                return []
            }
            begin(with: unit, after: nil)
            return gather(unit)
        }
        let start = unit.nanoseconds.lowerBound
        let jump = start.clampedSubtracting(open.endNanoseconds).magnitude
        let elapsed = start.clampedSubtracting(open.startNanoseconds)
        let isBroken =
            unit.isDiscontinuous || unit.initialization != open.initialization
            || jump > timing.gapNanoseconds.magnitude || pending.count >= Self.maximumUnits
            || elapsed > timing.longestSegmentNanoseconds
        if isBroken {
            let last = endSegment(at: open.endNanoseconds)
            return last + append(unit)
        }
        var isDue = false
        if unit.isIndependent {
            let group = start.clampedSubtracting(open.groupStartNanoseconds)
            isDue = joining.beginsSegment(elapsedNanoseconds: elapsed, groupNanoseconds: group)
        }
        let isTooLong =
            unit.nanoseconds.upperBound.clampedSubtracting(open.startNanoseconds)
            > timing.segmentLimitNanoseconds
        if isDue || isTooLong {
            let last = endSegment(at: start)
            begin(with: unit, after: open)
            return last + gather(unit)
        }
        if unit.isIndependent { segment?.groupStartNanoseconds = start }
        return gather(unit)
    }

    /// Ends the segment. The next one starts with a keyframe, after a discontinuity.
    /// - Returns: its last part, if there is one.
    package mutating func flush() -> [GatheredPart<Payload>] {
        guard let open = segment else { return [] }
        return endSegment(at: open.endNanoseconds)
    }

    /// - Parameter before: the segment that it continues; nil: it does not continue one.
    private mutating func begin(with unit: LiveUnit<Payload>, after before: OpenSegment?) {
        let start = unit.nanoseconds.lowerBound
        let groupStart = unit.isIndependent ? start : before?.groupStartNanoseconds ?? start
        segment = OpenSegment(
            sequence: nextSequence, startNanoseconds: start, groupStartNanoseconds: groupStart,
            partStartNanoseconds: start, endNanoseconds: start,
            initialization: unit.initialization, isDiscontinuous: hasBegun && before == nil)
        nextSequence += 1
        hasBegun = true
    }

    private mutating func gather(_ unit: LiveUnit<Payload>) -> [GatheredPart<Payload>] {
        pending.append(unit)
        guard var open = segment else { return [] }
        open.endNanoseconds = max(open.endNanoseconds, unit.nanoseconds.upperBound)
        segment = open
        let reached = open.endNanoseconds.clampedSubtracting(open.partStartNanoseconds)
        return reached >= timing.leastPartNanoseconds ? endPart(at: open.endNanoseconds) : []
    }

    private mutating func endSegment(at end: Int64) -> [GatheredPart<Payload>] {
        let last = endPart(at: end)
        segment = nil
        return last
    }

    private mutating func endPart(at end: Int64) -> [GatheredPart<Payload>] {
        guard var open = segment, let first = pending.first else { return [] }
        let reached = end.clampedSubtracting(open.partStartNanoseconds)
        let start = first.nanoseconds.lowerBound
        var part = LivePart(
            address: PartAddress(sequence: open.sequence, part: open.parts), name: nextName,
            durationNanoseconds: max(
                Self.minimumNanoseconds, min(reached, timing.partTargetNanoseconds)),
            nanoseconds: start..<max(start, open.endNanoseconds))
        part.sizeBytes = pending.map(\.sizeBytes).clampedSum
        part.isIndependent = pending.contains { $0.isIndependent }
        part.initialization = open.initialization
        part.isDiscontinuous = open.isDiscontinuous && open.parts == 0
        open.partStartNanoseconds.addClamped(part.durationNanoseconds)
        open.parts += 1
        nextName = PartAddress(sequence: open.sequence, part: open.parts)
        segment = open
        let payloads = pending.map(\.payload)
        pending.removeAll(keepingCapacity: true)
        return [GatheredPart(part: part, payloads: payloads)]
    }
}
