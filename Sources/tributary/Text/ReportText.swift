import Archive
import Media
import Terminal

/// Reports as text.
enum ReportText {
    /// One line about a file: its contents, and the verdict.
    static func line(_ file: FileReport) -> String {
        let tracks = file.tracks.map { track in
            let unit = track.kind == "video" ? "pictures" : "packets"
            return "\(track.samples) \(unit)"
        }
        let verdict =
            file.isIntact ? "ok     " : file.hasWholeMedia ? "BAD TIME" : "DAMAGED"
        var parts = [state(file.state), "\(ByteCount(Int64(file.sizeBytes)))"]
        if !tracks.isEmpty { parts.append(tracks.joined(separator: " + ")) }
        return "\(verdict) \(oneLine(file.path)): \(parts.joined(separator: ", "))"
    }

    private static func state(_ state: FileReport.State) -> String {
        switch state {
        case .finished, .growing, .unreadable: state.rawValue
        case .foreign: "export or foreign file"
        }
    }

    static func line(_ finding: Finding) -> String {
        let place = finding.offset.map { " at byte \($0)" } ?? ""
        return "  \(finding.severity.rawValue): \(oneLine(finding.path))\(place): "
            + oneLine(finding.text)
    }

    /// A session's verdict.
    /// - Parameter isComplete: whether every archive was read.
    static func summary(_ session: SessionReport, isComplete: Bool) -> String {
        let files = session.sources.reduce(0) { $0 + $1.files.count }
        let recorded = session.sources.map(\.recordedSamples).clampedSum
        let lost = session.sources.map(\.lostSamples).clampedSum
        let bytes = session.sources.flatMap(\.files).reduce(0) { $0 + $1.digestedBytes }
        let verdict =
            session.isIntact
            ? isComplete ? "intact" : "NOT COMPLETELY READ"
            : session.hasWholeMedia ? "media intact, TIMES DAMAGED" : "DAMAGED"
        return
            "session \(session.session): \(verdict); \(sources(session)), \(files) files, "
            + "\(recorded) samples recorded, \(ByteCount(Int64(bytes))) of media as sent; "
            + missing(session, lost) + removed(session)
            + (isComplete || !session.isIntact ? "" : " in the archives that were read")
            + HeldText.summary(session)
    }

    /// `2 sources`, `2 sources and 1 preview`.
    private static func sources(_ session: SessionReport) -> String {
        let names = session.sources.map(\.name)
        let previews = names.count(where: SourcePreviews(names).isPreview)
        let sources = "\(names.count - previews) sources"
        switch previews {
        case 0: return sources
        case 1: return "\(sources) and 1 preview"
        default: return "\(sources) and \(previews) previews"
        }
    }

    /// The files that retention has removed; may be empty.
    private static func removed(_ session: SessionReport) -> String {
        let removed = session.sources.flatMap { $0.removed ?? [] }
        let files = removed.lazy.map(\.files).clampedSum
        guard files > 0 else { return "" }
        let causes = Set(removed.map { oneLine($0.cause) }).sorted().joined(separator: ", ")
        return "; \(files) \(files == 1 ? "file" : "files") removed (\(causes)): "
            + "\(removed.lazy.map(\.samples).clampedSum) samples (show)"
    }

    /// The missing media, as text: samples, time, and losses of unknown size.
    private static func missing(_ session: SessionReport, _ lost: UInt64) -> String {
        let time = session.sources.map(\.missingNanoseconds).clampedSum
        let seconds = "\(decimal(Double(time) / 1e9)) s"
        // The number of samples in a crashed box's memory is unknown.
        let unknown = session.sources.flatMap(\.gaps).count(where: \.isOfUnknownSize)
        let more =
            unknown == 0
            ? "" : "; \(unknown) \(unknown == 1 ? "loss" : "losses") of unknown size (show)"
        // A damaged session has lost more than its ledger records.
        guard session.hasWholeMedia else {
            let told = lost > 0 ? "\(lost) samples" : time > 0 ? seconds : "none"
            return "missing according to the ledger: \(told)\(more)"
        }
        switch (lost, time >= 50_000_000) {
        case (0, false) where unknown > 0:
            return "nothing else captured is missing" + more
        case (0, false):
            let hasRemoved = session.sources.contains { $0.removed != nil }
            return hasRemoved ? "nothing else missing" : "nothing missing"
        case (0, true):
            return unknown > 0
                ? "\(seconds) are missing and explained\(more)"
                : "no captured samples missing; \(seconds) were not captured (show)"
        case (_, false): return "\(lost) samples are missing and explained (show)\(more)"
        case (_, true):
            return "\(lost) samples, \(seconds), are missing and explained (show)\(more)"
        }
    }
}
