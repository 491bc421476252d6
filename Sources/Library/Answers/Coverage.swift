package import Archive
import Media

/// What of a source is recorded, and what is missing, in a part of a session: what a timeline shows.
package struct SourceCoverage: Hashable, Encodable, Sendable {
    /// A time in which there are samples, nanoseconds of session time.
    package struct Span: Hashable, Encodable, Sendable {
        package var startNanoseconds: Int64
        package var endNanoseconds: Int64
        /// It ends where the recording has got to.
        package var isGrowing: Bool
    }

    /// Gaps of one cause that are closer to each other than can be shown.
    package struct Gap: Hashable, Encodable, Sendable {
        package var cause: String
        /// Nil: of several tracks, or of all.
        package var track: String?
        package var startNanoseconds: Int64
        package var endNanoseconds: Int64
        /// Ledger lines.
        package var count: UInt64
        /// As far as they are known.
        package var samples: UInt64
    }

    /// Gaps of one cause whose place on the timeline nobody knows.
    package struct UnplacedGap: Hashable, Encodable, Sendable {
        package var cause: String
        package var count: UInt64
        package var samples: UInt64
    }

    package var source: String
    /// In the order of time, without overlaps.
    package var recorded: [Span]
    /// By cause, then in the order of time.
    package var missing: [Gap]
    /// By cause.
    package var unplaced: [UnplacedGap]
}

extension SourceCoverage {
    /// Files of one source that follow each other are one span, although the last sample of the one and the first of the other
    /// are half a picture apart.
    private static let jointNanoseconds: Int64 = 100_000_000
    /// Most spans, and most gaps of one cause: more than anybody can see.
    package static let maximumParts = 10_000

