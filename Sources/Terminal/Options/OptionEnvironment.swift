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

    /// The variable that gives an option.
    static func variable(of option: String) -> String {
        prefix + option.uppercased().replacing("-", with: "_")
    }
}
