import Accounts
import Archive
import CLinux
import Containers
import Dispatch
import ExportCore
import Files
import Glibc
import Logging
import Media
import Synchronization
import Terminal
import Threads

/// Runs requested exports one at a time, on its own thread, into a directory of the viewer.
///
/// Scheduling is fair between accounts (``Turns``). Files are kept for an hour. Files and queued jobs are bounded.
final class ExportQueue: Sendable {
    /// Maximum number of jobs, ended ones included.
    private static let maximumJobs = 64
    private static let maximumWaiting = 16
    /// Limit of unfinished jobs per account, which leaves room for others. Not applied without accounts.
    static let maximumOfAccount = 4
    /// Finished exports are removed after this time.
    private static let keepNanoseconds: Int64 = 3_600_000_000_000
    /// Minimum free space on the disk of exports.
    static let reserveBytes: UInt64 = 2_000_000_000
    private static let namePrefix = "export-"
    /// Exports check for cancellation between pieces: they take longer only if a disk hangs.
    private static let stopSeconds = 5.0

    /// Result of requesting an export.
    enum Addition: Sendable {
        case taken(ExportJob)
        /// The queue is full, over all accounts.
        case full
        /// Too many of this account are unfinished.
        case fullForAccount
    }

    private struct State {
        /// In the order of creation.
        var jobs: [ExportJob] = []
        var isRunning = false
        var running: (id: String, control: WorkControl)?
        var turns = Turns<Identity>()
        var isStopping = false
        /// The running job was ended for lack of space.
        var isFull = false
        /// This queue has created the directory, and removes it.
        var hasMadeDirectory = false

        /// Index of the next job; nil if none is queued.
        func next() -> Int? {
            let waiting = jobs.indices.filter { jobs[$0].state == .waiting }
            return turns.next(of: waiting.map { jobs[$0].owner }).map { waiting[$0] }
        }
    }

    /// Writes the file of a job, on the export thread; returns its size in bytes.
    typealias Work = @Sendable (ExportJob, _ path: String, WorkControl) throws -> Int64

    private let work: Work
    private let directory: String
    private let reserveBytes: UInt64
    private let logger: Logger
    private let state = Mutex(State())
    /// The thread has noticed the stop.
    private let hasStopped = Semaphore(value: 0)
    /// Called with a job that has changed.
    private let changed: @Sendable (ExportJob) -> Void

    /// - Parameters:
    ///   - directory: of export files; created when needed, and removed at the end.
    ///   - work: ``ExportWork``; replaced in tests.
    init(
        directory: String, logger: Logger, reserveBytes: UInt64 = ExportQueue.reserveBytes,
        work: @escaping Work, changed: @escaping @Sendable (ExportJob) -> Void
    ) {
        self.work = work
        self.reserveBytes = reserveBytes
        self.directory = NamedPath.resolved(directory)
        self.logger = logger
        self.changed = changed
    }

    func jobs() -> [ExportJob] { state.withLock(\.jobs) }

    func job(_ id: String) -> ExportJob? { state.withLock { $0.jobs.first { $0.id == id } } }

    /// Path of a job's file of any type.
    func path(_ id: String) -> String { "\(directory)/\(Self.namePrefix)\(id)" }

    /// Adds a job.
    func add(_ request: ExportRequest, for owner: Identity, now: Int64) -> Addition {
        let job = ExportJob(
            id: Self.randomID(), request: request, owner: owner, sinceNanoseconds: now)
        let (answer, begins) = state.withLock { state -> (Addition, Bool) in
            let own = state.jobs.count { !$0.hasEnded && $0.owner == owner }
            guard owner == .anonymous || own < Self.maximumOfAccount else {
                return (.fullForAccount, false)
            }
            let waiting = state.jobs.count { $0.state == .waiting }
            guard waiting < Self.maximumWaiting, !state.isStopping else { return (.full, false) }
            forget(&state, now: now)
            guard state.jobs.count < Self.maximumJobs else { return (.full, false) }
            state.jobs.append(job)
            defer { state.isRunning = true }
            return (.taken(job), !state.isRunning)
        }
        guard case .taken = answer else { return answer }
        logger.notice(
            "\(owner) exports \(request.sources.joined(separator: ", ")) of \(request.session) (\(request.layout.rawValue))"
        )
        if begins { NamedThread.start("export") { [self] in runJobs() } }
        changed(job)
        return answer
    }

