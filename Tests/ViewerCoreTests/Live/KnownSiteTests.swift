import Catalog
import Foundation
import Logging
import Synchronization
import Testing

@testable import ViewerCore

/// The collectors of a site while its database is away.
@Suite struct KnownSiteTests {
    private struct Away: Error {}

    private final class Database: Sendable {
        let answer = Mutex<[SiteCollector]?>(nil)

        func ask() throws -> [SiteCollector] {
            guard let found = answer.withLock({ $0 }) else { throw Away() }
            return found
        }
    }

    private func collector(_ name: String, sources: Int = 0) -> SiteCollector {
        var report = SiteReport(
            name: name, version: "1", machine: "m", listen: "tcp://127.0.0.1:1",
            archive: "/\(name)", release: "local")
        report.feed = "tcp://0.0.0.0:5560"
        report.sources = sources
        return SiteCollector(
            archive: "id-\(name)", name: name, heardSeconds: 1, runningSeconds: 2, report: report)
    }

    private func site(_ directory: String?, _ database: Database) -> KnownSite {
        KnownSite(
            directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { try database.ask() }
    }

    @Test func `without the database, the site of the last run is used`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "known-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let database = Database()
        #expect(throws: Away.self) { try site(directory, database).collectors() }
        database.answer.withLock { $0 = [collector("east", sources: 7), collector("west")] }
        let first = site(directory, database)
        #expect(try first.collectors().count == 2)
        database.answer.withLock { $0 = nil }
        // After an answer, the error is passed on: what it named stays.
        #expect(throws: Away.self) { try first.collectors() }
        let second = site(directory, database)
        let known = try second.collectors()
        #expect(known.map(\.name) == ["east", "west"])
        #expect(known.first?.archive == "id-east" && known.first?.report?.archive == "/east")
        #expect(known.first?.report?.feed == "tcp://0.0.0.0:5560")
        #expect(known.first?.report?.sources == 0)
        #expect(known.first?.heardSeconds == KnownSite.heardSeconds)
        database.answer.withLock { $0 = [collector("west")] }
        #expect(try second.collectors().map(\.name) == ["west"])
        database.answer.withLock { $0 = nil }
        #expect(try site(directory, database).collectors().map(\.name) == ["west"])
        #expect(throws: Away.self) { try site(nil, database).collectors() }
    }

    @Test func `an invalid file is ignored`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "known-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        for text in ["", "{", #"{"version":2,"collectors":[]}"#, #"{"version":1,"collectors":[]}"#]
        {
            try Data(text.utf8).write(
                to: URL(filePath: directory).appending(path: KnownSite.fileName))
            #expect(throws: Away.self, "\(text)") {
                try site(directory, Database()).collectors()
            }
        }
    }
}
