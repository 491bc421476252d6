package import Media

/// An error in a file's boxes, with the box and its file offset.
package enum MP4Error: Error, Hashable, Sendable {
    /// A read failed, with this errno.
    case unreadable(offset: Int64, errno: Int32)
    /// A read returned fewer bytes than the file's size implies.
    case shortRead(offset: Int64, wanted: Int, got: Int)
    /// A box ends before the field at `offset`.
    case truncated(box: FourCC, offset: Int64)
    /// A box is larger than its parent.
    case pastEnd(box: FourCC, offset: Int64, sizeBytes: UInt64, availableBytes: Int64)
    /// A box is smaller than its own header.
    case impossibleSize(box: FourCC, offset: Int64, sizeBytes: UInt64)
    /// Fewer bytes than a box header.
    case noBox(offset: Int64)
    /// A limit is exceeded.
    case overLimit(box: FourCC, offset: Int64, what: String, value: UInt64, limit: UInt64)
    /// A mandatory box is missing.
    case missing(FourCC, in: FourCC, offset: Int64)
    /// A box has an invalid value.
    case invalid(box: FourCC, offset: Int64, reason: String)
    /// The file does not begin like a recording.
    case notARecording(offset: Int64, reason: String)
    /// A track's format cannot be written.
    case unwritableFormat(TrackKind, BitstreamError)
    /// A value of a track's format does not fit in its field.
    case unwritableField(TrackKind, field: String, value: UInt64)
    /// A track's decoding times do not increase.
    case decodingTime(track: TrackKind, previous: Int64, next: Int64)
    /// A track's first decoding time is before its media timeline.
    case negativeDecodingTime(track: TrackKind, value: Int64)
    /// A sample has a duration of zero.
    case zeroDuration(track: TrackKind)
    /// More bytes than one fragment can address.
    case fragmentTooLarge(sizeBytes: Int)
    /// The movie has no samples.
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
