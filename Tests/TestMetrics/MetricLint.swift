/// The findings of `promtool check metrics` in Prometheus' text exposition format: names and units by the rules of
/// <https://prometheus.io/docs/practices/naming/>.
package enum MetricLint {
    /// Units, and the base unit that is to be used instead.
    private static let units = [
        "minutes": "seconds", "hours": "seconds", "days": "seconds", "weeks": "seconds",
        "bits": "bytes", "kelvins": "kelvin", "fahrenheit": "celsius", "rankine": "celsius",
        "inches": "meters", "yards": "meters", "miles": "meters", "calories": "joules",
        "pounds": "grams", "ounces": "grams", "percent": "ratio", "percentage": "ratio",
        "ppm": "ratio", "ppb": "ratio",
    ]
    private static let baseUnits: Set = [
        "amperes", "bytes", "celsius", "grams", "joules", "kelvin", "meters", "metres", "seconds",
        "volts",
    ]
    private static let prefixes = [
        "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega",
        "mebi", "giga", "gibi", "tera", "tebi", "peta", "pebi",
    ]
    private static let abbreviations: Set = [
        "s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d",
    ]
    private static let kinds: Set = ["counter", "gauge", "histogram", "summary"]

    /// One line for each flaw; empty: there is none.
    package static func flaws(in text: String) -> [String] {
        var kinds: [String: String] = [:]
        var helps: [String: String] = [:]
        var flaws: [String] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
            if words.count >= 3, words[0] == "#" {
                let name = String(words[2])
                let rest = words.count > 3 ? String(words[3]) : ""
                switch words[1] {
                case "HELP":
                    if helps.updateValue(rest, forKey: name) != nil {
                        flaws.append("\(name) has two help texts")
                    }
                case "TYPE":
                    if kinds.updateValue(rest, forKey: name) != nil {
                        flaws.append("\(name) has two types")
                    }
                default: break
                }
                continue
            }
            flaws += self.flaws(inSample: line, kinds)
        }
        for (name, kind) in kinds.sorted(by: { $0.key < $1.key }) {
            if helps[name, default: ""].isEmpty { flaws.append("\(name) has no help text") }
            flaws += self.flaws(inName: name, kind)
        }
        return flaws
    }

    private static func flaws(inName name: String, _ kind: String) -> [String] {
        var flaws: [String] = []
        let parts = name.split(separator: "_").map(String.init)
        if (kind == "counter") != name.hasSuffix("_total") {
            flaws.append("\(name) is a \(kind): only counters, and all of them, end with _total")
        }
        for suffix in ["_bucket", "_count", "_sum"] where name.hasSuffix(suffix) {
            flaws.append("\(name): \(suffix) is for histograms' own series")
        }
        if name.hasSuffix("_timestamp_seconds"), kind != "gauge" {
            flaws.append("\(name) is a \(kind): a point in time is a gauge")
        }
        for part in parts {
            if kinds.contains(part) { flaws.append("\(name) names its type") }
            if abbreviations.contains(part) { flaws.append("\(name) abbreviates a unit: \(part)") }
            if let base = units[part] { flaws.append("\(name): use \(base) instead of \(part)") }
            for prefix in prefixes where part.hasPrefix(prefix) {
                let unit = String(part.dropFirst(prefix.count))
                if let base = baseUnits.contains(unit) ? unit : units[unit] {
                    flaws.append("\(name): use \(base) instead of \(part)")
                }
            }
        }
        if !name.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") }) {
            flaws.append("\(name) is not written in snake_case")
        }
        return flaws
    }

    private static func flaws(inSample line: Substring, _ kinds: [String: String]) -> [String] {
        let name = String(line.prefix { $0 != "{" && $0 != " " })
        var flaws: [String] = []
        let series = ["_bucket", "_sum", "_count"].first { suffix in
            name.hasSuffix(suffix) && kinds[String(name.dropLast(suffix.count))] == "histogram"
        }
        guard kinds[String(name.dropLast(series?.count ?? 0))] != nil else {
            return ["\(name) has no type"]
        }
        if line.contains("le=\""), series != "_bucket" {
            flaws.append("\(name): the label le is for histograms")
        }
        if line.contains("quantile=\"") { flaws.append("\(name): quantile is for summaries") }
        return flaws
    }
}
