import CV4L2
import Media

/// Converts the kernel's colour constants to those of ISO/IEC 23091-2.
enum CameraColour {
    /// The colour description of a raw format; nil: unknown.
    ///
    /// For constants that the driver leaves to the default of its colour space: V4L2_MAP_…_DEFAULT of
    /// <linux/videodev2.h>.
    static func description(
        colourSpace: UInt32, transfer: UInt32, matrix: UInt32, quantization: UInt32
    ) -> ColourDescription? {
        let space = v4l2_colorspace(colourSpace)
        if space == V4L2_COLORSPACE_DEFAULT || space == V4L2_COLORSPACE_RAW { return nil }
        let isFullRange =
            quantization == V4L2_QUANTIZATION_DEFAULT.rawValue
            ? space == V4L2_COLORSPACE_JPEG : quantization == V4L2_QUANTIZATION_FULL_RANGE.rawValue
        return ColourDescription(
            primaries: primaries(space), transfer: self.transfer(transfer, in: space),
            matrix: self.matrix(matrix, in: space), isFullRange: isFullRange)
    }

    private static let unspecified: UInt8 = 2

    private static func primaries(_ space: v4l2_colorspace) -> UInt8 {
        switch space {
        case V4L2_COLORSPACE_REC709, V4L2_COLORSPACE_SRGB, V4L2_COLORSPACE_JPEG: 1
        case V4L2_COLORSPACE_470_SYSTEM_M: 4
        case V4L2_COLORSPACE_470_SYSTEM_BG: 5
        case V4L2_COLORSPACE_SMPTE170M: 6
        case V4L2_COLORSPACE_SMPTE240M: 7
        case V4L2_COLORSPACE_BT2020: 9
        case V4L2_COLORSPACE_DCI_P3: 11
        default: unspecified
        }
    }

    private static func transfer(_ value: UInt32, in space: v4l2_colorspace) -> UInt8 {
        switch v4l2_xfer_func(value) {
        case V4L2_XFER_FUNC_709: return 1
        case V4L2_XFER_FUNC_SRGB: return 13
        case V4L2_XFER_FUNC_SMPTE240M: return 7
        case V4L2_XFER_FUNC_NONE: return 8
        case V4L2_XFER_FUNC_DCI_P3: return 17
        case V4L2_XFER_FUNC_SMPTE2084: return 16
        case V4L2_XFER_FUNC_DEFAULT: break
        default: return unspecified
        }
        switch space {
        case V4L2_COLORSPACE_SRGB, V4L2_COLORSPACE_JPEG: return 13
        case V4L2_COLORSPACE_SMPTE240M: return 7
        case V4L2_COLORSPACE_DCI_P3: return 17
        case V4L2_COLORSPACE_OPRGB: return unspecified
        default: return 1
        }
    }

    private static func matrix(_ value: UInt32, in space: v4l2_colorspace) -> UInt8 {
        switch v4l2_ycbcr_encoding(value) {
        case V4L2_YCBCR_ENC_601, V4L2_YCBCR_ENC_XV601: return 6
        case V4L2_YCBCR_ENC_709, V4L2_YCBCR_ENC_XV709: return 1
        case V4L2_YCBCR_ENC_BT2020: return 9
        case V4L2_YCBCR_ENC_BT2020_CONST_LUM: return 10
        case V4L2_YCBCR_ENC_SMPTE240M: return 7
        case V4L2_YCBCR_ENC_DEFAULT: break
        default: return unspecified
        }
        switch space {
        case V4L2_COLORSPACE_REC709, V4L2_COLORSPACE_DCI_P3: return 1
        case V4L2_COLORSPACE_BT2020: return 9
        case V4L2_COLORSPACE_SMPTE240M: return 7
        default: return 6
        }
    }
}
