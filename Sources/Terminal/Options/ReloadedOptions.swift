/// The options that a reloaded configuration changes.
package struct ReloadedOptions: Sendable {
    /// Names without dashes, sorted.
    package let changed: [String]

    package init(from old: [String: String], to new: [String: String]) {
        changed = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// - Parameters:
    ///   - old: the options of the program's start.
    ///   - new: those of the configuration now.
    ///   - inForce: the options whose values in force are known otherwise, and those of them that change.
    package init(
        from old: [String: String], to new: [String: String],
        inForce: (options: Set<String>, changed: Set<String>)
    ) {
        let others = ReloadedOptions(from: old, to: new).changed
            .filter { !inForce.options.contains($0) }
        changed = inForce.changed.union(others).sorted()
    }

    /// The options in force after a reload: new values of the ones that need no restart, those of the start of the others.
    package static func inForce(
        from old: [String: String], to new: [String: String], changeable: Set<String>
    ) -> [String: String] {
        old.filter { !changeable.contains($0.key) }
            .merging(new.filter { changeable.contains($0.key) }) { $1 }
    }

    /// One line about their effect, for the log.
    /// - Parameters:
    ///   - changeable: names of the options that need no restart.
    ///   - verb: the words after their names.
    package func line(changeable: Set<String>, verb: String) -> String {
        let now = changed.filter(changeable.contains)
        let later = changed.filter { !changeable.contains($0) }
        var parts: [String] = []
        if !now.isEmpty { parts.append("\(now.joined(separator: ", ")) \(verb)") }
        if !later.isEmpty {
            parts.append("\(later.joined(separator: ", ")) will change at the next start")
        }
        return "configuration reloaded: "
            + (parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; "))
    }
}
