package import ArgumentParser

/// An option value with its own syntax. The error for an invalid value contains examples.
package protocol HintedArgument: ExpressibleByArgument, Sendable {
    /// The syntax with examples: `a time such as 10s or 5m`.
    static var valueHint: String { get }
    /// The error in a value that parses but is impossible or ambiguous; nil: it does not parse.
    static func fault(in argument: String) -> String?
}

extension HintedArgument {
    package static func fault(in argument: String) -> String? { nil }
}

extension HintedArgument {
    /// Parses a value, or throws an error with the syntax.
    @Sendable fileprivate static func read(_ argument: String) throws -> Self {
        guard let value = Self(argument: argument) else {
            throw ValidationError(fault(in: argument) ?? "write \(valueHint)")
        }
        return value
    }
}

extension Option where Value: HintedArgument {
    /// An option with a default.
    package init(
        wrappedValue: Value, name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) {
        // The parser only shows defaults of types that it parses itself.
        var help = help ?? ""
        let shown = "(default: \(wrappedValue.defaultValueDescription))"
        help.abstract += help.abstract.isEmpty ? shown : " \(shown)"
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .next, help: help,
            completion: completion, transform: Value.read)
    }
}

extension Option where Value: HintedArgument {
    /// A mandatory option.
    package init(
        name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) {
        self.init(
            name: name, parsing: .next, help: help, completion: completion, transform: Value.read)
    }
}

extension Option {
    /// An optional option.
    package init<Wrapped: HintedArgument>(
        name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) where Value == Wrapped? {
        self.init(
            name: name, parsing: .next, help: help, completion: completion,
            transform: Wrapped.read)
    }

    /// A repeatable option.
    package init<Element: HintedArgument>(
        wrappedValue: [Element], name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) where Value == [Element] {
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .singleValue, help: help,
            completion: completion, transform: Element.read)
    }
}
