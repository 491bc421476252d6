import Foundation
import SQLite
import Synchronization
import TestRecordings
import Testing

@testable import Archive
@testable import Catalog

/// Malicious and damaged catalogs in an archive's `tributary.sqlite`.
@Suite struct HostileCatalogTests {
    /// An archive with one session, and its catalog.
    private struct Scene {
        let written: WrittenSession
        let layout: ArchiveLayout
        let path: String
        /// The rows that the catalog must have.
        let rows: [String]

        init() throws {
            written = try WrittenSession { _ in 0 }
            layout = written.layout
            path = SQLiteCatalog.path(layout)
            let catalog = try SQLiteCatalog.rebuild(layout).catalog
            rows = try catalog.dump()
        }

        /// Changes the catalog as a foreign program could.
        func change(_ statements: String...) throws {
            let connection = try SQLiteConnection(path, for: .writing)
            for statement in statements { try connection.run(statement) }
            try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }

        /// The error with which all readers refuse it, which must be one line.
        func refusal() throws -> String {
            var refused: String?
            for read in [SQLiteCatalog.readUnchanged, { try SQLiteCatalog.read($0) }] {
                let error = #expect(throws: ArchiveError.self) {
                    let catalog = try #require(try read(layout))
                    _ = try catalog.sessions()
                    _ = try catalog.segments()
                    _ = try catalog.segments(from: 0)
                    _ = try catalog.files(of: WrittenSession.name)
                }
                #expect(error?.isForContent == true, "\(String(describing: error))")
                refused = error.map { "\($0)" }
            }
            let line = try #require(refused)
            #expect(!line.contains("\n") && line.count < 500)
            return line
        }

