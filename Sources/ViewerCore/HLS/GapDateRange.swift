import Archive
import Library
import Media
import Recordings

/// A gap of the ledger, or several that are near each other, as `EXT-X-DATERANGE` (draft-pantos-hls-rfc8216bis §4.4.5.1).
struct GapDateRange: Hashable, Sendable {
    static let className = "org.tributary.gap"
    /// First distance below which gaps are joined; doubled until the list fits.
    private static let nearestNanoseconds: Int64 = 50_000_000
    /// Maximum length of a cause, which is a few words.
    private static let maximumCauseBytes = 64

    /// Nil: all tracks, or different ones.
    var track: TrackKind?
    /// Nanoseconds of session time.
    var startNanoseconds: Int64
    var durationNanoseconds: Int64
    /// 0 if unknown.
    var samples: UInt64
    var cause: String
    /// Empty: none, or different ones.
    var text: String
    /// Gaps of the ledger.
    var count = 1

    /// `nil` for a gap at an unknown time: a date range has a date.
    init?(_ gap: RecordedGap) {
        guard let start = gap.startNanoseconds else { return nil }
        track = gap.track
        startNanoseconds = start
        durationNanoseconds = max(0, gap.durationNanoseconds)
        samples = gap.samples
        cause = gap.cause
        text = gap.text
    }

    var endNanoseconds: Int64 { startNanoseconds.clampedAdding(durationNanoseconds) }

    /// A hash of the gap (FNV-1a, 64 bits), equal in all lists and processes.
    var fingerprint: UInt64 {
        let key =
            "\(track?.description ?? "")|\(startNanoseconds)|\(durationNanoseconds)|\(samples)|"
            + "\(count)|\(cause)|\(text)"
        return key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// The tag, without a line feed.
    func tag(id: String, zero: UTCTime) -> String {
        var attributes = AttributeList()
        attributes.add("ID", quoted: id)
        attributes.add("CLASS", quoted: Self.className)
        attributes.add("START-DATE", quoted: zero.advanced(by: startNanoseconds).description)
        attributes.add("DURATION", microseconds: microseconds(durationNanoseconds))
        let cause = quotedText(cause, maximumBytes: Self.maximumCauseBytes)
        if !cause.isEmpty { attributes.add("X-CAUSE", quoted: cause) }
        attributes.add("X-SAMPLES", integer: samples)
        if let track { attributes.add("X-TRACK", quoted: track.description) }
        if count > 1 { attributes.add("X-COUNT", integer: count) }
        let text = quotedText(text, maximumBytes: AttributeList.maximumQuotedBytes)
        if !text.isEmpty { attributes.add("X-TEXT", quoted: text) }
        return "#EXT-X-DATERANGE:" + attributes.text
    }

    /// At most `maximum` ranges: if there are more, near ranges of one cause are joined.
    /// - Parameter ranges: in the order of time.
    static func merged(_ ranges: [GapDateRange], maximum: Int) -> [GapDateRange] {
        var result = ranges
        var distance = nearestNanoseconds
        while result.count > maximum, distance < .max {
            result = joined(result, distance)
            distance = distance.clampedMultiplied(by: 2)
        }
        guard result.count > maximum else { return result }
        // More causes than listed ranges: keeps the longest gaps.
        let longest = result.sorted { $0.durationNanoseconds > $1.durationNanoseconds }
        return longest.prefix(max(0, maximum)).sorted {
            $0.startNanoseconds < $1.startNanoseconds
        }
    }

    private static func joined(_ ranges: [GapDateRange], _ distance: Int64) -> [GapDateRange] {
        var result: [GapDateRange] = []
        var latest: [String: Int] = [:]
        for range in ranges {
            if let index = latest[range.cause],
                range.startNanoseconds.clampedSubtracting(result[index].endNanoseconds) <= distance
            {
                result[index].join(range)
            } else {
                latest[range.cause] = result.count
                result.append(range)
            }
        }
        return result
    }

    private mutating func join(_ other: GapDateRange) {
        let end = max(endNanoseconds, other.endNanoseconds)
        durationNanoseconds = end.clampedSubtracting(startNanoseconds)
        samples = samples.clampedAdding(other.samples)
        count += other.count
        if track != other.track { track = nil }
        if text != other.text { text = "" }
    }
}

/// The date ranges of a playlist, each listed once.
///
/// A listed range does not change: the attributes of an ID must not change (draft-pantos-hls-rfc8216bis §4.4.5.1).
struct GapDateRanges: Sendable {
    /// Limit of ranges in a playlist: 250 kB.
    static let maximum = 1_000

    /// Number of additions of each gap, by fingerprint.
    private var taken: [UInt64: Int] = [:]
    /// Number of uses of each ID, by fingerprint.
    private var given: [UInt64: Int] = [:]
    /// Date ranges that are not listed yet, by descending time.
    private var waiting: [GapDateRange] = []
    /// Number of added ranges.
    private var count = 0
    /// Number of processed ledger lines.
    private var lines = 0

    /// Adds new gaps.
    /// - Parameters:
    ///   - gaps: all gaps of the ledger, which is only appended to.
    ///   - isComplete: no more gaps will follow; otherwise, space is reserved for them.
    mutating func take(_ gaps: [RecordedGap], isComplete: Bool) {
        guard gaps.count != lines else { return }
        lines = gaps.count
        var seen: [UInt64: Int] = [:]
        var new: [GapDateRange] = []
        for gap in gaps {
            guard let range = GapDateRange(gap) else { continue }
            let fingerprint = range.fingerprint
            let number = (seen[fingerprint] ?? 0) + 1
            seen[fingerprint] = number
            if number > taken[fingerprint] ?? 0 {
                taken[fingerprint] = number
                new.append(range)
            }
        }
        new.sort { $0.startNanoseconds < $1.startNanoseconds }
        let room = max(0, Self.maximum - count)
        let merged = GapDateRange.merged(new, maximum: isComplete ? room : (room + 1) / 2)
        count += merged.count
        waiting = (waiting + merged).sorted { $0.startNanoseconds > $1.startNanoseconds }
    }

    /// Tags of the unlisted date ranges that start at or before a session time, each with a line feed.
    mutating func takeTags(upTo nanoseconds: Int64, zero: UTCTime) -> String {
        var text = ""
        while let range = waiting.last, range.startNanoseconds <= nanoseconds {
            waiting.removeLast()
            let fingerprint = range.fingerprint
            let number = (given[fingerprint] ?? 0) + 1
            given[fingerprint] = number
            let digits = String(fingerprint, radix: 16)
            var id = "gap-" + String(repeating: "0", count: 16 - digits.count) + digits
            // Two lines of a ledger may be equal.
            if number > 1 { id += "-\(number)" }
            text += range.tag(id: id, zero: zero)
            text += "\n"
        }
        return text
    }
}
