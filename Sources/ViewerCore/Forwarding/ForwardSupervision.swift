/// Supervises the process of one entry, as a value: when it is started, its status, and what is logged.
///
/// A process that ends is started again after a pause, which doubles until a process has run for a minute.
struct ForwardSupervision: Sendable {
    static let shortestPauseNanoseconds: Int64 = 2_000_000_000
    static let longestPauseNanoseconds: Int64 = 60_000_000_000
    /// A process that has run for this long has started successfully.
    private static let stableNanoseconds: Int64 = 60_000_000_000
    /// Maximum length of a reason in the log and in the status.
    private static let maximumReason = 300

    /// A line for the log.
    struct Note: Hashable, Sendable {
        var isWarning: Bool
        var text: String
    }

    let entry: ForwardEntry
    private(set) var status: ForwardStatus
    /// Counts of the processes that have ended.
    private var ended = ForwardReport()
    private var startedNanoseconds: Int64?
    private var pauseNanoseconds = shortestPauseNanoseconds

    init(_ entry: ForwardEntry) {
        self.entry = entry
        status = ForwardStatus(entry)
    }

    private var name: String { "forwarding \(entry.source) (\(entry.file))" }

    /// A process was started.
    /// - Parameter now: monotonic, nanoseconds.
    mutating func started(now: Int64) -> Note {
        startedNanoseconds = now
        status.starts += 1
        status.state = .waiting
        return Note(isWarning: false, text: "\(name): started")
    }

    /// The process has reported; once a second.
    mutating func reported(_ report: ForwardReport) -> [Note] {
        var notes: [Note] = []
        let trouble = report.trouble.map(Self.short)
        if let trouble, trouble != status.trouble {
            notes.append(Note(isWarning: true, text: "\(name): \(trouble)"))
        }
        let state = ForwardStatus.State(rawValue: report.state) ?? .waiting
        if state == .sending, trouble == nil, status.state != .sending || status.trouble != nil {
            notes.append(Note(isWarning: false, text: "\(name): sending"))
        }
        status.state = state
        status.trouble = trouble
        status.lateSeconds = report.lateSeconds
        status.counts = ended.adding(report)
        return notes
    }

    /// The process has ended, or could not be started.
    /// - Parameters:
    ///   - reason: one line.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: the pause before the next start, and a line for the log.
    mutating func ended(_ reason: String, now: Int64) -> (pauseNanoseconds: Int64, note: Note) {
        if let startedNanoseconds, now - startedNanoseconds >= Self.stableNanoseconds {
            pauseNanoseconds = Self.shortestPauseNanoseconds
        }
        let pause = pauseNanoseconds
        pauseNanoseconds = min(pause * 2, Self.longestPauseNanoseconds)
        startedNanoseconds = nil
        ended = status.counts
        status.state = .ended
        status.lateSeconds = nil
        status.trouble = Self.short(reason)
        let seconds = pause / 1_000_000_000
        return (
            pause,
            Note(
                isWarning: true,
                text: "\(name): ended: \(Self.short(reason)); starting again in \(seconds) s")
        )
    }

    private static func short(_ reason: String) -> String { String(reason.prefix(maximumReason)) }
}

/// A line of `tributary forward --json` (proto/json/schema.json, "forward").
struct ForwardReport: Hashable, Decodable, Sendable {
    var state = ""
    var lateSeconds: Double?
    var sentSamples: UInt64 = 0
    var sentBytes: UInt64 = 0
    var droppedSamples: UInt64 = 0
    var feedLosses: UInt64 = 0
    var connections: UInt64 = 0
    var trouble: String?

    /// The counts of both, which are another process's.
    func adding(_ other: ForwardReport) -> ForwardReport {
        var sum = self
        sum.sentSamples &+= other.sentSamples
        sum.sentBytes &+= other.sentBytes
        sum.droppedSamples &+= other.droppedSamples
        sum.feedLosses &+= other.feedLosses
        sum.connections &+= other.connections
        return sum
    }
}

/// The status of one entry. Counts are those of all its processes.
struct ForwardStatus: Hashable, Sendable {
    enum State: String, Hashable, Sendable, CaseIterable {
        /// No sample has been received for three seconds.
        case waiting
        case connecting
        case sending
        /// There is no process; the next one is started after a pause.
        case ended
    }

    let entry: ForwardEntry
    var state = State.ended
    /// From capture to sending; nil before the first sample.
    var lateSeconds: Double?
    /// Why nothing is sent; nil: no reason is known.
    var trouble: String?
    /// Number of processes so far.
    var starts: UInt64 = 0
    /// Its members that are no counts are not used.
    var counts = ForwardReport()

    init(_ entry: ForwardEntry) { self.entry = entry }
}
