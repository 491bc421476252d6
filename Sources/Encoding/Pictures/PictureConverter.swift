import CFFmpeg
package import Media

/// Converts raw pictures of any format and size to YUV 4:2:0 of one size, planar or NV12, through libswscale.
///
/// Y′CbCr keeps its matrix and range; RGB becomes limited-range BT.709. Belongs to one thread.
package struct PictureConverter: ~Copyable {
    private let size: PictureSize
    private let format: PixelFormat
    private let limitsRange: Bool
    private let averages: Bool
    private var pool: PicturePool
    private var scaler: Scaler?

    /// - Parameters:
    ///   - size: of the output; even.
    ///   - limitsRange: whether full-range pictures become limited-range ones, for a composition of several sources.
    ///   - averages: whether a pixel is the average of the pixels that it covers: half the cost of cubic interpolation, for
    ///     pictures that become much smaller.
    package init(
        size: PictureSize, format: PixelFormat = .yuv420p, limitsRange: Bool = false,
        averages: Bool = false
    ) {
        self.size = size
        self.format = format
        self.limitsRange = limitsRange
        self.averages = averages
        pool = PicturePool(width: size.width, height: size.height)
    }

    /// A converted copy of the picture with the same times.
    package mutating func convert(_ picture: RawFrame) throws(EncodingError) -> RawFrame {
        let shape = Scaler.Shape(
            format: picture.format, width: picture.width, height: picture.height,
            isFullRange: picture.colour?.isFullRange ?? false)
        if scaler?.shape != shape {
            scaler = try Scaler(
                from: shape, to: size, as: format, limitsRange: limitsRange, averages: averages)
        }
        let (buffer, _) = pool.take()
        let result = buffer.frame(
            captureNanoseconds: picture.captureNanoseconds,
            durationNanoseconds: picture.durationNanoseconds, colour: picture.colour,
            format: format)
        scaler?.scale(picture, to: result)
        return result
    }
}

/// Owns a libswscale context for one kind of picture.
struct Scaler: ~Copyable {
    /// The input parameters of a context.
    struct Shape: Hashable {
        let format: PixelFormat
        let width: Int
        let height: Int
        let isFullRange: Bool
    }

    /// The input.
    let shape: Shape
    private let context: OpaquePointer

    /// A context that scales to YUV 4:2:0 of that size.
    init(
        from shape: Shape, to size: PictureSize, as target: PixelFormat = .yuv420p,
        limitsRange: Bool = false, averages: Bool = false
    ) throws(EncodingError) {
        let format = av_get_pix_fmt(shape.format.name)
        guard let description = av_pix_fmt_desc_get(format),
            let context = sws_getContext(
                Int32(shape.width), Int32(shape.height), format, Int32(size.width),
                Int32(size.height), av_get_pix_fmt(target.name),
                (averages ? SWS_AREA : SWS_BICUBIC) | SWS_ACCURATE_RND, nil, nil, nil)
        else {
            throw .noConversion(
                from: "\(shape.format.name) \(shape.width)×\(shape.height)",
                to: "YUV 4:2:0 \(size)")
        }
        let isRGB = description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        let coefficients = sws_getCoefficients(SWS_CS_ITU709)
        let range: Int32 = shape.isFullRange ? 1 : 0
        // Y′CbCr to Y′CbCr with the same matrix and range leaves the colours unchanged.
        sws_setColorspaceDetails(
            context, coefficients, isRGB ? 1 : range, coefficients,
            isRGB || limitsRange ? 0 : range, 0,
            1 << 16,
            1 << 16)
        self.shape = shape
        self.context = context
    }

    deinit { sws_freeContext(context) }

    /// Writes the scaled picture into the target's memory, which is not shared yet.
    func scale(_ picture: RawFrame, to target: RawFrame) {
        Self.run(context, from: picture, to: target)
    }

    static func run(_ context: OpaquePointer, from picture: RawFrame, to target: RawFrame) {
        withExtendedLifetime((picture.owner, target.owner)) {
            let sources = picture.planes.map {
                Optional(UnsafePointer($0.baseAddress.assumingMemoryBound(to: UInt8.self)))
            }
            let targets = target.planes.map {
                Optional($0.baseAddress.assumingMemoryBound(to: UInt8.self))
            }
            let padding = [Int32](repeating: 0, count: 4)
            let sourceRows = picture.planes.map { Int32($0.bytesPerRow) } + padding
            let targetRows = target.planes.map { Int32($0.bytesPerRow) } + padding
            _ = sws_scale(
                context, sources + [nil, nil, nil], sourceRows, 0, Int32(picture.height),
                targets + [nil, nil, nil], targetRows)
        }
    }
}
