import Foundation
import Media
import PostgreSQL
import TestDatabases
import TestRecordings
import Testing

@testable import Archive
@testable import Catalog

/// Collectors that agree on a session in PostgreSQL.
@Suite(
    .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"))
struct SiteSessionTests {
    private struct Site {
        let server: PostgreSQLServer
        let name: String

        init() throws {
            server = try PostgreSQLServer.shared.get()
            name = "site_\(UUID().uuidString.prefix(8).lowercased())"
            try server.execute("CREATE DATABASE \(name)")
        }

        func register() throws -> PostgreSQLSiteRegister {
            PostgreSQLSiteRegister(
                PostgreSQLDatabase(
                    try server.address(database: name), for: .writing, program: "tests",
                    longestPause: .milliseconds(100)))
        }

        func execute(_ statements: String) throws {
            try server.execute(statements, database: name)
        }
    }

    private func identity() throws -> ArchiveIdentity {
        let directory = TemporaryDirectory()
        return try withExtendedLifetime(directory) {
            try ArchiveIdentity.make(ArchiveLayout(root: directory.path))
        }
    }

    private func proposal(_ name: String, secondsAgo: Int64 = 1) -> SiteProposal {
        let zero = SystemClock.monotonic.nowNanoseconds - secondsAgo * 1_000_000_000
        return SiteProposal(
            session: "2026-11-20T22-40-00.000Z-\(name)", collector: name,
            zeroUTCNanoseconds: 1_790_000_000_000_000_000, wallErrorNanoseconds: 5_000_000,
            segmentNanoseconds: 10_000_000_000, zeroMonotonicNanoseconds: zero,
            zeroErrorNanoseconds: 300)
    }

    private func report(_ name: String) -> SiteReport {
        SiteReport(name: name, version: "", machine: "", listen: "", archive: "", release: "local")
    }

    /// As a collector does that records the session of an answer.
    private func joined(_ answer: SiteAgreement, _ own: SiteProposal) throws -> SiteProposal {
        var own = own
        own.session = answer.session.session
        own.zeroUTCNanoseconds = answer.session.zeroUTCNanoseconds
        own.zeroMonotonicNanoseconds = try #require(answer.zeroMonotonicNanoseconds)
        own.zeroErrorNanoseconds = answer.zeroErrorNanoseconds
        return own
    }

    /// The row is not new any more.
    private func age(_ site: Site) throws {
        try site.execute(
            "UPDATE tributary.site_session SET inserted = inserted - interval '1 hour'")
    }

    @Test func `the first row applies to all collectors, and places zero`() throws {
        let site = try Site()
        let register = try site.register()
        #expect(register.isReachable())
        let first = proposal("east")
        let own = try register.agree(first, of: identity())
        #expect(own.isProposed && own.session.number == 1)
        let other = try register.agree(proposal("west", secondsAgo: 0), of: identity())
        #expect(other.session == own.session && !other.isProposed)
        // All are of one machine here: the same clock.
        let zero = try #require(other.zeroMonotonicNanoseconds)
        #expect(
            (zero - first.zeroMonotonicNanoseconds).magnitude <= UInt64(other.zeroErrorNanoseconds))
        // Both readings, and the first one's error of zero.
        #expect(other.zeroErrorNanoseconds >= 300)
        // An answer that was lost is given again, also later.
        try age(site)
        #expect(try register.agree(first, of: identity()).session == own.session)
    }

    @Test func `collectors that begin at once have one session`() async throws {
        let site = try Site()
        _ = try site.register().collectors()
        var sessions: Set<String> = []
        var proposed = 0
        try await withThrowingTaskGroup(of: SiteAgreement.self) { group in
            for index in 0..<8 {
                let register = try site.register()
                let identity = try identity()
                let proposal = proposal("c\(index)")
                group.addTask { try register.agree(proposal, of: identity) }
            }
            for try await answer in group {
                sessions.insert(answer.session.session)
                proposed += answer.isProposed ? 1 : 0
            }
        }
        #expect(sessions.count == 1 && proposed == 1)
    }

    @Test func `a session that no collector records is followed by the next number`() throws {
        let site = try Site()
        let register = try site.register()
        let east = try identity()
        let own = proposal("east")
        #expect(try register.agree(own, of: east).session.number == 1)
        #expect(
            try register.publish(report("east"), [], recording: own, of: east, run: "1").isAgreed)
        try age(site)
        // East's report says that it records it.
        #expect(try register.agree(proposal("west"), of: identity()).session.number == 1)
        // Not for a collector where it was stopped.
        var stopped = proposal("hall")
        stopped.stopped = [own.session]
        let hall = try register.agree(stopped, of: identity())
        #expect(hall.isProposed && hall.session.number == 2)
        // Nor for east itself, when it begins another one before its next report.
        try age(site)
        let again = try register.agree(proposal("east-2"), of: east)
        #expect(again.isProposed && again.session.number == 3)
        let more = try register.agree(proposal("east-3"), of: east)
        #expect(more.isProposed && more.session.number == 4)
    }

    @Test func `a report finds that its row is lacking, or that another one applies`() throws {
        let site = try Site()
        let register = try site.register()
        let (east, west) = (try identity(), try identity())
        let own = proposal("east")
        _ = try register.agree(own, of: east)
        // A standby that lacks the last commits.
        try site.execute("DELETE FROM tributary.site_session")
        #expect(
            try !register.publish(report("east"), [], recording: own, of: east, run: "1").isAgreed)
        // West is first in the meantime; east's session is the second one.
        let other = proposal("west")
        #expect(try register.agree(other, of: west).isProposed)
        #expect(
            try register.publish(report("west"), [], recording: other, of: west, run: "1").isAgreed)
        try age(site)
        let answer = try register.agree(own, of: east)
        #expect(answer.session.session == other.session && !answer.isProposed)
    }

    @Test func `a fresh report of the same server places zero better than an old row`() throws {
        let site = try Site()
        let register = try site.register()
        let east = try identity()
        let first = proposal("east")
        _ = try register.agree(first, of: east)
        // Measured half a day ago.
        try site.execute(
            "UPDATE tributary.site_session SET measured = measured - \(43_200 * 1_000_000_000)")
        let old = try register.agree(proposal("west"), of: identity())
        #expect(old.zeroErrorNanoseconds > 8_000_000_000)
        _ = try register.publish(report("east"), [], recording: first, of: east, run: "1")
        let fresh = try register.agree(proposal("west"), of: identity())
        #expect(fresh.zeroErrorNanoseconds < old.zeroErrorNanoseconds)
        let zero = try #require(fresh.zeroMonotonicNanoseconds)
        #expect(
            (zero - first.zeroMonotonicNanoseconds).magnitude <= UInt64(fresh.zeroErrorNanoseconds))
        // The same by way of a third one, whose error is added.
        let west = try joined(fresh, proposal("west"))
        _ = try register.publish(report("west"), [], recording: west, of: identity(), run: "1")
        #expect(try register.agree(proposal("hall"), of: identity()).session.number == 1)
        try site.execute(
            """
            UPDATE tributary.site_session SET server = 7;
            DELETE FROM tributary.collector
            """)
        #expect(
            try register.agree(proposal("west"), of: identity()).zeroMonotonicNanoseconds == nil)
    }

    @Test func `a row that would lead elsewhere is refused`() throws {
        let site = try Site()
        let register = try site.register()
        _ = try register.agree(proposal("east"), of: identity())
        try site.execute("UPDATE tributary.site_session SET session = '../../etc'")
        let error = try #require(throws: ArchiveError.self) {
            try register.agree(proposal("west"), of: identity())
        }
        #expect(!error.isForServer)
    }
}
