import Archive
import ArgumentParser
import Files
import JSON
import Library
import Media
import Recordings
import Terminal

/// `tributary show`: the contents of a session, and its gaps with their causes.
struct ShowCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a session: sources, segments with their formats, gaps, clocks.",
        discussion: """
            SESSION is a session ID, a name or tag set by 'note', a session directory, 'latest', or an archive directory for its newest \
            session. Times are relative to the session zero; gaps also show the time of day (UTC). CLOCK ± is the error bound of \
            timestamps, or – for a replay or an import, where no clock was measured.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session, or 'latest' for the newest.")
    var session: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try withArchiveErrors {
            let finder = try archive.finder()
            let place = try finder.oneSession(session)
            let (details, report) = try place.library.details(of: place.name)
            if json {
                try JSONOutput.print(details)
            } else {
                show(
                    details, report, try place.library.manifest(place.name),
                    SessionStateText.protection(of: place.name, in: place.library),
                    isComplete: !finder.isIncomplete)
            }
            try finder.checkComplete()
        }
    }

    /// - Parameters:
    ///   - protection: the part of the state about it.
    ///   - isComplete: whether every archive was read.
    private func show(
        _ shown: SessionDetails, _ report: SessionReport, _ manifest: SessionManifest,
        _ protection: String, isComplete: Bool
    ) {
        let state = SessionStateText.of(
            shown.state, isCollectorRunning: shown.isCollectorRunning)
        print("session   \(report.session)")
        if let name = shown.name { print("name      \(oneLine(name))") }
        if !shown.tags.isEmpty {
            print("tags      \(oneLine(shown.tags.joined(separator: ", ")))")
        }
        for (index, line) in (shown.note ?? "").split(separator: "\n").enumerated() {
            print("\(index == 0 ? "note      " : "          ")\(oneLine(String(line)))")
        }
        print("zero      \(manifest.zero)")
        print(
            "state     \(state)\(protection)"
        )
        let segment = TimeSpan(nanoseconds: manifest.segmentNanoseconds)
        print("segments  every \(segment), zero at \(manifest.startAt.rawValue)")
        print("software  \(manifest.software)")
        if let whole = shown.whole {
            print(
                "part of   \(oneLine(whole.session)): its zero is "
                    + "\(ClockText.duration(whole.offsetNanoseconds)) ± "
                    + "\(ClockText.duration(Int64(clamping: whole.boundNanoseconds))) after that one's; "
                    + "give the archive that has it with another --archive")
        }
        for (index, line) in HeldText.lines(report.archives ?? []).enumerated() {
            print("\(index == 0 ? "archives  " : "          ")\(line)")
        }
        let previews = SourcePreviews(report.sources.map(\.name))
        for source in previews.grouped(report.sources, name: \.name) {
            print("")
            show(
                source, previewOf: previews.source(of: source.name),
                manifest.sources.first { $0.name == source.name }, zero: manifest.zeroTime,
                findings: report.findings, isComplete: isComplete,
                isAlone: report.archives == nil)
        }
        let absent = manifest.sources.map(\.name).filter { name in
            !report.sources.contains { $0.name == name }
        }
        for name in absent {
            print("")
            print("\(name): no recording")
        }
        let others = report.findings.filter { finding in
            finding.severity.isDamage
                && !report.sources.contains { Self.isAbout($0.name, finding) }
        }
        if !others.isEmpty { print("") }
        for finding in others { print(ReportText.line(finding)) }
        if let line = SideBySide.line(report) {
            print("")
            print(line)
        }
    }

    private func show(
        _ source: SessionReport.Source, previewOf main: String?,
        _ entry: SessionManifest.Source?, zero: UTCTime, findings: [Finding],
        isComplete: Bool, isAlone: Bool
    ) {
        let from = entry.map { " from \($0.agent) at \($0.address)" } ?? ""
        let role = main.map { ", preview of \($0)" } ?? ""
        print("\(source.name)\(role)\(from)\(source.isComplete ? "" : ", not ended")")
        for format in entry?.tracks ?? [] { print("  \(format)") }
        var table = Table(
            [
                "  SEGMENT", "STATE", "BEGINS", "ENDS", "PICTURES", "SOUND", "SIZE", "CLOCK ±",
                "FORMAT",
            ],
            rightAligned: [2, 3, 4, 5, 6, 7])
        for file in source.files { table.add(Self.row(file)) }
        table.lines().forEach { print($0) }
        show(source.clock, source.files)
        let findings = findings.filter { Self.isAbout(source.name, $0) }
        GapText.lines(
            source.gaps, removed: source.removed ?? [], zero: zero, isComplete: isComplete,
            isDamaged: findings.contains { $0.severity == .damage }, isAlone: isAlone
        ).forEach { print("  \($0)") }
        HeldText.lines(source.held ?? []).forEach { print("  \($0)") }
        for finding in findings {
            switch finding.severity {
            case .note:
                // Notes about the source's files are those of 'verify'.
                guard Path.name(of: finding.path) == source.name else { continue }
                print("  \(oneLine(finding.text))")
            case .damage, .timeDamage: print(ReportText.line(finding))
            }
        }
        if let copies = source.copies {
            print("  \(copies) records are copies in another archive, each read once")
        }
    }

    /// Whether a finding is about a source's directory, or a file in it.
    private static func isAbout(_ source: String, _ finding: Finding) -> Bool {
        [finding.path, Path.directory(of: finding.path)].contains { Path.name(of: $0) == source }
    }

    private static func row(_ file: FileReport) -> [String] {
        let name = Path.name(of: file.path)
        let origin = file.originSeconds ?? 0
        let start = file.tracks.map(\.startSeconds).min() ?? 0
        let end = file.tracks.map(\.endSeconds).max() ?? 0
        func samples(_ kind: String) -> String {
            file.tracks.first { $0.kind == kind }.map { "\($0.samples)" } ?? "-"
        }
        // A bound of 0 is not a bound: it comes from no clock exchange.
        let bound = file.clockBoundMilliseconds.max().flatMap { $0 > 0 ? $0 : nil }
        return [
            "  \(name)", file.isIntact ? file.state.rawValue : "DAMAGED",
            Self.seconds(origin + start), Self.seconds(origin + end), samples("video"),
            samples("audio"), "\(ByteCount(Int64(file.sizeBytes)))",
            bound.map { "\(Self.milliseconds($0)) ms" } ?? "–",
            file.tracks.map(\.format).joined(separator: ", "),
        ]
    }

    private func show(_ clock: ClockSummary, _ files: [FileReport]) {
        for epoch in clock.epochs {
            let offset = epoch.offsetNanoseconds
            let skew = epoch.skewPartsPerBillion
            let bound = epoch.boundNanoseconds
            guard epoch.exchanges > 0 || bound.greatest > 0 else {
                print(
                    "  clock \(epoch.identity.prefix(8)): – (not measured: a replay or an import)")
                continue
            }
            print(
                "  clock \(epoch.identity.prefix(8)): offset \(ClockText.duration(offset.median)), "
                    + "skew \(ClockText.skew(skew.median)), error bound "
                    + "\(ClockText.duration(bound.least)) to \(ClockText.duration(bound.greatest)), "
                    + "median \(ClockText.duration(bound.median)), from \(epoch.exchanges) exchanges"
            )
        }
        for jump in clock.discontinuities {
            let when = jump.startNanoseconds.map { " from \(Self.seconds(Double($0) / 1e9))" }
            let distance = jump.offsetNanoseconds.map { " by \(ClockText.duration($0))" } ?? ""
            print("  discontinuity\(when ?? "")\(distance)")
        }
        if clock.rejectedExchanges > 0 || clock.outlyingExchanges > 0 {
            print(
                "  clock exchanges rejected: \(clock.rejectedExchanges) invalid, "
                    + "\(clock.outlyingExchanges) outliers")
        }
        for stated in clock.stated ?? [] { print("  \(StatedText.line(stated))") }
        let retimed = files.compactMap(\.retiming)
        if let least = retimed.map(\.boundAfter.leastNanoseconds).min(),
            let greatest = retimed.map(\.boundAfter.greatestNanoseconds).max()
        {
            print(
                "  retimed, \(retimed.count) of \(files.count) segments: error bound now "
                    + "\(ClockText.duration(Int64(clamping: least))) to "
                    + "\(ClockText.duration(Int64(clamping: greatest)))")
        }
        let cameras = retimed.compactMap(\.camera)
        if let greatest = cameras.map(\.greatestShiftNanoseconds).max() {
            print(
                "  by the camera's timestamps: \(cameras.reduce(0) { $0 + $1.samples }) samples, "
                    + "moved by \(ClockText.duration(Int64(clamping: greatest))) at most")
        }
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
