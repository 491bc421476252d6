import Terminal

/// The name under which a clip is saved: session, sources and range, so that clips of different ranges do not replace each other.
struct ClipName: CustomStringConvertible {
    var session: String
    /// A source, or `grid`.
    var what: String
    /// Session time; nil: the beginning.
    var fromNanoseconds: Int64?
    /// Nil: the end.
    var untilNanoseconds: Int64?
    /// The time is painted on the pictures: this clip differs from the recorded one.
    var showsTime = false
    /// Suffix of the file's name.
    var ending = "mp4"

    /// The names of several sources: `door+hall`, or their number.
    static func names(of sources: [String]) -> String {
        let names = sources.joined(separator: "+")
        return sources.count <= mostNamed && names.utf8.count <= longestNames
            ? names : "\(sources.count)-sources"
    }

    private static let mostNamed = 4
    /// A file's name has 255 bytes.
    private static let longestNames = 80

    var description: String {
        let range =
            switch (fromNanoseconds, untilNanoseconds) {
            case (nil, nil): ""
            case (let from?, let until?): "_\(Self.text(from))-\(Self.text(until))"
            case (let from?, nil): "_\(Self.text(from))-end"
            case (nil, let until?): "_begin-\(Self.text(until))"
            }
        return "\(session)_\(what)\(range)\(showsTime ? "_time" : "").\(ending)"
    }

    /// `1m23.500s`: some systems do not allow colons in names of files.
    private static func text(_ nanoseconds: Int64) -> String {
        var parts = TimelinePoint.text(nanoseconds).split(separator: ":").map(String.init)
        parts[parts.count - 1] += "s"
        parts[parts.count - 2] += "m"
        if parts.count > 2 { parts[0] += "h" }
        return parts.joined()
    }
}
