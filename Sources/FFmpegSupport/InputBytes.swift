import CFFmpeg
import Glibc

/// The input of a demuxer from one regular file, through libavformat's bounded buffer.
///
/// libavformat does not get a path, so a file cannot make it open another one. Belongs to one thread.
final class InputBytes {
    /// Large enough to amortise system calls.
    private static let bufferBytes = 1 << 16

    /// The demuxer's I/O context.
    let context: UnsafeMutablePointer<AVIOContext>

    let descriptor: Int32
    /// Offset of the next byte: the descriptor's own offset may be shared.
    private var place: Int64 = 0
    private let isCancelled: @Sendable () -> Bool
    /// Ascending.
    private let patches: [InputPatch]
    /// For transport streams only.
    private var repeats: RepeatFilter?

    /// Opens the file; waits for no pipe's writer and no device.
    convenience init(
        path: String, isCancelled: @escaping @Sendable () -> Bool
    ) throws(InputFailure) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        try self.init(owning: descriptor, isCancelled: isCancelled)
    }

    /// Reads a file that the caller has opened. The descriptor is duplicated, so the caller may close it.
    /// - Parameters:
    ///   - patches: bytes that replace the file's own, ascending.
    ///   - dropsRepeats: whether the file is a transport stream, whose packets may be sent twice.
    convenience init(
        descriptor: Int32, patches: [InputPatch] = [], dropsRepeats: Bool = false,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws(InputFailure) {
        let own = dup(descriptor)
        guard own >= 0 else { throw Self.failure(errno) }
        _ = fcntl(own, F_SETFD, FD_CLOEXEC)
        try self.init(owning: own, patches: patches, isCancelled: isCancelled)
        if dropsRepeats { repeats = RepeatFilter(descriptor: own) }
    }

    private init(
        owning descriptor: Int32, patches: [InputPatch] = [],
        isCancelled: @escaping @Sendable () -> Bool
    ) throws(InputFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw Self.failure(code)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .unusable(
                "it is \(Self.kind(status.st_mode)), and a file is needed: give the path of a regular file"
            )
        }
        self.descriptor = descriptor
        self.isCancelled = isCancelled
        self.patches = patches
        guard let memory = av_malloc(Self.bufferBytes),
            let context = avio_alloc_context(
                memory.assumingMemoryBound(to: UInt8.self), Int32(Self.bufferBytes), 0, nil,
                Self.read, nil, Self.seek)
        else { preconditionFailure("out of memory") }
        self.context = context
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // The library may have replaced the buffer.
        av_free(context.pointee.buffer)
        var place: UnsafeMutablePointer<AVIOContext>? = context
        avio_context_free(&place)
        close(descriptor)
    }

    /// Replaces bytes that were read from ``place`` on.
    private func patch(_ read: UnsafeMutableBufferPointer<UInt8>) {
        guard !patches.isEmpty else { return }
        var (low, high) = (0, patches.count)
        while low < high {
            let middle = (low + high) / 2
            if patches[middle].end <= place { low = middle + 1 } else { high = middle }
        }
        for patch in patches[low...] {
            guard patch.offset < place + Int64(read.count) else { return }
            for (index, byte) in patch.bytes.enumerated() {
                let position = patch.offset + Int64(index) - place
                if (0..<Int64(read.count)).contains(position) { read[Int(position)] = byte }
            }
        }
    }

    private static func failure(_ code: Int32) -> InputFailure {
        if code == ENOENT { return .unusable("no such file") }
        // A socket cannot be opened.
        if code == ENXIO { return .unusable("it is a socket or a device, and a file is needed") }
        return .unusable(libraryErrorText(-code))
    }

    private static func kind(_ mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFIFO: "a named pipe"
        case S_IFDIR: "a directory"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    private static func bytes(_ opaque: UnsafeMutableRawPointer?) -> InputBytes {
        guard let opaque else { preconditionFailure("the bytes are their context's opaque") }
        return Unmanaged<InputBytes>.fromOpaque(opaque).takeUnretainedValue()
    }

    private static let read:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, Int32) -> Int32 = {
            opaque, buffer, count in
            let bytes = bytes(opaque)
            while !bytes.isCancelled() {
                var got = pread(bytes.descriptor, buffer, Int(count), off_t(bytes.place))
                if got > 0, let buffer {
                    let read = UnsafeMutableBufferPointer(start: buffer, count: got)
                    bytes.patch(read)
                    got = bytes.repeats?.filter(read, at: bytes.place) ?? got
                    bytes.place += Int64(got)
                    return Int32(got)
                }
                if got == 0 { return CFFmpeg_ERROR_EOF }
                if errno != EINTR { return -errno }
            }
            return CFFmpeg_ERROR_EXIT
        }

    private static let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = {
        opaque, offset, whence in
        let bytes = bytes(opaque)
        if whence & AVSEEK_SIZE != 0 {
            var status = stat()
            return fstat(bytes.descriptor, &status) == 0 ? Int64(status.st_size) : Int64(-errno)
        }
        let base: Int64
        switch whence & ~AVSEEK_FORCE {
        case SEEK_SET: base = 0
        case SEEK_CUR: base = bytes.place
        case SEEK_END:
            var status = stat()
            guard fstat(bytes.descriptor, &status) == 0 else { return Int64(-errno) }
            base = Int64(status.st_size)
        default: return Int64(-EINVAL)
        }
        let (place, overflow) = base.addingReportingOverflow(offset)
        guard !overflow, place >= 0 else { return Int64(-EINVAL) }
        bytes.place = place
        return place
    }
}
