import Archive
import Library
import Media

/// The samples of a range, in the order of their decoding times, with the earlier audio that decoding needs.
struct SelectedSamples {
    private var first: SampleReader
    private var second: SampleReader?
    private var waitingFirst: RecordedSample?
    private var waitingSecond: RecordedSample?

    /// - Parameter reader: of all of the range's source, or ``ExportRange/reader()``.
    init(_ range: ExportRange, with reader: FragmentReader? = nil) throws {
        let reader = (reader ?? range.reader()).limited(to: range.endNanoseconds)
        let isCut = range.startNanoseconds != nil
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
            waitingFirst = try first.next()
            waitingSecond = try second?.next()
        }
    }

    mutating func next() throws -> RecordedSample? {
        guard second != nil else { return try first.next() }
        guard let one = waitingFirst else { return try takeSecond() }
        if let other = waitingSecond, other.dtsNanoseconds < one.dtsNanoseconds {
            return try takeSecond()
        }
        waitingFirst = try first.next()
        return one
    }

    private mutating func takeSecond() throws -> RecordedSample? {
        let sample = waitingSecond
        waitingSecond = try second?.next()
        return sample
    }
}
