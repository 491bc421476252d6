import CZeroMQ

/// A ZeroMQ context: the I/O threads and the sockets that they serve.
///
/// Shared by reference, unlike other handles here: every socket keeps its context alive, so the context ends after its
/// last socket, in whatever order values are destroyed.
package final class Context: Sendable {
    /// libzmq documents contexts as usable from every thread.
    nonisolated(unsafe) let handle: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - ioThreads: one moves about a gigabyte per second.
    ///   - maximumSockets: connections do not count.
    package init(
        ioThreads: Int32 = 1, maximumSockets: Int32 = ZMQ_MAX_SOCKETS_DFLT
    ) throws(MessagingError) {
        guard let handle = zmq_ctx_new() else { throw .last("make", "a ZeroMQ context") }
        self.handle = handle
        guard zmq_ctx_set(handle, ZMQ_IO_THREADS, ioThreads) == 0 else {
            let error = MessagingError.last("set", "\(ioThreads) I/O threads")
            zmq_ctx_term(handle)
            throw error
        }
        guard zmq_ctx_set(handle, ZMQ_MAX_SOCKETS, maximumSockets) == 0 else {
            let error = MessagingError.last("set", "\(maximumSockets) sockets")
            zmq_ctx_term(handle)
            throw error
        }
    }

    deinit {
        // Only a signal handler can interrupt it; no socket is left to wait for.
        while zmq_ctx_term(handle) != 0 && zmq_errno() == EINTR {}
    }
}
