import Foundation
import Hashing
import TestAccounts
import Testing

@testable import Accounts

struct `A password's hash` {
    private let right = Array(AccessSample.password.utf8)
    private let wrong = Array(AccessSample.otherPassword.utf8)

    private func isRight(_ password: [UInt8], _ hash: PasswordHash?) throws -> Bool {
        try PasswordHash.verify(password, against: hash, otherwise: .least)
    }

    @Test func `matches its password, also after parsing`() throws {
        let hash = try PasswordHash(of: AccessSample.password, cost: .least)
        #expect(try isRight(right, hash))
        #expect(try !isRight(wrong, hash))
        #expect(try !isRight(right + [0], hash))
        let read = try #require(PasswordHash(text: hash.text))
        #expect(read == hash)
        #expect(try isRight(right, read))
        #expect(hash.text.hasPrefix("scrypt$10$1$1$"))
    }

    @Test(arguments: [
        AccessSample.secret,
        "scrypt$11$8$2$AAECAwQFBgcICQoLDA0ODw$xRgwAGWgthtfMCgeFr9Vxg63NUS8S3x0soHgndrOHwk",
    ])
    func `is scrypt as others compute it`(text: String) throws {
        let hash = try #require(PasswordHash(text: text))
        #expect(try isRight(right, hash))
        #expect(try !isRight(wrong, hash))
        #expect(hash.text == text)
    }

    @Test func `has a random salt, and the standard cost`() throws {
        let one = try PasswordHash(of: AccessSample.password, cost: .least)
        let other = try PasswordHash(of: AccessSample.password, cost: .least)
        #expect(one != other)
        #expect(PasswordHash.Cost.standard.memoryBytes == 32 << 20)
        #expect(try PasswordHash(of: AccessSample.password).text.hasPrefix("scrypt$15$8$3$"))
    }

