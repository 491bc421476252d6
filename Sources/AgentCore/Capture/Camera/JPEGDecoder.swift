import Devices
import Encoding
import Media

/// Decodes a camera's JPEG pictures, one at a time.
final class JPEGDecoder {
    private var decoder: VideoDecoder
    private let colour: ColourDescription?

    init(_ layout: CameraPictureLayout) throws(EncodingError) {
        colour = layout.colour
        decoder = try VideoDecoder(
            CodedTrack(
                codec: "mjpeg", codecTag: 0, configuration: [],
                content: .picture(
                    CodedTrack.Picture(
                        width: layout.size.width, height: layout.size.height, format: nil,
                        colour: layout.colour, rate: nil, hasConstantRate: false,
                        sampleAspectRatio: nil))))
    }

    /// The decoded picture; nil if the data has none.
    func frame(
        _ picture: CameraPicture, _ place: PictureTime
    ) throws(EncodingError) -> RawFrame? {
        let (bytes, owner) = picture.padded()
        var result: RawFrame?
        let packet = CodedPacket(
            track: .video, ptsNanoseconds: place.captureNanoseconds,
            dtsNanoseconds: place.captureNanoseconds,
            durationNanoseconds: place.durationNanoseconds, isKeyframe: true, isDiscarded: false,
            skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil, bytes: bytes, owner: owner)
        try decoder.decode(packet) { (frame) throws(EncodingError) in result = frame }
        result?.colour = colour
        result?.captureNanoseconds = place.captureNanoseconds
        result?.durationNanoseconds = place.durationNanoseconds
        return result
    }
}

extension CameraPicture {
    /// The bytes with the zero padding that decoders may read: in the buffer itself if it is large enough, otherwise in a copy.
    func padded() -> (bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable) {
        let padding = CodedPacket.paddingBytes
        guard spareBytes < padding else {
            if let base = bytes.baseAddress {
                (base + bytes.count).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
            }
            return (UnsafeRawBufferPointer(bytes), owner)
        }
        let copy = PaddedBytes(UnsafeRawBufferPointer(bytes))
        return (copy.bytes, copy)
    }
}
