package import Archive
import Media
import Recordings

/// Recorded spans and gaps of a source in a range of a session, for timelines.
package struct SourceCoverage: Hashable, Encodable, Sendable {
    /// A time in which there are samples, nanoseconds of session time.
    package struct Span: Hashable, Encodable, Sendable {
        package var startNanoseconds: Int64
        package var endNanoseconds: Int64
        /// It ends at the present end of the recording.
        package var isGrowing: Bool
    }

    /// Gaps of one cause, merged within the resolution.
    package struct Gap: Hashable, Encodable, Sendable {
        package var cause: String
        /// Nil: of several tracks, or of all.
        package var track: String?
        package var startNanoseconds: Int64
        package var endNanoseconds: Int64
        /// Number of losses. Ledger lines about the same time count as one loss, whatever their tracks.
        package var count: UInt64
        /// The known part of them.
        package var samples: UInt64
    }

    /// Gaps of one cause at an unknown time.
    package struct UnplacedGap: Hashable, Encodable, Sendable {
        package var cause: String
        package var count: UInt64
        package var samples: UInt64
    }

    /// Records in the archive of a collector that is not read: neither recorded here nor missing.
    package struct Held: Hashable, Encodable, Sendable {
        /// The collector's name.
        package var collector: String
        /// From the end of the previous to the start of the next recorded sample; nil without one.
        package var startNanoseconds: Int64?
        package var endNanoseconds: Int64?
        /// Number of records, including those without samples.
        package var records: UInt64
    }

    /// The times that a network camera states, from an instant on until the next one.
    package struct Stated: Hashable, Encodable, Sendable {
        package var startNanoseconds: Int64
        /// Stated less recorded times, the median.
        package var offsetNanoseconds: Int64
        /// The greatest stated time less the arrival of its packets; positive: the camera's clock is ahead by at least as much.
        package var aheadNanoseconds: Int64
    }

    /// The recorded ranges in the archive of one of several collectors.
    package struct Copy: Hashable, Encodable, Sendable {
        package struct Span: Hashable, Encodable, Sendable {
            package var startNanoseconds: Int64
            package var endNanoseconds: Int64
        }

        /// The collector's name; the archive's number if it is unknown.
        package var collector: String
        /// In the order of time, without overlaps.
        package var recorded: [Span]
    }

    package var source: String
    /// The main source, if this is a preview. Nil for a main source, or if previews were not requested.
    package var previewOf: String?
    /// In the order of time, without overlaps.
    package var recorded: [Span]
    /// By cause, then in the order of time.
    package var missing: [Gap]
    /// By cause.
    package var unplaced: [UnplacedGap]
    /// By collector.
    package var held: [Held]
    /// By collector; nil: one archive has all of the session.
    package var copies: [Copy]?
    /// In the order of time; nil: none is known.
    package var stated: [Stated]?
}

extension SourceCoverage {
    /// Files of one source that follow each other are one span, although the last sample of the one and the first of the other
    /// are half a picture apart.
    static let jointNanoseconds: Int64 = 100_000_000
    /// Lines of one loss are adjacent, except for rounding.
    private static let touchNanoseconds: Int64 = 1_000_000
    /// Pauses shorter than a picture at 50 pictures per second are not gaps: the next picture came in time. A length
    /// of 0 means that the end is unknown.
    private static let shortestNanoseconds: Int64 = 20_000_000

    static func areJoined(_ end: Int64, _ start: Int64) -> Bool {
        start.clampedSubtracting(end) <= jointNanoseconds
    }

    /// Limit of spans, and of gaps of one cause: more than a screen can show.
    package static let maximumParts = 10_000

