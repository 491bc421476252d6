import Devices
import Encoding
import Glibc
import Media
import Synchronization

/// Scales and encodes the pictures of another source: a second rendition with the same capture times.
// @unchecked: see CapturePipeline.
final class PreviewPipeline: CapturePipeline, @unchecked Sendable {
    let name = "capture preview"
    let formats: [TrackFormat]
    var descriptions: [String] {
        let text = described.withLock { $0.pictures.description.withLock { $0 } }
        return ["\(text) from the pictures of \(source)"]
    }
    let details: [String]
    let encoder: String?

    /// Timeout of a read, after which the thread checks for a stop.
    private static let readMilliseconds = 100
    /// Scheduling priority (nice): where processors are short, the source goes before its preview.
    private static let niceness: Int32 = 10

    private let source: String
    private let settings: CaptureSettings
    private let subscription: PictureSubscription
    private let described: Mutex<Described>
    private var pictures: LivePictures
    private var converter: PictureConverter
    private var shape: PictureShape
    private var decoder: PreviewDecoder?
    /// An item that came before the capture began.
    private var first: PictureBacklog.Item?
    private var startNanoseconds: Int64 = 0
    /// End of the samples and gaps so far.
    private var endNanoseconds: Int64 = 0
    /// Why there are no pictures from ``endNanoseconds`` to the next one.
    private var gap: (cause: CaptureLossCause, text: String)?

    /// For other threads.
    // @unchecked: only the description is used, which has a lock.
    private struct Described: @unchecked Sendable {
        let pictures: LivePictures
    }

    /// A picture of the preview's size.
    private struct Picture {
        var frame: RawFrame
        var orientation: PictureOrientation
    }

    /// Waits for the source's first picture, and opens an encoder for its shape.
    ///
    /// - Parameters:
    ///   - patience: maximum wait; nil: no limit.
    ///   - isStopping: whether to stop waiting.
    init(
        _ shared: SharedPictures, _ settings: CaptureSettings, patience: Duration? = nil,
        clock: any CaptureClock, isStopping: () -> Bool = { false }
    ) throws(CaptureError) {
        source = SourcePreviews.source(named: settings.sourceName) ?? settings.sourceName
        self.settings = settings
        subscription = shared.subscribe()
        do throws(CaptureError) {
            let limit = patience.map { clock.nowNanoseconds + $0.nanoseconds }
            var found: (shape: PictureShape, item: PictureBacklog.Item?)?
            while found == nil {
                if isStopping() { throw .stopped }
                if let limit, clock.nowNanoseconds >= limit {
                    throw .source("\(source) has no pictures to make a preview of")
                }
                found = subscription.take(milliseconds: Self.readMilliseconds).flatMap(Self.shape)
                subscription.release()
            }
            guard let found else { preconditionFailure("the loop ends with a shape") }
            (shape, first) = found
            let plan = try settings.previewPlan(of: shape)
            var own = settings
            own.orientation = shape.orientation
            do throws(EncodingError) {
                pictures = try LivePictures(plan, for: own, late: nil)
            } catch {
                throw .codec(error.description)
            }
        } catch {
            subscription.cancel()
            throw error
        }
        converter = PictureConverter(size: pictures.plan.size, averages: true)
        formats = [.video(pictures.format)]
        encoder = pictures.plan.encoder
        details = pictures.search.map { [$0] } ?? []
        described = Mutex(Described(pictures: pictures))
    }

    deinit { subscription.cancel() }

    /// The shape of an item's picture, and the item if it is needed later: a keyframe is.
    private static func shape(
        of item: PictureBacklog.Item
    ) -> (shape: PictureShape, item: PictureBacklog.Item?)? {
        switch item {
        case .picture(_, let shape): (shape, nil)
        case .sample(let sample, let format):
            (PictureShape(format, durationNanoseconds: sample.durationNanoseconds), item)
        case .lost, .dropped, .interrupted, .ended: nil
        }
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        // A higher niceness is always allowed.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
        self.startNanoseconds = startNanoseconds
        endNanoseconds = startNanoseconds
        defer { subscription.cancel() }
        do throws(EncodingError) {
            let end = try capture(output)
            try pictures.finish(output)
            return end
        } catch {
            return .failed(error.description)
        }
    }

    private func capture(_ output: CaptureOutput) throws(EncodingError) -> CaptureEnd {
        if let item = first {
            first = nil
            _ = try process(item, output)
        }
        while !output.isToStop {
            guard let item = subscription.take(milliseconds: Self.readMilliseconds) else {
                continue
            }
            if case .ended(let end) = item {
                try finishDecoder(output)
                return end
            }
            try pass(item, output)
        }
        return .stopped
    }

    /// Processes an item. The source's memory is released before the picture is encoded.
    private func pass(_ item: consuming PictureBacklog.Item, _ output: CaptureOutput)
        throws(EncodingError)
    {
        let picture: Picture?
        do throws(EncodingError) {
            picture = try process(item, output)
            subscription.release()
        } catch {
            subscription.release()
            throw error
        }
        if let picture { try encode(picture, output) }
    }

