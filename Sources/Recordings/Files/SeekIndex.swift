import Archive
import MP4
import Media

/// Positions of a finished file's fragments, from its index. With it, a reader of a remote file seeks without reading every `moof`.
struct SeekIndex {
    private let movie: Movie
    /// Offset of the first fragment.
    private let start: Int64

    /// Reads the index, which follows the fragments.
    init(_ file: RecordedFile) throws(ArchiveError) {
        let source = try file.source()
        do throws(MP4Error) {
            var boxes = BoxReader(
                source, in: file.layout.fragments.upperBound..<source.sizeBytes)
            guard let index = try boxes.next(), index.type == "moov" else {
                throw .missing("moov", in: "file", offset: file.layout.fragments.upperBound)
            }
            movie = try Movie(reading: index, from: source)
        } catch {
            throw file.error(error)
        }
        start = file.layout.fragments.lowerBound
    }

    /// Offset of the fragment that is `margin` fragments before the one with the last keyframe at or before a time.
    /// - Parameters:
    ///   - time: session time, nanoseconds.
    ///   - anchor: a track's first sample in the file with its session time, from which index times are computed.
    /// - Returns: nil if there is no such fragment.
    func fragment(before time: Int64, anchor: RecordedSample, margin: Int) -> Int64? {
        guard let table = movie.track(anchor.track)?.samples, table.count > 0,
            table.offsets[0] == anchor.offset
        else { return nil }
        let scale = anchor.timescale
        let wanted = saturatingRescale(time, from: .nanoseconds, to: scale)
            .subtractingReportingOverflow(anchor.ptsTicks).partialValue
        let first = table.pts(0)
        let candidates = table.syncSamples ?? Array(0..<table.count)
        guard
            let keyframe = candidates.last(where: { index in
                table.pts(index).subtractingReportingOverflow(first).partialValue <= wanted
            })
        else { return nil }
        let starts = starts()
        let holding = starts.lastIndex { $0 <= table.offsets[keyframe] } ?? 0
        return holding > margin ? starts[holding - margin] : nil
    }

    /// All samples in file order.
    /// - Parameter anchors: each track's first sample in the file with its session time, from which index times are computed.
    /// - Returns: nil if the index has other tracks or first samples.
    func samples(_ anchors: [TrackKind: RecordedSample]) -> [IndexedSample]? {
        var samples: [IndexedSample] = []
        for (kind, anchor) in anchors {
            guard let table = movie.track(kind)?.samples, table.count > 0,
                table.offsets[0] == anchor.offset
            else { return nil }
            let syncs = table.syncSamples.map(Set.init)
            let first = table.pts(0)
            let usual = Self.usualTicks(table.durations)
            // A longer sample precedes a gap: its fragment has its duration, but the index only has the start of the next sample.
            let longest = max(4 * usual, Int64(anchor.timescale.ticksPerSecond) / 2)
            for index in 0..<table.count {
                let ticks = anchor.ptsTicks.clampedAdding(
                    table.pts(index).clampedSubtracting(first))
                let end = ticks.clampedAdding(
                    Int64(table.durations[index]) > longest ? usual : Int64(table.durations[index]))
                let offset = table.offsets[index]
                samples.append(
                    IndexedSample(
                        track: kind, range: offset..<(offset + Int64(table.sizesBytes[index])),
                        start: anchor.timescale.nanoseconds(ticks),
                        end: anchor.timescale.nanoseconds(end),
                        isSync: syncs?.contains(index) ?? true))
            }
        }
        return samples.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// The median duration, ticks.
    private static func usualTicks(_ durations: [UInt32]) -> Int64 {
        durations.isEmpty ? 0 : Int64(durations.sorted()[durations.count / 2])
    }

    /// Offsets of the fragments: a fragment's samples are contiguous, and a `moof` separates them from the next ones.
    private func starts() -> [Int64] {
        var samples: [(start: Int64, end: Int64)] = []
        for track in movie.tracks {
            let table = track.samples
            for index in 0..<table.count {
                let offset = table.offsets[index]
                samples.append((offset, offset + Int64(table.sizesBytes[index])))
            }
        }
        samples.sort { $0.start < $1.start }
        var starts = [start]
        var end: Int64?
        for sample in samples {
            if let end, sample.start > end { starts.append(end) }
            end = max(end ?? sample.end, sample.end)
        }
        return starts
    }
}
