/// A writer of Prometheus' text exposition format, version 0.0.4.
///
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>
package struct MetricText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package enum Kind: String {
        case counter, gauge, histogram
    }

    /// Labels of a metric's value. Names are ours; values are untrusted.
    package typealias Labels = [(name: String, value: String)]

    package private(set) var text = ""

    package init() {}

    /// Begins a metric; its values follow.
    package mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) "
        append(help, escapingQuotes: false)
        text += "\n# TYPE \(name) \(kind.rawValue)\n"
    }

    package mutating func add(_ name: String, _ labels: Labels, _ value: UInt64) {
        add(name, labels, written: "\(value)")
    }

    package mutating func add(_ name: String, _ labels: Labels, _ value: Double) {
        add(name, labels, written: Self.written(value))
    }

    package mutating func add(_ name: String, _ value: UInt64) { add(name, [], value) }

    package mutating func add(_ name: String, _ value: Double) { add(name, [], value) }

    /// A metric with one value.
    package mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: UInt64) {
        begin(name, kind, help)
        add(name, value)
    }

    /// A metric with one value, or none.
    package mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
        begin(name, kind, help)
        if let value { add(name, value) }
    }

    package mutating func histogram(_ name: String, _ help: String, _ histogram: LatencyHistogram) {
        begin(name, .histogram, help)
        var below: UInt64 = 0
        for (bound, count) in zip(histogram.bounds, histogram.counts) {
            below += count
            add("\(name)_bucket", [("le", Self.written(bound))], below)
        }
        add("\(name)_bucket", [("le", "+Inf")], histogram.count)
        add("\(name)_sum", histogram.sumSeconds)
        add("\(name)_count", histogram.count)
    }

    private mutating func add(_ name: String, _ labels: Labels, written value: String) {
        text += name
        for (index, label) in labels.enumerated() {
            text += index == 0 ? "{" : ","
            text += label.name
            text += "=\""
            append(label.value, escapingQuotes: true)
            text += "\""
        }
        if !labels.isEmpty { text += "}" }
        text += " "
        text += value
        text += "\n"
    }

    private mutating func append(_ value: String, escapingQuotes: Bool) {
        guard value.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || $0 == 0x22 }) else {
            text += value
            return
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\"" where escapingQuotes: text += "\\\""
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    /// In the syntax of Go's `ParseFloat`.
    private static func written(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // Integers without ".0", like other exporters: "le" is compared as text.
        if value == value.rounded(), abs(value) < 1e15 { return "\(Int64(value))" }
        return "\(value)"
    }
}
