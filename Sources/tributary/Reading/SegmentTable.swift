import Library
import Recordings
import Terminal

/// A session's segments as a table of time ranges.
enum SegmentTable {
    static func lines(_ segments: [SegmentListing]) -> [String] {
        var table = Table(
            ["SOURCE", "BEGINS (UTC)", "ENDS (UTC)", "LASTS", "SIZE", "SEGMENT"],
            rightAligned: [3, 4])
        for segment in segments {
            table.add([
                segment.source, text(segment.start), text(segment.end), length(segment),
                "\(ByteCount(Int64(clamping: segment.sizeBytes)))", segment.segment,
            ])
        }
        return table.lines()
    }

    private static func text(_ instant: String?) -> String {
        instant.map { String($0.replacing("T", with: " ").dropLast()) } ?? "–"
    }

    private static func length(_ segment: SegmentListing) -> String {
        guard let start = segment.startNanoseconds, let end = segment.endNanoseconds else {
            return "–"
        }
        let (length, overflow) = end.subtractingReportingOverflow(start)
        return overflow ? "–" : InstantText.seconds(length)
    }
}