    /// Applies an item.
    /// - Returns: a raw picture, scaled.
    private func process(
        _ item: consuming PictureBacklog.Item, _ output: CaptureOutput
    ) throws(EncodingError) -> Picture? {
        switch item {
        case .picture(let frame, let shape):
            return try scaled(frame, shape, output)
        case .sample(let sample, let format):
            if decoder?.format != format {
                try finishDecoder(output)
                decoder = try PreviewDecoder(
                    format, durationNanoseconds: sample.durationNanoseconds)
            }
            guard let decoder else { return nil }
            do throws(EncodingError) {
                try decoder.decode(sample) { (frame) throws(EncodingError) in
                    try encode(frame, decoder.shape, output)
                }
            } catch .damagedPacket(_, _, let reason) {
                lose(
                    .damagedInput, sample.ptsNanoseconds, sample.durationNanoseconds,
                    "a picture cannot be decoded: \(reason)", output)
                decoder.restart()
            }
        case .lost(let loss), .dropped(let loss):
            decoder?.restart()
            lose(loss.cause, loss.startNanoseconds, loss.durationNanoseconds, loss.text, output)
            // Gaps without length are pauses, and notes about times.
            if loss.durationNanoseconds > 0 || loss.cause == .command {
                gap = (loss.cause, loss.text)
            }
        case .interrupted(let cause, let text):
            try finishDecoder(output)
            gap = (cause, text)
        case .ended: break
        }
        return nil
    }

    private func finishDecoder(_ output: CaptureOutput) throws(EncodingError) {
        guard let decoder else { return }
        self.decoder = nil
        try decoder.finish { (frame) throws(EncodingError) in
            try encode(frame, decoder.shape, output)
        }
    }

    private func encode(
        _ frame: RawFrame, _ shape: PictureShape, _ output: CaptureOutput
    ) throws(EncodingError) {
        if let picture = try scaled(frame, shape, output) { try encode(picture, output) }
    }

    /// The picture at the preview's size; nil: it is from before the capture.
    private func scaled(
        _ frame: RawFrame, _ shape: PictureShape, _ output: CaptureOutput
    ) throws(EncodingError) -> Picture? {
        guard frame.captureNanoseconds >= startNanoseconds else { return nil }
        try follow(shape, output)
        return Picture(frame: try converter.convert(frame), orientation: shape.orientation)
    }

    private func encode(_ picture: Picture, _ output: CaptureOutput) throws(EncodingError) {
        let time = picture.frame.captureNanoseconds
        // A decoder may still have pictures from before the gap.
        if let gap, time >= endNanoseconds {
            // A camera's times are not exactly periodic.
            if time - endNanoseconds > picture.frame.durationNanoseconds / 2 {
                lose(gap.cause, endNanoseconds, time - endNanoseconds, gap.text, output)
            }
            self.gap = nil
        }
        if picture.orientation != shape.orientation {
            shape.orientation = picture.orientation
            output.requests.add { $0.orientation = picture.orientation }
        }
        try pictures.encode(picture.frame, output)
        endNanoseconds = max(endNanoseconds, time + picture.frame.durationNanoseconds)
    }

    /// Another encoder, if the source's pictures have changed.
    private func follow(
        _ wanted: PictureShape, _ output: CaptureOutput
    ) throws(EncodingError) {
        var turned = wanted
        turned.orientation = shape.orientation
        guard turned != shape else { return }
        shape = wanted
        var plan: VideoEncoderSettings
        do throws(CaptureError) {
            plan = try settings.previewPlan(of: wanted)
        } catch {
            throw .encoderRefused(pictures.plan.encoder, reason: error.description)
        }
        plan.encoder = pictures.plan.encoder
        plan.rate = pictures.plan.rate
        guard plan != pictures.plan else {
            if pictures.format.orientation != wanted.orientation {
                output.requests.add { $0.orientation = wanted.orientation }
            }
            return
        }
        try pictures.finish(output)
        var own = settings
        own.orientation = wanted.orientation
        own.encoder = .named(plan.encoder)
        pictures = try LivePictures(plan, for: own, late: nil)
        let next = Described(pictures: pictures)
        described.withLock { $0 = next }
        converter = PictureConverter(size: plan.size, averages: true)
        output.formatChanged(.video(pictures.format))
    }

    /// Reports a gap after the samples so far.
    private func lose(
        _ cause: CaptureLossCause, _ start: Int64, _ duration: Int64, _ text: String,
        _ output: CaptureOutput
    ) {
        guard duration > 0 else {
            // A note about the times.
            return output.lost(
                CaptureLoss(
                    track: .video, cause: cause, startNanoseconds: max(start, endNanoseconds),
                    durationNanoseconds: 0, samples: 0, text: text))
        }
        let begin = max(start, endNanoseconds)
        let end = start + duration
        // The gap is within the duration of the last picture: the preview lacks no picture.
        guard end > begin else { return }
        let interval = pictures.plan.frameRate.nanoseconds(ofPicture: 1)
        output.lost(
            CaptureLoss(
                track: .video, cause: cause, startNanoseconds: begin,
                durationNanoseconds: end - begin,
                samples: Int(max(1, (end - begin + interval / 2) / max(1, interval))), text: text))
        endNanoseconds = end
    }
}
