import Terminal

/// The lines of `tributary top`. A value.
package struct TopScreen {
    /// Emphasis of a line, on terminals that support it.
    package enum Emphasis: Hashable, Sendable {
        case plain, strong, alarming, faint
    }

    package struct Line: Hashable, Sendable {
        package var text: String
        package var emphasis: Emphasis

        package init(text: String, emphasis: Emphasis = .plain) {
            self.text = text
            self.emphasis = emphasis
        }
    }

    private let view: SiteView
    private let place: String
    private let complaint: String?

    /// - Parameters:
    ///   - place: the address of the collector.
    ///   - complaint: why the status is outdated; nil: it is not.
    package init(_ view: SiteView, place: String, complaint: String? = nil) {
        self.view = view
        self.place = place
        self.complaint = complaint
    }

    /// - Parameters:
    ///   - columns: the terminal's width; nil: unlimited.
    ///   - rows: its height; nil: unlimited.
    package func lines(columns: Int? = nil, rows: Int? = nil) -> [Line] {
        var lines = heading(columns)
        let room = rows.map { max(1, $0 - lines.count - 1) }
        let (sources, rest) = chosen(room)
        let table = table(sources, columns: columns)
        lines.append(Line(text: table[0], emphasis: .strong))
        for (source, text) in zip(sources, table.dropFirst()) {
            let emphasis: Emphasis =
                source.isTroubled ? .alarming : source.isConnected ? .plain : .faint
            lines.append(Line(text: text, emphasis: emphasis))
        }
        if rest > 0 { lines.append(Line(text: "… and \(rest) more", emphasis: .faint)) }
        for source in view.sources {
            guard let remarks = source.remarks else { continue }
            lines.append(Line(text: "\(oneLine(source.name)): \(remarks)"))
        }
        if view.sources.isEmpty { lines.append(Line(text: "no agents", emphasis: .faint)) }
        guard let columns else { return lines }
        let fitting = lines.map {
            Line(text: clipped($0.text, to: columns), emphasis: $0.emphasis)
        }
        return rows.map { Array(fitting.prefix($0)) } ?? fitting
    }

    /// The sources that fit, by name; if not all fit, sources with problems have priority.
    private func chosen(_ room: Int?) -> ([SiteView.Source], rest: Int) {
        guard let room, view.sources.count > room else { return (view.sources, 0) }
        let ordered =
            view.sources.filter(\.isTroubled) + view.sources.filter { !$0.isTroubled }
        // One line for the number of omitted sources.
        let shown = max(0, room - 1)
        return (Array(ordered.prefix(shown)), ordered.count - shown)
    }

    private func heading(_ columns: Int?) -> [Line] {
        var lines = Self.folded(summary, to: columns).map { Line(text: $0, emphasis: .strong) }
        lines += Self.folded(diskSummary, to: columns).map { Line(text: $0) }
        if let store = view.store {
            lines += Self.folded(summary(of: store), to: columns).map { Line(text: $0) }
            if let trouble = store.trouble {
                lines.append(Line(text: "NOT UPLOADING: \(oneLine(trouble))", emphasis: .alarming))
            }
        }
        for clock in view.clocks ?? [] {
            lines.append(
                Line(text: clock.line, emphasis: clock.trouble == nil ? .plain : .alarming))
        }
        if let complaint {
            lines.append(Line(text: "no answer: \(oneLine(complaint))", emphasis: .alarming))
        }
        if let trouble = view.trouble {
            lines.append(Line(text: "NOT RECORDING: \(trouble)", emphasis: .alarming))
        }
        if view.isDraining == true {
            lines.append(Line(text: Self.draining, emphasis: .strong))
        }
        return lines
    }

    /// Joins parts on as few lines as possible; a part that fits on a line is not cut.
    private static func folded(_ parts: [String], to columns: Int?) -> [String] {
        guard let columns else { return [parts.joined(separator: separator)] }
        var lines: [String] = []
        for part in parts {
            if let last = lines.last, last.count + separator.count + part.count <= columns {
                lines[lines.count - 1] = last + separator + part
            } else {
                lines.append(lines.isEmpty ? part : indent + part)
            }
        }
        return lines
    }

    /// Maximum reasons of refusals on a line; metrics and the status have all.
    private static let shownReasons = 3
    private static let draining =
        "DRAINED: agents that have another collector are sent there; 'tributary drain --cancel' ends that"
    private static let separator = " · "
    private static let indent = "  "

    private var summary: [String] {
        let all = view.sources.filter { $0.isConnected || $0.isRecorded }
        let previews = all.count { $0.previewOf != nil }
        let present = all.count - previews
        let rate = view.sources.reduce(0) { $0 + $1.bitsPerSecond }
        var parts: [String] = []
        if let session = view.session {
            let time = view.sessionSeconds.map { ", \(Self.clock($0))" } ?? ""
            parts.append("\(oneLine(place)): \(oneLine(session))\(time)")
        } else {
            parts.append("\(oneLine(place)): no session")
        }
        parts.append(present == 1 ? "1 source" : "\(present) sources")
        if previews > 0 { parts.append(previews == 1 ? "1 preview" : "\(previews) previews") }
        parts.append("\(Bitrate(bitsPerSecond: whole(rate)))")
        if view.omittedSources > 0 { parts.append("\(whole(view.omittedSources)) not shown") }
        if view.refusedConnections > 0 {
            let count = whole(view.refusedConnections)
            let reasons = (view.refusals ?? []).map {
                (reason: oneLine($0.reason), count: UInt64(clamping: whole($0.count)))
            }
            let list = RefusalText.list(reasons, most: Self.shownReasons)
            parts.append(
                (count == 1 ? "1 connection refused" : "\(count) connections refused")
                    + (list.isEmpty ? "" : ": \(list)"))
        }
        return parts
    }

    private var diskSummary: [String] {
        let disk = view.disk
        var parts: [String] = []
        if let free = disk.freeBytes {
            let size = disk.sizeBytes.map { " of \(ByteCount(whole($0)))" } ?? ""
            parts.append("\(ByteCount(whole(free))) free\(size)")
        }
        if let reserve = disk.reserveBytes { parts.append("reserve \(ByteCount(whole(reserve)))") }
        if let days = disk.daysLeft {
            let left = Self.rest(seconds: days * 86_400)
            parts.append(
                disk.removesOldSegments ? "\(left) until removal" : "\(left) left")
        }
        if let seconds = disk.fdatasyncSeconds {
            parts.append("fdatasync \(Self.short(seconds))")
        }
        if let memory = view.residentBytes { parts.append("memory \(ByteCount(whole(memory)))") }
        if !view.version.isEmpty { parts.append("version \(oneLine(view.version))") }
        return ["disk: \(parts.first ?? "no data")"] + parts.dropFirst()
    }

    private func summary(of store: SiteView.Store) -> [String] {
        var parts = ["store: \(oneLine(store.name))"]
        let waiting = whole(store.waitingSegments)
        if waiting == 0 {
            parts.append("nothing waits")
        } else {
            parts.append(
                "\(waiting) segments wait (\(ByteCount(whole(store.waitingBytes)))), the oldest for \(Self.clock(store.oldestSeconds))"
            )
        }
        parts.append("\(whole(store.storedSegments)) stored")
        if store.evictedSegments > 0 {
            parts.append("\(whole(store.evictedSegments)) local copies removed")
        }
        if store.setAside > 0 { parts.append("\(whole(store.setAside)) refused") }
        if let retention = store.retention { parts.append("retention \(oneLine(retention.text))") }
        return parts
    }

    private func table(_ sources: [SiteView.Source], columns: Int?) -> [String] {
        var shown = Self.columns.filter { column in
            column.title != Self.unstoredTitle
                || sources.contains { $0.unreleasedAgeSeconds != nil }
        }
        while true {
            var table = Table(
                shown.map(\.title),
                rightAligned: Set(shown.indices.filter { shown[$0].isNumber }))
            for source in sources { table.add(shown.map { $0.text(source) }) }
            let lines = table.lines()
            guard let columns, lines.contains(where: { $0.count > columns }), shown.count > 1,
                let least = shown.indices.max(by: { shown[$0].rank < shown[$1].rank })
            else { return lines }
            if let shorter = shown[least].shorter {
                shown[least].text = shorter
                shown[least].shorter = nil
            } else if shown[least].title != Self.gapsTitle || lines[0].count > columns {
                shown.remove(at: least)
            } else {
                // The last column may be cut.
                return lines
            }
        }
    }

    private static let gapsTitle = "GAPS"
    /// Only if boxes wait for an object store.
    private static let unstoredTitle = "UNSTORED"

    private static func gaps(_ source: SiteView.Source) -> [String] {
        source.gaps.map {
            let what = $0.samples > 0 ? whole($0.samples) : whole($0.count)
            return "\(oneLine($0.cause).replacing("_", with: " ")) \(what)"
        }
    }

    /// The largest gap, and the number of other causes.
    private static func shortGaps(_ source: SiteView.Source) -> String {
        let all = gaps(source)
        guard let worst = all.first else { return "" }
        return all.count > 1 ? "\(worst), +\(all.count - 1)" : worst
    }

    private struct Column {
        var title: String
        var isNumber = true
        /// Columns with a higher rank are dropped first.
        var rank: Int
        var text: (SiteView.Source) -> String
        /// A shorter form, used before the column is dropped.
        var shorter: ((SiteView.Source) -> String)?
    }

    private static var columns: [Column] {
        [
            Column(title: "SOURCE", isNumber: false, rank: 0) { oneLine($0.name) },
            Column(title: "STATE", isNumber: false, rank: 3) { $0.state },
            Column(title: "FPS", rank: 1) { decimal($0.picturesPerSecond) },
            Column(title: "BITRATE", rank: 4) {
                "\(Bitrate(bitsPerSecond: whole($0.bitsPerSecond)))"
            },
            Column(title: "LAG", rank: 2) { $0.lagSeconds.map(short) ?? "-" },
            Column(title: "SPOOL", rank: 5) {
                $0.spoolBytes.map { "\(ByteCount(whole($0)))" } ?? "-"
            },
            Column(title: unstoredTitle, rank: 5) { $0.unreleasedAgeSeconds.map(short) ?? "-" },
            Column(title: "OFFSET", rank: 8) {
                $0.isClockMeasured ? $0.clockOffsetSeconds.map(signed) ?? "-" : "-"
            },
            Column(title: "± BOUND", rank: 7) {
                $0.isClockMeasured ? $0.clockBoundSeconds.map(short) ?? "-" : "-"
            },
            Column(
                title: gapsTitle, isNumber: false, rank: 6,
                text: { gaps($0).joined(separator: ", ") }, shorter: shortGaps),
        ]
    }

    /// `1:02:03`.
    static func clock(_ seconds: Double) -> String {
        let seconds = whole(max(0, seconds))
        func padded(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(seconds / 3_600):\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
    }

    /// `3.5 days`, `12 hours`, `45 minutes`, `less than a minute`.
    static func rest(seconds: Double) -> String {
        if seconds >= 2 * 86_400 { return "\(decimal(seconds / 86_400)) days" }
        if seconds >= 7_200 { return "\(decimal(seconds / 3_600)) hours" }
        let minutes = whole(seconds / 60)
        if minutes < 1 { return "less than a minute" }
        return minutes == 1 ? "1 minute" : "\(minutes) minutes"
    }

    /// `250 µs`, `1.5 s`, `2.5 h`.
    static func short(_ seconds: Double) -> String {
        let size = abs(seconds)
        if size >= 7_200 { return "\(decimal(seconds / 3_600)) h" }
        if size >= 120 { return "\(decimal(seconds / 60)) min" }
        if size >= 1 { return "\(decimal(seconds)) s" }
        if size >= 0.001 { return "\(decimal(seconds * 1e3)) ms" }
        return "\(decimal(seconds * 1e6)) µs"
    }

    private static func signed(_ seconds: Double) -> String {
        seconds >= 0 ? "+\(short(seconds))" : "-\(short(-seconds))"
    }
}

/// Without the fraction, clamped.
private func whole(_ value: Double) -> Int64 {
    value.isNaN ? 0 : Int64(min(max(value, -9e18), 9e18))
}

private func clipped(_ text: String, to columns: Int) -> String {
    text.count > columns ? String(text.prefix(max(0, columns - 1))) + "…" : text
}
