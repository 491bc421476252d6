/// A discontinuity of an input's clock: concatenated streams, a restarted camera.
package struct ClockJoint: Hashable, Sendable {
    /// Its position on the continuous timeline.
    package var atNanoseconds: Int64
    /// The jump of the input's own times.
    package var jumpNanoseconds: Int64

    package init(atNanoseconds: Int64, jumpNanoseconds: Int64) {
        self.atNanoseconds = atNanoseconds
        self.jumpNanoseconds = jumpNanoseconds
    }
}

/// The tracks of an input contradict each other about its clock.
package struct ClockContradiction: Error, Hashable {
    /// The track whose times jump.
    package var track: Int
    package var atNanoseconds: Int64
    package var jumpNanoseconds: Int64
}

/// Makes one timeline of an input whose clock may wrap or jump.
///
/// All tracks of an input have one clock. It jumps where a track's times go back, or, in a transport stream, run ahead
/// of all tracks by more than ten seconds. The rest of that track is held until the other tracks have reached the jump.
/// The following packets are then placed after the preceding ones: no track overlaps, and the distance between the
/// tracks is that of the new clock. A wrap (33 bits in MPEG-TS, 32 in FLV) is no jump.
package struct InputClock<Packet> {
    /// A packet's times, nanoseconds.
    package struct Timed {
        package var packet: Packet
        package var track: Int
        package var pts: Int64?
        package var dts: Int64?
        package var duration: Int64

        package init(
            _ packet: Packet, track: Int, pts: Int64?, dts: Int64?, duration: Int64
        ) {
            self.packet = packet
            self.track = track
            self.pts = pts
            self.dts = dts
            self.duration = duration
        }

        /// The time that increases in the order of the file, as far as the container has it.
        fileprivate var reference: Int64? { dts ?? pts }
        fileprivate var start: Int64? { pts ?? dts }
    }

    /// The rules of a container's clock.
    package struct Rules: Hashable, Sendable {
        /// Times may jump ahead, too (`AVFMT_TS_DISCONT`).
        package var mayJumpAhead: Bool
        /// Times are stored in decoding order. Otherwise they are not monotonic when pictures are reordered.
        package var storesDecodingTimes: Bool
        /// The period of the clock; nil: it does not wrap.
        package var wrapNanoseconds: Int64?

        package init(mayJumpAhead: Bool, storesDecodingTimes: Bool, wrapNanoseconds: Int64?) {
            self.mayJumpAhead = mayJumpAhead
            self.storesDecodingTimes = storesDecodingTimes
            self.wrapNanoseconds = wrapNanoseconds
        }
    }

    private struct Track {
        /// The expected time of the next packet, on the input's clock.
        var next: Int64?
        /// The end of the track so far, on the timeline.
        var end: Int64?
        var hasJumped = false
    }

    /// A smaller step back is a container's rounding, or an encoder's mistake.
    private static var tolerance: Int64 { 100_000_000 }
    private static var farAhead: Int64 { 10_000_000_000 }
    /// Maximum duration of jumped tracks that is held while other tracks have not reached the jump: files store seconds
    /// of one track in a row.
    private static var longestHeld: Int64 { 5_000_000_000 }
    private static var mostHeld: Int { 4_096 }
    /// A smaller jump of one track alone is ignored as an error of the file; for a larger one, the file is refused.
    private static var ownFault: Int64 { 1_000_000_000 }

    private let rules: Rules
    private var tracks: [Track]
    /// Offset from the input's clock to the timeline.
    private var offset: Int64 = 0
    /// The latest time on the input's clock.
    private var latest: Int64?
    private var held: [Timed] = []
    /// Joints so far.
    package private(set) var joints: [ClockJoint] = []

    package init(tracks: Int, rules: Rules) {
        self.tracks = Array(repeating: Track(), count: tracks)
        self.rules = rules
    }

    /// Adds the next packet in the file's order; returns the placed ones, in that order for each track.
    package mutating func add(_ packet: Timed) throws(ClockContradiction) -> [Timed] {
        var packet = packet
        if tracks[packet.track].hasJumped {
            unwrap(&packet, near: heldEnd)
            if let time = packet.reference, let next = heldNext(of: packet.track),
                isJump(time, from: next, packet)
            {
                // Another jump, before every track has reached this one.
                let due = try joinAll()
                return due + (try add(packet))
            }
            held.append(packet)
            return try joinIfComplete()
        }
        unwrap(&packet, near: tracks[packet.track].next ?? latest)
        guard let time = packet.reference, isJump(time, packet) else { return place([packet]) }
        if !held.isEmpty { unwrap(&packet, near: heldEnd) }
        tracks[packet.track].hasJumped = true
        held.append(packet)
        return try joinIfComplete()
    }

    /// No packet follows.
    package mutating func finish() throws(ClockContradiction) -> [Timed] {
        held.isEmpty ? [] : try joinAll()
    }

    /// Whether a packet of a track that has not jumped belongs after a jump.
    private func isJump(_ time: Int64, _ packet: Timed) -> Bool {
        guard let latest else { return false }
        guard let next = tracks[packet.track].next else {
            // The track's first packet belongs to the nearer clock.
            guard let heldEnd else { return false }
            return (time - heldEnd).magnitude < (time - latest).magnitude
        }
        return isJump(time, from: next, packet)
    }

    private func isJump(_ time: Int64, from next: Int64, _ packet: Timed) -> Bool {
        let back =
            rules.storesDecodingTimes
            ? max(Self.tolerance, 2 * packet.duration)
            : max(Self.ownFault, 17 * packet.duration)
        if next - time > back { return true }
        // A track may have been silent: a time far ahead of this track only is no jump.
        let clock = tracks[packet.track].hasJumped ? heldEnd : latest
        let ahead = max(next, clock ?? next)
        return rules.mayJumpAhead && time - ahead > Self.farAhead
    }

    /// Unwraps a packet's times so that they are as near as possible to `expected`.
    private func unwrap(_ packet: inout Timed, near expected: Int64?) {
        guard let wrap = rules.wrapNanoseconds, let expected, let time = packet.reference else {
            return
        }
        // Both are within the range that readers check, so nothing overflows.
        let distance = time - expected
        let turns = (distance.magnitude + wrap.magnitude / 2) / wrap.magnitude
        let shift = Int64(clamping: turns) * wrap * (distance > 0 ? -1 : 1)
        packet.pts = packet.pts.map { $0 + shift }
        packet.dts = packet.dts.map { $0 + shift }
    }

    /// The latest time after the jump, on the input's clock.
    private var heldEnd: Int64? { held.compactMap(\.reference).max() }

    /// The expected time of the next packet of a track that has jumped, on the input's clock.
    private func heldNext(of track: Int) -> Int64? {
        held.last { $0.track == track && $0.reference != nil }
            .flatMap { last in last.reference.map { $0 + last.duration } }
    }

    private mutating func joinIfComplete() throws(ClockContradiction) -> [Timed] {
        let live = tracks.filter { track in
            guard let end = track.end, let latest else { return false }
            return end - (latest + offset) > -Self.longestHeld
        }
        if live.allSatisfy(\.hasJumped) { return try joinAll() }
        let times = held.compactMap(\.reference)
        let span = (times.max() ?? 0) - (times.min() ?? 0)
        guard span > Self.longestHeld || held.count > Self.mostHeld else { return [] }
        return try joinAll()
    }

    /// Places the held packets after the preceding ones.
    private mutating func joinAll() throws(ClockContradiction) -> [Timed] {
        guard let first = held.first, let time = first.reference else { return [] }
        let jump = time - (tracks[first.track].next ?? latest ?? time)
        let at = (latest ?? 0) + offset
        // A track that continues past the jumped ones by half the maximum hold has another clock.
        let goesOn = tracks.contains { track in
            guard !track.hasJumped, let end = track.end else { return false }
            let jumped = tracks.filter(\.hasJumped).compactMap(\.end).max() ?? end
            return end - jumped > Self.longestHeld / 2
        }
        guard !goesOn || jump.magnitude < Self.ownFault.magnitude else {
            throw ClockContradiction(
                track: first.track, atNanoseconds: at, jumpNanoseconds: jump)
        }
        let due = held
        held = []
        let isJoint = !goesOn
        if isJoint {
            var next = Int64.min
            for (index, track) in tracks.enumerated() where track.hasJumped {
                guard let end = track.end,
                    let start = due.lazy.filter({ $0.track == index }).compactMap(\.start).min()
                else { continue }
                next = max(next, end - start)
            }
            let start = due.compactMap(\.start).min() ?? time
            if next > .min { offset = next }
            joints.append(ClockJoint(atNanoseconds: start + offset, jumpNanoseconds: jump))
            latest = nil
        }
        for index in tracks.indices {
            // Tracks that follow are compared with the new clock.
            if isJoint { tracks[index].next = nil }
            tracks[index].hasJumped = false
        }
        return place(due)
    }

    private mutating func place(_ packets: [Timed]) -> [Timed] {
        packets.map { packet in
            if let time = packet.reference {
                tracks[packet.track].next = time + packet.duration
                latest = max(latest ?? time, time)
            }
            if let start = packet.start {
                let end = start + packet.duration + offset
                tracks[packet.track].end = max(tracks[packet.track].end ?? end, end)
            }
            var packet = packet
            packet.pts = packet.pts.map { $0 + offset }
            packet.dts = packet.dts.map { $0 + offset }
            return packet
        }
    }
}

extension InputClock: Sendable where Packet: Sendable {}
extension InputClock.Timed: Sendable where Packet: Sendable {}
