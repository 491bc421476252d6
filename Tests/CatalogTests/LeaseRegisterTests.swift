import Foundation
import PostgreSQL
import TestDatabases
import Testing

@testable import Archive
@testable import Catalog

/// Leases in a real database.
@Suite(
    .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"))
struct LeaseRegisterTests {
    private let server: PostgreSQLServer
    private let name = "lease_\(UUID().uuidString.prefix(8).lowercased())"
    private let register: PostgreSQLLeaseRegister

    init() throws {
        server = try PostgreSQLServer.shared.get()
        try server.execute("CREATE DATABASE \(name)")
        register = PostgreSQLLeaseRegister(
            PostgreSQLDatabase(
                try server.address(database: name), for: .writing, program: "tests",
                longestPause: .milliseconds(100)))
    }

    private func take(_ holder: String) throws -> Lease.Answer {
        try register.take("retention", holder: holder, label: "at \(holder)")
    }

    private func expire() throws {
        try server.execute(
            "UPDATE tributary.lease SET until = clock_timestamp()", database: name)
    }

    private func refusal(_ answer: Lease.Answer) -> String? {
        if case .refused(let holder, let remaining) = answer, remaining > 0,
            remaining <= Lease.termNanoseconds
        {
            holder
        } else {
            nil
        }
    }

    @Test func `one holder has it, renews it with the same token, and releases it`() throws {
        #expect(try take("a") == .granted(token: 1))
        #expect(refusal(try take("b")) == "at a")
        #expect(try take("a") == .granted(token: 1))
        let entry = try #require(try register.entries().first)
        #expect(entry.name == "retention" && entry.holder == "at a" && entry.token == 1)
        #expect((1...30).contains(entry.remainingSeconds))
        // Not by another one, and not with an old token.
        try register.release("retention", holder: "b", token: 1)
        try register.release("retention", holder: "a", token: 0)
        #expect(refusal(try take("b")) == "at a")
        try register.release("retention", holder: "a", token: 1)
        #expect(try register.entries().first?.remainingSeconds == 0)
        #expect(try take("b") == .granted(token: 2))
        #expect(refusal(try take("a")) == "at b")
    }

    @Test func `an expired lease is granted with a new token, also to the same holder`() throws {
        #expect(try take("a") == .granted(token: 1))
        try expire()
        #expect(try take("a") == .granted(token: 2))
        try expire()
        #expect(try take("b") == .granted(token: 3))
        #expect(refusal(try take("a")) == "at b")
    }

    @Test func `a row that ends in centuries is a lease of another holder`() throws {
        #expect(try take("a") == .granted(token: 1))
        try server.execute(
            "UPDATE tributary.lease SET until = '294276-01-01'", database: name)
        #expect(try take("b") == .refused(holder: "at a", remainingNanoseconds: .max))
        let entry = try #require(try register.entries().first)
        #expect(entry.remainingSeconds > 1e12)
    }

    @Test func `one of several concurrent requests is granted`() async throws {
        let register = register
        let answers = await withTaskGroup(of: Lease.Answer?.self) { group in
            for number in 0..<16 {
                group.addTask {
                    try? register.take("night", holder: "\(number)", label: "\(number)")
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0 == .granted(token: 1) } == 1)
        #expect(answers.count { $0 == nil } == 0)
    }

    @Test func `tables of a newer program are used if they allow this version`() throws {
        #expect(try take("a") == .granted(token: 1))
        func database() throws -> PostgreSQLLeaseRegister {
            PostgreSQLLeaseRegister(
                PostgreSQLDatabase(
                    try server.address(database: name), for: .reading, program: "tests",
                    longestPause: .milliseconds(100)))
        }
        let present = PostgreSQLSchema.version
        try server.execute(
            """
            CREATE TABLE tributary.novelty (name text);
            INSERT INTO tributary.schema_version (version, oldest) VALUES (\(present + 1), \(present))
            """, database: name)
        #expect(try database().entries().count == 1)
        try server.execute(
            "INSERT INTO tributary.schema_version (version, oldest) VALUES (\(present + 2), \(present + 1))",
            database: name)
        #expect(throws: ArchiveError.self) { try database().entries() }
        // And those of programs without such a statement.
        try server.execute(
            "UPDATE tributary.schema_version SET oldest = NULL WHERE version > \(present)",
            database: name)
        #expect(throws: ArchiveError.self) { try database().entries() }
    }
}
