import CLinux
import Dispatch
import Glibc
import Logging
import Media
import Operations
import Synchronization
import Threads
import Wire

/// Closes connections that make libzmq buffer more than they may (``IntakeGuard``). It has its own thread, so that it also works
/// while the receiving thread is busy.
///
/// Checking a connection costs two system calls. Connections of unknown peers are few, and are checked all the time. Those of
/// agents and their clocks are checked once a second, and when the process's memory has grown, which takes one call to determine.
final class IntakeWatch: Sendable {
    /// Interval of memory checks while anything is connected: empty parts fill 20 MB in that time, at a gigabit a second. The
    /// wake-up is the main cost of a check.
    private static let pauseNanoseconds: Int64 = 40_000_000
    /// Interval of checks of unknown peers, and of all connections while one is suspicious: unknown peers send most of the
    /// excess.
    private static let closePauseNanoseconds: Int64 = 2_000_000
    /// Each check is followed by a pause of this many times its CPU time: checks use at most a tenth of a core.
    private static let pausePerLook: Int64 = 9
    /// Maximum of that pause: a gigabit a second is 2.5 MB in that time.
    private static let longestPauseNanoseconds: Int64 = 20_000_000
    /// Growth of memory after which every connection is checked.
    private static let growthBytes = 2 << 20
    /// Interval at which every connection is checked in any case.
    private static let lookNanoseconds: Int64 = 1_000_000_000
    /// Time after which libzmq has released what a closed connection had sent.
    private static let releaseNanoseconds: Int64 = 10_000_000
    /// Free memory that is kept for reuse instead of being returned to the system after a connection was closed.
    private static let keptBytes = 4 << 20

    private struct State {
        var accounts: [Int32: ConnectionByteCounts] = [:]
        /// Connections without a welcomed agent or a clock probe.
        var strangers: Set<Int32> = []
        /// Connections that were closed here, until libzmq reports their end.
        var ended: Set<Int32> = []
        var isStopping = false
    }

    /// The thread's state between checks.
    private struct Watching {
        var intake = IntakeGuard()
        var gate = LogRateLimit()
        /// Memory at the last check of all connections, or less.
        var residentBytes: Int
        /// Memory after the last return to the system.
        var trimmedBytes: Int
        var nextLook: Int64 = 0
        /// The time at which memory is returned to the system.
        var trimsAt: Int64?
    }

    private let state = Mutex(State())
    /// Number of times that the receiving thread found the socket empty.
    private let drains = Atomic<Int>(0)
    private let arrival = Semaphore(value: 0)
    /// Whether an immediate check was requested and has not begun.
    private let hasArrival = Atomic(false)
    private let thread = JoinableThread()
    private let counters: RefusalCounters
    private let logger: Logger
    /// Makes the receiving thread read its socket.
    private let wantDrain: @Sendable () -> Void

    init(counters: RefusalCounters, logger: Logger, wantDrain: @escaping @Sendable () -> Void) {
        self.counters = counters
        self.logger = logger
        self.wantDrain = wantDrain
    }

    func start() {
        thread.start("intake") { [self] in run() }
    }

