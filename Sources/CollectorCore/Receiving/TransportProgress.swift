import Glibc

/// How much a TCP connection has brought, as the kernel counts it (tcp(7), `TCP_INFO`).
struct TransportProgress: Hashable, Sendable {
    /// Bytes that have left the kernel: libzmq has read them.
    var readBytes: Int
    /// Segments that had bytes in them.
    var segments: Int

    /// Where the kernel's `struct tcp_info` has `tcpi_bytes_received` and `tcpi_data_segs_in`: it grows at its end only. Glibc's own declaration of it
    /// ends before.
    private static let (receivedOffset, segmentsOffset, size) = (128, 152, 160)

    /// Asks the kernel.
    /// - Returns: nil when the descriptor is no TCP connection (any more), as that of `ipc://` is none.
    init?(of descriptor: Int32) {
        var info = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        var size = socklen_t(Self.size)
        let counts = withUnsafeMutableBytes(of: &info) { memory -> (Int, Int)? in
            guard
                getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, memory.baseAddress, &size)
                    == 0,
                size >= Self.size
            else { return nil }
            let received = memory.load(fromByteOffset: Self.receivedOffset, as: UInt64.self)
            let segments = memory.load(fromByteOffset: Self.segmentsOffset, as: UInt32.self)
            return (Int(clamping: received), Int(segments))
        }
        // Asked afterwards: what comes in between counts as waiting still, never as read.
        var waiting: Int32 = 0
        guard let counts, ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 else { return nil }
        readBytes = max(0, counts.0 - Int(waiting))
        segments = counts.1
    }
}
