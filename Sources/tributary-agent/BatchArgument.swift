import AgentCore
import ArgumentParser
import Terminal

/// A batch length as an argument: `auto`, or a duration.
enum BatchArgument: HintedArgument, Hashable, CustomStringConvertible {
    case automatic
    case fixed(TimeSpan)

    private static let automaticWord = "auto"

    init?(argument: String) {
        if argument == Self.automaticWord {
            self = .automatic
            return
        }
        guard let time = TimeSpan(argument: argument) else { return nil }
        self = .fixed(time)
    }

    static var valueHint: String { "auto, or a time such as 0, 100ms or 1s" }

    var description: String {
        switch self {
        case .automatic: Self.automaticWord
        case .fixed(let time): time.description
        }
    }

    var length: BatchLength {
        switch self {
        case .automatic: .automatic
        case .fixed(let time): .fixed(time.duration)
        }
    }
}
