import Archive
import Catalog
import Dispatch
import Logging
import Media
import Messaging
import Operations
import Trust
import Wire

/// A collector's receiving thread: owns the sockets of agents and feeds, and makes all decisions.
struct ReceivingThread: ~Copyable {
    /// Clock probes are answered after this many events: a fraction of a millisecond.
    private static let eventsPerLook = 16
    /// Maximum wait at the end for a catalog's server.
    private static let graceSeconds = 1

    private let environment: CollectorEnvironment
    private let services: CollectorServices
    private var receiver: Receiver
    private var feed: Feed
    private var loop: CollectorLoop
    private var inbox = Inbox()

    init(
        _ environment: CollectorEnvironment, _ services: CollectorServices,
        receiver: consuming Receiver, feed: Feed, loop: CollectorLoop
    ) {
        self.environment = environment
        self.services = services
        self.receiver = receiver
        self.feed = feed
        self.loop = loop
    }

    /// Records until a stop is requested, or until the first session has ended if the settings require it; then
    /// makes everything durable, and stops the disk thread and the catalog.
    mutating func run() throws(CollectorError) -> CollectorOutcome {
        loop.logListening(at: receiver.endpoint)
        do throws(MessagingError) {
            try record()
            // The last jobs, then their end, then their events: agents are notified that everything is durable before
            // they are notified that the collector is stopping.
            loop.submit()
            stopRecording()
            loop.collectDiskEvents()
            loop.sayGoodbye()
            try deliver()
        } catch {
            stopRecording()
            throw .cannotListen(endpoint: environment.settings.endpoint, reason: "\(error)")
        }
        // With `--once`, the session is uploaded before the collector ends.
        let stop = environment.stop
        if !stop.isMade { services.uploads?.drain { stop.isMade } }
        if let reason = environment.refusals.shutReason {
            throw .cannotAdmitAnyMore(reason: reason)
        }
        return CollectorOutcome(
            failures: loop.failures, cost: loop.cost, refusals: loop.refusedConnections())
    }

    private mutating func record() throws(MessagingError) {
        while !loop.isDone {
            if environment.stop.isMade || environment.refusals.shutReason != nil {
                // Received messages still belong to the session.
                try process()
                loop.stop(endsSession: environment.stop.endsSession)
            } else {
                inbox.checkCredit(isShort: loop.isShortOfCredit)
                let wasWoken = try receiver.wait(
                    milliseconds: inbox.isUrgent ? 0 : loop.millisecondsToNextTick())
                try turn(isDue: wasWoken)
            }
        }
        // While the files of the only session to be recorded were finished, an agent may have begun another one.
        if loop.isRecording { loop.stop(endsSession: false) }
    }

    /// Writes everything that was submitted, then the remaining events to the catalog. A server that does not answer is
    /// not waited for: its catalog is later completed from the files.
    private func stopRecording() {
        services.disk.stop()
        let end = DispatchWorkItem { [server = environment.settings.catalog.server] in
            server?.end()
        }
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .seconds(Self.graceSeconds), execute: end)
        if !services.catalog.stop(until: environment.stop.deadline) {
            environment.logger.warning(
                "the catalog does not have everything: readers take it from the files")
        }
        end.cancel()
    }

    /// Receives pending messages, and processes everything that is due; messages, when their batch is due.
    private mutating func turn(isDue: Bool) throws(MessagingError) {
        try receiver.takeIn(&inbox)
        guard isDue || inbox.isUrgent || loop.isTickDue else { return }
        let now = Instant.now()
        if loop.isTickDue {
            feed.tick(board: environment.board, now: now.monotonic)
            loop.watch(feed.watched)
            // Watched sources do not wait for the tick.
            inbox.watchedPeers = feed.isWatched ? loop.peers(of: feed.watched) : []
            inbox.roomOfPeer = loop.roomOfPeer
        }
        // A stop request covers every received message, and a revoked key was valid for messages received before.
        let questions = loop.takeQuestions()
        let register = receiver.takeRegister()
        if inbox.isUrgent || loop.isBatchDue || !questions.isEmpty || register != nil {
            try process()
        }
        for (peer, enrol) in loop.takeEnrolments() { receiver.enrol(peer, enrol) }
        for (peer, outcome) in receiver.takeEnrolled() { loop.enrolled(peer, outcome) }
        if let register { loop.follow(receiver.follow(register, now: now.monotonic)) }
        loop.collectDiskEvents()
        loop.answer(questions)
        loop.tick(oldestNanoseconds: inbox.oldestNanoseconds)
        receiver.releaseSeconds = loop.releaseSeconds
        try deliver()
        receiver.cutOff(now: now.monotonic)
    }

    /// Processes the inbox.
    private mutating func process() throws(MessagingError) {
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
            if loop.hasOutgoing { try deliver() }
        }
    }

    /// Sends outgoing messages. The engine is notified of a disconnected peer after the messages of that peer.
    private mutating func deliver() throws(MessagingError) {
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
