package import Media

/// What went wrong with a file's boxes: always which box, and at which byte of the file.
package enum MP4Error: Error, Hashable, Sendable {
    /// A read failed; `errno` is the system's reason.
    case unreadable(offset: Int64, errno: Int32)
    /// A read returned fewer bytes than the file was said to have.
    case shortRead(offset: Int64, wanted: Int, got: Int)
    /// A box ends before the field that should stand at `offset`.
    case truncated(box: FourCC, offset: Int64)
    /// A box says that it is longer than what holds it.
    case pastEnd(box: FourCC, offset: Int64, sizeBytes: UInt64, availableBytes: Int64)
    /// A box says that it is shorter than its own header.
    case impossibleSize(box: FourCC, offset: Int64, sizeBytes: UInt64)
    /// Fewer bytes than a box's header where a box should be.
    case noBox(offset: Int64)
    /// More of something than a limit of ours.
    case overLimit(box: FourCC, offset: Int64, what: String, value: UInt64, limit: UInt64)
    /// A box that should be there is not.
    case missing(FourCC, in: FourCC, offset: Int64)
    /// A box says something that cannot be.
    case invalid(box: FourCC, offset: Int64, reason: String)
    /// The file does not begin as recordings do.
    case notARecording(offset: Int64, reason: String)
    /// A track's format cannot be described in a file.
    case unwritableFormat(TrackKind, BitstreamError)
    /// A track's format has a number that its box has no room for.
    case unwritableField(TrackKind, field: String, value: UInt64)
    /// A track's decoding times do not grow from sample to sample.
    case decodingTime(track: TrackKind, previous: Int64, next: Int64)
    /// A track's first decoding time is before its media timeline.
    case negativeDecodingTime(track: TrackKind, value: Int64)
    /// A sample is said to last no time.
    case zeroDuration(track: TrackKind)
    /// More bytes than one fragment can address.
    case fragmentTooLarge(sizeBytes: Int)
    /// There is nothing to make a movie of.
    case noSamples
    /// A time does not fit into 64 bits.
    case timeOverflow(track: TrackKind)
}

extension MP4Error: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let offset, let errno):
            "cannot read at byte \(offset) (errno \(errno))"
        case .shortRead(let offset, let wanted, let got):
            "read \(got) of \(wanted) bytes at byte \(offset)"
        case .truncated(let box, let offset):
            "\(box) ends too early, at byte \(offset)"
        case .pastEnd(let box, let offset, let size, let available):
            "\(box) at byte \(offset) claims \(size) bytes, there are \(available)"
        case .impossibleSize(let box, let offset, let size):
            "\(box) at byte \(offset) claims \(size) bytes, less than its header"
        case .noBox(let offset):
            "no box at byte \(offset)"
        case .overLimit(let box, let offset, let what, let value, let limit):
            "\(box) at byte \(offset): \(what) is \(value), the limit is \(limit)"
        case .missing(let box, let parent, let offset):
            "\(parent) at byte \(offset) has no \(box)"
        case .invalid(let box, let offset, let reason):
            "\(box) at byte \(offset): \(reason)"
        case .notARecording(let offset, let reason):
            "not a recording, at byte \(offset): \(reason)"
        case .unwritableFormat(let track, let error):
            "\(track) format: \(error)"
        case .unwritableField(let track, let field, let value):
            "\(track) format: \(field) cannot be \(value)"
        case .decodingTime(let track, let previous, let next):
            "\(track): decoding time \(next) does not follow \(previous)"
        case .negativeDecodingTime(let track, let value):
            "\(track): decoding time \(value) is negative"
        case .zeroDuration(let track):
            "\(track): a sample of no duration"
        case .fragmentTooLarge(let size):
            "a fragment of \(size) bytes is too large"
        case .noSamples:
            "no samples"
        case .timeOverflow(let track):
            "\(track): a time does not fit into 64 bits"
        }
    }
}
