import Glibc

/// Instants in key files: UTC, to the second (RFC 3339).
package enum ExpiryTime {
    private static let format = "%Y-%m-%dT%H:%M:%SZ"
    /// "2026-11-20T22:40:00Z" and a terminating zero.
    private static let textBytes = 32

    /// - Parameter seconds: since 1970.
    package static func text(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        var buffer = [CChar](repeating: 0, count: textBytes)
        guard gmtime_r(&time, &parts) != nil,
            strftime(&buffer, buffer.count, format, &parts) > 0
        else { return "\(seconds)" }
        return String(
            decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Seconds since 1970; nil for text in another format.
    package static func seconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == pattern.count else { return nil }
        var numbers: [Int32] = [0]
        for (byte, wanted) in zip(bytes, pattern) {
            if wanted == UInt8(ascii: "0") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                numbers[numbers.count - 1] =
                    numbers[numbers.count - 1] * 10 + Int32(byte - UInt8(ascii: "0"))
            } else {
                guard byte == wanted else { return nil }
                numbers.append(0)
            }
        }
        guard (1...12).contains(numbers[1]), (1...31).contains(numbers[2]), numbers[3] < 24,
            numbers[4] < 60, numbers[5] < 60
        else { return nil }
        var parts = tm()
        parts.tm_year = numbers[0] - 1_900
        parts.tm_mon = numbers[1] - 1
        parts.tm_mday = numbers[2]
        parts.tm_hour = numbers[3]
        parts.tm_min = numbers[4]
        parts.tm_sec = numbers[5]
        return Int64(timegm(&parts))
    }

    /// 0 stands for a digit, any other character for itself.
    private static let pattern = Array("0000-00-00T00:00:00Z".utf8)
}