    /// Cancels a job, or removes a finished one with its file.
    /// - Returns: false if it does not exist.
    func remove(_ id: String) -> Bool {
        let job = state.withLock { state -> ExportJob? in
            guard let place = state.jobs.firstIndex(where: { $0.id == id }) else { return nil }
            if state.running?.id == id {
                state.running?.control.cancellation.cancel()
                return state.jobs[place]
            }
            unlink(path(id))
            var job = state.jobs.remove(at: place)
            if job.state == .waiting { job.state = .cancelled }
            return job
        }
        guard let job else { return false }
        if job.state == .cancelled { changed(job) }
        return true
    }

    /// Cancels all exports, waits for the running one, and removes all files. Blocks for five seconds at most.
    func stop() {
        let isRunning = state.withLock { state in
            state.isStopping = true
            state.running?.control.cancellation.cancel()
            return state.isRunning
        }
        if isRunning {
            if hasStopped.wait(timeout: .now() + Self.stopSeconds) == .timedOut {
                logger.warning("an export does not end: the disk does not answer")
            }
            // A second call returns at once.
            hasStopped.signal()
        }
        for job in state.withLock(\.jobs) {
            unlink(path(job.id))
            unlink(OutputFile.temporaryPath(of: path(job.id)))
        }
        if state.withLock(\.hasMadeDirectory) { rmdir(directory) }
    }

    /// Removes jobs that ended an hour ago, with their files, and files of a killed viewer. Blocks; to be called periodically.
    func tidy(now: Int64 = SystemClock.monotonic.nowNanoseconds) {
        let known = state.withLock { state -> Set<String> in
            forget(&state, now: now)
            return Set(state.jobs.map { path($0.id) })
        }
        do throws(ArchiveError) {
            for name in try FileSystem.names(in: directory)
            where name.hasPrefix(Self.namePrefix) || name.hasPrefix(".\(Self.namePrefix)") {
                let path = "\(directory)/\(name)"
                // A file that is being written was modified recently.
                if !known.contains(path),
                    Self.ageSeconds(path) > Self.keepNanoseconds / 1_000_000_000
                {
                    unlink(path)
                }
            }
        } catch {
            logger.warning("old exports cannot be removed: \(error)")
        }
    }

    /// Time since a file was changed; 0 if it does not exist.
    private static func ageSeconds(_ path: String) -> Int64 {
        var status = stat()
        guard lstat(path, &status) == 0 else { return 0 }
        return SystemClock.utc.nowNanoseconds / 1_000_000_000 - Int64(status.st_mtim.tv_sec)
    }

    private func forget(_ state: inout State, now: Int64) {
        for job in state.jobs
        where job.hasEnded && now - job.sinceNanoseconds > Self.keepNanoseconds {
            unlink(path(job.id))
        }
        state.jobs.removeAll {
            $0.hasEnded && now - $0.sinceNanoseconds > Self.keepNanoseconds
        }
        // Makes room: removes the oldest ended job of the account with most jobs.
        while state.jobs.count >= Self.maximumJobs {
            let ended = Dictionary(grouping: state.jobs.filter(\.hasEnded), by: \.owner)
            guard let most = ended.values.max(by: { $0.count < $1.count })?.first,
                let place = state.jobs.firstIndex(where: { $0.id == most.id })
            else { return }
            unlink(path(most.id))
            state.jobs.remove(at: place)
        }
    }

    // MARK: The export thread

