import CV4L2
import Glibc
import Media

/// Converts pictures in formats that only libv4lconvert supports to one that libswscale supports.
///
/// The library is loaded when a camera needs it. Belongs to one thread.
final class ForeignConverter: CameraPictureConverter {
    private static let library = "libv4lconvert.so.0"
    /// The library's message for an unsupported format.
    private static let unknownFormat = "Unknown src format"

    private let handle: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    private let convert: CV4L2_convert
    private let destroy: CV4L2_convert_destroy
    private var from: v4l2_format
    private var to: v4l2_format
    /// Layout of the output.
    let layout: CameraPictureLayout

    /// Converts pictures in the node's present format; the error has the reason if that is impossible.
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
            let errorText = find("v4lconvert_get_error_message", CV4L2_convert_error.self),
            let context = create(node.descriptor)
        else {
            dlclose(handle)
            throw MissingConversion(
                reason:
                    "its format \(code) needs libv4lconvert, which cannot be loaded: choose another --video-format"
            )
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
        // Support can only be tested by converting a picture. The result for a black one is not used.
        let black = ConvertedMemory(size, sizeBytes: Int(format.fmt.pix.sizeimage))
        black.bytes.initializeMemory(as: UInt8.self, repeating: 0)
        if converted(black.bytes).count < 0,
            let text = errorText(context).map({ String(cString: $0) }),
            text.contains(Self.unknownFormat)
        {
            throw MissingConversion(
                reason:
                    "its format \(code) is not supported: choose another --video-format")
        }
    }

    deinit {
        destroy(context)
        dlclose(handle)
    }

    func converted(_ picture: CameraPicture) -> CameraPicture {
        let (memory, count) = converted(picture.bytes)
        return picture.converted(to: memory, isWhole: count >= memory.bytes.count)
    }

    /// - Returns: the number of bytes written; less than a picture, or negative: the conversion failed.
    private func converted(
        _ bytes: UnsafeMutableRawBufferPointer
    ) -> (memory: ConvertedMemory, count: Int) {
        let memory = ConvertedMemory(layout.size, sizeBytes: Int(to.fmt.pix.sizeimage))
        let count = convert(
            context, &from, &to, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            Int32(clamping: bytes.count),
            memory.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            Int32(clamping: memory.bytes.count))
        return (memory, Int(count))
    }
}
