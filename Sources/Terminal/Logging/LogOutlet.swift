import Dispatch
import Files
import Glibc
import Synchronization

/// A log's descriptor, to which any thread writes without waiting for the reader.
///
/// A reader may stop: a paused terminal, a blocked `tee`, a hung journal. Lines then wait in a queue with a limit, and a
/// thread of the outlet writes them when the reader continues; lines beyond the limit are counted, and the count is written
/// after the queue. Files are always written by that thread, because their disk may not respond. The process's end waits up
/// to a second for the queue.
package final class LogOutlet: Sendable {
    /// Standard error. Lines that are queued when the process exits are written within ``endNanoseconds``.
    static let standardError: LogOutlet = {
        atexit { LogOutlet.standardError.flush() }
        return LogOutlet(2)
    }()

    /// Waits for queued lines of standard error, up to the limit: before an end of the process without `exit`.
    package static func flushStandardError() { standardError.flush() }

    /// Limit of queued text.
    static let mostQueuedBytes = 256 << 10
    /// Maximum wait for the queue at the end of the process.
    private static let endNanoseconds: UInt64 = 1_000_000_000
    /// A pipe or socket that is ready accepts this many bytes at once (pipe(7), `PIPE_BUF`).
    private static let pieceBytes = 4_096

    private struct State {
        /// Complete lines, and the rest of a line that was accepted in part.
        var queue: [ArraySlice<UInt8>] = []
        var queuedBytes = 0
        /// Lines that the queue had no room for.
        var omitted: UInt64 = 0
        /// The line that states their number.
        var omission: (@Sendable (UInt64) -> String)?
        /// The outlet's thread is writing.
        var isWriting = false
    }

    private let descriptor: Int32
    private let isFile: Bool
    private let state = Mutex(State())
    private let thread = DispatchQueue(label: "log")

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var status = stat()
        isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Writes text with its line breaks.
    /// - Parameters:
    ///   - isTransient: whether the text is dropped if other text is queued: a progress line.
    ///   - omission: the line with the number of omitted lines.
    func write(
        _ text: String, isTransient: Bool = false,
        omission: @escaping @Sendable (UInt64) -> String
    ) {
        let bytes = Array(text.utf8)[...]
        let isToBegin = state.withLock { state in
            if state.isWriting {
                guard !isTransient else { return false }
                // After an omitted line, the number of them comes first.
                guard state.omitted == 0,
                    state.queuedBytes + bytes.count <= Self.mostQueuedBytes
                else {
                    state.omitted += 1
                    state.omission = omission
                    return false
                }
                state.queue.append(bytes)
                state.queuedBytes += bytes.count
                return false
            }
            // The rest may begin within a character.
            let rest = isFile ? bytes : writeReady(bytes)
            guard !rest.isEmpty else { return false }
            state.queue = [rest]
            state.queuedBytes = rest.count
            state.isWriting = true
            return true
        }
        if isToBegin { thread.async { [self] in writeQueue() } }
    }

    /// Writes the part that the descriptor accepts at once.
    /// - Returns: the rest.
    private func writeReady(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while !rest.isEmpty {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&ready, 1, 0) > 0 else { return rest }
            let piece = rest.prefix(Self.pieceBytes)
            let count = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return rest }
            // The reader has gone, or the descriptor is closed: a lost log line is no error.
            guard count > 0 else { return [] }
            rest = rest.dropFirst(count)
        }
        return rest
    }

    /// Writes what is queued, on the outlet's thread, which waits for the reader.
    private func writeQueue() {
        while let bytes = next() {
            bytes.withUnsafeBytes { _ = Descriptor.write(descriptor, $0) }
        }
    }

    private func next() -> ArraySlice<UInt8>? {
        state.withLock { state in
            if let first = state.queue.first {
                state.queue.removeFirst()
                state.queuedBytes -= first.count
                return first
            }
            if state.omitted > 0, let omission = state.omission {
                defer { state.omitted = 0 }
                return Array(omission(state.omitted).utf8)[...]
            }
            state.isWriting = false
            return nil
        }
    }

    /// Waits until everything is written, up to the limit.
    func flush() {
        let end = DispatchTime.now().uptimeNanoseconds + Self.endNanoseconds
        while state.withLock({ $0.isWriting }), DispatchTime.now().uptimeNanoseconds < end {
            usleep(2_000)
        }
    }
}
