import Encoding
import Media
import RTSP

/// Records one track of a network camera: access units in, samples out. Used on one thread.
protocol NetworkTrack: AnyObject {
    var kind: TrackKind { get }
    /// The recorded format.
    var format: TrackFormat { get }
    /// Human-readable description.
    var text: String { get }
    var times: UnitTimes { get set }
    var progress: NetworkProgress { get set }
    /// Sender reports since the last sample, to be kept with the next one.
    var reports: [CameraReport] { get set }

    /// Ignores everything before the start.
    func begin(startNanoseconds: Int64)
    /// Records a unit that is before the end of the wanted duration.
    func record(_ timed: UnitTimes.Timed, _ output: CaptureOutput) throws(EncodingError)
    /// Units are missing.
    /// - Parameter isHarmless: the next unit can be decoded without them.
    func discontinue(isHarmless: Bool, _ output: CaptureOutput) throws(EncodingError)
    /// Called regularly, with or without units.
    /// - Parameter now: all packets that arrived before it have been read.
    func tick(_ output: CaptureOutput, nowNanoseconds now: Int64) throws(EncodingError)
    /// The camera has been connected again, perhaps with another format.
    func resume(_ description: CameraTrackDescription, _ output: CaptureOutput)
        throws(EncodingError)
    /// Applies the requests that need no encoder.
    func follow(_ requests: PictureRequests.Pending)
    /// Outputs queued samples, and reports a loss that lasts until then.
    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError)
}

extension NetworkTrack {
    /// The wanted duration is over.
    var isDone: Bool { progress.isDone }
    /// Samples have been recorded since the last connection was opened.
    var isFlowing: Bool { progress.isFlowing }

    func begin(startNanoseconds: Int64) {
        progress.limit.begin(startNanoseconds: startNanoseconds)
    }

    func discontinue(isHarmless: Bool, _ output: CaptureOutput) throws(EncodingError) {}

    func follow(_ requests: PictureRequests.Pending) {}

    /// Keeps a report for the next sample. Without samples, only the newest ones are kept.
    func note(_ report: SenderReport, arrivalNanoseconds arrival: Int64) {
        if reports.count == CameraStamps.maximumReports { reports.removeFirst() }
        reports.append(
            CameraReport(
                source: report.source, ntp: report.ntp, timestamp: report.timestamp,
                arrivalNanoseconds: arrival))
    }

    /// Adds the stamps of a sample's packets to it.
    func stamp(_ sample: inout EncodedSample, _ unit: AccessUnit, clockRate: UInt32) {
        sample.camera = CameraStamps(
            clockRate: clockRate,
            stamps: [
                CameraStamp(
                    timestamp: unit.timestamp,
                    arrivalNanoseconds: unit.firstArrivalNanoseconds,
                    arrivalSpanNanoseconds: max(
                        0, unit.lastArrivalNanoseconds - unit.firstArrivalNanoseconds),
                    firstPacket: unit.firstNumber,
                    packets: UInt32(clamping: unit.lastNumber - unit.firstNumber + 1))
            ], reports: reports)
        reports = []
    }

    func take(_ items: [DepacketizedItem], _ output: CaptureOutput) throws(EncodingError) {
        for item in items {
            if case .unit(let unit) = item { progress.hear(unit.firstArrivalNanoseconds) }
            try record(times.add(item, now: output.nowNanoseconds), output)
        }
    }

    func tick(_ output: CaptureOutput, nowNanoseconds now: Int64) throws(EncodingError) {
        try record(times.tick(now: now), output)
        progress.tick(output, nowNanoseconds: now)
    }

    /// The connection is lost: records queued units, and starts a loss.
    func interrupt(_ reason: String, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        try discontinue(isHarmless: false, output)
        progress.miss(.deviceLost, reason)
        progress.isFlowing = false
        progress.forgetSilence()
        // The next connection has its own reports.
        reports = []
    }

    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        progress.finish(atNanoseconds: end, output)
    }

    func record(_ items: [UnitTimes.Item], _ output: CaptureOutput) throws(EncodingError) {
        for item in items {
            switch item {
            case .unit(let timed):
                let time = timed.ptsNanoseconds
                progress.note(times.takeFindings(), atNanoseconds: time, output)
                if !progress.endsDuration(atNanoseconds: time) { try record(timed, output) }
            case .hole(let hole):
                try discontinue(isHarmless: hole.isHarmless, output)
                progress.note(hole)
            }
        }
    }
}

extension CodedPacket {
    /// Duration of a picture while that of the track's pictures is unknown.
    private static let usualDuration: Int64 = 40_000_000

