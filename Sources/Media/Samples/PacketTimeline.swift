/// Limits of the times in files: no sum of three times within them overflows.
package enum TimeLimits {
    private static let year: UInt64 = 366 * 86_400 * 1_000_000_000

    /// Limit of times on a file's own clock, which may count from 1970.
    package static let clockNanoseconds = 95 * year
    /// Limit of times after the start of a file, and of durations.
    package static let nanoseconds = 30 * year
}

/// Why a file's packets cannot be placed in time.
package enum TimelineError: Error, Hashable {
    /// The container has no presentation times, and this codec's picture order is not parsed.
    case noPresentationTimes(track: Int)
    /// A picture's order cannot be parsed.
    case damaged(track: Int, BitstreamError)
    case contradiction(ClockContradiction)
    /// Its presentation times are decoding times: the bitstream's pictures are presented in another order.
    case decodingOrder(track: Int)
    /// Longer than any recording.
    case outOfRange(track: Int)

    /// The error and a remedy, for a file with tracks of these codecs and kinds.
    package func reason(codec: (Int) -> String, kind: (Int) -> String) -> String {
        switch self {
        case .noPresentationTimes(let track):
            "its \(codec(track)) may have B-frames, and its container has no presentation timestamps: encode it again "
                + "with ffmpeg -i FILE -c:v libx264 NEW.mp4"
        case .damaged(let track, let error):
            "its container has no presentation timestamps, and its \(codec(track)) is damaged: \(error)"
        case .decodingOrder(let track):
            "its presentation timestamps contradict the picture order of its \(codec(track)), as after a copy from AVI: "
                + "import the original, or encode it again with ffmpeg -i FILE -c:v libx264 NEW.mp4"
        case .outOfRange(let track):
            "its \(codec(track)) has a timestamp that is out of range: set its timestamps again with "
                + "ffmpeg -i FILE -c copy NEW.mkv"
        case .contradiction(let jump):
            "the timestamps of its \(kind(jump.track)) jump by \(Self.milliseconds(jump.jumpNanoseconds)) ms at "
                + "\(Self.milliseconds(jump.atNanoseconds)) ms, and those of its other tracks do not: cut it there"
        }
    }

    private static func milliseconds(_ nanoseconds: Int64) -> Int64 { nanoseconds / 1_000_000 }
}

