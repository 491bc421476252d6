import Foundation
import Library
import PostgreSQL
import Recordings
import TestDatabases
import Testing
import TestRecordings

@testable import Archive
@testable import Catalog

/// Failures of a catalog on a server.
@Suite(
    .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"))
struct PostgreSQLCatalogTests {
    private func database(
        _ server: PostgreSQLServer, role: PostgreSQLConnection.Role = .writing,
        name: String = "postgres"
    ) throws -> PostgreSQLDatabase {
        PostgreSQLDatabase(
            try server.address(database: name), for: role, program: "tests",
            longestPause: .milliseconds(100))
    }

    private func change(_ name: String) -> CatalogChange {
        .session(
            CatalogSession(
                session: name, zeroUTCNanoseconds: 0, state: "finished", endReason: nil,
                segmentNanoseconds: 1, software: "", isProtected: false, notes: SessionNotes()),
            [])
    }

    private func identity(_ layout: ArchiveLayout) throws -> String {
        try #require(try ArchiveIdentity.read(layout)).text
    }

    @Test func `archives in one catalog do not see each other`() throws {
        let database = try database(PostgreSQLServer.shared.get())
        let directories = [TemporaryDirectory(), TemporaryDirectory()]
        let places = directories.map {
            PostgreSQLCatalogLocation(database, ArchiveLayout(root: $0.path))
        }
        let catalogs = try places.map { try $0.open().catalog }
        try catalogs[0].apply([change("one")])
        try catalogs[1].apply([change("two")])
        #expect(try catalogs.map { try $0.sessionNames() } == [["one"], ["two"]])
        try places[0].remove()
        #expect(try places[0].existing() == nil)
        #expect(try places[0].open().catalog.sessionNames() == [])
        #expect(try catalogs[1].sessionNames() == ["two"])
    }

    @Test func `readers of one program share answers until a change is announced`() throws {
        let server = try PostgreSQLServer.shared.get()
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        let written = try PostgreSQLCatalogLocation(try database(server), layout).open().catalog
        try written.apply([change("one")])
        let reading = try database(server, role: .reading)
        func names() throws -> [String] {
            try #require(try PostgreSQLCatalogLocation(reading, layout).existing()).sessionNames()
        }
        #expect(try names() == ["one"])
        try written.apply([change("two")])
        #expect(reading.memory != nil, "``CatalogMemoryTests``")
        reading.forgetAnswers()
        #expect(try names() == ["one", "two"])
        #expect(try written.sessionNames() == ["one", "two"])
    }

    @Test func `programs that start concurrently create the tables once`() async throws {
        let server = try PostgreSQLServer.shared.get()
        try server.execute("CREATE DATABASE together")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { try self.database(server, name: "together").prepare() }
            }
            try await group.waitForAll()
        }
        try database(server, role: .reading, name: "together").prepare()
        // A newer program was here.
        try server.execute(
            "INSERT INTO tributary.schema_version VALUES (99)", database: "together")
        let error = try #require(throws: ArchiveError.self) {
            try database(server, name: "together").prepare()
        }
        #expect(error.isForServer && "\(error)".contains("upgrade this program"))
    }

    @Test func `a reading role is told how to create missing tables`() throws {
        let server = try PostgreSQLServer.shared.get()
        try server.execute("CREATE DATABASE bare")
        let error = try #require(throws: ArchiveError.self) {
            try database(server, role: .reading, name: "bare").prepare()
        }
        #expect(error.isForServer && "\(error)".contains("tributary index --prepare"))
    }

    @Test func `changes that a standby lacks are written again`() throws {
        let server = try PostgreSQLServer.shared.get()
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        let catalog = try PostgreSQLCatalogLocation(database(server), layout).open().catalog
        for name in ["a", "b", "c"] { try catalog.apply([change(name)]) }
        // As if the last two had not reached the server that took over.
        let archive = try identity(layout)
        try server.execute(
            """
            DELETE FROM tributary.session WHERE session IN ('b', 'c')
                AND archive = (SELECT id FROM tributary.archive WHERE identity = '\(archive)');
            UPDATE tributary.archive SET changes = 1 WHERE identity = '\(archive)'
            """)
        try catalog.apply([change("d")])
        #expect(try catalog.sessionNames() == ["a", "b", "c", "d"])
        try catalog.apply([change("e")])
        #expect(try catalog.sessionNames().count == 5)
        // Older than this program's last write, so its missing rows are unknown.
        let later = try PostgreSQLCatalogLocation(database(server), layout).open().catalog
        try later.apply([change("f")])
        try server.execute(
            "UPDATE tributary.archive SET changes = 2 WHERE identity = '\(archive)'")
        let error = try #require(throws: ArchiveError.self) { try later.apply([change("g")]) }
        #expect(!error.isForLock && "\(error)".contains("lost changes"))
    }

    @Test func `names that would lead elsewhere are refused`() throws {
        let server = try PostgreSQLServer.shared.get()
        let written = try WrittenSession { _ in 0 }
        let catalog = try PostgreSQLCatalogLocation(database(server), written.layout).open().catalog
        _ = try CatalogIndexing.update(catalog, written.layout)
        #expect(try catalog.segments().count == 2)
        let archive = try identity(written.layout)
        for (column, value) in [("source", "../../etc"), ("file", "../x.mp4")] {
            try server.execute(
                """
                UPDATE tributary.segment SET \(column) = '\(value)' WHERE file LIKE '%22-40-00%'
                    AND archive = (SELECT id FROM tributary.archive WHERE identity = '\(archive)')
                """)
            #expect(throws: ArchiveError.self) { try catalog.segments() }
            _ = try CatalogIndexing.update(catalog, written.layout, everything: true)
            #expect(try catalog.segments().count == 2)
        }
    }

    @Test func `a server that restarts loses nothing, and readers use the files meanwhile`() throws
    {
        let server = try PostgreSQLServer()
        let written = try WrittenSession { _ in 0 }
        let layout = written.layout
        let writing = try database(server)
        let catalog = try PostgreSQLCatalogLocation(writing, layout).open().catalog
        _ = try CatalogIndexing.update(catalog, layout)
        let before = try catalog.dump()
        let library = try RecordingLibrary(
            readingOnly: written.directory.path,
            catalog: .postgreSQL(database(server, role: .reading))
        ) { _ in }
        let listed = try library.sessions().map(\.segments)
        try server.stop()
        let error = try #require(throws: ArchiveError.self) {
            try catalog.apply([change("later")])
        }
        #expect(error.isForServer && error.isForLock)
        #expect(try library.sessions().map(\.segments) == listed)
        #expect(try library.sessions(from: 0, until: nil).map(\.segments) == listed)
        try server.start()
        let end = ContinuousClock.now + .seconds(30)
        while true {
            do throws(ArchiveError) {
                try catalog.apply([change("later")])
                break
            } catch {
                try #require(error.isForServer && ContinuousClock.now < end, "\(error)")
                usleep(50_000)
            }
        }
        #expect(try Set(before).isSubset(of: catalog.dump()))
        #expect(try catalog.sessionNames().contains("later"))
    }

    @Test func `a catalog that could not be removed on its server is not used`() throws {
        let server = try PostgreSQLServer()
        let directory = TemporaryDirectory()
        let place = PostgreSQLCatalogLocation(
            try database(server), ArchiveLayout(root: directory.path))
        try place.open().catalog.apply([change("old")])
        try server.stop()
        try place.remove()
        try server.start()
        #expect(try place.existing() == nil)
        // The server may still be in its pause.
        usleep(300_000)
        #expect(try place.open().catalog.indexedSessionNames() == [])
        #expect(try place.existing() != nil)
    }

    @Test func `answers and waits have limits`() throws {
        let server = try PostgreSQLServer.shared.get()
        func connection(
            _ limits: PostgreSQLConnection.Limits
        ) throws -> PostgreSQLConnection {
            try PostgreSQLConnection(
                server.address(), for: .writing, program: "tests", setup: "SET jit = off",
                limits: limits)
        }
        let small = try connection(.init(answerBytes: 1 << 20))
        #expect(throws: PostgreSQLError.tooLarge(limitBytes: 1 << 20)) {
            try small.run("SELECT repeat('x', 10000) FROM generate_series(1, 1000000)")
        }
        #expect(!small.isIdle)
        let hasty = try connection(.init(answer: .milliseconds(200)))
        #expect(throws: PostgreSQLError.timedOut(.milliseconds(200))) {
            try hasty.run("SELECT pg_sleep(60)")
        }
        #expect(!hasty.isIdle)
    }
}