    /// Ends the thread; descriptors are no longer used when it returns.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake()
        thread.join()
    }

    /// A connection has been accepted.
    func add(_ account: ConnectionByteCounts) {
        let descriptor = account.socket.descriptor
        state.withLock { state in
            state.strangers.insert(descriptor)
            state.ended.remove(descriptor)
            state.accounts[descriptor] = account
        }
        wake()
    }

    private func wake() {
        if !hasArrival.exchange(true, ordering: .acquiringAndReleasing) { arrival.signal() }
    }

    /// A connection belongs to an agent, or to a clock.
    func settled(_ descriptor: Int32) {
        state.withLock { _ = $0.strangers.remove(descriptor) }
    }

    /// The account of a connection; nil when it is gone, or was closed here.
    func account(_ descriptor: Int32) -> ConnectionByteCounts? {
        state.withLock { $0.accounts[descriptor] }
    }

    /// A connection has closed.
    /// - Returns: whether it was closed here.
    func remove(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            state.strangers.remove(descriptor)
            state.accounts.removeValue(forKey: descriptor)
            return state.ended.remove(descriptor) != nil
        }
    }

    /// The receiving thread has found the socket empty.
    func drained() { drains.add(1, ordering: .releasing) }

    // MARK: The thread

    private func run() {
        guard let memory = ResidentMemory() else {
            logger.error(
                "cannot measure the collector's memory: /proc is not available; unknown peers can make it grow"
            )
            return
        }
        var watching = Watching(residentBytes: memory.bytes(), trimmedBytes: memory.bytes())
        while true {
            let (isStopping, isEmpty, hasStrangers) = state.withLock {
                ($0.isStopping, $0.accounts.isEmpty, !$0.strangers.isEmpty)
            }
            if isStopping { return }
            if isEmpty, watching.trimsAt == nil {
                arrival.wait()
                hasArrival.store(false, ordering: .releasing)
                continue
            }
            // The thread's CPU time, so that waiting for a busy processor does not lengthen the pause.
            let begin = SystemClock.threadProcessorTime.nowNanoseconds
            look(
                &watching, residentBytes: memory.bytes(),
                now: SystemClock.monotonic.nowNanoseconds)
            let busy = SystemClock.threadProcessorTime.nowNanoseconds - begin
            let rest = min(busy * Self.pausePerLook, Self.longestPauseNanoseconds)
            // New connections are checked at once, but not before the pause is over.
            let isClose = hasStrangers || watching.intake.isSuspicious
            let hasArrived =
                isClose
                ? wait(nanoseconds: max(rest, Self.closePauseNanoseconds))
                : waitWhileCalm(
                    &watching, memory, pauseNanoseconds: max(rest, Self.pauseNanoseconds))
            guard hasArrived else { continue }
            hasArrival.store(false, ordering: .releasing)
            usleep(UInt32(clamping: rest / 1_000))
        }
    }

    /// - Returns: whether a connection has arrived.
    private func wait(nanoseconds: Int64) -> Bool {
        arrival.wait(timeout: .now() + .nanoseconds(Int(nanoseconds))) == .success
    }

    /// Waits until there is something to check. Nearly always nothing has happened, and cold caches are the main cost
    /// of such a wake-up, so it touches as little as possible.
    /// - Returns: whether a connection has arrived.
    private func waitWhileCalm(
        _ watching: inout Watching, _ memory: borrowing ResidentMemory, pauseNanoseconds: Int64
    ) -> Bool {
        while true {
            if wait(nanoseconds: pauseNanoseconds) { return true }
            let resident = memory.bytes()
            watching.residentBytes = min(watching.residentBytes, resident)
            watching.trimmedBytes = min(watching.trimmedBytes, resident)
            guard resident - watching.residentBytes <= Self.growthBytes, watching.trimsAt == nil,
                SystemClock.monotonic.nowNanoseconds < watching.nextLook
            else { return false }
        }
    }

    private func look(_ watching: inout Watching, residentBytes: Int, now: Int64) {
        watching.residentBytes = min(watching.residentBytes, residentBytes)
        watching.trimmedBytes = min(watching.trimmedBytes, residentBytes)
        let isOfAll =
            residentBytes - watching.residentBytes > Self.growthBytes
            || now >= watching.nextLook || watching.intake.isSuspicious
        if isOfAll {
            watching.residentBytes = residentBytes
            watching.nextLook = now + Self.lookNanoseconds
        }
        let (accounts, strangers) = state.withLock { ($0.accounts, $0.strangers) }
        guard isOfAll || !strangers.isEmpty else {
            return giveBack(&watching, residentBytes: residentBytes, now: now)
        }
        var readings: [Int32: IntakeGuard.Reading] = [:]
        func read(_ descriptor: Int32, _ account: ConnectionByteCounts) {
            // Read first: bytes received in between count as pending for a moment, not the other way round.
            let taken = account.taken
            guard let progress = TransportProgress(of: descriptor) else { return }
            readings[descriptor] = IntakeGuard.Reading(
                readBytes: progress.readBytes, segments: progress.segments, takenBytes: taken,
                sources: account.sources)
        }
        if isOfAll {
            for (descriptor, account) in accounts { read(descriptor, account) }
        } else {
            for descriptor in strangers {
                if let account = accounts[descriptor] { read(descriptor, account) }
            }
        }
        // Read last: an emptied socket counted before the readings must not count as proof for bytes read later.
        let drains = drains.load(ordering: .acquiring)
        let excesses = watching.intake.look(
            at: readings, isOfAll: isOfAll, residentBytes: residentBytes, drains: drains)
        for (descriptor, excess) in excesses {
            guard let account = accounts[descriptor] else { continue }
            account.socket.abort()
            remove(descriptor, account)
            counters.add(.flood)
            warn(account, excess, &watching.gate, now: now)
            watching.trimsAt = watching.trimsAt ?? now + Self.releaseNanoseconds
        }
        if watching.intake.isSuspicious { wantDrain() }
        giveBack(&watching, residentBytes: residentBytes, now: now)
    }

    /// Returns memory to the system that closed connections had filled. Otherwise the allocator would keep it, and the next
    /// connection could fill it before memory is seen to grow.
    private func giveBack(_ watching: inout Watching, residentBytes: Int, now: Int64) {
        guard let trimsAt = watching.trimsAt, now >= trimsAt else { return }
        watching.trimsAt = nil
        guard residentBytes - watching.trimmedBytes > Self.keptBytes else { return }
        malloc_trim(0)
        watching.trimmedBytes = residentBytes
    }

    private func warn(
        _ account: ConnectionByteCounts, _ excess: IntakeGuard.Excess, _ gate: inout LogRateLimit,
        now: Int64
    ) {
        let address = account.socket.address
        guard let before = gate.pass(address, now: now) else { return }
        let more = before > 0 ? " (and \(before) similar events before)" : ""
        logger.warning("\(excess)\(more)", metadata: ["address": "\(address)"])
    }

    /// Forgets a connection, unless its descriptor belongs to another one by now.
    private func remove(_ descriptor: Int32, _ account: ConnectionByteCounts) {
        state.withLock { state in
            guard state.accounts[descriptor] === account else { return }
            state.accounts.removeValue(forKey: descriptor)
            state.strangers.remove(descriptor)
            state.ended.insert(descriptor)
        }
    }
}
