import CLinux
import Dispatch
import Glibc
import Logging
import Operations
import Synchronization
import Threads
import Wire

/// Ends connections that make libzmq keep more than they may (``IntakeGuard``), on a thread of its own: it has to see them also while the
/// receiving thread has its hands full.
///
/// Looking at a connection costs two system calls. Strangers are few, and looked at all the time; agents and their clocks when the
/// process's memory has grown, which is one call to ask, and once a second.
final class IntakeWatch: Sendable {
    /// How often memory is looked at while anybody is connected: empty parts fill 20 MB in that time, at a gigabit a second. Waking up
    /// is what a look costs.
    private static let pauseNanoseconds: Int64 = 40_000_000
    /// How often strangers are looked at, and everybody while somebody is suspected: most bytes come from those who have nothing to lose.
    private static let closePauseNanoseconds: Int64 = 2_000_000
    /// A look is followed by a pause so many times as long as it kept a core busy: looking takes a tenth of a core, whoever comes.
    private static let pausePerLook: Int64 = 9
    /// The longest such pause: a gigabit a second is 2.5 MB in that time.
    private static let longestPauseNanoseconds: Int64 = 20_000_000
    /// Growth of memory after which every connection is looked at.
    private static let growthBytes = 2 << 20
    /// How often every connection is looked at anyhow.
    private static let lookNanoseconds: Int64 = 1_000_000_000
    /// After this time libzmq has let go of what a connection had sent that was ended.
    private static let releaseNanoseconds: Int64 = 10_000_000
    /// Memory that is kept for what comes next, instead of being given back to the system after a connection was ended.
    private static let keptBytes = 4 << 20

    private struct State {
        var accounts: [Int32: ConnectionAccount] = [:]
        /// Those on which neither an agent was welcomed nor the time was asked for.
        var strangers: Set<Int32> = []
        /// Those that were ended here, until libzmq says that they are gone.
        var ended: Set<Int32> = []
        var isStopping = false
    }

    /// What the thread remembers from look to look.
    private struct Watching {
        var intake = IntakeGuard()
        var gate = LogRateLimit()
        /// Memory at the last look at all connections, or less.
        var residentBytes: Int
        /// Memory after the system last got some back.
        var trimmedBytes: Int
        var nextLook: Int64 = 0
        /// When memory is to be given back.
        var trimsAt: Int64?
    }

    private let state = Mutex(State())
    /// How often the receiving thread has found the socket empty.
    private let drains = Atomic<Int>(0)
    private let arrival = DispatchSemaphore(value: 0)
    /// Whether the thread has been told to look at once, and has not yet.
    private let hasArrival = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)
    private let counters: RefusalCounters
    private let logger: Logger
    /// Has the receiving thread look at its socket.
    private let wantDrain: @Sendable () -> Void

    init(counters: RefusalCounters, logger: Logger, wantDrain: @escaping @Sendable () -> Void) {
        self.counters = counters
        self.logger = logger
        self.wantDrain = wantDrain
    }

    func start() {
        NamedThread.start("intake") { [self] in
            run()
            ended.signal()
        }
    }

    /// Ends the thread; descriptors are not looked at any more when it returns.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake()
        ended.wait()
    }

    /// A connection has been accepted.
    func add(_ account: ConnectionAccount) {
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

    /// A connection is an agent's, or a clock's.
    func settled(_ descriptor: Int32) {
        state.withLock { _ = $0.strangers.remove(descriptor) }
    }

    /// What is known of a connection; nil when it is gone, or was ended here.
    func account(_ descriptor: Int32) -> ConnectionAccount? {
        state.withLock { $0.accounts[descriptor] }
    }

    /// A connection is gone.
    /// - Returns: whether it was ended here.
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
                "cannot follow the collector's memory: /proc is not there; strangers can make it grow"
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
            // The thread's own time: how long a look waited for a busy machine is no reason to look away for longer.
            let begin = Instant.nanoseconds(CLOCK_THREAD_CPUTIME_ID)
            look(
                &watching, residentBytes: memory.bytes(),
                now: Instant.nanoseconds(CLOCK_MONOTONIC))
            let busy = Instant.nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin
            let rest = min(busy * Self.pausePerLook, Self.longestPauseNanoseconds)
            // Whoever comes meanwhile is looked at now, but not before the rest is over.
            let isClose = hasStrangers || watching.intake.isSuspicious
            let pause = max(rest, isClose ? Self.closePauseNanoseconds : Self.pauseNanoseconds)
            guard arrival.wait(timeout: .now() + .nanoseconds(Int(pause))) == .success else {
                continue
            }
            hasArrival.store(false, ordering: .releasing)
            usleep(UInt32(clamping: rest / 1_000))
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
        func read(_ descriptor: Int32, _ account: ConnectionAccount) {
            // Taken in first: what is taken in meanwhile then counts as waiting for a moment, not the other way round.
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
        // Counted last: what the socket was emptied of before it was read is not to count for what was read.
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

    /// Gives memory back to the system that connections had filled which were ended. The allocator would keep it, and the next one
    /// could fill it before memory is seen to grow.
    private func giveBack(_ watching: inout Watching, residentBytes: Int, now: Int64) {
        guard let trimsAt = watching.trimsAt, now >= trimsAt else { return }
        watching.trimsAt = nil
        guard residentBytes - watching.trimmedBytes > Self.keptBytes else { return }
        malloc_trim(0)
        watching.trimmedBytes = residentBytes
    }

    private func warn(
        _ account: ConnectionAccount, _ excess: IntakeGuard.Excess, _ gate: inout LogRateLimit,
        now: Int64
    ) {
        let address = account.socket.address
        guard let before = gate.pass(address, now: now) else { return }
        let more = before > 0 ? " (and \(before) like it before)" : ""
        logger.warning("\(excess)\(more)", metadata: ["address": "\(address)"])
    }

    /// Forgets a connection, unless its descriptor has another one by now.
    private func remove(_ descriptor: Int32, _ account: ConnectionAccount) {
        state.withLock { state in
            guard state.accounts[descriptor] === account else { return }
            state.accounts.removeValue(forKey: descriptor)
            state.strangers.remove(descriptor)
            state.ended.insert(descriptor)
        }
    }
}
