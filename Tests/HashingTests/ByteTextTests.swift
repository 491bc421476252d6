import Testing

import Hashing

struct `Base64url` {
    @Test func `decodes its own encoding at any length`() {
        for count in 0...70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0 ... .max) }
            let text = ByteText.base64URL(bytes)
            #expect(ByteText.decode(base64URL: text) == bytes, "\(bytes)")
            #expect(text.utf8.count == (count * 4 + 2) / 3)
        }
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"),
    ])
    func `equals the examples of RFC 4648, without padding`(plain: String, encoded: String) {
        #expect(ByteText.base64URL(Array(plain.utf8)) == encoded)
        #expect(ByteText.decode(base64URL: encoded) == Array(plain.utf8))
    }

    @Test func `uses minus and underscore for 62 and 63`() {
        #expect(ByteText.base64URL([0xFB, 0xFF]) == "-_8")
    }

    @Test(arguments: [
        "A", "AAAAA", "Zg==", "Zm8=", "Zm9+", "Zm9/", "Zm 9", "Zm9\n", "\0\0\0\0", "Zmé", "ＡＡＡＡ",
        // Bits after the last byte: another text of the same bytes.
        "Zh", "Zm9", "Zm9vYg", "AB", "AAB",
    ])
    func `decodes only one text for the same bytes`(text: String) {
        if let bytes = ByteText.decode(base64URL: text) {
            #expect(ByteText.base64URL(bytes) == text)
        }
    }

    @Test(arguments: ["A", "AAAAA", "Zg==", "Zm9+", "Zm 9", "\0\0\0\0", "Zmé", "Zh", "AAB"])
    func `refuses incomplete text and other characters`(text: String) {
        #expect(ByteText.decode(base64URL: text) == nil)
    }
}

struct `Base64` {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"),
    ])
    func `equals the examples of RFC 4648, and is decoded without padding`(
        plain: String, encoded: String
    ) {
        #expect(ByteText.base64(Array(plain.utf8)) == encoded)
        #expect(ByteText.decode(base64: encoded) == Array(plain.utf8))
        #expect(ByteText.decode(base64: encoded.prefix { $0 != "=" }) == Array(plain.utf8))
    }

    @Test func `uses plus and slash for 62 and 63`() {
        #expect(ByteText.base64([0xFB, 0xFF]) == "+/8=")
        #expect(ByteText.decode(base64: "+/8=") == [0xFB, 0xFF])
    }

    @Test(arguments: ["A", "Zg=f", "Zm9-", "Zm 9", "é"])
    func `refuses other text`(text: String) {
        #expect(ByteText.decode(base64: text) == nil)
    }
}

struct `Hexadecimal` {
    @Test func `is encoded and decoded`() {
        #expect(ByteText.hexadecimal([0, 0x9A, 0xFF]) == "009aff")
        #expect(ByteText.decode(hexadecimal: "009AfF") == [0, 0x9A, 0xFF])
        for text in ["0", "0g", "é0"] { #expect(ByteText.decode(hexadecimal: text) == nil) }
    }
}