    /// - Parameter newConfiguration: of video.
    init(_ timed: UnitTimes.Timed, _ track: TrackKind, newConfiguration: [UInt8]? = nil) {
        let bytes = timed.unit.data.withUnsafeBytes { PaddedBytes($0) }
        let isVideo = track == .video
        self.init(
            track: track, ptsNanoseconds: timed.ptsNanoseconds,
            dtsNanoseconds: isVideo ? timed.dtsNanoseconds : timed.ptsNanoseconds,
            durationNanoseconds: isVideo ? Self.duration(timed) : 0,
            // The copier determines the keyframes of video.
            isKeyframe: !isVideo, isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0,
            newConfiguration: newConfiguration, bytes: bytes.bytes, owner: bytes)
    }

    private static func duration(_ timed: UnitTimes.Timed) -> Int64 {
        timed.durationNanoseconds > 0 ? timed.durationNanoseconds : usualDuration
    }
}

/// Position, duration limit and pending loss of a network camera's track.
struct NetworkProgress {
    /// Interval at which a continuing loss is reported, which bounds what a crash loses of the report.
    static let longestUntoldNanoseconds: Int64 = 60_000_000_000

    let kind: TrackKind
    var limit: CaptureLimit
    /// See ``NetworkTrack/isDone``.
    private(set) var isDone = false
    /// See ``NetworkTrack/isFlowing``.
    var isFlowing = false
    /// End of the last recorded sample; nil if there is none.
    private(set) var endNanoseconds: Int64?
    /// Distance of two samples; 0: not known.
    private(set) var intervalNanoseconds: Int64
    private var gap: NetworkGap?
    /// Why the camera sends nothing that can be recorded; nil: unknown.
    private var silenceReason: String?
    /// For pictures only.
    private var slots = PictureSlots()
    /// The last reported gap.
    private var reported: Range<Int64>?
    /// Known delay from capture to arrival.
    private let delayNanoseconds: Int64
    /// Distance of the last two pictures; 0: not known.
    private var distanceNanoseconds: Int64 = 0
    private var lastNanoseconds: Int64?
    /// When the last unit arrived, less the known delay.
    private var heardNanoseconds = Int64.min
    /// The time by which the clock moved the next samples forward although units arrived.
    private var forwardNanoseconds: Int64 = 0
    /// Unreported implausible timestamps, and the time of the first one.
    private var stray: (count: Int, startNanoseconds: Int64)?
    /// Unreported lags of the timestamps, and the time of the first one.
    private var lag: (count: Int, nanoseconds: Int64, startNanoseconds: Int64)?
    /// Unreported duration of dropped audio whose times overlap recorded audio, and the time of the first one.
    private var overlap: (nanoseconds: Int64, startNanoseconds: Int64)?

    init(
        _ kind: TrackKind, durationNanoseconds: Int64?, intervalNanoseconds: Int64,
        delayNanoseconds: Int64 = 0
    ) {
        self.kind = kind
        self.delayNanoseconds = delayNanoseconds
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        self.intervalNanoseconds = intervalNanoseconds
    }

    var isMissing: Bool { gap != nil }

    /// The continuing gap.
    var missing: NetworkGap? { gap }

    /// Expected start of the next sample.
    var dueNanoseconds: Int64 {
        max(limit.startNanoseconds, endNanoseconds ?? limit.startNanoseconds)
    }

    /// Time of the first unit that is neither recorded nor reported: pictures may be recorded before an earlier one.
    private var missingNanoseconds: Int64 {
        kind == .video ? slots.dueNanoseconds ?? dueNanoseconds : dueNanoseconds
    }

    /// Whether a unit is at or after the end of the wanted duration; the track is done then.
    mutating func endsDuration(atNanoseconds time: Int64) -> Bool {
        isDone = isDone || limit.isReached(atNanoseconds: time)
        return isDone
    }

    /// Whether an audio packet is new: after connecting, a camera may send audio from before.
    func isNew(atNanoseconds time: Int64) -> Bool { isFlowing || time >= dueNanoseconds }

    mutating func note(_ hole: StreamHole) {
        guard gap != nil else {
            gap = NetworkGap(hole, startNanoseconds: missingNanoseconds)
            return
        }
        gap?.add(hole)
    }

    mutating func miss(_ cause: CaptureLossCause, _ reason: String) {
        guard gap != nil else {
            gap = NetworkGap(cause, reason, startNanoseconds: missingNanoseconds)
            return
        }
        if cause == .deviceLost { gap?.add(cause, reason) }
    }

    /// An audio packet in a codec that this track does not record.
    mutating func dropOtherCodec() {
        miss(
            .deviceLost,
            "since it is back, the camera sends its sound in another codec: restart the agent")
        drop("")
    }

