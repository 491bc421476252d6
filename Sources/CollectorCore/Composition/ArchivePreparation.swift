import Archive
import CollectorClient
import Glibc
import Logging
import Media
import ObjectStore
import Operations
import Threads
import Uploading
import Wire

/// A locked and recovered archive.
struct PreparedArchive {
    /// Held until the collector exits, so that only one collector writes the archive's files.
    let lock: ArchiveLock
    let recovered: RecoveredArchive
    /// Names of existing sessions.
    let sessionNames: Set<String>
}

/// Prepares an archive before any other thread is started.
struct ArchivePreparation {
    /// Programs that check for a running collector hold the lock for a moment.
    private static let lockTimeout = Duration.milliseconds(500)
    /// Maximum delay between attempts to read the store.
    private static let longestStorePauseSeconds = 15
    /// One per processor: recovery reads and hashes files.
    private static let sourcesRecoveredAtOnce = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let environment: CollectorEnvironment
    private var settings: CollectorSettings { environment.settings }
    private var layout: ArchiveLayout { environment.layout }

    private let notice: LateNotice

    /// - Parameter notice: when the log says that a store is slow.
    init(_ environment: CollectorEnvironment, notice: LateNotice = LateNotice()) {
        self.environment = environment
        self.notice = notice
    }

    /// Blocks until the archive is ready.
    /// - Returns: nil if the collector was stopped first.
    func run() throws(CollectorError) -> PreparedArchive? {
        do throws(ArchiveError) {
            try FileSystem.makeDirectories(layout.sessions)
            try FileSystem.checkWritable(layout.sessions)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: error.reason)
        }
        let lock = try lock()
        environment.archiveDisk.follow(lock)
        guard try takeOver() else { return nil }
        let recovered = try recover()
        return PreparedArchive(lock: lock, recovered: recovered, sessionNames: try names())
    }

    private func lock() throws(CollectorError) -> ArchiveLock {
        do throws(ArchiveError) {
            if let lock = try ArchiveLock.take(layout, timeout: Self.lockTimeout) { return lock }
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        throw .archiveInUse(archive: settings.archive)
    }

    /// Takes over the sessions of the object store if the archive is empty and records are released when they are stored.
    /// - Returns: false if the collector was stopped first.
    private func takeOver() throws(CollectorError) -> Bool {
        let store = settings.release.waitsForStore ? settings.store : nil
        let isNeeded: Bool
        let unfinished: String?
        do throws(ArchiveError) {
            isNeeded = try ArchiveTakeOver.isNeeded(layout)
            unfinished = try ArchiveTakeOver.unfinished(in: layout)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        if let unfinished, store == nil || !["", store?.bucket.name].contains(unfinished) {
            // The local archive lacks records that were released and deleted by agents.
            let origin = unfinished.isEmpty ? "a store" : unfinished
            throw .cannotRecord(
                archive: settings.archive,
                reason: "it is half taken over from \(origin): start once more with --release "
                    + "stored and the same --store, or empty the directory")
        }
        guard let store, isNeeded else { return true }
        return try takeOver(from: store)
    }

    /// Retries until the store is available: without its contents, samples that agents resend would be recorded twice.
    /// - Returns: false if the collector was stopped first.
    private func takeOver(from store: StoreSettings) throws(CollectorError) -> Bool {
        var surroundings = UploadSurroundings.system()
        surroundings.checkpoint = { [stop = environment.stop] _ throws(UploadStop) in
            if stop.isMade { throw UploadStop() }
        }
        let place = UploadTarget(
            store.bucket, layout, settings: store.upload, surroundings: surroundings,
            figures: UploadFigures())
        var said: String?
        var failures = 0
        // A store that hangs gives no other reason for a minute.
        environment.board.waiting(for: "waiting for \(store.bucket.name)")
        defer { environment.board.waiting(for: nil) }
        while !environment.stop.isMade {
            do throws(UploadError) {
                var attempt = ArchiveTakeOver(
                    from: place, now: Instant.now().utc,
                    idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds)
                let outcome = try run(&attempt, from: store, isFirst: failures == 0)
                for problem in outcome.problems { environment.logger.warning("\(problem)") }
                if outcome.sessions > 0 {
                    environment.logger.notice(
                        "\(settings.archive) is empty: going on with \(outcome.sessions) sessions (\(outcome.segments) segments) that \(store.bucket.name) has"
                    )
                }
                return true
            } catch {
                let reason: String
                var pause = min(failures + 1, Self.longestStorePauseSeconds)
                switch error {
                case .store(let error):
                    reason = error.message
                    pause = max(pause, Int((error.retryAfterNanoseconds ?? 0) / 1_000_000_000))
                case .archive(let error):
                    throw .cannotRecord(archive: settings.archive, reason: "\(error)")
                case .setAside(let text): reason = text
                case .stopped: return false
                case .nothing, .notEntitled, .changedMeanwhile:
                    reason = "another program is changing the store"
                }
                failures += 1
                if said != reason {
                    said = reason
                    environment.logger.error(
                        "not recording yet: the archive is empty, and --release stored needs the contents of \(store.bucket.name): \(reason); trying again"
                    )
                }
                environment.board.waiting(for: "waiting for \(store.bucket.name): \(reason)")
                // A stop ends the pause.
                environment.stop.pause(seconds: pause)
            }
        }
        return false
    }

    /// - Parameter isFirst: whether the log has no line about the store yet.
    private func run(
        _ attempt: inout ArchiveTakeOver, from store: StoreSettings, isFirst: Bool
    ) throws(UploadError) -> ArchiveTakeOver.Outcome {
        guard isFirst else { return try attempt.run() }
        let line =
            "not recording yet: the archive is empty, and --release stored needs the contents of \(store.bucket.name), which are still being read"
        return try notice.during(say: { [logger = environment.logger] in logger.notice("\(line)") })
        {
            () throws(UploadError) in
            try attempt.run()
        }
    }

    /// Completes the files and sessions of a collector that was killed.
    private func recover() throws(CollectorError) -> RecoveredArchive {
        let recovered: RecoveredArchive
        do throws(ArchiveError) {
            recovered = try ArchiveRecovery.run(
                layout, now: Instant.now().utc,
                idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds,
                sourcesAtOnce: Self.sourcesRecoveredAtOnce)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        for note in recovered.notes { environment.logger.log(LinkLog(note)) }
        return recovered
    }

    private func names() throws(CollectorError) -> Set<String> {
        do throws(ArchiveError) {
            return Set(try FileSystem.names(in: layout.sessions))
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
    }
}
