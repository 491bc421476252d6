import Encoding
import Media
import Synchronization

/// Encodes a pipeline's pictures, and applies requests: bitrate, keyframe, orientation, snapshot.
///
/// Used on the pipeline's thread.
final class LivePictures {
    /// Settings of the opened encoder; for `auto`, the one that was found.
    private(set) var plan: VideoEncoderSettings
    /// Description of the present encoding; any thread.
    let description: Mutex<String>
    /// The output format.
    private(set) var format: VideoFormat
    /// One line on the encoders that were tried before, if any was.
    let search: String?

    private let crop: PictureCrop?
    private var encoder: VideoEncoder
    private var gate: LatePictureFilter?
    /// A format that applies from the keyframe with this time on.
    private var upcoming: (format: VideoFormat, fromNanoseconds: Int64)?

    /// Opens the selected encoder.
    ///
    /// - Parameters:
    ///   - plan: encoder settings; the encoder itself is replaced if the settings leave the choice open.
    ///   - late: behaviour for late pictures; nil if the source waits for the encoder.
    init(
        _ plan: VideoEncoderSettings, for settings: CaptureSettings, late: LatePolicy?
    ) throws(EncodingError) {
        var plan = plan
        var refusals: [EncoderSearch.Refusal] = []
        let candidates =
            settings.encoder == .auto
            ? settings.encoderCandidates : EncoderSearch.encoders(named: plan.encoder)
        encoder = try EncoderSearch.first(
            of: candidates, refusals: &refusals
        ) { (name) throws(EncodingError) in
            plan.encoder = name
            return try VideoEncoder(plan)
        }
        search = EncoderSearch.summary(refusals, using: plan.encoder)
        self.plan = plan
        description = Mutex(CaptureDescription.video(plan))
        format = encoder.format
        format.orientation = settings.orientation
        crop = settings.crop
        gate = late.map(LatePictureFilter.init)
    }

    /// Encodes a picture, unless it is too late; samples are passed to `output`.
    func encode(_ picture: RawFrame, _ output: CaptureOutput) throws(EncodingError) {
        if let requests = output.requests.take() { follow(requests, at: picture, output) }
        let isAdmitted = gate?.admits(
            captureNanoseconds: picture.captureNanoseconds,
            durationNanoseconds: picture.durationNanoseconds,
            nowNanoseconds: output.nowNanoseconds, tell: output.lost)
        guard isAdmitted ?? true else { return }
        let part = try cropped(picture)
        output.share(part, PictureShape(plan, orientation: latest.orientation))
        try encoder.encode(part) { give($0, output) }
    }

    /// Flushes the encoder.
    func finish(_ output: CaptureOutput) throws(EncodingError) {
        gate?.flush(output.lost)
        try encoder.finish { give($0, output) }
    }

    private func give(_ sample: EncodedSample, _ output: CaptureOutput) {
        if let upcoming, sample.flags.contains(.keyframe),
            sample.ptsNanoseconds >= upcoming.fromNanoseconds
        {
            format = upcoming.format
            self.upcoming = nil
            output.formatChanged(.video(format))
        }
        output.sample(sample)
    }

    private func cropped(_ picture: RawFrame) throws(EncodingError) -> RawFrame {
        guard let crop else { return picture }
        guard let part = picture.cropped(to: crop) else {
            throw .noConversion(
                from: "\(picture.format.name) \(picture.width)×\(picture.height)",
                to: "the crop rectangle \(crop)")
        }
        return part
    }

    private func follow(
        _ requests: PictureRequests.Pending, at picture: RawFrame, _ output: CaptureOutput
    ) {
        for wanted in requests.rates where wanted.answer.begin() {
            do throws(EncodingError) {
                try change(to: wanted.rate, at: picture, output)
                wanted.answer.give(nil)
            } catch {
                wanted.answer.give(error)
            }
        }
        if let orientation = requests.orientation, orientation != latest.orientation {
            var format = latest
            format.orientation = orientation
            upcoming = (format, picture.captureNanoseconds)
            encoder.requestKeyframe()
        }
        if requests.isKeyframeWanted { encoder.requestKeyframe() }
        for answer in requests.snapshots {
            answer.give(
                PictureRequests.Snapshot(frame: picture, orientation: latest.orientation))
        }
    }

    /// The format of the next encoded picture.
    private var latest: VideoFormat { upcoming?.format ?? format }

    /// Changes the encoder's settings in place if it supports that, otherwise with a new instance.
    private func change(
        to rate: VideoRate, at picture: RawFrame, _ output: CaptureOutput
    ) throws(EncodingError) {
        var plan = plan
        plan.rate = rate
        defer { description.withLock { $0 = CaptureDescription.video(self.plan) } }
        if encoder.change(to: rate) {
            self.plan = plan
            return
        }
        let next = try VideoEncoder(plan)
        try encoder.finish { give($0, output) }
        var format = next.format
        format.orientation = latest.orientation
        if format != latest { upcoming = (format, picture.captureNanoseconds) }
        encoder = next
        self.plan = plan
    }
}
