import Terminal

/// The clock of another collector of the site, as displayed: in the documents of `tributary top --json` and
/// `tributary top --site --json` (`proto/json/schema.json`, "peerClock").
package struct PeerClockView: Hashable, Sendable, Codable {
    /// The other collector's name.
    package var collector: String
    /// Maximum error of the difference of the two clocks; nil: not measured.
    package var boundSeconds: Double?
    /// Its rate relative to the measuring collector's.
    package var skewPPM: Double?
    /// Round trip of the last exchange.
    package var roundTripSeconds: Double?
    /// Since the last exchange.
    package var ageSeconds: Double?
    /// Why it is not being measured; nil: it is.
    package var trouble: String?

    package init(
        collector: String, boundNanoseconds: Int64?, skewPPB: Int64?, roundTripNanoseconds: Int64?,
        ageSeconds: Double?, trouble: String?
    ) {
        self.collector = collector
        boundSeconds = boundNanoseconds.map { Double($0) / 1e9 }
        skewPPM = skewPPB.map { Double($0) / 1e3 }
        roundTripSeconds = roundTripNanoseconds.map { Double($0) / 1e9 }
        self.ageSeconds = ageSeconds.flatMap { $0.isFinite ? $0 : nil }
        self.trouble = trouble
    }

    package init(_ status: PeerClockStatus) {
        self.init(
            collector: status.collector, boundNanoseconds: status.boundNanoseconds,
            skewPPB: status.skewPPB, roundTripNanoseconds: status.roundTripNanoseconds,
            ageSeconds: status.ageSeconds, trouble: status.trouble)
    }

    /// One line: `clock of west: ± 0.120 ms, 12.3 ppm, round trip 0.210 ms`.
    var line: String {
        var parts: [String] = []
        if let boundSeconds { parts.append("± \(Self.milliseconds(boundSeconds))") }
        if let skewPPM { parts.append("\((skewPPM * 10).rounded() / 10) ppm") }
        if let roundTripSeconds {
            parts.append("round trip \(Self.milliseconds(roundTripSeconds))")
        }
        if parts.isEmpty { parts.append("not measured") }
        let why = trouble.map { ": \(oneLine($0))" } ?? ""
        return "clock of \(oneLine(collector)): \(parts.joined(separator: ", "))\(why)"
    }

    /// `0.120 ms`.
    package static func milliseconds(_ seconds: Double) -> String {
        guard seconds.magnitude < 9e9 else { return "?" }
        let microseconds = Int64((seconds * 1e6).rounded(.up))
        let rest = String(microseconds.magnitude % 1_000 + 1_000).dropFirst()
        return "\(microseconds < 0 ? "-" : "")\(microseconds.magnitude / 1_000).\(rest) ms"
    }
}
