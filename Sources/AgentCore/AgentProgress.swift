import Media

/// An agent's state at one moment.
package struct AgentProgress: Hashable, Sendable {
    package var source: String
    /// The collector's endpoint.
    package var endpoint: String
    package var uplink: UplinkStatus
    /// The capture was stopped by a command.
    package var isPaused = false
    /// The capture has ended; the rest is being sent.
    package var hasEnded = false
    /// Captured since the start; nil: none are captured.
    package var pictures: UInt64?
    package var soundPackets: UInt64?
    package var lostSamples: UInt64 = 0
    /// The last warning of the capture.
    package var latestNote: String?
    /// Iterations of each thread.
    package var turns: [String: UInt64] = [:]

    package init(source: String, endpoint: String, uplink: UplinkStatus = UplinkStatus()) {
        self.source = source
        self.endpoint = endpoint
        self.uplink = uplink
    }
}

/// Compares an agent's progress between checks: a status line, and whether a thread hangs.
package struct ProgressWatch: Sendable {
    /// A thread without an iteration for this long hangs: opening a camera, or waiting for a busy disk, takes less.
    static let patienceNanoseconds: Int64 = 20_000_000_000
    /// Minimum interval for a rate.
    private static let shortestNanoseconds: Int64 = 200_000_000

    private struct Thread {
        var turns: UInt64
        var movedNanoseconds: Int64
    }

    private var threads: [String: Thread] = [:]
    private var latest: (progress: AgentProgress, nanoseconds: Int64)?

    package init() {}

    /// Result of a check.
    package struct Finding: Hashable, Sendable {
        /// The status line.
        package var line: String
        /// A thread that hangs, and since when; nil without one.
        package var stalled: String?
    }

    /// Checks the progress.
    /// - Parameter now: of any monotonic clock, nanoseconds.
    package mutating func look(_ progress: AgentProgress, now: Int64) -> Finding {
        var threads: [String: Thread] = [:]
        for (name, turns) in progress.turns {
            let before = self.threads[name]
            let moved = before?.turns == turns ? before?.movedNanoseconds ?? now : now
            threads[name] = Thread(turns: turns, movedNanoseconds: moved)
        }
        self.threads = threads
        let slowest = threads.min { $0.value.movedNanoseconds < $1.value.movedNanoseconds }
        if let slowest, now - slowest.value.movedNanoseconds >= Self.patienceNanoseconds {
            let seconds = (now - slowest.value.movedNanoseconds) / 1_000_000_000
            let text = "the thread \"\(slowest.key)\" has been blocked for \(seconds) s"
            return Finding(line: text, stalled: text)
        }
        let line = line(progress, now: now)
        if latest.map({ now - $0.nanoseconds >= Self.shortestNanoseconds }) ?? true {
            latest = (progress, now)
        }
        return Finding(line: line, stalled: nil)
    }

    private func line(_ progress: AgentProgress, now: Int64) -> String {
        var parts = [captureText(progress, now: now), sendingText(progress)]
        if let trouble = progress.uplink.spoolTrouble {
            parts.append("kept in memory only: \(trouble)")
        }
        if progress.lostSamples > 0 { parts.append("\(progress.lostSamples) samples lost so far") }
        return parts.joined(separator: "; ")
    }

    private func captureText(_ progress: AgentProgress, now: Int64) -> String {
        if progress.hasEnded { return "\(progress.source): capture ended" }
        if progress.isPaused { return "\(progress.source): capture stopped by a command" }
        guard let latest, now - latest.nanoseconds >= Self.shortestNanoseconds else {
            return "recording \(progress.source)"
        }
        let seconds = Double(now - latest.nanoseconds) / 1e9
        func rate(_ count: UInt64?, _ before: UInt64?) -> Int? {
            guard let count, let before, count >= before else { return nil }
            return Int((Double(count - before) / seconds).rounded())
        }
        let pictures = rate(progress.pictures, latest.progress.pictures)
        let packets = rate(progress.soundPackets, latest.progress.soundPackets)
        let because = progress.latestNote.map { " (\($0))" } ?? ""
        switch (pictures, packets) {
        case (0?, 0?): return "\(progress.source): no video, no audio\(because)"
        case (0?, _): return "\(progress.source): no video\(because)"
        case (let pictures?, 0?):
            return "\(progress.source): \(pictures) pictures/s, no audio\(because)"
        case (let pictures?, _): return "recording \(progress.source), \(pictures) pictures/s"
        case (nil, 0?): return "\(progress.source): no audio\(because)"
        case (nil, _): return "recording \(progress.source)"
        }
    }

    private func sendingText(_ progress: AgentProgress) -> String {
        let kept = "\(byteText(progress.uplink.keptBytes)) kept on this box"
        let collector =
            progress.uplink.collector.isEmpty ? progress.endpoint : progress.uplink.collector
        let moved = progress.uplink.moved.map { ", left \($0)" } ?? ""
        let second = progress.uplink.mirror?.text ?? ""
        if progress.uplink.isConnected {
            return progress.uplink.keptBytes < 10_000_000
                ? "sent to \(collector)\(second)\(moved)"
                : "sending to \(collector)\(second)\(moved), \(kept)"
        }
        let why = progress.uplink.trouble ?? "no answer from \(collector)"
        return "not sent, \(kept): \(why)\(moved)"
    }
}
