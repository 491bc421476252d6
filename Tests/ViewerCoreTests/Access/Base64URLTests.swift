import Testing

@testable import ViewerCore

struct `Base64url` {
    @Test func `reads what it has written, of every length`() {
        for count in 0...70 {
            let bytes = randomBytes(count)
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes, "\(bytes)")
            #expect(text.utf8.count == (count * 4 + 2) / 3)
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"),
    ])
    func `is that of RFC 4648, without padding`(plain: String, encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test func `has its own last characters`() {
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test(arguments: [
        "A", "AAAAA", "Zg==", "Zm8=", "Zm9+", "Zm9/", "Zm 9", "Zm9\n", "\0\0\0\0", "Zmé", "ＡＡＡＡ",
        // Bits after the last byte: another text of the same bytes.
        "Zh", "Zm9", "Zm9vYg", "AB", "AAB",
    ])
    func `takes one text for the same bytes`(text: String) {
        if let bytes = Base64URL.decode(text) { #expect(Base64URL.encode(bytes) == text) }
    }

    @Test(arguments: ["A", "AAAAA", "Zg==", "Zm9+", "Zm 9", "\0\0\0\0", "Zmé", "Zh", "AAB"])
    func `refuses what is not whole or not its own`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
