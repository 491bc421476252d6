import Accounts
import Operations

/// The viewer's metrics at one moment: `/metrics`.
///
/// Names start with `tributary_viewer_`. No label names a source, session or account.
struct ViewerFigures: Hashable, Sendable {
    /// Answers by the first digit of their status.
    var answers: [Int: UInt64] = [:]
    var sentBytes: UInt64 = 0
    /// Pages and scripts that watch live, and sources that are watched for LL-HLS.
    var watchers = 0
    var liveStreams = 0
    /// Groups of pictures that readers have lost because they were too slow.
    var skippedGroups: UInt64 = 0
    /// Times that samples of a watched source were missing in the feed.
    var feedLosses: UInt64 = 0
    var eventListeners = 0
    var waitingExports = 0
    var runningExports = 0
    /// Cache sizes in bytes, by cache.
    var cacheBytes: [String: Int] = [:]
    var logIns: [Access.LogInResult: UInt64] = [:]
    /// The status of each entry of the list.
    var forwards: [ForwardStatus] = []
    /// The result of `/readyz`.
    var isReady = false
    /// Time without progress by part of the viewer, nanoseconds (``ServerProgress``).
    var progressAges: [String: Int64] = [:]

    func text(version: String, process: ProcessFigures?) -> String {
        var text = MetricText()
        text.begin("tributary_viewer_build_info", .gauge, "Version of the viewer; always 1.")
        text.add("tributary_viewer_build_info", [("version", version)], 1 as UInt64)
        text.begin(
            "tributary_viewer_answers_total", .counter, "Answers, by the class of their status.")
        for (digit, count) in answers.sorted(by: { $0.key < $1.key }) {
            text.add("tributary_viewer_answers_total", [("class", "\(digit)xx")], count)
        }
        text.single(
            "tributary_viewer_sent_bytes_total", .counter, "Bytes of answers, without headers.",
            sentBytes)
        text.single(
            "tributary_viewer_live_watchers", .gauge,
            "Readers of live streams, and sources that are watched for LL-HLS.",
            UInt64(clamping: watchers))
        text.single(
            "tributary_viewer_hls_live_sources", .gauge, "Sources that are watched for LL-HLS.",
            UInt64(clamping: liveStreams))
        text.single(
            "tributary_viewer_skipped_groups_total", .counter,
            "Groups of pictures that readers of live streams lost because they were too slow.",
            skippedGroups)
        text.single(
            "tributary_viewer_feed_losses_total", .counter,
            "Times that samples of a watched source were missing in the collector's feed.",
            feedLosses)
        text.single(
            "tributary_viewer_event_listeners", .gauge, "Readers of events.",
            UInt64(clamping: eventListeners))
        text.begin("tributary_viewer_exports", .gauge, "Exports that have not ended, by state.")
        text.add(
            "tributary_viewer_exports", [("state", "waiting")], UInt64(clamping: waitingExports))
        text.add(
            "tributary_viewer_exports", [("state", "running")], UInt64(clamping: runningExports))
        text.begin("tributary_viewer_cache_bytes", .gauge, "What is kept in memory, by kind.")
        for (kind, bytes) in cacheBytes.sorted(by: { $0.key < $1.key }) {
            text.add("tributary_viewer_cache_bytes", [("kind", kind)], UInt64(clamping: bytes))
        }
        text.begin("tributary_viewer_log_ins_total", .counter, "Log-ins by password, by result.")
        for result in Access.LogInResult.allCases {
            text.add(
                "tributary_viewer_log_ins_total", [("result", result.rawValue)],
                logIns[result] ?? 0)
        }
        addForwards(to: &text)
        text.single(
            "tributary_viewer_ready", .gauge,
            "Whether a list of sessions and a picture can be served, as /readyz says.",
            UInt64(isReady ? 1 : 0))
        text.begin(
            "tributary_viewer_progress_age_seconds", .gauge,
            "How long a part of the viewer has not come round.")
        for (part, nanoseconds) in progressAges.sorted(by: { $0.key < $1.key }) {
            text.add(
                "tributary_viewer_progress_age_seconds", [("part", part)],
                Double(nanoseconds) / 1e9)
        }
        process?.add(to: &text)
        return text.text
    }

    private func addForwards(to text: inout MetricText) {
        text.begin("tributary_viewer_forwards", .gauge, "Forwarded sources, by state.")
        for state in ForwardStatus.State.allCases {
            text.add(
                "tributary_viewer_forwards", [("state", state.rawValue)],
                UInt64(clamping: forwards.count { $0.state == state }))
        }
        text.begin(
            "tributary_viewer_forward_late_seconds", .gauge,
            "From capture to sending, the greatest of all forwarded sources.")
        text.add(
            "tributary_viewer_forward_late_seconds", [],
            forwards.compactMap(\.lateSeconds).max() ?? 0)
        text.single(
            "tributary_viewer_forward_dropped_samples_total", .counter,
            "Samples that were not forwarded, because a destination was unavailable or too slow.",
            forwards.reduce(0) { $0 &+ $1.counts.droppedSamples })
        text.single(
            "tributary_viewer_forward_starts_total", .counter,
            "Processes that were started to forward sources.",
            forwards.reduce(0) { $0 &+ $1.starts })
    }
}
