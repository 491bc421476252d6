import Archive
import MP4
import Media

/// Where the fragments of a finished file lie, computed from its index: what a reader for whom each read is a request needs to find a
/// time without reading the head of every fragment before it.
struct SeekIndex {
    private let movie: Movie
    /// Where the first fragment begins.
    private let start: Int64

    /// Reads the index, which lies behind the fragments.
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

    /// Where the fragment begins that is `margin` fragments before the one with the last keyframe at or before a time.
    /// - Parameters:
    ///   - time: session time, nanoseconds.
    ///   - anchor: the first sample of a track in the file, with its session time: the index counts from it.
    /// - Returns: nil: there is none, or nothing lies before it.
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

    /// Where fragments begin: the media of a fragment lie side by side, and the next one's head lies between them and the next media.
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
