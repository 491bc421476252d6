import Archive
import Catalog
import Library
import Operations
import Testing

/// The output of `tributary top --site`.
@Suite struct SiteOverviewTests {
    private static let spool = String(repeating: "a", count: 32)

    private func collector(
        _ name: String, heard: Double = 2, holds ranges: [String: [ClosedRange<UInt64>]] = [:],
        stored: SequenceSet? = nil, _ change: (inout SiteReport) -> Void = { _ in }
    ) -> SiteCollector {
        var report = SiteReport(
            name: name, version: "0.1.0", machine: "\(name).example", listen: "tcp://0.0.0.0:5550",
            archive: "/srv/\(name)", release: "mirrored")
        report.session = "2026-11-20T22-40-00.000Z"
        let holdings = ranges.sorted { $0.key < $1.key }.map { source, ranges in
            var records = SequenceSet()
            for range in ranges { records.insert(range) }
            return SiteHolding(source: source, spool: Self.spool, records: records, stored: stored)
        }
        change(&report)
        return SiteCollector(
            archive: "id-\(name)-\(report.archive)", name: name, heardSeconds: heard,
            runningSeconds: 100, report: report, holdings: holdings)
    }

    @Test func `a record is alone when no other collector and no store has it`() {
        let overview = SiteOverview(
            [
                collector("east", holds: ["door": [1...100], "hall": [1...10]]),
                collector("west", holds: ["door": [41...60, 91...120]]),
                collector("yard", holds: ["door": [121...130]], stored: SequenceSet(upTo: 125)),
            ], catalog: "db1/tributary")
        #expect(overview.collectors.map(\.aloneRecords) == [70 + 10, 20, 5])
        #expect(overview.collectors.map(\.aloneSources) == [["door", "hall"], ["door"], ["door"]])
        #expect(overview.problems == [])
        #expect(overview.collectors.map(\.state) == [.recording, .recording, .recording])
    }

