package import Media

/// The schedule of pictures: picture n is due at start + n / rate, until the end.
///
/// After a delay of more than the backlog, it continues with the newest due picture and reports the skipped ones, like
/// a camera driver with a limited number of buffers.
package struct PictureSchedule: Sendable {
    /// The next action.
    package enum Step: Hashable, Sendable {
        case wait(untilNanoseconds: Int64)
        /// Make picture `number`, which was due at that time.
        case picture(number: Int64, dueNanoseconds: Int64)
        /// `count` pictures from that time on were skipped.
        case skipped(count: Int, startNanoseconds: Int64, durationNanoseconds: Int64)
        case finished
    }

    /// Half a second at 30 pictures per second: longer than the stalls of a busy box, short enough for live video.
    package static let usualBacklog: Int64 = 15

    private let backlog: Int64
    private let rate: FrameRate
    private let startNanoseconds: Int64
    /// Total number of pictures; nil: unlimited.
    private let count: Int64?
    private var number: Int64 = 0

    package init(
        rate: FrameRate, startNanoseconds: Int64, durationNanoseconds: Int64?,
        backlog: Int64 = Self.usualBacklog
    ) {
        self.backlog = backlog
        self.rate = rate
        self.startNanoseconds = startNanoseconds
        count = durationNanoseconds.map { rate.pictures(inNanoseconds: $0) }
    }

    /// The next action of the thread that makes the pictures.
    package mutating func next(nowNanoseconds: Int64) -> Step {
        if let count, number >= count { return .finished }
        let due = time(of: number)
        if due > nowNanoseconds { return .wait(untilNanoseconds: due) }
        var newest = rate.pictures(inNanoseconds: nowNanoseconds - startNanoseconds + 1) - 1
        if let count { newest = min(newest, count - 1) }
        if newest - number > backlog {
            defer { number = newest }
            return .skipped(
                count: Int(newest - number), startNanoseconds: due,
                durationNanoseconds: time(of: newest) - due)
        }
        number += 1
        return .picture(number: number - 1, dueNanoseconds: due)
    }

    private func time(of number: Int64) -> Int64 {
        startNanoseconds + rate.nanoseconds(ofPicture: number)
    }
}