        /// Expects that `tributary index` replaces it by a valid one.
        func expectRebuilt() throws {
            let (catalog, summary) = try SQLiteCatalog.rebuild(layout)
            #expect(summary.problems.isEmpty)
            #expect(try catalog.dump() == rows)
            #expect(try catalog.damage() == nil)
            #expect(try FileSystem.names(in: layout.root).allSatisfy { !$0.contains(".new") })
        }
    }

    private static let additions = [
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
        "CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM session; END",
        "CREATE INDEX i ON event (text)",
        "CREATE TABLE extra (a INTEGER)",
        "CREATE TABLE extra (a, b AS (a + 1))",
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "DROP TRIGGER segmentAdded",
        "DROP INDEX segmentGrowing",
        "ANALYZE",
        "ALTER TABLE event ADD COLUMN more TEXT",
        "ALTER TABLE event RENAME COLUMN text TO words",
        "PRAGMA user_version = 5",
        "PRAGMA application_id = 0",
        "PRAGMA journal_mode = DELETE",
    ]

    @Test(arguments: additions)
    func `a catalog with an additional schema element is replaced`(addition: String) throws {
        let scene = try Scene()
        try scene.change(addition)
        let line = try scene.refusal()
        #expect(line.contains("is not a catalog of this version"))
        let (catalog, complaint) = try SQLiteCatalog.openMended(scene.layout)
        #expect(complaint?.contains("rebuilt from the files") == true)
        _ = try CatalogIndexing.update(catalog, scene.layout)
        #expect(try catalog.dump() == scene.rows)
        try scene.expectRebuilt()
    }

    @Test func `a view in place of a table is not asked`() throws {
        let scene = try Scene()
        try scene.change(
            "DROP TABLE event", "ALTER TABLE session RENAME TO s",
            """
            CREATE VIEW session AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                SELECT n.i AS session, s.* FROM s, n ORDER BY n.i
            """)
        #expect(try scene.refusal().contains("is not a catalog of this version"))
        try scene.expectRebuilt()
    }

    @Test func `an invalid catalog is removed, not changed`() throws {
        let scene = try Scene()
        try scene.change(Self.additions[1])
        let before = try FileSystem.read(scene.path, limit: 1 << 24)
        let kept = try #require(FileHandle(forReadingAtPath: scene.path))
        try scene.expectRebuilt()
        #expect(try kept.readToEnd().map(Array.init) == before)
        // It was removed, not changed.
        var status = stat()
        #expect(fstat(kept.fileDescriptor, &status) == 0 && status.st_nlink == 0)
    }

    @Test func `readers of the replaced catalog are not disturbed`() throws {
        let scene = try Scene()
        let reader = try #require(try SQLiteCatalog.read(scene.layout))
        #expect(try reader.dump() == scene.rows)
        try scene.expectRebuilt()
        #expect(try reader.dump() == scene.rows)
        // Closing it removes nothing of the new one.
        withExtendedLifetime(reader) {}
        let next = try #require(try SQLiteCatalog.read(scene.layout))
        try next.apply([.sessionRemoved(WrittenSession.name)])
        #expect(try next.sessions().isEmpty)
    }

    @Test(arguments: ["PRAGMA page_size = 8192", "PRAGMA encoding = 'UTF-16le'"])
    func `another page size or encoding is another program's`(setting: String) throws {
        let scene = try Scene()
        try SQLiteCatalog.remove(scene.layout)
        try FileSystem.replace(scene.path, with: [])
        try scene.change(setting, "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)")
        _ = try scene.refusal()
        try scene.expectRebuilt()
    }

    enum Thing: CaseIterable {
        case pipe
        case link
        case hardLink
        case looseLink
    }

    @Test(arguments: Thing.allCases, ["", "-wal", "-shm"])
    func `a link or special file is not opened`(thing: Thing, suffix: String) throws {
        let scene = try Scene()
        let elsewhere = TemporaryDirectory()
        let target = "\(elsewhere.path)/target"
        let path = scene.path + suffix
        let content = suffix.isEmpty ? try FileSystem.read(path, limit: 1 << 24) : [1, 2, 3]
        unlink(path)
        try Data(content).write(to: URL(filePath: target))
        switch thing {
        case .pipe: try #require(mkfifo(path, 0o644) == 0)
        case .link: try #require(symlink(target, path) == 0)
        case .hardLink: try #require(link(target, path) == 0)
        case .looseLink: try #require(symlink("\(elsewhere.path)/nothing", path) == 0)
        }
        _ = try scene.refusal()
        try scene.expectRebuilt()
        #expect(try FileSystem.read(target, limit: 1 << 24) == content)
        #expect(try FileSystem.names(in: elsewhere.path) == ["target"])
    }

    @Test func `a directory in its place is an error that names it`() throws {
        let scene = try Scene()
        try SQLiteCatalog.remove(scene.layout)
        try FileSystem.makeDirectories("\(scene.path)/more")
        _ = try scene.refusal()
        let error = #expect(throws: ArchiveError.self) { try SQLiteCatalog.rebuild(scene.layout) }
        #expect(error.map { "\($0)".contains(scene.path) } ?? false)
        #expect(FileSystem.isDirectory("\(scene.path)/more"))
    }

    /// A journal names files that SQLite deletes when it has written it back.
    @Test func `a rollback journal is not written back`() throws {
        let scene = try Scene()
        try Data(repeating: 0, count: 512).write(to: URL(filePath: "\(scene.path)-journal"))
        #expect(try scene.refusal().contains("journal"))
        try scene.expectRebuilt()
        #expect(!FileSystem.exists("\(scene.path)-journal"))
    }

    @Test func `an archive that is reached through a link has its catalog`() throws {
        let scene = try Scene()
        let elsewhere = TemporaryDirectory()
        let link = "\(elsewhere.path)/archive"
        try #require(symlink(scene.layout.root, link) == 0)
        let catalog = try #require(try SQLiteCatalog.read(ArchiveLayout(root: link)))
        #expect(try catalog.dump() == scene.rows)
    }

    @Test func `an invalid write-ahead log is not used`() throws {
        let scene = try Scene()
        // The view is in the log alone.
        let connection = try SQLiteConnection(scene.path, for: .writing)
        try connection.run(Self.additions[0])
        let log = try FileSystem.read("\(scene.path)-wal", limit: 1 << 24)
        #expect(try scene.refusal().contains("is not a catalog of this version"))
        withExtendedLifetime(connection) {}
        try scene.expectRebuilt()
        // A log of another database, and noise, are not applied.
        for bytes in [log.map { $0 ^ 0x5A }, [UInt8](repeating: 7, count: 100_000)] {
            try SQLiteCatalog.remove(scene.layout)
            try scene.expectRebuilt()
            for suffix in ["-wal", "-shm"] {
                unlink(scene.path + suffix)
                try Data(bytes).write(to: URL(filePath: scene.path + suffix))
            }
            let catalog = try #require(try SQLiteCatalog.read(scene.layout))
            #expect(try catalog.dump() == scene.rows)
        }
    }

    private static let rows = [
        "UPDATE session SET session = '../../etc'",
        "UPDATE session SET session = ''",
        "UPDATE session SET state = 'owned' || CHAR(27) || '[2J'",
        "UPDATE session SET bytes = -1",
        "UPDATE session SET segments = -5",
        "UPDATE session SET isProtected = 2",
        "UPDATE session SET note = CAST(x'ff41' AS TEXT)",
        "INSERT INTO source SELECT session, '../door', '', '', 1 FROM session",
        "INSERT INTO source SELECT session, CAST(x'c0af' AS TEXT), '', '', 1 FROM session",
        "UPDATE segment SET file = '../../../etc/passwd.mp4' WHERE begins = zeroth",
        "UPDATE segment SET file = 'passwd' WHERE begins = zeroth",
        "UPDATE segment SET source = '..'",
        "UPDATE segment SET bytes = -1",
        "UPDATE segment SET revision = -1",
        "UPDATE segment SET revision = 4294967296",
    ]

    @Test(arguments: rows)
    func `rows that no archive has are damage`(statement: String) throws {
        let scene = try Scene()
        try scene.change(
            statement.replacing("zeroth", with: "(SELECT MIN(begins) FROM segment)"))
        _ = try scene.refusal()
        try scene.expectRebuilt()
    }

    @Test func `a database with a header that forbids writing is replaced by a writer`() throws {
        let scene = try Scene()
        var bytes = try FileSystem.read(scene.path, limit: 1 << 24)
        bytes[18] = 3
        try SQLiteCatalog.remove(scene.layout)
        try FileSystem.replace(scene.path, with: bytes)
        let (catalog, complaint) = try SQLiteCatalog.openMended(scene.layout)
        #expect(complaint?.contains("does not write") == true)
        _ = try CatalogIndexing.update(catalog, scene.layout)
        #expect(try catalog.dump() == scene.rows)
    }

    @Test func `a catalog with far too many sessions is rebuilt`() throws {
        let scene = try Scene()
        try scene.change(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
                INSERT INTO session SELECT 's' || i, 0, 'finished', NULL, 1, '', 0, NULL, '', NULL, 0, 0 FROM n
            """)
        let catalog = try #require(try SQLiteCatalog.read(scene.layout))
        for isListed in [true, false] {
            #expect(throws: ArchiveError.self) { try catalog.checkSessions(1, isListed: isListed) }
            try catalog.checkSessions(5_001, isListed: isListed)
        }
        #expect(try SQLiteCatalog.openMended(scene.layout).complaint != nil)
        try scene.expectRebuilt()
    }

    @Test func `a query that takes too long is ended with an error`() throws {
        let scene = try Scene()
        try scene.change(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
                INSERT INTO source SELECT session, 's' || i, '', '', 1 FROM session, n
            """)
        let clock = Mutex((now: ContinuousClock.now, isFast: false))
        let limits = SQLiteLimits(
            statement: .seconds(8),
            now: {
                clock.withLock {
                    if $0.isFast { $0.now += .seconds(1) }
                    return $0.now
                }
            })
        let catalog = try #require(try SQLiteCatalog.read(scene.layout, limits: limits))
        _ = try catalog.sessions()
        clock.withLock { $0.isFast = true }
        let error = #expect(throws: ArchiveError.self) { try catalog.sessions() }
        guard case .exceeded(let path, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(path == scene.path)
    }

    /// Random damage: pages in cycles, truncated tables, excessive numbers.
    @Test func `a catalog damaged anywhere is read or reported, and then rebuilt`() throws {
        let scene = try Scene()
        try scene.change("PRAGMA user_version = 4")
        let whole = try FileSystem.read(scene.path, limit: 1 << 24)
        var refused = 0
        for seed in 0..<60 as Range<UInt64> {
            var random = Chance(seed: seed)
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: 16..<bytes.count, using: &random)
                // Most of a page is empty, so damage concentrates on its head.
                let head = place / 4_096 * 4_096 + place % 64
                let target = Bool.random(using: &random) ? place : max(16, head)
                bytes[target] = UInt8.random(in: .min ... .max, using: &random)
            }
            if seed % 7 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
            try SQLiteCatalog.remove(scene.layout)
            try FileSystem.replace(scene.path, with: bytes)
            do {
                let catalog = try #require(try SQLiteCatalog.read(scene.layout))
                _ = try catalog.sessions()
                _ = try catalog.segments(from: 0)
                if try catalog.damage() != nil { refused += 1 }
            } catch {
                refused += 1
                let failure = try #require(error as? ArchiveError, "seed \(seed)")
                #expect(failure.isForContent || failure.code != nil, "seed \(seed): \(failure)")
            }
            let (catalog, _) = try SQLiteCatalog.openMended(scene.layout)
            _ = try CatalogIndexing.update(catalog, scene.layout, everything: true)
            #expect(try catalog.sessions().map(\.session) == [WrittenSession.name], "seed \(seed)")
            try scene.expectRebuilt()
        }
        #expect(refused > 10)
    }

    /// SplitMix64.
    private struct Chance: RandomNumberGenerator {
        var seed: UInt64

        mutating func next() -> UInt64 {
            seed &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (seed ^ (seed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
