import Encoding
import Media
import Synchronization

/// A file's pictures, decoded and encoded again.
final class EncodedPictures: PacketStage {
    var text: String { pictures.description.withLock { $0 } }
    private(set) var isDone = false
    private var decoder: VideoDecoder
    private let pictures: LivePictures
    private var limit: CaptureLimit
    private var thinning: PictureThinning?

    init(
        _ track: CodedTrack, _ plan: FilePicturePlan, _ settings: CaptureSettings
    ) throws(EncodingError) {
        decoder = try VideoDecoder(track)
        // A file waits for the encoder, so its pictures are never late.
        pictures = try LivePictures(plan.encoder, for: settings, late: nil)
        limit = CaptureLimit(durationNanoseconds: settings.duration?.nanoseconds)
        thinning = plan.isThinned ? PictureThinning(rate: plan.encoder.frameRate) : nil
    }

    var format: TrackFormat { .video(pictures.format) }
    var encoder: String? { pictures.plan.encoder }
    var note: String? { pictures.search }

    func begin(startNanoseconds: Int64) {
        limit.begin(startNanoseconds: startNanoseconds)
    }

    func take(_ packet: CodedPacket, _ output: CaptureOutput) throws(EncodingError) {
        if limit.isReached(atNanoseconds: packet.dtsNanoseconds) {
            isDone = true
            return
        }
        do throws(EncodingError) {
            try decoder.decode(packet) { (frame) throws(EncodingError) in
                try encode(frame, output)
            }
        } catch .damagedPacket(let codec, let time, let reason) {
            output.lostDamaged(
                packet, .damagedPacket(codec: codec, atNanoseconds: time, reason: reason))
        }
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) {
        try decoder.finish { (frame) throws(EncodingError) in try encode(frame, output) }
        try pictures.finish(output)
    }

    private func encode(_ frame: RawFrame, _ output: CaptureOutput) throws(EncodingError) {
        if limit.isReached(atNanoseconds: frame.captureNanoseconds) { return }
        let time = frame.captureNanoseconds - limit.startNanoseconds
        if thinning?.isLeftOut(atNanoseconds: time) == true { return }
        try pictures.encode(frame, output)
    }
}

/// Drops pictures to reach a lower rate; the others keep their times.
struct PictureThinning {
    /// Tolerance for times that containers round to milliseconds.
    private static let graceNanoseconds: Int64 = 1_000_000

    private let rate: FrameRate
    private var lastPlace: Int64?

    init(rate: FrameRate) {
        self.rate = rate
    }

    /// Whether the picture at that time from the start is to be dropped: one stays for each period of the
    /// lower rate.
    mutating func isLeftOut(atNanoseconds time: Int64) -> Bool {
        let place = rate.pictures(inNanoseconds: time + Self.graceNanoseconds + 1) - 1
        if let lastPlace, place <= lastPlace { return true }
        lastPlace = place
        return false
    }
}

/// A file's sound, decoded and encoded again.
final class EncodedAudio: PacketStage {
    let text: String
    private(set) var isDone = false
    private var decoder: AudioDecoder
    private var encoder: AudioEncoder
    private var limit: CaptureLimit

    init(
        _ track: CodedTrack, _ plan: AudioEncoderSettings, durationNanoseconds: Int64?
    ) throws(EncodingError) {
        decoder = try AudioDecoder(track)
        encoder = try AudioEncoder(plan)
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        text = CaptureDescription.sound(plan)
    }

    var format: TrackFormat { .audio(encoder.format) }

    func begin(startNanoseconds: Int64) { limit.begin(startNanoseconds: startNanoseconds) }

    func take(_ packet: CodedPacket, _ output: CaptureOutput) throws(EncodingError) {
        if limit.isReached(atNanoseconds: packet.dtsNanoseconds) {
            isDone = true
            return
        }
        do throws(EncodingError) {
            try decoder.decode(packet) { (sound) throws(EncodingError) in
                try encode(sound, output)
            }
        } catch .damagedPacket(let codec, let time, let reason) {
            output.lostDamaged(
                packet, .damagedPacket(codec: codec, atNanoseconds: time, reason: reason))
        }
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) {
        try decoder.finish { (sound) throws(EncodingError) in try encode(sound, output) }
        try encoder.finish(emit: output.sample)
    }

    private func encode(_ sound: RawAudio, _ output: CaptureOutput) throws(EncodingError) {
        let part = limit.part(of: sound)
        if part.frameCount > 0 { try encoder.encode(part, emit: output.sample) }
        if let levels = encoder.takeLevels() {
            output.heard(AudioReport(levels: levels, skewPPM: nil))
        }
    }
}
