import Archive
import ArgumentParser
import Terminal

/// `tributary show`: what a session holds, and what is missing and why.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a session: sources, segments, gaps, clocks.")

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "The session; 'latest' is the newest.")
    var session: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try withArchiveErrors {
            let name = try archive.session(named: session)
            let report = try SessionVerifier.verify(name, in: archive.layout)
            if json { return try JSONOutput.print(report) }
            let manifest = try SessionManifest.read(archive.layout.manifest(name))
            show(report, manifest)
        }
    }

    private func show(_ report: SessionReport, _ manifest: SessionManifest) {
        print("session   \(report.session)")
        print("zero      \(manifest.zero)")
        print("state     \(manifest.state.rawValue)")
        let segment = TimeSpan(nanoseconds: manifest.segmentNanoseconds)
        print("segments  every \(segment), zero at \(manifest.startAt.rawValue)")
        print("software  \(manifest.software)")
        for source in report.sources {
            print("")
            show(source, manifest.sources.first { $0.name == source.name })
        }
        if let line = SideBySide.line(report) {
            print("")
            print(line)
        }
    }

    private func show(_ source: SessionReport.Source, _ entry: SessionManifest.Source?) {
        let from = entry.map { " from \($0.agent) at \($0.address)" } ?? ""
        print("\(source.name)\(from)\(source.isComplete ? "" : ", has not said goodbye")")
        for format in entry?.tracks ?? [] { print("  \(format)") }
        var table = Table(
            ["  SEGMENT", "STATE", "BEGINS", "ENDS", "PICTURES", "SOUND", "SIZE", "CLOCK ±"],
            rightAligned: [2, 3, 4, 5, 6, 7])
        for file in source.files {
            let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
            let origin = file.originSeconds ?? 0
            let start = file.tracks.map(\.startSeconds).min() ?? 0
            let end = file.tracks.map(\.endSeconds).max() ?? 0
            func samples(_ kind: String) -> String {
                file.tracks.first { $0.kind == kind }.map { "\($0.samples)" } ?? "-"
            }
            table.add([
                "  \(name)", file.isSound ? file.state.rawValue : "DAMAGED",
                Self.seconds(origin + start), Self.seconds(origin + end), samples("video"),
                samples("audio"), "\(ByteCount(Int64(file.sizeBytes)))",
                file.clockBoundMilliseconds.max().map { "\(Self.milliseconds($0)) ms" } ?? "-",
            ])
        }
        table.lines().forEach { print($0) }
        show(source.clock, source.files)
        if source.gaps.isEmpty {
            print("  nothing missing")
        }
        for gap in source.gaps { print("  missing: \(Self.text(gap))") }
    }

    private func show(_ clock: ClockSummary, _ files: [FileReport]) {
        for epoch in clock.epochs {
            let offset = epoch.offsetNanoseconds
            let skew = epoch.skewPartsPerBillion
            let bound = epoch.boundNanoseconds
            print(
                "  clock \(epoch.identity.prefix(8)): offset \(ClockText.duration(offset.median)), "
                    + "skew \(ClockText.skew(skew.median)), known to within "
                    + "\(ClockText.duration(bound.least)) to \(ClockText.duration(bound.greatest)), "
                    + "median \(ClockText.duration(bound.median)), by \(epoch.exchanges) exchanges")
        }
        for jump in clock.discontinuities {
            let when = jump.startNanoseconds.map { " from \(Self.seconds(Double($0) / 1e9)) on" }
            let distance = jump.offsetNanoseconds.map { " by \(ClockText.duration($0))" } ?? ""
            print("  discontinuity\(when ?? "")\(distance)")
        }
        if clock.rejectedExchanges + clock.outlyingExchanges > 0 {
            print(
                "  clock exchanges not believed: \(clock.rejectedExchanges) impossible, "
                    + "\(clock.outlyingExchanges) against all others")
        }
        let retimed = files.compactMap(\.retiming)
        if let least = retimed.map(\.boundAfter.leastNanoseconds).min(),
            let greatest = retimed.map(\.boundAfter.greatestNanoseconds).max()
        {
            print(
                "  retimed, \(retimed.count) of \(files.count) segments: now known to within "
                    + "\(ClockText.duration(Int64(clamping: least))) to "
                    + "\(ClockText.duration(Int64(clamping: greatest)))")
        }
    }

    private static func text(_ gap: LedgerEntry) -> String {
        var parts: [String] = []
        if let samples = gap.samples { parts.append("\(samples) samples") }
        if let track = gap.track { parts.append("of \(track)") }
        if let start = gap.startNanoseconds { parts.append("from \(seconds(Double(start) / 1e9))") }
        if let duration = gap.durationNanoseconds {
            parts.append("for \(seconds(Double(duration) / 1e9))")
        }
        parts.append("(\(gap.cause ?? "unknown cause"))")
        if let text = gap.text, !text.isEmpty { parts.append(oneLine(text)) }
        return parts.joined(separator: " ")
    }

    /// Three digits after the point: `12.345 s`.
    private static func seconds(_ value: Double) -> String {
        let thousandths = Int64((value * 1_000).rounded())
        let sign = thousandths < 0 ? "-" : ""
        let magnitude = thousandths.magnitude
        return "\(sign)\(magnitude / 1_000).\(padded(Int(magnitude % 1_000), 3)) s"
    }

    private static func milliseconds(_ value: Double) -> String {
        let thousandths = Int64((value * 1_000).rounded())
        return "\(thousandths / 1_000).\(padded(Int(thousandths % 1_000), 3))"
    }
}
