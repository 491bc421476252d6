import Foundation
import TestMetrics
import Testing

@testable import ViewerCore

/// What `/metrics` says.
@Suite struct ViewerFiguresTests {
    private func reading() throws -> MetricReading {
        var figures = ViewerFigures()
        figures.answers = [2: 7, 4: 1]
        figures.sentBytes = 1_000
        figures.watchers = 3
        figures.skippedGroups = 5
        figures.runningExports = 1
        figures.cacheBytes = ["movies": 11, "hls": 12]
        return try MetricReading(figures.text(version: "1", process: nil))
    }

    @Test func `what is exported follows the rules of promtool check metrics`() {
        var figures = ViewerFigures()
        figures.answers = [2: 7]
        #expect(MetricLint.flaws(in: figures.text(version: "1", process: nil)) == [])
    }

    @Test func `every number is there, with its labels`() throws {
        let reading = try reading()
        let answers = reading.all("tributary_viewer_answers_total")
        #expect(answers.map(\.labels) == [["class": "2xx"], ["class": "4xx"]])
        #expect(answers.map(\.value) == [7, 1])
        #expect(reading.value("tributary_viewer_sent_bytes_total") == 1_000)
        #expect(reading.value("tributary_viewer_live_watchers") == 3)
        #expect(reading.value("tributary_viewer_skipped_groups_total") == 5)
        #expect(reading.all("tributary_viewer_exports").map(\.value) == [0, 1])
        #expect(reading.all("tributary_viewer_cache_bytes").map(\.value) == [12, 11])
    }

    @Test func `what the runbook names is exported, and the other way round`() throws {
        let runbook = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "deploy/README.md")
        let text = try String(contentsOf: runbook, encoding: .utf8)
        let named = Set(text.matches(of: /tributary_viewer_[a-z_]+/).map { String($0.output) })
        let exported = try reading().names
        #expect(named == exported)
    }

    @Test func `a watcher that is too slow is counted, also when it is gone`() {
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
