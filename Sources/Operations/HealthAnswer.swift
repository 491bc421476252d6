/// Whether a collector is healthy, and a line with the reason.
package struct HealthAnswer: Hashable, Sendable {
    package var isWell: Bool
    package var text: String

    package init(isWell: Bool, text: String) {
        self.isWell = isWell
        self.text = text
    }

    /// Liveness: a collector that is not alive should be restarted.
    /// - Parameter ageSeconds: age of the last status; nil: it has not begun to receive. That lasts as long as recovery
    ///   does, which a restart would not shorten.
    static func liveness(ageSeconds: Double?, isStopping: Bool) -> HealthAnswer {
        if isStopping { return HealthAnswer(isWell: true, text: "finishing files") }
        guard let ageSeconds else { return HealthAnswer(isWell: true, text: "starting") }
        guard ageSeconds <= AlertLimits.progressSeconds else {
            return HealthAnswer(
                isWell: false,
                text: "the receiving thread has been blocked for \(Int(ageSeconds)) s")
        }
        return HealthAnswer(isWell: true, text: "ok")
    }

    /// Readiness: whether agents should connect to the collector. False while it is drained, although it records agents
    /// without another collector.
    /// - Parameter obstacle: the reason why it does not listen yet; nil: unknown.
    static func readiness(
        _ status: CollectorStatus?, ageSeconds: Double?, isStopping: Bool, obstacle: String? = nil
    ) -> HealthAnswer {
        let recording = recording(
            status, ageSeconds: ageSeconds, isStopping: isStopping, obstacle: obstacle)
        guard recording.isWell, let status, status.isDraining else { return recording }
        return HealthAnswer(
            isWell: false,
            text: "drained: agents that have another collector are sent there; \(recording.text)")
    }

    /// Whether the collector can record samples now.
    static func recording(
        _ status: CollectorStatus?, ageSeconds: Double?, isStopping: Bool, obstacle: String? = nil
    ) -> HealthAnswer {
        if isStopping { return HealthAnswer(isWell: false, text: "finishing files") }
        guard let status else {
            return HealthAnswer(
                isWell: false, text: "starting: \(obstacle ?? "not listening yet")")
        }
        let liveness = liveness(ageSeconds: ageSeconds, isStopping: isStopping)
        guard liveness.isWell else { return liveness }
        if let trouble = status.trouble {
            return HealthAnswer(isWell: false, text: "not recording: \(trouble)")
        }
        guard status.disk.busySeconds <= AlertLimits.diskBusySeconds else {
            return HealthAnswer(
                isWell: false,
                text: "the disk has not answered for \(Int(status.disk.busySeconds)) s")
        }
        let count = status.sources.count(where: \.isConnected)
        return HealthAnswer(
            isWell: true, text: count == 1 ? "1 source connected" : "\(count) sources connected")
    }
}