    /// - Parameters:
    ///   - files: spans of each file, in any order.
    ///   - range: session time, nanoseconds; the rest is omitted.
    ///   - resolutionNanoseconds: closer spans are merged.
    ///   - isForDrawing: the range has at most ``maximumParts`` parts of each kind.
    init(
        _ source: String, files: [Span], gaps: [RecordedGap], held: [HeldRecords] = [],
        stated lines: [LedgerEntry] = [], copies: [CopiedSpans]? = nil, range: Range<Int64>,
        resolutionNanoseconds: Int64,
        isForDrawing: Bool = true
    ) {
        self.source = source
        self.held = held.filter {
            $0.endNanoseconds ?? .max > range.lowerBound
                && $0.startNanoseconds ?? .min < range.upperBound
        }.map {
            Held(
                collector: $0.collector, startNanoseconds: $0.startNanoseconds,
                endNanoseconds: $0.endNanoseconds, records: $0.records)
        }
        stated = Self.stated(lines, in: range)
        let part =
            range.upperBound.clampedSubtracting(range.lowerBound) / Int64(Self.maximumParts)
        let step = max(resolutionNanoseconds, 0, isForDrawing ? part : 0)
        self.copies = copies.map { Self.copies($0, in: range, max(step, Self.jointNanoseconds)) }
        var byCause: [String: [Gap]] = [:]
        var unplaced: [String: UnplacedGap] = [:]
        var holes: [Range<Int64>] = []
        for gap in gaps {
            guard let start = gap.startNanoseconds else {
                var sum = unplaced[gap.cause] ?? .init(cause: gap.cause, count: 0, samples: 0)
                sum.count += 1
                sum.samples = sum.samples.clampedAdding(gap.samples)
                unplaced[gap.cause] = sum
                continue
            }
            let end = start.clampedAdding(gap.durationNanoseconds)
            guard end >= range.lowerBound, start < range.upperBound else { continue }
            byCause[gap.cause, default: []].append(
                Gap(
                    cause: gap.cause, track: gap.track?.description,
                    startNanoseconds: max(start, range.lowerBound),
                    endNanoseconds: min(end, range.upperBound), count: 1, samples: gap.samples))
            // Without pictures there is a hole, even with sound.
            if gap.track != .audio, start < end, gap.samples > 0 || !Self.isShort(end - start) {
                holes.append(start..<end)
            }
        }
        // One file may contain audio from before and after the held range.
        holes += held.compactMap { held in
            guard let start = held.startNanoseconds, let end = held.endNanoseconds, start < end
            else { return nil }
            return start..<end
        }
        missing = byCause.sorted { $0.key < $1.key }.flatMap { Self.merged($0.value, step) }
        self.unplaced = unplaced.values.sorted { $0.cause < $1.cause }
        recorded = Self.without(
            holes, Self.merged(files, max(step, Self.jointNanoseconds)), step
        ).compactMap { span in
            let start = max(span.startNanoseconds, range.lowerBound)
            let end = min(span.endNanoseconds, range.upperBound)
            guard start < end else { return nil }
            return Span(
                startNanoseconds: start, endNanoseconds: end,
                isGrowing: span.isGrowing && end == span.endNanoseconds)
        }
    }

    private static func copies(
        _ copies: [CopiedSpans], in range: Range<Int64>, _ step: Int64
    ) -> [Copy] {
        Dictionary(grouping: copies, by: \.collector).sorted { $0.key < $1.key }
            .compactMap { collector, files in
                let spans = files.flatMap(\.spans).map {
                    Span(
                        startNanoseconds: $0.lowerBound, endNanoseconds: $0.upperBound,
                        isGrowing: false)
                }
                let recorded = merged(spans, step).compactMap { span -> Copy.Span? in
                    let start = max(span.startNanoseconds, range.lowerBound)
                    let end = min(span.endNanoseconds, range.upperBound)
                    return start < end
                        ? Copy.Span(startNanoseconds: start, endNanoseconds: end) : nil
                }
                return recorded.isEmpty ? nil : Copy(collector: collector, recorded: recorded)
            }
    }

    /// Stated times that apply to a range, from the last ledger line at or before its start.
    private static func stated(_ lines: [LedgerEntry], in range: Range<Int64>) -> [Stated]? {
        let all = lines.compactMap { line -> Stated? in
            guard let start = line.startNanoseconds, let offset = line.offsetNanoseconds,
                let ahead = line.aheadNanoseconds, start < range.upperBound
            else { return nil }
            return Stated(
                startNanoseconds: start, offsetNanoseconds: offset, aheadNanoseconds: ahead)
        }.sorted { $0.startNanoseconds < $1.startNanoseconds }
        let first = all.lastIndex { $0.startNanoseconds <= range.lowerBound } ?? 0
        return all.isEmpty ? nil : Array(all[first...].suffix(maximumParts))
    }

    private static func merged(_ spans: [Span], _ step: Int64) -> [Span] {
        var merged: [Span] = []
        for span in spans.sorted(by: { $0.startNanoseconds < $1.startNanoseconds }) {
            if let last = merged.indices.last,
                span.startNanoseconds.clampedSubtracting(merged[last].endNanoseconds) <= step
            {
                if span.endNanoseconds >= merged[last].endNanoseconds {
                    merged[last].endNanoseconds = span.endNanoseconds
                    merged[last].isGrowing = span.isGrowing
                }
            } else {
                merged.append(span)
            }
        }
        return merged
    }

    private static func isShort(_ length: Int64) -> Bool { length < shortestNanoseconds }

