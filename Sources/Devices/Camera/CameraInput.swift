package import Media

/// A picture as a camera's driver gave it: a view of the driver's own buffer.
///
/// The buffer goes back to the driver when the last reference to ``owner`` is gone; while many are out, the driver has to
/// leave pictures out.
// @unchecked: the bytes belong to whoever holds `owner`, and the driver does not write to them meanwhile.
package struct CameraPicture: @unchecked Sendable {
    /// The driver's count.
    package var sequence: UInt32
    /// The driver's stamp; means something only together with ``isMonotonic``.
    package var stampNanoseconds: Int64
    /// The driver says that it has stamped with `CLOCK_MONOTONIC`.
    package var isMonotonic: Bool
    /// When it was taken out of the driver's queue.
    package var takenNanoseconds: Int64
    /// The driver says that the content is damaged.
    package var isDamaged: Bool
    package var bytes: UnsafeMutableRawBufferPointer
    /// So many bytes of the buffer follow ``bytes``: they may be written to.
    package var spareBytes: Int
    /// Keeps the bytes, and keeps the buffer from the driver.
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

/// What a camera has to say.
package enum CameraEvent: Sendable {
    case picture(CameraPicture)
    /// Nothing has come in the time that was given.
    case idle
}

/// How a camera's pictures lie in its buffers.
package struct CameraPictureLayout: Hashable, Sendable {
    package var coding: CameraCoding
    package var size: PictureSize
    /// Of the first plane; 0 for coded pictures.
    package var bytesPerRow: Int
    /// Nil: nobody knows.
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

/// A camera that is open: capture belongs to one thread.
package protocol CameraInput: AnyObject {
    /// What was picked of what it can do.
    var choice: CameraChoice { get }
    /// Of the pictures that it gives.
    var layout: CameraPictureLayout { get }
    /// Which camera it is, in a few words for people.
    var summary: String { get }
    /// Begins to capture.
    func start() throws(DeviceError)
    /// Waits for a picture, but not longer than that.
    func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent
    /// Half of the driver's buffers or more are out: what is to wait should not wait in one of them.
    var isShortOfBuffers: Bool { get }
    /// Asks its own encoder for a keyframe; nothing happens where there is none, or it cannot be asked.
    func requestKeyframe()
}

extension CameraInput {
    package var isShortOfBuffers: Bool { false }
}
