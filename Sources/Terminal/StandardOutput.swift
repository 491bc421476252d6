// For 'stdout', a variable that nothing changes.
@preconcurrency import Glibc

/// The end of standard output, which is buffered: a full disk may be noticed only there.
enum StandardOutput {
    /// Writes the buffered rest.
    /// - Returns: why the output is incomplete; nil: it is complete, or its reader has closed the pipe.
    static func finish() -> String? {
        errno = 0
        let isWritten = fflush(stdout) == 0
        let code = errno
        guard !isWritten || ferror(stdout) != 0, code != EPIPE, !isClosedPipe else { return nil }
        let reason = code == 0 ? "an earlier write failed" : String(cString: strerror(code))
        return "the output is incomplete: \(reason); free space, or write it to another file system"
    }

    /// A reader such as `head` has read enough.
    private static var isClosedPipe: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        return poll(&output, 1, 0) > 0 && Int32(output.revents) & Int32(POLLERR) != 0
    }
}
