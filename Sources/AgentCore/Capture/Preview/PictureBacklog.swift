import Encoding
import Media

/// Pictures that a preview has not processed yet. Bounded: if the preview is too slow, its oldest pictures become a gap.
///
/// A value without threads; see ``PictureSubscription``.
struct PictureBacklog {
    /// A step of the preview, in the order of the source.
    enum Item: Sendable {
        /// A selected picture; its duration is that in the preview.
        case picture(RawFrame, PictureShape)
        /// A picture of a source that is not encoded here.
        case sample(EncodedSample, VideoFormat)
        /// A gap of the source.
        case lost(CaptureLoss)
        /// Pictures that the preview was too slow for.
        case dropped(CaptureLoss)
        /// There are no pictures until the next one, for this reason: the source is restarted or changed.
        case interrupted(CaptureLossCause, String)
        case ended(CaptureEnd)
    }

    /// Maximum number of raw pictures: half a second, the lateness that the source's own encoder is allowed.
    static let mostPictures = 8
    /// Maximum bytes of raw pictures: three pictures in 4K.
    static let mostPictureBytes = 40 << 20
    /// Maximum number of encoded pictures: two seconds at 30 pictures per second.
    static let mostSamples = 64
    /// Maximum bytes of encoded pictures.
    static let mostSampleBytes = 16 << 20
    /// Maximum number of items, if a source reports many gaps.
    static let mostItems = 256

    private(set) var items: [Item] = []
    private var pace = PreviewPace()
    private var pictures = 0
    private var pictureBytes = 0
    private var samples = 0
    private var sampleBytes = 0
    private var keyframe = KeyframeNeed.first

    /// Whether encoded pictures are of no use until the next keyframe: at the start, and after dropped ones.
    private enum KeyframeNeed {
        case none, first, afterGap
    }

    /// Whether there are raw pictures.
    var hasPictures: Bool { pictures > 0 }

    /// Removes the oldest item.
    mutating func take() -> Item? {
        guard !items.isEmpty else { return nil }
        let item = items.removeFirst()
        count(item, -1)
        return item
    }

    /// Adds a raw picture, if it is selected.
    /// - Parameter isScarce: whether the source needs its memory back at once: the picture is dropped.
    mutating func put(_ picture: RawFrame, _ shape: PictureShape, isScarce: Bool) {
        let time = picture.captureNanoseconds
        guard
            let duration = pace.admits(
                atNanoseconds: time, durationNanoseconds: picture.durationNanoseconds)
        else { return }
        var picture = picture
        picture.durationNanoseconds = duration
        let item = Item.picture(picture, shape)
        if isScarce { return append(Self.dropped(item)) }
        append(item)
        while pictures > Self.mostPictures
            || pictures > 1 && pictureBytes > Self.mostPictureBytes
        {
            dropOldestPicture()
        }
    }

    /// Adds an encoded picture.
    mutating func put(_ sample: EncodedSample, _ format: VideoFormat) {
        let item = Item.sample(sample, format)
        if sample.flags.contains(.keyframe) { keyframe = .none }
        switch keyframe {
        case .first: return
        case .afterGap: return append(Self.dropped(item))
        case .none: append(item)
        }
        if samples > Self.mostSamples || sampleBytes > Self.mostSampleBytes {
            dropPictures { _ in true }
            keyframe = .afterGap
        }
    }

    /// Adds a gap of the source.
    mutating func put(_ loss: CaptureLoss) {
        pace.restart()
        append(.lost(loss))
    }

    /// Adds the beginning of a gap whose end is the next picture.
    mutating func interrupt(_ cause: CaptureLossCause, _ text: String) {
        pace.restart()
        keyframe = .first
        append(.interrupted(cause, text))
    }

    mutating func end(_ end: CaptureEnd) { append(.ended(end)) }

    /// Drops all raw pictures: the source needs their memory.
    mutating func dropRaw() {
        dropPictures { if case .picture = $0 { true } else { false } }
    }

    private mutating func append(_ item: Item) {
        if case .dropped(let loss) = item, case .dropped(let last) = items.last {
            items[items.count - 1] = .dropped(last.joined(loss))
            return
        }
        items.append(item)
        count(item, 1)
        guard items.count > Self.mostItems else { return }
        if samples > 0 { keyframe = .afterGap }
        dropPictures { _ in true }
        // Gaps of the source without pictures between them are joined.
        let losses = items.compactMap { item -> CaptureLoss? in
            if case .lost(let loss) = item { loss } else { nil }
        }
        guard var joined = losses.first else { return }
        for loss in losses.dropFirst() { joined = joined.joined(loss) }
        items.removeAll { if case .lost = $0 { true } else { false } }
        items.append(.lost(joined))
    }

    private mutating func dropOldestPicture() {
        guard
            let index = items.firstIndex(where: { if case .picture = $0 { true } else { false } })
        else { return }
        count(items[index], -1)
        items[index] = Self.dropped(items[index])
        guard index > 0, case .dropped(let last) = items[index - 1],
            case .dropped(let loss) = items[index]
        else { return }
        items[index - 1] = .dropped(last.joined(loss))
        items.remove(at: index)
    }

    /// Replaces selected pictures by gaps.
    private mutating func dropPictures(where isSelected: (Item) -> Bool) {
        var kept: [Item] = []
        for item in items {
            var next = item
            switch item {
            case .picture, .sample:
                if isSelected(item) {
                    count(item, -1)
                    next = Self.dropped(item)
                }
            case .lost, .dropped, .interrupted, .ended: break
            }
            if case .dropped(let loss) = next, case .dropped(let last) = kept.last {
                kept[kept.count - 1] = .dropped(last.joined(loss))
            } else {
                kept.append(next)
            }
        }
        items = kept
    }

    private mutating func count(_ item: Item, _ sign: Int) {
        switch item {
        case .picture(let picture, _):
            pictures += sign
            // YUV 4:2:0; more for other formats.
            pictureBytes += sign * picture.width * picture.height * 3 / 2
        case .sample(let sample, _):
            samples += sign
            sampleBytes += sign * sample.data.count
        case .lost, .dropped, .interrupted, .ended: break
        }
    }

    private static func dropped(_ item: Item) -> Item {
        let (start, duration): (Int64, Int64)
        switch item {
        case .picture(let picture, _):
            (start, duration) = (picture.captureNanoseconds, picture.durationNanoseconds)
        case .sample(let sample, _):
            (start, duration) = (sample.ptsNanoseconds, sample.durationNanoseconds)
        case .lost, .dropped, .interrupted, .ended: return item
        }
        return .dropped(
            CaptureLoss(
                track: .video, cause: .encoderOverload, startNanoseconds: start,
                durationNanoseconds: duration, samples: 1,
                text: "this box was too slow for its preview"))
    }
}

extension CaptureLoss {
    /// One loss from the start of the earlier one to the end of the later one, with the cause of `self`.
    fileprivate func joined(_ other: CaptureLoss) -> CaptureLoss {
        var joined = self
        joined.startNanoseconds = min(startNanoseconds, other.startNanoseconds)
        let end = max(
            startNanoseconds + durationNanoseconds,
            other.startNanoseconds + other.durationNanoseconds)
        joined.durationNanoseconds = end - joined.startNanoseconds
        joined.samples = samples + other.samples
        return joined
    }
}
