import Encoding
import Media
import RTSP

/// What becomes of one track of a network camera: access units in, samples out. Belongs to one thread.
protocol NetworkTrack: AnyObject {
    var kind: TrackKind { get }
    /// What comes out.
    var format: TrackFormat { get }
    /// What it is, for people.
    var text: String { get }
    /// The wanted duration is over.
    var isDone: Bool { get }
    /// Something has been recorded since the last connection began.
    var isFlowing: Bool { get }
    /// Nothing before that time counts.
    func begin(startNanoseconds: Int64)
    /// Takes what the camera sent.
    func take(_ items: [DepacketizedItem], _ output: CaptureOutput) throws(EncodingError)
    /// Time has passed.
    func tick(_ output: CaptureOutput) throws(EncodingError)
    /// The connection is gone: what is held is given, and from here on everything is missing.
    func interrupt(_ reason: String, _ output: CaptureOutput) throws(EncodingError)
    /// The camera is back, perhaps with another format.
    func resume(_ description: CameraTrackDescription, _ output: CaptureOutput)
        throws(EncodingError)
    /// Does what can be done without an encoder.
    func follow(_ wishes: PictureRequests.Wishes)
    /// Outputs queued samples, and reports the loss until then.
    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError)
}

extension NetworkTrack {
    func follow(_ wishes: PictureRequests.Wishes) {}
}

/// What tracks of network cameras have in common: where they are, and what is missing.
struct NetworkProgress {
    /// While a camera is away, a loss is reported at least this often, so that a crash loses no more of the report.
    static let longestUntoldNanoseconds: Int64 = 60_000_000_000

    let kind: TrackKind
    var limit: CaptureLimit
    /// Where what was recorded ends; nil: nothing was.
    private(set) var endNanoseconds: Int64?
    private(set) var intervalNanoseconds: Int64
    private var gap: NetworkGap?
    /// Implausible timestamps that are not reported yet, and since when.
    private var stray: (count: Int, startNanoseconds: Int64)?

    init(_ kind: TrackKind, durationNanoseconds: Int64?, intervalNanoseconds: Int64) {
        self.kind = kind
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        self.intervalNanoseconds = intervalNanoseconds
    }

    var isMissing: Bool { gap != nil }

    /// When the next sample is due.
    var dueNanoseconds: Int64 {
        max(limit.startNanoseconds, endNanoseconds ?? limit.startNanoseconds)
    }

    mutating func note(_ hole: StreamHole) {
        guard gap != nil else {
            gap = NetworkGap(hole, startNanoseconds: dueNanoseconds)
            return
        }
        gap?.add(hole)
    }

    mutating func miss(_ cause: CaptureLossCause, _ reason: String) {
        guard gap != nil else {
            gap = NetworkGap(cause, reason, startNanoseconds: dueNanoseconds)
            return
        }
        if cause == .deviceLost { gap?.add(cause, reason) }
    }

    /// A unit that came, and cannot be used for what is missing.
    mutating func drop(_ reason: @autoclosure () -> String) {
        if gap == nil { miss(.deviceLost, reason()) }
        gap?.drop()
    }

    /// A sample is recorded: the loss before it is reported.
    mutating func record(_ sample: EncodedSample, _ output: CaptureOutput) {
        close(atNanoseconds: sample.ptsNanoseconds, output)
        if sample.durationNanoseconds > 0 { intervalNanoseconds = sample.durationNanoseconds }
        reach(sample.ptsNanoseconds + sample.durationNanoseconds)
    }

    /// Sound is recorded up to then.
    mutating func reach(_ end: Int64) {
        endNanoseconds = max(end, endNanoseconds ?? end)
    }

    /// A long loss is reported in parts.
    mutating func tick(_ output: CaptureOutput) {
        let now = output.nowNanoseconds
        if let stray, now - stray.startNanoseconds >= Self.longestUntoldNanoseconds {
            tellStray(output)
        }
        guard let gap, now - gap.beginNanoseconds >= Self.longestUntoldNanoseconds else { return }
        close(atNanoseconds: now, output)
        self.gap = gap.continued(fromNanoseconds: now)
        endNanoseconds = now
    }

    mutating func close(atNanoseconds time: Int64, _ output: CaptureOutput) {
        guard let gap else { return }
        self.gap = nil
        output.lost(
            gap.loss(
                of: kind, untilNanoseconds: time, intervalNanoseconds: intervalNanoseconds))
    }

    mutating func finish(atNanoseconds end: Int64, _ output: CaptureOutput) {
        tellStray(output)
        close(atNanoseconds: end, output)
    }

    // MARK: Times

    /// What the clock has found out about the camera's stamps.
    mutating func note(
        _ findings: ArrivalClock.Findings, atNanoseconds time: Int64, _ output: CaptureOutput
    ) {
        if findings.strayStamps > 0 {
            stray = (
                (stray?.count ?? 0) + findings.strayStamps, stray?.startNanoseconds ?? time
            )
        }
        if findings.steps > 0 {
            tell("the camera's \(kind) timestamps began anew", atNanoseconds: time, output)
        }
        if let rate = findings.ratePPM {
            let percent = "\(rate / 10_000).\("\(100 + rate / 100 % 100)".dropFirst())"
            tell(
                "the camera's \(kind) timestamps run at \(percent) % of the rate that it states; "
                    + "times are taken from arrival", atNanoseconds: time, output)
        }
    }

    private mutating func tellStray(_ output: CaptureOutput) {
        guard let stray else { return }
        self.stray = nil
        tell(
            "\(stray.count) of the camera's \(kind) timestamps were far from all others and got their arrival time",
            atNanoseconds: stray.startNanoseconds, output)
    }

    /// Nothing is missing, but the times are less exact: that belongs to the recording, too.
    func tell(_ text: String, atNanoseconds time: Int64, _ output: CaptureOutput) {
        output.lost(
            CaptureLoss(
                track: kind, cause: .damagedInput,
                startNanoseconds: max(limit.startNanoseconds, time), durationNanoseconds: 0,
                samples: 0, text: text))
    }
}
