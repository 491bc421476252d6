import Encoding
import Media

/// Decodes the pictures of a source that is not encoded here, and selects those of the preview. Belongs to one thread.
final class PreviewDecoder {
    let format: VideoFormat
    let shape: PictureShape
    private var decoder: VideoDecoder
    private var pace = PreviewPace()

    /// - Parameter durationNanoseconds: of the first picture.
    init(_ format: VideoFormat, durationNanoseconds: Int64) throws(EncodingError) {
        self.format = format
        shape = PictureShape(format, durationNanoseconds: durationNanoseconds)
        let track: CodedTrack
        do throws(BitstreamError) {
            track = try CodedTrack(.video(format))
        } catch {
            throw .decoderRefused(codec: format.codec.libraryName, reason: "\(error)")
        }
        decoder = try VideoDecoder(track)
    }

    /// Decodes a picture; `emit` receives selected pictures in presentation order, with their duration in the preview.
    func decode(
        _ sample: EncodedSample, emit: (RawFrame) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        let bytes = sample.data.withUnsafeBytes { PaddedBytes($0) }
        let packet = CodedPacket(
            track: .video, ptsNanoseconds: sample.ptsNanoseconds,
            dtsNanoseconds: sample.dtsNanoseconds,
            durationNanoseconds: sample.durationNanoseconds,
            isKeyframe: sample.flags.contains(.keyframe), isDiscarded: false, skippedAtStart: 0,
            skippedAtEnd: 0, newConfiguration: nil, bytes: bytes.bytes, owner: bytes)
        var selected: [RawFrame] = []
        try decoder.decode(packet) { (frame) throws(EncodingError) in
            if let frame = select(frame) { selected.append(frame) }
        }
        for frame in selected { try emit(frame) }
    }

    /// Passes on the pictures that the decoder still holds.
    func finish(emit: (RawFrame) throws(EncodingError) -> Void) throws(EncodingError) {
        var selected: [RawFrame] = []
        try decoder.finish { (frame) throws(EncodingError) in
            if let frame = select(frame) { selected.append(frame) }
        }
        for frame in selected { try emit(frame) }
    }

    /// There is a gap before the next picture.
    func restart() { pace.restart() }

    private func select(_ frame: RawFrame) -> RawFrame? {
        guard
            let duration = pace.admits(
                atNanoseconds: frame.captureNanoseconds,
                durationNanoseconds: frame.durationNanoseconds)
        else { return nil }
        var frame = frame
        frame.durationNanoseconds = duration
        return frame
    }
}