    /// - Parameters:
    ///   - files: what each file has, in any order.
    ///   - range: nanoseconds of session time; the rest is left out.
    ///   - resolutionNanoseconds: what is closer together than this is one.
    init(
        _ source: String, files: [Span], gaps: [RecordedGap], range: Range<Int64>,
        resolutionNanoseconds: Int64
    ) {
        self.source = source
        let step = max(
            resolutionNanoseconds, 0,
            range.upperBound.clampedSubtracting(range.lowerBound) / Int64(Self.maximumParts))
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
            // Where pictures are missing, nothing is to be seen, whatever is to be heard.
            if gap.track != .audio, start < end { holes.append(start..<end) }
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

    private static func merged(_ gaps: [Gap], _ step: Int64) -> [Gap] {
        var merged: [Gap] = []
        for gap in gaps.sorted(by: { $0.startNanoseconds < $1.startNanoseconds }) {
            guard let last = merged.indices.last,
                gap.startNanoseconds.clampedSubtracting(merged[last].endNanoseconds) <= step
            else {
                merged.append(gap)
                continue
            }
            merged[last].endNanoseconds = max(merged[last].endNanoseconds, gap.endNanoseconds)
            merged[last].count += 1
            merged[last].samples = merged[last].samples.clampedAdding(gap.samples)
            if merged[last].track != gap.track { merged[last].track = nil }
        }
        return merged
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
                // It may go on in the next span.
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
    /// What is recorded and what is missing of a session's sources.
    /// - Parameters:
    ///   - sources: nil: all.
    ///   - range: nanoseconds of session time.
    ///   - resolutionNanoseconds: what is closer together than this is one; the answer has at most
    ///     ``SourceCoverage/maximumParts`` parts of each kind.
    package func coverage(
        of session: String, sources: [String]? = nil, in range: Range<Int64>,
        resolutionNanoseconds: Int64
    ) throws(ArchiveError) -> [SourceCoverage] {
        try lanes(of: session, in: range) { sources?.contains($0) ?? true }.map {
            $0.coverage(in: range, resolutionNanoseconds: resolutionNanoseconds)
        }
    }

    /// The same for a part of the timeline that is drawn in so many columns.
    /// - Parameters:
    ///   - from: nil: where the first of the sources begins.
    ///   - until: nil: where the last of them ends.
    ///   - isWanted: sources that may be told of.
    package func coverage(
        of session: String, sources: [String]?, from: Int64?, until: Int64?, pixels: Int,
        where isWanted: (String) -> Bool
    ) throws(ArchiveError) -> [SourceCoverage] {
        let asked = (from ?? .min)..<max(from ?? .min, until ?? .max)
        let lanes = try lanes(of: session, in: asked) {
            isWanted($0) && sources?.contains($0) ?? true
        }
        var range = asked
        if from == nil || until == nil {
            let whole = lanes.map { $0.coverage(in: asked, resolutionNanoseconds: 0) }
            let starts = whole.compactMap(\.recorded.first?.startNanoseconds)
            let ends = whole.compactMap(\.recorded.last?.endNanoseconds)
            let start = from ?? starts.min() ?? 0
            range = start..<max(start, until ?? ends.max() ?? start)
        }
        let length = range.upperBound.clampedSubtracting(range.lowerBound)
        return lanes.map {
            $0.coverage(in: range, resolutionNanoseconds: length / Int64(max(1, pixels)))
        }
    }

    /// What is known of a source, from which any part of it can be drawn.
    private struct Lane {
        var source: String
        var files: [SourceCoverage.Span]
        var gaps: [RecordedGap]

        func coverage(in range: Range<Int64>, resolutionNanoseconds: Int64) -> SourceCoverage {
            SourceCoverage(
                source, files: files, gaps: gaps, range: range,
                resolutionNanoseconds: resolutionNanoseconds)
        }
    }

    private func lanes(
        of session: String, in range: Range<Int64>, where isWanted: (String) -> Bool
    ) throws(ArchiveError) -> [Lane] {
        let recording = try recording(session)
        let isGrowing = recording.isFinished ? false : try isCollectorRunning()
        let known = try finishedEnds(of: session)
        var lanes: [Lane] = []
        for source in recording.sources where isWanted(source.name) {
            var spans: [SourceCoverage.Span] = []
            for (index, file) in source.files.enumerated() {
                guard file.originNanoseconds < range.upperBound else { break }
                if index + 1 < source.files.count,
                    source.files[index + 1].originNanoseconds
                        < range.lowerBound.clampedSubtracting(RecordedSession.overlapNanoseconds)
                {
                    continue
                }
                if let key = file.key, let end = known[key] {
                    // Names say origins to the millisecond, and nothing is recorded before the session's zero.
                    spans.append(
                        .init(
                            startNanoseconds: max(0, file.originNanoseconds), endNanoseconds: end,
                            isGrowing: false))
                } else if let span = try Self.span(of: file, isGrowing: isGrowing) {
                    spans.append(span)
                }
            }
            lanes.append(Lane(source: source.name, files: spans, gaps: try source.gaps()))
        }
        return lanes
    }

    /// Ends of finished segments, as far as the catalog has them; nanoseconds of session time.
    private func finishedEnds(
        of session: String
    ) throws(ArchiveError) -> [SegmentKey: Int64] {
        let rows = try askCatalog { catalog throws(ArchiveError) in
            try catalog.segments(of: session, from: nil, until: nil)
        }
        var ends: [SegmentKey: Int64] = [:]
        for row in rows ?? [] {
            let owner = SourceKey(session: session, source: row.source)
            guard let end = row.endNanoseconds,
                let key = SegmentKey(owner, fileName: row.file)
            else { continue }
            ends[key] = end
        }
        return ends
    }

    private static func span(
        of file: RecordedSource.File, isGrowing: Bool
    ) throws(ArchiveError) -> SourceCoverage.Span? {
        do throws(ArchiveError) {
            let opened = try file.opened()
            return try RecordedSpan(of: opened).map { span in
                SourceCoverage.Span(
                    startNanoseconds: span.startNanoseconds, endNanoseconds: span.endNanoseconds,
                    isGrowing: isGrowing && !opened.isFinished)
            }
        } catch {
            // A file that is damaged or was removed meanwhile shows nothing; `verify` says what is wrong with it.
            if case .malformed = error { return nil }
            if error.isForAbsence { return nil }
            throw error
        }
    }
}

extension RecordedSession {
    /// Sound may go on in a file after the next one has begun, as long as this.
    static var overlapNanoseconds: Int64 { 10_000_000_000 }
}
