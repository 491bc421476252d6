/// Where a container is written to.
package enum ContainerDestination: Sendable {
    /// A file that is made anew; what was there is gone.
    case file(String)
    /// An open descriptor that nobody seeks in, such as standard output. It stays open.
    case descriptor(Int32)
    /// An address that libavformat connects to: `udp://`, `rtsp://`, `rtmp://`, `srt://`, …
    case url(String)
    /// Whatever takes bytes in order.
    case sink(any ContainerSink)

    /// For people and logs. Of an address only where it leads: passwords, stream keys and passphrases may be in the rest.
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

/// Takes a container's bytes as they are made, on the writer's thread.
package protocol ContainerSink: AnyObject, Sendable {
    /// Takes all of them, or throws; the writer then fails.
    func write(_ bytes: UnsafeRawBufferPointer) throws
}

/// What a ``ContainerWriter`` is told besides its tracks.
package struct ContainerWriterOptions: Hashable, Sendable {
    /// Who puts the tracks' packets in order.
    package enum Interleaving: Hashable, Sendable {
        /// The library, which holds packets back until every track has one.
        case byLibrary
        /// The caller: each packet goes out as it comes.
        case asWritten
    }

    package var interleaving = Interleaving.byLibrary
    /// Times go into the container as they are; otherwise they may all be moved so that none is negative.
    package var keepsTimes = false
    /// Nothing waits in a buffer: for somebody who watches live.
    package var flushesPackets = false
    /// Further options, by libavformat's names.
    package var muxerOptions: [String: String] = [:]
    /// What the destination is called in errors; nil: as it is called.
    package var name: String?
    /// Tags such as `title`, by libavformat's names.
    package var metadata: [String: String] = [:]

    package init() {}
}
