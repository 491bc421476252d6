import CFFmpeg
import Files
import Glibc

/// The output of a muxer to a descriptor or a sink, through libavformat's bounded buffer.
///
/// Belongs to one thread.
final class ByteOutlet {
    /// Large enough to amortise system calls.
    private static let fileBufferBytes = 1 << 20
    /// Small enough for low latency on a pipe.
    private static let streamBufferBytes = 1 << 16

    /// The muxer's I/O context.
    let context: UnsafeMutablePointer<AVIOContext>
    /// The reason for the first failure.
    private(set) var failure: String?

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let sink: (any ContainerSink)?
    private let cancellation: Cancellation?

    /// Writes into a new or truncated file.
    init(creating path: String, cancellation: Cancellation?) throws(ContainerError) {
        descriptor = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .cannotOpen(path, reason: systemMessage(errno))
        }
        ownsDescriptor = true
        sink = nil
        self.cancellation = cancellation
        context = Self.makeContext(bufferBytes: Self.fileBufferBytes, isSeekable: true)
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    init(descriptor: Int32, cancellation: Cancellation?) {
        self.descriptor = descriptor
        ownsDescriptor = false
        sink = nil
        self.cancellation = cancellation
        context = Self.makeContext(bufferBytes: Self.streamBufferBytes, isSeekable: false)
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    init(sink: any ContainerSink, cancellation: Cancellation?) {
        descriptor = -1
        ownsDescriptor = false
        self.sink = sink
        self.cancellation = cancellation
        context = Self.makeContext(bufferBytes: Self.streamBufferBytes, isSeekable: false)
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // The library may have replaced the buffer.
        av_free(context.pointee.buffer)
        var place: UnsafeMutablePointer<AVIOContext>? = context
        avio_context_free(&place)
        if ownsDescriptor { close(descriptor) }
    }

    private static func makeContext(
        bufferBytes: Int, isSeekable: Bool
    ) -> UnsafeMutablePointer<AVIOContext> {
        guard let memory = av_malloc(bufferBytes) else { preconditionFailure("out of memory") }
        let context = avio_alloc_context(
            memory.assumingMemoryBound(to: UInt8.self), Int32(bufferBytes), 1, nil,
            isSeekable ? read : nil, write, isSeekable ? seek : nil)
        guard let context else { preconditionFailure("out of memory") }
        return context
    }

    private static func outlet(_ opaque: UnsafeMutableRawPointer?) -> ByteOutlet {
        guard let opaque else { preconditionFailure("the outlet is its context's opaque") }
        return Unmanaged<ByteOutlet>.fromOpaque(opaque).takeUnretainedValue()
    }

    /// MP4's `faststart` reads its own output back.
    private static let read:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
            opaque, buffer, count in
            let outlet = outlet(opaque)
            while true {
                let got = Glibc.read(outlet.descriptor, buffer, Int(count))
                if got > 0 { return Int32(got) }
                if got == 0 { return CFFmpeg_ERROR_EOF }
                if errno != EINTR { return -errno }
            }
        }

    private static let write:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
            opaque, buffer, count in
            outlet(opaque).write(UnsafeRawBufferPointer(start: buffer, count: Int(count)))
        }

    private static let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = {
        opaque, offset, whence in
        let outlet = outlet(opaque)
        if whence & AVSEEK_SIZE != 0 {
            var status = stat()
            return fstat(outlet.descriptor, &status) == 0 ? Int64(status.st_size) : -1
        }
        return Int64(lseek(outlet.descriptor, off_t(offset), whence & ~AVSEEK_FORCE))
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        if let sink {
            do {
                try sink.write(bytes)
                return Int32(bytes.count)
            } catch {
                failure = failure ?? "\(error)"
                return -EIO
            }
        }
        var rest = bytes
        while !rest.isEmpty {
            guard waitUntilWritable() else { return CFFmpeg_ERROR_EXIT }
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let code = count < 0 ? errno : ENOSPC
                failure = failure ?? systemMessage(code)
                return -code
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return Int32(bytes.count)
    }

    /// Interval of cancellation checks while a pipe is full, milliseconds.
    private static let patienceMilliseconds: Int32 = 100

    /// Waits until a pipe is writable; a file that it created always is. Returns false if cancelled.
    private func waitUntilWritable() -> Bool {
        while cancellation?.isCancelled != true {
            guard !ownsDescriptor else { return true }
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            // Any event ends the wait: the next write reports errors.
            if poll(&entry, 1, Self.patienceMilliseconds) != 0 { return true }
        }
        return false
    }
}
