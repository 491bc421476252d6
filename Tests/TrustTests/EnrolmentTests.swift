import Foundation
import Messaging
import Testing
import Wire

@testable import Trust

struct `An enrolment` {
    private static let now: Int64 = 1_795_000_000
    private let place = KeyPlace()
    private var directory: KeyDirectory { place.directory }
    private var now: Int64 { Self.now }

    private func key() throws -> PublicKey { try SecretKey.generate().publicKey }

    private func enrol(_ name: String = "stage", sources: String? = nil) throws -> PublicKey {
        try directory.enrol(
            name: name, sources: sources.map(Authorization.patterns), expires: now + 60
        ).token.publicKey
    }

    private func reason(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing is wrong"
        } catch {
            return "\(error)"
        }
    }

    @Test func `replaces the one-time key by the box's own key`() throws {
        let (token, own) = (try enrol(sources: "stage, door-*"), try key())
        let before = try directory.agents()
        guard case .enrolling(let waiting) = before.register.standing(of: token, now: now) else {
            Issue.record("the one-time key is not known")
            return
        }
        #expect(before.register.authorizedCount == 0)
        #expect(waiting.right.isForEnrolment && !waiting.right.covers("stage"))
        let done = try directory.completeEnrolment(token: token, key: own, now: now)
        #expect(done.key == own && done.expires == nil)
        #expect(done.sources.map(\.description) == ["stage", "door-*"])
        let after = try directory.agents()
        #expect(after.authorizations == [done] && after.flaws.isEmpty)
        #expect(after.register.standing(of: token, now: now) == .unknown)
        #expect(after.register.standing(of: own, now: now) == .authorized(done))
        #expect(done.right.covers("stage"))
    }

    @Test func `works once, and can be repeated by the same box only`() throws {
        let (token, own, other) = (try enrol(), try key(), try key())
        let done = try directory.completeEnrolment(token: token, key: own, now: now)
        #expect(
            reason { _ = try directory.completeEnrolment(token: token, key: other, now: now) }
                .contains("has already been used"))
        #expect(try directory.completeEnrolment(token: own, key: own, now: now) == done)
        #expect(
            reason { _ = try directory.completeEnrolment(token: own, key: other, now: now) }
                .contains("stage is already enrolled"))
        #expect(try directory.agents().authorizations == [done])
    }

    @Test func `ends by expiry, by revocation, and by a newer line for the same name`() throws {
        let (first, own) = (try enrol(), try key())
        let register = try directory.agents().register
        #expect(register.standing(of: first, now: now + 60) == .expired(name: "stage"))
        #expect(
            reason { _ = try directory.completeEnrolment(token: first, key: own, now: now + 60) }
                .contains("the line for stage has expired"))
        let second = try enrol()
        #expect(
            reason { _ = try directory.completeEnrolment(token: first, key: own, now: now) }
                .contains("has already been used"))
        try directory.revoke("stage")
        #expect(
            reason { _ = try directory.completeEnrolment(token: second, key: own, now: now) }
                .contains("stage is revoked"))
        // Lifting the revocation does not authorise the box's own key.
        try directory.authorize(name: "stage", key: nil, sources: nil)
        #expect(try directory.agents().register.authorizedCount == 0)
        #expect(try directory.completeEnrolment(token: second, key: own, now: now).key == own)
    }

    @Test func `cannot take a name that another box has, nor a key that has a name`() throws {
        let (one, other) = (try key(), try key())
        try directory.authorize(name: "stage", key: one, sources: nil)
        let path = directory.agentPath("stage")
        #expect(throws: TrustError.nameTaken(name: "stage", path: path)) {
            _ = try directory.enrol(name: "stage", sources: nil, expires: now + 60)
        }
        let token = try enrol("door")
        #expect(
            reason { _ = try directory.completeEnrolment(token: token, key: one, now: now) }
                .contains("already authorised as stage"))
        #expect(try directory.completeEnrolment(token: token, key: other, now: now).name == "door")
        // A reinstalled box: its old key is revoked first, and its rights remain.
        try directory.authorize(name: "door", key: nil, sources: Authorization.patterns("door-*"))
        try directory.revoke("door")
        let again = try enrol("door")
        let done = try directory.completeEnrolment(token: again, key: try key(), now: now)
        #expect(done.sources.map(\.description) == ["door-*"] && !done.isRevoked)
    }

    @Test func `also gives its rights if the box's key is authorised by hand`() throws {
        _ = try enrol(sources: "stage, door-*")
        let done = try directory.authorize(name: "stage", key: try key(), sources: nil)
        #expect(done.sources.map(\.description) == ["stage", "door-*"] && done.expires == nil)
    }

    @Test func `stores no secret in the server's files`() throws {
        let (_, token) = try directory.enrol(name: "stage", sources: nil, expires: now + 60)
        let line = EnrolmentLine(
            endpoint: "tcp://server:5550", collectorKey: try key(), token: token
        ).text()
        let secret = try #require(line.split(separator: "/").last)
        let text = try place.text(directory.agentPath("stage"))
        #expect(!text.contains(secret))
        #expect(text.contains("enrols-until = \(ExpiryTime.text(now + 60))\n"))
        let written = try #require(try directory.agents().authorizations.first)
        #expect(written.expires == now + 60)
        try place.write(
            text.replacing("enrols-until = 2", with: "enrols-until = x"),
            to: directory.agentPath("stage"))
        #expect(
            try directory.agents().flaws.first?.description.contains("write the time as") == true)
    }

    @Test(arguments: [
        "tcp://server:5550", "tcp://[2001:db8::1]:5550", "tcp://10.0.0.7:61000",
        "ipc:///run/a/b.sock",
    ])
    func `has a line that is read back unchanged`(endpoint: String) throws {
        let line = EnrolmentLine(
            endpoint: endpoint, collectorKey: try key(), token: try SecretKey.generate())
        let read = try EnrolmentLine("  \(line.text())\n")
        #expect(read == line && read.text() == line.text())
        let text = line.text()
        for wrong in [
            String(text.dropLast()), String(text.dropFirst(3)), text + "a", "",
            text.replacing(endpoint, with: "server"),
            text.split(separator: "/").reversed().joined(separator: "/"),
            String(repeating: "a/", count: 4_000),
        ] {
            #expect(throws: TrustError.notAnEnrolmentLine) { try EnrolmentLine(wrong) }
        }
    }

    @Test(arguments: [
        ("server", "tcp://server:5550"), ("server:1", "tcp://server:1"),
        ("10.0.0.1", "tcp://10.0.0.1:5550"), ("2001:db8::1", "tcp://[2001:db8::1]:5550"),
        ("[2001:db8::1]", "tcp://[2001:db8::1]:5550"), ("[2001:db8::1]:9", "tcp://[2001:db8::1]:9"),
        ("tcp://a:7", "tcp://a:7"), ("ipc:///run/x", "ipc:///run/x"),
    ])
    func `accepts the usual spellings of a server`(text: String, endpoint: String) throws {
        #expect(try EnrolmentLine.endpoint(ofServer: text) == endpoint)
    }

    @Test(arguments: [
        "", "server:", "server:x", "0.0.0.0", "*", "*:5550", "[::]", "tcp://a:*", "http://a:1",
        "a:70000", "a b", "a/b", "it's",
    ])
    func `refuses an invalid server`(text: String) {
        #expect(throws: TrustError.self) { try EnrolmentLine.endpoint(ofServer: text) }
    }
}
