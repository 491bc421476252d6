import Media

/// The sources that the holder of a key may write, determined by the key's authorisation, not by the agent.
package struct WritingRight: Hashable, Sendable {
    /// The name of the key's holder on the server.
    package var name: String
    package var sources: [SourcePattern]
    /// Whether it is a one-time key for enrolment: its holder may send ``Enrol`` and nothing else.
    package var isForEnrolment: Bool

    package init(name: String, sources: [SourcePattern], isForEnrolment: Bool = false) {
        self.name = name
        self.sources = isForEnrolment ? [] : sources
        self.isForEnrolment = isForEnrolment
    }

    /// Whether a source may be written: one of ``sources``, or the preview of one.
    package func covers(_ source: String) -> Bool {
        let main = SourcePreviews.source(named: source)
        return sources.contains { $0.matches(source) || main.map($0.matches) == true }
    }

    /// Why these sources may not be written, in one line; nil if they may.
    func flaw(in names: [String]) -> String? {
        let others = names.filter { !covers($0) }
        guard !others.isEmpty else { return nil }
        if isForEnrolment {
            return
                "the key \(name) is for enrolment only: use it with 'tributary-agent enrol'"
        }
        let allowed = sources.map(\.description)
        // `--sources` replaces the list. A source's preview needs no entry.
        var all = allowed
        for other in others.map({ SourcePreviews.source(named: $0) ?? $0 })
        where !all.contains(other) {
            all.append(other)
        }
        let list = all.joined(separator: ",")
        // A shell may replace an unquoted asterisk.
        let quoted = list.contains("*") ? "\"\(list)\"" : list
        let command = "'tributary keys authorize \(name) --sources"
        let rest = others.joined(separator: ", ")
        let line =
            "the key \(name) may write \(allowed.isEmpty ? "nothing" : allowed.joined(separator: ", ")), not "
            + "\(rest): on the server, \(command) \(quoted)' permits it"
        if line.utf8.count <= WireLimits.textBytes { return line }
        // A command whose end is cut off would remove sources.
        return
            "the key \(name) may not write \(rest): on the server, \(command) LIST' permits it; LIST has to have the "
            + "sources that 'tributary keys list' shows for this key, and these"
    }
}

/// A source's name, or a name prefix followed by `*`.
package struct SourcePattern: Hashable, Sendable, CustomStringConvertible {
    private let beginning: String
    /// Whether it is one name, not a prefix.
    package let isWhole: Bool

    /// Parses `stage`, `door-*` or `*`.
    /// - Returns: nil when it could not match any source name.
    package init?(_ text: String) {
        isWhole = !text.hasSuffix("*")
        beginning = isWhole ? text : String(text.dropLast())
        guard SourceName.isValid(beginning) || (!isWhole && beginning.isEmpty) else { return nil }
    }

    package func matches(_ source: String) -> Bool {
        isWhole ? source == beginning : source.hasPrefix(beginning)
    }

    package var description: String { isWhole ? beginning : beginning + "*" }
}
