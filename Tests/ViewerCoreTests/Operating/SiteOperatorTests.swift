import Archive
import Library
import Logging
import PostgreSQL
import Synchronization
import Terminal
import TestRecordings
import Testing
import Threads

@testable import Catalog
@testable import ViewerCore

/// A database that counts how often its answers are forgotten.
private final class CountingServer: CatalogServer {
    private let database: PostgreSQLDatabase
    let forgotten = Atomic(0)

    init() throws {
        database = PostgreSQLDatabase(
            try PostgreSQLAddress("postgresql://u@127.0.0.1:1/d"), for: .reading, program: "tests")
    }

    var name: String { database.name }
    var register: any SiteRegister { database.register }
    var leases: any LeaseRegister { database.leases }
    func prepare() throws(ArchiveError) {}
    func isComplaintDue() -> Bool { false }
    func forgetAnswers() { forgotten.add(1, ordering: .relaxed) }
    func end() {}
}

/// Changes by operators of a site's page.
@Suite(.timeLimit(.minutes(1))) struct SiteOperatorTests {
    private let archive = SmallArchive()
    private let threads = ReadingThreads(count: 1)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func siteOperator(
        catalog: CatalogReference = .own, _ changes: @escaping @Sendable () throws -> SiteChanges
    ) -> SiteOperator {
        let settings = SiteSettings(
            feeds: FeedAccess(machine: "here", isInsecure: true) { throw Failure("no key") },
            collectors: { [] },
            archive: { _ in nil }, changes: { _, _, _ in try changes() })
        return SiteOperator(
            settings,
            site: ViewerSite(
                archive: ArchiveReference(directory: archive.layout.root), catalog: catalog,
                logger: logger, threads: threads),
            commands: CollectorCommands(logger: logger) { _ in [] })
    }

    private func answer(_ site: SiteOperator, of session: String) async -> String {
        do {
            try await site.change(SessionEdit(isProtected: true), of: [session])
            return "done"
        } catch let problem as Problem {
            return problem.text
        } catch {
            return "\(error)"
        }
    }

    @Test func `files of the server are not named to the page`() async throws {
        let site = siteOperator { throw Failure("--site-ca-file: cannot read /etc/secret.pem") }
        let said = await answer(site, of: "evening")
        #expect(said == "the site's archives cannot be asked now; the viewer's log says why")
        try await threads.stop()
    }

    @Test func `lists are read again after a change, also after one that failed`() async throws {
        let server = try CountingServer()
        let catalog = CatalogReference(server: server) { SQLiteCatalogLocation($0) }
        let site = siteOperator(catalog: catalog) { throw Failure("no archive") }
        _ = await answer(site, of: "evening")
        #expect(server.forgotten.load(ordering: .relaxed) == 1)
        try await threads.stop()
    }

    @Test func `a hanging change blocks no other session`() async throws {
        let gate = Semaphore(value: 0)
        let site = siteOperator {
            gate.wait()
            gate.signal()
            throw Failure("over")
        }
        await withTaskGroup(of: String.self) { group in
            for _ in 0...CollectorCommands.maximumOfSubject {
                group.addTask { await answer(site, of: "evening") }
            }
            let first = await group.next() ?? ""
            #expect(first.contains("session evening have not been answered yet"))
            gate.signal()
            for await said in group { #expect(said.contains("cannot be asked now")) }
        }
        #expect(await answer(site, of: "evening").contains("cannot be asked now"))
        try await threads.stop()
    }
}
