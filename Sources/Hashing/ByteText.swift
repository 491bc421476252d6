/// Bytes as text: hexadecimal and base64 (RFC 4648).
package enum ByteText {
    /// Two lower-case digits for each byte.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: nil for anything but two digits for each byte.
    package static func decode(hexadecimal text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap { byte in
            Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
        }
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Base64 (§4), with padding.
    package static func base64(_ bytes: [UInt8]) -> String {
        let text = encode(bytes, standard)
        return text + String(repeating: "=", count: -text.utf8.count & 3)
    }

    /// Base64 (§4), with or without its padding. The caller bounds the length.
    package static func decode(base64 text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard text.utf8.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        return decode(digits, standard)?.bytes
    }

    /// Base64 with the alphabet for URLs and file names (§5), without padding.
    package static func base64URL(_ bytes: [UInt8]) -> String { encode(bytes, url) }

    /// Decodes exactly what ``base64URL(_:)`` writes; nil for any other text, so that no two texts decode to the same bytes. The
    /// caller bounds the length.
    package static func decode(base64URL text: some StringProtocol) -> [UInt8]? {
        decode(text.utf8, url).flatMap { $0.rest == 0 ? $0.bytes : nil }
    }

    private static let standard = alphabet("+/")
    private static let url = alphabet("-_")

    private static func alphabet(_ last: String) -> [UInt8] {
        Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(last)".utf8)
    }

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = (bits << 8) | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int((bits >> count) & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int((bits << (6 - count)) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: the bytes, and the remaining bits after the last byte; nil for other characters or an impossible length.
    private static func decode(
        _ digits: some Collection<UInt8>, _ alphabet: [UInt8]
    ) -> (bytes: [UInt8], rest: UInt32)? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for digit in digits {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            bits = (bits << 6) | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return (bytes, bits & ((1 << count) - 1))
    }
}
