import Archive
import Catalog
import Media
import Recordings

/// Recorded times of a source, over all sessions in a range.
package struct SourceRecord: Hashable, Encodable, Sendable {
    /// A time with samples in one session, nanoseconds since 1970 (UTC).
    package struct Span: Hashable, Encodable, Sendable {
        package var session: String
        /// RFC 3339.
        package var start: String
        package var end: String

        fileprivate init(_ session: String, _ range: Range<Int64>) {
            self.session = session
            start = UTCTime(nanoseconds: range.lowerBound).description
            end = UTCTime(nanoseconds: range.upperBound).description
        }
    }

    package var source: String
    /// The main source, if this is a preview; nil for a main source.
    package var previewOf: String?
    /// In the order of time.
    package var recorded: [Span]
}

extension SourceRecord {
    /// Up to this duration, gaps within files are considered; beyond it, a file counts from its start to its end.
    package static let maximumExactNanoseconds: Int64 = 3 * 86_400_000_000_000
    /// The longest time: two months with a day on each side.
    package static let maximumNanoseconds: Int64 = 64 * 86_400_000_000_000
    /// Spans in one answer: sixteen sources in ten sessions on each day of two months.
    package static let maximumSpans = 10_000
}

extension RecordingLibrary {
    /// Recorded times of each source, over all sessions.
    /// - Parameters:
    ///   - range: nanoseconds since 1970 (UTC), at most ``SourceRecord/maximumNanoseconds`` long.
    ///   - resolutionNanoseconds: closer spans of one session are merged.
    ///   - memory: cache of earlier calls; nil: none.
    ///   - mayRead: sources that the result may contain.
    /// - Returns: by name; nil if there are more than ``SourceRecord/maximumSpans`` spans.
    package func recorded(
        in range: Range<Int64>, resolutionNanoseconds: Int64,
        remembering memory: CoverageMemory? = nil, where mayRead: (String) -> Bool
    ) throws -> [SourceRecord]? {
        var found = FoundSpans(range, resolutionNanoseconds)
        var listings = try sessions(from: range.lowerBound, until: range.upperBound)
        let length = range.upperBound.clampedSubtracting(range.lowerBound)
        if length > SourceRecord.maximumExactNanoseconds {
            let known = try askCatalog { catalog throws(ArchiveError) in
                try catalog.segments(of: nil, from: range.lowerBound, until: range.upperBound)
            }
            // The catalog has no end of growing files, and no rows of segments that are only in the store.
            let growing = Set((known ?? []).filter { $0.endNanoseconds == nil }.map(\.session))
            let complete = Set((known ?? []).map(\.session)).subtracting(growing)
            for row in known ?? [] where complete.contains(row.session) && mayRead(row.source) {
                guard let end = row.endNanoseconds else { continue }
                found.add(
                    row.zeroUTCNanoseconds.clampedAdding(row.originNanoseconds),
                    row.zeroUTCNanoseconds.clampedAdding(end), of: row.source, in: row.session)
            }
            listings.removeAll { complete.contains($0.session) }
        }
        for listing in listings {
            guard found.count <= SourceRecord.maximumSpans else { return nil }
            try addCoverage(of: listing.session, to: &found, memory, mayRead)
        }
        let records = found.records()
        let count = records.reduce(0) { $0 + $1.recorded.count }
        return count <= SourceRecord.maximumSpans ? records : nil
    }

    private func addCoverage(
        of session: String, to found: inout FoundSpans, _ memory: CoverageMemory?,
        _ mayRead: (String) -> Bool
    ) throws(ArchiveError) {
        let lanes: [SourceCoverage]
        let zero: Int64
        do throws(ArchiveError) {
            zero = try manifest(session).zeroTime.nanoseconds
            lanes = try coverage(
                of: session, sources: nil, from: found.range.lowerBound.clampedSubtracting(zero),
                until: found.range.upperBound.clampedSubtracting(zero),
                pixels: SourceCoverage.maximumParts, remembering: memory, where: mayRead)
        } catch {
            // Removed, or without a description, so that its time is unknown; `verify` reports the error.
            guard error.isForEntry || error.isForAbsence else { throw error }
            return
        }
        for lane in lanes {
            for span in lane.recorded {
                found.add(
                    zero.clampedAdding(span.startNanoseconds),
                    zero.clampedAdding(span.endNanoseconds), of: lane.source, in: session)
            }
        }
    }
}

/// Spans of sources while they are found.
private struct FoundSpans {
    let range: Range<Int64>
    private let resolution: Int64
    private var bySource: [String: [String: [Range<Int64>]]] = [:]
    private(set) var count = 0

    init(_ range: Range<Int64>, _ resolution: Int64) {
        self.range = range
        self.resolution = resolution
    }

    mutating func add(_ start: Int64, _ end: Int64, of source: String, in session: String) {
        let (start, end) = (max(start, range.lowerBound), min(end, range.upperBound))
        guard start < end else { return }
        var spans = bySource[source, default: [:]][session, default: []]
        // Files are in the order of their starts: one that continues the last span extends it.
        if let last = spans.last, start >= last.lowerBound,
            start.clampedSubtracting(last.upperBound) <= resolution
        {
            spans[spans.count - 1] = last.lowerBound..<max(last.upperBound, end)
        } else {
            spans.append(start..<end)
            count += 1
        }
        bySource[source, default: [:]][session] = spans
    }

    func records() -> [SourceRecord] {
        let previews = SourcePreviews(bySource.keys)
        return bySource.sorted { $0.key < $1.key }.map { source, sessions in
            let spans = sessions.flatMap { session, spans in spans.map { (session, $0) } }
                .sorted { ($0.1.lowerBound, $0.0) < ($1.1.lowerBound, $1.0) }
            return SourceRecord(
                source: source, previewOf: previews.source(of: source),
                recorded: spans.map { SourceRecord.Span($0.0, $0.1) })
        }
    }
}
