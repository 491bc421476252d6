import Media

/// The role of an account.
package enum Role: String, Hashable, Sendable, CaseIterable {
    /// May watch, download, and export.
    case viewer
    /// May also change: add marks, remove sessions, cancel exports of others.
    case `operator`
}

/// The sources that an account may see.
package enum SourceScope: Hashable, Sendable {
    case all
    case named(Set<String>)

    private static let everything = "*"

    /// Reads `*`, or names of sources separated by commas; nil for anything else.
    package init?(_ text: String) {
        if text == Self.everything {
            self = .all
            return
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        let distinct = Set(names)
        guard distinct.count == names.count, names.allSatisfy({ DirectoryName.isValid($0) }) else {
            return nil
        }
        self = .named(distinct)
    }

    /// The inverse of ``init(_:)``, with sorted names.
    package var text: String {
        switch self {
        case .all: Self.everything
        case .named(let names): names.sorted().joined(separator: ",")
        }
    }

    /// Whether it contains a source, by its own name or as a preview of one that it contains.
    package func contains(_ source: String) -> Bool {
        switch self {
        case .all: true
        case .named(let names):
            names.contains(source)
                || SourcePreviews.source(named: source).map(names.contains) == true
        }
    }

    /// The names to request, with those of the previews; nil: all.
    package var names: Set<String>? {
        guard case .named(let names) = self else { return nil }
        return names.union(
            names.map(SourcePreviews.name).filter { SourcePreviews.source(named: $0) != nil })
    }
}

/// The rights of an account.
package struct Rights: Hashable, Sendable {
    package let role: Role
    package let sources: SourceScope

    /// The rights of an operator of all sources.
    package static let everything = Rights(role: .operator, sources: .all)
    /// Rights without an account.
    package static let nothing = Rights(role: .viewer, sources: .named([]))

    package init(role: Role, sources: SourceScope) {
        self.role = role
        self.sources = sources
    }

    /// Whether recordings of a source may be seen.
    package func mayRead(_ source: String) -> Bool { sources.contains(source) }

    /// Whether every source may be read, including future ones.
    package var mayReadEverything: Bool { sources == .all }

    /// Whether recordings of a source may be changed.
    package func mayOperate(_ source: String) -> Bool {
        role == .operator && sources.contains(source)
    }

    /// Whether settings that affect all sources may be changed.
    package var mayOperateSite: Bool { role == .operator && sources == .all }

    /// Whether an account may view, download and cancel an export job. The job's owner needs the right to see all of its
    /// sources; any other account has to be an operator of them.
    package func mayFollowJob(of owner: Identity, sources: [String], as identity: Identity) -> Bool
    {
        sources.allSatisfy { owner == identity ? mayRead($0) : mayOperate($0) }
    }

    /// Filters sources by the right to see them; keeps their order.
    package func filter(_ sources: some Sequence<String>) -> [String] {
        sources.filter { mayRead($0) }
    }
}
