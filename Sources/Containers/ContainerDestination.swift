/// The destination of a container.
package enum ContainerDestination: Sendable {
    /// A file; an existing one is replaced.
    case file(String)
    /// An open descriptor without seeking, such as standard output. It is not closed.
    case descriptor(Int32)
    /// An address that libavformat connects to: `udp://`, `rtsp://`, `rtmp://`, `srt://`, …
    case url(String)
    /// A receiver of sequential bytes.
    case sink(any ContainerSink)

    /// The destination in messages. Of an address, only the scheme, host and port are included: the rest may contain passwords,
    /// stream keys and passphrases.
    package var name: String {
        switch self {
        case .file(let path): path
        case .descriptor(1): "standard output"
        case .descriptor(let number): "descriptor \(number)"
        case .url(let url): Self.place(of: url)
        case .sink: "the output"
        }
    }

    /// `rtmp://host:1935/…`
    private static func place(of url: String) -> String {
        guard let mark = url.firstRange(of: "://") else { return url }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
        let isAll = authority.endIndex == rest.endIndex
        return url[..<mark.upperBound] + (host ?? authority) + (isAll ? "" : "/…")
    }
}

/// Receives a container's bytes, on the writer's thread.
package protocol ContainerSink: AnyObject, Sendable {
    /// Writes all bytes, or throws; the writer then fails.
    func write(_ bytes: UnsafeRawBufferPointer) throws
}

/// Options of a ``ContainerWriter``.
package struct ContainerWriterOptions: Hashable, Sendable {
    /// Interleaving of the tracks' packets.
    package enum Interleaving: Hashable, Sendable {
        /// By the library, which buffers packets until every track has one.
        case byLibrary
        /// By the caller: each packet is written immediately.
        case asWritten
    }

    package var interleaving = Interleaving.byLibrary
    /// Whether times are written unchanged; otherwise all may be shifted so that none is negative.
    package var keepsTimes = false
    /// Whether each packet is flushed, for live viewing.
    package var flushesPackets = false
    /// Further options, by libavformat's names.
    package var muxerOptions: [String: String] = [:]
    /// The destination's name in errors; nil: its own.
    package var name: String?
    /// Tags such as `title`, by libavformat's names.
    package var metadata: [String: String] = [:]

    package init() {}
}
