import Foundation
import Messaging
import Testing
import Wire

@testable import Trust

struct `Keys of a group of collectors` {
    private static let now: Int64 = 1_795_000_000
    private let first = KeyPlace()
    private let second = KeyPlace()

    private func key() throws -> PublicKey { try SecretKey.generate().publicKey }

    /// A server with a box, a viewer, a revoked box and one that has still to enrol.
    private func fill() throws -> PublicKey {
        let own = try first.directory.makeOwnKey().publicKey
        try first.directory.authorize(
            name: "stage", key: try key(), sources: Authorization.patterns("stage, door-*"))
        try first.directory.authorize(
            name: "screen", key: try key(), sources: nil, mayWatch: true)
        try first.directory.authorize(name: "old", key: try key(), sources: nil)
        try first.directory.revoke("old")
        _ = try first.directory.enrol(name: "new", sources: nil, expires: Self.now + 60)
        return own
    }

    private func take(replacing: Bool = false) throws -> KeyDirectory.Imported {
        let text = try first.directory.group().text()
        return try second.directory.take(
            KeyGroup(text, path: "group.keys"), replacing: replacing)
    }

    @Test func `are imported on another server unchanged`() throws {
        let own = try fill()
        let imported = try take()
        #expect(imported.isOwnKeyNew && imported.added == ["new", "old", "screen", "stage"])
        #expect(try second.directory.ownKey()?.publicKey == own)
        #expect(second.mode(second.directory.ownKeyPath) == 0o600)
        #expect(try second.directory.agents() == first.directory.agents())
        let again = try take()
        #expect(!again.isOwnKeyNew && again.added.isEmpty && again.changed.isEmpty)
        #expect(again.unchanged.count == 4 && again.kept.isEmpty)
    }

    @Test func `follow a change at import, and agents that are only here stay`() throws {
        _ = try fill()
        _ = try take()
        try second.directory.authorize(name: "attic", key: try key(), sources: nil)
        try first.directory.revoke("stage")
        let imported = try take()
        #expect(imported.changed == ["stage"] && imported.unchanged == ["new", "old", "screen"])
        let agents = try second.directory.agents().authorizations
        #expect(agents.map(\.name) == ["attic", "new", "old", "screen", "stage"])
        #expect(agents.last?.isRevoked == true)
    }

    @Test func `take back neither a revocation nor a box that has enrolled`() throws {
        _ = try fill()
        _ = try take()
        try second.directory.revoke("stage")
        let token = try #require(
            try second.directory.agents().authorizations.first { $0.name == "new" }
        ).key
        let box = try key()
        _ = try second.directory.completeEnrolment(token: token, key: box, now: Self.now)
        let imported = try take()
        #expect(imported.kept.map(\.name) == ["new", "stage"] && imported.changed.isEmpty)
        let kept = try second.directory.agents().authorizations
        #expect(kept.first { $0.name == "new" }?.key == box)
        #expect(kept.first { $0.name == "stage" }?.isRevoked == true)
        // The other way round, the one-time key becomes the box's own.
        let back = try first.directory.take(second.directory.group(), replacing: false)
        #expect(back.changed == ["new", "stage"])
        #expect(try first.directory.agents() == second.directory.agents())
    }

    @Test func `replace another server's key only with the option`() throws {
        let own = try fill()
        let other = try second.directory.makeOwnKey().publicKey
        #expect(throws: TrustError.otherOwnKey(path: second.directory.ownKeyPath)) { try take() }
        #expect(try second.directory.ownKey()?.publicKey == other)
        #expect(try second.directory.agents().authorizations.isEmpty)
        #expect(try take(replacing: true).isOwnKeyNew)
        #expect(try second.directory.ownKey()?.publicKey == own)
    }

    @Test func `are refused if a part is missing or damaged`() throws {
        _ = try fill()
        let text = String(decoding: try first.directory.group().text(), as: UTF8.self)
        for wrong in [
            "", "# nothing\n", text.replacing("[own.key]", with: "[agents/x.pub]"),
            text.replacing("secret-key = ", with: "secret-key = a"),
            text.replacing("[agents/stage.pub]", with: "[agents/../stage.pub]"),
            text.replacing("[agents/stage.pub]", with: "[agents/old.pub]"),
            text.replacing("[agents/stage.pub]", with: "[other]"), text + "[own.key]\n",
        ] {
            #expect(throws: TrustError.self, "\(wrong.prefix(200))") {
                try KeyGroup(Array(wrong.utf8), path: "group.keys")
            }
        }
        let file = first.directory.path + "/group.keys"
        try first.directory.group().write(to: file)
        #expect(first.mode(file) == 0o600)
        #expect(try KeyGroup.read(file).agents.count == 4)
        chmod(file, 0o644)
        #expect(throws: TrustError.readableByOthers(path: file)) { try KeyGroup.read(file) }
    }

    @Test func `have one enrolment line for all endpoints`() throws {
        let endpoints = try EnrolmentLine.endpoints(ofServers: "a,b:61000,[2001:db8::1]")
        #expect(endpoints == ["tcp://a:5550", "tcp://b:61000", "tcp://[2001:db8::1]:5550"])
        let line = EnrolmentLine(
            endpoints: endpoints, collectorKey: try key(), token: try SecretKey.generate())
        let read = try EnrolmentLine(line.text())
        #expect(read == line && read.endpoints == endpoints)
        #expect(read.endpoint == "tcp://a:5550,tcp://b:61000,tcp://[2001:db8::1]:5550")
        #expect(read.single.map(\.endpoints) == endpoints.map { [$0] })
        for wrong in ["a,a", "a,", ",a", "a,,b", (0..<17).map { "a\($0)" }.joined(separator: ",")] {
            #expect(throws: TrustError.self, "\(wrong)") {
                try EnrolmentLine.endpoints(ofServers: wrong)
            }
        }
    }
}
