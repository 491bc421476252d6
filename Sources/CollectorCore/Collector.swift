import Archive
import Catalog
import Control
import Dispatch
import Glibc
package import Logging
import Media
import Messaging
import ObjectStore
package import Operations
import CollectorClient
import Synchronization
import Threads
import Trust
import Uploading
import Wire

/// The collector: receives from agents, records, acknowledges.
///
/// Two threads. The *receiving* thread owns the socket and makes all decisions (protocol, timeline, segments); these are values
/// without input or output. The *disk* thread owns the files. Payloads are passed from the receiving thread to the disk thread in
/// the messages in which they arrived, and are written from there without a copy.
package final class Collector: Sendable {
    private let settings: CollectorSettings
    private let logger: Logger
    private let report: @Sendable (CollectorStatus) -> Void
    /// Settings that its threads read when they need them.
    private let changeable: SharedSettings
    private let wakeUp: WakeUp
    private let isStopping = Atomic(false)
    private let endsSession = Atomic(false)
    /// Until when to wait for threads, once it is to stop.
    private let stopDeadline = Mutex<DispatchTime?>(nil)
    /// What was recorded before is recovered.
    private let isListening = Atomic(false)
    private let disk = DiskStatistics()
    /// Is signalled when it is to stop, for whoever waits before agents are listened to.
    private let stopped = DispatchSemaphore(value: 0)
    /// Counts refusals; knows whether agents can still be admitted.
    let refusals = RefusalCounters()
    /// The collector's status, from the moment it listens.
    package let board: StatusBoard

    /// - Parameters:
    ///   - logger: for messages to operators.
    ///   - report: called about once a second on the receiving thread, from the moment it listens.
    package init(
        settings: CollectorSettings, logger: Logger,
        report: @escaping @Sendable (CollectorStatus) -> Void
    ) throws(CollectorError) {
        self.settings = settings
        changeable = SharedSettings(settings.changeable)
        self.logger = logger
        self.report = report
        board = StatusBoard(version: settings.version)
        do throws(MessagingError) {
            wakeUp = try WakeUp()
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Clock probes are answered after this many events: a fraction of a millisecond.
    private static let eventsPerLook = 16
    private static let lockAttempts = 10
    private static let lockPauseMicroseconds: UInt32 = 50_000
    /// The longest pause between attempts to reach the store before anything is recorded.
    private static let longestStorePauseSeconds = 15
    /// Maximum wait at the end for a store, and for a catalog's server.
    private static let graceSeconds = 1
    /// How long threads are waited for at the end that only read, of a collector that is told to stop: recordings are complete by then.
    private static let endSeconds = 3
    /// The same of a collector that ends by itself.
    private static let longestEndSeconds = 60
    /// The disk thread has been at one thing for longer: its disk does not answer.
    private static let hungSeconds = 3.0

    /// Makes the collector end when everything that it has received is durable. Callable from any thread, also from a signal
    /// handler's queue.
    /// - Parameter endsSession: whether the session ends and its files are finished; otherwise it stays open, and the next
    ///   collector goes on with it.
    package func stop(endsSession: Bool) {
        self.endsSession.store(endsSession, ordering: .releasing)
        isStopping.store(true, ordering: .releasing)
        stopDeadline.withLock { $0 = $0 ?? .now() + .seconds(Self.endSeconds) }
        settings.store?.shutdown.begin(afterSeconds: Self.graceSeconds)
        wakeUp.signal()
        stopped.signal()
    }

    /// Until when threads are waited for at the end.
    private var endDeadline: DispatchTime {
        stopDeadline.withLock { $0 } ?? .now() + .seconds(Self.longestEndSeconds)
    }

    /// Why it cannot end although it is to stop: it waits for a disk. Nil: it can. Whoever ends the process then loses nothing: agents keep
    /// what is not durable, and the next start goes on.
    package var hindrance: String? {
        guard isStopping.load(ordering: .acquiring) else { return nil }
        if !isListening.load(ordering: .acquiring) {
            return "the archive is still being read: the next start goes on with it"
        }
        let now = SystemClock.monotonic.nowNanoseconds
        return disk.busySeconds(now: now) > Self.hungSeconds
            ? "the disk does not answer: agents send again what is not on it" : nil
    }

    /// Replaces the changeable settings. Callable from any thread.
    package func change(to settings: ChangeableSettings) { changeable.set(settings) }

    /// Records until ``stop()``, or until the first session has ended when the settings say so. Blocks its thread.
    package func run() throws(CollectorError) -> CollectorOutcome {
        let layout = ArchiveLayout(root: settings.archive)
        do throws(ArchiveError) {
            try FileSystem.makeDirectories(layout.sessions)
            try FileSystem.checkWritable(layout.sessions)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: error.reason)
        }
        // Held until the end: two collectors would write into each other's files.
        let lock = try lock(layout)
        guard try takeOver(layout) else { return CollectorOutcome(failures: []) }
        let recovered = try recover(layout)
        let sessionNames = try names(of: layout)
        let control = try openControl(layout)
        defer {
            control.stop()
            withExtendedLifetime(lock) {}
        }
        // Before other threads create files: binding the socket changes the process's file mode mask for a moment.
        let spine = Spine()
        let localFeed = openFeed(layout)
        let commands = try openCommands(layout)
        let editor = SessionEditor(
            layout: layout, catalog: settings.catalog, spine: spine, logger: logger)
        defer {
            editor.finish()
            commands?.stop()
        }
        let wakeUp = wakeUp
        let changeable = changeable
        let space = FreeSpace(
            reserveBytes: changeable.current.reserveBytes, directory: layout.sessions)
        let meters = CollectorLoop.Meters(disk: disk, refusals: refusals)
        meters.disk.measure(layout.sessions)
        let diskWriter = DiskWriter(
            layout: layout, space: space, spine: spine, meter: meters.disk
        ) { wakeUp.signal() }
        let catalog = CatalogThread(settings.catalog.place(layout), layout, spine: spine) {
            wakeUp.signal()
        }
        let context = try makeContext()
        let authenticator = try openAuthenticator(in: context, counters: refusals)
        defer { authenticator?.close() }
        let (remoteFeed, feedKeys) = try openRemoteFeed()
        defer { feedKeys?.close() }
        var feed = Feed(
            [localFeed, remoteFeed].compactMap { $0 }, spine: spine, logger: logger)
        let wireRecorder = try settings.wireRecording.map { path throws(CollectorError) in
            try WireRecorder(path: path, logger: logger)
        }
        wireRecorder?.start()
        defer { wireRecorder?.stop() }
        let watch = IntakeWatch(counters: refusals, logger: logger) { wakeUp.signal() }
        watch.start()
        defer { watch.stop() }
        var receiver = try Receiver(
            settings: settings, context: context, authenticator: authenticator,
            wireRecorder: wireRecorder,
            counters: refusals,
            watch: watch, wakeUp: wakeUp, logger: logger)
        catalog.start()
        diskWriter.start()
        let uploads = settings.store.map { store in
            ArchiveUploads(
                store, layout: layout, countsRecords: settings.release == .stored, spine: spine,
                meter: meters.disk, logger: logger
            ) { diskWriter.submit([.remove($0)]) }
        }
        uploads?.start()
        defer { uploads?.stop(until: endDeadline) }
        let retention = Retention(
            layout: layout, policy: { changeable.current.retention }, logger: logger,
            meter: meters.disk,
            store: uploads.map { uploads in
                Retention.Store(
                    policy: { changeable.current.localCache }, evict: uploads.evict,
                    forget: uploads.forget)
            }
        ) {
            diskWriter.submit($0.map(DiskJob.remove))
        }
        retention.start()
        defer { retention.stop(until: endDeadline) }
        var loop = CollectorLoop(
            settings: settings, changeable: changeable, layout: layout, recovered: recovered,
            sessionNames: sessionNames, disk: diskWriter, spine: spine,
            catalog: catalog, space: space, controls: [control] + (commands.map { [$0] } ?? []),
            editor: editor, meters: meters, uploads: uploads,
            board: board, logger: logger, wantRoom: retention.hurry, report: report)
        loop.logListening(at: receiver.endpoint)
        isListening.store(true, ordering: .releasing)
        var inbox = Inbox()
        do throws(MessagingError) {
            while !loop.isDone {
                if isStopping.load(ordering: .acquiring) || refusals.shutReason != nil {
                    // Received messages still belong to the session.
                    try process(&loop, &receiver, &inbox, &feed)
                    loop.stop(endsSession: endsSession.load(ordering: .acquiring))
                } else {
                    inbox.checkCredit(isShort: loop.isShortOfCredit)
                    let wasWoken = try receiver.wait(
                        milliseconds: inbox.isUrgent ? 0 : loop.millisecondsToNextTick())
                    try turn(&loop, &receiver, &inbox, &feed, isDue: wasWoken)
                }
            }
            // The last jobs, then their end, then their events: agents are notified that everything is durable before they are
            // notified that the collector is stopping.
            loop.submit()
            diskWriter.stop()
            stop(catalog)
            loop.collectDiskEvents()
            loop.sayGoodbye()
            try deliver(&loop, &receiver, &inbox)
            // With `--once`, the session is uploaded before the collector ends.
            if !isStopping.load(ordering: .acquiring) {
                uploads?.drain { [self] in isStopping.load(ordering: .acquiring) }
            }
        } catch {
            diskWriter.stop()
            stop(catalog)
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
        if let reason = refusals.shutReason { throw .cannotAdmitAnyMore(reason: reason) }
        return CollectorOutcome(
            failures: loop.failures, cost: loop.cost, refusals: loop.refusedConnections())
    }

    /// Writes the remaining events to the catalog. A server that does not answer is not waited for: its catalog is
    /// later completed from the files.
    private func stop(_ catalog: CatalogThread) {
        let end = DispatchWorkItem { [settings] in settings.catalog.end() }
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .seconds(Self.graceSeconds), execute: end)
        if !catalog.stop(until: endDeadline) {
            logger.warning("the catalog does not have everything: readers take it from the files")
        }
        end.cancel()
    }

    /// Opens the control socket for commands on the server.
    private func openControl(_ layout: ArchiveLayout) throws(CollectorError) -> ControlServer {
        try listen(at: layout.control, for: .owner) { [board] request in
            guard case .status = request else { return nil }
            do {
                return .status(try board.view.encoded())
            } catch {
                return .failure(.other, "the status cannot be written: \(error)")
            }
        }
    }

    /// Opens the socket for commands from the archive's group, if it is enabled.
    private func openCommands(
        _ layout: ArchiveLayout
    ) throws(CollectorError) -> ControlServer? {
        guard settings.takesGroupCommands else {
            // A socket left by an earlier collector would look like a running one.
            unlink(layout.commands)
            return nil
        }
        return try listen(at: layout.commands, for: .group) { GroupCommands.refusal(of: $0) }
    }

    private func listen(
        at path: String, for audience: ControlServer.Audience,
        answersAtOnce: @escaping @Sendable (ControlRequest.Request) -> ControlReply.Reply?
    ) throws(CollectorError) -> ControlServer {
        do throws(ControlSocketError) {
            let server = try ControlServer(for: audience, answersAtOnce: answersAtOnce) {
                [wakeUp] in wakeUp.signal()
            }
            try server.start(at: path)
            return server
        } catch {
            let advice =
                error.isForLength ? ": give --archive a shorter path, perhaps a relative one" : ""
            throw .cannotControl(path: path, reason: error.description + advice)
        }
    }

    /// Opens the local feed; without it, recording continues.
    private func openFeed(_ layout: ArchiveLayout) -> FeedPublisher? {
        do throws(MessagingError) {
            return try FeedPublisher(path: layout.feed, in: Context())
        } catch {
            logger.warning("viewers on this machine cannot watch live: \(error)")
            return nil
        }
    }

    /// Opens the feed for viewers on other machines, if it is enabled.
    ///
    /// It has its own context: its I/O thread encrypts, and its authenticator admits viewers, not agents.
    private func openRemoteFeed() throws(CollectorError) -> (FeedPublisher?, KeyAuthenticator?) {
        guard let remote = settings.remoteFeed else { return (nil, nil) }
        var opened: KeyAuthenticator?
        do {
            let context = try Context()
            let authenticator = try remote.keys.map { keys in
                try KeyAuthenticator(
                    keys: keys, for: .watching, counters: refusals, logger: logger, changed: {})
            }
            try authenticator?.open(in: context)
            opened = authenticator
            let publisher = try FeedPublisher(
                endpoint: remote.endpoint,
                security: remote.keys.map { .server($0.key) } ?? .plain,
                authenticator: authenticator, in: context, counters: refusals, logger: logger)
            let protection = remote.keys == nil ? ", without keys" : ""
            let endpoint = try publisher.endpoint()
            logger.info("the feed is at \(endpoint)\(protection)")
            return (publisher, authenticator)
        } catch {
            opened?.close()
            throw .cannotPublish(endpoint: remote.endpoint, reason: "\(error)")
        }
    }

    private func makeContext() throws(CollectorError) -> Context {
        do throws(MessagingError) {
            return try Context()
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Creates the authenticator; nil where agents need not authenticate.
    private func openAuthenticator(
        in context: Context, counters: RefusalCounters
    ) throws(CollectorError) -> KeyAuthenticator? {
        guard let keys = settings.keys else { return nil }
        let wakeUp = wakeUp
        let authenticator: KeyAuthenticator
        do throws(MessagingError) {
            authenticator = try KeyAuthenticator(keys: keys, counters: counters, logger: logger) {
                wakeUp.signal()
            }
        } catch {
            throw .cannotAdmit(reason: "\(error)")
        }
        try authenticator.open(in: context)
        return authenticator
    }

    private func lock(_ layout: ArchiveLayout) throws(CollectorError) -> ArchiveLock {
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

    /// Names that a new session must not use.
    private func names(of layout: ArchiveLayout) throws(CollectorError) -> Set<String> {
        do throws(ArchiveError) {
            return Set(try FileSystem.names(in: layout.sessions))
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
    }

    /// Continues from the object store, if the archive has no session and agents keep what is not in the store.
    /// - Returns: false: the collector has been stopped.
    private func takeOver(_ layout: ArchiveLayout) throws(CollectorError) -> Bool {
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
        return try takeOver(layout, from: store)
    }

    /// Waits for an unavailable store. Without its contents, samples that agents send again would be recorded twice.
    /// - Returns: false: the collector has been stopped.
    private func takeOver(
        _ layout: ArchiveLayout, from store: StoreSettings
    ) throws(CollectorError) -> Bool {
        var surroundings = UploadSurroundings.system()
        surroundings.checkpoint = { [self] _ throws(UploadStop) in
            if isStopping.load(ordering: .acquiring) { throw UploadStop() }
        }
        let place = UploadPlace(
            store.bucket, layout, settings: store.upload, surroundings: surroundings,
            figures: UploadFigures())
        var said: String?
        var failures = 0
        defer { board.waiting(for: nil) }
        while !isStopping.load(ordering: .acquiring) {
            do throws(UploadError) {
                var attempt = ArchiveTakeOver(
                    from: place, now: Instant.now().utc,
                    idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds)
                let outcome = try attempt.run()
                for problem in outcome.problems { logger.warning("\(problem)") }
                if outcome.sessions > 0 {
                    logger.notice(
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
                    logger.error(
                        "not recording yet: the archive is empty, and with --release stored it has to be known what \(store.bucket.name) has: \(reason); trying again"
                    )
                }
                board.waiting(for: "waiting for \(store.bucket.name): \(reason)")
                // 1 s, up to 15 s; ends early when the collector is to stop.
                let seconds = min(failures, Self.longestStorePauseSeconds)
                _ = stopped.wait(timeout: .now() + .seconds(seconds))
            }
        }
        return false
    }

    /// One per processor: most of the time is spent reading and hashing.
    private static let sourcesRecoveredAtOnce = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Recovers the archive after an earlier collector.
    private func recover(_ layout: ArchiveLayout) throws(CollectorError) -> RecoveredArchive {
        let recovered: RecoveredArchive
        do throws(ArchiveError) {
            recovered = try ArchiveRecovery.run(
                layout, now: Instant.now().utc,
                idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds,
                sourcesAtOnce: Self.sourcesRecoveredAtOnce)
        } catch {
            throw .cannotRecord(archive: settings.archive, reason: "\(error)")
        }
        for note in recovered.notes { logger.log(LinkLog(note)) }
        return recovered
    }

    /// Receives pending messages, and processes everything that is due; messages, when their batch is due.
    private func turn(
        _ loop: inout CollectorLoop, _ receiver: inout Receiver, _ inbox: inout Inbox,
        _ feed: inout Feed, isDue: Bool
    ) throws(MessagingError) {
        try receiver.takeIn(&inbox)
        guard isDue || inbox.isUrgent || loop.isTickDue else { return }
        let now = Instant.now()
        if loop.isTickDue {
            feed.tick(board: board, now: now.monotonic)
            loop.watch(feed.watched)
            // Watched sources do not wait for the tick.
            inbox.watchedPeers = feed.isWatched ? loop.peers(of: feed.watched) : []
            inbox.roomOfPeer = loop.roomOfPeer
        }
        // A stop request covers every received message, and a revoked key was valid for messages received before.
        let questions = loop.takeQuestions()
        let register = receiver.takeRegister()
        if inbox.isUrgent || loop.isBatchDue || !questions.isEmpty || register != nil {
            try process(&loop, &receiver, &inbox, &feed)
        }
        for (peer, enrol) in loop.takeEnrolments() { receiver.enrol(peer, enrol) }
        for (peer, outcome) in receiver.takeEnrolled() { loop.enrolled(peer, outcome) }
        if let register { loop.follow(receiver.follow(register, now: now.monotonic)) }
        loop.collectDiskEvents()
        loop.answer(questions)
        loop.tick(oldestNanoseconds: inbox.oldestNanoseconds)
        receiver.releaseSeconds = loop.releaseSeconds
        try deliver(&loop, &receiver, &inbox)
        receiver.cutOff(now: now.monotonic)
    }

    /// Processes the inbox.
    private func process(
        _ loop: inout CollectorLoop, _ receiver: inout Receiver, _ inbox: inout Inbox,
        _ feed: inout Feed
    ) throws(MessagingError) {
        loop.beginBatch()
        let now = Instant.now()
        for (place, event) in inbox.take().enumerated() {
            // A clock probe is stamped when it is received, so it must not wait behind samples.
            if place % Self.eventsPerLook == Self.eventsPerLook - 1 { try receiver.takeIn(&inbox) }
            switch event {
            case .message(let message): loop.receive(message, takenInBy: now)
            case .gone(let peer): loop.lost(peer)
            }
            feed.publish(loop.takePlaced())
            if loop.hasOutgoing { try deliver(&loop, &receiver, &inbox) }
        }
    }

    /// Sends outgoing messages. The engine is notified of a disconnected peer after the messages of that peer.
    private func deliver(
        _ loop: inout CollectorLoop, _ receiver: inout Receiver, _ inbox: inout Inbox
    ) throws(MessagingError) {
        var gone: [(peer: PeerID, sender: Peer?)] = []
        for (peer, header) in loop.takeOutgoing() {
            if try !receiver.send(header, to: peer) { gone.append((peer, receiver.sender(peer))) }
        }
        // libzmq still holds what a closed connection sent, and possibly the first message of a new connection with the
        // same identity: in that case, the inbox already has both, in order.
        if !gone.isEmpty { try receiver.takeIn(&inbox) }
        for (peer, sender) in gone where receiver.sender(peer) === sender { inbox.appendGone(peer) }
        let now = SystemClock.monotonic.nowNanoseconds
        for peer in loop.takeDismissed() { receiver.dismiss(peer, now: now) }
    }
}
