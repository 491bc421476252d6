import CLinux
import CV4L2
import Files
import Glibc

/// An open Video for Linux node (`/dev/video0`); closed with this value.
struct VideoNode: ~Copyable {
    let descriptor: Int32

    /// Opens the node, without blocking.
    init(_ path: String) throws(KernelFault) {
        descriptor = CLinux_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0)
        if descriptor < 0 { throw KernelFault(call: "open", code: errno) }
    }

    deinit { close(descriptor) }

    /// An ioctl that reads and writes `argument`.
    func call<Argument>(
        _ name: String, _ request: UInt, _ argument: inout Argument
    ) throws(KernelFault) {
        while withUnsafeMutablePointer(to: &argument, { ioctl(descriptor, request, $0) }) < 0 {
            if errno != EINTR { throw KernelFault(call: name, code: errno) }
        }
    }

    /// The same, with a failure as a result.
    func asks<Argument>(_ request: UInt, _ argument: inout Argument) -> Bool {
        do throws(KernelFault) {
            try call("", request, &argument)
            return true
        } catch {
            return false
        }
    }

    /// The node's driver, card and capabilities.
    func capability() throws(KernelFault) -> v4l2_capability {
        var capability = v4l2_capability()
        try call("QUERYCAP", UInt(CV4L2_QUERYCAP), &capability)
        return capability
    }
}

/// A failed ioctl.
struct KernelFault: Error, Hashable {
    /// V4L2's name of the call, without VIDIOC.
    var call: String
    /// errno.
    var code: Int32

    var reason: String { "\(systemMessage(code)) (\(call))" }
}

extension v4l2_capability {
    /// Capabilities of this node; those of the whole device if the driver does not distinguish them.
    private var own: UInt32 {
        capabilities & CV4L2_CAP_DEVICE_CAPS != 0 ? device_caps : capabilities
    }

    /// Whether it supports capture into memory-mapped buffers.
    var isCamera: Bool {
        own & CV4L2_CAP_CAPTURE != 0 && own & CV4L2_CAP_STREAMING != 0
    }

    /// Whether it only captures into multi-planar buffers.
    var isMultiplanarOnly: Bool {
        own & CV4L2_CAP_CAPTURE == 0 && own & CV4L2_CAP_CAPTURE_MPLANE != 0
    }

    var driverName: String { text(of: driver) }
    var cardName: String { text(of: card) }
    var busName: String { text(of: bus_info) }
}

/// The text in a fixed-size byte array, up to the first zero.
func text<Bytes>(of bytes: Bytes) -> String {
    withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
