package import CollectorClient
import Devices
import Dispatch
import Encoding
package import Logging
package import Media
import Messaging
import Spooling
import Synchronization
import Threads
package import Wire

/// Sends one source to the collector, and keeps its samples until they are persisted there.
///
/// Any thread may offer samples, which never blocks. The uplink's thread runs the protocol and owns the sockets.
package final class Uplink: Sendable {
    /// Samples and events of the capture since the uplink's thread last took them.
    struct Inbox {
        enum Event {
            case batch(Batch)
            case loss(Loss)
            case format(TrackFormat)
            case goodbye(String)
        }

        var batcher: Batcher
        /// The source is watched live.
        var isWatched = false
        private(set) var events: [Event] = []
        /// Payload bytes of the batches among the events.
        private var sizeBytes = 0
        private var policy: DropPolicy
        private var gate = KeyframeGate()
        private var hasVideo = false
        /// The sound's state, if it has changed.
        var sound: AudioHealth?
        /// Answers to commands of the collector.
        var reports: [(report: Report, payload: [UInt8])] = []
        var hasBegun = false
        /// Nothing more is accepted.
        var hasEnded = false
        /// How long to continue sending.
        var limits = SendingLimits()

        init(batcher: Batcher, limitBytes: Int) {
            self.batcher = batcher
            policy = DropPolicy(limitBytes: limitBytes)
        }

        mutating func append(_ event: Event) { events.append(event) }

        /// Adds a batch. If the uplink's thread has been blocked for too long, for example by a hanging disk, adds a loss instead, to
        /// bound memory.
        mutating func append(_ batch: Batch) {
            hasVideo = hasVideo || batch.beginsDecodable != nil
            let canBeDecoded = batch.beginsDecodable ?? !hasVideo
            let isAdmitted = gate.admits(
                beginsDecodable: canBeDecoded && policy.hasPlentyOfRoom(keptBytes: sizeBytes))
            let isExceeded = policy.isExceeded(by: sizeBytes + batch.payload.count)
            if isExceeded { gate.skip() }
            if isExceeded || !isAdmitted {
                let text = "the spool disk did not accept samples for too long"
                return events.append(.loss(batch.loss(text)))
            }
            sizeBytes += batch.payload.count
            events.append(.batch(batch))
        }

        mutating func take() -> [Event] {
            defer {
                events.removeAll(keepingCapacity: true)
                sizeBytes = 0
            }
            return events
        }
    }

    /// Conditions under which sending ends before everything is persisted.
    struct SendingLimits: Hashable {
        /// Deadline of a stop, on the monotonic clock.
        var deadline: Int64?
        /// Sending ends once no record would be lost: another agent continues the source.
        var isHandedOver = false
        /// The linger after the end of the source does not apply.
        var isPatient = false
    }

    /// The work of the uplink's thread that may block it.
    enum Activity: Hashable, Sendable {
        /// Uses the spool, or opens or closes it.
        case spool
        /// Opens connections, waits for messages, or sends some.
        case connections
        /// Closes connections, with this outcome.
        case closingConnections(UplinkOutcome)
    }

    let settings: UplinkSettings
    /// The sources that the box's key has to be authorised for; empty: this one.
    let keySources: @Sendable () -> [String]
    let resolver: HostResolver
    let logger: Logger
    let wakeUp: WakeUp
    /// Spools on disk; nil if the disk is not usable yet, or samples are kept in memory only.
    let disk: SpoolSet?
    /// The reason for a missing spool at the start.
    let spoolTrouble: String?
    private let inbox: Mutex<Inbox>
    private let capture = Mutex(Capture())
    private let statusNow = Mutex(UplinkStatus())
    private let outcome = Mutex<UplinkOutcome?>(nil)
    private let activity = Mutex(Activity.spool)
    private let ended = Semaphore(value: 0)

    /// An uplink that is not connected yet: it connects when it knows the source's formats.
    /// - Parameter keySources: returns the sources that the box's key has to be authorised for; empty: this one.
    /// - Throws: when another agent uses the spool. An unusable one is logged, and records stay in memory.
    package init(
        settings: UplinkSettings, keySources: @escaping @Sendable () -> [String] = { [] },
        resolver: HostResolver = .system, logger: Logger
    ) throws(UplinkError) {
        self.settings = settings
        self.keySources = keySources
        self.resolver = resolver
        self.logger = logger
        inbox = Mutex(
            Inbox(
                batcher: Batcher(
                    intervalNanoseconds: settings.batch.recordNanoseconds(watched: nil)),
                limitBytes: settings.memoryLimitBytes))
        do throws(MessagingError) {
            wakeUp = try WakeUp()
        } catch {
            throw UplinkError(description: "\(error)")
        }
        (disk, spoolTrouble) = try Self.openDisk(settings, logger: logger)
    }

    private static func openDisk(
        _ settings: UplinkSettings, logger: Logger
    ) throws(UplinkError) -> (disk: SpoolSet?, trouble: String?) {
        guard let spool = settings.spool else { return (nil, nil) }
        do throws(SpoolError) {
            let disk = try SpoolSet(
                storage: DirectoryStorage(path: spool.path), limitBytes: spool.limitBytes)
            return (disk, nil)
        } catch {
            switch error {
            case .inUse: throw UplinkError(description: "\(error)")
            case .system, .recordTooLarge:
                // A camera whose disk has failed must still record.
                logger.error(
                    """
                    \(error); samples are kept in memory only (\(byteText(settings.memoryLimitBytes))) and are lost in a \
                    restart or a power failure. Make the directory writable, or use another --spool; the agent retries \
                    every few seconds
                    """)
                return (nil, "\(error)")
            }
        }
    }

    /// Opens a spool that could not be opened at the start; nil: no spool is configured.
    var diskOpener: (@Sendable () throws(SpoolError) -> SpoolSet)? {
        guard let spool = settings.spool else { return nil }
        return { () throws(SpoolError) -> SpoolSet in
            try SpoolSet(
                storage: DirectoryStorage(path: spool.path), limitBytes: spool.limitBytes)
        }
    }

    // MARK: Commands of the collector

    /// Executes a command of the collector; called on the uplink's thread, must not block it.
    package typealias CommandHandler = @Sendable (Command) -> Void

    /// Closures that query and notify the capture.
    ///
    /// In a structure, because a closure that is itself the value of a ``Mutex`` is re-wrapped at each access, which costs time and
    /// stack.
    private struct Capture {
        var obey: CommandHandler?
        var isStopped: (@Sendable () -> Bool)?
        var isWatched: (@Sendable () -> Void)?
        var trouble: (@Sendable () -> String?)?
    }

    /// Sets the command handler; results are passed to ``answer(_:payload:)``.
    package func obey(with handler: @escaping CommandHandler) {
        capture.withLock { $0.obey = handler }
    }

    /// Sets the closure that tells whether the capture is stopped by a command. It is called on the uplink's thread, and must not
    /// block.
    package func askWhetherStopped(_ question: @escaping @Sendable () -> Bool) {
        capture.withLock { $0.isStopped = question }
    }

    /// Sets the closure that is called for a new live viewer. It is called on the uplink's thread, and must not block.
    package func tellOfWatchers(_ listener: @escaping @Sendable () -> Void) {
        capture.withLock { $0.isWatched = listener }
    }

    /// Sets the closure that returns the tracks that are not captured at present, and the reason; nil: all are captured. It is called
    /// on the uplink's thread once a second, and must not block.
    package func askForTrouble(_ question: @escaping @Sendable () -> String?) {
        capture.withLock { $0.trouble = question }
    }

    /// Answers a command; a snapshot includes its JPEG.
    package func answer(_ report: Report, payload: [UInt8]) {
        inbox.withLock { $0.reports.append((report, payload)) }
        wakeUp.signal()
    }

    // MARK: Capture

    /// The source's tracks: once, before anything else.
    package func begin(formats: [TrackFormat]) {
        let isClosed = inbox.withLock { inbox in
            precondition(!inbox.hasBegun, "a source begins once")
            inbox.hasBegun = !inbox.hasEnded
            return inbox.hasEnded
        }
        if isClosed { return }
        NamedThread.start("uplink") { [self] in
            var loop = UplinkLoop(uplink: self, formats: formats)
            let result = loop.run()
            outcome.withLock { $0 = result }
            ended.signal()
        }
    }

    /// One encoded sample. One that the protocol cannot carry becomes a loss with the reason: no encoder's fault ends a
    /// recording.
    package func offer(_ sample: EncodedSample) {
        if let flaw = sample.flaw {
            offer(
                Loss(
                    track: sample.track, cause: .damagedInput,
                    startNanoseconds: sample.ptsNanoseconds, durationNanoseconds: 0, samples: 1,
                    text: flaw))
            return
        }
        let isReady = inbox.withLock { inbox in
            guard !inbox.hasEnded else { return false }
            let dueBefore = inbox.batcher.dueNanoseconds ?? .max
            let batches = inbox.batcher.add(sample, now: MonotonicClock().nowNanoseconds)
            for batch in batches { inbox.append(batch) }
            // Wakes the thread, which would otherwise send the batch late.
            let isEarlier = inbox.batcher.dueNanoseconds ?? .max < dueBefore
            return !batches.isEmpty || inbox.isWatched && isEarlier
        }
        if isReady { wakeUp.signal() }
    }

    /// Adds a loss.
    package func offer(_ loss: Loss) { add(.loss(loss)) }

    /// The sound's state, for the next heartbeat.
    package func report(_ sound: AudioHealth) { inbox.withLock { $0.sound = sound } }

    /// From the next sample on, a track has this format.
    package func formatChanged(_ format: TrackFormat) { add(.format(format)) }

    /// The source is complete.
    package func finish(_ reason: String) {
        add(.goodbye(reason)) { $0.hasEnded = true }
        // A source without samples needs no Goodbye.
        if !inbox.withLock({ $0.hasBegun }) { ended.signal() }
    }

    /// Ends the source without a Goodbye: the next agent with its spool continues it. Records that are in memory only are sent
    /// first, until a deadline of ``abandon(after:)``.
    package func handOver() {
        let hasBegun = inbox.withLock { inbox in
            if !inbox.hasEnded, let batch = inbox.batcher.take() { inbox.append(batch) }
            inbox.hasEnded = true
            inbox.limits.isHandedOver = true
            return inbox.hasBegun
        }
        wakeUp.signal()
        if !hasBegun { ended.signal() }
    }

    /// Sends until everything is persisted or until ``abandon(after:)``, however long the collector is unreachable.
    package func sendEverything() { inbox.withLock { $0.limits.isPatient = true } }

    /// Blocks until everything is persisted, or sending has ended.
    package func wait() -> UplinkOutcome {
        while !ended.wait(milliseconds: Self.waitMilliseconds) {
            if let stuck = outcome.withLock({ $0 }) { return stuck }
            guard isStuck else { continue }
            let (line, result) = stuckOutcome
            logger.error("\(line); ending without it")
            outcome.withLock { $0 = $0 ?? result }
        }
        ended.signal()
        return outcome.withLock { $0 } ?? .complete
    }

    /// The cause of a blocked thread, for the log, and its outcome.
    private var stuckOutcome: (line: String, outcome: UplinkOutcome) {
        switch activity.withLock({ $0 }) {
        case .spool:
            let path = settings.spool.map { " in \($0.path)" } ?? ""
            let line =
                "the spool\(path) does not respond: samples that are not on its disk are lost"
            return (line, .failed(line))
        case .connections:
            let line =
                "the connection to the collector does not respond: samples that are in memory only are lost"
            return (line, .failed(line))
        case .closingConnections(let outcome):
            return ("the connection to the collector does not close", outcome)
        }
    }

    /// Whether the uplink's thread is blocked: otherwise it ends at the deadline of a stop.
    private var isStuck: Bool {
        guard let deadline = inbox.withLock({ $0.limits.deadline }) else { return false }
        return MonotonicClock().nowNanoseconds
            >= deadline.clampedAdding(Self.stuckNanoseconds)
    }
    private static let waitMilliseconds = 250
    /// Time after the deadline of a stop.
    private static let stuckNanoseconds: Int64 = 5_000_000_000

    /// Stops sending after a delay; ``wait()`` then returns with the amount that is not durable.
    package func abandon(after delay: Duration) {
        let deadline = MonotonicClock().nowNanoseconds.clampedAdding(delay.nanoseconds)
        inbox.withLock { inbox in
            inbox.limits.deadline = min(inbox.limits.deadline ?? deadline, deadline)
        }
        wakeUp.signal()
    }

    /// Whether a time limit for sending has been set.
    var isStopping: Bool { inbox.withLock { $0.limits.deadline != nil } }

    /// The present state.
    package var status: UplinkStatus { statusNow.withLock { $0 } }

    // MARK: For the uplink's thread

    /// All samples and events in order, and how long to continue.
    func takeEvents() -> (events: [Inbox.Event], limits: SendingLimits) {
        inbox.withLock { inbox in
            if let batch = inbox.batcher.takeDue(now: MonotonicClock().nowNanoseconds) {
                inbox.append(batch)
            }
            return (inbox.take(), inbox.limits)
        }
    }

    /// Live viewing has started, changed or ended.
    /// - Parameter nanoseconds: the delay that viewers request; nil without viewers.
    func setWatch(_ nanoseconds: Int64?) {
        let interval = settings.batch.recordNanoseconds(watched: nanoseconds)
        inbox.withLock { inbox in
            inbox.isWatched = settings.batch.gathers && nanoseconds != nil
            inbox.batcher.setInterval(interval, countsFromCapture: inbox.isWatched)
        }
    }

    /// When the current batch is due; nil without one.
    var batchDueNanoseconds: Int64? { inbox.withLock { $0.batcher.dueNanoseconds } }

    /// The sound's state, if it has changed.
    func takeAudio() -> AudioHealth? {
        inbox.withLock { inbox in
            defer { inbox.sound = nil }
            return inbox.sound
        }
    }

    /// Answers to commands.
    func takeReports() -> [(report: Report, payload: [UInt8])] {
        inbox.withLock { inbox in
            defer { inbox.reports.removeAll() }
            return inbox.reports
        }
    }

    /// Whether the capture is stopped by a command.
    var isCaptureStopped: Bool { capture.withLock { $0.isStopped }?() ?? false }

    /// The tracks that are not captured at present, and the reason; nil: all are captured.
    var captureTrouble: String? { capture.withLock { $0.trouble }?() }

    /// A new live viewer needs a keyframe.
    func beginsToBeWatched() { capture.withLock { $0.isWatched }?() }

    /// A request of the collector.
    func follow(_ command: Command) {
        if let handler = capture.withLock({ $0.obey }) { return handler(command) }
        answer(
            Report(
                id: command.id, source: command.source,
                reply: .failure(.unknownCommand, "this agent takes no commands")), payload: [])
    }

    /// The thread is about to do this.
    func begin(_ present: Activity) { activity.withLock { $0 = present } }

    func setStatus(_ status: UplinkStatus) { statusNow.withLock { $0 = status } }

    /// Releases the spool and its lock, and the closures of the capture; nothing is accepted afterwards. Without ``wait()``, blocks
    /// until the uplink's thread has stopped sending.
    package func close() {
        let hasBegun = inbox.withLock { inbox in
            inbox.hasEnded = true
            return inbox.hasBegun
        }
        if hasBegun {
            // The thread closes the spool, which it may have opened late.
            abandon(after: .zero)
            _ = wait()
        } else {
            disk?.storage.close()
        }
        capture.withLock { $0 = Capture() }
    }

    private func add(_ event: Inbox.Event, _ change: (inout Inbox) -> Void = { _ in }) {
        inbox.withLock { inbox in
            guard !inbox.hasEnded else { return }
            if let batch = inbox.batcher.take() { inbox.append(batch) }
            inbox.append(event)
            change(&inbox)
        }
        wakeUp.signal()
    }
}

/// An error of creating an uplink.
package struct UplinkError: Error, Hashable, CustomStringConvertible {
    package let description: String
}

extension EncodedSample {
    /// The reason why the sample cannot be sent, on one line; nil if it can.
    var flaw: String? {
        if data.isEmpty { return "it is empty" }
        if data.count > WireLimits.payloadBytes {
            return
                "it has \(data.count) bytes, more than the \(WireLimits.payloadBytes) that fit into a message"
        }
        let delay = ptsNanoseconds.subtractingReportingOverflow(dtsNanoseconds)
        if delay.overflow || delay.partialValue < 0
            || delay.partialValue > WireLimits.intervalNanoseconds
        {
            return "its PTS is \(ptsNanoseconds) ns and its DTS \(dtsNanoseconds) ns"
        }
        if !(0...WireLimits.intervalNanoseconds).contains(durationNanoseconds) {
            return "its duration is \(durationNanoseconds) ns"
        }
        if dtsNanoseconds.magnitude > WireLimits.timeNanoseconds.magnitude {
            return "its DTS is \(dtsNanoseconds) ns"
        }
        return nil
    }
}
