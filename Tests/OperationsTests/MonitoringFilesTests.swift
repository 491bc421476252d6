import Foundation
import Testing

@testable import Operations

/// Compares the monitoring files in `deploy/` with a collector's metrics.
@Suite struct MonitoringFilesTests {
    private static let deploy = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "deploy")

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.deploy.appending(path: path), encoding: .utf8)
    }

    /// All metrics, without the suffixes of histograms.
    private var exported: Set<String> {
        let board = StatusBoard(version: "1")
        board.publish(.full)
        return Set(
            board.metrics.matches(of: /TYPE ([a-z_]+)/).map { String($0.1) })
    }

    @Test(arguments: [
        "monitoring/alerts.yaml", "monitoring/alerts_test.yaml", "monitoring/dashboard.json",
        "README.md", "alerts.md", "catalog.md", "store.md",
    ])
    func `every metric that the files name is exported`(path: String) throws {
        let exported = exported
        var count = 0
        for match in try text(path).matches(of: /\b((?:tributary|process)_[a-z][a-z_]*)/) {
            let name = String(match.1)
            // The viewer's own metrics, covered by its tests.
            guard !name.hasPrefix("tributary_viewer_") else { continue }
            // Users of the catalog's database.
            guard !["tributary_owner", "tributary_writer", "tributary_reader"].contains(name) else {
                continue
            }
            let base = ["_bucket", "_sum", "_count"].first(where: name.hasSuffix)
                .map { String(name.dropLast($0.count)) }
            #expect(exported.contains(name) || base.map(exported.contains) == true, "\(name)")
            count += 1
        }
        #expect(count > (path.hasSuffix(".md") ? 0 : 20))
    }

    @Test func `the runbook explains every reason of a refusal`() throws {
        let runbook = try text("alerts.md")
        for refusal in ConnectionRefusal.allCases {
            #expect(runbook.contains("`\(refusal.rawValue)`"), "\(refusal)")
        }
    }

    @Test func `every alert is in the runbook and has a test, and no other is`() throws {
        let alerts = try text("monitoring/alerts.yaml").matches(of: /alert: ([A-Za-z]+)/)
            .map { String($0.1) }
        let headings = try text("alerts.md").matches(of: /\n### (Tributary[A-Za-z]+)\n/)
            .map { String($0.1) }
        #expect(Set(alerts).count == alerts.count)
        #expect(alerts.sorted() == headings.sorted())
        #expect(alerts.count > 10)
        let tested = try text("monitoring/alerts_test.yaml").matches(of: /alertname: ([A-Za-z]+)/)
            .map { String($0.1) }
        #expect(Set(tested) == Set(alerts))
    }

    @Test func `the page, the rules and top have the same limits`() throws {
        let page = try String(
            contentsOf: Self.deploy.deletingLastPathComponent()
                .appending(path: "Sources/CViewerPage/page/common/limits.js"), encoding: .utf8)
        var limits: [String: String] = [:]
        for match in page.matches(of: /(\w+): ([0-9.e]+),/) {
            limits[String(match.1)] = String(match.2)
        }
        let known: [String: Double] = [
            "progressSeconds": AlertLimits.progressSeconds,
            "diskBusySeconds": AlertLimits.diskBusySeconds,
            "lateSeconds": AlertLimits.lateSeconds,
            "unsavedSeconds": AlertLimits.unsavedSeconds,
            "inTransitBytes": AlertLimits.inTransitBytes,
        ]
        for (name, value) in known {
            #expect(limits[name].flatMap(Double.init) == value, "\(name)")
        }
        let rules = try text("monitoring/alerts.yaml")
        func rule(_ alert: String) throws -> Substring {
            let start = try #require(rules.range(of: "alert: \(alert)\n")).upperBound
            return try #require(rules[start...].split(separator: "labels:", maxSplits: 1).first)
        }
        /// The rule's comparison before the limit.
        let compared = [
            ("progressSeconds", "TributaryCollectorHangs", "tributary_progress_age_seconds > "),
            ("diskBusySeconds", "TributaryDiskHangs", "tributary_disk_busy_seconds > "),
            ("fdatasyncSeconds", "TributaryDiskSlow", "[5m]))) > "),
            ("daysLeft", "TributaryDiskFillsSoon", "tributary_disk_seconds_left < "),
            ("refusedConnections", "TributaryStrangers", ")) > "),
            ("undurableSeconds", "TributarySourceNotDurable", "persisted_age_seconds > "),
            ("lagSeconds", "TributarySourceLate", "tributary_source_lag_seconds > "),
            ("spoolBytes", "TributarySpoolGrows", "tributary_source_spool_bytes > "),
            ("owedBytes", "TributaryOneCopy", "(tributary_source_owed_bytes) > "),
            ("clockBoundSeconds", "TributaryClockUncertain", "clock_bound_seconds > "),
        ]
        for (name, alert, before) in compared {
            let limit = limits.removeValue(forKey: name)
            let rest = try #require(rule(alert).split(separator: before, maxSplits: 1).last)
            #expect(rest.prefix { $0.isNumber || ".e".contains($0) } == limit ?? "-", "\(alert)")
        }
        for (name, alert) in [
            ("refusedWithinSeconds", "TributaryStrangers"),
            ("gapsWithinSeconds", "TributarySamplesLost"),
        ] {
            let limit = limits.removeValue(forKey: name)
            let seconds = try #require(limit.flatMap { Int($0) })
            #expect(try rule(alert).contains("[\(seconds / 60)m]"), "\(alert)")
        }
        // All others are in `top`.
        #expect(limits.keys.allSatisfy { known[$0] != nil })
    }

    @Test func `the dashboard is valid, and its panels do not overlap`() throws {
        let data = try Data(contentsOf: Self.deploy.appending(path: "monitoring/dashboard.json"))
        let dashboard = try #require(
            try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        var taken: Set<[Int]> = []
        var ids: Set<Int> = []
        for panel in panels {
            let title = panel["title"] as? String ?? ""
            #expect(ids.insert(try #require(panel["id"] as? Int)).inserted, "\(title)")
            let place = try #require(panel["gridPos"] as? [String: Int])
            let (x, y, w, h) = try (
                #require(place["x"]), #require(place["y"]), #require(place["w"]),
                #require(place["h"])
            )
            #expect(x + w <= 24, "\(title)")
            for column in x..<x + w {
                for row in y..<y + h {
                    #expect(taken.insert([column, row]).inserted, "\(title)")
                }
            }
        }
    }

    /// Debian's package `prometheus` has it.
    private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(
        .enabled(if: promtool != nil, "promtool is not installed"),
        arguments: [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]])
    func `Prometheus accepts the rules, and their tests pass`(arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.promtool))
        process.arguments = arguments
        process.currentDirectoryURL = Self.deploy.appending(path: "monitoring")
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: said, as: UTF8.self))")
    }
}
