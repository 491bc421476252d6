import Hashing
import TestAccounts
import Testing

@testable import Accounts

struct `A log-in's cookie` {
    private let key = AccessSample.key
    private let now = AccessSample.now
    private let life = LogInSession.lifeSeconds

    private func read(_ text: String, at seconds: Int64 = 0) -> LogInSession? {
        LogInSession(text: text, key: key, now: now + seconds)
    }

    /// A value with a right signature.
    private func signed(_ payload: [UInt8]) -> String {
        let code = key.code(of: payload, for: .session)
        return "\(ByteText.base64URL(payload)).\(ByteText.base64URL(code))"
    }

    private func payload(
        version: UInt8 = 1, issuedAt: Int64, expires: Int64, name: String = "anna"
    ) -> [UInt8] {
        let times = [issuedAt, expires].flatMap { time in
            (0..<8).reversed().map { UInt8(truncatingIfNeeded: time >> (8 * $0)) }
        }
        return [version] + times + [UInt8](repeating: 7, count: 32) + Array(name.utf8)
    }

    @Test func `identifies the account`() throws {
        let account = try AccessSample.account()
        let session = LogInSession(of: account, key: key, now: now)
        let found = self.read(session.text(key: key))
        let read = try #require(found)
        #expect(read == session)
        #expect(read.name == "anna")
        #expect(read.isOf(account, key: key))
        #expect(LogInSession(of: account, key: key, now: now).nonce != session.nonce)
        #expect(session.text(key: key).utf8.count < 160)
    }

    @Test func `can have the longest name`() throws {
        let account = try AccessSample.account(String(repeating: "a", count: 64))
        let session = LogInSession(of: account, key: key, now: now)
        #expect(read(session.text(key: key)) == session)
    }

    @Test func `is valid for twelve hours`() throws {
        let text = LogInSession(of: try AccessSample.account(), key: key, now: now).text(key: key)
        #expect(read(text, at: life - 1) != nil)
        #expect(read(text, at: life) == nil)
        #expect(read(text, at: 10 * life) == nil)
    }

    @Test func `from the future is refused, but for a clock that was set back a little`() throws {
        let text = LogInSession(of: try AccessSample.account(), key: key, now: now).text(key: key)
        #expect(read(text, at: -60) != nil)
        #expect(read(text, at: -61) == nil)
        #expect(read(text, at: -now) == nil)
        #expect(read(text, at: -now - 1) == nil)
    }

    @Test func `is renewed after half of its time, as the same log-in`() throws {
        let account = try AccessSample.account()
        let session = LogInSession(of: account, key: key, now: now)
        #expect(session.renewed(now: now) == nil)
        #expect(session.renewed(now: now + life / 2 - 1) == nil)
        let renewed = try #require(session.renewed(now: now + life / 2))
        #expect(renewed.nonce == session.nonce)
        #expect(renewed.expires == now + life / 2 + life)
        #expect(renewed.isOf(account, key: key))
        #expect(read(renewed.text(key: key), at: life) == renewed)
    }

    @Test func `ends when the account changes`() throws {
        let account = try AccessSample.account()
        let session = LogInSession(of: account, key: key, now: now)
        let other = try PasswordHash(of: AccessSample.otherPassword, cost: .least).text
        #expect(try !session.isOf(AccessSample.account(secret: other), key: key))
        #expect(try !session.isOf(AccessSample.account(role: .operator), key: key))
        #expect(try !session.isOf(AccessSample.account(sources: .named(["door"])), key: key))
        #expect(try !session.isOf(AccessSample.account("ben"), key: key))
        #expect(!session.isOf(account, key: AccessSample.otherKey))
    }

    @Test func `does not contain the account's secret`() throws {
        let text = LogInSession(of: try AccessSample.account(), key: key, now: now).text(key: key)
        let payload = try #require(text.split(separator: ".").first)
        let bytes = try #require(ByteText.decode(base64URL: String(payload)))
        let secret = try #require(AccessSample.secret.split(separator: "$").last)
        #expect(!text.contains(secret))
        #expect(!String(decoding: bytes, as: UTF8.self).contains(secret))
    }

    @Test func `that was changed anywhere is refused`() throws {
        let text = LogInSession(of: try AccessSample.account(), key: key, now: now).text(key: key)
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            for replacement in [UInt8(ascii: "A"), UInt8(ascii: "_"), UInt8(ascii: "."), 0] {
                var changed = bytes
                changed[index] = replacement
                guard changed != bytes else { continue }
                #expect(read(String(decoding: changed, as: UTF8.self)) == nil, "\(index)")
            }
            #expect(read(String(decoding: bytes[..<index], as: UTF8.self)) == nil, "\(index)")
            #expect(read(String(decoding: bytes[index...].dropFirst(), as: UTF8.self)) == nil)
        }
        #expect(read(text) != nil)
        for added in ["=", ".", ".A", "A", " ", "\0", "\n"] {
            #expect(read(text + added) == nil)
            #expect(read(added + text) == nil)
        }
    }

    @Test func `needs a signature for this purpose, by this key`() throws {
        let session = LogInSession(of: try AccessSample.account(), key: key, now: now)
        #expect(read(session.text(key: AccessSample.otherKey)) == nil)
        let payload = payload(issuedAt: now, expires: now + life)
        #expect(read(signed(payload)) != nil)
        for purpose: AccessKey.Purpose in [.link, .account, .decoy] {
            let code = key.code(of: payload, for: purpose)
            #expect(read("\(ByteText.base64URL(payload)).\(ByteText.base64URL(code))") == nil)
        }
    }

    @Test func `with a signature is still checked`() {
        #expect(read(signed([])) == nil)
        #expect(read(signed([1])) == nil)
        #expect(read(signed(payload(version: 2, issuedAt: now, expires: now + life))) == nil)
        #expect(read(signed(payload(issuedAt: now, expires: now + life, name: ""))) == nil)
        #expect(read(signed(payload(issuedAt: now, expires: now + life, name: "a:b"))) == nil)
        #expect(read(signed(payload(issuedAt: now, expires: now + life, name: "a\0"))) == nil)
        // A longer life than any that is given, and numbers whose sums do not fit.
        #expect(read(signed(payload(issuedAt: now, expires: now + life + 1))) == nil)
        #expect(read(signed(payload(issuedAt: now, expires: now))) == nil)
        for number in [Int64.min, -1, 0, Int64.max - 1, Int64.max] {
            #expect(read(signed(payload(issuedAt: number, expires: now + life))) == nil)
            #expect(read(signed(payload(issuedAt: now, expires: number))) == nil)
            #expect(read(signed(payload(issuedAt: number, expires: number))) == nil)
        }
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b", "AAAA.AAAA", "\0", "\0.\0", ".AAAA", "AAAA.",
        String(repeating: "A", count: 65_536), String(repeating: ".", count: 65_536),
    ])
    func `is not read from anything else`(text: String) {
        #expect(read(text) == nil)
    }
}

