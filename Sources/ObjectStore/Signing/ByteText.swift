/// Bytes as text: hexadecimal and base64 (RFC 4648 §4).
enum ByteText {
    /// Lower case.
    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// With padding.
    static func base64(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        var rest = Array(bytes)[...]
        while let first = rest.popFirst() {
            let second = rest.popFirst()
            let third = rest.popFirst()
            text.append(alphabet[Int(first >> 2)])
            text.append(alphabet[Int((first & 3) << 4 | (second ?? 0) >> 4)])
            text.append(
                second == nil
                    ? UInt8(ascii: "=")
                    : alphabet[Int(((second ?? 0) & 15) << 2 | (third ?? 0) >> 6)])
            text.append(third.map { alphabet[Int($0 & 63)] } ?? UInt8(ascii: "="))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` for anything but base64 of exactly `count` bytes.
    static func decoded(base64 text: String, count: Int) -> [UInt8]? {
        guard text.utf8.count == (count + 2) / 3 * 4 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var held = 0
        for byte in text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }) {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        return bytes.count == count ? bytes : nil
    }
}
