/// Judges the clock that a camera states in its sender reports (RFC 3550 §6.4.1) by the receiver's.
///
/// A report cannot arrive before it was sent. So the camera's clock is ahead of the receiver's by at least what the report states minus
/// its arrival, and behind it by at most the reverse: the bound is one-sided, because the network's delay is unknown. The clock is only
/// judged: recorded times never depend on it.
package struct StatedClock: Hashable, Sendable {
    /// What is wrong with the camera's clock.
    package enum Finding: Hashable, Sendable {
        /// It was never set: it states a time before the year 2000.
        case neverSet
        /// It is ahead by at least that.
        case ahead(nanoseconds: Int64)
        /// It is behind by at most that, delay included.
        case behind(nanoseconds: Int64)
        /// It is right, after it was not.
        case right
        /// It was set by that, negative: back.
        case stepped(nanoseconds: Int64)
        /// It gains that much, negative: loses.
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

    /// The receiver's own clock may be off by so much.
    private static let toleranceNanoseconds: Int64 = 50_000_000
    /// What reports take at most, in a network in which a camera is usable.
    private static let longestDelayNanoseconds: Int64 = 1_000_000_000
    private static let stepNanoseconds: Int64 = 500_000_000
    /// The quickest of so many reports says where the clock was.
    private static let recentReports = 8
    /// One report may be late; so many in a row are not.
    private static let agreeingReports = 3
    /// A drift is measured between the quickest reports of two spans of this length …
    private static let spanNanoseconds: Int64 = 60_000_000_000
    /// … so far apart.
    private static let driftNanoseconds: Int64 = 600_000_000_000
    /// A quartz is better than this.
    private static let largestDriftPPM: Int64 = 100
    /// Year 2000, since 1970.
    private static let earliestNanoseconds: Int64 = 946_684_800_000_000_000
    /// From 1900 to 1970.
    private static let secondsTo1970: Int64 = 2_208_988_800

    private var verdict = Verdict.unknown
    /// By how much the last reports stated more than their arrival.
    private var recent: [Int64] = []
    /// The same of the last ones in a row that stated much less than the others.
    private var behind: [Int64] = []
    /// The quickest report of the first span, and of the present one.
    private var first: Sample?
    private var present: Sample?
    private var presentBegan: Int64 = 0
    private var hasToldDrift = false

    package init() {}

    /// What a report states, nanoseconds since 1970 (UTC).
    package static func utcNanoseconds(ntp: UInt64) -> Int64 {
        let seconds = Int64(ntp >> 32) - secondsTo1970
        let fraction = Int64(((ntp & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
        return seconds * 1_000_000_000 + fraction
    }

    /// Takes a report with its arrival on the receiver's UTC clock; what is news.
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
        // A report that is late states less: only several say that the clock is behind.
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

    /// By how much the clock was set, if it was: compared with the quickest of the recent reports.
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
            // The quickest report is the one that states most.
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
    /// For people; follows "the camera's clock".
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

    /// Whole seconds from a minute on, else milliseconds.
    private static func text(_ nanoseconds: Int64) -> String {
        let milliseconds = nanoseconds / 1_000_000
        if milliseconds < 10_000 { return "\(milliseconds) ms" }
        return "\(milliseconds / 1_000) s"
    }
}
