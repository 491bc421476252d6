/// Whether a collector is well, and a line that says why or why not.
package struct HealthAnswer: Hashable, Sendable {
    package var isWell: Bool
    package var text: String

    package init(isWell: Bool, text: String) {
        self.isWell = isWell
        self.text = text
    }

    /// After so long without a sign of life of the receiving thread, which gives one about once a second, something is wrong with it. Less
    /// than systemd's watchdog waits, so that a probe that fails a few times in a row comes to the same.
    package static let patienceSeconds = 15.0
    /// A disk that is at one piece of work for so long does not write what comes.
    package static let diskPatienceSeconds = 30.0

    /// Whether it works at all: what is not alive any more should be started again.
    /// - Parameter ageSeconds: since the last sign of life; nil: it has not begun to receive. That takes as long as recovery does,
    ///   and to start it again would not make it shorter.
    static func liveness(ageSeconds: Double?, isStopping: Bool) -> HealthAnswer {
        if isStopping { return HealthAnswer(isWell: true, text: "finishing files") }
        guard let ageSeconds else { return HealthAnswer(isWell: true, text: "starting") }
        guard ageSeconds <= patienceSeconds else {
            return HealthAnswer(
                isWell: false,
                text: "the receiving thread has been blocked for \(Int(ageSeconds)) s")
        }
        return HealthAnswer(isWell: true, text: "ok")
    }

    /// Whether it takes samples in.
    /// - Parameter obstacle: why it does not listen yet; nil: unknown.
    static func readiness(
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
        guard status.disk.busySeconds <= diskPatienceSeconds else {
            return HealthAnswer(
                isWell: false,
                text: "the disk has not answered for \(Int(status.disk.busySeconds)) s")
        }
        let count = status.sources.count(where: \.isConnected)
        return HealthAnswer(
            isWell: true, text: count == 1 ? "1 source connected" : "\(count) sources connected")
    }
}
