import Foundation
import PostgreSQL
import TestDatabases
import TestRecordings
import Testing

@testable import Archive
@testable import Catalog

/// The collectors of a site in their catalog.
@Suite(
    .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"))
struct SiteRegisterTests {
    private struct Site {
        let server: PostgreSQLServer
        let name: String

        /// A separate database, because other suites have collectors, too.
        init() throws {
            server = try PostgreSQLServer.shared.get()
            name = "site_\(UUID().uuidString.prefix(8).lowercased())"
            try server.execute("CREATE DATABASE \(name)")
        }

        func register(
            for role: PostgreSQLConnection.Role = .writing
        ) throws -> PostgreSQLSiteRegister {
            PostgreSQLSiteRegister(
                PostgreSQLDatabase(
                    try server.address(database: name), for: role, program: "tests",
                    longestPause: .milliseconds(100)))
        }
    }

    private func identity() throws -> ArchiveIdentity {
        let directory = TemporaryDirectory()
        return try withExtendedLifetime(directory) {
            try ArchiveIdentity.make(ArchiveLayout(root: directory.path))
        }
    }

    private func report(_ name: String) -> SiteReport {
        var report = SiteReport(
            name: name, version: "0.1.0", machine: "\(name).example", listen: "tcp://0.0.0.0:5550",
            archive: "/srv/\(name)", release: "local")
        report.session = "2026-11-20T22-40-00.000Z"
        report.sources = 3
        report.bitsPerSecond = 4e6
        report.freeBytes = 1 << 40
        return report
    }

    private var holdings: [SiteHolding] {
        var records = SequenceSet(upTo: 500)
        records.insert(502...900)
        return [
            SiteHolding(
                source: "door", spool: String(repeating: "a", count: 32), records: records)
        ]
    }

    @Test func `a report is read as it was written, by a role that only reads`() throws {
        let site = try Site()
        let writing = try site.register()
        let east = try identity()
        #expect(
            try writing.publish(report("east"), holdings, of: east, run: "1").namesakes == [])
        #expect(
            try writing.publish(report("west"), holdings, of: identity(), run: "1").namesakes == [])
        let found = try site.register(for: .reading).collectors()
        #expect(found.map(\.name) == ["east", "west"])
        #expect(found.first?.archive == east.text)
        #expect(found.map(\.report) == [report("east"), report("west")])
        #expect(found.allSatisfy { (0..<5).contains($0.heardSeconds) })
        #expect(
            found.first?.holdings.first?.records.ranges == [1...500, 502...900])
    }

    @Test func `the age of a report is the server's, and a new process begins a new run`() throws {
        let site = try Site()
        let register = try site.register()
        let east = try identity()
        _ = try register.publish(report("east"), holdings, of: east, run: "1")
        try site.server.execute(
            """
            UPDATE tributary.collector SET heard = heard - interval '50 seconds',
                began = began - interval '1 hour'
            """, database: site.name)
        let old = try #require(try register.collectors().first)
        #expect(
            (50..<55).contains(old.heardSeconds) && (3_600..<3_605).contains(old.runningSeconds))
        _ = try register.publish(report("east"), holdings, of: east, run: "1")
        let same = try #require(try register.collectors().first)
        #expect(same.heardSeconds < 5 && same.runningSeconds >= 3_600)
        _ = try register.publish(report("east"), holdings, of: east, run: "2")
        let new = try #require(try register.collectors().first)
        #expect(new.runningSeconds < 5)
    }

    @Test func `a source is at the collector that has reported it lately`() throws {
        let site = try Site()
        let register = try site.register()
        let (east, west) = (try identity(), try identity())
        func publish(
            _ name: String, _ identity: ArchiveIdentity, _ change: (inout SiteReport) -> Void
        ) throws {
            var report = report(name)
            change(&report)
            _ = try register.publish(report, holdings, of: identity, run: "1")
        }
        try publish("east", east) { $0.connected = ["door"] }
        try publish("west", west) { $0.connected = ["hall", "stage"] }
        func places() throws -> [String: String] {
            try register.places(of: ["door", "hall", "yard"], besides: east)
        }
        #expect(try places() == ["hall": "west"])
        #expect(try register.places(of: ["door"], besides: west) == ["door": "east"])
        // A version that does not tell, one that was stopped, and one that is not heard.
        try publish("west", west) { _ in }
        #expect(try places() == [:])
        try publish("west", west) {
            $0.connected = ["hall"]
            $0.isStopped = true
        }
        #expect(try places() == [:])
        try publish("west", west) { $0.connected = ["hall"] }
        try site.server.execute(
            "UPDATE tributary.collector SET heard = heard - interval '21 seconds' WHERE name = 'west'",
            database: site.name)
        #expect(try places() == [:])
        // Long after, it is still known, with the own one: its archive is there.
        try site.server.execute(
            "UPDATE tributary.collector SET heard = heard - interval '9 days' WHERE name = 'west'",
            database: site.name)
        #expect(try register.reports().map(\.name).contains("west"))
        #expect(try register.reports().allSatisfy { $0.holdings.isEmpty })
    }

    @Test func `a second collector of the same name is returned while it reports`() throws {
        let site = try Site()
        let register = try site.register()
        _ = try register.publish(report("east"), holdings, of: identity(), run: "1")
        let second = try identity()
        #expect(
            try register.publish(report("east"), holdings, of: second, run: "2").namesakes
                == [report("east")])
        try site.server.execute(
            "UPDATE tributary.collector SET heard = heard - interval '1 hour' WHERE run = '1'",
            database: site.name)
        #expect(
            try register.publish(report("east"), holdings, of: second, run: "2").namesakes == [])
    }

    @Test func `a report of the size of an answer does not hide the others`() throws {
        let site = try Site()
        let register = try site.register()
        let own = try identity()
        var west = report("west")
        west.connected = ["door"]
        for report in [report("east"), west] {
            _ = try register.publish(report, holdings, of: identity(), run: "1")
        }
        try site.server.execute(
            "UPDATE tributary.collector SET report = repeat('x', 65 << 20) WHERE name = 'east'",
            database: site.name)
        #expect(try register.peers(of: own).map(\.name) == ["west"])
        #expect(try register.reports().map(\.name) == ["west"])
        #expect(try register.places(of: ["door"], besides: own) == ["door": "west"])
        #expect(
            try register.publish(report("east"), holdings, of: own, run: "1").namesakes == [])
        let proposal = SiteProposal(
            session: "2026-11-20T22-40-00.000Z-own", collector: "own", zeroUTCNanoseconds: 0,
            wallErrorNanoseconds: 0, segmentNanoseconds: 1, zeroMonotonicNanoseconds: 0,
            zeroErrorNanoseconds: 0)
        #expect(try register.agree(proposal, of: own).isProposed)
    }

    @Test func `a report of another version hides no collector`() throws {
        let site = try Site()
        let register = try site.register()
        _ = try register.publish(report("east"), holdings, of: identity(), run: "1")
        _ = try register.publish(report("west"), holdings, of: identity(), run: "1")
        try site.server.execute(
            "UPDATE tributary.collector SET report = '{\"name\":1}' WHERE name = 'east'",
            database: site.name)
        #expect(try register.collectors().map { $0.report?.name } == [nil, "west"])
        // A member that this version does not know.
        try site.server.execute(
            """
            UPDATE tributary.collector SET report = '{"altitude":7,' || substr(report, 2)
                WHERE name = 'west'
            """, database: site.name)
        #expect(try register.collectors().last?.report == report("west"))
    }

    @Test func `tables of the first version are extended, and keep their rows`() throws {
        let site = try Site()
        let directory = TemporaryDirectory()
        let database = PostgreSQLDatabase(
            try site.server.address(database: site.name), for: .writing, program: "tests")
        let place = PostgreSQLCatalogLocation(database, ArchiveLayout(root: directory.path))
        _ = try place.open()
        try site.server.execute(
            """
            DROP TABLE tributary.collector, tributary.site_session, tributary.lease;
            ALTER TABLE tributary.schema_version DROP COLUMN oldest;
            DELETE FROM tributary.schema_version WHERE version > 1
            """, database: site.name)
        _ = try site.register().publish(report("east"), holdings, of: identity(), run: "1")
        #expect(try site.register().collectors().count == 1)
        #expect(try place.open().complaint == nil)
    }

    @Test func `ranges of a holding have a limit, and damaged ones are left out`() throws {
        var records = SequenceSet()
        for number in 1...1_000 as ClosedRange<UInt64> { records.insert(number * 2...number * 2) }
        let holding = SiteHolding(source: "door", spool: "", records: records)
        #expect(holding.records.ranges.count == 256)
        #expect(holding.records.highest == 512)
        let text = #"{"source":"door","spool":"","ranges":"0-4,7-6,x,-,9,12-18446744073709551615"}"#
        let read = try JSONDecoder().decode(SiteHolding.self, from: Data(text.utf8))
        #expect(read.records.ranges == [9...9, 12 ... .max])
        #expect(read.storedRecords == SequenceSet())
    }
}
