package import Operations
import Terminal

/// The lines of `tributary top --site`. A value.
package struct SiteScreen {
    private let overview: SiteOverview
    private let complaint: String?

    /// - Parameter complaint: why the overview is outdated; nil: it is not.
    package init(_ overview: SiteOverview, complaint: String? = nil) {
        self.overview = overview
        self.complaint = complaint
    }

    /// - Parameters:
    ///   - columns: the terminal's width; nil: unlimited.
    ///   - rows: its height; nil: unlimited.
    package func lines(columns: Int? = nil, rows: Int? = nil) -> [TopScreen.Line] {
        var lines = [TopScreen.Line(text: summary, emphasis: .strong)]
        if let complaint {
            lines.append(.init(text: "no answer: \(oneLine(complaint))", emphasis: .alarming))
        }
        lines += overview.problems.map { .init(text: oneLine($0), emphasis: .alarming) }
        let table = table
        lines.append(.init(text: table[0], emphasis: .strong))
        for (collector, text) in zip(overview.collectors, table.dropFirst()) {
            lines.append(.init(text: text, emphasis: Self.emphasis(collector.state)))
        }
        if overview.collectors.isEmpty {
            lines.append(.init(text: "no collectors", emphasis: .faint))
        }
        lines += overview.work.map { work in
            .init(
                text:
                    "\(oneLine(work.name)): \(work.holder.map { oneLine($0) } ?? "no collector")",
                emphasis: .faint)
        }
        guard let columns else { return lines }
        let fitting = lines.map { line in
            line.text.count > columns
                ? TopScreen.Line(
                    text: "\(line.text.prefix(max(0, columns - 1)))…", emphasis: line.emphasis)
                : line
        }
        return rows.map { Array(fitting.prefix($0)) } ?? fitting
    }

    private static func emphasis(_ state: SiteOverview.State) -> TopScreen.Emphasis {
        switch state {
        case .recording, .idle, .draining: .plain
        case .troubled, .silent, .unknown: .alarming
        case .stopped: .faint
        }
    }

    private var summary: String {
        let present = overview.collectors.count { !$0.isAway }
        let sources = overview.sources
        let rate = overview.collectors.reduce(0) { $0 + ($1.isAway ? 0 : $1.bitsPerSecond) }
        return
            "\(oneLine(overview.catalog)): \(present) of \(overview.collectors.count) collectors · "
            + "\(sources == 1 ? "1 source" : "\(sources) sources") · "
            + "\(Bitrate(bitsPerSecond: Int64(min(max(rate, 0), 9e18))))"
    }

    private var table: [String] {
        var table = Table(
            [
                "COLLECTOR", "STATE", "HEARD", "SOURCES", "BITRATE", "FREE", "ALONE", "UNSTORED",
                "OWED", "CLOCK ±", "SESSION", "VERSION", "LISTENS",
            ], rightAligned: [2, 3, 4, 5, 6, 7, 8, 9])
        for collector in overview.collectors {
            let isAway = collector.isAway
            table.add([
                oneLine(collector.name), collector.state.rawValue,
                SiteOverview.Collector.span(collector.heardSeconds),
                isAway ? "-" : "\(collector.sources)",
                isAway
                    ? "-"
                    : "\(Bitrate(bitsPerSecond: Int64(min(max(collector.bitsPerSecond, 0), 9e18))))",
                Self.bytes(collector.freeBytes), "\(collector.aloneRecords)",
                Self.bytes(collector.unstoredBytes), Self.bytes(collector.owedBytes),
                clock(of: collector),
                collector.session.map { oneLine($0) } ?? "-",
                collector.version.map { oneLine($0) } ?? "-",
                collector.listen.map { oneLine("\($0) on \(collector.machine ?? "?")") } ?? "-",
            ])
        }
        return table.lines()
    }

    /// The largest error between its clock and that of another collector that is there: `?` if one of them is unknown.
    private func clock(of collector: SiteOverview.Collector) -> String {
        let others = overview.collectors.filter { $0.name != collector.name && !$0.isAway }
        guard !collector.isAway, !others.isEmpty else { return "-" }
        let bounds = others.map { collector.bound(to: $0) }
        guard !bounds.contains(nil), let worst = bounds.lazy.compactMap({ $0 }).max() else {
            return "?"
        }
        return PeerClockView.milliseconds(worst)
    }

    private static func bytes(_ bytes: UInt64?) -> String {
        bytes.map { "\(ByteCount(Int64(clamping: $0)))" } ?? "-"
    }
}
