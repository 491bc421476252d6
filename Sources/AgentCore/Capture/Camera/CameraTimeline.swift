import Devices
import Media

/// Places a camera's pictures on the monotonic clock, across interruptions: which pictures are recorded, their capture times, and
/// losses with their causes.
struct CameraTimeline {
    /// How a picture is used.
    enum Verdict: Hashable {
        /// It is recorded with that time.
        case recorded(atNanoseconds: Int64)
        /// Captured before the start, or above the requested rate.
        case leftOut
        /// Its content is damaged.
        case damaged
    }

    /// Pictures are missing from here on, until the next one.
    private struct Gap {
        var startNanoseconds: Int64
        var cause: CaptureLossCause
        var text: String
    }

    /// The picture before.
    private struct Last {
        var nanoseconds: Int64
        /// From its capture until it was taken out of the driver's queue.
        var ageNanoseconds: Int64
    }

    /// Implausible timestamps since the last report.
    private struct Doubt {
        var count = 0
        var startNanoseconds: Int64
    }

    /// Interval at which a continuing loss is reported, which bounds what a crash loses of the report.
    private static let longestUntoldNanoseconds: Int64 = 60_000_000_000
    /// If a picture was dequeued this many pictures late, the agent caused the loss by leaving the driver without buffers.
    private static let overloadPictures: Int64 = 2
    /// Tolerated jitter of pictures that are early.
    private static let graceNanoseconds: Int64 = 1_000_000

    private let startNanoseconds: Int64
    private var choice: CameraChoice
    private var sequence: CameraSequence
    private var stamps = DriverStamps()
    private var last: Last?
    private var gap: Gap?
    private var doubt: Doubt?
    /// Period of the last recorded picture: its index at the recorded rate, counted from the start.
    private var lastPeriod: Int64?
    /// Pictures lost since then, from the driver's sequence numbers.
    private var missing = 0

    init(_ choice: CameraChoice, startNanoseconds: Int64) {
        self.choice = choice
        self.startNanoseconds = startNanoseconds
        sequence = CameraSequence(rate: choice.rate ?? choice.recordedRate)
    }

    /// Processes a picture.
    mutating func take(_ picture: CameraPicture, lost: (CaptureLoss) -> Void) -> Verdict {
        let moment = stamps.moment(
            stampNanoseconds: picture.stampNanoseconds, isMonotonic: picture.isMonotonic,
            takenNanoseconds: picture.takenNanoseconds)
        let time = moment.nanoseconds
        note(moment, lost)
        missing += sequence.missing(before: picture.sequence, atNanoseconds: time)
        let before = last
        last = Last(nanoseconds: time, ageNanoseconds: picture.takenNanoseconds - time)
        guard time >= startNanoseconds else {
            missing = 0
            return .leftOut
        }
        let period = period(atNanoseconds: time)
        if choice.isThinned, gap == nil, let lastPeriod, period <= lastPeriod { return .leftOut }
        if gap != nil {
            close(atNanoseconds: time, lost)
        } else if let before {
            tellMissing(from: before, to: time, period: period, lost)
        }
        lastPeriod = period
        missing = 0
        guard !picture.isDamaged else {
            lost(
                CaptureLoss(
                    track: .video, cause: .damagedInput, startNanoseconds: time,
                    durationNanoseconds: intervalNanoseconds, samples: 1,
                    text: "the camera driver marked a picture as damaged"))
            return .damaged
        }
        return .recorded(atNanoseconds: time)
    }

    /// The camera has stopped: the time of the next picture determines the loss.
    mutating func interrupt(_ cause: CaptureLossCause, text: String) {
        if gap == nil {
            let due = last.map { $0.nanoseconds + intervalNanoseconds } ?? startNanoseconds
            gap = Gap(startNanoseconds: max(startNanoseconds, due), cause: cause, text: text)
        }
        missing = 0
    }

    /// The camera was restarted: its count begins again, perhaps at another rate.
    mutating func restart(_ choice: CameraChoice) {
        self.choice = choice
        sequence = CameraSequence(rate: choice.rate ?? choice.recordedRate)
    }

