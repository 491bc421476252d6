#if canImport(Glibc)
    import Glibc
#endif

/// Memory for one YUV 4:2:0 picture in three planes, for painting and conversion.
///
/// Reused through ``PicturePool``; freed with its last reference.
// @unchecked: written by its user after it was taken from the pool and before it is shared, only read from then on; the
// pool reuses it when there are no other references.
package final class PictureBuffer: @unchecked Sendable {
    package let width: Int
    package let height: Int
    /// Y, U, V. Rows begin at multiples of 64 bytes.
    package let planes: [RawFrame.Plane]
    private let memory: UnsafeMutableRawPointer

    /// The width of vector instructions.
    private static let alignment = 64

    /// Uninitialised memory for a picture of even size.
    package init(width: Int, height: Int) {
        precondition(width > 0 && height > 0 && width % 2 == 0 && height % 2 == 0)
        self.width = width
        self.height = height
        func aligned(_ bytes: Int) -> Int {
            (bytes + Self.alignment - 1) / Self.alignment * Self.alignment
        }
        let lumaRow = aligned(width)
        let chromaRow = aligned(width / 2)
        let lumaBytes = lumaRow * height
        let chromaBytes = chromaRow * height / 2
        memory = .allocate(
            byteCount: lumaBytes + 2 * chromaBytes + Self.alignment, alignment: Self.alignment)
        planes = [
            RawFrame.Plane(baseAddress: memory, bytesPerRow: lumaRow),
            RawFrame.Plane(baseAddress: memory + lumaBytes, bytesPerRow: chromaRow),
            RawFrame.Plane(baseAddress: memory + lumaBytes + chromaBytes, bytesPerRow: chromaRow),
        ]
    }

    deinit { memory.deallocate() }

    /// The same memory for a picture in NV12: Y, then U and V interleaved.
    package var interleavedPlanes: [RawFrame.Plane] {
        [
            planes[0],
            RawFrame.Plane(
                baseAddress: planes[1].baseAddress, bytesPerRow: 2 * planes[1].bytesPerRow),
        ]
    }

    /// Copies the content of `other`, which has the same size.
    package func copyContent(of other: PictureBuffer) {
        precondition(width == other.width && height == other.height)
        for (plane, (to, from)) in zip(planes, other.planes).enumerated() {
            let rows = plane == 0 ? height : height / 2
            memcpy(to.baseAddress, from.baseAddress, rows * to.bytesPerRow)
        }
    }

    /// A picture with this content, which must not change while the frame exists.
    ///
    /// `format` is the layout it was filled in.
    package func frame(
        captureNanoseconds: Int64, durationNanoseconds: Int64, colour: ColourDescription?,
        format: PixelFormat = .yuv420p
    ) -> RawFrame {
        RawFrame(
            format: format, width: width, height: height,
            planes: format == .nv12 ? interleavedPlanes : planes, colour: colour,
            captureNanoseconds: captureNanoseconds, durationNanoseconds: durationNanoseconds,
            owner: self)
    }
}

/// Reuses picture buffers of one size: as many as are in use simultaneously, usually one.
package struct PicturePool {
    private let width: Int
    private let height: Int
    private var buffers: [PictureBuffer] = []

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// An unused buffer, and its index in the pool, which identifies buffers that keep their content from the last use.
    package mutating func take() -> (buffer: PictureBuffer, place: Int) {
        for place in buffers.indices where isKnownUniquelyReferenced(&buffers[place]) {
            return (buffers[place], place)
        }
        buffers.append(PictureBuffer(width: width, height: height))
        return (buffers[buffers.count - 1], buffers.count - 1)
    }
}
