import Media

/// What makes a camera's pictures into some that libswscale reads, in memory of their own. Belongs to one thread.
protocol CameraPictureConverter: AnyObject {
    /// What comes out.
    var layout: CameraPictureLayout { get }
    /// The picture as ``layout`` says; the driver's buffer is not needed any more.
    func converted(_ picture: CameraPicture) -> CameraPicture
}

/// Why a camera's format cannot be converted.
struct MissingConversion: Error {
    /// One line: what is missing, and what to do.
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
// @unchecked: written before anyone else sees it, only read from then on.
final class ConvertedMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private let memory: UnsafeMutableRawBufferPointer

    /// - Parameter size: of the picture: there is room for whole pixels of it, whatever is asked for.
    init(_ size: PictureSize, sizeBytes: Int) {
        memory = .allocate(
            byteCount: max(sizeBytes, 4 * size.width * size.height), alignment: 64)
        bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<sizeBytes])
    }

    deinit { memory.deallocate() }
}