    /// A picture cannot be used because the pictures before the keyframe are missing.
    mutating func dropUndecodable(atNanoseconds time: Int64) {
        // A leading picture of the keyframe: it was lost with the gap before it.
        if reported?.contains(time) == true { return }
        drop("the pictures before the camera's first keyframe were dropped")
    }

    /// A received unit cannot be used.
    mutating func drop(_ reason: @autoclosure () -> String) {
        if gap == nil { miss(.deviceLost, reason()) }
        gap?.drop()
    }

    // MARK: Silence

    /// Time without samples after which the camera is considered silent. For pictures, whose rate may be low or vary,
    /// at least thrice their last distance; nil: their distance is not known.
    private var silenceNanoseconds: Int64? {
        switch kind {
        case .audio: 1_000_000_000
        case .video: distanceNanoseconds > 0 ? max(3_000_000_000, 3 * distanceNanoseconds) : nil
        }
    }

    private var silence: String {
        silenceReason ?? (kind == .audio ? Self.noSound : Self.noPictures)
    }
    private static let noSound = "the camera sent no sound"
    private static let noPictures = "the camera sent no pictures"

    /// The reason of the present silence, and of later ones of this connection.
    mutating func explainSilence(_ reason: String) {
        silenceReason = reason
        if gap?.isSilence == true { gap?.explain(reason) }
    }

    /// The connection is lost.
    mutating func forgetSilence() { silenceReason = nil }

    /// A unit has arrived, which may be held.
    mutating func hear(_ arrival: Int64) {
        heardNanoseconds = max(heardNanoseconds, arrival.clampedSubtracting(delayNanoseconds))
    }

    /// A sample follows: the time before it may be missing although no packet was lost.
    mutating func follow(atNanoseconds time: Int64) {
        defer { forwardNanoseconds = 0 }
        guard let silenceNanoseconds else { return }
        // A correction of the times is no time without samples.
        let passed = time.clampedSubtracting(dueNanoseconds)
        let isMissing = passed.clampedSubtracting(forwardNanoseconds) >= silenceNanoseconds
        if gap == nil, isMissing { miss(.deviceLost, silence) }
        if gap?.isSilence == true, gap?.isFilled == false, !isMissing { gap = nil }
    }

    /// Silence is recorded for the gap: delayed samples no longer cancel it.
    mutating func keepGap() { gap?.isFilled = true }

    /// Audio has arrived after silence was recorded for it.
    mutating func noteLateSound() { if gap?.isFilled == true { gap?.noteLateSound() } }

    /// Starts a loss while nothing arrives.
    private mutating func watchSilence(_ now: Int64) {
        guard gap == nil, !isDone, let silenceNanoseconds else { return }
        let arrival = now.clampedSubtracting(delayNanoseconds)
        // Units are held for a moment, and networks are late. Timestamps may lag far behind while units arrive.
        let heard = max(dueNanoseconds, heardNanoseconds)
        if arrival.clampedSubtracting(heard) >= silenceNanoseconds + Self.latestNanoseconds {
            gap = NetworkGap(.deviceLost, silence, startNanoseconds: missingNanoseconds)
            gap?.isSilence = true
        }
    }
    private static let latestNanoseconds: Int64 = 2_000_000_000
    /// No sample is expected for at most this time after the last one.
    private static let longestReachNanoseconds: Int64 = 1_000_000_000

    /// Adds a recorded sample, and reports the loss before it.
    /// - Parameter interval: the distance of two samples, if it is not the duration; 0: unknown.
    mutating func record(
        _ sample: EncodedSample, intervalNanoseconds interval: Int64? = nil,
        _ output: CaptureOutput
    ) {
        let interval = interval ?? sample.durationNanoseconds
        if intervalNanoseconds == 0 { intervalNanoseconds = interval }
        follow(atNanoseconds: sample.ptsNanoseconds)
        close(atNanoseconds: sample.ptsNanoseconds, isFollowed: true, output)
        if kind == .video {
            slots.add(
                sample.ptsNanoseconds, final: sample.dtsNanoseconds,
                intervalNanoseconds: intervalNanoseconds)
            if let last = lastNanoseconds, sample.ptsNanoseconds > last {
                distanceNanoseconds = sample.ptsNanoseconds - last
            }
            lastNanoseconds = max(sample.ptsNanoseconds, lastNanoseconds ?? .min)
        }
        if interval > 0 { intervalNanoseconds = interval }
        // The next picture may come sooner than those before it.
        let reached = min(sample.durationNanoseconds, Self.longestReachNanoseconds)
        reach(sample.ptsNanoseconds + reached)
        isFlowing = true
        silenceReason = nil
    }

