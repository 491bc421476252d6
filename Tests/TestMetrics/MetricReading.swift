/// Values parsed from Prometheus' text exposition format. The program may be of another version, so unknown metrics are
/// kept by name as well.
package struct MetricReading: Sendable {
    /// A value and its labels.
    package struct Sample: Hashable, Sendable {
        package var labels: [String: String]
        package var value: Double
    }

    /// Enough for a few hundred sources; a larger page is something else.
    package static let maximumBytes = 8 << 20

    private var samples: [String: [Sample]] = [:]

    /// Parses a page, ignoring comments and timestamps.
    package init(_ bytes: [UInt8]) throws(MetricTextError) {
        guard bytes.count <= Self.maximumBytes else {
            throw .tooLarge(limitBytes: Self.maximumBytes)
        }
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            var cursor = LineCursor(line, number: number)
            cursor.skipBlanks()
            guard let first = cursor.peek, first != UInt8(ascii: "#") else { continue }
            let (name, sample) = try cursor.sample()
            samples[name, default: []].append(sample)
        }
    }

    package init(_ text: String) throws(MetricTextError) { try self.init(Array(text.utf8)) }

    /// Names of all metrics that have a value.
    package var names: Set<String> { Set(samples.keys) }

    /// All values of a metric.
    package func all(_ name: String) -> [Sample] { samples[name] ?? [] }

    /// The value of a metric that has no labels.
    package func value(_ name: String) -> Double? {
        samples[name]?.first { $0.labels.isEmpty }?.value
    }
}

/// A parse error of a page.
package enum MetricTextError: Error, Hashable, CustomStringConvertible {
    case tooLarge(limitBytes: Int)
    /// Lines count from 1.
    case malformed(line: Int, String)

    package var description: String {
        switch self {
        case .tooLarge(let limit): "it has more than \(limit >> 20) MiB"
        case .malformed(let line, let problem): "line \(line): \(problem)"
        }
    }
}

/// One line: `name{label="value",…} value [time]`.
private struct LineCursor {
    private var rest: ArraySlice<UInt8>
    private let number: Int

    init(_ line: ArraySlice<UInt8>, number: Int) {
        rest = line
        self.number = number
    }

    var peek: UInt8? { rest.first }

    mutating func skipBlanks() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 0x0D }
    }

    mutating func sample() throws(MetricTextError) -> (String, MetricReading.Sample) {
        let name = try word("a metric's name")
        var labels: [String: String] = [:]
        skipBlanks()
        if take("{") {
            skipBlanks()
            while !take("}") {
                let label = try word("a label's name")
                skipBlanks()
                guard take("=") else { throw .malformed(line: number, "'=' is missing") }
                skipBlanks()
                labels[label] = try quoted()
                skipBlanks()
                guard take(",") || peek == UInt8(ascii: "}") else {
                    throw .malformed(line: number, "'}' is missing")
                }
                skipBlanks()
            }
        }
        skipBlanks()
        let text = rest.prefix { $0 > 0x20 }
        guard let value = Double(String(decoding: text, as: UTF8.self)) else {
            throw .malformed(line: number, "a value is missing")
        }
        return (name, MetricReading.Sample(labels: labels, value: value))
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func word(_ what: String) throws(MetricTextError) -> String {
        let word = rest.prefix {
            ($0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z"))
                || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
                || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ":")
        }
        guard !word.isEmpty else { throw .malformed(line: number, "\(what) is missing") }
        rest = rest.dropFirst(word.count)
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func quoted() throws(MetricTextError) -> String {
        guard take("\"") else { throw .malformed(line: number, "a label's value is missing") }
        var bytes: [UInt8] = []
        while let byte = rest.first {
            rest = rest.dropFirst()
            switch byte {
            case UInt8(ascii: "\""):
                return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.first else { break }
                rest = rest.dropFirst()
                bytes.append(escaped == UInt8(ascii: "n") ? 0x0A : escaped)
            default:
                bytes.append(byte)
            }
        }
        throw .malformed(line: number, "a label's value is not terminated")
    }
}