/// Headers without the cookie that is meant.
private let headersWithout: [String] = [
    "", ";", "=", "tributary", "tributary a", "xtributary=a", "Tributary=a", "tributary =a",
    "__Host-tributary=a", "x=tributary=a", "\0tributary=a",
    // Another site has set one of them.
    "tributary=a; tributary=b", "tributary=; tributary=b",
    String(repeating: ";", count: 65_536), String(repeating: "x=1; ", count: 13_000),
    "tributary=a; x=\(String(repeating: "x", count: 65_536))",
]

struct `The header of a cookie` {
    private let plain = SessionCookie(isSecure: false)
    private let secure = SessionCookie(isSecure: true)

    @Test func `keeps it from scripts, other sites and other hosts`() throws {
        let session = LogInSession(
            of: try AccessSample.account(), key: AccessSample.key, now: AccessSample.now)
        let text = session.text(key: AccessSample.key)
        let attributes = "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
        #expect(
            plain.setting(session, key: AccessSample.key, now: AccessSample.now)
                == "tributary=\(text)\(attributes)")
        #expect(
            secure.setting(session, key: AccessSample.key, now: AccessSample.now)
                == "__Host-tributary=\(text)\(attributes); Secure")
        let later = secure.setting(session, key: AccessSample.key, now: AccessSample.now + 3_200)
        #expect(later.contains("; Max-Age=40000;"))
    }

    @Test func `clears the cookie`() {
        #expect(plain.clearing == "tributary=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
        #expect(
            secure.clearing
                == "__Host-tributary=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure")
    }

    @Test(arguments: [
        ("tributary=a", "a"), ("x=1; tributary=a; y=2", "a"), ("x=1;tributary=a;y=2", "a"),
        (";;; ;tributary=a;;", "a"), ("tributary=a ", "a"), ("tributary=", ""),
        ("tributary=a=b", "a=b"), ("tributary=a; tributary=a", "a"), ("x; tributary=a", "a"),
        ("__Host-tributary=b; tributary=a", "a"),
    ])
    func `is found among other cookies`(header: String, value: String) {
        #expect(plain.value(in: header) == value)
    }

    @Test(arguments: headersWithout)
    func `has no value if the cookie is absent or ambiguous`(header: String) {
        #expect(plain.value(in: header) == nil)
    }

    @Test func `has another name over TLS`() {
        #expect(secure.value(in: "tributary=b; __Host-tributary=a") == "a")
        #expect(secure.value(in: "tributary=b") == nil)
    }
}

struct `Revoked log-ins` {
    private let now = AccessSample.now

    private func session(_ name: String, at seconds: Int64 = 0) throws -> LogInSession {
        LogInSession(
            of: try AccessSample.account(name), key: AccessSample.key, now: now + seconds)
    }

    @Test func `end with all their cookies, and no others`() throws {
        var revoked = RevokedSessions()
        let first = try session("anna")
        let renewed = try #require(first.renewed(now: now + 30_000))
        let other = try session("anna")
        revoked.revoke(first, now: now + 31_000)
        #expect(revoked.contains(first))
        #expect(revoked.contains(renewed))
        #expect(!revoked.contains(other))
    }

    @Test func `are forgotten when all their cookies have expired`() throws {
        var revoked = RevokedSessions(capacity: 3)
        let life = LogInSession.lifeSeconds
        for _ in 0..<3 { revoked.revoke(try session("anna"), now: now) }
        revoked.revoke(try session("ben"), now: now + life)
        #expect(revoked.count == 1)
        #expect(try !revoked.contains(session("anna", at: life)))
    }

    @Test func `above the capacity, end all log-ins of the account with most of them`() throws {
        var revoked = RevokedSessions(capacity: 10)
        let (ended, kept) = (try session("ben"), try session("ben"))
        revoked.revoke(ended, now: now)
        let active = try session("mallory")
        let first = try session("mallory")
        revoked.revoke(first, now: now)
        for _ in 0..<100 { revoked.revoke(try session("mallory"), now: now + 5) }
        #expect(revoked.count <= 10)
        // Ended log-ins stay ended, Ben's continue, and only Mallory has to log in again.
        #expect(revoked.contains(ended))
        #expect(!revoked.contains(kept))
        #expect(revoked.contains(first))
        #expect(revoked.contains(active))
        #expect(try !revoked.contains(session("mallory", at: 6)))
    }
}
