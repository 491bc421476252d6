import Archive
import ExportCore
import HTTPTypes
import Hummingbird
import Library
import Logging

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
        return try await threads.run {
            do {
                let library = try RecordingLibrary(readingOnly: archive) {
                    logger.warning("\($0)")
                }
                return try work(library)
            } catch {
                throw Self.problem(error)
            }
        }
    }

    /// What an error is for who has asked.
    private static func problem(_ error: any Error) -> any Error {
        switch error {
        case is Problem: return error
        case let error as LibraryError:
            switch error {
            case .noArchive: return Problem(.serviceUnavailable, "there is no archive yet")
            case .noCatalog: return Problem(.serviceUnavailable, "the catalog is being rebuilt")
            default: return Problem(.notFound, "\(error)")
            }
        case let error as ArchiveError:
            if error.isForAbsence { return Problem(.notFound, "there is no such recording") }
            if case .badName = error { return Problem(.notFound, "there is no such recording") }
            return Problem(.serviceUnavailable, "the recording cannot be read: \(error.reason)")
        case let error as ExportError:
            switch error {
            case .nothingThere, .noSource, .noTrack: return Problem(.notFound, "\(error)")
            case .tooLong: return Problem(.contentTooLarge, "\(error)")
            case .formatChanges: return Problem(.conflict, "\(error)")
            default: return Problem(.serviceUnavailable, "the recording cannot be read")
            }
        default: return error
        }
    }
}
