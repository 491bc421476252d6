import Archive
package import Logging
import Media
import Messaging
package import Operations
import Synchronization
import Threads

/// The collector: receives from agents, records, acknowledges.
///
/// The thread that calls ``run()`` becomes the *receiving* thread (``ReceivingThread``); it starts all others
/// (``CollectorServices``). Payloads are passed to the *disk* thread in the messages in which they arrived, and are
/// written from there without a copy.
package final class Collector: Sendable {
    /// Maximum wait for a store once the collector is to stop.
    private static let graceSeconds = 1
    /// If the disk thread has been busy for longer, the disk counts as hung.
    private static let hungSeconds = 3.0

    private let environment: CollectorEnvironment
    /// Recovery is complete.
    private let isListening = Atomic(false)

    /// - Parameters:
    ///   - logger: for messages to operators.
    ///   - report: called about once a second on the receiving thread, from the moment it listens.
    package init(
        settings: CollectorSettings, logger: Logger,
        report: @escaping @Sendable (CollectorStatus) -> Void
    ) throws(CollectorError) {
        do throws(MessagingError) {
            let disk = LockedDisk()
            environment = CollectorEnvironment(
                settings: settings, changeable: SharedSettings(settings.changeable),
                layout: ArchiveLayout(root: settings.archive, on: disk), archiveDisk: disk,
                board: StatusBoard(version: settings.version), report: report, logger: logger,
                wakeUp: try WakeUp())
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// The collector's status, from the moment it listens.
    package var board: StatusBoard { environment.board }
    /// Counts refusals; determines whether agents can still be admitted.
    var refusals: RefusalCounters { environment.refusals }

    /// Stops the collector when everything that it has received is durable. Callable from any thread, also from a signal
    /// handler's queue.
    /// - Parameter endsSession: whether the session ends and its files are finished; otherwise it stays open, and the next
    ///   collector continues it.
    package func stop(endsSession: Bool) {
        environment.stop.begin(endsSession: endsSession)
        environment.settings.store?.shutdown.begin(afterSeconds: Self.graceSeconds)
        environment.wakeUp.signal()
    }

    /// Why a requested stop is delayed: a disk does not respond. `nil` if it is not. Killing the process then loses nothing:
    /// agents keep records that are not durable, and the next start continues.
    package var hindrance: String? {
        guard environment.stop.isMade else { return nil }
        if !isListening.load(ordering: .acquiring) {
            return "the archive is still being read: the next start goes on with it"
        }
        let now = SystemClock.monotonic.nowNanoseconds
        return environment.disk.busySeconds(now: now) > Self.hungSeconds
            ? "the disk does not answer: agents send again what is not on it" : nil
    }

    /// Replaces the changeable settings. Callable from any thread.
    package func change(to settings: ChangeableSettings) { environment.changeable.set(settings) }

    /// Records until ``stop(endsSession:)``, or until the first session has ended if the settings require it. Blocks its thread.
    package func run() throws(CollectorError) -> CollectorOutcome {
        guard let archive = try ArchivePreparation(environment).run() else {
            return CollectorOutcome(failures: [])
        }
        let running = ServiceStack()
        defer { running.stop { environment.stop.deadline } }
        return try record(archive, running)
    }

    /// Its sockets are closed when it returns.
    private func record(
        _ archive: PreparedArchive, _ running: ServiceStack
    ) throws(CollectorError) -> CollectorOutcome {
        var thread = try ReceivingThread(environment, archive, running: running)
        isListening.store(true, ordering: .releasing)
        return try thread.run()
    }
}
