import CLinux
import CV4L2
import Glibc

/// A node of the kernel's Video for Linux (`/dev/video0`) that is open; closed with this value.
struct VideoNode: ~Copyable {
    let descriptor: Int32

    /// Opens the node, without waiting for anything.
    init(_ path: String) throws(KernelFault) {
        descriptor = CLinux_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0)
        if descriptor < 0 { throw KernelFault(call: "open", code: errno) }
    }

    deinit { close(descriptor) }

    /// Makes a call that reads and writes `argument`.
    func call<Argument>(
        _ name: String, _ request: UInt, _ argument: inout Argument
    ) throws(KernelFault) {
        while withUnsafeMutablePointer(to: &argument, { ioctl(descriptor, request, $0) }) < 0 {
            if errno != EINTR { throw KernelFault(call: name, code: errno) }
        }
    }

    /// The same, where a refusal is an answer.
    func asks<Argument>(_ request: UInt, _ argument: inout Argument) -> Bool {
        do throws(KernelFault) {
            try call("", request, &argument)
            return true
        } catch {
            return false
        }
    }

    /// Who the node says it is.
    func capability() throws(KernelFault) -> v4l2_capability {
        var capability = v4l2_capability()
        try call("QUERYCAP", UInt(CV4L2_QUERYCAP), &capability)
        return capability
    }
}

/// A call of the kernel that failed.
struct KernelFault: Error, Hashable {
    /// V4L2's name of the call, without VIDIOC.
    var call: String
    /// errno.
    var code: Int32

    /// In a few words.
    var reason: String { "\(String(cString: strerror(code))) (\(call))" }
}

extension v4l2_capability {
    /// Of this node alone, where the driver tells that from those of the whole device.
    private var own: UInt32 {
        capabilities & CV4L2_CAP_DEVICE_CAPS != 0 ? device_caps : capabilities
    }

    /// Pictures can be captured through it, into buffers that are shared with the driver.
    var isCamera: Bool {
        own & CV4L2_CAP_CAPTURE != 0 && own & CV4L2_CAP_STREAMING != 0
    }

    /// Captures, but only into buffers of several parts.
    var isMultiplanarOnly: Bool {
        own & CV4L2_CAP_CAPTURE == 0 && own & CV4L2_CAP_CAPTURE_MPLANE != 0
    }

    var driverName: String { text(of: driver) }
    var cardName: String { text(of: card) }
    var busName: String { text(of: bus_info) }
}

/// The text in one of the kernel's arrays of bytes, up to its first zero.
func text<Bytes>(of bytes: Bytes) -> String {
    withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
