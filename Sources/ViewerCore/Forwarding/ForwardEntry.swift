import Archive
package import Containers
package import Files

/// A live source that the viewer forwards, and the file with its destination: `SOURCE=FILE`.
///
/// The destination is in a file, because it may contain a password or a stream key.
package struct ForwardEntry: Hashable, Sendable, CustomStringConvertible {
    package let source: String
    /// Its first line that is not empty is a URL.
    package let file: String

    /// Maximum number of entries: each is a process.
    package static let maximumEntries = 64
    /// Maximum length of a file with a URL, as `tributary forward` reads it.
    private static let maximumBytes = 4_096

    /// - Parameter text: `SOURCE=FILE`.
    package init(_ text: String) throws(ForwardEntryError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { throw .malformed(text) }
        guard ArchiveLayout.isValidName(String(parts[0])) else {
            throw .badSource(String(parts[0]))
        }
        source = String(parts[0])
        file = String(parts[1])
    }

    /// Entries of a list, none twice.
    package static func list(_ texts: [String]) throws(ForwardEntryError) -> [ForwardEntry] {
        guard texts.count <= maximumEntries else { throw .tooMany }
        var entries: [ForwardEntry] = []
        for text in texts {
            let entry = try ForwardEntry(text)
            guard !entries.contains(entry) else { throw .repeated(entry) }
            entries.append(entry)
        }
        return entries
    }

    /// `SOURCE=FILE`
    package var description: String { "\(source)=\(file)" }

    /// Checks the files of entries, and that no stream is sent twice.
    package static func check(_ entries: [ForwardEntry]) throws(ForwardEntryError) {
        var known: [String: ForwardEntry] = [:]
        for entry in entries {
            let stream = "\(entry.source) \(try entry.address().canonical)"
            if let other = known[stream] { throw .sameStream(other, entry) }
            known[stream] = entry
        }
    }

    /// The URL in the file, which only this user may read.
    func address() throws(ForwardEntryError) -> StreamAddress {
        let content: SmallFile.Content?
        do throws(FileError) {
            content = try SmallFile.read(file, limit: Self.maximumBytes, .secret)
        } catch {
            throw .badFile(error)
        }
        guard let content else { throw .noFile(file) }
        guard let url = StreamAddress.text(inFile: content.bytes) else { throw .noURL(file) }
        do throws(StreamAddressError) {
            return try StreamAddress(parsing: url)
        } catch .noStream {
            throw .noURL(file)
        } catch {
            throw .badURL(file, error)
        }
    }
}

/// An error of an entry. The URL in its file is not repeated, because it may contain a password.
package enum ForwardEntryError: Error, Hashable, CustomStringConvertible {
    case malformed(String)
    case badSource(String)
    case repeated(ForwardEntry)
    /// Both files have the same destination.
    case sameStream(ForwardEntry, ForwardEntry)
    case tooMany
    case noFile(String)
    case badFile(FileError)
    case noURL(String)
    case badURL(String, StreamAddressError)

    /// Whether the options are wrong, in contrast to a file that cannot be read.
    package var isOfUsage: Bool {
        switch self {
        case .malformed, .badSource, .repeated, .sameStream, .tooMany, .noURL, .badURL: true
        case .noFile, .badFile: false
        }
    }

    package var description: String {
        switch self {
        case .malformed(let text):
            "--forward \(text) has no source and file: write SOURCE=FILE"
        case .badSource(let name):
            "--forward: '\(name)' is not a name of a source: write SOURCE=FILE"
        case .repeated(let entry): "--forward \(entry) is given twice: remove one"
        case .sameStream(let one, let other):
            "--forward \(one) and \(other) send the same source to the same destination: remove one"
        case .tooMany:
            "--forward is given more than \(ForwardEntry.maximumEntries) times: use another viewer for the others"
        case .noFile(let path):
            "--forward: \(path) does not exist: write the URL into it, with mode 600"
        case .badFile(.accessibleByOthers(let path)):
            "--forward: \(path) can be read by other users: chmod 600 \(path)"
        case .badFile(let error): "--forward: \(error): give a file with the URL in its first line"
        case .noURL(let path):
            "--forward: the first line of \(path) is no URL that begins with srt://, rtmp://, rtsp:// or udp://: correct it"
        case .badURL(let path, let error):
            "--forward: the URL in the first line of \(path) \(error)"
        }
    }
}
