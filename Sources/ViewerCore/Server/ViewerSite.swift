import Archive
import ExportCore
import HTTPTypes
import Hummingbird
import Library
import Logging
import MP4

/// What all requests are answered from: the archive, and what is kept of it in memory.
final class ViewerSite: Sendable {
    let archive: String
    let logger: Logger
    let threads: ReadingThreads
    let movies = MovieCache()
    let pictures = PictureCache()
    let playlists = PlaylistStore()
    let retimed = RetimedFiles()

    init(archive: String, logger: Logger, threads: ReadingThreads) {
        self.archive = archive
        self.logger = logger
        self.threads = threads
    }

    /// Reads recordings on one of the reading threads. Errors become answers of one line.
    func read<Result: Sendable>(
        _ work: @escaping @Sendable (RecordingLibrary) throws -> Result
    ) async throws -> Result {
        let (archive, logger) = (archive, logger)
        return try await run {
            let library = try RecordingLibrary(readingOnly: archive) { logger.warning("\($0)") }
            return try work(library)
        }
    }

    /// Runs blocking work on one of the reading threads. Errors become answers of one line.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let logger = logger
        return try await threads.run {
            do {
                return try work()
            } catch {
                let answer = Self.answer(to: error)
                // Damage is for whoever keeps the archive to know of; that there is none yet, or no catalog, is not damage.
                if !(error is LibraryError),
                    let problem = answer as? Problem, problem.status == .serviceUnavailable,
                    !(error is Problem)
                {
                    logger.warning("\(error)")
                }
                throw answer
            }
        }
    }

    /// What an error is for who has asked: without paths of the server, and without names of sources that they may not see.
    static func answer(to error: any Error) -> any Error {
        switch error {
        case is Problem, is CancellationError: error
        case let error as LibraryError: problem(error)
        case let error as ArchiveError: problem(error)
        case let error as ExportError: problem(error)
        case is MP4Error: Problem(.serviceUnavailable, "the recording is damaged")
        default: Problem(.serviceUnavailable, "the recording cannot be read")
        }
    }

    private static func problem(_ error: LibraryError) -> Problem {
        switch error {
        case .noArchive: Problem(.serviceUnavailable, "there is no archive yet")
        case .noCatalog: Problem(.serviceUnavailable, "the catalog is being rebuilt")
        case .noSession, .empty, .ambiguous, .noFile, .neither, .file, .directory, .archive,
            .protected, .unfinished, .tooManyTags:
            Problem(.notFound, "there is no such recording")
        }
    }

    private static func problem(_ error: ArchiveError) -> Problem {
        switch error {
        case .badName: Problem(.notFound, "there is no such recording")
        case .malformed:
            Problem(.serviceUnavailable, "the recording is damaged: \(error.reason)")
        case .system, .noRoom:
            error.isForAbsence
                ? Problem(.notFound, "there is no such recording")
                : Problem(
                    .serviceUnavailable, "the recording cannot be read: \(error.reason)")
        }
    }

    private static func problem(_ error: ExportError) -> Problem {
        switch error {
        case .nothingThere, .noTrack: Problem(.notFound, "\(error)")
        case .noSource: Problem(.notFound, "there is no such source")
        case .tooLong: Problem(.contentTooLarge, "\(error)")
        case .formatChanges: Problem(.conflict, "\(error)")
        case .damaged(_, let reason):
            Problem(.serviceUnavailable, "the recording is damaged: \(reason)")
        case .cancelled, .outputExists, .outputIsInput, .system, .severalSources, .refused:
            Problem(.serviceUnavailable, "the recording cannot be read")
        }
    }
}
