import CFFmpeg
import Glibc
import Media
import Synchronization

/// What FFmpeg's libraries say, for the program's own log: they never write to the terminal themselves.
package enum CodecLibrary {
    /// How bad it is.
    package enum Severity: Hashable, Sendable {
        case warning, error
    }

    /// Takes one line without its line end, on whatever thread the library is busy on.
    package typealias LineHandler = @Sendable (Severity, String) -> Void

    /// In a structure: a function that is a ``Mutex``'s own value is wrapped once more each time it is read.
    private struct Receiver {
        var handle: LineHandler?
    }

    /// The library's callback has no place for a context, so the receiver of its lines is the process's.
    private static let receiver = Mutex(Receiver())
    /// Errors of the threads that are listened to, the first of each.
    private static let complaints = Mutex<[UInt: String?]>([:])

    /// Sends warnings and errors to `receiver` from now on; nil: nowhere.
    package static func routeMessages(to receiver: LineHandler?) {
        Self.receiver.withLock { $0.handle = receiver }
        keepOffTerminal()
    }

    /// Makes the libraries silent but for whom their messages are routed to; harmless when it is done again.
    package static func keepOffTerminal() {
        av_log_set_callback { context, level, format, arguments in
            guard level <= AV_LOG_WARNING, let format, let arguments else { return }
            var line = [CChar](repeating: 0, count: 512)
            var isPrefixed: Int32 = 1
            av_log_format_line2(
                context, level, format, arguments, &line, Int32(line.count), &isPrefixed)
            let bytes = line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            let text = String(decoding: bytes, as: UTF8.self).split(separator: "\n").joined(
                separator: " ")
            guard !text.isEmpty else { return }
            if level <= AV_LOG_ERROR { CodecLibrary.keep(text) }
            let receiver = CodecLibrary.receiver.withLock { $0.handle }
            receiver?(level <= AV_LOG_ERROR ? .error : .warning, text)
        }
    }

    /// Runs a call of the library, and returns the first error that it wrote meanwhile, on this thread: often the only place
    /// where the reason stands.
    static func complaint(during call: () -> Void) -> String? {
        let thread = UInt(pthread_self())
        complaints.withLock { $0[thread] = .some(nil) }
        call()
        return complaints.withLock { $0.removeValue(forKey: thread) ?? nil }
    }

    private static func keep(_ line: String) {
        let thread = UInt(pthread_self())
        complaints.withLock { complaints in
            guard let first = complaints[thread], first == nil else { return }
            // "[h264_nvenc @ 0x562a30f7b480] Cannot load libcuda.so.1": the address is of no use to anybody.
            let text = line.split(separator: "] ", maxSplits: 1).last.map(String.init) ?? line
            complaints[thread] = .some(text)
        }
    }

    /// A buffer of the library over memory that `owner` keeps alive, which it does until the last reference to the
    /// buffer is gone.
    static func buffer(
        over bytes: UnsafeMutableRawPointer, count: Int, owner: any AnyObject & Sendable
    ) -> UnsafeMutablePointer<AVBufferRef> {
        let retained = Unmanaged<AnyObject>.passRetained(owner).toOpaque()
        let buffer = av_buffer_create(
            bytes.assumingMemoryBound(to: UInt8.self), count,
            { owner, _ in
                if let owner { Unmanaged<AnyObject>.fromOpaque(owner).release() }
            }, retained, AV_BUFFER_FLAG_READONLY)
        guard let buffer else { preconditionFailure("out of memory") }
        return buffer
    }
}

/// The scale that media times have in here, as the library writes it.
let nanosecondTimeBase = AVRational(num: 1, den: 1_000_000_000)

/// Owns a frame of the library: its struct, and what that refers to.
// @unchecked: filled by one thread before anyone else sees it, only read from then on.
final class FrameBox: @unchecked Sendable {
    let frame: UnsafeMutablePointer<AVFrame>

    init() {
        guard let frame = av_frame_alloc() else { preconditionFailure("out of memory") }
        self.frame = frame
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    /// The decoder made up a part of it, or began where it could not know the pictures before.
    var isDamaged: Bool {
        frame.pointee.decode_error_flags != 0 || frame.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
    }
}

extension FrameBox {
    /// Lets the library look at the picture's own memory, which lives until it lets go.
    func refer(to picture: RawFrame, format: AVPixelFormat) {
        frame.pointee.format = format.rawValue
        frame.pointee.width = Int32(picture.width)
        frame.pointee.height = Int32(picture.height)
        let lines = (0..<3).map { picture.planes.indices.contains($0) ? picture.planes[$0] : nil }
        func base(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
            lines[index]?.baseAddress.assumingMemoryBound(to: UInt8.self)
        }
        frame.pointee.data = (base(0), base(1), base(2), nil, nil, nil, nil, nil)
        func stride(_ index: Int) -> Int32 { Int32(lines[index]?.bytesPerRow ?? 0) }
        frame.pointee.linesize = (stride(0), stride(1), stride(2), 0, 0, 0, 0, 0)
        frame.pointee.buf.0 = CodecLibrary.buffer(
            over: picture.planes[0].baseAddress,
            count: picture.planes[0].bytesPerRow * picture.height, owner: picture.owner)
    }
}

/// Owns a codec's context.
struct CodecHandle: ~Copyable {
    let context: UnsafeMutablePointer<AVCodecContext>

    init(_ codec: UnsafePointer<AVCodec>) {
        guard let context = avcodec_alloc_context3(codec) else {
            preconditionFailure("out of memory")
        }
        self.context = context
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }
}
