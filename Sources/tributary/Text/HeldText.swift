import Archive
import Media
import Terminal

/// Records in other archives, as lines of text.
enum HeldText {
    /// A line for each collector that holds records of a source.
    static func lines(_ held: [HeldRecords]) -> [String] {
        held.map { held in
            let ranges = held.ranges.prefix(3).map { range in
                range.first == range.last
                    ? "\(range.first ?? 0)" : "\(range.first ?? 0) to \(range.last ?? 0)"
            }.joined(separator: ", ")
            let more = held.ranges.count > 3 ? ", …" : ""
            return
                "held by \(oneLine(held.collector)): \(held.records) records (\(ranges)\(more)), "
                + "not lost; give its archive with another --archive to read them"
        }
    }

    /// A line for each archive that was read.
    static func lines(_ archives: [SessionReport.Part]) -> [String] {
        archives.enumerated().map { index, archive in
            let name = oneLine(archive.name)
            let place = name == oneLine(archive.place) ? "" : " (\(oneLine(archive.place)))"
            let time =
                index == 0
                ? "its zero is the session's"
                : "times moved by \(ClockText.duration(archive.shiftNanoseconds)) ± "
                    + ClockText.duration(Int64(clamping: archive.boundNanoseconds))
                    + (archive.skewPartsPerBillion.map { ", growing by \(ClockText.skew($0))" }
                        ?? "")
                    + (archive.isMeasured
                        ? ""
                        : ", by the stored zeros: not synchronous, because the collectors' clocks were not compared")
            let part = archive.session.map { ", its session \(oneLine($0))" } ?? ""
            return "\(name)\(place)\(part): \(archive.recordedSamples) records, \(time)"
        }
    }

    /// The part of a verdict about copies, and about records at other collectors; may be empty.
    static func summary(_ session: SessionReport) -> String {
        var parts: [String] = []
        if session.archives != nil {
            let copies = session.sources.lazy.compactMap(\.copies).clampedSum
            parts.append("\(copies) records are copies in another archive")
        }
        var held: [String: UInt64] = [:]
        for part in session.sources.flatMap({ $0.held ?? [] }) {
            held[part.collector, default: 0].addClamped(part.records)
        }
        for (collector, records) in held.sorted(by: { $0.key < $1.key }) {
            parts.append("\(records) records are held by \(oneLine(collector))")
        }
        return parts.map { "; \($0)" }.joined()
    }
}
