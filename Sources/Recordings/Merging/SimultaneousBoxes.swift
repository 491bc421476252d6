package import Archive
import MP4
import Media

/// Two boxes with one source's name that were recorded at the same time by two collectors. Their records are not copies of each
/// other, so the archives cannot be read as one.
package struct SimultaneousBoxes: Hashable, Sendable {
    /// Session time from which both were recorded, nanoseconds.
    package var startNanoseconds: Int64
    /// Paths or addresses of the two archives.
    package var archives: [String]

    /// Shorter overlaps are not reported: a box that begins a new spool elsewhere, between collectors whose clocks were not
    /// compared.
    static let shortestNanoseconds: Int64 = 2_000_000_000
}

extension FileRecords {
    /// Records of a spool that are closer to each other are one span.
    private static let jointNanoseconds: Int64 = 1_000_000_000

    /// Adds the time of a fragment's records to ``spans``.
    mutating func addSpan(
        of fragment: ScannedFragment, _ spool: SpoolID, _ tracks: [MovieTrack]
    ) {
        var start = Int64.max
        var end = Int64.min
        for run in fragment.runs {
            guard let track = tracks.first(where: { $0.kind == run.track }),
                let scale = track.format?.timescale, let first = run.samples.first,
                let last = run.samples.last
            else { continue }
            func nanoseconds(_ ticks: Int64) -> Int64 {
                saturatingRescale(
                    ticks.clampedSubtracting(track.mediaTimeShift), from: scale, to: .nanoseconds)
            }
            start = min(start, nanoseconds(first.dts))
            end = max(end, nanoseconds(last.dts.clampedAdding(Int64(last.duration))))
        }
        guard start < end else { return }
        if let last = spans[spool]?.last,
            start.clampedSubtracting(last.upperBound) <= Self.jointNanoseconds
        {
            spans[spool]?.removeLast()
            start = min(start, last.lowerBound)
            end = max(end, last.upperBound)
        }
        spans[spool, default: []].append(start..<end)
    }
}

extension MergedStore {
    /// The first time in a range at which two archives have different boxes of one source's name; nil: they have copies or parts
    /// of one box's recording.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: exclusive; nil: the end.
    package func simultaneousBoxes(
        of source: SourceKey, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> SimultaneousBoxes? {
        let session = try session(source.session)
        guard session.copies.count > 1 else { return nil }
        let length = session.manifest.segmentNanoseconds
            .clampedAdding(RecordedSession.overlapNanoseconds)
        let files = try files(of: source, in: session).files(
            from: from?.clampedSubtracting(length) ?? .min, through: until ?? .max)
        guard Set(files.map(\.copy)).count > 1 else { return nil }
        var spans: [(spool: SpoolID, copy: Int, start: Int64, end: Int64)] = []
        for file in files {
            for (spool, own) in try records(of: file, in: session).spans {
                spans += own.map {
                    (
                        spool, file.copy, file.originNanoseconds.clampedAdding($0.lowerBound),
                        file.originNanoseconds.clampedAdding($0.upperBound)
                    )
                }
            }
        }
        spans.sort { ($0.start, $0.copy) < ($1.start, $1.copy) }
        var open: [(spool: SpoolID, copy: Int, start: Int64, end: Int64)] = []
        for span in spans where span.start < until ?? .max {
            open.removeAll { $0.end <= span.start }
            for other in open where other.copy != span.copy && other.spool != span.spool {
                let end = min(other.end, span.end)
                guard end > from ?? .min,
                    end.clampedSubtracting(span.start) >= SimultaneousBoxes.shortestNanoseconds
                else { continue }
                return SimultaneousBoxes(
                    startNanoseconds: span.start,
                    archives: [other.copy, span.copy].sorted().map {
                        members[session.copies[$0].member].name
                    })
            }
            open.append(span)
        }
        return nil
    }
}