    /// The camera is still missing: reports a part of a long loss.
    mutating func wait(nowNanoseconds: Int64, lost: (CaptureLoss) -> Void) {
        guard let gap, nowNanoseconds - gap.startNanoseconds >= Self.longestUntoldNanoseconds
        else { return }
        close(atNanoseconds: nowNanoseconds, lost)
        self.gap = Gap(startNanoseconds: nowNanoseconds, cause: gap.cause, text: gap.text)
    }

    /// Ends the capture. The loss of a disconnected camera extends to this time.
    mutating func finish(atNanoseconds end: Int64, lost: (CaptureLoss) -> Void) {
        tellDoubt(lost)
        if gap != nil { close(atNanoseconds: end, lost) }
    }

    /// Expected duration of a picture, nanoseconds.
    var intervalNanoseconds: Int64 { choice.recordedRate.nanoseconds(ofPicture: 1) }

    // MARK: Losses

    private func period(atNanoseconds time: Int64) -> Int64 {
        choice.recordedRate.pictures(
            inNanoseconds: time - startNanoseconds + Self.graceNanoseconds + 1) - 1
    }

    private mutating func tellMissing(
        from before: Last, to time: Int64, period: Int64, _ lost: (CaptureLoss) -> Void
    ) {
        // If only some pictures are recorded, pictures of other times may be used instead of the missing ones.
        let count =
            choice.isThinned
            ? min(missing, Int(clamping: period - (lastPeriod ?? period) - 1)) : missing
        guard count > 0 else { return }
        let step = (time - before.nanoseconds) / Int64(missing + 1)
        let start = max(startNanoseconds, before.nanoseconds + step)
        let isOurs =
            before.ageNanoseconds
            > Self.overloadPictures * (choice.rate ?? choice.recordedRate).nanoseconds(ofPicture: 1)
        lost(
            CaptureLoss(
                track: .video, cause: isOurs ? .encoderOverload : .driverDrop,
                startNanoseconds: start, durationNanoseconds: time - start, samples: count,
                text: isOurs
                    ? "this box was too slow: the camera driver had no free buffer for \(count) pictures"
                    : "the camera driver dropped \(count) pictures"))
    }

    private mutating func close(
        atNanoseconds time: Int64, _ lost: (CaptureLoss) -> Void
    ) {
        guard let gap else { return }
        self.gap = nil
        let duration = time - gap.startNanoseconds
        guard duration > 0 else { return }
        // A picture that is half an interval late is the expected one.
        let count = choice.recordedRate.pictures(inNanoseconds: duration - intervalNanoseconds / 2)
        lost(
            CaptureLoss(
                track: .video, cause: gap.cause, startNanoseconds: gap.startNanoseconds,
                durationNanoseconds: duration, samples: Int(clamping: count), text: gap.text))
    }

    // MARK: Stamps

    private mutating func note(
        _ moment: DriverStamps.Moment, _ lost: (CaptureLoss) -> Void
    ) {
        if moment.isDriversOwn {
            tellDoubt(lost)
            return
        }
        if doubt == nil { doubt = Doubt(startNanoseconds: moment.nanoseconds) }
        doubt?.count += 1
        if let doubt,
            moment.nanoseconds - doubt.startNanoseconds >= Self.longestUntoldNanoseconds
        {
            tellDoubt(lost)
        }
    }

    /// Records a note about inexact times: a loss of no samples.
    private mutating func tellDoubt(_ lost: (CaptureLoss) -> Void) {
        guard let doubt else { return }
        self.doubt = nil
        lost(
            CaptureLoss(
                track: .video, cause: .damagedInput,
                startNanoseconds: max(startNanoseconds, doubt.startNanoseconds),
                durationNanoseconds: 0, samples: 0,
                text:
                    "the camera's timestamps were not on the monotonic clock: \(doubt.count) pictures "
                    + "got their arrival time instead"))
    }
}
