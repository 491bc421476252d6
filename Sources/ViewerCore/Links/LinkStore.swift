import Accounts
import Archive
import Files
import FoundationEssentials
import Glibc
import HTTPTypes
import Synchronization

/// The links of each account, and the revoked ones: `links.json` in the viewer's state directory. Any thread may call; calls block.
///
/// A link is valid by its signature, unless this file revokes it. While the file is unreadable, no link is valid.
final class LinkStore: Sendable {
    static let fileName = "links.json"
    static let maximumOfOwner = 200
    static let maximumLinks = 5_000
    /// Fewer links fit if their addresses are long.
    static let maximumBytes = 4 << 20
    /// The file is checked once a second.
    private static let lookNanoseconds: Int64 = 1_000_000_000

    private struct Document: Codable {
        var version: Int
        var links: [MadeLink]
    }

    private struct State {
        /// Nil: it cannot be read.
        var ended: Set<String>?
        var mark: SmallFile.Mark?
        /// Next check of the file, monotonic.
        var nextCheckNanoseconds = Int64.min
    }

    private static let version = 1

    private let directory: String?
    private let report: @Sendable (String) -> Void
    private let changing = Mutex(())
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directory: nil: links are not stored.
    ///   - report: receives log lines; called on any thread.
    init(directory: String?, report: @escaping @Sendable (String) -> Void) {
        self.directory = directory
        self.report = report
    }

    private var path: String? { directory.map { "\($0)/\(Self.fileName)" } }

    /// Valid links of an account, newest first.
    func links(of owner: String, now: AccessTime) throws(Problem) -> [MadeLink] {
        guard let path else { return [] }
        do throws(AccessError) {
            return try Self.read(path).filter {
                $0.owner == owner && !$0.hasEnded && $0.expiresSeconds > now.secondsSince1970
            }.sorted { ($0.madeSeconds, $0.id) > ($1.madeSeconds, $1.id) }
        } catch {
            throw problem(error)
        }
    }

    /// Keeps a link that is made.
    func add(_ link: MadeLink, now: AccessTime) throws(Problem) {
        guard directory != nil else { return }
        try change(now) { links throws(Problem) in
            links.removeAll { $0.id == link.id }
            links.append(link)
            let own = links.count { $0.owner == link.owner && !$0.hasEnded }
            guard own <= Self.maximumOfOwner else {
                throw Problem(
                    .conflict,
                    "\(Self.maximumOfOwner) links of this account are open: end one first")
            }
            guard links.count <= Self.maximumLinks else {
                throw Problem(.conflict, "\(Self.maximumLinks) links are open: end one first")
            }
        }
    }

    /// Ends a link of an account.
    func end(_ id: String, of owner: String, now: AccessTime) throws(Problem) {
        try change(now) { links throws(Problem) in
            guard
                let place = links.firstIndex(where: {
                    $0.id == id && $0.owner == owner && !$0.hasEnded
                })
            else { throw Problem(.notFound, "there is no such link, or not any more") }
            links[place].hasEnded = true
        }
    }

    /// Whether a link with a valid signature has not been revoked.
    /// - Parameter address: path and query of the request.
    /// - Throws: 503 if that is unknown.
    func check(_ address: String, now: AccessTime) throws(Problem) {
        guard let path else { return }
        let time = now.monotonicNanoseconds
        let (isDue, mark) = state.withLock { state -> (Bool, SmallFile.Mark?) in
            guard time >= state.nextCheckNanoseconds else { return (false, nil) }
            state.nextCheckNanoseconds = time + Self.lookNanoseconds
            return (true, state.mark)
        }
        if isDue { look(path, mark) }
        guard let ended = state.withLock({ $0.ended }) else {
            throw Problem(
                .serviceUnavailable,
                "the viewer cannot read which links have ended: its log says why")
        }
        guard !ended.contains(MadeLink.id(of: address)) else {
            throw Problem(.forbidden, "this link was ended by who has made it: ask for a new one")
        }
    }

    private func look(_ path: String, _ mark: SmallFile.Mark?) {
        let now = SmallFile.Mark(of: path)
        if let mark, mark == now { return }
        do throws(AccessError) {
            let ended = Set(try Self.read(path).filter(\.hasEnded).map(\.id))
            state.withLock { ($0.ended, $0.mark) = (ended, now) }
        } catch {
            report("\(error)")
            state.withLock { ($0.ended, $0.mark) = (nil, nil) }
        }
    }

    // MARK: The file

    private func change(
        _ now: AccessTime, _ body: (inout [MadeLink]) throws(Problem) -> Void
    ) throws(Problem) {
        guard let directory, let path else {
            throw Problem(
                .serviceUnavailable,
                "links are not kept here: start the viewer with --state DIRECTORY")
        }
        let problem = changing.withLock { _ -> Problem? in
            var refusal: Problem?
            do throws(AccessError) {
                try SecretFile.makeDirectory(directory)
                try SecretFile.withLock(besides: path) { () throws(AccessError) -> Void in
                    var links = try Self.read(path)
                    // Expired links need no entry.
                    links.removeAll { $0.expiresSeconds <= now.secondsSince1970 }
                    do throws(Problem) {
                        try body(&links)
                    } catch {
                        refusal = error
                        return
                    }
                    try SecretFile.replace(path, with: try Self.bytes(links, path))
                }
            } catch {
                return self.problem(error)
            }
            return refusal
        }
        if let problem { throw problem }
        // Applies at once in this process.
        state.withLock { $0.nextCheckNanoseconds = .min }
    }

    private static func read(_ path: String) throws(AccessError) -> [MadeLink] {
        guard let content = try SecretFile.read(path, limit: maximumBytes) else { return [] }
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(content.bytes))
        } catch {
            throw damage(path)
        }
        guard document.version == version, document.links.count <= maximumLinks,
            document.links.allSatisfy(\.isPlausible)
        else { throw damage(path) }
        return document.links
    }

    private static func damage(_ path: String) -> AccessError {
        .malformed(
            path: path, line: 1, reason: "it is not a list of links: correct it, or move it away")
    }

    private static func bytes(_ links: [MadeLink], _ path: String) throws(AccessError) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try JSONEncoder().encode(Document(version: version, links: links)))
        } catch {
            throw damage(path)
        }
        guard bytes.count <= maximumBytes else {
            throw .tooLarge(path: path, limitBytes: maximumBytes)
        }
        return bytes
    }

    /// The file's path is not sent to clients.
    private func problem(_ error: AccessError) -> Problem {
        report("\(error)")
        switch error {
        case .tooLarge: return Problem(.conflict, "too many links are open: end one first")
        default:
            return Problem(
                .serviceUnavailable, "the viewer cannot read or write its links: its log says why")
        }
    }
}
