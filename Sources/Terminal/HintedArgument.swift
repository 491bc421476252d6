package import ArgumentParser

/// A value of an option that people write in a way of their own: what cannot be read is answered with examples.
package protocol HintedArgument: ExpressibleByArgument, Sendable {
    /// What is written there, with examples: `a time such as 10s or 5m`.
    static var valueHint: String { get }
    /// What is wrong with something that is written well and means nothing, or more than one thing; nil: it is not written well.
    static func fault(in argument: String) -> String?
}

extension HintedArgument {
    package static func fault(in argument: String) -> String? { nil }
}

extension HintedArgument {
    /// What was written, or an error that says what can be.
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
        // The parser names defaults only of what it reads by itself.
        var help = help ?? ""
        let shown = "(default: \(wrappedValue.defaultValueDescription))"
        help.abstract += help.abstract.isEmpty ? shown : " \(shown)"
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .next, help: help,
            completion: completion, transform: Value.read)
    }
}

extension Option where Value: HintedArgument {
    /// An option that must be given.
    package init(
        name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) {
        self.init(
            name: name, parsing: .next, help: help, completion: completion, transform: Value.read)
    }
}

extension Option {
    /// An option that need not be given.
    package init<Wrapped: HintedArgument>(
        name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) where Value == Wrapped? {
        self.init(
            name: name, parsing: .next, help: help, completion: completion,
            transform: Wrapped.read)
    }

    /// An option that may be given several times.
    package init<Element: HintedArgument>(
        wrappedValue: [Element], name: NameSpecification = .long, help: ArgumentHelp? = nil,
        completion: CompletionKind? = nil
    ) where Value == [Element] {
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .singleValue, help: help,
            completion: completion, transform: Element.read)
    }
}
