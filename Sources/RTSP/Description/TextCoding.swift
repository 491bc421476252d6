/// Bytes written as text in a session description.
enum TextCoding {
    /// Base64 (RFC 4648 §4), with or without its padding; nil when it is none.
    static func base64(_ text: some StringProtocol) -> [UInt8]? {
        var result: [UInt8] = []
        var value: UInt32 = 0
        var bits = 0
        var hasEnded = false
        for byte in text.utf8 {
            let digit: UInt32
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = UInt32(byte) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = UInt32(byte) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt32(byte) + 4
            case UInt8(ascii: "+"): digit = 62
            case UInt8(ascii: "/"): digit = 63
            case UInt8(ascii: "="):
                hasEnded = true
                continue
            default: return nil
            }
            guard !hasEnded else { return nil }
            value = (value << 6 | digit) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                result.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
            }
        }
        return result
    }

    /// Two digits for each byte; nil when it is none.
    static func hexadecimal(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.map { byte in
            Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
        }
        guard digits.count % 2 == 0, digits.allSatisfy({ $0 != nil }) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)
        }
    }

    /// Two digits for each byte, small letters.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
