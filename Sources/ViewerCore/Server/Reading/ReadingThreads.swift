import Dispatch
import HTTPTypes
import Media
import Synchronization
import Threads

/// Threads for reading files: event loops and tasks never block on a disk, and reads of a hung disk do not delay others
/// (``ReadingSchedule``).
final class ReadingThreads: Sendable {
    /// Several, so that a disk can reorder requests.
    static let usualCount = 4
    /// Interval of checks while work is queued.
    private static let look = DispatchTimeInterval.milliseconds(200)
    /// Time after which an idle thread ends.
    private static let idle = DispatchTimeInterval.seconds(10)
    /// Wait for running work at the end; hung work is abandoned.
    private static let endNanoseconds: Int64 = 1_000_000_000

    /// The session that the present task's work is about; nil: the archive as a whole.
    @TaskLocal static var place: String?

    private typealias Job = (number: Int, work: @Sendable () -> Void)

    private struct State {
        var schedule: ReadingSchedule
        /// Queued work, and the closure that refuses it.
        var waiting: [Int: (work: @Sendable () -> Void, refuse: @Sendable (any Error) -> Void)] =
            [:]
        /// Begun, for threads that are idle.
        var begun: [Job] = []
        var idleThreads = 0
        var last = 0
        var looks = false
        var isStopping = false
    }

    private let state: Mutex<State>
    private let wake = Semaphore(value: 0)

    /// - Parameter most: threads in all, those of long work included.
    init(
        count: Int = ReadingThreads.usualCount, most: Int = ReadingSchedule.maximumRunning
    ) {
        state = Mutex(State(schedule: ReadingSchedule(count: count, most: most)))
    }

    /// Runs blocking work. Queued work is bounded by the number of connections, each of which waits for one item.
    ///
    /// A cancelled caller does not wait for running work, whose result is discarded.
    /// - Throws: errors of the work; 503 if the files of its location do not respond; or `CancellationError`.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let ticket = Ticket<Result>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard ticket.wait(continuation) else { return }
                submit(number) {
                    ticket.settle(Swift.Result { try work() })
                } refuse: {
                    ticket.settle(.failure($0))
                }
            }
        } onCancel: {
            state.withLock { state in
                if state.schedule.withdraw(number) { state.waiting[number] = nil }
            }
            ticket.settle(.failure(CancellationError()))
        }
    }

    /// Runs short work without waiting for it; does nothing once the threads have been stopped.
    func submit(_ work: @escaping @Sendable () -> Void) {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        submit(number, work) { _ in }
    }

    /// Ends the threads; queued work is not started.
    func stop() async throws {
        let refused = state.withLock { state in
            state.isStopping = true
            defer { state.waiting = [:] }
            for number in state.waiting.keys { _ = state.schedule.withdraw(number) }
            for _ in 0..<state.idleThreads { wake.signal() }
            return Array(state.waiting.values)
        }
        for each in refused { each.refuse(CancellationError()) }
        let end = SystemClock.monotonic.nowNanoseconds + Self.endNanoseconds
        while !state.withLock({ $0.schedule.isIdle }),
            SystemClock.monotonic.nowNanoseconds < end
        {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    // MARK: Threads

    private func submit(
        _ number: Int, _ work: @escaping @Sendable () -> Void,
        refuse: @escaping @Sendable (any Error) -> Void
    ) {
        let now = SystemClock.monotonic.nowNanoseconds
        let place = Self.place
        let refusal: (any Error)? = state.withLock { state in
            guard !state.isStopping else { return CancellationError() }
            guard state.schedule.add(number, place: place, now: now) else { return Self.stuck }
            state.waiting[number] = (work, refuse)
            return nil
        }
        if let refusal { return refuse(refusal) }
        begin()
    }

    private static let stuck = Problem(
        .serviceUnavailable, "the files of this session do not answer: try again later")

    /// Starts work that may start, and refuses work that has timed out.
    private func begin() {
        let now = SystemClock.monotonic.nowNanoseconds
        let (jobs, refused, looks) = state.withLock { state in
            let refused = state.schedule.refuse(now: now).compactMap {
                state.waiting.removeValue(forKey: $0)?.refuse
            }
            var jobs: [Job] = []
            while let job = Self.next(&state, now) {
                if state.idleThreads > state.begun.count {
                    state.begun.append(job)
                    wake.signal()
                } else {
                    jobs.append(job)
                }
            }
            let looks = state.schedule.hasWaiting && !state.looks
            if looks { state.looks = true }
            return (jobs, refused, looks)
        }
        for refuse in refused { refuse(Self.stuck) }
        for job in jobs { NamedThread.start("read") { [self] in serve(job) } }
        // There is no event for work that takes too long.
        guard looks else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.look) { [weak self] in
            self?.state.withLock { $0.looks = false }
            self?.begin()
        }
    }

    private static func next(_ state: inout State, _ now: Int64) -> Job? {
        guard let number = state.schedule.begin(now: now),
            let waiting = state.waiting.removeValue(forKey: number)
        else { return nil }
        return (number, waiting.work)
    }

    /// The body of one thread: performs jobs in succession.
    private func serve(_ first: Job) {
        var job: Job? = first
        while let present = job {
            present.work()
            let now = SystemClock.monotonic.nowNanoseconds
            job = state.withLock { state in
                state.schedule.end(present.number)
                if let next = Self.next(&state, now) { return next }
                if !state.isStopping { state.idleThreads += 1 }
                return nil
            }
            if job == nil { job = wait() }
        }
    }

    /// The next job of an idle thread; nil: it ends.
    private func wait() -> Job? {
        if state.withLock({ $0.isStopping }) { return nil }
        _ = wake.wait(timeout: .now() + Self.idle)
        return state.withLock { state in
            state.idleThreads -= 1
            return state.begun.isEmpty ? nil : state.begun.removeFirst()
        }
    }
}

/// A result that one task waits for, unless it is cancelled before.
private final class Ticket<Value: Sendable>: Sendable {
    private enum State {
        case unused
        case waiting(CheckedContinuation<Value, any Error>)
        case settled
    }

    private let state = Mutex(State.unused)

    /// - Returns: false if it was cancelled already.
    func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let isWaiting = state.withLock { state in
            guard case .unused = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !isWaiting { continuation.resume(throwing: CancellationError()) }
        return isWaiting
    }

    /// The first result counts.
    func settle(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            defer { state = .settled }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(with: result)
    }
}
