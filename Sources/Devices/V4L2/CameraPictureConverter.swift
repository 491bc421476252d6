import Media

/// Converts a camera's pictures to a format that libswscale supports, in separate memory. Belongs to one thread.
protocol CameraPictureConverter: AnyObject {
    /// Layout of the output.
    var layout: CameraPictureLayout { get }
    /// The picture in ``layout``; the driver's buffer is no longer needed.
    func converted(_ picture: CameraPicture) -> CameraPicture
}

/// Why a camera's format cannot be converted.
struct MissingConversion: Error {
    /// One line: the missing format, and what to do.
    var reason: String
}

extension CameraPicture {
    /// The same picture with other bytes.
    func converted(to memory: ConvertedMemory, isWhole: Bool) -> CameraPicture {
        CameraPicture(
            sequence: sequence, stampNanoseconds: stampNanoseconds, isMonotonic: isMonotonic,
            takenNanoseconds: takenNanoseconds, isDamaged: isDamaged || !isWhole,
            bytes: memory.bytes, spareBytes: 0, owner: memory)
    }
}

/// The memory of one converted picture.
// @unchecked: written before it is shared, only read from then on.
final class ConvertedMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private let memory: UnsafeMutableRawBufferPointer

    /// - Parameter size: of the picture; the memory has room for all of its pixels, even if `sizeBytes` is less.
    init(_ size: PictureSize, sizeBytes: Int) {
        memory = .allocate(
            byteCount: max(sizeBytes, 4 * size.width * size.height), alignment: 64)
        bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<sizeBytes])
    }

    deinit { memory.deallocate() }
}
