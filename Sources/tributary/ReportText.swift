import Archive
import Terminal

/// Reports as lines for people.
enum ReportText {
    /// One line for a file: what it holds and whether it is sound.
    static func line(_ file: FileReport) -> String {
        let tracks = file.tracks.map { track in
            let unit = track.kind == "video" ? "pictures" : "packets"
            return "\(track.samples) \(unit)"
        }
        let verdict = file.isSound ? "ok     " : "DAMAGED"
        return "\(verdict) \(file.path): \(file.state.rawValue), "
            + "\(ByteCount(Int64(file.sizeBytes))), \(tracks.joined(separator: " + "))"
    }

    /// One line for a finding.
    static func line(_ finding: Finding) -> String {
        let place = finding.offset.map { " at byte \($0)" } ?? ""
        return "  \(finding.severity.rawValue): \(oneLine(finding.path))\(place): "
            + oneLine(finding.text)
    }

    /// A session's verdict.
    static func summary(_ session: SessionReport) -> String {
        let files = session.sources.reduce(0) { $0 + $1.files.count }
        let recorded = session.sources.reduce(0) { $0 + $1.recordedSamples }
        let lost = session.sources.reduce(0) { $0 + $1.lostSamples }
        let bytes = session.sources.flatMap(\.files).reduce(0) { $0 + $1.digestedBytes }
        let missing = lost == 0 ? "none missing" : "\(lost) missing and explained"
        let verdict = session.isSound ? "sound" : "DAMAGED"
        return
            "session \(session.session): \(verdict); \(session.sources.count) sources, \(files) files, "
            + "\(recorded) samples recorded, \(missing), \(ByteCount(Int64(bytes))) of media as sent"
    }
}
