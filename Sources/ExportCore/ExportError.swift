package import Media
import Terminal

/// An error of an export, extraction, remuxing or import; each description is one line.
package enum ExportError: Error, Hashable, CustomStringConvertible {
    /// The work was cancelled; the output was removed.
    case cancelled
    /// The output exists, and overwriting was not requested.
    case outputExists(String)
    /// The output is one of the inputs.
    case outputIsInput(String)
    /// A system call on the output, or on a file beside it, failed.
    case system(operation: String, path: String, reason: String)
    /// The session has no such source.
    case noSource(String, available: [String])
    /// The session has several sources, and one must be named.
    case severalSources([String])
    /// The range has no samples.
    case nothingThere(String)
    /// The source has no such track.
    case noTrack(TrackKind, source: String)
    /// The pictures are not of the requested codec.
    case otherCodec(source: String, codec: String, suffix: String)
    /// The container supports only one format per track.
    case formatChanges(TrackKind, atNanoseconds: Int64)
    /// A track of audio has one sample rate in a file.
    case rateChanges(path: String, atNanoseconds: Int64)
    /// The index of a virtual file would be too large.
    case tooLong
    /// A file is not supported; `reason` has the cause and the remedy.
    case refused(path: String, reason: String)
    /// A sample contradicts its track's format.
    case damaged(path: String, reason: String)

    package var description: String {
        switch self {
        case .cancelled: "cancelled; no file was written"
        case .outputExists(let path): "\(path) already exists: use --overwrite to replace it"
        case .outputIsInput(let path): "\(path) is the input file: choose another output file"
        case .system(let operation, let path, let reason): "cannot \(operation) \(path): \(reason)"
        case .noSource(let name, let available):
            "there is no source '\(name)': use one of \(available.joined(separator: ", "))"
        case .severalSources(let names):
            "there are several sources (\(names.joined(separator: ", "))); choose one with --source, or use "
                + "--layout grid"
        case .nothingThere(let what): "nothing is recorded in \(what)"
        case .noTrack(let kind, let source): "\(source) has no \(kind) track"
        case .otherCodec(let source, let codec, let suffix):
            "\(source) has \(codec): use .\(suffix)"
        case .formatChanges(let kind, let time):
            "the \(kind)'s format changes at \(TimelinePoint.text(time)), which only MP4 and MOV support in one file: export "
                + "the parts with --start and --duration"
        case .rateChanges(let path, _):
            "\(path): its audio sample rate differs from the files before it: export the parts with --start and "
                + "--duration, or use --audio-codec aac"
        case .tooLong:
            "the range is too long for one file: ask for a part of it, or use 'tributary export'"
        case .refused(let path, let reason): "\(path): \(reason)"
        case .damaged(let path, let reason): "\(path) is damaged: \(reason)"
        }
    }
}