    @Test func `requires 12 characters, and allows 1,024 bytes`() throws {
        #expect(throws: AccessError.passwordTooShort(minimumCharacters: 12)) {
            try PasswordHash(of: "elevenchars", cost: .least)
        }
        // Characters, not bytes.
        #expect(throws: AccessError.passwordTooShort(minimumCharacters: 12)) {
            try PasswordHash(of: "ёёёёёё", cost: .least)
        }
        #expect(throws: AccessError.passwordTooLong(maximumBytes: 1_024)) {
            try PasswordHash(of: String(repeating: "x", count: 1_025), cost: .least)
        }
        let longest = String(repeating: "x", count: 1_024)
        #expect(try isRight(Array(longest.utf8), PasswordHash(of: longest, cost: .least)))
    }

    @Test func `of an unknown account never matches`() throws {
        #expect(try !isRight(right, nil))
        #expect(try !isRight([UInt8](repeating: 0, count: 32), nil))
    }

    @Test func `of an unknown account takes as long as one that exists`() throws {
        let cost = try #require(PasswordHash.Cost(log2Rounds: 12, blockSize: 8, parallelism: 2))
        let hash = try PasswordHash(of: AccessSample.password, cost: cost)
        func threadTime() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        }
        func processorTime(_ hash: PasswordHash?) throws -> Double {
            var fastest = Double.infinity
            for _ in 0..<5 {
                let start = threadTime()
                #expect(try !PasswordHash.verify(wrong, against: hash, otherwise: cost))
                fastest = min(fastest, threadTime() - start)
            }
            return fastest
        }
        let (known, unknown) = (try processorTime(hash), try processorTime(nil))
        #expect(unknown > known / 4 && known > unknown / 4, "\(known), \(unknown)")
    }

    @Test func `is not computed for lengths that no password has`() throws {
        let hash = try #require(PasswordHash(text: AccessSample.secret))
        for count in [0, 1_025, 1 << 20] {
            let password = [UInt8](repeating: 0x61, count: count)
            #expect(!PasswordHash.isVerifiable(password))
            #expect(try !isRight(password, hash))
            #expect(try !isRight(password, nil))
        }
    }

    @Test func `needs at most 256 MiB of memory`() {
        var count = 0
        for (n, r, p) in [(9, 8, 1), (18, 8, 1), (15, 0, 1), (15, 17, 1), (15, 8, 0), (15, 8, 17)] {
            #expect(PasswordHash.Cost(log2Rounds: n, blockSize: r, parallelism: p) == nil)
        }
        // RFC 7914: with r = 1, N is less than 2^16.
        #expect(PasswordHash.Cost(log2Rounds: 16, blockSize: 1, parallelism: 1) == nil)
        for n in 10...17 {
            for r in 1...16 {
                for p in 1...16 {
                    guard let cost = PasswordHash.Cost(log2Rounds: n, blockSize: r, parallelism: p)
                    else { continue }
                    count += 1
                    #expect(cost.memoryBytes <= 256 << 20)
                }
            }
        }
        #expect(count == 8 * 16 * 16 - 2 * 16)
    }

    @Test(arguments: [(10, 1, 1), (10, 16, 1), (10, 16, 2), (15, 1, 1), (11, 3, 16), (12, 8, 1)])
    func `can be computed at the limits`(n: Int, r: Int, p: Int) throws {
        let cost = try #require(PasswordHash.Cost(log2Rounds: n, blockSize: r, parallelism: p))
        #expect(try isRight(right, PasswordHash(of: AccessSample.password, cost: cost)))
    }

    @Test(arguments: [
        "", "$", "$$$$$", "$$$$$$", "scrypt", "scrypt$15$8$3", "bcrypt$10$1$1$SALT$HASH",
        "scrypt$10$1$1$SALT", "scrypt$10$1$1$SALT$HASH$", "scrypt$010$1$1$SALT$HASH",
        "scrypt$+10$1$1$SALT$HASH", "scrypt$-10$1$1$SALT$HASH", "scrypt$1e1$1$1$SALT$HASH",
        "scrypt$99999999999999999999999$1$1$SALT$HASH", "scrypt$18$8$1$SALT$HASH",
        "scrypt$10$9223372036854775807$1$SALT$HASH", "scrypt$10$1$17$SALT$HASH",
        "scrypt$10$1$1$SALT=$HASH", "scrypt$10$1$1$SAL$HASH", "scrypt$10$1$1$$HASH",
        "scrypt$10$1$1$SALT$", "scrypt$10$1$1$HASH$SALT", "scrypt$10$1$1$SALT$HASH\0",
        "scrypt$10$1$1$\0$HASH", " scrypt$10$1$1$SALT$HASH", "SCRYPT$10$1$1$SALT$HASH",
    ])
    func `is not parsed from other text`(pattern: String) {
        let salt = ByteText.base64URL([UInt8](repeating: 1, count: 16))
        let hash = ByteText.base64URL([UInt8](repeating: 2, count: 32))
        let text = pattern.replacing("SALT", with: salt).replacing("HASH", with: hash)
        #expect(PasswordHash(text: text) == nil)
    }
}

private let notTokens: [String] = [
    "", "A", String(repeating: "A", count: 42), String(repeating: "A", count: 44),
    "\(String(repeating: "A", count: 42))B", "\(String(repeating: "A", count: 42))\0",
    String(repeating: "=", count: 43), String(repeating: "A", count: 65_536),
]

struct `A script's token` {
    @Test func `is random, and identified by its digest`() throws {
        let (one, other) = (AccessToken.random(), AccessToken.random())
        #expect(one.text != other.text)
        #expect(one.text.utf8.count == 43)
        #expect(try #require(AccessToken(text: one.text)).digest == one.digest)
        #expect(TokenDigest(text: one.digest.text) == one.digest)
        #expect(one.digest != other.digest)
        #expect(one.digest.text != one.text)
    }

    @Test func `has the SHA-256 digest that other programs compute`() throws {
        // printf %064d 0 | xxd -r -p | sha256sum
        let zeros = try #require(AccessToken(text: String(repeating: "A", count: 43)))
        let digest = try #require(
            TokenDigest(text: "Zmh6rfhivXdsj8GLjp-OIAiXFIVu4jOzkCpZHQ1fKSU"))
        #expect(zeros.digest == digest)
    }

    @Test(arguments: notTokens)
    func `is not parsed from other text`(text: String) {
        #expect(AccessToken(text: text) == nil)
        #expect(TokenDigest(text: text) == nil)
    }
}