    @Test func `the bound between clocks of two collectors is shown, or that it is unknown`() {
        func clock(_ name: String, _ bound: Int64?, _ trouble: String? = nil) -> SiteClock {
            var clock = SiteClock(collector: name, archive: "id-\(name)")
            clock.boundNanoseconds = bound
            clock.trouble = trouble
            return clock
        }
        let overview = SiteOverview(
            [
                collector("east") {
                    $0.clocks = [clock("west", 120_000), clock("yard", nil, "no answer from x")]
                },
                collector("west") { $0.clocks = [clock("east", 90_000)] },
                collector("yard") { $0.clocks = [] },
                collector("old"),
            ], catalog: "db1/tributary")
        #expect(
            overview.problems == [
                "the clocks of east and yard are not compared, so their sources are not called synchronous: no answer from x",
                "the clocks of west and yard are not compared, so their sources are not called synchronous: no answer yet",
            ])
        #expect(overview.collectors[0].bound(to: overview.collectors[1]) == 90e-6)
        let two = SiteOverview(
            [
                collector("east") { $0.clocks = [clock("west", 120_000)] },
                collector("west") { $0.clocks = [clock("east", nil)] },
            ], catalog: "db1/tributary")
        #expect(two.problems == [])
        let lines = SiteScreen(two).lines().map(\.text)
        #expect(lines[1].contains("CLOCK ±"))
        #expect(lines[2].contains("0.120 ms") && lines[3].contains("0.120 ms"))
        #expect(SiteScreen(overview).lines().last?.text.contains(" ? ") == true)
    }

    @Test func `a source that two collectors record counts once`() {
        let overview = SiteOverview(
            [
                collector("east") {
                    $0.sources = 2
                    $0.connected = ["door", "hall"]
                },
                collector("west") {
                    $0.sources = 1
                    $0.connected = ["door"]
                },
                // Of a version that does not report names.
                collector("old") { $0.sources = 3 },
                collector("away", heard: 90) {
                    $0.sources = 1
                    $0.connected = ["yard"]
                },
            ], catalog: "db1/tributary")
        #expect(SiteScreen(overview).lines()[0].text.contains("3 of 4 collectors · 5 sources"))
    }

    @Test func `two boxes of one name at two collectors are a problem`() {
        func overview(_ spool: String) -> SiteOverview {
            var west = collector("west") { $0.connected = ["door"] }
            west.holdings = [
                SiteHolding(
                    source: "door", spool: spool, records: SequenceSet(upTo: 9), stored: nil)
            ]
            return SiteOverview(
                [collector("east", holds: ["door": [1...9]]) { $0.connected = ["door"] }, west],
                catalog: "db1/tributary")
        }
        #expect(overview(Self.spool).problems == [])
        #expect(
            overview(String(repeating: "b", count: 32)).problems == [
                "door is recorded by two boxes at once, at east and west: give each box its own --source"
            ])
    }

    @Test func `leases are shown with the collector that holds them`() {
        let overview = SiteOverview(
            [collector("east")],
            leases: [
                .init(name: "retention in s3://a", holder: "east", token: 3, remainingSeconds: 12),
                .init(
                    name: "retention in s3://b", holder: "west\u{1B}", token: 9, remainingSeconds: 0
                ),
            ], catalog: "db1/tributary")
        #expect(overview.work.map(\.holder) == ["east", nil])
        #expect(overview.work.map(\.token) == [3, 9])
        let lines = SiteScreen(overview).lines().map(\.text)
        #expect(
            lines.suffix(2) == [
                "retention in s3://a: east", "retention in s3://b: no collector",
            ])
    }

    @Test func `numbers that no collector can have do not overflow`() {
        let overview = SiteOverview(
            [collector("east", holds: ["door": [1 ... .max], "hall": [1 ... .max]])], catalog: "")
        #expect(overview.collectors.map(\.aloneRecords) == [.max])
    }

    @Test func `a silent collector is reported with the records that only it has`() {
        let overview = SiteOverview(
            [
                collector("east", heard: 200, holds: ["door": [1...100]]),
                collector("west", heard: 19, holds: ["door": [1...90]]),
                collector("yard", heard: 86_400 * 3) { $0.isStopped = true },
            ], catalog: "db1/tributary")
        #expect(overview.collectors.map(\.state) == [.silent, .recording, .stopped])
        #expect(
            overview.problems == [
                "east has not been heard for 3 min",
                "east, which is away, alone has 10 records of door",
            ])
    }

    @Test func `a collector's state follows from its report`() {
        let states = [
            collector("a") { $0.session = nil },
            collector("b") { $0.isDraining = true },
            collector("c") { $0.trouble = "there is no room on the disk" },
            SiteCollector(
                archive: "d", name: "d", heardSeconds: 1, runningSeconds: 1, report: nil),
            SiteCollector(
                archive: "e", name: "e", heardSeconds: 100, runningSeconds: 1, report: nil),
        ]
        let overview = SiteOverview(states, catalog: "")
        #expect(
            overview.collectors.map(\.state) == [.idle, .draining, .troubled, .unknown, .silent])
        #expect(
            overview.problems.first == "c records nothing: there is no room on the disk")
    }

    @Test func `two collectors with one name are reported, unless one is away`() {
        let first = collector("east", heard: 2)
        let second = collector("east", heard: 2) { $0.archive = "/srv/other" }
        let line = "2 collectors are called east: give each its own --name"
        #expect(SiteOverview([first, second], catalog: "").problems == [line])
        var gone = second
        gone.heardSeconds = 100
        #expect(!SiteOverview([first, gone], catalog: "").problems.contains(line))
    }

    @Test func `the screen has a line for each collector, and fits`() {
        let overview = SiteOverview(
            [
                collector("east", heard: 200, holds: ["door": [1...100]]),
                collector("west") {
                    $0.sources = 4
                    $0.bitsPerSecond = 8e6
                    $0.owedBytes = 3_000_000
                },
            ], catalog: "db1/tributary")
        let lines = SiteScreen(overview).lines()
        #expect(lines.first?.text == "db1/tributary: 1 of 2 collectors · 4 sources · 8 Mbit/s")
        #expect(lines.dropFirst().prefix(2).allSatisfy { $0.emphasis == .alarming })
        #expect(lines.contains { $0.text.hasPrefix("east") && $0.text.contains("silent") })
        #expect(lines.contains { $0.text.hasPrefix("west") && $0.text.contains("3 MB") })
        let narrow = SiteScreen(overview, complaint: "gone").lines(columns: 40, rows: 4)
        #expect(narrow.count == 4 && narrow.allSatisfy { $0.text.count <= 40 })
        #expect(narrow[1].text == "no answer: gone")
        #expect(SiteScreen(SiteOverview([], catalog: "db")).lines().last?.text == "no collectors")
    }
}
