import Glibc

/// Options from the environment: `--start-at` is `TRIBUTARY_START_AT`, in every program.
package enum OptionEnvironment {
    private static let prefix = "TRIBUTARY_"

    /// This process's `TRIBUTARY_…` variables.
    package static func current() -> [String: String] {
        var found: [String: String] = [:]
        var entry = environ
        while let pointer = entry.pointee {
            let text = String(cString: pointer)
            if text.hasPrefix(prefix), let mark = text.firstIndex(of: "=") {
                found[String(text[..<mark])] = String(text[text.index(after: mark)...])
            }
            entry += 1
        }
        return found
    }

    /// The option that a misspelled variable may mean. At most one letter in five may differ: one environment serves all
    /// programs, and other programs' options are not misspellings; neither is a plural.
    static func meant(by variable: String, among options: some Collection<String>) -> String? {
        let variables = options.map { Self.variable(of: $0) }
        guard variable.hasPrefix(prefix), !variables.contains(variable),
            let nearest = nearestWord(
                to: variable, among: variables, within: (variable.count - prefix.count) / 5),
            variable != nearest + "S", nearest != variable + "S"
        else { return nil }
        return nearest
    }

    static func variable(of option: String) -> String {
        prefix + option.uppercased().replacing("-", with: "_")
    }
}
