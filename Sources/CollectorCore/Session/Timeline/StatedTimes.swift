import Media
import Wire

/// Compares the capture times that a network camera states with the recorded ones.
///
/// A sample's stated time is the time of the track's last sender report plus the distance of their RTP timestamps (RFC 3550 §6.4.1). It
/// is by the camera's clock, and has no error bound. The arrival of the sample's first packet is by ours: the sample was captured
/// before. A stated time after the arrival is wrong by at least the difference.
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
    /// A report states nothing about samples that arrive so much later: their timestamps may have wrapped (after 13 h at 90 kHz).
    private static let reportNanoseconds: Int64 = 3_600_000_000_000
    /// Seconds from 1900 to 1970.
    private static let secondsTo1970: Int64 = 2_208_988_800

    /// Timestamps that differ from their arrivals by more than this, from one sample to the next, began anew.
    private static let newCountNanoseconds: Int64 = 10_000_000_000

    private struct Track: Sendable {
        var report: CameraReport?
        var last: CameraStamp?
        var startNanoseconds: Int64?
        var offsets: [Int64] = []
        var ahead = Int64.min
        var noted: Finding?
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
            track.report = new ?? track.report
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
            let distance = saturatingRescale(
                ticks, from: Timescale(camera.clockRate), to: .nanoseconds)
            let stated = Self.utcNanoseconds(ntp: report.ntp).clampedAdding(distance)
                .clampedSubtracting(zeroUTC)
            newest = max(newest ?? recorded, recorded)
            track.startNanoseconds = track.startNanoseconds ?? recorded
            track.ahead = max(track.ahead, stated.clampedSubtracting(arrival))
            if track.offsets.count < Self.mostSamples {
                track.offsets.append(stated.clampedSubtracting(recorded))
            }
        }
        guard let newest, let start = track.startNanoseconds else { return nil }
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

    /// Whether the camera's timestamps began anew between two samples: it has been connected again, or has restarted its stream.
    private static func isNewCount(
        _ stamp: CameraStamp, after last: CameraStamp, _ clockRate: UInt32
    ) -> Bool {
        let ticks = Int64(Int32(bitPattern: stamp.timestamp &- last.timestamp))
        let distance = saturatingRescale(ticks, from: Timescale(clockRate), to: .nanoseconds)
        let passed = stamp.arrivalNanoseconds.clampedSubtracting(last.arrivalNanoseconds)
        return stamp.firstPacket < last.firstPacket
            || distance.clampedSubtracting(passed).magnitude > newCountNanoseconds.magnitude
    }

    /// The findings about tracks that have none yet: no samples follow.
    mutating func end() -> [(TrackKind, Finding)] {
        TrackKind.allCases.compactMap { kind in
            guard var track = tracks[kind], track.noted == nil else { return nil }
            defer { tracks[kind] = track }
            return Self.finding(&track).map { (kind, $0) }
        }
    }

    /// Ends a span, and returns its finding; nil: nothing new.
    private static func finding(_ track: inout Track) -> Finding? {
        let sorted = track.offsets.sorted()
        guard let start = track.startNanoseconds, let least = sorted.first,
            let greatest = sorted.last
        else { return nil }
        let new = Finding(
            startNanoseconds: start, leastNanoseconds: least,
            medianNanoseconds: sorted[sorted.count / 2], greatestNanoseconds: greatest,
            aheadNanoseconds: track.ahead)
        track.startNanoseconds = nil
        track.offsets.removeAll(keepingCapacity: true)
        track.ahead = .min
        if let noted = track.noted {
            let moved = new.medianNanoseconds.clampedSubtracting(noted.medianNanoseconds)
            let passed = start.clampedSubtracting(noted.startNanoseconds)
            guard moved.magnitude > toleranceNanoseconds.magnitude || passed >= calmNanoseconds
            else { return nil }
        }
        track.noted = new
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
