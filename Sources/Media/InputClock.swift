/// Where the clock of an input begins anew: streams that were joined, a camera that was started again.
package struct ClockJoint: Hashable, Sendable {
    /// Where it is on the timeline that goes on.
    package var atNanoseconds: Int64
    /// By how much the input's own times jump there.
    package var jumpNanoseconds: Int64

    package init(atNanoseconds: Int64, jumpNanoseconds: Int64) {
        self.atNanoseconds = atNanoseconds
        self.jumpNanoseconds = jumpNanoseconds
    }
}

/// The tracks of an input do not agree about its clock.
package struct ClockContradiction: Error, Hashable {
    /// The track whose times jump.
    package var track: Int
    package var atNanoseconds: Int64
    package var jumpNanoseconds: Int64
}

/// Makes one timeline of an input whose clock may wrap or jump.
///
/// All tracks of an input have one clock. It jumps where a track's times go back, or, in a transport stream, run ahead of all tracks by
/// more than ten seconds. The rest of that track is held back until the other tracks have come to the jump, too; then what follows is
/// placed behind what precedes it: no track overlaps, and the distance between the tracks is that of the new clock. A clock that wraps
/// around (33 bits in MPEG-TS, 32 in FLV) has not jumped.
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

        /// What grows in the order of the file, as far as the container tells.
        fileprivate var reference: Int64? { dts ?? pts }
        fileprivate var start: Int64? { pts ?? dts }
    }

    /// What is allowed, and what is expected, of a container's clock.
    package struct Rules: Hashable, Sendable {
        /// Times may jump ahead, too (`AVFMT_TS_DISCONT`).
        package var mayJumpAhead: Bool
        /// Times are stored in decoding order. Otherwise they go back and forth as pictures are reordered.
        package var storesDecodingTimes: Bool
        /// After this the clock begins at zero again; nil: never.
        package var wrapNanoseconds: Int64?

        package init(mayJumpAhead: Bool, storesDecodingTimes: Bool, wrapNanoseconds: Int64?) {
            self.mayJumpAhead = mayJumpAhead
            self.storesDecodingTimes = storesDecodingTimes
            self.wrapNanoseconds = wrapNanoseconds
        }
    }

    private struct Track {
        /// Where the next packet should be, on the input's clock.
        var next: Int64?
        /// Where the track ends so far, on the timeline.
        var end: Int64?
        var hasJumped = false
    }

    /// Back by less than this is a container's rounding, or an encoder's mistake.
    private static var tolerance: Int64 { 100_000_000 }
    private static var farAhead: Int64 { 10_000_000_000 }
    /// How much of the jumped tracks is held back while other tracks have not come to the jump: files keep seconds of one track in a row.
    private static var longestHeld: Int64 { 5_000_000_000 }
    private static var mostHeld: Int { 4_096 }
    /// A track whose times jump alone by less is badly written, and its clock goes on.
    private static var ownFault: Int64 { 1_000_000_000 }

    private let rules: Rules
    private var tracks: [Track]
    /// From the input's clock to the timeline.
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

    /// Takes the next packet in the file's order; those whose place is known, in that order for each track.
    package mutating func add(_ packet: Timed) throws(ClockContradiction) -> [Timed] {
        var packet = packet
        if tracks[packet.track].hasJumped {
            unwrap(&packet, near: heldEnd)
            if let time = packet.reference, let next = heldNext(of: packet.track),
                isJump(time, from: next, packet)
            {
                // The next jump, before every track has come to this one.
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

    /// Whether a packet of a track that has not jumped belongs behind a jump.
    private func isJump(_ time: Int64, _ packet: Timed) -> Bool {
        guard let latest else { return false }
        guard let next = tracks[packet.track].next else {
            // The track's first packet: it is of the clock that it is nearer to.
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
        // A track may have been silent: what is far ahead of it alone has not jumped.
        let clock = tracks[packet.track].hasJumped ? heldEnd : latest
        let ahead = max(next, clock ?? next)
        return rules.mayJumpAhead && time - ahead > Self.farAhead
    }

    /// Adds wraps of the clock so that the packet is as near as can be to `expected`.
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

    /// The latest time behind the jump, on the input's clock.
    private var heldEnd: Int64? { held.compactMap(\.reference).max() }

    /// Where the next packet of a track that has jumped should be, on the input's clock.
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

    /// Places what was held back behind what precedes it.
    private mutating func joinAll() throws(ClockContradiction) -> [Timed] {
        guard let first = held.first, let time = first.reference else { return [] }
        let jump = time - (tracks[first.track].next ?? latest ?? time)
        let at = (latest ?? 0) + offset
        // A track that has gone on by more than the others were held back has another clock.
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
            // Tracks that come later are compared with the new clock.
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
