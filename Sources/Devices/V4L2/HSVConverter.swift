import CV4L2
import Media

/// Converts a camera's hue, saturation and value, in the range that its driver reports. Belongs to one thread.
final class HSVConverter: CameraPictureConverter {
    private let picture: HSVPicture
    let layout: CameraPictureLayout

    init(from format: v4l2_format) throws(MissingConversion) {
        let pixels = format.fmt.pix
        let code = CameraPixelCode(rawValue: pixels.pixelformat)
        let size = PictureSize(width: Int(pixels.width), height: Int(pixels.height))
        guard let hues = Self.hues(of: format),
            let picture = HSVPicture(code, hues, size: size, bytesPerRow: Int(pixels.bytesperline))
        else {
            throw MissingConversion(
                reason:
                    "its driver does not report the hue encoding of its format \(code): choose another --video-format"
            )
        }
        self.picture = picture
        // The matrix of the later conversion to Y′CbCr.
        layout = CameraPictureLayout(
            coding: CameraCoding(.rgb24), size: size, bytesPerRow: 3 * size.width, colour: .bt709)
    }

    /// The driver's range of the hue; nil: not reported.
    static func hues(of format: v4l2_format) -> HSVPicture.HueEncoding? {
        switch v4l2_hsv_encoding(format.fmt.pix.hsv_enc) {
        case V4L2_HSV_ENC_180: .twoDegrees
        case V4L2_HSV_ENC_256: .wholeByte
        default: nil
        }
    }

    func converted(_ picture: CameraPicture) -> CameraPicture {
        let memory = ConvertedMemory(layout.size, sizeBytes: self.picture.convertedBytes)
        let isWhole = self.picture.convert(
            UnsafeRawBufferPointer(picture.bytes), into: memory.bytes)
        return picture.converted(to: memory, isWhole: isWhole)
    }
}
