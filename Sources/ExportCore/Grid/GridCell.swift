import Archive
import Containers
import Encoding
import Recordings
import Media

/// One source of a grid: its picture at each instant, scaled to its cell. Owned by one thread.
final class GridCell {
    /// A picture is stale when it is older than this plus its own duration.
    private static let staleNanoseconds: Int64 = 1_000_000_000

    let name: String
    private let layout: GridLayout
    private let cell: PictureSize
    private var samples: SelectedSamples
    private var decoder = RecordedPictures(threads: 1)
    /// Decoded, and not shown yet.
    private var waiting: [RawFrame] = []
    private var head = 0
    private var hasEnded = false
    private var shown: RawFrame?
    private var fitted: (x: Int, y: Int, picture: RawFrame)?
    private var converter: (size: PictureSize, converter: Converter)?
    private var aspect: SampleAspectRatio?

    /// A class, because a non-copyable type cannot be in a tuple.
    private final class Converter {
        var converter: PictureConverter
        init(_ size: PictureSize) { converter = PictureConverter(size: size, limitsRange: true) }
    }

    init(_ range: ExportRange, layout: GridLayout, cell: PictureSize) throws {
        var range = range
        range.tracks = [.video]
        name = range.source.name
        self.layout = layout
        self.cell = cell
        samples = try SelectedSamples(range)
    }

    /// The source's picture at an instant of the session; nil when nothing is recorded.
    func picture(at instant: Int64) throws -> (x: Int, y: Int, picture: RawFrame)? {
        while let next = try peek(), next.captureNanoseconds <= instant {
            shown = next
            fitted = nil
            head += 1
        }
        guard let shown else { return nil }
        let age = instant - shown.captureNanoseconds - shown.durationNanoseconds
        guard age <= Self.staleNanoseconds else { return nil }
        if let fitted { return fitted }
        let place = layout.fitted(
            PictureSize(width: shown.width, height: shown.height), aspect: aspect, into: cell)
        if converter?.size != place.size { converter = (place.size, Converter(place.size)) }
        guard let made = try converter?.converter.converter.convert(shown) else { return nil }
        let result = (place.x, place.y, made)
        fitted = result
        return result
    }

    private func peek() throws -> RawFrame? {
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        }
        while waiting.isEmpty, !hasEnded {
            if let sample = try samples.next() {
                if case .picture(let picture) = try CodedTrack(sample.format).content {
                    aspect = picture.sampleAspectRatio?.turned(sample.format.orientation)
                }
                try decoder.decode(sample) { waiting.append($0) }
            } else {
                hasEnded = true
                try decoder.finish { waiting.append($0) }
            }
        }
        return head < waiting.count ? waiting[head] : nil
    }
}