    /// Samples are recorded up to a time.
    mutating func reach(_ end: Int64) {
        endNanoseconds = max(end, endNanoseconds ?? end)
    }

    /// Reports part of a continuing loss.
    /// - Parameter now: all packets that arrived before it have been read.
    mutating func tick(_ output: CaptureOutput, nowNanoseconds now: Int64) {
        let untold = now - Self.longestUntoldNanoseconds
        if let stray, stray.startNanoseconds <= untold { tellStray(output) }
        if let lag, lag.startNanoseconds <= untold { tellLag(output) }
        if let overlap, overlap.startNanoseconds <= untold { tellOverlap(output) }
        watchSilence(now)
        guard let gap, now - gap.beginNanoseconds >= Self.longestUntoldNanoseconds else { return }
        close(atNanoseconds: now, output)
        self.gap = gap.continued(fromNanoseconds: now)
        endNanoseconds = now
    }

    /// - Parameter isFollowed: a unit at that time is recorded.
    mutating func close(
        atNanoseconds time: Int64, isFollowed: Bool = false, _ output: CaptureOutput
    ) {
        guard let gap else { return }
        self.gap = nil
        var end = time
        var missing: Int?
        if kind == .video {
            if isFollowed, gap.isHarmless,
                let span = slots.takeMissing(
                    gap.dropped, intervalNanoseconds: intervalNanoseconds)
            {
                end = span.upperBound
                missing = gap.dropped
            } else {
                missing = slots.takeMissing(
                    before: time, from: gap.beginNanoseconds,
                    intervalNanoseconds: intervalNanoseconds)
            }
        }
        reported = gap.beginNanoseconds..<max(gap.beginNanoseconds, end)
        output.lost(
            gap.loss(
                of: kind, untilNanoseconds: end, intervalNanoseconds: intervalNanoseconds,
                missing: missing))
    }

    mutating func finish(atNanoseconds end: Int64, _ output: CaptureOutput) {
        tellStray(output)
        tellLag(output)
        tellOverlap(output)
        // Of a harmless gap, no more pictures are missing than the known ones.
        close(atNanoseconds: end, isFollowed: true, output)
    }

    // MARK: Times

    /// Reports findings about the camera's timestamps.
    mutating func note(
        _ findings: ArrivalClock.Findings, atNanoseconds time: Int64, _ output: CaptureOutput
    ) {
        if findings.strayStamps > 0 {
            stray = (
                (stray?.count ?? 0) + findings.strayStamps, stray?.startNanoseconds ?? time
            )
        }
        forwardNanoseconds = forwardNanoseconds.clampedAdding(findings.forwardNanoseconds)
        if findings.lagNanoseconds > 0 {
            lag = (
                (lag?.count ?? 0) + 1,
                (lag?.nanoseconds ?? 0).clampedAdding(findings.lagNanoseconds),
                lag?.startNanoseconds ?? time
            )
        } else if findings.steps > 0 {
            tell("the camera's \(kind) timestamps began anew", atNanoseconds: time, output)
        }
        if findings.isStanding {
            tell(
                "the camera's \(kind) timestamps do not grow; times are taken from arrival",
                atNanoseconds: time, output)
        }
        if findings.isCounting {
            tell(
                "the camera's \(kind) timestamps contradict the length of its packets; times are taken from length and arrival",
                atNanoseconds: time, output)
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

    private mutating func tellLag(_ output: CaptureOutput) {
        guard let lag else { return }
        self.lag = nil
        let often = lag.count == 1 ? "" : " \(lag.count) times,"
        tell(
            "the camera's \(kind) timestamps fell behind\(often) by \(lag.nanoseconds / 1_000_000) ms; times are taken from arrival",
            atNanoseconds: lag.startNanoseconds, output)
    }

    /// Audio is dropped because its time has audio already.
    mutating func noteOverlap(_ duration: Int64, atNanoseconds time: Int64) {
        overlap = (
            (overlap?.nanoseconds ?? 0).clampedAdding(max(0, duration)),
            overlap?.startNanoseconds ?? time
        )
    }

    private mutating func tellOverlap(_ output: CaptureOutput) {
        guard let overlap else { return }
        self.overlap = nil
        tell(
            "\(overlap.nanoseconds / 1_000_000) ms of the camera's sound came for a time that had sound already: they are dropped",
            atNanoseconds: overlap.startNanoseconds, output)
    }

    /// Records a note about inexact times: a loss of no samples.
    func tell(_ text: String, atNanoseconds time: Int64, _ output: CaptureOutput) {
        output.lost(
            CaptureLoss(
                track: kind, cause: .damagedInput,
                startNanoseconds: max(limit.startNanoseconds, time), durationNanoseconds: 0,
                samples: 0, text: text))
    }
}
