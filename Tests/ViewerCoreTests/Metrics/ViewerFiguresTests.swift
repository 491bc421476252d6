import Foundation
import TestMetrics
import Testing

@testable import Accounts
@testable import ViewerCore

/// The viewer's `/metrics`.
@Suite struct ViewerFiguresTests {
    private func reading() throws -> MetricReading {
        var figures = ViewerFigures()
        figures.answers = [2: 7, 4: 1]
        figures.sentBytes = 1_000
        figures.watchers = 3
        figures.skippedGroups = 5
        figures.runningExports = 1
        figures.cacheBytes = ["movies": 11, "hls": 12]
        figures.logIns = [.wrong: 4]
        figures.isReady = true
        figures.progressAges = ["tasks": 1_500_000_000, "event_loops": 0]
        return try MetricReading(figures.text(version: "1", process: nil))
    }

    @Test func `the viewer's metrics follow the rules of promtool check metrics`() {
        var figures = ViewerFigures()
        figures.answers = [2: 7]
        #expect(MetricLint.flaws(in: figures.text(version: "1", process: nil)) == [])
    }

    @Test func `every metric is exported with its labels`() throws {
        let reading = try reading()
        let answers = reading.all("tributary_viewer_answers_total")
        #expect(answers.map(\.labels) == [["class": "2xx"], ["class": "4xx"]])
        #expect(answers.map(\.value) == [7, 1])
        #expect(reading.value("tributary_viewer_sent_bytes_total") == 1_000)
        #expect(reading.value("tributary_viewer_live_watchers") == 3)
        #expect(reading.value("tributary_viewer_skipped_groups_total") == 5)
        #expect(reading.all("tributary_viewer_exports").map(\.value) == [0, 1])
        #expect(reading.all("tributary_viewer_cache_bytes").map(\.value) == [12, 11])
        let logIns = reading.all("tributary_viewer_log_ins_total")
        #expect(
            logIns.map(\.labels)
                == ["succeeded", "wrong", "limited", "busy"].map { ["result": $0] })
        #expect(logIns.map(\.value) == [0, 4, 0, 0])
        #expect(reading.value("tributary_viewer_ready") == 1)
        #expect(reading.all("tributary_viewer_progress_age_seconds").map(\.value) == [0, 1.5])
    }

    @Test func `forwarded sources are counted by state, and not named`() throws {
        var figures = ViewerFigures()
        for (late, dropped) in [(0.25, 3), (nil, 0), (1.5, 4)] as [(Double?, UInt64)] {
            var status = ForwardStatus(try ForwardEntry("secret=/secret"))
            status.state = late == nil ? .ended : .sending
            status.lateSeconds = late
            status.counts.droppedSamples = dropped
            status.starts = 2
            figures.forwards.append(status)
        }
        let text = figures.text(version: "1", process: nil)
        #expect(!text.contains("secret"))
        let reading = try MetricReading(text)
        #expect(reading.all("tributary_viewer_forwards").map(\.value) == [0, 0, 2, 1])
        #expect(reading.value("tributary_viewer_forward_late_seconds") == 1.5)
        #expect(reading.value("tributary_viewer_forward_dropped_samples_total") == 7)
        #expect(reading.value("tributary_viewer_forward_starts_total") == 6)
    }

    @Test func `the runbook names exactly the exported metrics`() throws {
        let exported = try reading().names
        #expect(try namedMetrics(in: "deploy/viewer.md") == exported)
    }

    @Test func `metrics of the alerts and their tests are exported`() throws {
        let exported = try reading().names
        for path in ["alerts.yaml", "alerts_test.yaml"] {
            let named = try namedMetrics(in: "deploy/monitoring/\(path)")
            #expect(named.isSubset(of: exported) && named.count > 3, "\(path)")
        }
    }

    /// The viewer's own metrics that a file names.
    private func namedMetrics(in path: String) throws -> Set<String> {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: path)
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.matches(of: /tributary_viewer_[a-z_]+/).map { String($0.output) })
    }

    @Test func `skipped groups of a slow watcher are counted, also after its end`() {
        let hub = LiveHub()
        let watcher = LiveWatcher(sources: nil) { _ in true }
        let isStarted = hub.start(watcher)
        #expect(isStarted && hub.losses.skippedGroups == 0)
        var camera = LiveCamera()
        camera.pictureBytes = 1 << 20
        camera.groupPictures = 100
        camera.send(12, to: hub)
        #expect(hub.losses.skippedGroups == 1 && hub.losses.feedLosses == 0)
        camera.lose(1)
        camera.send(1, to: hub)
        #expect(hub.losses.skippedGroups == 1 && hub.losses.feedLosses == 1)
        hub.stop(watcher)
        hub.stop(watcher)
        #expect(hub.losses.skippedGroups == 1 && hub.losses.feedLosses == 1)
    }
}
