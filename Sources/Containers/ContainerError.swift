/// What can go wrong with files and connections that libavformat reads or writes; `name` is the path or address.
package enum ContainerError: Error, Hashable, CustomStringConvertible {
    /// Somebody asked to end it.
    case cancelled
    /// There is no container by that name.
    case unknownFormat(String)
    /// A container cannot hold what a track is coded in.
    case cannotHold(format: String, codec: String)
    /// A track whose description no container can be given; `reason` says what is wrong with it.
    case badTrack(codec: String, reason: String)
    /// A file or an address cannot be written to at all.
    case cannotOpen(String, reason: String)
    /// Writing failed on the way.
    case cannotWrite(String, reason: String)
    /// A file is no media file, or one that cannot be read.
    case cannotRead(String, reason: String)
    /// A file's data ends earlier than the file says of itself.
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
        case .badTrack(let codec, let reason): "a \(codec) track cannot be written: \(reason)"
        case .cannotOpen(let name, let reason): "cannot write \(name): \(reason)"
        case .cannotWrite(let name, let reason): "writing \(name) failed: \(reason)"
        case .cannotRead(let name, let reason): "cannot read \(name): \(reason)"
        case .truncated(let name, let time):
            "\(name) is truncated: its data ends at \(time / 1_000_000_000) s, before its nominal end"
        }
    }
}
