package import Media

/// Detects the positions at which a file's container has lost bytes.
///
/// libavformat searches for the next intact part, and does not report what it skips.
package protocol ContainerLosses {
    /// Losses of a stream before the packet that begins at `position`, since the beginning of the file.
    ///
    /// The file is read sequentially, up to the queried position.
    /// - Parameters:
    ///   - stream: libavformat's identifier of the stream; in a transport stream, that of its packets.
    ///   - position: bytes from the start of the file.
    mutating func count(stream: Int, before position: Int64) -> Int

    /// Losses in the whole file that affect any of the streams.
    mutating func total(streams: [Int]) -> Int

    /// The identifier of the stream whose packet begins at `position`; nil if unknown.
    func stream(at position: Int64) -> Int?

    /// Kinds of the streams of video and audio in the whole file, by identifier; empty if unknown.
    mutating func elementaryStreams() -> [Int: TrackKind]

    /// Whether a stream begins where another one has ended.
    mutating func isStream(_ stream: Int, after other: Int) -> Bool
}

extension ContainerLosses {
    package func stream(at position: Int64) -> Int? { nil }
    package mutating func elementaryStreams() -> [Int: TrackKind] { [:] }
    package mutating func isStream(_ stream: Int, after other: Int) -> Bool { false }

    /// Descriptions of video and audio streams that libavformat does not know, because no program table that it parses lists
    /// them.
    package mutating func unlisted(_ known: Set<Int>) -> [String] {
        elementaryStreams().filter { !known.contains($0.key) }.sorted { $0.key < $1.key }.map {
            "a stream of \($0.value) that the file's first program table does not list (PID \($0.key))"
        }
    }
}

extension MediaInput {
    /// A detector of lost bytes in this file; nil if its container has none.
    package var losses: (any ContainerLosses)? {
        guard let movie else {
            return containerLosses(format: formatName, descriptor: descriptor)
        }
        return movie.losses
    }
}

/// Creates a detector of lost bytes; nil if there is none for the container.
/// - Parameters:
///   - format: libavformat's name.
///   - descriptor: the open file; duplicated.
package func containerLosses(format: String, descriptor: Int32) -> (any ContainerLosses)? {
    switch format {
    case "mpegts": TransportStreamLosses(descriptor: descriptor)
    case "flv": ElementLosses(descriptor: descriptor, FLVTags())
    case "matroska,webm": ElementLosses(descriptor: descriptor, MatroskaElements())
    default: nil
    }
}