/// Repairs the times of a file's packets, in three steps:
///
/// 1. The clock: wraps are undone, and jumps become joints (``InputClock``).
/// 2. Presentation times, if the container has none, by the bitstream's own order (``PresentationOrder``).
/// 3. Decoding times that increase and precede presentation (``DecodingTimes``). Presentation times are not changed.
package struct PacketTimeline<Packet> {
    /// The source of a track's picture order if the container has no presentation times.
    package enum Order: Sendable {
        /// The codec does not reorder.
        case decoding
        /// The bitstream's picture order count.
        case counted(PictureOrderCounter)
        /// The codec may reorder, and its order is not parsed.
        case unknown
    }

    /// The properties of a track and its container.
    package struct Track: Sendable {
        package var mayReorder: Bool
        /// Whether the container has presentation times.
        package var storesPresentationTimes: Bool
        /// Whether the container has decoding times, rather than a library's guess.
        package var storesDecodingTimes: Bool
        package var order: Order
        /// Duration of a packet without one; 0 if unknown.
        package var usualDuration: Int64
        /// Minimum distance of decoding times.
        package var step: Int64

        package init(
            mayReorder: Bool, storesPresentationTimes: Bool, storesDecodingTimes: Bool,
            order: Order, usualDuration: Int64, step: Int64
        ) {
            self.mayReorder = mayReorder
            self.storesPresentationTimes = storesPresentationTimes
            self.storesDecodingTimes = storesDecodingTimes
            self.order = order
            self.usualDuration = usualDuration
            self.step = step
        }
    }

    /// A packet with its times, nanoseconds.
    package struct Timed {
        package var packet: Packet
        package var track: Int
        package var pts: Int64
        package var dts: Int64
        package var duration: Int64
    }

    private struct State {
        var track: Track
        var order = PresentationOrder<(packet: Packet, dts: Int64?, duration: Int64)>()
        var times: DecodingTimes<Packet>
        /// The last stated duration of a track that is not reordered; 0 if unknown.
        var usualDuration: Int64 = 0
        /// The position of the next packet without any time.
        var next: Int64 = 0
        /// Interpolates the times of single pictures.
        var between = PictureClock()
        var decodingOrder = DecodingOrderDetector()
    }

    private var clock: InputClock<(packet: Packet, order: PictureOrder?)>
    private var states: [State]

    package init(tracks: [Track], clock rules: InputClock<Packet>.Rules) {
        clock = InputClock(
            tracks: tracks.count,
            rules: .init(
                mayJumpAhead: rules.mayJumpAhead, storesDecodingTimes: rules.storesDecodingTimes,
                wrapNanoseconds: rules.wrapNanoseconds))
        states = tracks.map {
            State(track: $0, times: DecodingTimes(mayReorder: $0.mayReorder, step: $0.step))
        }
    }

    /// The discontinuities so far.
    package var joints: [ClockJoint] { clock.joints }

    /// Adds the next packet in the file's order; returns the complete ones, each track's in decoding order.
    ///
    /// Times are relative to the file's start.
    /// - Parameter newConfiguration: the container's new description from this packet on, if it changes.
    package mutating func add(
        _ packet: Packet, track: Int, pts: Int64?, dts: Int64?, duration: Int64,
        bytes: Span<UInt8>, newConfiguration: [UInt8]? = nil
    ) throws(TimelineError) -> [Timed] {
        guard [pts ?? 0, dts ?? 0, duration].allSatisfy({ $0.magnitude < TimeLimits.nanoseconds })
        else {
            throw .outOfRange(track: track)
        }
        var order: PictureOrder?
        configure(track, newConfiguration)
        let own = states[track].track
        // A library's guess for a container without times is ignored.
        let known = own.storesPresentationTimes ? pts : nil
        if known == nil {
            switch own.order {
            case .decoding: break
            case .unknown: throw .noPresentationTimes(track: track)
            case .counted(var counter):
                do throws(BitstreamError) {
                    order = try counter.order(of: bytes)
                } catch {
                    throw .damaged(track: track, error)
                }
                states[track].track.order = .counted(counter)
            }
        } else if case .counted(var counter) = own.order {
            // Pictures with a time are counted too; one that cannot be parsed is an error only if a time is missing.
            do throws(BitstreamError) {
                order = try counter.order(of: bytes)
            } catch {
                order = nil
            }
            states[track].track.order = .counted(counter)
        }
        if let known, let order, states[track].decodingOrder.detects(known, order) {
            throw .decodingOrder(track: track)
        }
        // If positions are numbered, a library's duration is one of its own ticks.
        let isTold = duration > 0 && (own.storesPresentationTimes || own.usualDuration == 0)
        let duration = isTold ? duration : max(own.usualDuration, states[track].usualDuration)
        // Audio packets of most codecs have one duration; the last one of an edit list may have none.
        if !own.mayReorder, isTold { states[track].usualDuration = duration }
        do throws(ClockContradiction) {
            return place(
                try clock.add(
                    .init((packet, order), track: track, pts: known, dts: dts, duration: duration)))
        } catch {
            throw .contradiction(error)
        }
    }

    private mutating func configure(_ track: Int, _ configuration: [UInt8]?) {
        guard let configuration, case .counted(var counter) = states[track].track.order else {
            return
        }
        do throws(BitstreamError) {
            try counter.configure(configuration)
        } catch {
            // The track's copier or decoder reports it.
            return
        }
        states[track].track.order = .counted(counter)
    }

    /// No packet follows.
    package mutating func finish() throws(TimelineError) -> [Timed] {
        var rest: [Timed]
        do throws(ClockContradiction) {
            rest = place(try clock.finish())
        } catch {
            throw .contradiction(error)
        }
        for track in states.indices {
            rest += complete(states[track].order.finish(), track)
            rest += states[track].times.finish().map { Self.timed($0, track) }
        }
        return rest
    }

    private mutating func place(
        _ packets: [InputClock<(packet: Packet, order: PictureOrder?)>.Timed]
    ) -> [Timed] {
        packets.flatMap { packet -> [Timed] in
            let track = packet.track
            let own = states[track].track
            let dts = own.storesDecodingTimes ? packet.dts : nil
            let content = (packet.packet.packet, dts, packet.duration)
            if own.storesPresentationTimes {
                // Some packetizers stamp only the first of several pictures.
                let pts =
                    packet.pts
                    ?? states[track].between.time(
                        of: packet.packet.order, duration: packet.duration)
                    ?? packet.dts ?? states[track].next
                states[track].between.note(
                    pts, of: packet.packet.order, duration: packet.duration)
                states[track].next = pts + packet.duration
                return complete([(content, pts)], track)
            }
            let slot = packet.dts ?? states[track].next
            states[track].next = slot + packet.duration
            guard case .counted = own.order else { return complete([(content, slot)], track) }
            return complete(
                states[track].order.add(content, slot: slot, order: packet.packet.order), track)
        }
    }

    private mutating func complete(
        _ packets: [(packet: (packet: Packet, dts: Int64?, duration: Int64), pts: Int64)],
        _ track: Int
    ) -> [Timed] {
        packets.flatMap { packet in
            states[track].times.add(
                .init(
                    packet.packet.packet, pts: packet.pts, dts: packet.packet.dts,
                    duration: packet.packet.duration)
            ).map { Self.timed($0, track) }
        }
    }

    private static func timed(_ packet: DecodingTimes<Packet>.Timed, _ track: Int) -> Timed {
        guard let dts = packet.dts else { preconditionFailure("decoding times are complete") }
        return Timed(
            packet: packet.packet, track: track, pts: packet.pts, dts: dts,
            duration: packet.duration)
    }
}

