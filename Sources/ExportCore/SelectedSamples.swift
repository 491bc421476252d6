import Archive
import Recordings
import Media

/// The samples of a range, in the order of their decoding times, with the earlier audio that decoding needs.
struct SelectedSamples {
    private var first: SampleReader
    private var second: SampleReader?
    private var waitingFirst: RecordedSample?
    private var waitingSecond: RecordedSample?
    /// Presentation of the keyframe that a cut begins with, while its leading pictures may follow; nil: none is omitted.
    private var beginNanoseconds: Int64?
    private var isBegun: Bool
    private let startNanoseconds: Int64?

    /// - Parameter reader: of all of the range's source, or ``ExportRange/reader()``.
    init(_ range: ExportRange, with reader: FragmentReader? = nil) throws {
        let reader = (reader ?? range.reader()).limited(to: range.endNanoseconds)
        let isCut = range.startNanoseconds != nil
        isBegun = !isCut
        startNanoseconds = range.startNanoseconds
        if let start = range.startNanoseconds, range.tracks.contains(.audio) {
            let sound = SampleReader(
                reader, from: start.clampedSubtracting(ExportRange.soundLeadNanoseconds),
                to: range.endNanoseconds, tracks: [.audio])
            guard range.tracks.contains(.video) else {
                first = sound
                return
            }
            second = sound
        }
        first = SampleReader(
            reader, from: range.startNanoseconds, to: range.endNanoseconds,
            tracks: isCut && range.tracks.contains(.video) ? [.video] : range.tracks)
        if second != nil {
            waitingFirst = try nextPicture()
            waitingSecond = try second?.next()
        }
    }

    mutating func next() throws -> RecordedSample? {
        guard second != nil else { return try nextPicture() }
        guard let one = waitingFirst else { return try takeSecond() }
        if let other = waitingSecond, other.dtsNanoseconds < one.dtsNanoseconds {
            return try takeSecond()
        }
        waitingFirst = try nextPicture()
        return one
    }

    /// The next sample of the first reader, without the leading pictures of the keyframe that a cut begins with, if the
    /// codec's other pictures never refer to them: they are presented before the cut, and decoders complain about them.
    private mutating func nextPicture() throws -> RecordedSample? {
        while let sample = try first.next() {
            guard sample.track == .video else { return sample }
            if !isBegun {
                isBegun = true
                if case .video(let format) = sample.format,
                    format.codec.coding.mayOmitLeadingPictures,
                    sample.ptsNanoseconds <= startNanoseconds ?? .min
                {
                    beginNanoseconds = sample.ptsNanoseconds
                }
                return sample
            }
            guard let begin = beginNanoseconds else { return sample }
            if sample.ptsNanoseconds < begin { continue }
            beginNanoseconds = nil
            return sample
        }
        return nil
    }

    private mutating func takeSecond() throws -> RecordedSample? {
        let sample = waitingSecond
        waitingSecond = try second?.next()
        return sample
    }
}
