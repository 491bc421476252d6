/// Compares the camera's wallclock, from its sender reports (RFC 3550 §6.4.1), with the receiver's.
///
/// A report arrives after it was sent, so the camera's clock is ahead by at least the stated time minus the arrival. The bound is
/// one-sided, because the network delay is unknown. The result is informative: recorded times do not depend on it.
package struct StatedClock: Hashable, Sendable {
    /// A finding about the camera's clock.
    package enum Finding: Hashable, Sendable {
        /// It has a time before 2000.
        case neverSet
        /// It is ahead by at least this.
        case ahead(nanoseconds: Int64)
        /// It is behind by at most this, network delay included.
        case behind(nanoseconds: Int64)
        /// It is correct again.
        case right
        /// It was set; negative: back.
        case stepped(nanoseconds: Int64)
        /// It drifts; negative: it is slow.
        case drift(ppm: Int64)
    }

    private enum Verdict: Hashable {
        case unknown, neverSet, ahead, behind, right
    }

    private struct Sample: Hashable {
        var arrival: Int64
        /// Stated time minus arrival.
        var ahead: Int64
    }

    /// Tolerated error of the receiver's clock.
    private static let toleranceNanoseconds: Int64 = 50_000_000
    /// Maximum plausible network delay of a report.
    private static let longestDelayNanoseconds: Int64 = 1_000_000_000
    private static let stepNanoseconds: Int64 = 500_000_000
    /// Number of recent reports; the one with the least delay determines the offset.
    private static let recentReports = 8
    /// Consecutive reports that confirm an offset; a single one may be delayed.
    private static let agreeingReports = 3
    /// Drift is measured between two reports, each the one with the least delay in a span of this length.
    private static let spanNanoseconds: Int64 = 60_000_000_000
    /// Minimum distance of these two reports.
    private static let driftNanoseconds: Int64 = 600_000_000_000
    /// Tolerated drift of a quartz.
    private static let largestDriftPPM: Int64 = 100
    /// The year 2000, since 1970.
    private static let earliestNanoseconds: Int64 = 946_684_800_000_000_000
    /// Seconds from 1900 to 1970.
    private static let secondsTo1970: Int64 = 2_208_988_800

    private var verdict = Verdict.unknown
    /// Offsets of recent reports.
    private var recent: [Int64] = []
    /// Offsets of the last consecutive reports that were much smaller than the others.
    private var behind: [Int64] = []
    /// Reports with the least delay in the first and in the current span.
    private var first: Sample?
    private var present: Sample?
    private var presentBegan: Int64 = 0
    private var hasToldDrift = false

    package init() {}

    /// UTC of a report, nanoseconds since 1970.
    package static func utcNanoseconds(ntp: UInt64) -> Int64 {
        let seconds = Int64(ntp >> 32) - secondsTo1970
        let fraction = Int64(((ntp & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
        return seconds * 1_000_000_000 + fraction
    }

    /// Adds a report with its arrival on the receiver's UTC clock.
    /// - Returns: new findings.
    package mutating func note(
        _ report: SenderReport, arrivalUTCNanoseconds arrival: Int64
    ) -> [Finding] {
        let stated = Self.utcNanoseconds(ntp: report.ntp)
        guard stated >= Self.earliestNanoseconds else {
            recent = []
            behind = []
            return change(to: .neverSet, .neverSet)
        }
        let sample = Sample(arrival: arrival, ahead: stated - arrival)
        var findings: [Finding] = []
        if let step = step(to: sample.ahead) {
            findings.append(.stepped(nanoseconds: step))
            recent = []
            first = nil
            hasToldDrift = false
        }
        recent.append(sample.ahead)
        if recent.count > Self.recentReports { recent.removeFirst() }
        // A delayed report has a smaller offset: only several show that the clock is behind.
        let quickest = recent.suffix(Self.agreeingReports).max() ?? sample.ahead
        if quickest > Self.toleranceNanoseconds {
            findings += change(to: .ahead, .ahead(nanoseconds: quickest))
        } else if quickest < -Self.longestDelayNanoseconds {
            if recent.count >= Self.agreeingReports {
                findings += change(to: .behind, .behind(nanoseconds: -quickest))
            }
        } else if verdict == .unknown {
            verdict = .right
        } else {
            findings += change(to: .right, .right)
        }
        return findings + drift(sample)
    }

    /// By how much the clock was set, compared with the recent reports; nil if it was not.
    private mutating func step(to ahead: Int64) -> Int64? {
        defer { behind = behind.count < Self.agreeingReports ? behind : [] }
        guard recent.count >= Self.agreeingReports, let usual = recent.max() else { return nil }
        if ahead - usual > Self.stepNanoseconds { return ahead - usual }
        guard usual - ahead > Self.stepNanoseconds else {
            behind = []
            return nil
        }
        behind.append(ahead)
        guard behind.count >= Self.agreeingReports, let quickest = behind.max() else { return nil }
        return quickest - usual
    }

    private mutating func change(to verdict: Verdict, _ finding: Finding) -> [Finding] {
        guard verdict != self.verdict else { return [] }
        self.verdict = verdict
        return [finding]
    }

    private mutating func drift(_ sample: Sample) -> [Finding] {
        guard let first else {
            first = sample
            present = nil
            return []
        }
        guard sample.arrival - first.arrival >= Self.spanNanoseconds else {
            // The report with the least delay has the largest offset.
            if sample.ahead > first.ahead { self.first?.ahead = sample.ahead }
            return []
        }
        guard let present, sample.arrival - presentBegan < Self.spanNanoseconds else {
            defer {
                present = sample
                presentBegan = sample.arrival
            }
            return present.map { judge($0, from: first) } ?? []
        }
        if sample.ahead > present.ahead { self.present = sample }
        return []
    }

    private mutating func judge(_ end: Sample, from first: Sample) -> [Finding] {
        let span = end.arrival - first.arrival
        guard span >= Self.driftNanoseconds, !hasToldDrift else { return [] }
        let ppm = Int64(clamping: Int128(end.ahead - first.ahead) * 1_000_000 / Int128(span))
        guard ppm.magnitude >= Self.largestDriftPPM.magnitude else { return [] }
        hasToldDrift = true
        return [.drift(ppm: ppm)]
    }
}

extension StatedClock.Finding: CustomStringConvertible {
    /// Human-readable; continues "the camera's clock".
    package var description: String {
        switch self {
        case .neverSet: "was never set: it states a time before the year 2000"
        case .ahead(let time): "is ahead by at least \(Self.text(time))"
        case .behind(let time): "is behind by up to \(Self.text(time))"
        case .right: "is right again"
        case .stepped(let time) where time < 0: "was set back by \(Self.text(-time))"
        case .stepped(let time): "was set forward by \(Self.text(time))"
        case .drift(let ppm) where ppm < 0: "loses \(-ppm) ppm"
        case .drift(let ppm): "gains \(ppm) ppm"
        }
    }

    /// Seconds from one minute on, otherwise milliseconds.
    private static func text(_ nanoseconds: Int64) -> String {
        let milliseconds = nanoseconds / 1_000_000
        if milliseconds < 10_000 { return "\(milliseconds) ms" }
        return "\(milliseconds / 1_000) s"
    }
}
