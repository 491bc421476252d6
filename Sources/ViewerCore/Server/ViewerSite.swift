import Accounts
import Archive
import Catalog
import ExportCore
import HTTPTypes
import Hummingbird
import Library
import Logging
import MP4
import Recordings
import Synchronization
import Terminal

/// Shared state of all requests: the archive, and caches.
final class ViewerSite: Sendable {
    /// Reading threads reserved for other answers than heavy work.
    private static let lightThreads = 2
    /// Eight accounts with the maximum number of requests each.
    private static let maximumWaiting = 256
    /// Limit per account or address: a page plays 16 sources at once, and reads a playlist of each.
    private static let maximumWaitingOfOwner = 96

    /// The archives that are read. Those of a site are as of the last query of its catalog.
    var archive: ArchiveReference {
        get { present.withLock { $0 } }
        set { present.withLock { $0 = newValue } }
    }
    private let present: Mutex<ArchiveReference>
    let catalog: CatalogReference
    let logger: Logger
    let threads: ReadingThreads
    /// Limits work that occupies a reading thread for long: decoding pictures, clocks, reading playlists from the beginning, indices
    /// of clips, and history.
    let heavyWork = AsyncLimit(
        ReadingThreads.usualCount - lightThreads, waiting: maximumWaiting,
        ofOwner: maximumWaitingOfOwner, longDuration: .seconds(3))
    let movies = MovieCache()
    let pictures = PictureCache()
    let playlists = PlaylistStore()
    let retimed = RetimedFiles()
    let coverage = CoverageMemory()
    let fileStates = FileStateMemory()
    /// ``ViewerSettings/storeRedirectSeconds``.
    let storeRedirectSeconds: Int?

    init(
        archive: ArchiveReference, catalog: CatalogReference = .own,
        storeRedirectSeconds: Int? = nil, logger: Logger, threads: ReadingThreads
    ) {
        present = Mutex(archive)
        self.catalog = catalog
        self.storeRedirectSeconds = storeRedirectSeconds
        self.logger = logger
        self.threads = threads
    }

    /// Has archives listed again, because they have been changed.
    func forgetListings() {
        catalog.server?.forgetAnswers()
        let archive = archive
        for reference in [archive] + archive.members { reference.bucket?.forgetListings() }
    }

    /// Runs expensive work; a limited number at once, fairly scheduled between owners.
    /// - Throws: 503 if the queue is full; errors of the work; or `CancellationError`.
    func runHeavy<Result: Sendable>(
        for owner: WorkOwner, _ work: @Sendable () async throws -> Result
    ) async throws -> Result {
        do {
            return try await heavyWork.run(for: owner, work)
        } catch LimitError.full {
            throw Problem(.serviceUnavailable, "too many requests: try again")
        } catch LimitError.fullForOwner(let count) {
            throw Problem(
                .serviceUnavailable,
                "\(count) of your requests wait already: try again when they are answered")
        }
    }

    /// Reads recordings on one of the reading threads. Errors become answers of one line.
    func read<Result: Sendable>(
        _ work: @escaping @Sendable (RecordingLibrary) throws -> Result
    ) async throws -> Result {
        let (archive, catalog, logger) = (archive, catalog, logger)
        return try await run {
            let library = try RecordingLibrary(archive, catalog: catalog, isReadOnly: true) {
                logger.warning("\($0)")
            }
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
                // Damage is logged for the operator; a missing archive or catalog is not damage.
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

    /// The response for a recording that does not exist, and for one that the account may not see: they are indistinguishable.
    static let noRecording = Problem(.notFound, "there is no such recording")

    /// An error for clients, without paths of the server and names of sources that they may not see.
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
        case .forbidden: Problem(.serviceUnavailable, "the viewer may not read the archive")
        case .noCatalog: Problem(.serviceUnavailable, "the catalog is being rebuilt")
        case .noSession, .empty, .ambiguous, .noFile, .neither, .file, .directory, .archive,
            .protected, .unfinished, .tooManyTags, .tooManyMarks, .address, .needsFiles,
            .hasMoved:
            noRecording
        }
    }

    private static func problem(_ error: ArchiveError) -> Problem {
        switch error {
        case .badName: noRecording
        case .malformed:
            Problem(.serviceUnavailable, "the recording is damaged: \(error.reason)")
        case .exceeded:
            Problem(.serviceUnavailable, error.reason)
        case .unavailable:
            // The server's address is not sent to clients.
            Problem(.serviceUnavailable, "the catalog is not available")
        case .store:
            Problem(.serviceUnavailable, "the store of the recordings is not available")
        case .system, .noRoom:
            error.isForAbsence
                ? noRecording
                : Problem(
                    .serviceUnavailable, "the recording cannot be read: \(error.reason)")
        }
    }

    private static func problem(_ error: ExportError) -> Problem {
        switch error {
        case .nothingThere, .noTrack: Problem(.notFound, "\(error)")
        case .noSource: Problem(.notFound, "there is no such source")
        case .tooLong: Problem(.contentTooLarge, "\(error)")
        case .otherCodec: Problem(.conflict, "\(error)")
        case .formatChanges(let kind, let time):
            Problem(
                .conflict,
                "the \(kind)'s format changes at \(TimelinePoint.text(time)): ask for the parts with from and until"
            )
        case .rateChanges(_, let time):
            Problem(
                .conflict,
                "the audio sample rate changes at \(TimelinePoint.text(time)): ask for the parts with from and until"
            )
        case .damaged(_, let reason):
            Problem(.serviceUnavailable, "the recording is damaged: \(reason)")
        case .cancelled, .outputExists, .outputIsInput, .system, .severalSources, .refused:
            Problem(.serviceUnavailable, "the recording cannot be read")
        }
    }
}

extension RecordingLibrary {
    /// Checks that an account may see one of a session's sources, and all named ones.
    /// - Parameter wanted: names in the request; nil: none.
    /// - Returns: the names of all of its sources.
    /// - Throws: ``ViewerSite/noRecording`` if the account may see none of its sources, or the session does not exist; 404 with the
    ///   name for a source that the session does not have, or that the account may not see.
    @discardableResult
    func sources(
        of session: String, for rights: Rights, naming wanted: [String]? = nil
    ) throws -> [String] {
        let sources = try sourceNames(session)
        guard rights.mayReadEverything || sources.contains(where: rights.mayRead) else {
            throw ViewerSite.noRecording
        }
        if let other = wanted?.first(where: { !rights.mayRead($0) || !sources.contains($0) }) {
            throw Problem(.notFound, "no source '\(other)' in \(session)")
        }
        return sources
    }
}
