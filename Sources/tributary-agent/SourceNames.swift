import Glibc

/// Names of sources and boxes.
enum SourceNames {
    /// Whether a name can become a directory of the collector's archive.
    static func isValid(_ name: String) -> Bool {
        let isFine = { (byte: UInt8) in
            isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-")
        }
        guard let first = name.utf8.first, name.utf8.count <= 64 else { return false }
        return isAlphanumeric(first) && name.utf8.allSatisfy(isFine)
    }

    /// The machine's host name, as far as it can be a source's name.
    static func ofThisMachine() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "agent" }
        let name = String(
            decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let short = String(name.prefix { $0 != "." }.prefix(64))
        return isValid(short) ? short : "agent"
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
