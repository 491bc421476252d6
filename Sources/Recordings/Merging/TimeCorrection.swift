import Archive
import MP4
import Media
import Timing

/// The part of a file's shift to the timeline of a merged session that varies within the file, because the rates of two
/// collectors' clocks differ.
package struct TimeCorrection: Hashable, Sendable {
    /// Distance of knots: between them, two clocks deviate from a straight line by some ten microseconds.
    private static let spacingNanoseconds: Int64 = 10_000_000_000
    /// Knots of a file; for longer files, they are farther apart.
    private static let maximumKnots: Int64 = 512

    struct Knot: Hashable, Sendable {
        /// Session time in the file's own archive.
        var sessionNanoseconds: Int64
        /// Shift at the knot, in addition to the whole file's shift.
        var shiftNanoseconds: Int64
        /// Maximum error of shifts from here to the next knot.
        var boundNanoseconds: UInt64
    }

    /// At least one, in the order of time.
    private(set) var knots: [Knot] = []
    /// Shift of the whole file: that of its start.
    package let shiftNanoseconds: Int64

    /// - Parameters:
    ///   - start: the file's start, session time of its archive.
    ///   - length: its length, nanoseconds.
    package init(_ shift: SessionShift, from start: Int64, length: Int64) {
        shiftNanoseconds = shift.at(start).nanoseconds
        let spacing = max(Self.spacingNanoseconds, length / Self.maximumKnots)
        let slack = UInt64(clamping: ClockDifference.interpolationSlack(over: spacing))
        // Its first samples may be captured a little earlier, and the last ones later.
        var time = start.clampedSubtracting(spacing)
        let end = start.clampedAdding(length).clampedAdding(spacing)
        while true {
            let here = shift.at(time)
            knots.append(
                Knot(
                    sessionNanoseconds: time,
                    shiftNanoseconds: here.nanoseconds.clampedSubtracting(shiftNanoseconds),
                    boundNanoseconds: here.boundNanoseconds))
            guard time < end else { break }
            time = time.clampedAdding(spacing)
        }
        for index in knots.indices {
            let next = knots[min(index + 1, knots.count - 1)].boundNanoseconds
            knots[index].boundNanoseconds = max(knots[index].boundNanoseconds, next)
                .clampedAdding(slack)
        }
    }

    /// The greatest error of a time in the file.
    package var boundNanoseconds: UInt64 { knots.lazy.map(\.boundNanoseconds).max() ?? 0 }

    /// The greatest move within the file.
    var greatestShiftNanoseconds: Int64 {
        Int64(clamping: knots.lazy.map(\.shiftNanoseconds.magnitude).max() ?? 0)
    }

    /// The greatest error of a session time of the file's archive.
    private func bound(at session: Int64) -> UInt64 {
        // A moment may be moved across a knot.
        let next = knots.firstIndex { $0.sessionNanoseconds > session } ?? knots.count
        return max(
            knots[max(0, next - 1)].boundNanoseconds,
            knots[min(next, knots.count - 1)].boundNanoseconds)
    }

    /// The move of a session time of the file's archive, in addition to the file's shift.
    func shift(at session: Int64) -> Int64 {
        let next = knots.firstIndex { $0.sessionNanoseconds > session } ?? knots.count
        guard next > 0 else { return knots[0].shiftNanoseconds }
        let from = knots[next - 1]
        guard next < knots.count else { return from.shiftNanoseconds }
        let to = knots[next]
        let rise = Int128(to.shiftNanoseconds) - Int128(from.shiftNanoseconds)
        let run = Int128(to.sessionNanoseconds) - Int128(from.sessionNanoseconds)
        let part = Int128(session) - Int128(from.sessionNanoseconds)
        return Int64(clamping: Int128(from.shiftNanoseconds) + rise * part / run)
    }

    /// As the retiming of a file, whose bounds are added to those of the file's fragments.
    /// - Parameters:
    ///   - retiming: the file's own; nil: its times are as recorded.
    ///   - movie: of the file.
    ///   - origin: the file's start, session time of its archive.
    func retiming(
        after retiming: RetimingRecord?, _ movie: Movie, origin: Int64
    ) -> RetimingRecord {
        var tracks: [RetimingRecord.Track] = []
        for track in movie.tracks {
            guard let kind = track.kind, !tracks.contains(where: { $0.kind == kind }) else {
                continue
            }
            func ticks(at session: Int64) -> Int64 {
                saturatingRescale(
                    session.clampedSubtracting(origin), from: .nanoseconds, to: track.timescale
                ).clampedAdding(track.mediaTimeShift)
            }
            func session(at ticks: Int64) -> Int64 {
                track.timescale.nanoseconds(ticks.clampedSubtracting(track.mediaTimeShift))
                    .clampedAdding(origin)
            }
            let own = retiming?.track(kind)
            let places = Set(
                knots.map { ticks(at: $0.sessionNanoseconds) } + (own?.knots.map(\.ticks) ?? []))
            let mapped = places.sorted().map { place in
                let before = own?.shiftNanoseconds(at: place) ?? 0
                let moved = session(at: place).clampedAdding(before)
                return RetimingRecord.Knot(
                    ticks: place, shiftNanoseconds: before.clampedAdding(shift(at: moved)),
                    boundNanoseconds: bound(at: moved).clampedAdding(
                        own?.boundNanoseconds(at: place) ?? 0))
            }
            var start = own?.startTicks ?? RetimingRecord.Track.startsByMapping
            if own != nil {
                let move = shift(at: session(at: start))
                start.addClamped(
                    saturatingRescale(move, from: .nanoseconds, to: track.timescale))
            }
            tracks.append(RetimingRecord.Track(kind: kind, startTicks: start, knots: mapped))
        }
        let bounds = tracks.flatMap(\.knots).map(\.boundNanoseconds)
        let after =
            RetimingRecord.Bounds(bounds) ?? retiming?.after
            ?? RetimingRecord.Bounds([boundNanoseconds])
        guard let after else { preconditionFailure("there is a bound") }
        var record = RetimingRecord(
            before: retiming?.before ?? after, after: after, tracks: tracks)
        record.addsBounds = retiming == nil
        return record
    }
}
