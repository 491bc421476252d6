/// The memory layout of a raw picture, by FFmpeg's name: an open set, and no C type.
package struct PixelFormat: Hashable, Sendable {
    package let name: String
    package init(name: String) { self.name = name }

    /// Planar Y, U, V; colour at half width and half height.
    package static let yuv420p = PixelFormat(name: "yuv420p")
    /// Planar Y, then U and V interleaved; colour at half width and half height.
    package static let nv12 = PixelFormat(name: "nv12")
    /// Packed Y U Y V; colour at half width. Common for uncompressed video of USB cameras.
    package static let yuyv422 = PixelFormat(name: "yuyv422")
    /// Packed R, G, B bytes.
    package static let rgb24 = PixelFormat(name: "rgb24")
}

/// One uncompressed picture: a view of memory with another owner, passed on without a copy.
///
/// The memory (a driver's buffer, a decoder's frame) is valid and unchanged while ``owner`` is referenced; releasing
/// the last reference returns it.
// @unchecked: the planes are only read, and `owner` keeps them unchanged while it is referenced.
package struct RawFrame: @unchecked Sendable {
    /// One plane's first byte and the distance between two rows.
    package struct Plane {
        package let baseAddress: UnsafeMutableRawPointer
        package let bytesPerRow: Int

        package init(baseAddress: UnsafeMutableRawPointer, bytesPerRow: Int) {
            self.baseAddress = baseAddress
            self.bytesPerRow = bytesPerRow
        }
    }

    package var format: PixelFormat
    package var width: Int
    package var height: Int
    /// In the format's own order, at most four.
    package var planes: [Plane]
    /// `nil` if unknown.
    package var colour: ColourDescription?
    /// The shape of the pixels; nil: square, or unknown.
    package var sampleAspectRatio: SampleAspectRatio?
    /// When it was captured, nanoseconds of the agent's `CLOCK_MONOTONIC`.
    package var captureNanoseconds: Int64
    /// Expected display duration, nanoseconds.
    package var durationNanoseconds: Int64
    /// Keeps the planes alive.
    package let owner: any AnyObject & Sendable

    package init(
        format: PixelFormat, width: Int, height: Int, planes: [Plane], colour: ColourDescription?,
        sampleAspectRatio: SampleAspectRatio? = nil, captureNanoseconds: Int64,
        durationNanoseconds: Int64, owner: any AnyObject & Sendable
    ) {
        self.sampleAspectRatio = sampleAspectRatio
        self.format = format
        self.width = width
        self.height = height
        self.planes = planes
        self.colour = colour
        self.captureNanoseconds = captureNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.owner = owner
    }
}

extension ColourDescription {
    /// From the code points of ISO/IEC 23091-2.
    package init(primaries: UInt8, transfer: UInt8, matrix: UInt8, isFullRange: Bool) {
        self.init(
            primaries: primaries, transferCharacteristics: transfer, matrixCoefficients: matrix,
            isFullRange: isFullRange)
    }

    /// HDTV (Rec. ITU-R BT.709), limited range.
    package static let bt709 = ColourDescription(
        primaries: 1, transfer: 1, matrix: 1, isFullRange: false)
}

extension SampleAspectRatio {
    /// The ratio width : height of one pixel.
    package init(_ horizontal: UInt16, to vertical: UInt16) {
        self.init(horizontal: horizontal, vertical: vertical)
    }
}
