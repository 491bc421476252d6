import CFFmpeg
import FFmpegSupport
import Glibc
import Media

/// The parts of libavcodec that recordings need.
package enum CodecLibrary {
    /// Keeps messages of the libraries off the terminal; idempotent.
    package static func keepOffTerminal() { LibraryLog.keepOffTerminal() }

    /// The codec of an encoder, by libavcodec's name; nil without one that recordings can have.
    static func codec(ofEncoder name: String) -> VideoCodec? {
        guard let encoder = avcodec_find_encoder_by_name(name) else { return nil }
        return VideoCodec(encoder.pointee.id)
    }

    /// A library buffer over memory of `owner`, which is retained until the last reference to the buffer is released.
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

/// The timescale of media times here, as the library's type.
let nanosecondTimeBase = AVRational(num: 1, den: 1_000_000_000)

/// Owns a library frame and the buffers it refers to.
// @unchecked: filled by one thread before it is shared, only read from then on.
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

    /// Whether the decoder concealed a part of it, or lacked reference pictures.
    var isDamaged: Bool {
        frame.pointee.decode_error_flags != 0 || frame.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
    }
}

extension FrameBox {
    /// Refers to the picture's own memory, which is retained until the library releases it.
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

/// Owns a codec context.
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