@Suite struct PostgreSQLAddressTests {
    @Test(arguments: [
        "postgresql://u:secret@h/d", "postgresql://u:se@cret@h/d",
        "postgresql://u@h/d?password=secret",
        "postgres://u:secret@h:x/d", "postgresql://:secret@/d",
        "postgresql://u@h/d?sslpassword=secret",
    ])
    func `a password in an address is refused, and not repeated`(text: String) throws {
        let flaw = try #require(throws: PostgreSQLAddress.Flaw.self) {
            try PostgreSQLAddress(text)
        }
        #expect(flaw == .password && !"\(flaw)".contains("secret"))
    }

    @Test func `error messages name only servers and database`() throws {
        let address = try PostgreSQLAddress(
            "postgresql://writer@db1,db2:5433/tributary?passfile=/etc/p&target_session_attrs=any")
        #expect("\(address)" == "postgresql://db1,db2:5433/tributary")
        #expect(throws: PostgreSQLAddress.Flaw.malformed) {
            try PostgreSQLAddress("postgresql://h/d?no=such")
        }
        #expect(throws: PostgreSQLAddress.Flaw.noAddress) { try PostgreSQLAddress("mysql://h") }
        #expect(throws: PostgreSQLAddress.Flaw.tooManyHosts) {
            try PostgreSQLAddress("postgresql://a,b,c,d,e,f,g,h,i/d")
        }
    }

    @Test func `an unreachable server is one line`() throws {
        let database = PostgreSQLDatabase(
            try PostgreSQLAddress("postgresql://u@127.0.0.1:1/d"), for: .reading, program: "tests")
        let error = try #require(throws: ArchiveError.self) { try database.prepare() }
        #expect(error.isForServer && !"\(error)".contains("\n"))
        // A second call fails immediately instead of waiting.
        #expect(throws: error) { try database.prepare() }
    }
}