    private func runJobs() {
        while let (job, control) = next() {
            changed(job)
            var ended = job
            do {
                ended.sizeBytes = try make(job, control)
                ended.state = .done
                ended.fraction = 1
            } catch {
                // The first error: of the export, its encoder or its file.
                let isFull = state.withLock(\.isFull)
                if control.cancellation.isCancelled {
                    ended.state = isFull ? .failed : .cancelled
                    if isFull { ended.failure = "there is no room for exports; remove old ones" }
                } else {
                    ended.state = .failed
                    ended.failure = Self.text(error, job.request)
                    logger.warning("an export failed: \(error)")
                }
            }
            ended.sinceNanoseconds = SystemClock.monotonic.nowNanoseconds
            let isKept = state.withLock { state -> Bool in
                state.running = nil
                guard let place = state.jobs.firstIndex(where: { $0.id == job.id }) else {
                    return false
                }
                state.jobs[place] = ended
                return !state.isStopping
            }
            if !isKept { unlink(path(job.id)) }
            changed(ended)
        }
    }

    /// Starts and returns the next job; nil at the end of the thread.
    private func next() -> (ExportJob, WorkControl)? {
        state.withLock { state in
            guard !state.isStopping, let place = state.next() else {
                state.isRunning = false
                if state.isStopping { hasStopped.signal() }
                return nil
            }
            state.turns.begin(state.jobs[place].owner)
            state.jobs[place].state = .running
            let id = state.jobs[place].id
            let control = WorkControl { [weak self] fraction in
                self?.progress(id, fraction)
            }
            state.running = (id, control)
            state.isFull = false
            return (state.jobs[place], control)
        }
    }

    private func progress(_ id: String, _ fraction: Double) {
        let job = state.withLock { state -> ExportJob? in
            guard let place = state.jobs.firstIndex(where: { $0.id == id }) else { return nil }
            // Progress is reported in hundredths.
            guard fraction - state.jobs[place].fraction >= 0.01 else { return nil }
            state.jobs[place].fraction = fraction
            return state.jobs[place]
        }
        guard let job else { return }
        changed(job)
        do throws(ArchiveError) {
            guard try FileSystem.freeBytes(directory).free < reserveBytes else { return }
        } catch {
            logger.warning("\(error)")
            return
        }
        state.withLock { state in
            state.isFull = true
            state.running?.control.cancellation.cancel()
        }
    }

    private func make(_ job: ExportJob, _ control: WorkControl) throws -> Int64 {
        try makeDirectory()
        guard try FileSystem.freeBytes(directory).free >= reserveBytes else {
            throw ExportError.refused(
                path: directory, reason: "there is no room for exports; remove old ones")
        }
        return try work(job, path(job.id), control)
    }

    private func makeDirectory() throws {
        if mkdir(directory, 0o700) == 0 {
            state.withLock { $0.hasMadeDirectory = true }
            return
        }
        guard errno == EEXIST else {
            throw ExportError.system(
                operation: "make", path: directory, reason: systemMessage(errno))
        }
        // Below /tmp, another user may have created the directory.
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw ExportError.refused(
                path: directory, reason: "it is not a directory")
        }
        guard [geteuid(), 0].contains(status.st_uid) else {
            throw ExportError.refused(
                path: directory, reason: "the directory of exports belongs to another user")
        }
    }

    /// An error's text for clients, without paths of the server.
    private static func text(_ error: any Error, _ request: ExportRequest) -> String {
        switch error {
        case let error as ExportError:
            switch error {
            case .nothingThere:
                "\(error)" + (request.rangeText.map { " \($0)" } ?? "")
            case .noTrack, .formatChanges: "\(error)"
            case .rateChanges(_, let time):
                "the audio sample rate changes at \(TimelinePoint.text(time)): export the parts before and after it"
            case .noSource: "there is no such source"
            case .refused(_, let reason), .damaged(_, let reason), .system(_, _, let reason): reason
            default: "the export failed"
            }
        case let error as ArchiveError: error.reason
        default: "the export failed"
        }
    }

    private static func randomID() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
    }
}
