import Messaging
import Testing

@testable import Trust

struct `A key as text` {
    @Test func `is one alphanumeric word, and is read back`() throws {
        for _ in 0..<50 {
            let key = try SecretKey.generate().publicKey
            #expect(key.text.count == 56)
            #expect(key.text.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber) })
            #expect(try PublicKey(text: key.text) == key)
            #expect(try PublicKey(text: key.text.uppercased()) == key)
            #expect(key.text.hasPrefix(key.shortText))
        }
    }

    @Test func `has a stable encoding`() throws {
        // 32 bytes 0, 1, 2, …: the text form must stay compatible with keys written down earlier.
        let key = try #require(PublicKey((0..<32).map { UInt8($0) }))
        #expect(key.text == "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dyp5xtdx")
    }

    @Test func `is refused if any character is wrong`() throws {
        let text = try SecretKey.generate().publicKey.text
        for index in text.indices {
            var wrong = text
            let other = text[index] == "a" ? "b" : "a"
            wrong.replaceSubrange(index...index, with: other)
            #expect(throws: TrustError.notAPublicKey(wrong)) { try PublicKey(text: wrong) }
        }
        for wrong in ["", String(text.dropLast()), text + "a", "0" + text.dropFirst()] {
            #expect(throws: TrustError.notAPublicKey(wrong)) { try PublicKey(text: wrong) }
        }
    }

    @Test func `is refused as a public key if it is a secret key`() throws {
        let secret = try SecretKey.generate()
        let text = KeyText.encode(secret.withUnsafeBytes { Array($0) }, .secretKey)
        #expect(throws: TrustError.isASecretKey) { try PublicKey(text: text) }
    }
}
