import Operations
import Terminal

/// A collector's status on one line.
enum ProgressText {
    /// Below the log on a terminal: `camera1 30.0 fps 4.1 Mbit/s lag 0.2 s · camera2 …`
    static func line(_ status: CollectorStatus) -> String {
        status.presentSources.map { source in
            var parts = ["\(source.name) \(decimal(source.picturesPerSecond)) fps"]
            parts.append("\(Bitrate(bitsPerSecond: Int64(source.bitsPerSecond)))")
            if let lag = source.lagSeconds { parts.append("lag \(decimal(lag)) s") }
            if source.counts.lostSamples > 0 { parts.append("lost \(source.counts.lostSamples)") }
            return parts.joined(separator: " ")
        }.joined(separator: " · ")
    }

    /// For a service manager: `recording 2 sources, 8.2 Mbit/s, into session 2026-11-20T22-40-00.000Z`
    static func summary(_ status: CollectorStatus, listeningAt endpoint: String) -> String {
        if let trouble = status.trouble { return "not recording: \(trouble)" }
        let sources = status.presentSources
        guard let session = status.session else {
            return sources.isEmpty
                ? "waiting for agents at \(endpoint)"
                : "\(count(sources.count)) connected, no samples yet"
        }
        let rate = sources.reduce(0) { $0 + $1.bitsPerSecond }
        return
            "recording \(count(sources.count)), \(Bitrate(bitsPerSecond: Int64(rate))), into session "
            + session
    }

    private static func count(_ sources: Int) -> String {
        sources == 1 ? "1 source" : "\(sources) sources"
    }
}
