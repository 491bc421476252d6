package import Media

/// A picture from a camera's driver: a view of the driver's own buffer.
///
/// The buffer is returned to the driver with the last reference to ``owner``; while many are in use, the driver has to
/// drop pictures.
// @unchecked: `owner` grants exclusive access to the bytes, and the driver does not write to them during its lifetime.
package struct CameraPicture: @unchecked Sendable {
    /// The driver's sequence number.
    package var sequence: UInt32
    /// The driver's timestamp; meaningful only with ``isMonotonic``.
    package var stampNanoseconds: Int64
    /// Whether the driver's timestamp is of `CLOCK_MONOTONIC`.
    package var isMonotonic: Bool
    /// Time at which it was dequeued.
    package var takenNanoseconds: Int64
    /// Whether the driver reports damaged content.
    package var isDamaged: Bool
    package var bytes: UnsafeMutableRawBufferPointer
    /// Number of writable bytes after ``bytes`` in the buffer.
    package var spareBytes: Int
    /// Retains the buffer.
    package let owner: any AnyObject & Sendable

    package init(
        sequence: UInt32, stampNanoseconds: Int64, isMonotonic: Bool, takenNanoseconds: Int64,
        isDamaged: Bool, bytes: UnsafeMutableRawBufferPointer, spareBytes: Int,
        owner: any AnyObject & Sendable
    ) {
        self.sequence = sequence
        self.stampNanoseconds = stampNanoseconds
        self.isMonotonic = isMonotonic
        self.takenNanoseconds = takenNanoseconds
        self.isDamaged = isDamaged
        self.bytes = bytes
        self.spareBytes = spareBytes
        self.owner = owner
    }
}

/// The result of a read.
package enum CameraEvent: Sendable {
    case picture(CameraPicture)
    /// No picture arrived before the timeout.
    case idle
}

/// The memory layout of a camera's pictures.
package struct CameraPictureLayout: Hashable, Sendable {
    package var coding: CameraCoding
    package var size: PictureSize
    /// Bytes per row of the first plane; 0 for coded pictures.
    package var bytesPerRow: Int
    /// `nil` if unknown.
    package var colour: ColourDescription?

    package init(
        coding: CameraCoding, size: PictureSize, bytesPerRow: Int, colour: ColourDescription?
    ) {
        self.coding = coding
        self.size = size
        self.bytesPerRow = bytesPerRow
        self.colour = colour
    }
}

/// An open camera; capture belongs to one thread.
package protocol CameraInput: AnyObject {
    /// The chosen capture mode.
    var choice: CameraChoice { get }
    /// Layout of its pictures.
    var layout: CameraPictureLayout { get }
    /// The camera, in a few words.
    var summary: String { get }
    /// Starts to capture.
    func start() throws(DeviceError)
    /// Waits for a picture, up to the timeout.
    func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent
    /// Whether half or more of the driver's buffers are in use: pictures that have to wait should be copied.
    var isShortOfBuffers: Bool { get }
    /// Whether another reader may keep the last picture's buffer for a moment: no other one is in use.
    var canLendBuffer: Bool { get }
    /// Requests a keyframe from its own encoder; does nothing without one, or if it is not configurable.
    func requestKeyframe()
}

extension CameraInput {
    package var isShortOfBuffers: Bool { false }
    package var canLendBuffer: Bool { true }
}
