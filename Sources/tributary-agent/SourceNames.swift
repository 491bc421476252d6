import Glibc
import Wire

/// Names of sources and boxes.
enum SourceNames {
    /// The machine's host name, reduced to a valid source name.
    static func ofThisMachine() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "agent" }
        let name = String(
            decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let short = String(name.prefix { $0 != "." }.prefix(WireLimits.nameBytes))
        return SourceName.isValid(short) ? short : "agent"
    }
}
