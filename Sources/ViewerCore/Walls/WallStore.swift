import Accounts
import Archive
import Files
import FoundationEssentials
import Glibc
import HTTPTypes
import Media
import Synchronization

/// The saved walls, in the viewer's file `walls.json`, which is replaced as a whole. Any thread may call; calls block.
///
/// The file is read for each request: it is small, and another viewer may have the same directory.
final class WallStore: Sendable {
    static let fileName = "walls.json"
    static let maximumOfOwner = 64
    static let maximumWalls = 1_000
    /// Fewer walls fit if they have many sources with long names.
    static let maximumBytes = 2 << 20

    private struct Document: Codable {
        var version: Int
        var walls: [Wall]
    }

    /// Version of the document.
    private static let version = 1

    /// Nil: walls cannot be saved.
    private let directory: String?
    /// Serialises changes of this process; ``SecretFile/withLock(besides:_:)`` does so between processes.
    private let changing = Mutex(())

    private let report: @Sendable (String) -> Void

    /// - Parameter report: receives log lines; called on any thread.
    init(directory: String?, report: @escaping @Sendable (String) -> Void) {
        self.directory = directory
        self.report = report
    }

    private var path: String? { directory.map { "\($0)/\(Self.fileName)" } }

    /// All saved walls; none without a directory.
    func walls() throws(Problem) -> [Wall] {
        guard let path else { return [] }
        do throws(AccessError) {
            return try Self.read(path)
        } catch {
            throw problem(error)
        }
    }

    /// Changes the saved walls.
    /// - Parameter body: receives all walls; an error changes nothing.
    func change<Result: Sendable>(
        _ body: (inout [Wall]) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        guard let directory, let path else {
            throw Problem(
                .serviceUnavailable,
                "walls cannot be saved: start the viewer with --state DIRECTORY")
        }
        let outcome = changing.withLock { _ -> Swift.Result<Result, Problem> in
            var refusal: Problem?
            do throws(AccessError) {
                try SecretFile.makeDirectory(directory)
                let result = try SecretFile.withLock(besides: path) {
                    () throws(AccessError) -> Result? in
                    var walls = try Self.read(path)
                    let result: Result
                    do throws(Problem) {
                        result = try body(&walls)
                        try Self.check(walls)
                    } catch {
                        refusal = error
                        return nil
                    }
                    try SecretFile.replace(path, with: try Self.bytes(walls, path))
                    return result
                }
                if let result { return .success(result) }
                return .failure(refusal ?? Problem(.internalServerError, "nothing was changed"))
            } catch {
                return .failure(problem(error))
            }
        }
        return try outcome.get()
    }

    private static func check(_ walls: [Wall]) throws(Problem) {
        guard walls.count <= maximumWalls else {
            throw Problem(.conflict, "\(maximumWalls) walls are saved: remove one first")
        }
        let byOwner = Dictionary(grouping: walls, by: \.owner)
        guard byOwner.values.allSatisfy({ $0.count <= maximumOfOwner }) else {
            throw Problem(
                .conflict, "\(maximumOfOwner) walls of this account are saved: remove one first")
        }
    }

    // MARK: The file

    private static func read(_ path: String) throws(AccessError) -> [Wall] {
        guard let content = try SecretFile.read(path, limit: maximumBytes) else { return [] }
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(content.bytes))
        } catch {
            throw damage(path, "it is not a list of walls")
        }
        guard document.version == version else {
            throw damage(path, "version \(document.version) is not known")
        }
        let walls = document.walls
        guard walls.count <= maximumWalls, Set(walls.map(\.id)).count == walls.count else {
            throw damage(path, "it has too many walls, or one twice")
        }
        if let flaw = walls.lazy.compactMap(\.flaw).first { throw damage(path, flaw) }
        return walls
    }

    private static func damage(_ path: String, _ reason: String) -> AccessError {
        .malformed(path: path, line: 1, reason: "\(reason): correct it, or move it away")
    }

    private static func bytes(_ walls: [Wall], _ path: String) throws(AccessError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try encoder.encode(Document(version: version, walls: walls)))
        } catch {
            throw damage(path, "\(error)")
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
        case .tooLarge: return Problem(.conflict, "too much is saved: remove a wall first")
        default:
            return Problem(
                .serviceUnavailable, "the viewer cannot read or write its walls: its log says why")
        }
    }
}
