import Glibc

/// The bytes that a TCP connection has received, as the kernel counts them (tcp(7), `TCP_INFO`).
struct TransportProgress: Hashable, Sendable {
    /// Bytes read from the kernel by libzmq.
    var readBytes: Int
    /// Segments that carried data.
    var segments: Int
    /// Sent bytes that the peer's kernel has acknowledged.
    var acknowledgedBytes: Int

    /// Offsets of `tcpi_bytes_acked`, `tcpi_bytes_received` and `tcpi_data_segs_in` in the kernel's `struct tcp_info`, which
    /// only grows at its end. Glibc's own declaration ends before them.
    private static let (acknowledgedOffset, receivedOffset, segmentsOffset, size) = (
        120, 128, 152, 160
    )

    /// Queries the kernel.
    /// - Returns: nil when the descriptor is not (or no longer) a TCP connection; that of `ipc://` never is.
    init?(of descriptor: Int32) {
        var info = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        var size = socklen_t(Self.size)
        let counts = withUnsafeMutableBytes(of: &info) { memory -> (Int, Int, Int)? in
            guard
                getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, memory.baseAddress, &size)
                    == 0,
                size >= Self.size
            else { return nil }
            let received = memory.load(fromByteOffset: Self.receivedOffset, as: UInt64.self)
            let segments = memory.load(fromByteOffset: Self.segmentsOffset, as: UInt32.self)
            let acknowledged = memory.load(
                fromByteOffset: Self.acknowledgedOffset, as: UInt64.self)
            return (Int(clamping: received), Int(segments), Int(clamping: acknowledged))
        }
        // Queried last: bytes that arrive in between count as unread.
        var waiting: Int32 = 0
        guard let counts, ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 else { return nil }
        readBytes = max(0, counts.0 - Int(waiting))
        segments = counts.1
        acknowledgedBytes = counts.2
    }
}
