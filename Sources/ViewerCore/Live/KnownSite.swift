import Archive
package import Catalog
import Files
import FoundationEssentials
package import Logging
import Synchronization

/// The collectors of a site, by its catalog; until that has answered once, those of the viewer's last run.
///
/// A viewer that starts while the database is away reads and hears what it could before. Any thread may call; calls block.
package final class KnownSite: Sendable {
    static let fileName = "site.json"
    /// About a thousand collectors.
    static let maximumBytes = 1 << 20
    /// Version of the document.
    private static let version = 1
    /// Age of the last report of a collector that is known from the file: unknown.
    static let heardSeconds = Double.infinity

    private struct Collector: Codable, Hashable {
        var archive: String
        var name: String
        var report: SiteReport?
    }

    private struct Document: Codable {
        var version: Int
        var collectors: [Collector]
    }

    private struct State {
        var hasAnswered = false
        var isMentioned = false
        /// Content of the file; nil: it was not read.
        var written: [Collector]?
    }

    /// Nil: nothing is kept.
    private let path: String?
    private let logger: Logger
    private let ask: @Sendable () throws -> [SiteCollector]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directory: the viewer's state directory; nil: there is none.
    ///   - ask: asks the catalog; blocks for a bounded time.
    package init(
        directory: String?, logger: Logger, ask: @escaping @Sendable () throws -> [SiteCollector]
    ) {
        path = directory.map { "\($0)/\(Self.fileName)" }
        self.logger = logger
        self.ask = ask
    }

    /// The collectors.
    /// - Throws: the catalog's error, if it has answered before, or if nothing is known from the last run.
    package func collectors() throws -> [SiteCollector] {
        do {
            let collectors = try ask()
            save(collectors)
            return collectors
        } catch {
            guard !state.withLock(\.hasAnswered), let known = read(), !known.isEmpty else {
                throw error
            }
            let isNew = state.withLock { state in
                defer { state.isMentioned = true }
                return !state.isMentioned
            }
            if isNew {
                logger.warning(
                    "\(error): until the catalog answers, the site is the one that it named last, \(known.count) collectors"
                )
            }
            return known.map {
                SiteCollector(
                    archive: $0.archive, name: $0.name, heardSeconds: Self.heardSeconds,
                    runningSeconds: 0, report: $0.report)
            }
        }
    }

    /// Writes the document if it has changed.
    private func save(_ collectors: [SiteCollector]) {
        let lasting = collectors.map {
            Collector(archive: $0.archive, name: $0.name, report: $0.report?.lasting)
        }
        let isNew = state.withLock { state in
            state.hasAnswered = true
            defer { state.written = lasting }
            return state.written != lasting
        }
        guard isNew, let path else { return }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            let bytes = [UInt8](
                try encoder.encode(Document(version: Self.version, collectors: lasting)))
            guard bytes.count <= Self.maximumBytes else {
                throw ArchiveError.malformed(
                    path: path, reason: "it would be larger than \(Self.maximumBytes) bytes")
            }
            try FileSystem.makeDirectories(Path.directory(of: path))
            try FileSystem.replace(path, with: bytes)
        } catch {
            logger.warning(
                "\(error): after a start without the catalog, the site's archives will not be known"
            )
        }
    }

    /// Nil: there is no file, or it cannot be read.
    private func read() -> [Collector]? {
        guard let path else { return nil }
        do {
            let bytes = try FileSystem.read(path, limit: Self.maximumBytes)
            let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
            return document.version == Self.version ? document.collectors : nil
        } catch {
            return nil
        }
    }
}
