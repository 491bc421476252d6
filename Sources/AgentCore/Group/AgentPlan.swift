package import Wire

/// Configuration of one agent in a group. A change of its plan is applied to the running capture if possible; otherwise the
/// agent is restarted.
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
    /// New plans of existing sources whose running captures can be changed.
    package private(set) var adjusted: [Adjustment] = []
    /// Names of the sources among them whose captures could not be changed.
    package internal(set) var failed: Set<String> = []
    /// Names of removed sources.
    package private(set) var removed: [String] = []

    /// A change of a running capture.
    package struct Adjustment: Hashable, Sendable {
        package var plan: AgentPlan
        /// Empty: the capture has the settings of the plan already.
        package var change: CaptureChange
    }

    /// - Parameters:
    ///   - old: the current plans.
    ///   - new: the wanted plans; each source once.
    ///   - running: settings of the running captures, by source. Commands may have changed them.
    package init(
        from old: [AgentPlan], to new: [AgentPlan], running: [String: CaptureSettings] = [:]
    ) {
        let before = Dictionary(old.map { ($0.source, $0) }) { first, _ in first }
        for plan in new {
            guard let known = before[plan.source] else {
                added.append(plan)
                continue
            }
            if let capture = running[plan.source], known.uplink == plan.uplink,
                known.capture.isChangeable(to: plan.capture)
            {
                let change = capture.change(to: plan.capture)
                if known != plan || !change.isEmpty {
                    adjusted.append(Adjustment(plan: plan, change: change))
                }
            } else if known != plan {
                changed.append(plan)
            }
        }
        let names = Set(new.map(\.source))
        removed = old.map(\.source).filter { !names.contains($0) }
    }

    /// The change as one line for the log.
    package var summary: String {
        var parts: [String] = []
        let tried = adjusted.filter { !$0.change.isEmpty }.map(\.plan.source)
        for (names, verb) in [
            (added.map(\.source), "added"),
            (tried.filter { !failed.contains($0) }, "changed"),
            (changed.map(\.source), "started again"), (removed, "removed"),
            (tried.filter(failed.contains), "not changed"),
        ] where !names.isEmpty {
            parts.append("\(names.joined(separator: ", ")) \(verb)")
        }
        return parts.isEmpty ? "no camera has changed" : parts.joined(separator: "; ")
    }
}
