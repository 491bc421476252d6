import Archive
import Recordings
import Media

/// The picture that is shown at the start of a cut: captured before it, with its successor after it.
///
/// It belongs to the cut from its start on. In the output it is presented then and no earlier; its bytes, its decoding
/// time and everything that is presented later do not change.
struct OpeningPicture {
    private let path: String
    private let offset: Int64

    /// - Parameters:
    ///   - reader: ``ExportRange/reader()``.
    ///   - closesGaps: whether a gap at the start is removed, without a picture during it.
    /// - Returns: nil if a picture begins with the cut, or none precedes it.
    init?(of range: ExportRange, with reader: FragmentReader, closesGaps: Bool) throws {
        guard let start = range.startNanoseconds, range.tracks.contains(.video) else { return nil }
        var reader = SampleReader(reader, from: start, tracks: [.video])
        var shown: RecordedSample?
        var next: Int64?
        while let sample = try reader.next() {
            // Presented after it is decoded: no later picture is shown at the start.
            if sample.dtsNanoseconds > start, next != nil { break }
            guard !sample.flags.contains(.priming), !sample.isHidden else { continue }
            let time = sample.ptsNanoseconds
            if time > start {
                next = min(next ?? time, time)
            } else if time > shown?.ptsNanoseconds ?? .min {
                shown = sample
            }
        }
        guard let shown, shown.ptsNanoseconds < start else { return nil }
        let end = next ?? shown.endNanoseconds
        if closesGaps, end - shown.ptsNanoseconds > GapCloser.thresholdNanoseconds { return nil }
        path = shown.file.path
        offset = shown.offset
    }

    /// Whether a sample is this picture.
    func isTheOne(_ sample: RecordedSample) -> Bool {
        sample.track == .video && sample.offset == offset && sample.file.path == path
    }
}
