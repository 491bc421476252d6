/// Base64 with the alphabet for URLs and file names, without padding (RFC 4648 §5).
enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
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

    /// Reads exactly what ``encode(_:)`` writes, so that no two texts are the same bytes; nil for anything else. The caller
    /// bounds the length.
    static func decode(_ text: String) -> [UInt8]? {
        let length = text.utf8.count
        guard length % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length * 3 / 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for character in text.utf8 {
            guard let value = value(character) else { return nil }
            bits = (bits << 6) | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        let rest = bits & ((1 << count) - 1)
        return rest == 0 ? bytes : nil
    }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
