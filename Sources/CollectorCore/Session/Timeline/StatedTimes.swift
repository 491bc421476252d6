import Media
import Wire

/// Compares the capture times that a network camera states with the recorded ones.
///
/// A sample's stated time is the time of the track's last sender report plus the distance of their RTP timestamps (RFC 3550
/// §6.4.1). It is by the camera's clock, and has no error bound. The arrival of the sample's first packet is by ours: the
/// sample was captured before. A stated time after the arrival is wrong by at least the difference.
struct StatedTimes: Sendable {
    /// Statistics of a track's stated times over a span of recorded time.
    struct Finding: Hashable, Sendable {
        /// Session time of the first sample.
        var startNanoseconds: Int64
        /// Stated less recorded times.
        var leastNanoseconds: Int64
        var medianNanoseconds: Int64
        var greatestNanoseconds: Int64
        /// The greatest distance of a stated time from its arrival; positive: after it.
        var aheadNanoseconds: Int64
    }

    /// Recorded time from which a finding is made, after the first one.
    private static let spanNanoseconds: Int64 = 10_000_000_000
    /// Recorded time from which the first finding is made.
    private static let firstSpanNanoseconds: Int64 = 2_000_000_000
    /// Samples of a span that are compared.
    private static let mostSamples = 1_024
    /// A finding whose median differs by more than this from the last reported one is reported.
    private static let toleranceNanoseconds: Int64 = 50_000_000
    /// After this time, a finding with an unchanged median is reported as well.
    private static let calmNanoseconds: Int64 = 900_000_000_000
    /// Validity of a report: timestamps of later samples may have wrapped (after 13 h at 90 kHz).
    private static let reportNanoseconds: Int64 = 3_600_000_000_000
    /// Seconds from 1900 to 1970.
    private static let secondsTo1970: Int64 = 2_208_988_800

    /// Timestamps that differ from their arrivals by more than this, from one sample to the next, have restarted.
    private static let newCountNanoseconds: Int64 = 10_000_000_000

    /// Samples that are compared together.
    private struct Span: Sendable {
        var startNanoseconds: Int64?
        var offsets: [Int64] = []
        var ahead = Int64.min

        mutating func add(stated: Int64, recorded: Int64, arrival: Int64) {
            startNanoseconds = startNanoseconds ?? recorded
            ahead = max(ahead, stated.clampedSubtracting(arrival))
            if offsets.count < mostSamples { offsets.append(stated.clampedSubtracting(recorded)) }
        }

        /// Nil without samples.
        var finding: Finding? {
            let sorted = offsets.sorted()
            guard let startNanoseconds, let least = sorted.first, let greatest = sorted.last else {
                return nil
            }
            return Finding(
                startNanoseconds: startNanoseconds, leastNanoseconds: least,
                medianNanoseconds: sorted[sorted.count / 2], greatestNanoseconds: greatest,
                aheadNanoseconds: ahead)
        }
    }

    private struct Track: Sendable {
        var report: CameraReport?
        var last: CameraStamp?
        var span = Span()
        /// The part of the span since the last report that contradicts the one before it: the camera's clock was set.
        var tail: Span?
        var noted: Finding?
        /// The greatest ``Finding/aheadNanoseconds`` of the reported findings.
        var notedAhead = Int64.min
    }

    private var tracks = PerTrack<Track>()

    /// Processes a run of samples.
    /// - Parameters:
    ///   - zeroUTC: the session's zero, nanoseconds since 1970.
    ///   - session: session time of an instant of the agent's clock.
    /// - Returns: a finding that is noteworthy.
    mutating func note(
        _ run: SampleRun, zeroUTC: Int64, session: (Int64) -> Int64?
    ) -> Finding? {
        guard let camera = run.camera, camera.stamps.count == run.count else { return nil }
        var track = tracks[run.track] ?? Track()
        defer { tracks[run.track] = track }
        // A camera without a clock states 0.
        var new = camera.reports.last { $0.ntp != 0 }
        if !Self.hasNewCount(camera, after: track.last) {
            if let new {
                if Self.isStep(from: track.report, to: new, camera.clockRate) {
                    track.tail = Span()
                }
                track.report = new
            }
            new = nil
        }
        var newest: Int64?
        for (index, stamp) in camera.stamps.enumerated() {
            if let last = track.last, Self.isNewCount(stamp, after: last, camera.clockRate) {
                // A report states nothing about the timestamps of another connection.
                track.report = nil
                if let report = new, report.arrivalNanoseconds > last.arrivalNanoseconds {
                    track.report = report
                }
            }
            track.last = stamp
            guard let report = track.report else { continue }
            let age = stamp.arrivalNanoseconds.clampedSubtracting(report.arrivalNanoseconds)
            guard age <= Self.reportNanoseconds,
                let recorded = session(run.ptsNanoseconds(at: index)),
                let arrival = session(stamp.arrivalNanoseconds)
            else { continue }
            let ticks = Int64(Int32(bitPattern: stamp.timestamp &- report.timestamp))
            let distance = Timescale(camera.clockRate).nanoseconds(ticks)
            let stated = Self.utcNanoseconds(ntp: report.ntp).clampedAdding(distance)
                .clampedSubtracting(zeroUTC)
            newest = max(newest ?? recorded, recorded)
            track.span.add(stated: stated, recorded: recorded, arrival: arrival)
            track.tail?.add(stated: stated, recorded: recorded, arrival: arrival)
        }
        guard let newest, let start = track.span.startNanoseconds else { return nil }
        let span = track.noted == nil ? Self.firstSpanNanoseconds : Self.spanNanoseconds
        return newest.clampedSubtracting(start) >= span ? Self.finding(&track) : nil
    }