    /// Losses of one cause: one for each time without samples, although each track has its own lines, and a stop has one for
    /// its beginning and one for its end.
    private static func losses(_ lines: [Gap]) -> [Gap] {
        joined(lines, within: Self.touchNanoseconds) { _ in 0 }.filter {
            let length = $0.endNanoseconds.clampedSubtracting($0.startNanoseconds)
            return $0.samples > 0 || length == 0 || !Self.isShort(length)
        }
    }

    private static func merged(_ gaps: [Gap], _ step: Int64) -> [Gap] {
        joined(losses(gaps), within: step, counting: \.count)
    }

    /// - Parameter counting: the number of gaps that a joined one adds.
    private static func joined(
        _ gaps: [Gap], within distance: Int64, counting: (Gap) -> UInt64
    ) -> [Gap] {
        var joined: [Gap] = []
        for gap in gaps.sorted(by: { $0.startNanoseconds < $1.startNanoseconds }) {
            guard let last = joined.indices.last,
                gap.startNanoseconds.clampedSubtracting(joined[last].endNanoseconds) <= distance
            else {
                joined.append(gap)
                continue
            }
            joined[last].endNanoseconds = max(joined[last].endNanoseconds, gap.endNanoseconds)
            joined[last].count += counting(gap)
            joined[last].samples = joined[last].samples.clampedAdding(gap.samples)
            if joined[last].track != gap.track { joined[last].track = nil }
        }
        return joined
    }

    /// Spans without the holes in them that can be shown.
    private static func without(
        _ holes: [Range<Int64>], _ spans: [Span], _ step: Int64
    ) -> [Span] {
        let holes = holes.filter { $0.upperBound.clampedSubtracting($0.lowerBound) > step }
            .sorted { $0.lowerBound < $1.lowerBound }
        var result: [Span] = []
        var next = holes[...]
        for span in spans {
            var start = span.startNanoseconds
            while let hole = next.first, hole.lowerBound < span.endNanoseconds {
                if hole.lowerBound > start {
                    result.append(
                        Span(
                            startNanoseconds: start, endNanoseconds: hole.lowerBound,
                            isGrowing: false))
                }
                start = max(start, hole.upperBound)
                // It may continue in the next span.
                guard hole.upperBound <= span.endNanoseconds else { break }
                next = next.dropFirst()
            }
            if start < span.endNanoseconds {
                result.append(
                    Span(
                        startNanoseconds: start, endNanoseconds: span.endNanoseconds,
                        isGrowing: span.isGrowing))
            }
        }
        return result
    }
}

extension RecordingLibrary {
    /// Recorded spans and gaps of a session's sources.
    /// - Parameters:
    ///   - sources: nil: all.
    ///   - range: session time, nanoseconds.
    ///   - resolutionNanoseconds: closer spans are merged; the result has at most ``SourceCoverage/maximumParts`` parts of
    ///     each kind.
    package func coverage(
        of session: String, sources: [String]? = nil, in range: Range<Int64>,
        resolutionNanoseconds: Int64
    ) throws(ArchiveError) -> [SourceCoverage] {
        try lanes(of: session, in: range, remembering: nil) { sources?.contains($0) ?? true }
            .coverage(in: range, resolutionNanoseconds: resolutionNanoseconds)
    }

    /// Coverage of a range that is drawn in this number of columns.
    /// - Parameters:
    ///   - from: nil: the start of the first source.
    ///   - until: nil: the end of the last source.
    ///   - memory: cache of earlier calls; nil: none.
    ///   - isWanted: sources that the result may contain.
    package func coverage(
        of session: String, sources: [String]?, from: Int64?, until: Int64?, pixels: Int,
        remembering memory: CoverageMemory? = nil, where isWanted: (String) -> Bool
    ) throws(ArchiveError) -> [SourceCoverage] {
        let asked = (from ?? .min)..<max(from ?? .min, until ?? .max)
        let lanes = try lanes(of: session, in: asked, remembering: memory) {
            isWanted($0) && sources?.contains($0) ?? true
        }
        var range = asked
        if from == nil || until == nil {
            let whole = lanes.coverage(in: asked, resolutionNanoseconds: 0)
            let starts = whole.compactMap(\.recorded.first?.startNanoseconds)
            let ends = whole.compactMap(\.recorded.last?.endNanoseconds)
            let start = from ?? starts.min() ?? 0
            range = start..<max(start, until ?? ends.max() ?? start)
        }
        let length = range.upperBound.clampedSubtracting(range.lowerBound)
        var answer = lanes.coverage(
            in: range, resolutionNanoseconds: length / Int64(max(1, pixels)))
        let previews = SourcePreviews(try sourceNames(session).filter(isWanted))
        for index in answer.indices {
            answer[index].previewOf = previews.source(of: answer[index].source)
        }
        return answer
    }
}
