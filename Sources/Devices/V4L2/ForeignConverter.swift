import CV4L2
import Glibc
import Media

/// Pictures of formats that only libv4lconvert knows, converted by it to what libswscale reads.
///
/// The library is looked for when a camera needs it; a box whose cameras do not, needs no such library. Belongs to one
/// thread.
final class ForeignConverter {
    private static let library = "libv4lconvert.so.0"
    /// What it says of a format that it does not know.
    private static let unknownFormat = "Unknown src format"
    private static let rgb3 = CameraPixelCode(rawValue: 0x3342_4752)
    /// It writes these as red, green and blue even where it was asked for YUV 4:2:0, past the end of that.
    private static let writtenAsRGB = ["HSV3", "HSV4"]

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
            let errorText = find("v4lconvert_get_error_message", CV4L2_convert_error.self),
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
        let target = Self.writtenAsRGB.contains(code.description) ? Self.rgb3 : .yu12
        let bytesPerRow = target == .yu12 ? size.width : 3 * size.width
        to.fmt.pix.pixelformat = target.rawValue
        to.fmt.pix.bytesperline = UInt32(bytesPerRow)
        to.fmt.pix.sizeimage = UInt32(
            target == .yu12 ? bytesPerRow * size.height * 3 / 2 : bytesPerRow * size.height)
        // What is not Y′CbCr becomes it, by this matrix.
        layout = CameraPictureLayout(
            coding: CameraCoding(target), size: size, bytesPerRow: bytesPerRow,
            colour: target == .yu12 ? nil : .bt709)
        // Whether it knows the format only an attempt tells; that a black picture is damaged does not matter.
        let black = ConvertedMemory(size, sizeBytes: Int(format.fmt.pix.sizeimage))
        black.bytes.initializeMemory(as: UInt8.self, repeating: 0)
        if converted(black.bytes).count < 0,
            let text = errorText(context).map({ String(cString: $0) }),
            text.contains(Self.unknownFormat)
        {
            throw MissingConversion(
                reason:
                    "nothing here can read its format \(code); choose another with --video-format")
        }
    }

    deinit {
        destroy(context)
        dlclose(handle)
    }

    /// The picture as ``layout`` says, in memory of its own; the driver's buffer is not needed any more.
    func converted(_ picture: CameraPicture) -> CameraPicture {
        let (memory, count) = converted(picture.bytes)
        return CameraPicture(
            sequence: picture.sequence, stampNanoseconds: picture.stampNanoseconds,
            isMonotonic: picture.isMonotonic, takenNanoseconds: picture.takenNanoseconds,
            isDamaged: picture.isDamaged || count < memory.bytes.count, bytes: memory.bytes,
            spareBytes: 0, owner: memory)
    }

    /// - Returns: how many bytes were written; fewer than a picture's, or less than none: it could not be converted.
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

/// Why a camera's format cannot be converted.
struct MissingConversion: Error {
    /// One line: what is missing, and what to do.
    var reason: String
}

/// The memory of one converted picture.
// @unchecked: written before anyone else sees it, only read from then on.
private final class ConvertedMemory: @unchecked Sendable {
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
