/// An error of a file or connection that libavformat reads or writes; `name` is the path or address.
package enum ContainerError: Error, Hashable, CustomStringConvertible {
    /// The work was cancelled.
    case cancelled
    /// Unknown container name.
    case unknownFormat(String)
    /// The container does not support a track's codec.
    case cannotHold(format: String, codec: String)
    /// The container of a streaming protocol does not support a track's codec.
    case cannotStream(format: String, codec: String)
    /// The description of a track is invalid; `reason` is the reason.
    case badTrack(codec: String, reason: String)
    /// A file or address cannot be opened for writing.
    case cannotOpen(String, reason: String)
    /// Writing failed.
    case cannotWrite(String, reason: String)
    /// A file is no media file, or cannot be read.
    case cannotRead(String, reason: String)
    /// A file ends earlier than its header states.
    case truncated(String, atNanoseconds: Int64)

    package var description: String {
        switch self {
        case .cancelled: "cancelled"
        case .unknownFormat(let name): "unknown container '\(name)'"
        case .cannotHold(let format, let codec):
            format == ContainerFormat.matroska.description
                ? "\(format) does not support \(codec), and no other container here supports more: encode it again with "
                    + "ffmpeg -i IN OUT.mkv"
                : "\(format) does not support \(codec): use Matroska (.mkv), which supports almost every codec"
        case .cannotStream(let format, let codec):
            format == ContainerFormat.flv.description
                ? "\(format), the container of rtmp://, cannot hold \(codec) with this version of libavformat: send to srt:// or "
                    + "udp://, or encode H.264 and AAC"
                : "\(format) cannot hold \(codec) with this version of libavformat: encode H.264 or H.265, and AAC"
        case .badTrack(let codec, let reason): "a \(codec) track cannot be written: \(reason)"
        case .cannotOpen(let name, let reason): "cannot write \(name): \(reason)"
        case .cannotWrite(let name, let reason): "writing \(name) failed: \(reason)"
        case .cannotRead(let name, let reason): "cannot read \(name): \(reason)"
        case .truncated(let name, let time):
            "\(name) is truncated: its data ends at \(time / 1_000_000_000) s, before its nominal end"
        }
    }
}
