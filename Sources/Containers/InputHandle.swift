import CFFmpeg
import FFmpegSupport

/// Owns libavformat's handle of a file that is read.
struct InputHandle: ~Copyable {
    let path: String
    let context: UnsafeMutablePointer<AVFormatContext>

    init(_ path: String, cancellation: Cancellation?) throws(ContainerError) {
        var context = avformat_alloc_context()
        guard let allocated = context else { preconditionFailure("out of memory") }
        if let cancellation {
            allocated.pointee.interrupt_callback = interruption(by: cancellation)
        }
        var options: OpaquePointer?
        // A playlist in the file's place must not reach for the network.
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        var result = avformat_open_input(&context, "file:" + path, nil, &options)
        av_dict_free(&options)
        if result >= 0 { result = avformat_find_stream_info(context, nil) }
        guard result >= 0, let context else {
            avformat_close_input(&context)
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotRead(path, reason: Self.reason(result))
        }
        self.path = path
        self.context = context
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    /// libavformat's names of what it took the file for: `mov,mp4,m4a,3gp,3g2,mj2`.
    var formatName: String { String(cString: context.pointee.iformat.pointee.name) }

    /// The container lists every packet up front (ISO/IEC 14496-12 sample tables).
    var hasPacketIndex: Bool { formatName.hasPrefix("mov,") }

    /// The earliest presented time of the file, microseconds.
    var startMicroseconds: Int64 {
        let start = context.pointee.start_time
        return start == CFFmpeg_NOPTS_VALUE ? 0 : start
    }

    /// What the file says of its length; nil when it says nothing, microseconds.
    var durationMicroseconds: Int64? {
        let duration = context.pointee.duration
        return duration == CFFmpeg_NOPTS_VALUE || duration <= 0 ? nil : duration
    }

    var streamCount: Int { Int(context.pointee.nb_streams) }

    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream> {
        guard index < streamCount, let stream = context.pointee.streams[index] else {
            preconditionFailure("libavformat lists a stream that is not there")
        }
        return stream
    }

    /// What an error code means of an input, for people.
    private static func reason(_ code: Int32) -> String {
        if code == CFFmpeg_ERROR_ENOENT { return "no such file" }
        if code == CFFmpeg_ERROR_INVALIDDATA {
            return "it is not a media file, or it is truncated (no index found)"
        }
        return libraryErrorText(code)
    }
}
