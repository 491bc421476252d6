import CV4L2
import Glibc
import Media

/// Pictures of formats that only libv4lconvert knows, converted to YUV 4:2:0 by it.
///
/// The library is looked for when a camera needs it; a box whose cameras do not, needs no such library. Belongs to one
/// thread.
final class ForeignConverter {
    private static let library = "libv4lconvert.so.0"

    private let handle: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    private let convert: CV4L2_convert
    private let destroy: CV4L2_convert_destroy
    private var from: v4l2_format
    private var to: v4l2_format
    /// What comes out.
    let layout: CameraPictureLayout

    /// For pictures as the node delivers them from now on; the text of the error says why not.
    init(_ node: borrowing VideoNode, from format: v4l2_format) throws(MissingConversion) {
        let code = CameraPixelCode(rawValue: format.fmt.pix.pixelformat)
        guard let handle = dlopen(Self.library, RTLD_NOW | RTLD_LOCAL) else {
            throw MissingConversion(
                reason: "its format \(code) needs libv4lconvert: install the package libv4l-0")
        }
        func find<Function>(_ name: String, _ type: Function.Type) -> Function? {
            dlsym(handle, name).map { unsafeBitCast($0, to: type) }
        }
        guard let create = find("v4lconvert_create", CV4L2_convert_create.self),
            let convert = find("v4lconvert_convert", CV4L2_convert.self),
            let destroy = find("v4lconvert_destroy", CV4L2_convert_destroy.self),
            let context = create(node.descriptor)
        else {
            dlclose(handle)
            throw MissingConversion(
                reason: "its format \(code) needs libv4lconvert, which cannot be used here")
        }
        self.handle = handle
        self.convert = convert
        self.destroy = destroy
        self.context = context
        from = format
        to = format
        let size = PictureSize(
            width: Int(format.fmt.pix.width), height: Int(format.fmt.pix.height))
        to.fmt.pix.pixelformat = CameraPixelCode.yu12.rawValue
        to.fmt.pix.bytesperline = UInt32(size.width)
        to.fmt.pix.sizeimage = UInt32(size.width * size.height * 3 / 2)
        layout = CameraPictureLayout(
            coding: CameraCoding(.yu12), size: size, bytesPerRow: size.width, colour: nil)
    }

    deinit {
        destroy(context)
        dlclose(handle)
    }

    /// The picture in YUV 4:2:0, in memory of its own; the driver's buffer is not needed any more.
    func converted(_ picture: CameraPicture) -> CameraPicture {
        let memory = ConvertedMemory(sizeBytes: Int(to.fmt.pix.sizeimage))
        let count = convert(
            context, &from, &to, picture.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            Int32(clamping: picture.bytes.count),
            memory.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            Int32(clamping: memory.bytes.count))
        return CameraPicture(
            sequence: picture.sequence, stampNanoseconds: picture.stampNanoseconds,
            isMonotonic: picture.isMonotonic, takenNanoseconds: picture.takenNanoseconds,
            isDamaged: picture.isDamaged || count < memory.bytes.count, bytes: memory.bytes,
            spareBytes: 0, owner: memory)
    }
}

/// Why a camera's format cannot be converted.
struct MissingConversion: Error {
    /// One line: what is missing, and what to do.
    var reason: String
}

/// The memory of one converted picture.
// @unchecked: written before anyone else sees it, only read from then on.
private final class ConvertedMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(sizeBytes: Int) {
        bytes = .allocate(byteCount: sizeBytes, alignment: 64)
    }

    deinit { bytes.deallocate() }
}
