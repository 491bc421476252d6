import ArgumentParser

/// A duration in options: `500ms`, `10s`, `10m`, `1h`, `2d`, plain seconds (`13.3`), or clock notation (`1:23.5`,
/// `01:02:03`).
package struct TimeSpan: HintedArgument, Hashable, CustomStringConvertible {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package init?(argument: String) {
        let units: [(String, Int64)] = [
            ("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
            ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000),
        ]
        if argument.contains(":") {
            guard let value = TimelinePoint.clockTime(argument[...]) else { return nil }
            nanoseconds = value
            return
        }
        guard let (number, unit) = splitUnit(argument),
            let factor = unit.isEmpty ? 1_000_000_000 : units.first(where: { $0.0 == unit })?.1,
            let value = scaled(number, by: factor)
        else { return nil }
        nanoseconds = value
    }

    package var seconds: Double { Double(nanoseconds) / 1e9 }
    package var duration: Duration { .nanoseconds(nanoseconds) }

    package var description: String {
        for (unit, size) in [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000)]
            as [(String, Int64)]
        where nanoseconds >= size && nanoseconds % size == 0 {
            return "\(nanoseconds / size)\(unit)"
        }
        return nanoseconds % 1_000_000_000 == 0 ? "0s" : "\(nanoseconds / 1_000_000)ms"
    }

    package static var valueHint: String { "a time such as 500ms, 10s, 5m, 1h or 01:30:00" }
}

/// Bits per second in options: `96k`, `4M`, `2500k`.
package struct Bitrate: HintedArgument, Hashable, CustomStringConvertible {
    package let bitsPerSecond: Int64

    private static let units: [String: Int64] = [
        "": 1, "k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000,
    ]

    package init(bitsPerSecond: Int64) {
        self.bitsPerSecond = bitsPerSecond
    }

    package init?(argument: String) {
        guard let (number, unit) = splitUnit(argument),
            let factor = Self.units[unit],
            let value = scaled(number, by: factor), value > 0
        else { return nil }
        bitsPerSecond = value
    }

    package static var valueHint: String { "bits per second, such as 96k or 2.5M" }

    package var description: String {
        if bitsPerSecond >= 1_000_000 { return "\(decimal(Double(bitsPerSecond) / 1e6)) Mbit/s" }
        return "\(decimal(Double(bitsPerSecond) / 1e3)) kbit/s"
    }
}

/// A byte count in options: `500MB`, `2GB`, `1GiB`.
package struct ByteCount: HintedArgument, Hashable, CustomStringConvertible {
    package let bytes: Int64

    package init(_ bytes: Int64) {
        self.bytes = bytes
    }

    package init?(argument: String) {
        let units: [String: Int64] = [
            "": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
            "TB": 1_000_000_000_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
            "TiB": 1 << 40,
        ]
        guard let (number, unit) = splitUnit(argument), let factor = units[unit],
            let value = scaled(number, by: factor)
        else { return nil }
        bytes = value
    }

    package static var valueHint: String { "a number of bytes such as 500MB, 2GB or 1GiB" }

    package var description: String {
        for (unit, size) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
        where Double(bytes) >= size {
            return "\(decimal(Double(bytes) / size)) \(unit)"
        }
        return "\(bytes) B"
    }
}

/// At most one digit after the point, none when it is zero.
package func decimal(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    guard tenths.magnitude < 1e15 else { return "\(value)" }
    let whole = Int(tenths)
    return whole % 10 == 0 ? "\(whole / 10)" : "\(whole / 10).\(abs(whole % 10))"
}

/// `2.5M` → (`2.5`, `M`).
private func splitUnit(_ text: String) -> (number: Substring, unit: String)? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard !number.isEmpty else { return nil }
    return (number, String(text.dropFirst(number.count)))
}

/// A decimal number times a factor, exactly; nil when it is invalid or too large.
private func scaled(_ number: Substring, by factor: Int64) -> Int64? {
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = Int64(parts[0]) else { return nil }
    var (result, overflow) = whole.multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return result }
    guard parts[1].count <= 9, !parts[1].isEmpty, var fraction = Int64(parts[1]) else { return nil }
    var divisor: Int64 = 1
    for _ in 0..<parts[1].count { divisor *= 10 }
    (fraction, overflow) = fraction.multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    (result, overflow) = result.addingReportingOverflow(fraction / divisor)
    return overflow ? nil : result
}
