import CollectorCore
import Terminal

/// The line below the log while a collector runs.
enum ProgressText {
    /// `camera1 30.0 fps 4.1 Mbit/s lag 0.2 s · camera2 …`
    static func line(_ statuses: [SourceStatus]) -> String {
        statuses.map { status in
            var parts = ["\(status.name) \(decimal(status.picturesPerSecond)) fps"]
            parts.append("\(Bitrate(bitsPerSecond: Int64(status.bitsPerSecond)))")
            if let lag = status.lagSeconds { parts.append("lag \(decimal(lag)) s") }
            if status.lostSamples > 0 { parts.append("lost \(status.lostSamples)") }
            return parts.joined(separator: " ")
        }.joined(separator: " · ")
    }
}
