import ArgumentParser
import Glibc

/// The format of log lines.
package enum LogFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Plain text.
    case text
    /// One JSON object per line (RFC 8259), for programs that collect logs.
    case json

    /// As this process's command line and environment have it; a configuration file is read later.
    package static let ofThisProcess: LogFormat = {
        let environment = getenv(OptionEnvironment.variable(of: option))
            .flatMap { LogFormat(rawValue: String(cString: $0)) }
        return chosen(by: CommandArguments.all) ?? environment ?? .text
    }()

    private static let option = "log-format"

    /// The format on a command line; nil without one.
    static func chosen(by arguments: some Sequence<String>) -> LogFormat? {
        let option = "--\(option)"
        var chosen: LogFormat?
        var isNext = false
        for word in arguments.prefix(while: { $0 != "--" }) {
            if isNext { chosen = LogFormat(rawValue: word) ?? chosen }
            isNext = word == option
            if word.hasPrefix("\(option)=") {
                chosen = LogFormat(rawValue: String(word.dropFirst(option.count + 1))) ?? chosen
            }
        }
        return chosen
    }
}
