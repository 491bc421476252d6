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

/// An archive that is ready to be recorded into: locked, and recovered after an earlier collector.
struct PreparedArchive {
    /// Held until the end: two collectors would write into each other's files.
    let lock: ArchiveLock
    let recovered: RecoveredArchive
    /// Names that a new session must not use.
    let sessionNames: Set<String>
}

/// Prepares an archive before any other thread is started.
struct ArchivePreparation {
    private static let lockAttempts = 10
    private static let lockPauseMicroseconds: UInt32 = 50_000
    /// The longest pause between attempts to reach the store before anything is recorded.
    private static let longestStorePauseSeconds = 15
    /// One per processor: most of the time is spent reading and hashing.
    private static let sourcesRecoveredAtOnce = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let environment: CollectorEnvironment
    private var settings: CollectorSettings { environment.settings }
    private var layout: ArchiveLayout { environment.layout }

    init(_ environment: CollectorEnvironment) { self.environment = environment }

    /// Blocks until the archive is ready.
    /// - Returns: nil: the collector has been stopped.
    func run() throws(CollectorError) -> PreparedArchive? {
        do throws(ArchiveError) {
            try FileSystem.makeDirectories(layout.sessions)
            try FileSystem.checkWritable(layout.sessions)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: error.reason)
        }
        let lock = try lock()
        guard try takeOver() else { return nil }
        let recovered = try recover()
        return PreparedArchive(lock: lock, recovered: recovered, sessionNames: try names())
    }

    private func lock() throws(CollectorError) -> ArchiveLock {
        do throws(ArchiveError) {
            // A program that tests whether a collector is running holds the lock for an instant.
            for attempt in 0..<Self.lockAttempts {
                if attempt > 0 { usleep(Self.lockPauseMicroseconds) }
                if let lock = try ArchiveLock.take(layout) { return lock }
            }
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        throw .archiveInUse(archive: settings.archive)
    }

    /// Continues from the object store, if the archive has no session and agents keep what is not in the store.
    /// - Returns: false: the collector has been stopped.
    private func takeOver() throws(CollectorError) -> Bool {
        let store = settings.release == .stored ? settings.store : nil
        let isNeeded: Bool
        let unfinished: String?
        do throws(ArchiveError) {
            isNeeded = try ArchiveTakeOver.isNeeded(layout)
            unfinished = try ArchiveTakeOver.unfinished(in: layout)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        if let unfinished, store == nil || !["", store?.bucket.name].contains(unfinished) {
            // The local archive lacks records that agents have been allowed to delete.
            let origin = unfinished.isEmpty ? "a store" : unfinished
            throw .cannotRecord(
                archive: settings.archive,
                reason: "it is half taken over from \(origin): start once more with --release "
                    + "stored and the same --store, or empty the directory")
        }
        guard let store, isNeeded else { return true }
        return try takeOver(from: store)
    }

    /// Waits for an unavailable store. Without its contents, samples that agents send again would be recorded twice.
    /// - Returns: false: the collector has been stopped.
    private func takeOver(from store: StoreSettings) throws(CollectorError) -> Bool {
        var surroundings = UploadSurroundings.system()
        surroundings.checkpoint = { [stop = environment.stop] _ throws(UploadStop) in
            if stop.isMade { throw UploadStop() }
        }
        let place = UploadPlace(
            store.bucket, layout, settings: store.upload, surroundings: surroundings,
            figures: UploadFigures())
        var said: String?
        var failures = 0
        defer { environment.board.waiting(for: nil) }
        while !environment.stop.isMade {
            do throws(UploadError) {
                var attempt = ArchiveTakeOver(
                    from: place, now: Instant.now().utc,
                    idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds)
                let outcome = try attempt.run()
                for problem in outcome.problems { environment.logger.warning("\(problem)") }
                if outcome.sessions > 0 {
                    environment.logger.notice(
                        "\(settings.archive) is empty: going on with \(outcome.sessions) sessions (\(outcome.segments) segments) that \(store.bucket.name) has"
                    )
                }
                return true
            } catch {
                let reason: String
                switch error {
                case .store(let error): reason = error.message
                case .archive(let error):
                    throw .cannotRecord(archive: settings.archive, reason: "\(error)")
                case .setAside(let text): reason = text
                case .stopped: return false
                case .nothing, .changedMeanwhile: reason = "the store changes meanwhile"
                }
                failures += 1
                if said != reason {
                    said = reason
                    environment.logger.error(
                        "not recording yet: the archive is empty, and with --release stored it has to be known what \(store.bucket.name) has: \(reason); trying again"
                    )
                }
                environment.board.waiting(for: "waiting for \(store.bucket.name): \(reason)")
                // 1 s, up to 15 s; ends early when the collector is to stop.
                environment.stop.pause(seconds: min(failures, Self.longestStorePauseSeconds))
            }
        }
        return false
    }

    /// Recovers the archive after an earlier collector.
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
