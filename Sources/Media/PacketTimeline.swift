/// Why the packets of a file cannot be given times.
package enum TimelineError: Error, Hashable {
    /// The container has no presentation times, and the codec's order is not read here.
    case noPresentationTimes(track: Int)
    /// A picture's order cannot be read.
    case damaged(track: Int, BitstreamError)
    case contradiction(ClockContradiction)
    /// Beyond what any recording lasts: damage.
    case outOfRange(track: Int)

    /// What is wrong and what helps, of a file whose tracks have these codecs and kinds.
    package func reason(codec: (Int) -> String, kind: (Int) -> String) -> String {
        switch self {
        case .noPresentationTimes(let track):
            "its \(codec(track)) may have B-frames, and its container has no presentation timestamps: encode it again "
                + "with ffmpeg -i FILE -c:v libx264 NEW.mp4"
        case .damaged(let track, let error):
            "its container has no presentation timestamps, and its \(codec(track)) is damaged: \(error)"
        case .outOfRange(let track):
            "it is damaged: its \(codec(track)) has a timestamp that is out of range"
        case .contradiction(let jump):
            "the timestamps of its \(kind(jump.track)) jump by \(Self.milliseconds(jump.jumpNanoseconds)) ms at "
                + "\(Self.milliseconds(jump.atNanoseconds)) ms, and those of its other tracks do not: cut it there"
        }
    }

    private static func milliseconds(_ nanoseconds: Int64) -> Int64 { nanoseconds / 1_000_000 }
}

/// The times of a file's packets, made true: the one place where times of an input are repaired.
///
/// 1. The clock: wraps are undone, and jumps become joints (``InputClock``).
/// 2. Presentation times, where the container has none, by the bitstream's own order (``PresentationOrder``).
/// 3. Decoding times, so that they grow and precede presentation (``DecodingTimes``). Presentation times stay what they are.
package struct PacketTimeline<Packet> {
    /// How the order of a track's pictures is known where the container has no presentation times.
    package enum Order: Sendable {
        /// The codec does not reorder: presentation follows decoding.
        case decoding
        /// H.264 says it itself.
        case counted(PictureOrderCounter)
        /// The codec may reorder, and its order is not read here.
        case unknown
    }

    /// What is known of a track and its container.
    package struct Track: Sendable {
        package var mayReorder: Bool
        /// The container has presentation times.
        package var storesPresentationTimes: Bool
        /// The container's decoding times are its own, and not a library's guess.
        package var storesDecodingTimes: Bool
        package var order: Order
        /// How long a packet lasts that does not say; 0 when nothing tells.
        package var usualDuration: Int64
        /// Decoding times are that far apart at least.
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
        /// Where the next packet is that has no time at all.
        var next: Int64 = 0
        /// Fills in the times of single pictures.
        var between = PictureClock()
    }

    /// 30 years: sums of what lies within cannot overflow.
    private static var longest: UInt64 { 30 * 366 * 86_400 * 1_000_000_000 }

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

    /// Where the input's clock has jumped so far.
    package var joints: [ClockJoint] { clock.joints }

    /// Takes the next packet in the file's order; those that are complete now, each track's in decoding order.
    package mutating func add(
        _ packet: Packet, track: Int, pts: Int64?, dts: Int64?, duration: Int64,
        bytes: Span<UInt8>
    ) throws(TimelineError) -> [Timed] {
        guard [pts ?? 0, dts ?? 0, duration].allSatisfy({ $0.magnitude < Self.longest }) else {
            throw .outOfRange(track: track)
        }
        var order: PictureOrder?
        let own = states[track].track
        // A time that a library has guessed of a container that has none is no time.
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
            // The count goes on over pictures that have a time; one that does not read is an error only where a time is missing.
            do throws(BitstreamError) {
                order = try counter.order(of: bytes)
            } catch {
                order = nil
            }
            states[track].track.order = .counted(counter)
        }
        // Where places are numbered, a library's duration is one of its own ticks.
        let isTold = duration > 0 && (own.storesPresentationTimes || own.usualDuration == 0)
        let duration = isTold ? duration : own.usualDuration
        do throws(ClockContradiction) {
            return place(
                try clock.add(
                    .init((packet, order), track: track, pts: known, dts: dts, duration: duration)))
        } catch {
            throw .contradiction(error)
        }
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

/// Tells when a picture is presented that has no time of its own, by its distance from one that has.
private struct PictureClock {
    /// More counts between two pictures than any decoder holds are damage.
    private static let farthest: UInt64 = 1 << 16
    /// A picture whose time is known, of the sequence that goes on.
    private var anchor: (count: Int64, pts: Int64)?
    /// Of one picture order count; nil: not known yet.
    private var tick: Int64?
    /// Where the last presented picture of all ends.
    private var end: Int64?

    /// Nil when nothing is known of it.
    func time(of order: PictureOrder?, duration: Int64) -> Int64? {
        guard let order else { return nil }
        if order.beginsSequence { return end }
        guard let anchor else { return nil }
        let counts = order.count &- anchor.count
        guard counts.magnitude < Self.farthest else { return nil }
        // Nearly all encoders count two for a frame.
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
