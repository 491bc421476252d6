/// Configuration of one agent in a group. An agent is restarted when its plan changes.
package struct AgentPlan: Hashable, Sendable {
    package var capture: CaptureSettings
    package var uplink: UplinkSettings

    package init(capture: CaptureSettings, uplink: UplinkSettings) {
        self.capture = capture
        self.uplink = uplink
    }

    package var source: String { uplink.sourceName }
}

/// The difference between two configurations of a group.
package struct AgentGroupChange: Hashable, Sendable {
    /// Plans of new sources.
    package private(set) var added: [AgentPlan] = []
    /// New plans of existing sources.
    package private(set) var changed: [AgentPlan] = []
    /// Names of removed sources.
    package private(set) var removed: [String] = []

    /// - Parameters:
    ///   - old: the current plans.
    ///   - new: the wanted plans; each source once.
    package init(from old: [AgentPlan], to new: [AgentPlan]) {
        let before = Dictionary(old.map { ($0.source, $0) }) { first, _ in first }
        for plan in new {
            guard let known = before[plan.source] else {
                added.append(plan)
                continue
            }
            if known != plan { changed.append(plan) }
        }
        let names = Set(new.map(\.source))
        removed = old.map(\.source).filter { !names.contains($0) }
    }

    /// The change as one line for the log.
    package var summary: String {
        var parts: [String] = []
        for (names, verb) in [
            (added.map(\.source), "added"), (changed.map(\.source), "started again"),
            (removed, "removed"),
        ] where !names.isEmpty {
            parts.append("\(names.joined(separator: ", ")) \(verb)")
        }
        return parts.isEmpty ? "no camera has changed" : parts.joined(separator: "; ")
    }
}
