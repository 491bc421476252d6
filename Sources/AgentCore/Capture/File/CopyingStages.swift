import Encoding
import Media

/// A file's own pictures, bit for bit.
final class CopiedPictures: PacketStage {
    let text: String
    private(set) var isDone = false
    private var copier: VideoCopier
    private var limit: CaptureLimit
    private var undecodable = UndecodablePictures()
    /// Upright: the file's orientation.
    private let orientation: PictureOrientation

    init(
        _ track: CodedTrack, firstPacket: CodedPacket?, orientation: PictureOrientation,
        durationNanoseconds: Int64?
    ) throws(EncodingError) {
        self.orientation = orientation
        copier = try VideoCopier(track, firstPacket: firstPacket)
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        text = CaptureDescription.copiedVideo(track, copier.format)
    }

    var format: TrackFormat { oriented(copier.format) }

    private func oriented(_ format: VideoFormat) -> TrackFormat {
        var format = format
        if orientation != .upright { format.orientation = orientation }
        return .video(format)
    }

    func begin(startNanoseconds: Int64) { limit.begin(startNanoseconds: startNanoseconds) }

    func take(_ packet: CodedPacket, _ output: CaptureOutput) throws(EncodingError) {
        // Cut in decoding order: earlier packets do not reference later ones.
        if limit.isReached(atNanoseconds: packet.dtsNanoseconds) {
            isDone = true
            return
        }
        let result = try copier.copy(packet)
        guard let sample = result.sample else {
            undecodable.add(packet)
            return
        }
        undecodable.tell(output)
        if let format = result.newFormat { output.formatChanged(oriented(format)) }
        output.sample(sample)
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) { undecodable.tell(output) }
}

/// Pictures of a file that cannot be decoded.
private struct UndecodablePictures {
    private var count = 0
    private var start: Int64 = 0
    private var end: Int64 = 0

    mutating func add(_ packet: CodedPacket) {
        let time = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        start = count == 0 ? time : min(start, time)
        end = max(end, time + packet.durationNanoseconds)
        count += 1
    }

    /// Reports these pictures once.
    mutating func tell(_ output: CaptureOutput) {
        guard count > 0 else { return }
        output.lost(
            CaptureLoss(
                track: .video, cause: .damagedInput, startNanoseconds: start,
                durationNanoseconds: max(0, end - start), samples: count,
                text: VideoCopier.leftOut(count)))
        self = UndecodablePictures()
    }
}

/// A file's own audio, bit for bit.
final class CopiedAudio: PacketStage {
    let text: String
    private(set) var isDone = false
    private var copier: AudioCopier
    private var limit: CaptureLimit

    init(
        _ track: CodedTrack, firstPacket: CodedPacket?, durationNanoseconds: Int64?
    ) throws(EncodingError) {
        copier = try AudioCopier(track, firstPacket: firstPacket)
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        text = CaptureDescription.copiedAudio(copier.format)
    }

    var format: TrackFormat { .audio(copier.format) }

    func begin(startNanoseconds: Int64) { limit.begin(startNanoseconds: startNanoseconds) }

    func take(_ packet: CodedPacket, _ output: CaptureOutput) throws(EncodingError) {
        if limit.isReached(atNanoseconds: packet.ptsNanoseconds ?? packet.dtsNanoseconds) {
            isDone = true
            return
        }
        if let sample = try copier.copy(packet) { output.sample(sample) }
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) {}
}