/// Detects presentation times that increase in decoding order although the bitstream presents its pictures in another.
private struct DecodingOrderDetector {
    /// Pictures that a decoder has to present between two earlier ones, as many as no damage makes.
    private static let sufficient = 3
    /// A decoder buffers at most 16 pictures (ISO/IEC 14496-10 §A.3.1).
    private static let window = 16

    private var lastPTS: Int64?
    /// Whether the container has reordered a picture: then it has presentation times.
    private var isReordered = false
    /// The last picture order counts. One that falls below them was reset, which needs no IDR picture (§8.2.1).
    private var counts: [Int64] = []
    private var between = 0

    mutating func detects(_ pts: Int64, _ order: PictureOrder) -> Bool {
        guard !isReordered else { return false }
        if let lastPTS { isReordered = pts < lastPTS }
        lastPTS = pts
        if order.beginsSequence || order.count < counts.min() ?? .min { counts = [] }
        if let highest = counts.max(), order.count < highest, !counts.contains(order.count) {
            between += 1
        }
        counts = counts.suffix(Self.window - 1) + [order.count]
        return !isReordered && between >= Self.sufficient
    }
}

/// Derives the presentation time of a picture without one from its distance to a picture that has one.
private struct PictureClock {
    /// A larger distance than any decoder buffers is damage.
    private static let farthest: UInt64 = 1 << 16
    /// A picture of the current sequence with a known time.
    private var anchor: (count: Int64, pts: Int64)?
    /// Duration of one picture order count; nil: unknown.
    private var tick: Int64?
    /// The end of the last presented picture.
    private var end: Int64?

    /// - Returns: nil if unknown.
    func time(of order: PictureOrder?, duration: Int64) -> Int64? {
        guard let order else { return nil }
        if order.beginsSequence { return end }
        guard let anchor else { return nil }
        let counts = order.count &- anchor.count
        guard counts.magnitude < Self.farthest else { return nil }
        // Nearly all encoders count two per frame.
        let (distance, overflow) = counts.multipliedReportingOverflow(by: tick ?? duration / 2)
        let (pts, isPastEnd) = anchor.pts.addingReportingOverflow(distance)
        return overflow || isPastEnd ? nil : pts
    }

    mutating func note(_ pts: Int64, of order: PictureOrder?, duration: Int64) {
        end = max(end ?? pts, pts + duration)
        guard let order else { return }
        if !order.beginsSequence, let anchor, order.count != anchor.count {
            let (ticks, time) = (order.count &- anchor.count, pts - anchor.pts)
            if ticks.magnitude < Self.farthest, time / ticks > 0 { tick = time / ticks }
        }
        anchor = (order.count, pts)
    }
}
