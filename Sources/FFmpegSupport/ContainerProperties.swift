package import CFFmpeg
import Media

/// Properties of pictures that a container states and their bitstream does not: a copy without them shows something else.
package enum ContainerProperty: Hashable, Sendable, CaseIterable {
    /// A display matrix.
    case orientation
    case pixelShape
    case colour
    /// Colour volume of the mastering display.
    case mastering
    case lightLevel
    case projection
    case stereoscopy

    package var text: String {
        switch self {
        case .orientation: "the rotation"
        case .pixelShape: "the pixel aspect ratio"
        case .colour: "the colour description"
        case .mastering: "the mastering display's description"
        case .lightLevel: "the content light level"
        case .projection: "the spherical projection"
        case .stereoscopy: "the stereoscopic layout"
        }
    }

    /// Properties of a stream, in the order of the cases.
    package static func all(of stream: UnsafeMutablePointer<AVStream>) -> [ContainerProperty] {
        guard let parameters = stream.pointee.codecpar,
            parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO
        else { return [] }
        let own = bitstream(parameters.pointee)
        return allCases.filter { property in
            switch property {
            case .orientation: hasMatrix(stream)
            case .pixelShape: hasPixelShape(stream, own)
            case .colour: hasColour(parameters.pointee) && own?.colour == nil
            case .mastering: has(AV_PKT_DATA_MASTERING_DISPLAY_METADATA, stream)
            case .lightLevel: has(AV_PKT_DATA_CONTENT_LIGHT_LEVEL, stream)
            case .projection: has(AV_PKT_DATA_SPHERICAL, stream)
            case .stereoscopy: has(AV_PKT_DATA_STEREO3D, stream)
            }
        }
    }

    /// Picture properties from the parameter sets; nil for codecs that recordings do not support.
    private static func bitstream(_ parameters: AVCodecParameters) -> PictureProperties? {
        guard let codec = VideoCodec(parameters.codec_id), let bytes = parameters.extradata else {
            return nil
        }
        do throws(BitstreamError) {
            return try VideoFormat(
                codec,
                extradata: Array(
                    UnsafeBufferPointer(start: bytes, count: Int(parameters.extradata_size)))
            ).properties()
        } catch {
            // Sets that come with the pictures, or that their user reports.
            return nil
        }
    }

    private static func hasPixelShape(
        _ stream: UnsafeMutablePointer<AVStream>, _ own: PictureProperties?
    ) -> Bool {
        let value = stream.pointee.sample_aspect_ratio
        guard value.num > 0, value.den > 0, let own,
            let shape = SampleAspectRatio(reducing: Int64(value.num), Int64(value.den))
        else { return false }
        return shape != own.sampleAspectRatio ?? .square
    }

    private static func hasColour(_ parameters: AVCodecParameters) -> Bool {
        VideoCodec(parameters.codec_id) != nil
            && (parameters.color_primaries != AVCOL_PRI_UNSPECIFIED
                && parameters.color_primaries != AVCOL_PRI_RESERVED0
                || parameters.color_trc != AVCOL_TRC_UNSPECIFIED
                    && parameters.color_trc != AVCOL_TRC_RESERVED0
                || parameters.color_space != AVCOL_SPC_UNSPECIFIED
                    && parameters.color_space != AVCOL_SPC_RGB)
    }

    private static func hasMatrix(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        var size = 0
        guard let data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size) else {
            return false
        }
        let bytes = UnsafeRawBufferPointer(start: data, count: size)
        return DisplayMatrix.orientation(of: bytes) != .upright
    }

    private static func has(
        _ type: AVPacketSideDataType, _ stream: UnsafeMutablePointer<AVStream>
    ) -> Bool {
        av_stream_get_side_data(stream, type, nil) != nil
    }
}
