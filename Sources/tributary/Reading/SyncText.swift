import SyncCheck
import Terminal

/// A measurement as human-readable lines.
enum SyncText {
    static func lines(_ subject: String, _ report: SyncReport) -> [String] {
        var lines = ["\(subject): times in ms"]
        lines += ["", "relative to the common timeline"]
        lines += sources(report)
        if !report.pairs.isEmpty {
            lines += ["", "between sources (first minus second)"]
            lines += pairs(report)
        }
        if report.sources.contains(where: { $0.soundSkew != nil }) {
            lines += ["", "audio minus video"]
            lines += sound(report)
        }
        lines.append("")
        lines += report.notes.map { "note: \(oneLine($0))" }
        lines += report.failures.map { "FAILED: \(oneLine($0))" }
        if report.isAccepted {
            let pictures = report.pictures
            lines.append(
                "ok: the largest error is "
                    + (report.worstNanoseconds.map { "\(NanosecondText($0))" } ?? "unknown")
                    + ", by \(pictures.measured) of \(pictures.all) pictures")
        }
        return lines
    }

    private static let spreadHeader = ["MIN", "MEDIAN", "P99", "MAX"]

    private static func sources(_ report: SyncReport) -> [String] {
        var table = Table(
            ["SOURCE", "CLOCK", "PICTURES"] + spreadHeader + ["DRIFT PPM", "RECORDED ±"],
            rightAligned: Set(1...8))
        for source in report.sources {
            table.add(
                [source.name, source.clock.map { "\($0)" } ?? "-", "\(source.pictures)"]
                    + cells(source.error)
                    + [
                        (source.pictureDrift ?? source.beepDrift).map { ppm($0.driftPPM) } ?? "-",
                        source.recordedBoundNanoseconds?.last.map(milliseconds) ?? "-",
                    ])
        }
        return table.lines()
    }

    private static func pairs(_ report: SyncReport) -> [String] {
        var table = Table(
            ["FIRST", "SECOND", "PICTURES"] + spreadHeader + ["DRIFT PPM", "RECORDED ±"],
            rightAligned: Set(2...8))
        for pair in report.pairs {
            table.add(
                [pair.first, pair.second, "\(pair.alignment.count)"] + cells(pair.alignment)
                    + [
                        ppm(pair.driftPPM), pair.recordedBoundNanoseconds.map(milliseconds) ?? "-",
                    ])
        }
        return table.lines()
    }

    private static func sound(_ report: SyncReport) -> [String] {
        var table = Table(
            ["SOURCE", "BEEPS"] + spreadHeader + ["DRIFT PPM"], rightAligned: Set(1...6))
        for source in report.sources where source.soundSkew != nil {
            table.add(
                [source.name, "\(source.beeps)"] + cells(source.soundSkew)
                    + [source.beepDrift.map { ppm($0.driftPPM) } ?? "-"])
        }
        return table.lines()
    }

    private static func cells(_ spread: Spread?) -> [String] {
        guard let spread else { return ["-", "-", "-", "-"] }
        return [
            spread.minNanoseconds, spread.medianNanoseconds, spread.p99Nanoseconds,
            spread.maxNanoseconds,
        ].map(milliseconds)
    }

    private static func milliseconds(_ nanoseconds: Int64) -> String {
        String("\(NanosecondText(nanoseconds))".dropLast(" ms".count))
    }

    /// Three digits after the point, with a sign.
    private static func ppm(_ value: Double) -> String {
        let thousandths = Int64((value * 1_000).rounded())
        let magnitude = thousandths.magnitude
        let rest = String(magnitude % 1_000 + 1_000).dropFirst()
        return "\(thousandths < 0 ? "-" : "+")\(magnitude / 1_000).\(rest)"
    }
}