    private static func hasNewCount(_ camera: CameraStamps, after last: CameraStamp?) -> Bool {
        var last = last
        return camera.stamps.contains { stamp in
            defer { last = stamp }
            return last.map { isNewCount(stamp, after: $0, camera.clockRate) } ?? false
        }
    }

    /// Whether the camera's timestamps restarted between two samples: it has been connected again, or has restarted its stream.
    private static func isNewCount(
        _ stamp: CameraStamp, after last: CameraStamp, _ clockRate: UInt32
    ) -> Bool {
        let ticks = Int64(Int32(bitPattern: stamp.timestamp &- last.timestamp))
        let distance = Timescale(clockRate).nanoseconds(ticks)
        let passed = stamp.arrivalNanoseconds.clampedSubtracting(last.arrivalNanoseconds)
        return stamp.firstPacket < last.firstPacket
            || distance.clampedSubtracting(passed).magnitude > newCountNanoseconds.magnitude
    }

    /// Whether a report contradicts the previous one: the camera's clock was set in between.
    private static func isStep(
        from last: CameraReport?, to new: CameraReport, _ clockRate: UInt32
    ) -> Bool {
        guard let last else { return false }
        let ticks = Int64(Int32(bitPattern: new.timestamp &- last.timestamp))
        let distance = Timescale(clockRate).nanoseconds(ticks)
        let expected = utcNanoseconds(ntp: last.ntp).clampedAdding(distance)
        return utcNanoseconds(ntp: new.ntp).clampedSubtracting(expected).magnitude
            > toleranceNanoseconds.magnitude
    }

    /// The findings about the last samples: no more follow.
    mutating func end() -> [(TrackKind, Finding)] {
        TrackKind.allCases.flatMap { kind in
            guard var track = tracks[kind] else { return [(TrackKind, Finding)]() }
            defer { tracks[kind] = track }
            let tail = track.tail
            var findings = [Self.finding(&track)]
            if let tail {
                // The whole span may hide a clock that was set near its end.
                track.span = tail
                findings.append(Self.finding(&track))
            }
            return findings.compactMap { $0 }.map { (kind, $0) }
        }
    }

    /// Ends a span, and returns its finding; nil: nothing new.
    private static func finding(_ track: inout Track) -> Finding? {
        let span = track.span
        track.span = Span()
        track.tail = nil
        guard let new = span.finding else { return nil }
        if let noted = track.noted {
            let moved = new.medianNanoseconds.clampedSubtracting(noted.medianNanoseconds)
            let passed = new.startNanoseconds.clampedSubtracting(noted.startNanoseconds)
            let isAhead =
                new.isImpossible
                && new.aheadNanoseconds.clampedSubtracting(track.notedAhead) > toleranceNanoseconds
            guard
                moved.magnitude > toleranceNanoseconds.magnitude || isAhead
                    || passed >= calmNanoseconds
            else { return nil }
        }
        track.noted = new
        track.notedAhead = max(track.notedAhead, new.aheadNanoseconds)
        return new
    }

    /// UTC of an NTP timestamp, nanoseconds since 1970.
    private static func utcNanoseconds(ntp: UInt64) -> Int64 {
        let seconds = Int64(ntp >> 32) - secondsTo1970
        let fraction = Int64(((ntp & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
        return seconds * 1_000_000_000 + fraction
    }
}

extension StatedTimes.Finding {
    /// Tolerated error of the clocks that are compared.
    private static let toleranceNanoseconds: Int64 = 50_000_000

    /// Whether the camera's clock is certainly wrong.
    var isImpossible: Bool { aheadNanoseconds > Self.toleranceNanoseconds }

    /// A human-readable line.
    var text: String {
        let median = Self.milliseconds(medianNanoseconds)
        let place = medianNanoseconds < 0 ? "before" : "after"
        let range =
            "\(Self.signed(leastNanoseconds)) to \(Self.signed(greatestNanoseconds)) ms"
        let late =
            isImpossible
            ? "; up to \(Self.milliseconds(aheadNanoseconds)) ms after their arrival, which is impossible"
            : ""
        return "the camera states times \(median) ms \(place) the recorded ones (\(range))\(late)"
    }

    private static func milliseconds(_ nanoseconds: Int64) -> UInt64 {
        nanoseconds.magnitude / 1_000_000
    }

    private static func signed(_ nanoseconds: Int64) -> Int64 { nanoseconds / 1_000_000 }
}
